#!/bin/sh
# Sizes that stay free: a check that makes one equal to another leaves it to be found at run time; a size that a kernel
# needs to know is named once, with the flag that fixes it.
. "$(dirname "$0")/lib.sh"
cat >twice.slu <<'END'
model twice() {
    input x: f32[batch, seq, 8]
    input y: f32[batch, n, 8]
    check seq == 2 * n, "seq is twice n"
    output z = x[:, :: 2] + y
}
model sixteen() {
    input x: f32[batch, seq, 8]
    check seq == 16, "seq is 16"
    output z = x * 2.0
}
model other() {
    input x: f32[batch, seq, 8]
    check seq != 5, "seq is not 5"
    output z = x * 2.0
}
END
for model in twice sixteen other; do
    status 0 build twice.slu:$model -o $model.so
done
status 0 run twice.so --random-input 1 --size seq=16 --size n=8
status 1 run twice.so --random-input 1 --size seq=16 --size n=7
says 'seq is twice n'
status 0 run sixteen.so --random-input 1 --size seq=16
status 1 run sixteen.so --random-input 1 --size seq=15
says 'seq is 16'
status 0 run other.so --random-input 1 --size seq=6
status 1 run other.so --random-input 1 --size seq=5
says 'seq is not 5'

# What a kernel cannot leave free, and windows of which the last may be whole or not.
cat >fixed.slu <<'END'
model rows() {
    input x: f32[batch, n, 8]
    output z = softmax(x @ transpose(x)) @ x
}
model windows() {
    input x: f32[batch, n, 8]
    check n >= 2, "n is at least 2"
    output z = pool(x, size: 2, mode: "max")
}
END
for model in rows windows; do
    status 1 build fixed.slu:$model -o x.so
    says '--set n=N'
    [ "$(grep -c error: ../stderr.txt)" = 1 ] || fail "$model without n: not one error"
    status 0 build fixed.slu:$model --set n=5 -o x.so
done

for layout in L2H64 B2-2H64; do
    status 1 build $layout --random 1 -o x.so
    says '--seq N'
    [ "$(grep -c error: ../stderr.txt)" = 1 ] || fail "$layout without --seq: not one error"
done
finish
