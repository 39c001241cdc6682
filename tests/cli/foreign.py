"""Writes a model's checkpoint as another code base would: foreign.py PARAMS.json FILE CODE HEADS

CODE is funnel-tf, funnel-generator-tf, funnel-pt, bert-tf, electra-tf, electra-generator-tf,
mixer-jax or vit-jax. The values are those that checkpoint.py gives the model, so that both files
must build the same. This is written from what the code bases call their variables and not from the
weight maps.
"""

import re
import sys

import checkpoint


def index(shape, place):
    at = 0
    for size, i in zip(shape, place):
        at = at * size + i
    return at


def places(shape):
    if not shape:
        yield ()
        return
    for i in range(shape[0]):
        for rest in places(shape[1:]):
            yield (i,) + rest


def turn(shape, values, axes):
    """The axes in another order: axis i of the result is axis axes[i] of the tensor."""
    out_shape = [shape[a] for a in axes]
    out = []
    for place in places(out_shape):
        source = [0] * len(shape)
        for i, a in enumerate(axes):
            source[a] = place[i]
        out.append(values[index(shape, source)])
    return out_shape, out


def kernel(shape, values):
    return turn(shape, values, [1, 0])


def head_kernel(shape, values, heads):
    """[heads width, in] as [in, heads, width]."""
    (n_in, n_out), values = kernel(shape, values)
    return [n_in, heads, n_out // heads], values


def out_kernel(shape, values, heads):
    """[out, heads width] as [heads, width, out]."""
    (n_in, n_out), values = kernel(shape, values)
    return [heads, n_in // heads, n_out], values


def funnel(name, shape, values, heads, layers):
    """The official name in pieces, and the value as both official codes store it."""
    part, what = name, None
    m = re.match(r"(encoder\.blocks\.\d+\.\d+|decoder\.layers\.\d+)\.(.*)", name)
    if m:
        part, what = layers.index(m.group(1)), m.group(2)
        if re.fullmatch(r"attention\.[qkv]_head\.weight", what):
            shape, values = head_kernel(shape, values, heads)
        elif re.fullmatch(r"attention\.[kv]_head\.bias", what):
            shape = [heads, shape[0] // heads]
        elif what == "attention.post_proj.weight":
            shape, values = out_kernel(shape, values, heads)
        elif re.fullmatch(r"ffn\.linear_\d\.weight", what):
            shape, values = kernel(shape, values)
    return part, what, shape, values


def funnel_generator_tf(name, shape, values, heads, layers):
    """In its own scope, but for the embedding."""
    tensors = funnel_tf(name, shape, values, heads, layers)
    return {re.sub("^model/(?!input/)", "generator/", name): t for name, t in tensors.items()}


def funnel_tf(name, shape, values, heads, layers):
    part, what, shape, values = funnel(name, shape, values, heads, layers)
    if re.match(r"classifier\.linear_out|lm_head", name):
        return {name: (shape, values)}  # has a task's name there, or is not there at all
    if what is None and name.startswith("embeddings."):
        name = {"embeddings.word_embeddings.weight": "model/input/word_embedding/lookup_table",
                "embeddings.position_embeddings.weight":
                    "model/input/position_embedding/lookup_table",
                "embeddings.token_type_embeddings.weight":
                    "model/input/segment_embedding/lookup_table",
                "embeddings.layer_norm.weight": "model/input/layer_norm/gamma",
                "embeddings.layer_norm.bias": "model/input/layer_norm/beta"}[name]
        return {name: (shape, values)}
    if what is None:
        name = name.replace("classifier.linear_hidden", "sequnece_summary.summary")
        name = name.replace("layer_norm.weight", "layer_norm.gamma").replace("norm.bias", "norm.beta")
        if len(shape) == 2:
            shape, values = kernel(shape, values)
            name = name.replace("weight", "kernel")
        return {"model/" + name.replace(".", "/"): (shape, values)}
    what = what.replace("attention.post_proj", "attention.o_head")
    what = re.sub(r"attention\.([qkvo])_head\.weight", r"rel_attn/\1/kernel", what)
    what = re.sub(r"attention\.([kvo])_head\.bias", r"rel_attn/\1/bias", what)
    what = what.replace("attention.r_kernel", "rel_attn/r/kernel")
    what = what.replace("layer_norm.weight", "layer_norm.gamma").replace("norm.bias", "norm.beta")
    what = re.sub(r"ffn\.linear_(\d)\.weight", r"ff/layer_\1/kernel", what)
    what = re.sub(r"ffn\.linear_(\d)\.bias", r"ff/layer_\1/bias", what)
    what = what.replace("attention", "rel_attn").replace("ffn", "ff").replace(".", "/")
    stack = "decoder" if name.startswith("decoder") else "encoder"
    return {"model/%s/layer_%d/%s" % (stack, part, what): (shape, values)}


def funnel_pt(name, shape, values, heads, layers):
    if name.startswith("classifier."):
        head = {"linear_hidden": 0, "linear_out": 3}[name.split(".")[1]]
        if name.endswith("weight"):
            shape, values = kernel(shape, values)
        return {"cls_head.%d.%s" % (head, name.split(".")[2]): (shape, values)}
    part, what, shape, values = funnel(name, shape, values, heads, layers)
    if what is None:
        name = name.replace("embeddings.word_embeddings.weight", "input_layer.0.lookup_table")
        return {name.replace("embeddings.layer_norm", "input_layer.1"): (shape, values)}
    if what.startswith("attention."):
        return {"attn_layers.%d.%s" % (part, what[10:]): (shape, values)}
    what = what.replace("ffn.linear_1", "pffn.0").replace("ffn.linear_2", "pffn.3")
    return {"pffn_layers.%d.%s" % (part, what.replace("ffn.layer", "layer")): (shape, values)}


def bert_tf(name, shape, values, heads, layers):
    if name == "cls.predictions.bias":
        return {"cls/predictions/output_bias": (shape, values)}
    if name.startswith("cls.seq_relationship."): # stored [out, in], as it is here
        name = name.replace(".weight", ".output_weights").replace(".bias", ".output_bias")
        return {name.replace(".", "/"): (shape, values)}
    if "_embeddings." in name:
        return {"bert/" + name.replace(".weight", "").replace(".", "/"): (shape, values)}
    if len(shape) == 2:
        shape, values = kernel(shape, values)
    if "LayerNorm" in name:
        name = name.replace(".weight", ".gamma").replace(".bias", ".beta")
    name = name.replace(".weight", ".kernel").replace("layer.", "layer_").replace(".", "/")
    return {name if name.startswith("cls/") else "bert/" + name: (shape, values)}


def electra_tf(scope):
    """The names of a transformer of that scope; the generator's shares the other one's embedding."""
    def rename(name, shape, values, heads, layers):
        if name == "generator_lm_head.bias":
            return {"generator_predictions/output_bias": (shape, values)}
        if "_embeddings." in name:
            name = name.replace(".weight", "")
        elif len(shape) == 2:
            shape, values = kernel(shape, values)
            name = name.replace(".weight", ".kernel")
        name = name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("Norm.bias", "Norm.beta")
        name = name.replace("dense_prediction", "dense_1").replace(".layer.", ".layer_")
        name = name.replace(".", "/")
        if name.startswith("embeddings/"):
            name = "electra/" + name
        elif "_predictions/" not in name:
            name = scope + "/" + name
        return {name: (shape, values)}
    return rename


def jax(shape, values):
    """A matrix or the kernel of a convolution."""
    if len(shape) == 4:
        return turn(shape, values, [2, 3, 1, 0])
    return kernel(shape, values) if len(shape) == 2 else (shape, values)


def flax_name(name):
    name = re.sub(r"((?:norm\d?|LayerNorm_\d|layer_norm)\.)weight", r"\1scale", name)
    return name.replace("weight", "kernel").replace(".", "/")


def mixer_jax(name, shape, values, heads, layers):
    shape, values = jax(shape, values)
    name = re.sub(r"blocks\.(\d+)\.", r"MixerBlock_\1.", name)
    name = name.replace("stem.proj", "stem").replace("norm1", "LayerNorm_0")
    name = name.replace("norm2", "LayerNorm_1").replace("mlp_tokens", "token_mixing")
    name = name.replace("mlp_channels", "channel_mixing")
    name = re.sub(r"^norm\.", "pre_head_layer_norm.", name)
    return {flax_name(name.replace("fc1", "Dense_0").replace("fc2", "Dense_1")): (shape, values)}


def vit_jax(name, shape, values, heads, layers):
    name = re.sub(r"blocks\.(\d+)\.", r"Transformer.encoderblock_\1.", name)
    attention = "MultiHeadDotProductAttention_1"
    if ".attn.qkv." in name:
        third = len(values) // 3
        out = {}
        for i, part in enumerate(["query", "key", "value"]):
            piece, piece_shape = values[i * third:(i + 1) * third], [shape[0] // 3] + shape[1:]
            if len(shape) == 2:
                piece_shape, piece = head_kernel(piece_shape, piece, heads)
            else:
                piece_shape = [heads, piece_shape[0] // heads]
            new = name.replace("attn.qkv", attention + "." + part)
            out[flax_name(new)] = (piece_shape, piece)
        return out
    if name.endswith(".attn.proj.weight"):
        shape, values = out_kernel(shape, values, heads)
    elif name not in ("cls_token", "pos_embed"):
        shape, values = jax(shape, values)
    name = name.replace("attn.proj", attention + ".out").replace("norm1", "LayerNorm_0")
    name = name.replace("norm2", "LayerNorm_2").replace("mlp.fc1", "MlpBlock_3.Dense_0")
    name = name.replace("mlp.fc2", "MlpBlock_3.Dense_1").replace("patch_embed.proj", "embedding")
    name = re.sub(r"^norm\.", "Transformer.encoder_norm.", name).replace("cls_token", "cls")
    name = name.replace("pos_embed", "Transformer.posembed_input.pos_embedding")
    return {flax_name(name): (shape, values)}


CODES = {"funnel-tf": funnel_tf, "funnel-generator-tf": funnel_generator_tf,
         "funnel-pt": funnel_pt, "bert-tf": bert_tf,
         "electra-tf": electra_tf("electra"), "electra-generator-tf": electra_tf("generator"),
         "mixer-jax": mixer_jax, "vit-jax": vit_jax}


def main(params, path, code, heads):
    tensors = checkpoint.read(params)
    layers = []
    out = {}
    for name in tensors:
        m = re.search(r"(encoder\.blocks\.\d+\.\d+|decoder\.layers\.\d+)\.", name)
        if m and m.group(1) not in layers:
            layers.append(m.group(1))
    # The reverse, so that no order of the file's helps.
    for name in reversed(list(tensors)):
        _, shape, values = tensors[name]
        name = re.sub(r"^(bert|electra|funnel)\.", "", name)
        for new, (shape, values) in CODES[code](name, shape, values, int(heads), layers).items():
            out[new] = ["F32", shape, values]
    checkpoint.write(path, out)


main(*sys.argv[1:])
