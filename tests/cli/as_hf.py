"""Makes a Hugging Face folder of a golden case of timm's ViT: as_hf.py CASE FOLDER CLASS

CASE is a folder of tests/golden/data/vit. FOLDER gets config.json and model.safetensors as the
library would write them for CLASS, input.safetensors, and NAME.want.safetensors for each output
that the class has. Prints a line for each: NAME ATOL RTOL.
"""

import json
import math
import os
import sys

import tensors

NAMES = {"cls_token": "embeddings.cls_token", "dist_token": "embeddings.distillation_token",
         "pos_embed": "embeddings.position_embeddings",
         "patch_embed.proj": "embeddings.patch_embeddings.projection", "norm": "layernorm",
         "norm1": "layernorm_before", "norm2": "layernorm_after",
         "attn.proj": "attention.output.dense", "mlp.fc1": "intermediate.dense",
         "mlp.fc2": "output.dense"}


def rename(name, tensor, heads):
    """The library's names for a tensor of timm's, each with its value."""
    name, _, what = name.rpartition(".") if "." in name else (name, "", "")
    if name in heads:
        return {heads[name] + "." + what: tensor} if heads[name] else {}
    before = ""
    if name.startswith("blocks."):
        _, n, name = name.split(".", 2)
        before = "encoder.layer.%s." % n
    if name != "attn.qkv":
        return {before + NAMES[name] + ("." + what if what else ""): tensor}
    dtype, shape, values = tensor
    third = len(values) // 3
    return {"%sattention.attention.%s.%s" % (before, part, what):
            [dtype, [shape[0] // 3] + shape[1:], values[i * third:(i + 1) * third]]
            for i, part in enumerate(["query", "key", "value"])}


def family(cls):
    return "deit" if cls.startswith("DeiT") else "vit"


def config(case, cls):
    args = case["config"]
    return {"architectures": [cls], "model_type": family(cls),
            "hidden_size": args["embed_dim"], "num_hidden_layers": args["depth"],
            "num_attention_heads": args["num_heads"],
            "intermediate_size": int(args["embed_dim"] * args["mlp_ratio"]),
            "hidden_act": "gelu", "layer_norm_eps": args["norm_eps"], "qkv_bias": True,
            "image_size": args["img_size"], "patch_size": args["patch_size"], "num_channels": 3,
            "encoder_stride": 16, "initializer_range": 0.02, "hidden_dropout_prob": 0.0,
            "id2label": {str(i): str(i) for i in range(args["num_classes"])},
            "output_hidden_states": True, "attention_probs_dropout_prob": 0.0}


def main(path, folder, cls):
    case = json.load(open(path + "/case.json"))
    weights = tensors.read(path + "/weights.safetensors")
    wanted = tensors.read(path + "/outputs.safetensors")
    width = case["config"]["embed_dim"]
    is_model = cls.endswith("Model")
    heads = {"head": "classifier", "head_dist": ""}
    if cls.endswith("WithTeacher"):
        heads = {"head": "cls_classifier", "head_dist": "distillation_classifier"}
    elif is_model:
        heads = {"head": "", "head_dist": ""}
    prefix = "" if is_model else family(cls) + "."
    out = {}
    for name, tensor in weights.items():
        for new, value in rename(name, tensor, heads).items():
            out[(prefix if new.split(".")[0] in ("embeddings", "encoder", "layernorm") else "")
                + new] = value
    outputs = {name: t["tolerance"] for name, t in case["outputs"].items()}
    if is_model:
        # All tokens under the library's name, and a pooler that adds nothing to the first of them.
        features, allowed = wanted["features"], outputs["features"]
        eye = [float(i == k) for i in range(width) for k in range(width)]
        out["pooler.dense.weight"] = ["F32", [width, width], eye]
        out["pooler.dense.bias"] = ["F32", [width], [0.0] * width]
        batch, rows, _ = features[1]
        first = [math.tanh(features[2][b * rows * width + i])
                 for b in range(batch) for i in range(width)]
        wanted = {"last_hidden_state": features, "pooler_output": ["F32", [batch, width], first]}
        outputs = {"last_hidden_state": allowed, "pooler_output": allowed}
    elif cls == "DeiTForImageClassification":
        del outputs["logits"] # the class token's head alone, which the case does not tell
    os.makedirs(folder, exist_ok=True)
    json.dump(config(case, cls), open(folder + "/config.json", "w"))
    tensors.write(folder + "/model.safetensors", out)
    tensors.write(folder + "/input.safetensors", tensors.read(path + "/inputs.safetensors"))
    for name, allowed in outputs.items():
        tensors.write("%s/%s.want.safetensors" % (folder, name), {name: wanted[name]})
        print(name, allowed["atol"], allowed["rtol"])


main(*sys.argv[1:])
