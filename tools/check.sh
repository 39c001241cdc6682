#!/bin/sh
# check.sh: everything that must hold before a change lands, from an empty Debian machine on:
# packages, gcc Release with every test, clang with ASan+UBSan, TSan for the runtime, ten seconds of
# each fuzzer, clang-tidy. One line a step with its seconds; a step that fails shows its log, the
# others still run. Builds in $SLUICE_CHECK_DIR, or build/check.
set -u
cd "$(dirname "$0")/.." || exit 3
top=$PWD
out=${SLUICE_CHECK_DIR:-$top/build/check}
jobs=$(nproc)
mkdir -p "$out" || exit 3
out=$(cd "$out" && pwd)
: >"$out/summary"
failed=0

# step NAME COMMAND…: runs it with its output in a log; false if it failed.
step() {
    name=$1
    log=$out/$(echo "$name" | tr ' +' '__').log
    shift
    printf '%-24s' "$name"
    begin=$(date +%s)
    "$@" >"$log" 2>&1
    status=$?
    seconds=$(($(date +%s) - begin))
    closing=$(grep -E '^[0-9]+% tests passed' "$log" | tail -n 1)
    [ -z "$closing" ] || echo "$name: $closing" >>"$out/summary"
    if [ $status -eq 0 ]; then
        printf 'ok     %4ds  %s\n' $seconds "$closing"
        return 0
    fi
    printf 'FAILED %4ds  %s\n' $seconds "$closing"
    tail -n 40 "$log"
    echo "(all of it: $log)"
    failed=$((failed + 1))
    return 1
}

build() { # DIR TARGET COMPILER OPTION…
    dir=$1 target=$2 compiler=$3
    shift 3
    cmake -G Ninja -S "$top" -B "$out/$dir" -DCMAKE_C_COMPILER="$compiler" "$@" &&
        ninja -C "$out/$dir" -j "$jobs" "$target"
}

tests() { # DIR CTEST-OPTION…
    dir=$1
    shift
    $fixed_addresses ctest --test-dir "$out/$dir" -j "$jobs" --output-on-failure \
        --no-tests=error "$@"
}

fuzz() {
    for fuzzer in "$out"/asan/tests/fuzz_*; do
        [ -x "$fuzzer" ] && [ -f "$fuzzer" ] || continue
        name=$(basename "$fuzzer" | sed 's/^fuzz_//')
        mkdir -p "$out/fuzz/$name"
        "$fuzzer" -seed=1 -max_total_time=10 -timeout=60 -rss_limit_mb=2048 -print_final_stats=1 \
            -artifact_prefix="$out/fuzz/$name-" "$out/fuzz/$name" "$top/tests/fuzz/corpus/$name" || return 1
    done
}

fixed_addresses=
export UBSAN_OPTIONS=print_stacktrace=1
step packages tools/deps.sh || exit 3
step 'gcc build' build gcc all gcc && step 'gcc tests' tests gcc
step 'asan+ubsan build' build asan all clang -DSLUICE_SANITIZE=address,undefined -DSLUICE_FUZZ=ON &&
    step 'asan+ubsan tests' tests asan -L '^(unit|lit|diag|cli|abi|fuzz)$' &&
    step 'fuzzers' fuzz
# clang 14's TSan does not know the address layout of kernels that randomise more than 28 bits.
setarch -R true 2>/dev/null && fixed_addresses='setarch -R'
step 'tsan build' build tsan runtime_tests clang -DSLUICE_SANITIZE=thread &&
    step 'tsan tests' tests tsan -L runtime
step 'clang-tidy' tools/tidy.sh "$out/asan"

echo
cat "$out/summary"
[ $failed -eq 0 ] || echo "$failed steps failed"
[ $failed -eq 0 ]
