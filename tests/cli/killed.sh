#!/bin/sh
# A command that a signal ends leaves nothing behind, and what stood there before stays.
. "$(dirname "$0")/lib.sh"
echo 'model m { input x : f32[batch, 4] output y = dense(x, 4) }' >m.slu
echo old >m.so

# A linker that says that it runs, and does not end.
mkdir path
printf '#!/bin/sh\n: >"$RUNS"\nexec sleep 20\n' >path/ld.lld-19
chmod +x path/ld.lld-19

for signal in TERM HUP; do
    called="killed by SIG$signal"
    RUNS=../runs PATH=$PWD/path:$PATH "$sluice" build m.slu --random 1 -o m.so >../stdout.txt 2>../stderr.txt &
    build=$!
    for i in 1 2 3 4 5 6 7 8 9 10; do
        [ -f ../runs ] || sleep 1
    done
    kill -$signal $build
    wait $build
    [ $? -gt 128 ] || fail "$called: it ended by itself"
    rm -f ../runs
    files m.slu m.so path
    [ "$(cat m.so)" = old ] || fail "$called: the older file is gone"
done
finish
