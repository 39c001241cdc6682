# cmake -D OUT=std_files.c -D FILES="a.slu;b.slu" -P embed.cmake
#
# Writes the table of compiler/front/std_files.h: one byte array per file, in order of name, each
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
  string(APPEND rows "    {\"std/${name}\", (const char *)file_${n}, ${length}},\n")
  math(EXPR n "${n} + 1")
endforeach()
if(n EQUAL 0)
  set(rows "    {0},\n")
endif()
file(WRITE ${OUT}.new "#include \"front/std_files.h\"

${arrays}const StdFile std_files[] = {
${rows}};
const size_t std_nfiles = ${n};
")
file(RENAME ${OUT}.new ${OUT})
