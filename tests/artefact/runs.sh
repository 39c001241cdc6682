#!/bin/sh
# Runs of compiled models: no call of the heap, a small stack, the same bits there. See runs.c.
. "$(dirname "$0")/lib.sh"
build_all .so
build_all -O0.so -O0
for file in *.so; do
    "$ARTEFACT_RUNS" ./$file >../stdout.txt 2>../stderr.txt || fail "runs $file"
done
finish
