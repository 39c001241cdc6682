#!/bin/sh
# Under which names a weights file holds a model's parameters: prefixes, old names, tied tensors,
# what is missing, does not fit, or is not used.
. "$(dirname "$0")/lib.sh"

# checkpoint CHANGE…: w.safetensors for the model of $spec; checkpoint.py says what changes are.
checkpoint() {
    "$sluice" params $spec --seq 4 --json >params.json || fail "params $spec"
    python3 -B "$here/checkpoint.py" params.json w.safetensors "$@" || fail "checkpoint $*"
}
# build STATUS: the model of $spec with these weights.
build() { status $1 build $spec --seq 4 --weights w.safetensors -o m.so; }
equal() { same m.so want.so; } # the model built is the one with all names as they should be

cat >bert.slu <<'END'
let layers = L2H8A2F16
model encoder = bert(layers, vocab: 11, positions: 6, pooler: false)
model pooled  = bert(layers, vocab: 11, positions: 6)
model lm      = bert_masked_lm(layers, vocab: 11, positions: 6)
END
cat >funnel.slu <<'END'
model base = funnel(B1-1H8A2E4F16, vocab: 11)
model full = funnel(B1-1H8A2E4F16D1, vocab: 11)
model lm   = funnel_masked_lm(B1-1H8A2E4F16D1, vocab: 11)
END

# Norms called gamma and beta, the model's name before all names, and heads that are not wanted.
heads='extra=cls.predictions.bias:F32:11 extra=cls.seq_relationship.weight:F32:2,8'
spec=bert.slu:pooled
checkpoint
build 0
is_silent
mv m.so want.so
checkpoint old
build 0
is_silent
equal
checkpoint prefix=bert. $heads
build 0
says 'its names begin with `bert.`'
says '2 tensors are not used: cls.predictions.bias, cls.seq_relationship.weight'
equal
checkpoint old prefix=bert. $heads
build 0
says 'its names begin with `bert.`'
says '2 tensors are not used: cls.predictions.bias, cls.seq_relationship.weight'
equal
checkpoint old $heads
build 0
says '2 tensors are not used: cls.predictions.bias, cls.seq_relationship.weight'
equal
# A base under another architecture's name; a pooler that the model leaves out.
checkpoint prefix=electra.
build 0
equal
spec=bert.slu:encoder
checkpoint
build 0
mv m.so want.so
checkpoint prefix=bert. extra=bert.pooler.dense.weight:F32:8,8
build 0
says '1 tensor is not used: bert.pooler.dense.weight'
equal

# The reverse: a head's model, and a file whose encoder has no prefix.
spec=bert.slu:lm
checkpoint
build 0
is_silent
mv m.so want.so
checkpoint strip=bert.
build 0
says 'its names lack the `bert.`'
equal

# A buffer that some files have, of any type and shape; scalars and tensors without elements.
for buffer in I64:1,6 I64:6 I64: F32:3,0 X9:5; do
    checkpoint extra=bert.embeddings.position_ids:$buffer
    build 0
    says '1 tensor is not used: bert.embeddings.position_ids'
    equal
done
checkpoint extra=bert.embeddings.position_ids:I64:1,6 extra=a:F32: extra=b:F32:2,0
build 0
says '3 tensors are not used: bert.embeddings.position_ids, a, b'
[ "$(wc -l <../stderr.txt)" -eq 1 ] || fail 'more than one note'
equal

# --strict: such buffers and other heads are known, all else is an error.
cp w.safetensors known.safetensors
checkpoint extra=bert.embeddings.position_ids:I64:1,6 extra=bert.pooler.dense.weight:F32:8,8 \
    extra=cls.seq_relationship.bias:F32:2 extra=classifier.weight:F32:2,8 extra=qa_outputs.bias:F32:2
status 0 build $spec --seq 4 --weights w.safetensors --strict -o m.so
says '5 tensors are not used: bert.embeddings.position_ids, '
equal
status 1 build $spec --seq 4 --weights known.safetensors --strict -o m.so
says "known.safetensors: 2 tensors are neither the model's nor of a head, by --strict"
says 'unknown: a : F32[]'
says 'unknown: b : F32[2, 0]'
[ "$(wc -l <../stderr.txt)" -eq 3 ] || fail 'not one line for each'
checkpoint extra=bert.encoder.layer.2.output.dense.bias:F32:8
status 1 build $spec --seq 4 --weights w.safetensors --strict -o m.so
says 'unknown: bert.encoder.layer.2.output.dense.bias : F32[8]'
build 0
many=$(for i in $(seq 30); do echo extra=x.$i:F32:1; done)
checkpoint $many
status 1 run $spec --seq 4 --reference --random-input 1 --weights w.safetensors --strict
says '30 tensors are neither'
says 'unknown: x.20 : F32[1]'
says 'note: and 10 more'
[ "$(wc -l <../stderr.txt)" -eq 22 ] || fail 'not 20 of them'
status 0 build $spec --seq 4 --random 1 --strict -o m.so
says '--strict has no effect: --random reads no file'

# Tied: under either name, under both, and under both with other values.
table=bert.embeddings.word_embeddings.weight
checkpoint move=$table:cls.predictions.decoder.weight
build 0
is_silent
equal
checkpoint copy=$table:cls.predictions.decoder.weight \
    copy=cls.predictions.bias:cls.predictions.decoder.bias
build 0
is_silent
equal
checkpoint copy=$table:cls.predictions.decoder.weight shift=cls.predictions.decoder.weight
build 1
says "$table and cls.predictions.decoder.weight are one tensor in this model, but differ: element 87"
checkpoint copy=$table:cls.predictions.decoder.weight shape=cls.predictions.decoder.weight:12,8
build 1
says 'have 88 and 96 elements'
checkpoint copy=cls.predictions.transform.LayerNorm.bias:cls.predictions.transform.LayerNorm.beta \
    shift=cls.predictions.transform.LayerNorm.beta
