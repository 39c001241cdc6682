"""Puts a head on a golden BERT: hf_heads.py DATA FOLDER CLASS

DATA is tests/golden/data/bert. FOLDER gets config.json and model.safetensors as Hugging Face's
library would write them for CLASS, input.safetensors, and NAME.want.safetensors for each output:
what the head, written here once more, makes of the encoder's golden outputs. CLASS may also be a
way to pool of sentence-transformers, whose settings are then written, too. Prints a line for each
output: NAME ATOL RTOL. That is how far the golden tolerance of the encoder reaches through the head.
"""

import json
import math
import os
import random
import sys

import tensors

ROUNDING = 2.0 ** -24


class Value:
    """Numbers, and how far from each a run may be."""

    def __init__(self, x, off):
        self.x, self.off = x, off

    @staticmethod
    def golden(x, allowed):
        return Value(x, [allowed["atol"] + allowed["rtol"] * abs(v) for v in x])

    def dense(self, weight, bias):
        x, off = [], []
        for row, b in zip(weight, bias):
            terms = [w * v for w, v in zip(row, self.x)]
            x.append(sum(terms) + b)
            off.append(sum(abs(w) * o for w, o in zip(row, self.off)) +
                       len(row) * ROUNDING * (sum(map(abs, terms)) + abs(b)))
        return Value(x, off)

    def map(self, function, steepest):
        x = [function(v) for v in self.x]
        return Value(x, [steepest * o + 8 * ROUNDING * abs(v) for o, v in zip(self.off, x)])


def gelu(x):
    return x * 0.5 * (1 + math.erf(x / math.sqrt(2)))


class Head:
    def __init__(self):
        self.tensors = {}

    def dense(self, name, value, width):
        """The value behind a layer of that name, which is made up."""
        rng = random.Random(name)
        n = len(value[0].x)
        weight = [[tensors_float(rng.uniform(-0.5, 0.5)) for _ in range(n)] for _ in range(width)]
        bias = [tensors_float(rng.uniform(-0.5, 0.5)) for _ in range(width)]
        self.tensors[name + ".weight"] = ["F32", [width, n], sum(weight, [])]
        self.tensors[name + ".bias"] = ["F32", [width], bias]
        return [v.dense(weight, bias) for v in value]


def tensors_float(x):
    """A number that float32 holds."""
    return round(x * 4096) / 4096


POOLINGS = {"cls": lambda x: x[0], "max": max, "mean": lambda x: sum(x) / len(x),
            "mean_sqrt_len_tokens": lambda x: sum(x) / math.sqrt(len(x))}


def pool(mode, tokens, mask):
    """The vector of one text: its real tokens', element by element."""
    real = [v for v, m in zip(tokens, mask) if m]
    x = [POOLINGS[mode](column) for column in zip(*(v.x for v in real))]
    # The largest of some numbers is off by no more than the worst of them.
    reach = max if mode == "max" else POOLINGS[mode]
    off = [reach(column) + len(real) * ROUNDING * sum(map(abs, values))
           for column, values in zip(zip(*(v.off for v in real)), zip(*(v.x for v in real)))]
    return Value(x, off)


def write_modules(folder, mode, width):
    os.makedirs(folder + "/1_Pooling", exist_ok=True)
    modules = [{"idx": i, "name": str(i), "path": path, "type": "sentence_transformers.models." + what}
               for i, (path, what) in enumerate([("", "Transformer"), ("1_Pooling", "Pooling")])]
    json.dump(modules, open(folder + "/modules.json", "w"))
    json.dump({"embedding_dimension": width, "pooling_mode": mode, "include_prompt": True},
              open(folder + "/1_Pooling/config.json", "w"))


def outputs_of(cls, head, tokens, first, pooled, batch, seq):
    """Name to [shape, values]; tokens is [batch seq], first and pooled [batch]."""
    if cls == "BertForNextSentencePrediction":
        return {"logits": [[batch, 2], head.dense("cls.seq_relationship", pooled, 2)]}
    if cls == "BertForMultipleChoice":
        return {"logits": [[1, batch], head.dense("classifier", pooled, 1)]}
    if cls == "ElectraForMultipleChoice":
        x = [v.map(gelu, 1.13) for v in head.dense("sequence_summary.summary", first, 48)]
        return {"logits": [[1, batch], head.dense("classifier", x, 1)]}
    if cls == "ElectraForSequenceClassification":
        x = [v.map(gelu, 1.13) for v in head.dense("classifier.dense", first, 48)]
        return {"logits": [[batch, 5], head.dense("classifier.out_proj", x, 5)]}
    if cls in ("BertForTokenClassification", "ElectraForTokenClassification"):
        return {"logits": [[batch, seq, 5], head.dense("classifier", tokens, 5)]}
    spans = head.dense("qa_outputs", tokens, 2)
    return {name: [[batch, seq], [Value(v.x[i:i + 1], v.off[i:i + 1]) for v in spans]]
            for i, name in enumerate(["start_logits", "end_logits"])}


