#!/bin/sh
# build: where the result goes, that it is the same whatever the folder, and that a failure leaves
# what was there, and nothing else.
. "$(dirname "$0")/lib.sh"
cp "$here/tiny.slu" .
mkdir -p sub/deep 'with space'

# Without -o: named after SPEC, in this folder.
status 0 build tiny.slu --seq 3 --random 1
is_silent
prints 'tiny.so: '
cp tiny.slu sub/other.slu
status 0 build sub/other.slu:tiny --seq 3 --random 1 -o sub/deep/x.so
status 0 build sub/other.slu --seq 3 --random 1
files other.so sub tiny.slu tiny.so 'with space'
same tiny.so sub/deep/x.so
same tiny.so other.so
status 0 build tiny.slu --seq 3 --random 1 -o 'with space/a b.so'
same tiny.so 'with space/a b.so'
(cd sub && "$sluice" build ../tiny.slu --seq 3 --random 1 -o y.so >/dev/null) || fail 'build in sub'
same tiny.so sub/y.so
"$sluice" build tiny.slu --seq 3 --random 1 -o /dev/stdout | cmp -s - tiny.so ||
    fail 'build to standard output'
status 0 build tiny.slu --seq 3 --random 2 -o sub/y.so
cmp -s tiny.so sub/y.so && fail 'the seed changes nothing'

# The code alone.
status 0 build tiny.slu --seq 3 --emit asm
status 0 build tiny.slu --seq 3 --emit llvm -o sub/tiny.ll
status 0 build tiny.slu --seq 3 --emit obj --random 1
says '--random has no effect'
grep -q sluice_model_query tiny.s || fail 'the assembly lacks the query'
grep -q sluice_model_query sub/tiny.ll || fail 'the LLVM text lacks the query'
rm -rf sub other.so tiny.s tiny.o 'with space'

# Options that change nothing.
status 0 build tiny.slu --seq 3 --random 1 -O0 --disable fuse -o tiny0.so
says '--disable has no effect'
rm tiny0.so

# From here on every call fails, and tiny.so stays as it is.
cp tiny.so ../tiny.kept
unchanged() {
    same tiny.so ../tiny.kept
    files tiny.slu tiny.so "$@"
}
status 1 build tiny.slu --seq 3
says 'has parameters, but no weights are given'
unchanged
status 1 build L2H64 --random 1
says '--seq N'
unchanged
status 1 build tiny.slu --seq 3 --random 1 --set widht=4
unchanged
status 1 build tiny.slu:tinny --seq 3 --random 1
says 'did you mean `tiny`?'
unchanged
tensors ../short.safetensors inner.weight F32 8,4 0.5 inner.bias F32 9 0
status 1 build tiny.slu --seq 3 --weights ../short.safetensors
says 'missing: table : f32[10, 4]'
says 'inner.bias : f32[8], but it is F32[9] there'
unchanged
status 3 build tiny.slu --seq 3 --weights none.safetensors
unchanged
status 3 build none.slu --seq 3 --random 1
unchanged
status 1 build none.txt --random 1
unchanged
# What stands for something else: what to give is said.
status 1 build tiny.slu: --seq 3 --random 1
says 'tiny.slu:: the name of a model is missing behind the colon'
unchanged
status 1 dump tiny.slu: --stage ast
says 'the name of a model is missing behind the colon'
mkdir ../hf
echo '{}' >../hf/config.json
status 1 build ../hf/config.json --random 1
says 'give the folder, ../hf/'
(cd ../hf && "$sluice" build config.json --random 1 2>../stderr.txt)
says 'give the folder, .'
status 1 build ../short.safetensors --random 1
says 'give the model, and --weights ../short.safetensors'
status 1 build tiny.slu --seq 3 --weights ../hf/
says '../hf/ is a folder, which holds no model.safetensors'
touch ../hf/model.safetensors.index.json
status 1 build tiny.slu --seq 3 --weights ../hf/
says 'give its file, --weights ../hf/model.safetensors.index.json'
touch ../hf/model.safetensors
status 1 run tiny.slu --reference --seq 3 --random-input 1 --weights ../hf
says 'give its file, --weights ../hf/model.safetensors'
rm -r ../hf
unchanged
status 1 build B2--2H64 --seq 3 --random 1
unchanged
status 3 build tiny.slu --seq 3 --random 1 -o none/tiny.so
says 'there is no directory none'
unchanged
status 3 build tiny.slu --seq 3 --random 1 -o ..
says 'is a directory'
unchanged

# A full disk, as far as a shell can make one: a limit on the size of files.
(
    trap '' XFSZ
    ulimit -f 1
    "$sluice" build tiny.slu --seq 3 --random 1 2>../stderr.txt
)
[ $? -eq 3 ] || fail 'build on a full disk'
unchanged

# Linkers: none, one that fails, and one during which the compiler is killed.
mkdir ../bin
PATH=$PWD/../bin "$sluice" build tiny.slu --seq 3 --random 1 2>../stderr.txt
[ $? -eq 3 ] || fail 'build without a linker'
says 'no linker found'
unchanged
printf '#!/bin/sh\nexit 1\n' >../bin/ld.lld-19
chmod +x ../bin/ld.lld-19
PATH=$PWD/../bin:$PATH "$sluice" build tiny.slu --seq 3 --random 1 2>../stderr.txt
[ $? -eq 3 ] || fail 'build with a linker that fails'
says 'ld.lld-19'
unchanged
printf '#!/bin/sh\nkill -9 $PPID\n' >../bin/ld.lld-19
PATH=$PWD/../bin:$PATH "$sluice" build tiny.slu --seq 3 --random 1 2>/dev/null
[ $? -gt 128 ] || fail 'build that is killed'
same tiny.so ../tiny.kept
rm -rf ../bin .sluice-* ../tiny.kept ../short.safetensors

# A link stays one; what it names is replaced.
mv tiny.so real.so && ln -s real.so link.so
status 0 build tiny.slu --seq 3 --random 2 -o link.so
[ -L link.so ] || fail 'the link is gone'

# -v shows what is run, so that it can be run again.
mkdir 'a b'
status 0 build tiny.slu --seq 3 --random 1 -v -o 'a b/tiny.so'
says '+ ld'
sed -n 's/^+ //p' ../stderr.txt | sh || fail 'the command that -v shows cannot be run'
[ -s "$(echo 'a b'/.sluice-*/model.so)" ] || fail 'the command that -v shows makes nothing'
finish
