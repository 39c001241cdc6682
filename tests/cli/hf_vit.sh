#!/bin/sh
# ViT and DeiT as Hugging Face stores them, built from a folder: the golden cases, which timm
# computed, under that library's names and configuration.
. "$(dirname "$0")/lib.sh"
data=$here/../golden/data/vit

# folder CASE CLASS: builds it; every output of the class is within what its case allows.
folder() {
    rm -rf hf
    python3 -B "$here/as_hf.py" "$data/$1" hf $2 >outputs.txt || fail "as_hf $*"
    [ -s outputs.txt ] || fail "as_hf $*: no outputs"
    status 0 build hf -o hf.so
    says 'hf/model.safetensors: its names are read by the map vit-hf'
    [ "$(wc -l <../stderr.txt)" -eq 1 ] || fail "$called: more than one note"
    while read -r name atol rtol; do
        for model in hf.so 'hf --reference'; do
            status 0 run $model --input hf/input.safetensors \
                --expect hf/$name.want.safetensors --atol $atol --rtol $rtol
            prints "$name : f32"
        done
    done <outputs.txt
}
folder class-token ViTForImageClassification
grep -q '^blocks.1 ' outputs.txt || fail 'no states'
folder class-token ViTModel
folder distilled DeiTForImageClassificationWithTeacher
folder distilled DeiTForImageClassification
folder distilled DeiTModel

# The map asked for, the text of the model, and weights that lack something.
status 0 build hf --map vit-hf -o named.so
is_silent
same hf.so named.so
status 0 import hf -o m.slu
status 0 build m.slu --weights hf/model.safetensors -o named.so
python3 -B "$here/as_hf.py" "$data/class-token" hf ViTForImageClassification >outputs.txt
sed 's/ViTForImageClassification/ViTModel/' hf/config.json >config.json && mv config.json hf
status 1 build hf -o hf.so
says 'does not hold 2 of the model'
says 'note: hf/model.safetensors: its names are read by the map vit-hf'
says 'the file has nothing of pooler.dense'
finish
