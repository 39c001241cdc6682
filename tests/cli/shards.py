"""Puts a checkpoint into several files: shards.py FILE FOLDER N

FOLDER gets model-0000I-of-0000N.safetensors, to which the tensors go in turn, and their index.
"""

import json
import sys

import tensors


def main(path, folder, count):
    count = int(count)
    names = ["model-%05d-of-%05d.safetensors" % (i + 1, count) for i in range(count)]
    shards = [{} for _ in names]
    index = {}
    for i, (name, tensor) in enumerate(tensors.read(path).items()):
        shards[i % count][name] = tensor
        index[name] = names[i % count]
    for name, shard in zip(names, shards):
        tensors.write(folder + "/" + name, shard)
    with open(folder + "/model.safetensors.index.json", "w") as f:
        json.dump({"metadata": {"total_size": 1}, "weight_map": index}, f, indent=2)


main(*sys.argv[1:])
