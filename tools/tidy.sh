#!/bin/sh
# tidy.sh BUILD [FILE…]: clang-tidy 14 over the given C files, or over all of compiler/, passes/ and
# runtime/. BUILD is a build folder configured with clang, for its compile_commands.json.
set -eu
build=$(cd "$1" && pwd)
shift
tidy=$(command -v clang-tidy-14 || command -v clang-tidy) || {
    echo "clang-tidy not found: apt-get install clang-tidy" >&2
    exit 3
}
if [ $# -eq 0 ]; then
    cd "$(dirname "$0")/.."
    set -- $(find compiler passes runtime -name '*.c' | sort)
fi
# One file a process: from its second file on clang-tidy 14 takes every va_list for uninitialised.
printf '%s\n' "$@" | xargs -P "$(nproc)" -n 1 "$tidy" --quiet -p "$build"
