# For the tests of this folder, which source it: . "$(dirname "$0")/lib.sh". Called with the command
# and an empty folder of the test's own, in which it then is. A test goes on after a failure; the
# last line of each is `finish`.
sluice=$1
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$2" && cd "$2" && rm -rf ./* ./.[!.]* || exit 1
failures=0

fail() {
    failures=$((failures + 1))
    echo "FAILED: $*"
    sed 's/^/    | /' ../stdout.txt ../stderr.txt 2>/dev/null | head -n 20
}

# status N ARGUMENT…: what the command with these arguments must end with.
status() {
    expected=$1
    shift
    called="sluice $*"
    "$sluice" "$@" >../stdout.txt 2>../stderr.txt
    got=$?
    [ $got -eq "$expected" ] || fail "$called: exit status $got, not $expected"
}

# What the last command wrote to standard error, to standard output: a piece of text.
says() { grep -qF -- "$1" ../stderr.txt || fail "$called: does not say: $1"; }
prints() { grep -qF -- "$1" ../stdout.txt || fail "$called: does not print: $1"; }
is_silent() { [ ! -s ../stderr.txt ] || fail "$called: is not silent"; }

# files NAME…: exactly these are in the folder.
files() {
    there=$(ls -A)
    wanted=$(printf '%s\n' "$@" | sort)
    [ "$(echo "$there" | sort)" = "$wanted" ] || fail "$called: the folder holds: " $there
}

same() { cmp -s "$1" "$2" || fail "$called: $1 and $2 differ"; }

# tensors FILE NAME DTYPE SHAPE VALUES …: a safetensors file; SHAPE as 2,3, VALUES as 1,2,3 or one.
tensors() { python3 -B "$here/tensors.py" "$@" || fail "tensors $*"; }

finish() {
    rm -f ../stdout.txt ../stderr.txt
    exit $((failures > 0))
}
