#!/bin/sh
# Whatever class a configuration names, or none: the encoder is the same, from the same file; a class
# that nobody knows is a warning.
. "$(dirname "$0")/lib.sh"
mkdir m

# class VALUE: the folder's configuration with that under `architectures`; nothing: without it.
class() {
    line=
    [ $# -eq 0 ] || line=", \"architectures\": $1"
    cat >m/config.json <<END
{"model_type": "bert", "vocab_size": 11, "hidden_size": 8, "num_hidden_layers": 2,
 "num_attention_heads": 2, "intermediate_size": 16, "hidden_act": "gelu", "layer_norm_eps": 1e-12,
 "max_position_embeddings": 6, "type_vocab_size": 2, "output_hidden_states": true
 $line}
END
}
states() { # the states of the encoder, as the evaluator has them, are those of the first class
    status 0 run m --seq 4 --reference --random-input 3 -o $1.safetensors
    python3 -B - "$here" $1.safetensors <<'END' || fail "states of $1"
import sys
sys.path.insert(0, sys.argv[1])
import tensors
states = {n: t for n, t in tensors.read(sys.argv[2]).items() if n.startswith("hidden_states.")}
assert len(states) == 3, list(states)
tensors.write(sys.argv[2], states)
END
    [ -e first.safetensors ] || cp $1.safetensors first.safetensors
    same first.safetensors $1.safetensors
}

# Weights with everything: both heads and the pooler.
class '["BertForPreTraining"]'
status 0 params m --seq 4 --json -o params.json
python3 -B "$here/checkpoint.py" params.json m/model.safetensors || fail checkpoint
states both
class '["BertForMaskedLM"]'
states lm
says '4 tensors are not used: '
class '["BertModel"]'
states base
for n in 1 2 3 4; do
    case $n in
    1) class ;;
    2) class '[]' ;;
    3) class 'null' ;;
    4) class '["BertForFortuneTelling", "BertModel"]' ;;
    esac
    states none$n
    says 'so this is the encoder of bert without a head'
    status 0 build m --seq 4 -o m$n.so
    says 'warning:'
    status 0 inspect m$n.so
    prints 'last_hidden_state : f32[batch, 4, 8]'
done
class '["BertForFortuneTelling"]'
status 0 import m
says 'class "BertForFortuneTelling" is not known'
# An encoder that the file does not hold is an error, warned of or not.
python3 -B "$here/checkpoint.py" params.json m/model.safetensors \
    drop=bert.encoder.layer.1.output.dense.bias || fail checkpoint
status 1 build m --seq 4 -o m.so
says 'missing: encoder.layer.1.output.dense.bias : f32[8]'
finish
