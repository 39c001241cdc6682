#!/bin/sh
# examples.sh FILE.slu BIN OUT: runs the lines '# RUN: command' of an example in its own folder,
# as a reader would type them; `sluice` and the example programs are found, $OUT is an empty folder.
set -eu
file=$1 bin=$2
rm -rf "$3" && mkdir -p "$3"
OUT=$3
PATH=$bin:$bin/examples:$PATH
export OUT PATH
cd "$(dirname "$file")"
sed -n 's/^# RUN: //p' "$file" >"$OUT/commands"
if [ ! -s "$OUT/commands" ]; then
    echo "$file: no '# RUN: command' line" >&2
    exit 1
fi
sh -eux "$OUT/commands"
