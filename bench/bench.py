#!/usr/bin/env python3
"""Times Sluice and its peers in one interleaved loop.

  bench.py [--models minilm] [--shapes 1x128,8x128] [--threads 2,1] [--contenders ort,sluice,fma]
           [--build build] [--rounds 15] [--slot 40] [--no-wait] [--clock wall|cpu]
  bench.py --report results.jsonl…

Only ratios within a round mean anything: the same code on the same machine takes 1 to 1.7 times as
long from one second to the next. So a row (model, shape, threads) is made of rounds: each visits
every contender once, in shuffled order, and the first one, the reference, twice, at the beginning
and half-way. A visit makes one untimed call and then calls for about --slot milliseconds; what it
says is the median of its calls. A ratio is a contender's visit by the mean of the reference's two.
Outputs are held against float64 before; a contender that is wrong is not timed.

A contender is a kind of contenders.py, or NAME=sluice:BUILD[:FLAG…] for one more compiler:

  --contenders ort,sluice,before=sluice:../old/build,plain=sluice:build:-O0
"""
import argparse
import dataclasses
import json
import os
import random
import statistics
import subprocess
import sys
import time

import models
import native
from contenders import FILES, artefact

HERE = os.path.dirname(os.path.abspath(__file__))
TICKS = os.sysconf("SC_CLK_TCK")
MOST_WRONG = 1e-4  # rms error over the reference's spread


# ---- processes ----

@dataclasses.dataclass
class Spec:
    name: str
    kind: str
    build: str = ""
    flags: tuple = ()


def parse_spec(text, build):
    name, _, rest = text.partition("=")
    kind, *more = (rest or name).split(":")
    return Spec(name, kind, more[0] if more else build, tuple(" ".join(more[1:]).split()))


class Worker:
    def __init__(self, spec, root, clock):
        self.name, self.kind = spec.name, spec.kind
        kind = f"sluice:{spec.name}@{spec.build}" if spec.kind == "sluice" else spec.kind
        self.log = open(os.path.join(root, f"{spec.name}.log"), "w")
        self.process = subprocess.Popen(
            [sys.executable, os.path.join(HERE, "contenders.py"), kind, root, clock], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, bufsize=1)

    def ask(self, **question):
        try:
            self.process.stdin.write(json.dumps(question) + "\n")
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            return {"error": f"ended with status {self.process.wait()}, see {self.log.name}"}
        return json.loads(line)

    def time(self, untimed, calls):
        result = self.ask(do="time", untimed=untimed, calls=calls)
        if "error" in result:
            raise SystemExit(f"{self.name}: {result['error']}")
        return [ns / 1e6 for ns in result["ns"]]

    def stop(self):
        self.process.stdin.close()
        self.process.wait()
        self.log.close()


def cpu_seconds():
    """What all processes have used since the machine started."""
    with open("/proc/stat") as file:
        user, nice, system, _, _, irq, softirq, *_ = map(int, file.readline().split()[1:])
    return (user + nice + system + irq + softirq) / TICKS


def cpu_seconds_of(pids):
    """What these processes' living threads have used."""
    total = 0
    for pid in pids:
        for thread in os.listdir(f"/proc/{pid}/task"):
            try:
                with open(f"/proc/{pid}/task/{thread}/schedstat") as file:
                    total += int(file.read().split()[0])
            except FileNotFoundError:
                pass
    return total / 1e9


# ---- a row ----

def load_all(workers, row):
    """Those that load and give the right output, and by name what happened to each."""
    results, ready = {}, []
    for worker in workers:
        result = worker.ask(do="load", **row)
        if "error" not in result and worker.kind != "fma":
            result.update(worker.ask(do="check"))
        if "error" not in result and worker.kind != "fma" \
                and not result["rms_error"] <= MOST_WRONG * result["spread"]:
            result["error"] = (f"wrong output: rms error {result['rms_error']:.2g}, "
                               f"spread {result['spread']:.2g}")
        results[worker.name] = result
        if "error" in result:
            print(f"  {worker.name}: {result['error']}", flush=True)
        else:
            ready.append(worker)
    return ready, results


def plan_visit(worker, slot):
    """Untimed and timed calls."""
    once = min(worker.time(1, 2))
    return (1 if once < 150 else 0), max(1, min(60, round(slot / once)))


def do_round(ready, plans, rng):
    rest = ready[1:]
    rng.shuffle(rest)
    half = len(rest) // 2
    order = [ready[0], *rest[:half], ready[0], *rest[half:]]
    visits = {}
    for worker in order:
        visits.setdefault(worker.name, []).append(worker.time(*plans[worker.name]))
        time.sleep(0.01)  # threads that spin after a call go to sleep
    return visits


