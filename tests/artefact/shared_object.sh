#!/bin/sh
# What a built file shows to the loader: one symbol, nothing that it needs from others, code that is
# not written to while it is loaded, no stack that could be executed.
. "$(dirname "$0")/lib.sh"
build_all .so
build_all -O0.so -O0

for file in *.so; do
    called="nm -D $file"
    [ "$(nm -D --defined-only "$file" | awk '{ print $2, $3 }')" = 'T sluice_model_query' ] ||
        fail "$called: exports something else than the query"
    [ -z "$(nm -D --undefined-only "$file")" ] || fail "$called: has undefined symbols"
    readelf -dW "$file" >../dynamic.txt
    readelf -lW "$file" >../segments.txt
    grep -q 'Dynamic section' ../dynamic.txt || fail "$file: has no dynamic section"
    grep -E 'NEEDED|TEXTREL|RPATH|RUNPATH|INIT|FINI' ../dynamic.txt && fail "$file: dynamic section"
    grep -qE 'GNU_STACK .* RW ' ../segments.txt || fail "$file: the stack may be executed"
    grep -q 'GNU_RELRO' ../segments.txt || fail "$file: the table can be written to"
    grep -E 'LOAD .* (RWE|W E) ' ../segments.txt && fail "$file: code that can be written to"
    rm ../dynamic.txt ../segments.txt
done
finish
