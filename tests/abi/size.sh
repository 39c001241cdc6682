#!/bin/sh
# size.sh LIBSLUICE.SO: the runtime's text is at most 24 KB, it exports its interface alone, and it
# needs nothing but libc and the loader.
set -eu
failed=0
text=$(size -A "$1" | awk '$1 == ".text" { print $2 }')
if [ "$text" -gt 24576 ]; then
    echo "$text bytes of text, 24576 are allowed"
    failed=1
fi
exported=$(nm -D --defined-only "$1" | awk '{ print $NF }')
if ! echo "$exported" | grep -q '^sl_' || echo "$exported" | grep -v '^sl_'; then
    echo "the exported symbols are not those of sluice.h"
    failed=1
fi
if readelf -d "$1" | grep NEEDED | grep -vE 'libc\.|libpthread\.|libdl\.|ld-linux'; then
    echo "needed, but not promised"
    failed=1
fi
exit $failed