def wait_for_quiet(limit, deadline):
    """Until the machine was nearly idle for half a second, or the time is up."""
    while time.time() < deadline:
        before = cpu_seconds()
        time.sleep(0.5)
        if (cpu_seconds() - before) / 0.5 < limit:
            return


def do_rounds(ready, row, args):
    """[(foreign processors, visits)] of the rounds that are kept, and how many are not. If there is
    not enough quiet time, the least disturbed ones are kept."""
    limit = float("inf") if args.no_wait else args.foreign * (1 if row["threads"] > 1 else 5)
    plans = {worker.name: plan_visit(worker, args.slot) for worker in ready}
    pids = [os.getpid()] + [worker.process.pid for worker in ready]
    rng = random.Random(1)
    deadline = time.time() + args.wait
    rounds = []
    while sum(foreign <= limit for foreign, _ in rounds) < args.rounds:
        if not args.no_wait:
            wait_for_quiet(limit, deadline)
        if time.time() >= deadline and len(rounds) >= args.rounds:
            break
        before = cpu_seconds(), cpu_seconds_of(pids), time.time()
        visits = do_round(ready, plans, rng)
        own = cpu_seconds_of(pids) - before[1]
        foreign = (cpu_seconds() - before[0] - own) / (time.time() - before[2])
        rounds.append((max(0.0, foreign), visits))
    rounds.sort(key=lambda one: one[0])
    return rounds[:args.rounds], len(rounds) - args.rounds


def spread_of(values):
    values = sorted(values)
    return {"best": values[0], "median": statistics.median(values),
            "p10": values[round(0.1 * (len(values) - 1))],
            "p90": values[round(0.9 * (len(values) - 1))]}


def summarise(kept, ready, results):
    reference = ready[0].name
    for worker in ready:
        calls, ratios = [], []
        for _, visits in kept:
            own = statistics.mean(statistics.median(v) for v in visits[worker.name])
            theirs = statistics.mean(statistics.median(v) for v in visits[reference])
            ratios.append(own / theirs)
            calls += [ms for visit in visits[worker.name] for ms in visit]
        results[worker.name]["ms"] = spread_of(calls)
        results[worker.name]["ratio"] = spread_of(ratios)
        results[worker.name]["ncalls"] = len(calls)


def time_row(specs, row, args):
    workers = [Worker(spec, args.root, args.clock) for spec in specs]
    try:
        ready, results = load_all(workers, row)
        if not ready or ready[0] is not workers[0]:
            return None
        kept, ndropped = do_rounds(ready, row, args)
        summarise(kept, ready, results)
    finally:
        for worker in workers:
            worker.stop()
    foreign = [f for f, _ in kept]
    return {**row, "reference": ready[0].name, "rounds": len(kept), "dropped": ndropped,
            "foreign": statistics.mean(foreign), "foreign_most": max(foreign),
            "load": os.getloadavg()[0], "clock": args.clock,
            "gflop": models.MODELS[row["model"]].gflop(row["batch"], row["size"]),
            "results": results}


# ---- what is compiled before ----

def compile_models(specs, name, shapes, args):
    """`sluice build` for each size, whose time and memory are results too."""
    folder = models.folder(args.root, name)
    weights_mb = os.path.getsize(os.path.join(folder, "model.safetensors")) / 2**20
    for spec in specs:
        for size in sorted({size for _, size in shapes} if spec.kind == "sluice" else ()):
            options = models.MODELS[name].build_options(size)
            command = [os.path.join(spec.build, "sluice"), "build", folder, *options, "--target",
                       args.target, *spec.flags, "-o", artefact(args.root, spec.name, name, size)]
            used = native.measured(command)
            what = " ".join([spec.name, "build", name, *options])
            print(f"{what}: {used['wall_s']:.2f} s, {used['cpu_s']:.2f} s of processors, "
                  f"peak {used['peak_mb']:.0f} MB ({weights_mb:.0f} MB of weights; "
                  f"1.5 times and 300 MB: {1.5 * weights_mb + 300:.0f} MB)", flush=True)


# ---- reports ----

def cell(spread, digits):
    return (f"{spread['best']:.{digits}f} | {spread['median']:.{digits}f} | "
            f"{spread['p10']:.{digits}f}-{spread['p90']:.{digits}f}")


