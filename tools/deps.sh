#!/bin/sh
# deps.sh: installs the Debian packages that building, testing and the demo need; those that are
# there already are left alone, and nothing is done when none is missing.
set -eu

packages='build-essential clang cmake ninja-build
llvm-19-dev llvm-19-tools lld-19 libclang-rt-14-dev lemon
libyaml-dev libjansson-dev libxxhash-dev libcmocka-dev
clang-format clang-tidy valgrind pkgconf python3 python3-venv python3-pip'

missing=
for package in $packages; do
    status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) || status=none
    [ "$status" = installed ] || missing="$missing $package"
done
if [ -z "$missing" ]; then
    echo "deps: all packages are there"
    exit 0
fi

as_root=
if [ "$(id -u)" -ne 0 ]; then
    as_root=sudo
    command -v sudo >/dev/null || {
        echo "deps: not root and no sudo; as root: apt-get install$missing" >&2
        exit 3
    }
fi
echo "deps: installing$missing"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { $as_root apt-get -q update &&
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get -qy --no-install-recommends install $missing; } >"$log" 2>&1; then
    cat "$log" >&2
    exit 3
fi
