"""One class per contender, each run in a process of its own: contenders.py KIND ROOT CLOCK.

bench.py speaks to it in lines of JSON, one answer for each:

  {"do": "load", "model": …, "batch": …, "size": …, "threads": …}  → {"load_s": …, "note": …}
  {"do": "check"}   → {"max_error": …, "rms_error": …, "spread": …} against the reference
  {"do": "time", "untimed": …, "calls": …}                           → {"ns": [of each call]}

An answer {"error": …} stands for a failure.
"""
import ctypes
import json
import os
import sys
import time

import numpy as np

import libsluice
import models


class Contender:
    """load() does everything up to being callable; run() is one inference and gives its output."""
    note = ""
    gflop = None  # of a run, if it is not the model's

    def __init__(self, root, argument):
        self.root = root
        self.argument = argument  # what stands behind the kind's colon

    def case_file(self, case, file):
        path = os.path.join(models.case_folder(self.root, case["model"], case["batch"],
                                               case["size"]), file)
        if not os.path.exists(path):
            raise FileNotFoundError(f"{path}: export.py makes it")
        return path

    def inputs(self, case):
        """Arrays by name, in the order of the model's inputs."""
        with np.load(self.case_file(case, "inputs.npz")) as file:
            return {name: file[name] for name in models.MODELS[case["model"]].INPUTS}


class Ort(Contender):
    file = "model.onnx"

    def load(self, case):
        import onnxruntime as ort
        options = ort.SessionOptions()
        options.intra_op_num_threads = case["threads"]
        options.inter_op_num_threads = 1
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
        options.log_severity_level = 3
        self.session = ort.InferenceSession(self.case_file(case, self.file), options,
                                            providers=["CPUExecutionProvider"])
        self.feed = self.inputs(case)
        self.note = "onnxruntime " + ort.__version__

    def run(self):
        return self.session.run(None, self.feed)[0]


class OrtMatmul(Ort):
    file = "matmul.onnx"


class OpenVino(Contender):
    file = "model.xml"

    def load(self, case):
        import openvino
        model = openvino.Core().compile_model(
            self.case_file(case, self.file), "CPU",
            {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": case["threads"],
             "INFERENCE_PRECISION_HINT": "f32"})
        self.request = model.create_infer_request()
        self.arrays = list(self.inputs(case).values())
        self.note = "openvino " + openvino.__version__.split("-")[0]

    def run(self):
        return self.request.infer(self.arrays)[0]


class OpenVinoMatmul(OpenVino):
    file = "matmul.xml"


class Torch(Contender):
    def load(self, case):
        import torch
        torch.set_num_threads(case["threads"])
        self.torch = torch
        self.module = models.load_module(self.root, case["model"], attention="sdpa")
        self.tensors = [torch.from_numpy(x) for x in self.inputs(case).values()]
        self.note = "torch " + torch.__version__

    def run(self):
        with self.torch.inference_mode():
            return self.module(*self.tensors).numpy()


class Fma(Contender):
    """No contender but the machine's state: multiply-adds in registers, in the same rounds."""
    ROUNDS = 2000000  # about 5 ms

    def load(self, case):
        self.library = ctypes.CDLL(os.path.join(self.root, "fma.so"))
        self.library.fma_time.restype = ctypes.c_uint64
        self.library.fma_time.argtypes = (ctypes.c_uint32, ctypes.c_uint64)
        self.library.fma_operations.restype = ctypes.c_uint64
        self.threads = case["threads"]
        self.gflop = self.threads * self.ROUNDS * self.library.fma_operations() / 1e9

    def run(self):
        self.library.fma_time(self.threads, self.ROUNDS)


def artefact(root, name, model, size):
    """Where the model lies that bench.py compiled for the contender `name`."""
    return os.path.join(models.folder(root, model), f"{name}-{size}.so")


class Sluice(Contender):
    """argument: NAME@BUILD, the contender's name and the build folder that libsluice.so is in."""

    def load(self, case):
        name, build = self.argument.split("@", 1)
        dtypes = models.MODELS[case["model"]].INPUTS
        with np.load(self.case_file(case, "reference.npz")) as file:
            self.output = np.zeros(file["output"].shape, np.float32)
        self.model = libsluice.Model(
            build, artefact(self.root, name, case["model"], case["size"]), case["threads"])
        self.model.give({input: array.astype(dtypes[input])
                         for input, array in self.inputs(case).items()}, self.output)
        self.note = f"{self.model.target}, {self.model.entry.nsteps} steps"

    def run(self):
        self.model.run()
        return self.output


KINDS = {"ort": Ort, "ort_matmul": OrtMatmul, "openvino": OpenVino,
         "openvino_matmul": OpenVinoMatmul, "torch": Torch, "fma": Fma, "sluice": Sluice}
FILES = {"ort": "onnx", "ort_matmul": "onnx_matmul", "openvino": "xml",
         "openvino_matmul": "xml_matmul"}  # that export.py makes for them
CLOCKS = {"wall": time.perf_counter_ns, "cpu": time.process_time_ns}


def time_one(contender, clock):
    begin = clock()
    contender.run()
    return clock() - begin


def answer(contender, question, case, clock):
    if question["do"] == "load":
        begin = time.perf_counter()
        contender.load(question)
        contender.run()
        return {"load_s": time.perf_counter() - begin, "note": contender.note,
                "gflop": contender.gflop}
    if question["do"] == "check":
        with np.load(contender.case_file(case, "reference.npz")) as file:
            reference = file["output"]
        error = np.asarray(contender.run(), np.float64) - reference
        return {"max_error": float(np.abs(error).max()), "spread": float(reference.std()),
                "rms_error": float(np.sqrt(np.mean(error * error)))}
    for _ in range(question["untimed"]):
        contender.run()
    return {"ns": [time_one(contender, clock) for _ in range(question["calls"])]}


def main():
    # Libraries print what they like to standard output: that goes to standard error.
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    kind, _, argument = sys.argv[1].partition(":")
    contender = KINDS[kind](sys.argv[2], argument)
    clock = CLOCKS[sys.argv[3]]
    case = None
    for line in sys.stdin:
        question = json.loads(line)
        if question["do"] == "load":
            case = question
        try:
            result = answer(contender, question, case, clock)
        except Exception as failure:  # whatever a peer's library raises
            result = {"error": f"{type(failure).__name__}: {str(failure)[:300]}"}
        out.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()
