#!/bin/sh
# --map: the shipped maps read what other code bases wrote, maps of one's own what nobody foresaw,
# and a map that is wrong or does not fit is shown where.
. "$(dirname "$0")/lib.sh"
cat >m.slu <<'END'
let layers = L2H8A2F16
model bert_encoder = bert(layers, vocab: 11, positions: 6)
model bert_lm      = bert_masked_lm(layers, vocab: 11, positions: 6)
model bert_both    = bert_pretraining(layers, vocab: 11, positions: 6)
model funnel_full  = funnel(B2-2x2-1H8A2E4F16D2, vocab: 11)
model funnel_lm    = funnel_masked_lm(B1-1H8A2E4F16D1, vocab: 11)
model funnel_class = funnel_classifier(B2-1H8A2E4F16, vocab: 11, labels: 3)
model funnel_place = funnel(B1-1H8A2E4F16D1, vocab: 11, absolute: true, positions: 9)
model funnel_head  = funnel_official_masked_lm(B1-1H8A2E4F16D1, vocab: 11)
model funnel_gen   = funnel_official_masked_lm(B1-1H8A2E4F16D1, vocab: 11, embed: 12)
model funnel_real  = funnel_official_discriminator(B1-1H8A2E4F16D1, vocab: 11)
model funnel_span  = funnel_official_squad(B1-1H8A2E4F16D1, vocab: 11)
model funnel_ends  = funnel_official_squad(B1-1H8A2E4F16D1, vocab: 11, conditional_end: false)
model electra_real = electra(layers, vocab: 11, positions: 6, embed: 4)
model electra_lm   = electra_generator(layers, vocab: 11, positions: 6, embed: 4)
model vision       = vit(V2H8A2F16, height: 4, patch: 2, classes: 5)
model mix          = mixer(M2H8F16, height: 4, patch: 2, classes: 5)
END

