# lit's configuration. The substitutions are listed in tests/README.md.
import os

import lit.formats

config.name = "sluice"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".slu", ".ir", ".loop", ".prog", ".test"]
config.excludes = ["Inputs"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = lit_config.params["out"]
config.environment["PATH"] = os.environ["PATH"] + os.pathsep + lit_config.params["llvm_bin"]
for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
config.substitutions.append(("%sluice", lit_config.params["sluice"]))

# REQUIRES: avx2 and so on, for tests that run emitted code.
with open("/proc/cpuinfo") as cpuinfo:
    flags = next((line for line in cpuinfo if line.startswith("flags")), "")
    config.available_features.update(f for f in flags.split() if f in ("avx2", "avx512f"))
