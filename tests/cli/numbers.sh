#!/bin/sh
# Plain numbers (a fill, an iota, a size) that are moved before they are read or given as an output, and numbers where a
# kernel reads memory: native code gives what the evaluator gives.
. "$(dirname "$0")/lib.sh"
cat >numbers.slu <<'END'
model moved {
    input x : f32[batch, 7]
    output fill_row = broadcast(2.5, [4])
    output fill_rows = broadcast(2.5, [batch, 4])
    output truths = broadcast(true, [2, 3])
    output rows = broadcast(iota(3), [2, 3])
    output columns = broadcast(iota(3)[:, new], [3, 2])
    output steps = iota(6)[1 :: 2]
    output reversed = iota(6)[:: -1]
    output one = iota(6)[3]
    output part = iota(6)[2 : 5]
    output table = transpose(reshape(iota(6), [2, 3]))
    output repeated = repeat(iota(3), 2, 0)
    output windows = window(iota(5), 2, 1, 0)
    output distances = toeplitz(f32(iota(7)), 4)
    output batches = iota(2 * batch)[:: 2]
    output backwards = iota(batch)[:: -1]
    output sizes = broadcast(batch, [batch, 2])
    output size = reshape(i32(batch), [1])
    output chosen = select(iota(7)[:: -1] < 3, x, f32(iota(14)[:: 2]))
    output sum = sum(broadcast(f32(iota(20)[:: -1]), [batch, 20]), 1)
}
model read {
    input x : f32[batch, 7]
    input i : i32[batch, 3] in 0 .. 6
    input y : f32[6, 2]
    output b = x @ broadcast(1.5, [7, 2])
    output a = broadcast(1.5, [batch, 3]) @ y[: 3]
    output both = broadcast(1.5, [batch, 3]) @ broadcast(2.0, [3, 5])
    output ramp = x @ f32(reshape(iota(14), [7, 2]))
    output values = softmax(x[:, :, new] @ x[:, new, :]) @ broadcast(0.5, [batch, 7, 3])
    output keys = softmax(x[:, :, new] @ broadcast(0.5, [batch, 1, 7])) @ x[:, :, new]
    output numbers = gather(iota(6), i)
    output fills = gather(broadcast(2.0, [6, 2]), i)
    output backwards = gather(iota(6)[:: -1], i)
    output from_iota = gather(y, iota(4))
    output from_reversed = gather(y, iota(6)[:: -1])
    output from_fill = gather(y, broadcast(2, [3]))
}
END
for model in moved read; do
    for optimise in -O0 --verify-each; do
        status 0 build numbers.slu:$model $optimise -o $model.so
        for batch in 1 5; do
            status 0 run numbers.slu:$model --reference --random-input 2 --size batch=$batch -o ref.safetensors
            status 0 run $model.so --random-input 2 --size batch=$batch --expect ref.safetensors
        done
    done
done
finish
