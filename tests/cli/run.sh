#!/bin/sh
# run: inputs by name and type, outputs shown, written and compared, by the compiled model and by
# the evaluator.
. "$(dirname "$0")/lib.sh"
cp "$here/tiny.slu" .
tensors w.safetensors inner.weight F32 2,4 1,0,0,0,0,1,0,0 inner.bias F32 2 0.5,-0.5 \
    table F32 10,4 1
build='--seq 3 --set width=2 --weights w.safetensors'
status 0 build tiny.slu $build

# hidden = 2 relu(x W + 1 + bias), where keep; x is 0 1 2 3 at every place.
x=0,1,2,3
tensors in.safetensors x F32 1,3,4 $x,$x,$x ids I32 1,3 0,1,9 keep BOOL 1,3 1,0,1
tensors good.safetensors hidden F32 1,3,2 3,3,0,0,3,3 picked I32 1,3 1,2,10
check() { # EXPECTED-STATUS REST…
    wanted=$1
    shift
    status $wanted run tiny.so "$@"
    status $wanted run tiny.slu --reference $build "$@"
}
check 0 --input in.safetensors
prints 'hidden : f32[1, 3, 2]  3 3 0 0 3 3'
prints 'picked : i32[1, 3]  1 2 10'
is_silent
check 0 --input in.safetensors --expect good.safetensors
prints 'hidden : f32[1, 3, 2]  ok, equal'
prints 'picked : i32[1, 3]  ok, equal'
check 0 --input in.safetensors --expect good.safetensors --atol 0 --rtol 0 --threads 1
status 0 build tiny.slu $build -O0 -o tiny0.so
status 0 run tiny0.so --input in.safetensors --expect good.safetensors --atol 0 --rtol 0

# Other types of the same values; what may be left out; what is not used.
tensors in.safetensors x F16 1,3,4 $x,$x,$x ids I64 1,3 0,1,9 keep U8 1,3 1,0,1 more F32 1 0
check 0 --input in.safetensors --expect good.safetensors
says 'not used: more'
tensors in.safetensors x F32 1,3,4 $x,$x,$x ids U8 1,3 0,1,9
tensors all.safetensors hidden F64 1,3,2 3 picked I64 1,3 1,2,10
check 0 --input in.safetensors --expect all.safetensors
tensors some.safetensors picked I64 1,3 1,2,10
check 0 --input in.safetensors --expect some.safetensors
prints 'hidden : f32[1, 3, 2]  not compared'

# One bit of the weights is another, of the last 1.0 in the file.
cp tiny.so flipped.so
python3 - <<'END'
with open('flipped.so', 'r+b') as file:
    whole = file.read()
    at = whole.rindex(bytes.fromhex('0000803f'))
    file.seek(at)
    file.write(bytes([whole[at] ^ 1]))
END
status 1 run flipped.so --input in.safetensors
says "the weights of 'tiny' are damaged in"
rm flipped.so

# Written, and read again.
status 0 run tiny.so --input in.safetensors --output out.safetensors
status 0 run tiny.slu --reference $build --input in.safetensors --expect out.safetensors
status 0 run tiny.slu --reference $build --input in.safetensors -o exact.safetensors
status 0 run tiny.so --input in.safetensors --expect exact.safetensors
grep -q F64 exact.safetensors || fail 'the evaluator writes less than it knows'

# Differences: status 4, the worst element, and NaN and infinities.
tensors bad.safetensors hidden F32 1,3,2 3,3,3,3.5,3,3.1 picked I32 1,3 1,2,10
check 4 --input in.safetensors --expect bad.safetensors
prints 'DIFFERS: 2 of 6 elements; the worst is [0, 1, 1]: 3, expected 3.5'
says '1 of 2 outputs differ from bad.safetensors: hidden'
check 0 --input in.safetensors --expect bad.safetensors --atol 0.5
check 0 --input in.safetensors --expect bad.safetensors --atol 0 --rtol 0.15
tensors bad.safetensors picked I32 1,3 1,2,11
check 4 --input in.safetensors --expect bad.safetensors --atol 5
tensors bad.safetensors hidden F32 1,3,2 3,3,3,3,3,nan
check 4 --input in.safetensors --expect bad.safetensors --atol 1e30
tensors bad.safetensors hidden F32 1,3,2 3,3,3,3,3,inf
check 4 --input in.safetensors --expect bad.safetensors --rtol 1
tensors bad.safetensors hidden F32 3,2 3
check 4 --input in.safetensors --expect bad.safetensors
prints 'DIFFERS: expected f32[3, 2]'
inf=inf,1,2,3
tensors odd.safetensors x F32 1,3,4 $inf,nan,1,2,3,$x ids I32 1,3 0
tensors odd-ref.safetensors hidden F32 1,3,2 inf,nan,nan,nan,3,3
status 0 run tiny.slu --reference $build --input odd.safetensors -o odd-out.safetensors
status 0 run tiny.so --input odd.safetensors --expect odd-out.safetensors

# What is wrong with files.
tensors bad.safetensors hiden F32 1,3,2 3
check 1 --input in.safetensors --expect bad.safetensors
says 'did you mean `hidden`?'
says 'output: picked : i32[1, 3]'
tensors bad.safetensors picked F32 1,3 1
check 1 --input in.safetensors --expect bad.safetensors
tensors bad.safetensors x F32 1,3,4 1
check 1 --input bad.safetensors
says 'missing: ids : i32[batch, 3]'
tensors bad.safetensors x F32 1,3,4 1 ids I32 1,3 0,1,10
check 1 --input bad.safetensors
tensors bad.safetensors x F32 1,3,4 1 ids I64 1,3 0,1,4294967296
check 1 --input bad.safetensors
tensors bad.safetensors x F32 1,3,4 1 ids F32 1,3 0
check 1 --input bad.safetensors
tensors bad.safetensors x F32 1,3,4 1 ids I32 1,3 0 keep U8 1,3 2
check 1 --input bad.safetensors
tensors bad.safetensors x F32 1,4,4 1 ids I32 1,4 0
check 1 --input bad.safetensors
tensors bad.safetensors x F32 1,3,4 1 ids I32 2,3 0
check 1 --input bad.safetensors
tensors bad.safetensors x F32 3,4 1 ids I32 1,3 0
check 1 --input bad.safetensors
says '`x` is F32[3, 4], but the model takes f32[batch, 3, 4]'
tensors bad.safetensors x F32 0,3,4 1 ids I32 0,3 0
check 1 --input bad.safetensors
check 3 --input none.safetensors
head -c 20 in.safetensors >cut.safetensors
check 1 --input cut.safetensors
check 2
says '--random-input SEED'
status 3 run none.so --random-input 1
status 3 run B2-2H64.so --random-input 1
status 1 run in.safetensors --random-input 1

# Made up: the same for both, another for another seed; options without effect say so.
status 0 run tiny.so --random-input 5 --size batch=4 -o five.safetensors
check 0 --random-input 5 --size batch=4 --expect five.safetensors
prints 'hidden : f32[4, 3, 2]'
check 4 --random-input 6 --size batch=4 --expect five.safetensors
check 2 --random-input 6 --size bach=4
says 'did you mean `batch`?'
check 0 --random-input 5 --atol 1
says '--atol has no effect'
check 0 --input in.safetensors --size batch=4
says '--size has no effect'
finish