def table(row):
    threads = f"{row['threads']} thread" + ("s" if row["threads"] > 1 else "")
    lines = [f"\n### {row['model']}, batch {row['batch']}, size {row['size']}, {threads}\n",
             f"{row['gflop']:.2f} GFLOP; {row['rounds']} rounds, {row['dropped']} dropped; foreign "
             f"processors {row['foreign']:.2f} mean, {row['foreign_most']:.2f} most; load "
             f"{row['load']:.1f}\n"]
    fma = next((r for r in row["results"].values() if r.get("gflop") and "ms" in r), None)
    if fma:
        best, median = (fma["gflop"] / fma["ms"][k] * 1e3 for k in ("best", "median"))
        lines.append(f"Multiply-adds in the same rounds: {best:.0f} GFLOP/s best, "
                     f"{median:.0f} median\n")
    what = ("time" if row["clock"] == "wall" else "processors' time") + " / " + row["reference"]
    lines += [f"| contender | {what}: best | median | p10-p90 | ms: best | median | p10-p90 | "
              "GFLOP/s best | median | max error | note |", "|---" * 11 + "|"]
    done = [(n, r) for n, r in row["results"].items() if "ms" in r and not r.get("gflop")]
    for name, r in sorted(done, key=lambda item: item[1]["ratio"]["median"]):
        rates = [f"{row['gflop'] / r['ms'][k] * 1e3:.0f}" for k in ("best", "median")]
        lines.append(f"| {name} | {cell(r['ratio'], 2)} | {cell(r['ms'], 2)} | {rates[0]} | "
                     f"{rates[1]} | {r['max_error']:.1e} | {r['note']} |")
    lines += [f"| {name} | {r['error']} |" for name, r in row["results"].items() if "error" in r]
    return "\n".join(lines)


def report(paths):
    for path in paths:
        with open(path) as file:
            for line in file:
                print(table(json.loads(line)))


def parse_arguments():
    parser = argparse.ArgumentParser(description="Times Sluice and its peers, interleaved.")
    parser.add_argument("--root", default="build/bench", help="the folder that export.py filled")
    parser.add_argument("--build", default="build", help="where `sluice` and libsluice are")
    parser.add_argument("--models", default="minilm,funnel_b666h768")
    parser.add_argument("--shapes", help="1x128,8x128; each model's own if not given")
    parser.add_argument("--threads", default="2,1")
    parser.add_argument("--contenders", default="ort,sluice,fma",
                        help="the first is the reference of the ratios")
    parser.add_argument("--target", default="native")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--slot", type=float, default=40, help="milliseconds of calls in a visit")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall",
                        help="cpu: what processors spent on it, all threads together; on a busy "
                             "machine, with one thread, that says more")
    parser.add_argument("--foreign", type=float, default=0.12,
                        help="processors that others may use in a round; 5 times that if one "
                             "thread is timed")
    parser.add_argument("--wait", type=float, default=120, help="seconds a row may wait for quiet")
    parser.add_argument("--no-wait", action="store_true", help="keep every round")
    parser.add_argument("--compile-only", action="store_true")
    parser.add_argument("--out", help="a file that rows are appended to; ROOT/results.jsonl")
    parser.add_argument("--report", nargs="+", help="show rows of earlier runs")
    return parser.parse_args()


def check_files(specs, name, shapes, root):
    for batch, size in shapes:
        case = models.case_folder(root, name, batch, size)
        kinds = ["reference"] + [FILES[s.kind] for s in specs if s.kind in FILES]
        if not os.path.exists(os.path.join(case, "reference.npz")):
            raise SystemExit(f"{case} holds no reference: export.py --root {root} --models {name} "
                             f"--shapes {batch}x{size} --files {','.join(kinds)}")


def main():
    args = parse_arguments()
    if args.report:
        report(args.report)
        return
    specs = [parse_spec(text, args.build) for text in args.contenders.split(",")]
    if any(spec.kind == "fma" for spec in specs):
        native.compile_fma(args.root)
    for name in args.models.split(","):
        shapes = models.parse_shapes(args.shapes, name)
        check_files(specs, name, shapes, args.root)
        compile_models(specs, name, shapes, args)
        if args.compile_only:
            continue
        for batch, size in shapes:
            for threads in map(int, args.threads.split(",")):
                row = time_row(specs, {"model": name, "batch": batch, "size": size,
                                       "threads": threads}, args)
                if row:
                    print(table(row), flush=True)
                    with open(args.out or os.path.join(args.root, "results.jsonl"), "a") as file:
                        file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
