#!/bin/sh
# Command lines: what is wrong with them is said, with status 2, and nothing is written.
. "$(dirname "$0")/lib.sh"
cp "$here/tiny.slu" .

"$sluice" >../stdout.txt 2>../stderr.txt
[ $? -eq 2 ] || fail "sluice without arguments"
status 2 bild tiny.slu
says 'did you mean `build`?'
status 2 frobnicate
says 'there is no command `frobnicate`'
status 2 B2-2H64
says 'sluice build B2-2H64'

# Names of options: never the beginning of another, never a neighbour.
status 2 build tiny.slu --sed 3
says 'did you mean --seq?'
status 2 build tiny.slu --weight w.safetensors
says 'did you mean --weights?'
status 2 build tiny.slu --verif
says 'did you mean --verify-each?'
status 2 build tiny.slu --expect ref.safetensors
says 'it is one of run'
status 2 build tiny.slu -x
says 'build has no option -x'
status 2 build tiny.slu -seq 3
says 'did you mean --seq?'

# Values.
status 2 build tiny.slu --seq
says '--seq needs a value: --seq N'
status 2 build tiny.slu --seq three --random 1
says '--seq takes a whole number of at least 1, not `three`'
status 2 build tiny.slu --seq 0 --random 1
status 2 build tiny.slu --seq 3,4 --random 1
status 2 build tiny.slu --seq 99999999999999999999 --random 1
status 2 build tiny.slu --random -1 --seq 3
status 2 build tiny.slu --set width --seq 3
says '--set takes NAME=VALUE, not `width`'
status 2 build tiny.slu --set =3 --seq 3
status 2 build tiny.slu --emit object --seq 3
says '--emit takes so, obj, asm or llvm, not `object`'
status 2 build tiny.slu --target x86-64-v9 --seq 3
says 'there is no target x86-64-v9'
status 2 build tiny.slu --disable fues --seq 3
says 'did you mean `fuse`?'
status 2 build tiny.slu --disable prepare --seq 3
says 'is a stage'
status 2 build tiny.slu --seq 3 --random 1 -O2
says 'there is -O0'
status 2 build tiny.slu --verbose=yes
says '--verbose takes no value'
status 2 run tiny.slu --reference --random 1 --seq 3 --random-input 1 --atol -1
status 2 run tiny.slu --reference --random 1 --seq 3 --random-input 1 --atol nan
status 2 run tiny.slu --reference --random 1 --seq 3 --random-input 1 --threads 0
status 2 dump tiny.slu --stage loop
says 'did you mean `loops`?'
status 2 dump tiny.slu
status 2 opt tiny.ir --pass fues
says 'did you mean `fuse`?'

# Twice, or against each other.
status 2 build tiny.slu --seq 3 --seq 4 --random 1
says '--seq is given twice: 3 and 4'
status 2 build tiny.slu --seq 3 --set seq=4 --random 1
status 2 build tiny.slu --seq 3 --random 1 --weights w.safetensors
says '--weights and --random'
status 2 build tiny.slu tiny.slu --seq 3
says 'takes one SPEC'
status 2 build --seq 3
says 'build takes a SPEC'
status 2 run tiny.slu --seq 3 --random 1 --random-input 1
says '--reference runs it as it is'
status 2 run tiny.so --seq 3 --random-input 1
says '--seq goes with --reference'
status 2 run tiny.so --reference --random-input 1
status 2 run tiny.slu --reference --seq 3 --random 1 --input a --random-input 1
status 2 dump tiny.slu --seq 3 --after fuse --stage loops
status 2 dump tiny.slu --seq 3 --after fuse -O0
says 'the pass `fuse` is switched off'
status 2 build tiny.slu --seq 3 --random 1 -o tiny.slu
says 'would be written over'

files tiny.slu
same tiny.slu "$here/tiny.slu"
finish
