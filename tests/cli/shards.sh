#!/bin/sh
# A checkpoint in several files, by their index: built from the folder and by --weights, and what is
# said of an index that is wrong.
. "$(dirname "$0")/lib.sh"
mkdir m
cat >m/config.json <<'END'
{"model_type": "bert", "architectures": ["BertModel"], "vocab_size": 11, "hidden_size": 8,
 "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16, "hidden_act": "gelu",
 "max_position_embeddings": 6, "type_vocab_size": 2, "layer_norm_eps": 1e-12}
END
index=m/model.safetensors.index.json
status 0 params m --seq 4 --json -o params.json
python3 -B "$here/checkpoint.py" params.json m/model.safetensors prefix=bert. \
    extra=cls.predictions.bias:F32:11 || fail checkpoint
status 0 build m --seq 4 -o want.so
grep 'note' ../stderr.txt | sed 's/m.model.safetensors/FILE/' >notes.txt
mv m/model.safetensors whole.safetensors

# shards N: the folder holds the weights in N files.
shards() {
    rm -f m/*.safetensors*
    python3 -B "$here/shards.py" whole.safetensors m "$1" || fail "shards $1"
}
for n in 1 2 7; do
    shards $n
    status 0 build m --seq 4 -o m.so
    grep 'note' ../stderr.txt | sed 's/m.model.safetensors.index.json/FILE/' >said.txt
    same notes.txt said.txt
    same m.so want.so
done
status 0 import m -o m.slu
status 0 build m.slu --seq 4 --weights $index -o m.so
status 0 run m --seq 4 --reference --random-input 1 -o a.safetensors
# A file with everything is preferred, as the library does.
cp whole.safetensors m/model.safetensors
rm m/model-00001-of-00007.safetensors
status 0 build m --seq 4 -o m.so
says 'm/model.safetensors: its names begin with'
same m.so want.so

# Missing files, all of them at once, with the place that names them.
shards 3
rm m/model-00001-of-00003.safetensors m/model-00003-of-00003.safetensors
status 3 build m --seq 4 -o m.so
says 'm/model-00001-of-00003.safetensors: No such file'
says 'm/model-00003-of-00003.safetensors: No such file'
says 'm/model.safetensors.index.json:6:'
says 'note: the index names it here'
# One that is cut short is wrong as it would be alone.
shards 2
head -c 700 m/model-00002-of-00002.safetensors >cut && mv cut m/model-00002-of-00002.safetensors
status 1 build m --seq 4 -o m.so
says 'm/model-00002-of-00002.safetensors: the file ends'

# change EXPRESSION: the index of two files, changed by sed.
change() {
    shards 2
    sed "$1" $index >new && mv new $index
    status 1 build m --seq 4 -o m.so
}
one=model-00001-of-00002.safetensors
two=model-00002-of-00002.safetensors
# A tensor that is named and not in its file.
change "s/\"bert.pooler.dense.bias\": \"model-0000./\"bert.pooler.dense.bias\": \"model-00002/"
says "$index:"
says "error: m/$two does not hold this tensor"
says '"bert.pooler.dense.bias"'
change "s/\"bert.pooler.dense.bias\"/\"bert.pooler.dense.bais\"/"
says "error: m/$one does not hold this tensor"
# Names that lead out of the folder, and none at all.
for bad in '\/etc\/passwd' '..\/whole.safetensors' 'a\/..\/..\/whole.safetensors' ''; do
    change "s/\"$two\"/\"$bad\"/"
    says 'here must be the name of a file in the folder of this index'
done
change "s/\"$two\"/7/"
says 'here must be the name of a file in the folder of this index'
change 's/weight_map/weights_map/'
says 'an index has a weight_map, which names a file for each tensor'
change "s/\"$two\"/\"a\\\\u0000b\"/"
says 'no valid JSON'
change 's/"weight_map": {/"weight_map": [{/; s/^  }$/  }]/'
says 'an index has a weight_map, which names a file for each tensor'
# Tensors in the files that the index does not name are not there.
change '/bert.pooler.dense.bias/d'
says 'its files hold 1 tensor that it does not name'
says 'missing: pooler.dense.bias : f32[8]'
# A folder with other files as shards is read from there.
shards 2
mkdir m/parts && mv m/model-*.safetensors m/parts
sed 's/"model-/"parts\/model-/' $index >new && mv new $index
status 0 build m --seq 4 -o m.so
same m.so want.so
# The index under another name is told from weights.
mv $index m/other.json
status 1 build m --seq 4 --weights m/other.json -o m.so
says 'it looks like JSON text; the index of a model in several files is called NAME.index.json'
finish
