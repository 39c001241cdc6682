#!/usr/bin/env python3
"""Writes what the contenders load: model folders, ONNX files, inputs and what they must give.

  export.py [--root build/bench] [--models minilm,…] [--shapes 1x128,…] [--files onnx,…]

  ROOT/MODEL/config.json, model.safetensors   the model, under the names of transformers or timm
  ROOT/MODEL/BxS/inputs.npz                   the inputs: B of them, of size S
                 reference.npz                the output, computed in float64 by torch
                 model.onnx                   torch.onnx.export, opset 20, fixed shape
                 model.xml                    OpenVINO's form of it, in float32
                 matmul.onnx, matmul.xml      Funnel without Einsum nodes

What is there is kept. Each file is made in a process of its own, so that memory goes back.
"""
import argparse
import math
import os
import subprocess
import sys
import time

import numpy as np

import models

FILES = {"reference": "reference.npz", "onnx": "model.onnx", "xml": "model.xml",
         "onnx_matmul": "matmul.onnx", "xml_matmul": "matmul.xml"}


def matmul_einsum(equation, left, right):
    """torch.einsum of two operands as permutations and one batched product. OpenVINO computes the
    Einsum of Funnel's position scores wrongly (rms error a tenth of the output's spread)."""
    inputs, out = equation.replace(" ", "").split("->")
    a, b = inputs.split(",")
    size = {**dict(zip(a, left.shape)), **dict(zip(b, right.shape))}
    batch = [x for x in out if x in a and x in b]
    rows = [x for x in out if x in a and x not in b]
    columns = [x for x in out if x in b and x not in a]
    summed = [x for x in a if x in b and x not in out]

    def arrange(tensor, letters, *groups):
        order = [letters.index(x) for group in groups for x in group]
        shape = [size[x] for x in batch] + [math.prod(size[x] for x in g) for g in groups[1:]]
        return tensor.permute(order).reshape(shape)

    product = arrange(left, a, batch, rows, summed) @ arrange(right, b, batch, summed, columns)
    made = batch + rows + columns
    return product.reshape([size[x] for x in made]).permute([made.index(x) for x in out])


def write_reference(root, name, case, inputs):
    import torch
    np.savez(os.path.join(case, "inputs.npz"), **dict(zip(models.MODELS[name].INPUTS, inputs)))
    tensors = [torch.from_numpy(x.astype(np.float64) if x.dtype == np.float32 else x)
               for x in inputs]
    with torch.inference_mode():
        output = models.load_module(root, name).double()(*tensors).numpy()
    np.savez(os.path.join(case, "reference.npz"), output=output)


def write_onnx(root, name, path, inputs, is_matmul):
    """Opset 20 is the first that has GELU: ONNX Runtime does not find it in the operators that an
    older one spells it with."""
    import torch
    if is_matmul:
        torch.einsum = matmul_einsum
    example = tuple(torch.from_numpy(x) for x in inputs)
    torch.onnx.export(models.load_module(root, name), example, path, dynamo=True, opset_version=20,
                      input_names=list(models.MODELS[name].INPUTS), output_names=["output"])


def write_xml(onnx, path):
    import openvino
    openvino.save_model(openvino.Core().read_model(onnx), path, compress_to_fp16=False)


def make(root, name, batch, size, what):
    inputs = models.MODELS[name].inputs(batch, size)
    models.make_folder(root, name)
    case = models.case_folder(root, name, batch, size)
    os.makedirs(case, exist_ok=True)
    path = os.path.join(case, FILES[what])
    if what == "reference":
        write_reference(root, name, case, inputs)
    elif what.startswith("onnx"):
        write_onnx(root, name, path, inputs, what == "onnx_matmul")
    else:
        write_xml(path[:-4] + ".onnx", path)


def main():
    parser = argparse.ArgumentParser(description="Writes what the contenders load.")
    parser.add_argument("--root", default="build/bench")
    parser.add_argument("--models", default="minilm,funnel_b666h768")
    parser.add_argument("--shapes", help="1x128,8x128; each model's own if not given")
    parser.add_argument("--files", default=",".join(FILES))
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        name, batch, size, what = args.one
        make(args.root, name, int(batch), int(size), what)
        return 0
    failed = False
    for name in args.models.split(","):
        for batch, size in models.parse_shapes(args.shapes, name):
            for what in args.files.split(","):
                path = os.path.join(models.case_folder(args.root, name, batch, size), FILES[what])
                if os.path.exists(path) or (what.endswith("matmul")
                                            and not models.MODELS[name].is_funnel):
                    continue
                begin = time.time()
                done = subprocess.run([sys.executable, __file__, "--root", args.root, "--one", name,
                                       str(batch), str(size), what],
                                      capture_output=True, text=True)
                print(f"{path}: {time.time() - begin:.1f} s", flush=True)
                if done.returncode != 0:
                    print(done.stderr[-2000:], file=sys.stderr)
                    failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
