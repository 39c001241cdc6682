# For the tests of this folder, which source it: what ../cli/lib.sh offers, and the models. The
# environment has ARTEFACT_RUNS, the program of runs.c, and LLVM_BIN, LLVM's binary tools.
. "$(dirname "$0")/../cli/lib.sh"

# Models that between them have every class of kernel, with sizes that leave tails.
cp "$here/../cli/tiny.slu" .

# build_all NAME-OPTION…: bert, funnel, mixer and tiny, each as NAME with these options of build.
build_all() {
    suffix=$1
    shift
    status 0 build L2H64 --seq 21 --set vocab=50 --random 1 "$@" -o "bert$suffix"
    status 0 build B2-1x2-1H64 --seq 33 --set vocab=50 --random 1 "$@" -o "funnel$suffix"
    status 0 build M2H48F96 --set height=48 --set patch=8 --random 1 "$@" -o "mixer$suffix"
    status 0 build tiny.slu --seq 5 --random 1 "$@" -o "tiny$suffix"
}
