#!/bin/sh
# Help is printed to standard output, with status 0; every command has examples.
. "$(dirname "$0")/lib.sh"

status 0 --version
prints 'sluice '
is_silent
status 0 --help
for command in build run params options import inspect dump opt; do
    status 0 --help
    prints "  $command "
    status 0 $command --help
    is_silent
    prints "usage: sluice $command "
    prints "  sluice $command "
    case $(sed -n 1p ../stdout.txt) in
    *SPEC*) prints 'SPEC is one of' ;;
    esac
    cp ../stdout.txt help.txt
    status 0 help $command
    same help.txt ../stdout.txt
    # A line of help fits a terminal.
    awk 'length > 100 { print; long = 1 } END { exit long }' help.txt || fail "$command: long lines"
done

# Output that cannot be written is no success.
if [ -w /dev/full ]; then
    "$sluice" --help >/dev/full 2>../stderr.txt
    [ $? -eq 3 ] || fail '--help to a full device'
    says 'standard output'
fi
finish
