#!/bin/sh
# format.sh [--check] [FILE…]: clang-format 14 over the given C files, or over all of them.
# With --check nothing is written: the lines that differ are named and the exit status is 1.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
check=
if [ "${1:-}" = --check ]; then
    check=yes
    shift
fi
format=$(command -v clang-format-14 || command -v clang-format) || {
    echo "clang-format not found: apt-get install clang-format" >&2
    exit 3
}
if [ $# -eq 0 ]; then
    cd "$top"
    set -- $(find compiler passes runtime tests dsl_examples bench -name '*.[ch]' | sort)
fi
[ $# -gt 0 ] || exit 0
if [ -z "$check" ]; then
    exec "$format" --style=file -i "$@"
fi
found=$("$format" --style=file --dry-run -Werror "$@" 2>&1) && exit 0
printf '%s\n' "$found" | grep 'error:' || printf '%s\n' "$found"
echo 'tools/format.sh lays them out'
exit 1
