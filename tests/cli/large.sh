#!/bin/sh
# Models of thousands of operations: no kernel becomes so large that its code takes minutes, what is cut into several
# computes the same, and what fits stays one.
. "$(dirname "$0")/lib.sh"

# built NAME FEWEST MOST STATEMENTS…: has so many steps, and gives what the evaluator gives.
built() {
    name=$1 fewest=$2 most=$3
    shift 3
    printf 'model %s {\n input x : f32[batch, 20]\n %s\n}\n' "$name" "$*" >"$name.slu"
    status 0 build "$name.slu" --random 1 -o "$name.so"
    status 0 inspect "$name.so"
    steps=$(sed -n 's/^ *steps *//p' ../stdout.txt)
    [ "$steps" -ge "$fewest" ] && [ "$steps" -le "$most" ] || fail "$name: not $fewest to $most steps"
    status 0 run "$name.slu" --random 1 --reference --random-input 3 --size batch=2 -o ref.safetensors
    status 0 run "$name.so" --random-input 3 --size batch=2 --expect ref.safetensors
}

built elementwise 4 10 'for i in 0 .. 300 { x = x * 0.75 + 0.5 } output y = x'
built epilogue 4 10 'x = dense(x, 6) for i in 0 .. 300 { x = x * 0.75 + 0.5 } output y = x'
built rows 4 20 'for i in 0 .. 100 { x = softmax(x) + sin(x) } output y = x'
built scores 4 12 's = x[:, :, new] @ x[:, new, :] for i in 0 .. 300 { s = s * 0.75 + 0.5 } output y = softmax(s) @ x[:, :, new]'
built prepared 1 1 'param w : f32[20] for i in 0 .. 1000 { w = w * 0.75 + 0.5 } output y = x + w'
built parts 1 2 'y = split(repeat(x, 100, 1), 2000, axis: 1) output z = concat(y[1 :] + y[: 1], 1)'
built ordinary 1 1 'for i in 0 .. 30 { x = x * 0.75 + 0.5 } output y = x'
finish
