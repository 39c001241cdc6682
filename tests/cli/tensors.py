"""Writes a safetensors file: tensors.py FILE (NAME DTYPE SHAPE VALUES)..."""

import json
import struct
import sys

FORMATS = {"F32": "f", "F64": "d", "F16": "e", "I64": "q", "I32": "i", "U8": "B", "BOOL": "?"}


def data(dtype, shape, values):
    count = 1
    for size in shape:
        count *= size
    numbers = [float(v) if dtype[0] == "F" else int(v) for v in values]
    if len(numbers) == 1:
        numbers *= count
    assert len(numbers) == count, (shape, values)
    return struct.pack("<%d%s" % (count, FORMATS[dtype]), *numbers)


def read(path):
    """What write takes."""
    with open(path, "rb") as f:
        length, = struct.unpack("<Q", f.read(8))
        header, blob = json.loads(f.read(length)), f.read()
    out = {}
    for name, t in header.items():
        piece = blob[t["data_offsets"][0]:t["data_offsets"][1]]
        kind = FORMATS[t["dtype"]]
        values = struct.unpack("<%d%s" % (len(piece) // struct.calcsize(kind), kind), piece)
        out[name] = [t["dtype"], t["shape"], list(values)]
    return out


def write(path, tensors):
    """tensors: name to [dtype, shape, values]."""
    header, blob = {}, b""
    for name, (dtype, shape, values) in tensors.items():
        piece = data(dtype, shape, values)
        header[name] = {"dtype": dtype, "shape": shape,
                        "data_offsets": [len(blob), len(blob) + len(piece)]}
        blob += piece
    text = json.dumps(header).encode()
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + blob)


def main(path, *rest):
    tensors = {}
    for name, dtype, shape, values in zip(*[iter(rest)] * 4):
        tensors[name] = [dtype, [int(s) for s in shape.split(",") if s], values.split(",")]
    write(path, tensors)


if __name__ == "__main__":
    main(*sys.argv[1:])
