#!/bin/sh
# format.sh [--check] [FILE…]: clang-format 14 over the given C files, or over all of them.
# With --check nothing is written: what differs is named and the exit status is 1.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
mode=-i
if [ "${1:-}" = --check ]; then
    mode='--dry-run -Werror'
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
[ $# -eq 0 ] || "$format" --style=file $mode "$@"