def write(folder, name, shape, x, atol, rtol):
    tensors.write("%s/%s.want.safetensors" % (folder, name), {name: ["F32", shape, x]})
    print(name, atol, rtol)


def pretraining(data, folder, config, inputs):
    """The golden masked LM, and a second head of which the bias alone shows."""
    case = json.load(open(data + "/masked-lm/case.json"))["outputs"]["logits"]
    weights = tensors.read(data + "/masked-lm/weights.safetensors")
    width = config["hidden_size"]
    for name, n in (("bert.pooler.dense", width), ("cls.seq_relationship", 2)):
        weights[name + ".weight"] = ["F32", [n, width], [0.0] * (n * width)]
        weights[name + ".bias"] = ["F32", [n], [0.25 * (i + 1) for i in range(n)]]
    logits = tensors.read(data + "/masked-lm/outputs.safetensors")["logits"]
    allowed = case["tolerance"]
    write(folder, "prediction_logits", logits[1], logits[2], allowed["atol"], allowed["rtol"])
    batch = logits[1][0]
    write(folder, "seq_relationship_logits", [batch, 2], [0.25, 0.5] * batch, 1e-7, 0)
    return weights, inputs


def on_encoder(data, folder, config, inputs, cls):
    case = json.load(open(data + "/base/case.json"))
    golden = tensors.read(data + "/base/outputs.safetensors")
    base = "electra." if cls.startswith("Electra") else "bert."
    batch, seq, width = golden["last_hidden_state"][1]
    allowed = {name: out["tolerance"] for name, out in case["outputs"].items()}

    def rows(name):
        x = golden[name][2]
        return [Value.golden(x[i:i + width], allowed[name]) for i in range(0, len(x), width)]

    head = Head()
    tokens = rows("last_hidden_state")
    if cls in POOLINGS:
        mask = inputs["attention_mask"][2]
        vectors = [pool(cls, tokens[i:i + seq], mask[i:i + seq])
                   for i in range(0, batch * seq, seq)]
        made = {"sentence_embedding": [[batch, width], vectors]}
        write_modules(folder, cls, width)
    else:
        made = outputs_of(cls, head, tokens, tokens[::seq], rows("pooler_output"), batch, seq)
    for name, (shape, values) in made.items():
        off = max(o for v in values for o in v.off)
        write(folder, name, shape, [x for v in values for x in v.x], off, 0)
    if cls.endswith("MultipleChoice"):
        inputs = {name: [t[0], [1] + t[1], t[2]] for name, t in inputs.items()}
    if cls.endswith(("TokenClassification", "SequenceClassification")):
        config["num_labels"] = 5
    has_pooler = cls in ("BertForNextSentencePrediction", "BertForMultipleChoice")
    if base == "electra.":
        config["embedding_size"] = width
    if cls in POOLINGS:
        base = ""
    weights = {base + name: t
               for name, t in tensors.read(data + "/base/weights.safetensors").items()
               if has_pooler or not name.startswith("pooler.")}
    weights.update(head.tensors)
    return weights, inputs


def main(data, folder, cls):
    case = data + ("/masked-lm" if cls == "BertForPreTraining" else "/base")
    os.makedirs(folder, exist_ok=True)
    config = json.load(open(case + "/config.json"))
    inputs = tensors.read(case + "/inputs.safetensors")
    if cls == "BertForPreTraining":
        weights, inputs = pretraining(data, folder, config, inputs)
    else:
        weights, inputs = on_encoder(data, folder, config, inputs, cls)
    family = "electra" if cls.startswith("Electra") else "bert"
    cls = "BertModel" if cls in POOLINGS else cls
    config.update(architectures=[cls], model_type=family, output_hidden_states=False)
    json.dump(config, open(folder + "/config.json", "w"))
    tensors.write(folder + "/model.safetensors", weights)
    tensors.write(folder + "/input.safetensors", inputs)


main(*sys.argv[1:])
