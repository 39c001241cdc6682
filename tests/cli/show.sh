#!/bin/sh
# params, options, dump, opt, inspect: what they print, and that graphs are read again.
. "$(dirname "$0")/lib.sh"
cp "$here/tiny.slu" .

status 0 params tiny.slu
prints 'inner.weight  f32[8, 4]   32'
prints '3 tensors   80'
status 0 params tiny.slu --set width=1000 --json
prints '"total": 5040}'
python3 -c 'import json, sys; json.load(sys.stdin)' <../stdout.txt || fail 'params: no JSON'
status 1 params tiny.slu --set widht=3
says 'did you mean `width`?'
status 0 params B6-3x2-3x2H768
prints '115,611,648'
status 0 params B6-6-6H768
prints '161,696,256'

status 0 options tiny.slu
prints 'ids   i32[batch, seq] in 0 .. 10'
prints 'keep  bool[batch, seq] = true'
prints 'width = 8'
prints 'tiny.slu:8:12'

# The graph: read again it is the same, and every stage of it runs.
status 0 dump tiny.slu --seq 3 --stage graph -o graph.ir
status 0 dump graph.ir --stage graph -o again.ir
same graph.ir again.ir
status 0 run graph.ir --reference --random 1 --random-input 1 -o ref.safetensors
for pass in decompose views prepare fuse regions; do
    status 0 dump tiny.slu --seq 3 --after $pass -o $pass.ir
    status 0 run $pass.ir --reference --random 1 --random-input 1 --expect ref.safetensors
done
status 1 build regions.ir --random 1
says 'passes have changed already'
status 0 opt graph.ir --pass decompose -o one.ir
same one.ir decompose.ir
status 3 opt none.ir --pass dce
status 1 opt tiny.slu --pass dce
status 0 dump tiny.slu --stage ast -o tree.slu
status 0 dump tree.slu --seq 3 --stage graph -o again.ir
same graph.ir again.ir
status 0 dump tiny.slu --stage ast --seq 3
says '--seq has no effect'
status 0 dump tiny.slu --seq 3 --stage loops
prints 'kernel '
status 0 dump tiny.slu --seq 3 --stage program
prints 'program "tiny"(batch)'
status 0 dump tiny.slu --seq 3 --after memory
prints 'program "tiny"(batch)'
status 0 dump tiny.slu --seq 3 --stage llvm
prints 'sluice_model_query'
status 0 dump tiny.slu --seq 3 --stage asm --target x86-64-v4
prints 'sluice_model_query'

status 0 build tiny.slu --seq 3 --random 1 --set width=16
status 0 inspect tiny.so
prints 'input   ids : i32[batch, 3] in 0 .. 10'
prints 'output  hidden : f32[batch, 3, 16]'
prints '--seq 3 --set width=16 --random 1'
for part in steps weights spec graph prepare; do
    status 0 inspect tiny.so --show $part
    is_silent
    [ -s ../stdout.txt ] || fail "$called: prints nothing"
done
status 0 inspect tiny.so --show spec -o spec.slu
same spec.slu tiny.slu
status 1 inspect tiny.slu
status 3 inspect none.so
status 2 inspect tiny.so --show step
says 'did you mean `steps`?'
finish
