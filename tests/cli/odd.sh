#!/bin/sh
# Odd files and odd names: an error each, or a model that works; nothing outside the folder.
. "$(dirname "$0")/lib.sh"

# Files that are none, or not what their name says.
: >empty.slu
: >empty.ir
echo '# nothing but this' >comment.slu
printf '\377\376' >bytes.slu
mkdir folder.slu
ln -s /dev/zero endless.slu
ln -s /dev/zero endless.ir
status 1 build empty.slu --random 1
says 'empty.slu has no model'
status 1 build comment.slu --random 1
status 1 build bytes.slu --random 1
says 'is not UTF-8'
status 1 build empty.ir --random 1
status 3 build folder.slu --random 1
says 'Is a directory'
status 1 build endless.slu --random 1
status 1 build endless.ir --random 1
status 3 build . --random 1
status 1 build '' --random 1
status 1 build /dev/null --random 1
status 1 build none.slu: --random 1
says 'the name of a model is missing behind the colon'
status 3 build "$(printf 'a\nb.slu')" --random 1
says 'a\nb.slu'
status 2 build B2-2H64 --random 1 "$(printf -- '--se\033[31mq')"
grep -q "$(printf '\033')" ../stderr.txt && fail 'an escape sequence reaches the terminal'
for file in folder endless; do
    printf 'use "%s.slu"\nmodel m { input x : f32[batch, 4] output y = x + x }\n' $file >used.slu
    status 1 build used.slu
    says "cannot read \`$file.slu\`: it "
done
{
    printf 'let t = "'
    head -c 65537 /dev/zero | tr '\0' a
    printf '"\nmodel m { input x : f32[batch, 4] output y = x + x }\n'
} >long.slu
status 1 build long.slu
says 'long.slu:1:9: error: a text of more than 65536 bytes'
rm -r ./*

# Names of models, outputs and parameters are text, and no paths; those that mangle alike stay two.
long=$(printf '%05000d' 7)
for name in 9b-x a/b ../up int ä "$long" 'with space'; do
    cat >n.ir <<END
graph "$name"(batch) {
  %0 = input "x" : f32[batch, 32]
  %1 = param "a.b" : f32[32, 16]
  %2 = param "a_b" : f32[32, 16]
  %3 = matmul %0, %1 : f32[batch, 16]
  %4 = matmul %0, %2 : f32[batch, 16]
  %5 = sub %3, %4 : f32[batch, 16]
  output "$name" = %5
}
END
    status 0 build n.ir --random 1
    status 0 run n.ir --random 1 --reference --random-input 1 -o ref.safetensors
    status 0 run n.so --random-input 1 --expect ref.safetensors
    status 0 inspect n.so
    files n.ir n.so ref.safetensors
done

# Output that cannot be written: one error.
for command in 'params n.ir' 'inspect n.so' 'dump n.ir --stage graph' --help; do
    called="$command >/dev/full"
    "$sluice" $command >/dev/full 2>../stderr.txt
    [ $? -eq 3 ] || fail "$called: not exit status 3"
    [ "$(grep -c 'cannot write to standard output: No space left' ../stderr.txt)" = 1 ] || fail "$called: not one error"
done
(
    ulimit -f 8
    status 3 build n.ir --random 1 -o limited.so
    says 'File too large'
    exit $failures
) || failures=$((failures + 1))
[ ! -e limited.so ] || fail 'a part of a file'

# Weights that are no file of weights.
for file in /dev/zero /dev/null; do
    status 3 build n.ir --weights $file
done
status 1 build n.ir --weights .
says '. is a folder, which holds no model.safetensors'
status 1 build n.ir --weights n.ir
printf '\200\0\0\0\0\0\0\0{' >cut.safetensors
status 1 build n.ir --weights cut.safetensors
finish
