"""Writes a checkpoint of a model: checkpoint.py PARAMS.json FILE CHANGE...

PARAMS.json is what `sluice params --json` says. A tensor's values depend on its name in the model
alone. Changes are made in order:
  strip=PREFIX       takes PREFIX from the names that have it
  prefix=PREFIX      puts PREFIX before all names
  old                calls the parameters of norms gamma and beta
  drop=NAME          leaves a tensor out
  move=NAME:NEW      gives a tensor another name
  copy=NAME:NEW      stores a tensor twice
  shift=NAME         adds 1 to a tensor's last element
  shape=NAME:2,3     gives a tensor another shape, of as many elements as that has
  type=NAME:F64      stores it in another type
  extra=NAME:I64:2,3 adds a tensor of zeros
  first=NAME:U8:1    the same in front of all others
  pad=N              puts N blanks behind the header
"""

import json
import random
import struct
import sys

FORMATS = {"F32": "f", "F64": "d", "F16": "e", "I64": "q", "U8": "B", "F8_E4M3": "b", "X9": "b"}


def count(shape):
    n = 1
    for size in shape:
        n *= size
    return n


def float32(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def change(tensors, what, argument):
    if what in ("strip", "prefix", "old"):
        renamed = {}
        for name, tensor in tensors.items():
            if what == "strip" and name.startswith(argument):
                name = name[len(argument):]
            elif what == "prefix":
                name = argument + name
            elif what == "old" and "norm" in name.lower():
                name = name.replace(".weight", ".gamma").replace(".bias", ".beta")
            renamed[name] = tensor
        return renamed
    name, *rest = argument.split(":")
    if what in ("extra", "first"):
        shape = [int(s) for s in rest[1].split(",") if s]
        added = {name: [rest[0], shape, [0] * count(shape)]}
        return {**tensors, **added} if what == "extra" else {**added, **tensors}
    elif what == "drop":
        del tensors[name]
    elif what == "move":
        tensors[rest[0]] = tensors.pop(name)
    elif what == "copy":
        tensors[rest[0]] = [x[:] if isinstance(x, list) else x for x in tensors[name]]
    elif what == "shift":
        tensors[name][2][-1] += 1
    elif what == "shape":
        shape = [int(s) for s in rest[0].split(",") if s]
        tensors[name][1:] = [shape, (tensors[name][2] * count(shape))[:count(shape)]]
    elif what == "type":
        tensors[name][0] = rest[0]
    else:
        sys.exit("no change is called " + what)
    return tensors


def read(params):
    """The model's tensors: name to [dtype, shape, values]."""
    tensors = {}
    for p in json.load(open(params))["parameters"]:
        rng = random.Random(p["name"])
        values = [float32(rng.uniform(-0.5, 0.5)) for _ in range(count(p["shape"]))]
        tensors[p["name"]] = ["F32", p["shape"], values]
    return tensors


def write(path, tensors, padding=0):
    header, blob = {}, b""
    for name, (dtype, shape, values) in tensors.items():
        kind = FORMATS[dtype]
        values = values if kind in "fde" else [int(v) for v in values]
        piece = struct.pack("<%d%s" % (len(values), kind), *values)
        header[name] = {"dtype": dtype, "shape": shape,
                        "data_offsets": [len(blob), len(blob) + len(piece)]}
        blob += piece
    text = json.dumps(header).encode() + b" " * padding
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + blob)


def main(params, path, *changes):
    tensors = read(params)
    padding = 0
    for c in changes:
        what, _, argument = c.partition("=")
        if what == "pad":
            padding = int(argument)
        else:
            tensors = change(tensors, what, argument)
    write(path, tensors, padding)


if __name__ == "__main__":
    main(*sys.argv[1:])
