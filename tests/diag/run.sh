#!/bin/sh
# run.sh SLUICE FILE OUT: one test of a message. FILE's first line gives the arguments, the file
# FILE minus its extension plus .expected the text of stderr, byte for byte; see tests/README.md.
set -u
sluice=$1 file=$2 out=$3
cd "$(dirname "$0")" || exit 1
stem=${file%.*}

arguments=$(sed -n '1s/^# RUN: //p' "$file")
status=$(sed -n '2s/^# EXIT: //p' "$file")
if [ -z "$arguments" ]; then
    echo "$file: the first line must be '# RUN: arguments'" >&2
    exit 1
fi
rm -rf "$out/$stem" && mkdir -p "$out/$stem" || exit 1
arguments=$(printf '%s' "$arguments" | sed "s|%s|$file|g; s|%t|$out/$stem|g")

eval "set -- $arguments"
timeout 60 "$sluice" "$@" >"$out/$stem/stdout" 2>"$out/$stem/stderr"
got=$?
sed "s|$out/$stem|%t|g" "$out/$stem/stderr" >"$out/$stem/actual"

failed=0
if [ "$got" -ne "${status:-1}" ]; then
    echo "$file: exit status $got, expected ${status:-1}"
    failed=1
fi
diff -u "$stem.expected" "$out/$stem/actual" || failed=1
exit $failed
