#!/bin/sh
# Models of the standard library that no golden case has: native code and evaluator agree. And weights of another
# size are never cut to fit.
. "$(dirname "$0")/lib.sh"
agrees() { # MODEL [--size starts=N]: with a mask, and another token type, made up
    echo "model m = $1" >m.slu
    shift
    status 0 build m.slu --set seq=13 --random 1 -o m.so || return
    "$sluice" run m.slu --set seq=13 --random 1 --reference --random-input 7 --size batch=3 "$@" \
        -o ref.safetensors >../stdout.txt 2>../stderr.txt || fail "$called: no reference"
    status 0 run m.so --random-input 7 --size batch=3 "$@" --expect ref.safetensors
}
small="vocab: 40, all_states: true"
agrees "funnel_official_masked_lm(B2-1-1H64A2D1, $small)"
agrees "funnel_official_discriminator(B2-1-1H64A2D1, $small)"
agrees "funnel_official_squad(B2-1H64A2D1, $small)" --size starts=4
agrees "funnel_official_squad(B2-1H64A2D1, $small, conditional_end: false, answer_class: false)"
agrees "funnel(B2-1x2-1H64A2D1, $small, absolute: true)"
agrees "funnel_classifier(B2-1H64A2, $small, absolute: true, pool: \"max\", pool_q_only: false)"
agrees "funnel(B1-1-1-1H64A2D1, $small, truncate: false, mask_pool: \"all_real\")"
agrees "funnel(B1-1-1-1H64A2E24D1, $small, separate_cls: false, attention: by_factors)"
agrees "lucid_gmlp(G2H20F24T6, vocab: 40, length: 16, causal: true, shift: 2, heads: 3, qkv_bias: true)"
agrees "lucid_gmlp(G2H20F24, vocab: 40, length: 13, circulant: true, gate_act: tanh, shift: 1)"

agrees_vision() {
    echo "model m = $1" >m.slu
    status 0 build m.slu --random 1 -o m.so
    status 0 run m.slu --random 1 --reference --random-input 7 --size batch=2 -o ref.safetensors
    status 0 run m.so --random-input 7 --size batch=2 --expect ref.safetensors
}
image="height: 20, width: 12, patch: 4, classes: 7"
agrees_vision "gmlp_vision(G1-2-1x2H24F32, $image)"
agrees_vision "gmlp_vision(G1-1H24F32T8, $image, mix: toeplitz_mix, qkv_bias: true, pool: \"max\")"
agrees_vision "gmlp_vision(G2H24F32, $image, gate: additive_gate, causal: true)"
agrees_vision "gmlp_vision(G2H24F32, $image, gate: multiplicative_gate, act: gelu_tanh)"
agrees_vision "gmlp_vision(G2H24F32, $image, gate: linear_gate, mix: toeplitz_mix)"
agrees_vision "gmlp_masked_lm(G2H24F32T8, vocab: 40, length: 13)"
agrees_vision "vit(V2H24A3, $image, class_token: false, readout: \"mean\", act: gelu_tanh)"

# A start that is no token is said, not scored.
echo "model m = funnel_official_squad(B1-1H8A2D1, vocab: 9)" >m.slu
status 0 build m.slu --seq 9 --random 1 -o m.so
tensors in.safetensors input_ids I32 1,9 1 start_positions I32 1,2 8,0
status 0 run m.so --input in.safetensors
tensors in.safetensors input_ids I32 1,9 1 start_positions I32 1,2 0,9
status 1 run m.so --input in.safetensors
says 'outside'

# The gates of a longer text model, the positions of a smaller image: shapes of weights are compared, not cut.
checkpoint() { # MODEL: made-up weights for it
    echo "model m = $1" >m.slu
    status 0 params m.slu --json -o params.json
    python3 -B "$here/checkpoint.py" params.json w.safetensors || fail "checkpoint $1"
}
checkpoint 'lucid_gmlp_features(G1H8F16, length: 32)'
echo 'model m = lucid_gmlp_features(G1H8F16, length: 16)' >m.slu
status 1 build m.slu --seq 16 --weights w.safetensors
says 'layers.0.fn.fn.fn.sgu.weight : f32[1, 16, 16], but it is F32[1, 32, 32] there'
checkpoint 'vit(V1H8A2, height: 32, patch: 16)'
echo 'model m = vit(V1H8A2, height: 32, width: 48, patch: 16)' >m.slu
status 1 build m.slu --weights w.safetensors
says 'pos_embed : f32[1, 7, 8], but it is F32[1, 5, 8] there'
finish
