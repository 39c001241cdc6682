"""The part of sluice.h that running a model takes, through ctypes."""
import ctypes
import os


class SlError(ctypes.Structure):
    _fields_ = [("status", ctypes.c_int), ("text", ctypes.c_char * 256)]


class SlTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("bytes", ctypes.c_uint64),
                ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("rank", ctypes.c_uint32), ("dtype", ctypes.c_int)]


class SlContextOptions(ctypes.Structure):
    _fields_ = [("threads", ctypes.c_int32), ("allocator", ctypes.c_void_p),
                ("arena", ctypes.c_void_p), ("arena_bytes", ctypes.c_uint64),
                ("parallel_for", ctypes.c_void_p), ("parallel_context", ctypes.c_void_p)]


class SlEntryInfo(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("ninputs", ctypes.c_uint32),
                ("noutputs", ctypes.c_uint32), ("nsymbols", ctypes.c_uint32),
                ("nchecks", ctypes.c_uint32), ("nsteps", ctypes.c_uint32)]


DTYPES = {"float32": 0, "int32": 1, "bool": 2}
SL_TEXT_TARGET = 1


class Model:
    """A compiled model's first entry with a context; closed when the process ends."""

    def __init__(self, build, path, threads):
        self.library = ctypes.CDLL(os.path.join(build, "libsluice.so"))
        self.library.sl_model_text.restype = ctypes.c_char_p
        self.library.sl_find_input.restype = ctypes.c_int64
        self.model, self.context = ctypes.c_void_p(), ctypes.c_void_p()
        self.entry = SlEntryInfo()
        self.kept = []  # what views point to
        options = SlContextOptions(threads=threads)
        self._call("sl_model_open", path.encode(), None, ctypes.byref(self.model))
        self._call("sl_context_open", self.model, ctypes.byref(options), ctypes.byref(self.context))
        self._call("sl_entry_info", self.model, 0, ctypes.byref(self.entry))
        self.target = self.library.sl_model_text(self.model, SL_TEXT_TARGET).decode()

    def _call(self, function, *arguments):
        error = SlError()
        if getattr(self.library, function)(*arguments, ctypes.byref(error)):
            raise RuntimeError(f"{function}: {error.text.decode()}")

    def _tensor(self, array):
        shape = (ctypes.c_int64 * array.ndim)(*array.shape)
        self.kept += [array, shape]
        return SlTensor(array.ctypes.data, array.nbytes, shape, None, array.ndim,
                        DTYPES[array.dtype.name])

    def give(self, inputs, output):
        """What runs read and write: arrays by name, and one for the only output. Inputs that are
        not named are left out."""
        if self.entry.noutputs != 1:
            raise RuntimeError(f"the model has {self.entry.noutputs} outputs, 1 is expected")
        self.inputs = (SlTensor * self.entry.ninputs)()  # all zero: left out
        for name, array in inputs.items():
            at = self.library.sl_find_input(self.model, 0, name.encode())
            if at < 0:
                raise RuntimeError(f"the model has no input {name}")
            self.inputs[at] = self._tensor(array)
        self.outputs = (SlTensor * 1)(self._tensor(output))

    def run(self):
        self._call("sl_run", self.context, 0, self.inputs, len(self.inputs), self.outputs, 1)
