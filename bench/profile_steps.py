#!/usr/bin/env python3
"""Where the time of a compiled model goes, by step.

  profile_steps.py MODEL.so [--build build] [--threads 1] [--size 1] [--rounds 15] [--all]

Runs steps.c, which times the steps as the runtime runs them, and joins it with the products that
`sluice inspect --show graph` says each step computes. Steps whose names differ only in numbers are
one line, unless --all is given. Times are sums over steps of medians over rounds:

  cpu      processors' time of all parts; share: of the sum; best: of best rounds
  wall     from the first part's begin to the last one's end; busy: the threads' share of it that
           was cpu time, so 100 % is perfect balance on an idle machine
  pauses   between the last part of the step before and the first of this one
  GFLOP/s  of one thread: the step's products, nothing else, by its cpu time; beside it the share of
           multiply-adds in registers, whose best rate was measured in the same rounds
"""
import argparse
import collections
import os
import re
import subprocess

import native


def parse_shape(text, size):
    """"f32[batch, 12, 4 * batch]" as numbers; free sizes all have the value `size`."""
    inside = text[text.index("[") + 1:text.rindex("]")] if "[" in text else ""
    dims = []
    for dim in filter(None, (d.strip() for d in inside.split(","))):
        numbers = re.sub(r"[A-Za-z_]\w*", str(size), dim).replace("/", "//")
        dims.append(eval(numbers, {"__builtins__": {}}))  # digits and operators alone are left
    return dims


def product(dims):
    result = 1
    for dim in dims:
        result *= dim
    return result


def flops_of_kernels(graph, size):
    """Of every kernel of the graph's text, in order: twice the multiply-adds of its products."""
    flops, shapes = [], None
    for line in graph.splitlines():
        line = line.strip()
        if re.match(r"%\d+ = kernel .*\{$", line):
            shapes = {}
            flops.append(0)
        elif line == "}":
            shapes = None
        elif shapes is not None and (found := re.match(r"%(\d+) = (\w+) ?(.*) : (\S+?(\[.*\])?)$",
                                                       line)):
            shapes[found[1]] = parse_shape(found[4], size)
            if found[2] == "matmul":
                left = re.match(r"%(\d+)", found[3])[1]
                flops[-1] += 2 * product(shapes[found[1]]) * shapes[left][-1]
    return flops


def run_steps(args):
    steps = native.compile_steps(args.root, args.build)
    text = subprocess.run([steps, args.model, str(args.threads), str(args.size), str(args.rounds)],
                          check=True, capture_output=True, text=True).stdout
    head, rows = {}, []
    for line in text.splitlines():
        fields = line.split("\t")
        if fields[0].startswith("# "):
            head[fields[0][2:]] = fields[1:]
        else:
            rows.append((fields[6], *map(int, fields[1:6])))
    return head, rows


def group_rows(rows, flops, is_all):
    """[(name, [count, parts, sums of wall, cpu, best cpu, pause, flop])], the longest first."""
    groups = collections.OrderedDict()
    for i, ((name, parts, *times), flop) in enumerate(zip(rows, flops)):
        key = f"{i} {name}" if is_all else re.sub(r"\d+", "*", name)
        group = groups.setdefault(key, [0, parts] + [0] * 5)
        group[0] += 1
        for k, value in enumerate((*times, flop)):
            group[2 + k] += value
    order = list(groups.items())
    if not is_all:
        order.sort(key=lambda item: -item[1][3])
    return order


def line_of(name, group, total, peak, threads):
    count, parts, wall, cpu, best, pause, flop = group
    rate = f"{flop / cpu:.1f} | {100 * flop / cpu / peak:.0f} %" if flop else "- | -"
    return (f"| {name} | {count} | {parts} | {cpu / 1e3:.0f} | {100 * cpu / total:.1f} % | "
            f"{best / 1e3:.0f} | {wall / 1e3:.0f} | {100 * cpu / (threads * wall):.0f} % | "
            f"{pause / 1e3:.0f} | {flop / 1e6:.1f} | {rate} |")


def main():
    parser = argparse.ArgumentParser(description="Where the time of a compiled model goes.")
    parser.add_argument("model")
    parser.add_argument("--root", default="build/bench", help="where the program is compiled to")
    parser.add_argument("--build", default="build")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--size", type=int, default=1, help="of every free size, as the batch")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--all", action="store_true", help="a line for every step")
    args = parser.parse_args()
    graph = subprocess.run([os.path.join(args.build, "sluice"), "inspect", args.model, "--show",
                            "graph"], check=True, capture_output=True, text=True).stdout
    flops = flops_of_kernels(graph, args.size)
    head, rows = run_steps(args)
    if len(flops) != len(rows):
        raise SystemExit(f"{len(rows)} steps, but {len(flops)} kernels in the graph")
    peak, fma_median = (float(head["fma GFLOP/s"][i]) / args.threads for i in (2, 0))
    plain, timed = ([int(head[f"{k} ns"][i]) / 1e3 for i in (0, 2)] for k in ("plain", "timed"))
    print(f"{head['target'][0]}, {args.threads} thread(s), size {args.size}, {args.rounds} rounds, "
          f"load {os.getloadavg()[0]:.1f}\n"
          f"a run without timers: median {plain[0]:.0f} µs, best {plain[1]:.0f}; "
          f"with: {timed[0]:.0f}, {timed[1]:.0f}\n"
          f"multiply-adds of one thread: median {fma_median:.1f} GFLOP/s, best {peak:.1f}\n")
    sums = [len(rows)] + [sum(row[1 + k] for row in rows) for k in range(5)] + [sum(flops)]
    print("| step | count | parts | cpu µs | share | best | wall µs | busy | pauses µs | MFLOP | "
          "GFLOP/s | of multiply-adds |\n" + "|---" * 12 + "|")
    for name, group in [*group_rows(rows, flops, args.all), ("all", sums)]:
        print(line_of(name, group, sums[3], peak, args.threads))


if __name__ == "__main__":
    main()
