#!/bin/sh
# build --weights-beside: two files that belong together, and what is said when one of them does
# not fit the other.
. "$(dirname "$0")/lib.sh"
cp "$here/tiny.slu" .
tensors w.safetensors inner.weight F32 8,4 0.25 inner.bias F32 8 0.5 table F32 10,4 1
tensors in.safetensors x F32 1,3,4 2 ids I32 1,3 0,1,9
build='build tiny.slu --seq 3 --weights w.safetensors'

# Round trip: the same results as with the weights inside.
status 0 $build -o in.so
status 0 run in.so --input in.safetensors -o want.safetensors
status 0 $build --weights-beside -o out.so
prints 'of weights in out.so.weights'
is_silent
files in.safetensors in.so out.so out.so.weights tiny.slu w.safetensors want.safetensors
status 0 run out.so --input in.safetensors --expect want.safetensors --atol 0 --rtol 0
status 0 inspect out.so
prints 'beside it'
prints '--weights-beside'
[ "$(wc -c <out.so)" -lt "$(wc -c <in.so)" ] || fail 'the object holds the weights too'

# They move together, and the bytes do not depend on the folder.
mkdir sub
status 0 $build --weights-beside -o sub/out.so
same out.so sub/out.so
same out.so.weights sub/out.so.weights
mkdir moved
mv sub/out.so sub/out.so.weights moved
status 0 run moved/out.so --input in.safetensors --expect want.safetensors --atol 0 --rtol 0

# Missing, truncated, another model's.
mv moved/out.so.weights kept
status 1 run moved/out.so --input in.safetensors
says 'out.so.weights'
says 'is not there'
head -c 100 kept >moved/out.so.weights
status 1 run moved/out.so --input in.safetensors
says 'inside the weights'
status 0 build tiny.slu --seq 3 --random 1 --weights-beside -o other.so
cp other.so.weights moved/out.so.weights
status 1 run moved/out.so --input in.safetensors
says 'the weights of another model'
rm -r sub moved kept other.so other.so.weights in.so

# A failure leaves both as they were.
cp out.so ../out.kept
cp out.so.weights ../weights.kept
unchanged() {
    same out.so ../out.kept
    same out.so.weights ../weights.kept
    files in.safetensors out.so out.so.weights tiny.slu w.safetensors want.safetensors "$@"
}
mkdir ../bin
printf '#!/bin/sh\nexit 1\n' >../bin/ld.lld-19
chmod +x ../bin/ld.lld-19
PATH=$PWD/../bin:$PATH "$sluice" $build --weights-beside -o out.so 2>../stderr.txt
[ $? -eq 3 ] || fail 'build with a linker that fails'
unchanged
rm -r ../bin
mkdir new.so.weights
status 3 $build --weights-beside -o new.so
says 'new.so.weights: it is a directory'
unchanged new.so.weights
rmdir new.so.weights
ln w.safetensors new.so.weights
status 2 $build --weights-beside -o new.so
says 'which is read'
rm new.so.weights
status 2 $build --weights-beside -o /dev/null
says '--weights-beside'
unchanged
rm ../out.kept ../weights.kept

# Where it changes nothing.
status 0 build tiny.slu --seq 3 --emit asm --weights-beside
says '--weights-beside has no effect'
cat >bare.slu <<'END'
model bare() {
    input x : f32[batch, 2]
    output y = x + x
}
END
status 0 build bare.slu --weights-beside
says '--weights-beside has no effect'
[ ! -e bare.so.weights ] || fail 'a file without weights'
finish
