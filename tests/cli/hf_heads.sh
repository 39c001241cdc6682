#!/bin/sh
# Every head of BERT and ELECTRA that has no golden case of its own, and every way to make one vector
# of a text: its formula, written down in
# hf_heads.py, on the golden outputs of the encoder.
. "$(dirname "$0")/lib.sh"

for class in BertForPreTraining BertForNextSentencePrediction BertForMultipleChoice \
    BertForTokenClassification BertForQuestionAnswering ElectraForTokenClassification \
    ElectraForQuestionAnswering ElectraForMultipleChoice ElectraForSequenceClassification \
    cls max mean mean_sqrt_len_tokens; do
    rm -rf hf
    python3 -B "$here/hf_heads.py" "$here/../golden/data/bert" hf $class >outputs.txt ||
        fail "hf_heads $class"
    [ -s outputs.txt ] || fail "hf_heads $class: no outputs"
    seq=$([ $class = BertForPreTraining ] && echo 9 || echo 17)
    status 0 build hf --seq $seq -o hf.so
    is_silent
    while read -r name atol rtol; do
        status 0 run hf.so --input hf/input.safetensors --expect hf/$name.want.safetensors \
            --atol $atol --rtol $rtol
        prints "$name : f32"
    done <outputs.txt
done
finish
