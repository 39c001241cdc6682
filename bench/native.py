"""The C parts of this folder, compiled where they are needed, and Sluice itself as a subprocess."""
import os
import subprocess
import time

HERE = os.path.dirname(os.path.abspath(__file__))
FLAGS = ["-std=c17", "-D_POSIX_C_SOURCE=200809L", "-O2", "-march=native", "-ffp-contract=fast",
         "-I" + os.path.dirname(HERE)]


def vector_bytes():
    """The width of this machine's widest float vectors."""
    with open("/proc/cpuinfo") as file:
        flags = next((line for line in file if line.startswith(("flags", "Features"))), "").split()
    return 64 if "avx512f" in flags else 32 if "avx" in flags else 16


def _compile(to, sources, *more):
    paths = [os.path.join(HERE, source) for source in sources]
    os.makedirs(os.path.dirname(to) or ".", exist_ok=True)
    subprocess.run(["cc", *FLAGS, f"-DVECTOR_BYTES={vector_bytes()}", *paths, "-o", to, *more,
                    "-pthread", "-ldl"], check=True)
    return to


def compile_fma(root):
    return _compile(os.path.join(root, "fma.so"), ["fma.c"], "-shared", "-fPIC")


def compile_steps(root, build):
    return _compile(os.path.join(root, "steps"), ["steps.c", "fma.c"],
                    os.path.join(build, "libsluice.a"))


def measured(command):
    """Runs a command: {wall_s, cpu_s, peak_mb}. The peak is that of its resident memory, mapped
    files included, and of the largest of its own children. It is never less than this process's
    own, whose memory the child has until it is another program."""
    begin = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True) as process:
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: status {process.returncode}\n{output}")
    return {"wall_s": time.monotonic() - begin, "cpu_s": usage.ru_utime + usage.ru_stime,
            "peak_mb": usage.ru_maxrss / 1024}
