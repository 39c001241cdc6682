#!/bin/sh
# What a folder says to callers goes along: into the text of the model, and into the model file.
. "$(dirname "$0")/lib.sh"
mkdir m
cat >m/config.json <<'END'
{"model_type": "bert", "architectures": ["BertModel"], "vocab_size": 11, "hidden_size": 8,
 "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16, "hidden_act": "gelu",
 "max_position_embeddings": 6, "type_vocab_size": 2, "layer_norm_eps": 1e-12, "pad_token_id": 2}
END
cat >m/tokenizer_config.json <<'END'
{"model_max_length": 6, "pad_token": "[PAD]", "padding_side": "left", "tokenizer_class": "T"}
END
cat >want.txt <<'END'
tokenizer.tokenizer_class "T"
tokenizer.model_max_length 6
tokenizer.padding_side "left"
tokenizer.pad_token "[PAD]"
tokenizer.pad_token_id 2
END
status 0 build m --seq 4 --random 1 -o folder.so
is_silent
status 0 inspect folder.so --show notes -o notes.txt
same notes.txt want.txt
status 0 inspect folder.so
prints '  note      tokenizer.model_max_length 6'
status 0 import m -o m.slu
status 0 build m.slu --seq 4 --random 1 -o text.so
status 0 inspect text.so --show notes -o notes.txt
same notes.txt want.txt

# Of one's own; other comments, and such in a line of code, are none.
cat >own.slu <<'END'
#: name a value
#:no note
# : nor this
model own {
    input x : f32[batch, 2]   #: nor this
    output y = x
}
#: last
END
status 0 build own.slu -o own.so
printf 'name a value\nlast\n' >want.txt
status 0 inspect own.so --show notes -o notes.txt
same notes.txt want.txt
status 0 build L1H8A2 --seq 4 --random 1 -o none.so
status 0 inspect none.so --show notes -o notes.txt
[ ! -s notes.txt ] || fail 'notes of a layout'
finish
