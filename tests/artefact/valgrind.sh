#!/bin/sh
# Runs of compiled models under valgrind: nothing is read that nobody wrote or owns.
. "$(dirname "$0")/lib.sh"
build_all .so
build_all -O0.so -O0
SLUICE_VALGRIND=1
export SLUICE_VALGRIND
for file in *.so; do
    valgrind -q --error-exitcode=9 --leak-check=full "$ARTEFACT_RUNS" ./$file >../stdout.txt \
        2>../stderr.txt || fail "valgrind: runs $file"
done
finish