build 1
says 'are one tensor under its new and its old name, but differ: element 7'
# In a model without that head it is another tensor.
spec=bert.slu:encoder
checkpoint copy=embeddings.word_embeddings.weight:cls.predictions.decoder.weight \
    shift=cls.predictions.decoder.weight
build 0
says 'not used: cls.predictions.decoder.weight'

# Everything that is missing or does not fit, at once.
spec=bert.slu:lm
checkpoint drop=$table drop=cls.predictions.bias drop=bert.encoder.layer.1.output.dense.weight \
    shape=bert.encoder.layer.0.intermediate.dense.weight:8,16 \
    type=bert.encoder.layer.0.intermediate.dense.bias:I64
build 1
says "w.safetensors does not hold 5 of the model's"
says "missing: $table : f32[11, 8]"
says 'missing: cls.predictions.bias : f32[11]'
says 'missing: bert.encoder.layer.1.output.dense.weight : f32[8, 16]'
says 'another shape: bert.encoder.layer.0.intermediate.dense.weight : f32[16, 8], but it is F32[8, 16]'
says 'another type: bert.encoder.layer.0.intermediate.dense.bias : f32[16], but it is I64[16]'
[ "$(wc -l <../stderr.txt)" -eq 6 ] || fail 'not one line for each'

# Each of them, of every kind, missing alone; nothing is ever made up. The second layer is as the
# first.
for name in $(python3 -c 'import json
for p in json.load(open("params.json"))["parameters"]:
    print(p["name"] if ".layer.1." not in p["name"] else "")'); do
    checkpoint drop=$name
    build 1
    says "does not hold 1 of the model's"
    says "missing: $name : f32["
done

# Types that are no numbers of ours, by name; the size of one that nobody knows is not guessed.
for type in F8_E4M3 X9 U8; do
    checkpoint type=cls.predictions.bias:$type
    build 1
    says "another type: cls.predictions.bias : f32[11], but it is $type[11] there"
done

# Data at any address: a byte before all others, and headers of any length.
for n in 0 1 3 31 62; do
    checkpoint first=byte:U8:1 pad=$n
    build 0
    says '1 tensor is not used: byte'
    equal
done
status 0 inspect m.so --show weights
awk '$1 % 64 { bad = 1 } END { exit bad || NR == 0 }' ../stdout.txt || fail 'constants not aligned'

# What may have been meant: a name like it, a prefix that nobody knows.
checkpoint move=cls.predictions.bias:cls.prediction.bias
build 1
says 'missing: cls.predictions.bias : f32[11]; there is cls.prediction.bias'
checkpoint prefix=module.
build 1
tail -n 1 ../stderr.txt | grep -qF '42 of them are there behind `module.`: --map MAP.yaml reads them' ||
    fail 'the cure is not last'
says 'a file with the line `strip: module.`'
[ "$(grep -c 'missing:' ../stderr.txt)" -eq 20 ] || fail 'not 20 of all that is missing'
says 'note: and 22 more'
# The cure that was named is one, also where the first parameter is not there at all, and of a
# prefix that is not plain in YAML.
cure() {
    sed -n 's/.*a file with the line `\(.*\)`$/\1/p' ../stderr.txt >cure.yaml
    status 0 build $spec --seq 4 --weights w.safetensors --map cure.yaml -o m.so
    equal
}
cure
checkpoint 'prefix=- "a": #.'
build 1
cure
checkpoint drop=$table prefix=module.
build 1
says '41 of them are there behind `module.`'
spec=bert.slu:encoder
checkpoint
build 0
mv m.so want.so
checkpoint strip=embeddings. strip=encoder.
build 1
says 'of them are there without `en'
checkpoint strip=embeddings.
build 1
says 'of them are there without `embeddings.`'
cure

# Doubles are rounded, if they can be.
spec=bert.slu:encoder
checkpoint
build 0
mv m.so want.so
checkpoint type=embeddings.word_embeddings.weight:F64
build 0
is_silent
equal

# Funnel: a file with a decoder for a model without one, and the reverse.
spec=funnel.slu:base
checkpoint
build 0
mv m.so want.so
spec=funnel.slu:full
checkpoint
spec=funnel.slu:base
build 0
says '20 tensors are not used: decoder.layers.0.'
equal
checkpoint
spec=funnel.slu:full
build 1
says 'does not hold 20 of the model'
says 'the file has nothing of decoder.layers.0'
says 'missing: decoder.layers.0.attention.r_kernel : f32[8, 2, 4]'
spec=funnel.slu:lm
checkpoint
build 0
mv m.so want.so
checkpoint strip=funnel. move=embeddings.word_embeddings.weight:lm_head.weight
build 0
equal

# Very many tensors: linear, also where something is missing.
checkpoint
many() { # what is left out of the model's own
    python3 -B - "$here" "$1" <<'END' || fail many
import sys
sys.path.insert(0, sys.argv[1])
import tensors
own = tensors.read("w.safetensors")
own.pop(sys.argv[2], None)
own.update(("layers.%d.weight" % i, ["U8", [1], [0]]) for i in range(200000))
tensors.write("many.safetensors", own)
END
}
spec=funnel.slu:lm
# build_many STATUS WITHOUT: builds in a time that something quadratic would exceed.
build_many() {
    many "$2"
    status $1 build $spec --seq 4 --weights many.safetensors -o m.so
}
checkpoint
ulimit -t 60 # seconds of the processor, for each command
build_many 0 none
says '200000 tensors are not used: '
equal
build_many 1 lm_head.bias
says 'missing: lm_head.bias : f32[11]'
finish