# equal MODEL MAP OPTION…: the same bytes from the model's own names and from another code's.
equal() {
    spec=m.slu:$1
    map=$2
    shift 2
    status 0 params $spec "$@" --json -o params.json
    python3 -B "$here/checkpoint.py" params.json own.safetensors || fail "checkpoint $spec"
    python3 -B "$here/foreign.py" params.json foreign.safetensors $map 2 || fail "foreign $spec"
    status 0 build $spec "$@" --weights own.safetensors -o own.so
    status 0 build $spec "$@" --weights foreign.safetensors --map $map -o foreign.so
    is_silent
    same own.so foreign.so
    # The map that fits is found by itself.
    status 0 build $spec "$@" --weights foreign.safetensors -o foreign.so
    says "foreign.safetensors: its names are read by the map $map"
    same own.so foreign.so
}
equal bert_encoder bert-tf --seq 4
equal bert_lm bert-tf --seq 4
equal bert_both bert-tf --seq 4
equal funnel_full funnel-tf --seq 8
equal funnel_lm funnel-tf --seq 8
equal funnel_class funnel-tf --seq 8
equal funnel_place funnel-tf --seq 8
equal funnel_head funnel-tf --seq 8
equal funnel_gen funnel-tf --seq 8
equal funnel_gen funnel-generator-tf --seq 8
equal funnel_real funnel-tf --seq 8
equal funnel_span funnel-tf --seq 8
equal funnel_ends funnel-tf --seq 8
equal funnel_class funnel-pt --seq 8
equal electra_real electra-tf --seq 4
equal electra_lm electra-generator-tf --seq 4
equal vision vit-jax
equal mix mixer-jax
rm -f ./*.so ./*.safetensors

# A map of one's own, and the numbers that it must make: y = x W + b for x = 1 2, by the evaluator.
cat >tiny.slu <<'END'
block dense(x: f32[.., D], width) {
    param weight: f32[width, D]
    param bias:   f32[width]
    return x @ transpose(weight) + bias
}
model tiny() {
    input x  : f32[batch, 2]
    output y = dense(x, 3) as out.layer[0]
}
END
tensors in.safetensors x F32 1,2 1,2
# weight is 1 3, 5 2, 4 6 and bias 10 20 30; so y is 7 9 16 + bias.
tensors want.safetensors y F32 1,3 17,29,46
good() { # TENSORS…, with the map in map.yaml
    tensors w.safetensors "$@"
    status 0 run tiny.slu --reference --weights w.safetensors --map ./map.yaml \
        --input in.safetensors --expect want.safetensors --atol 0 --rtol 0
    status 0 build tiny.slu --weights w.safetensors --map map.yaml
    status 0 run tiny.so --input in.safetensors --expect want.safetensors --atol 0 --rtol 0
}
cat >map.yaml <<'END'
strip: [module., "model."]
rules:
  - {to: "out.layer.<n>.<what..>", from: "module.head<n>/<what..>"}
END
good module.head0/weight F32 3,2 1,3,5,2,4,6 module.head0/bias F32 3 10,20,30
is_silent
good module.out.layer.0.weight F32 3,2 1,3,5,2,4,6 model.out.layer.0.bias F64 3 10,20,30
is_silent
cat >map.yaml <<'END'
rules:
  - to: out.layer.0.weight
    from: [a, b]
    do:
      - reshape: [2, rest]        # of a 1 5 4 as [2, 3] with zeros below, and so on
      - split: {axis: 0, parts: 2, take: 0}
      - transpose
      - join: 1
  - to: out.layer.0.bias
    from: c
    do: [split: {axis: 1, parts: 2, take: 1}, merge: [0, 1]]
END
good a F32 6 1,5,4,0,0,0 b F32 3,2 3,2,6,0,0,0 c F32 3,2 0,10,0,20,0,30
is_silent

# What does not fit is shown in the map.
tensors w.safetensors a F32 6 0 b F32 6 0 c F32 4,3 0
status 1 build tiny.slu --weights w.safetensors --map map.yaml
says 'map.yaml:11:10: note: out.layer.0.bias : f32[3] from c F32[4, 3]: split: axis 1 does not'
tensors w.safetensors a F32 6 0 b F32 6 0 c F32 4,4 0
status 1 build tiny.slu --weights w.safetensors --map map.yaml
says 'another shape: out.layer.0.bias : f32[3], but c F32[4, 4] becomes [8]'
tensors w.safetensors a F32 6 0 c F32 3,2 0
status 1 build tiny.slu --weights w.safetensors --map map.yaml
says 'missing: out.layer.0.weight : f32[3, 2]; the map reads it from a, b'
tensors w.safetensors a I64 6 0 b F32 6 0 c F32 3,2 0
status 1 build tiny.slu --weights w.safetensors --map map.yaml
says 'another type: out.layer.0.weight : f32[3, 2], but a is I64[6] there'

# A rule that does nothing is shown, though all parameters are found.
cat >map.yaml <<'END'
rules:
  - {to: out.layer.0.weight, from: w}
  - {to: out.layers.0.bias, from: b}
  - to: out.layer.0.bias
    from: head.bais
END
good w F32 3,2 1,3,5,2,4,6 out.layer.0.bias F32 3 10,20,30 head.bias F32 3 0
status 0 build tiny.slu --weights w.safetensors --map map.yaml
says 'map.yaml:3:10: note: this rule makes no parameter of the model'
says 'map.yaml:5:11: note: this rule reads `head.bais`, which the file does not hold; did you mean `head.bias`?'
[ "$(grep -c 'this rule' ../stderr.txt)" -eq 2 ] || fail 'a rule that is used was named'
tensors w.safetensors w F32 3,2 1,3,5,2,4,6 head.bias F32 3 0
status 1 build tiny.slu --weights w.safetensors --map map.yaml
says 'missing: out.layer.0.bias : f32[3]; the map reads it from head.bais'
says 'map.yaml:5:11: note: this rule reads `head.bais`'

# Wrong maps: all that is wrong at once, each at its place.
cat >wrong.yaml <<'END'
rules:
  - {to: "a.<n>", from: "b.<m>"}
  - to: c
    form: d
  - {to: e, from: [f, g]}
  - {to: h, from: i, do: [transpose: [0, 0]]}
END
status 1 build tiny.slu --weights w.safetensors --map wrong.yaml
says 'wrong.yaml:2:25: error: <m> is neither in `to` nor a count'
says 'wrong.yaml:4:5: error: the key `form` is not known here; did you mean `from`?'
says 'wrong.yaml:5:19: error: several tensors make one parameter by'
says 'wrong.yaml:6:38: error: each axis must be there once'
printf 'rules: []\nstrip: a\nrules: []\n' >wrong.yaml
status 1 build tiny.slu --weights w.safetensors --map wrong.yaml
says 'wrong.yaml:3:1: error: the key `rules` is there twice'
says 'wrong.yaml:1:1: note: the first one is here'
printf 'rules: &a []\nstrip: *a\n' >wrong.yaml
status 1 build tiny.slu --weights w.safetensors --map wrong.yaml
says 'wrong.yaml:1:8: error: anchors'
printf 'rules: [\n' >wrong.yaml
status 1 build tiny.slu --weights w.safetensors --map wrong.yaml
says 'error: no valid YAML'
status 1 build tiny.slu --weights w.safetensors --map funel-tf
says 'bert-tf, electra-generator-tf, electra-tf, funnel-generator-tf, funnel-pt, funnel-tf, mixer-jax, vit-hf, vit-jax'
status 3 build tiny.slu --weights w.safetensors --map none.yaml
status 0 build tiny.slu --random 1 --map bert-tf
says '--map has no effect'
finish
