# cmake -D OUT=std_files.c -D FOLDER=std -D HEADER=front/std_files.h -D TYPE=StdFile -D NAME=std
#       -D FILES="a.slu;b.slu" -P embed.cmake
#
# Writes the table that HEADER declares, NAME_files: one byte array per file, in order of name, each
# followed by a zero byte that its length does not count. Bytes, since ISO C bounds the length of a
# string literal.

list(SORT FILES)
set(arrays "")
set(rows "")
set(n 0)
foreach(file ${FILES})
  get_filename_component(name ${file} NAME)
  file(READ ${file} hex HEX)
  string(LENGTH "${hex}" length)
  math(EXPR length "${length} / 2")
  string(REGEX REPLACE "(................................)" "\\1\n" hex "${hex}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," hex "${hex}")
  string(APPEND arrays "static const unsigned char file_${n}[] = {\n${hex}0};\n\n")
  string(APPEND rows "    {\"${FOLDER}/${name}\", (const char *)file_${n}, ${length}},\n")
  math(EXPR n "${n} + 1")
endforeach()
if(n EQUAL 0)
  set(rows "    {0},\n")
endif()
file(WRITE ${OUT}.new "#include \"${HEADER}\"

${arrays}const ${TYPE} ${NAME}_files[] = {
${rows}};
const size_t ${NAME}_nfiles = ${n};
")
file(RENAME ${OUT}.new ${OUT})
