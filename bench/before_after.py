#!/usr/bin/env python3
"""Two builds of `troupe` against each other: throughput of whole evaluations, and the time of a run of 64 samples, which
is nearly all start. Options are the defaults but for --threads 1. Runs alternate, and so does which build is first; the first pair is
discarded. CPU time is that of the process and its children: unlike the clock's time it hardly depends on what else the
machine does.

before_after.py BEFORE AFTER [--pairs N] [--model NAME=FILE,KIND:DATA]... [--json FILE]

LeNet and ResNet-20 are those of data/; --model adds others, for example an MLP that was made in Python.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import time

SOURCE = pathlib.Path(__file__).resolve().parent.parent
MODELS = {"lenet": (SOURCE / "data/mnist/lenet.pt", f"mnist:{SOURCE}/data/mnist"),
          "resnet20": (SOURCE / "data/cifar10/resnet20.pt", f"cifar10:{SOURCE}/data/cifar10/test_batch_1000.bin")}
START = ["--limit", "64"]


def measured(program, model, data, more):
    """Seconds of the clock, of CPU time in user code, and samples per second by the result."""
    begin = time.monotonic()
    child = subprocess.Popen([program, "eval", "--model", model, "--data", data, "--threads", "1", "--json", *more],
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    text = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    wall = time.monotonic() - begin
    assert status == 0, f"{program}, {model}: status {status}"
    return {"wall_s": wall, "user_s": usage.ru_utime, "samples_per_s": json.loads(text)["samples_per_second"]}


def summary(pairs, key):
    """Median [least, most] of each build, and of the ratio after / before within a pair."""
    spread = lambda values: [statistics.median(values), min(values), max(values)]
    return {"before": spread([one[key] for one, _ in pairs]), "after": spread([other[key] for _, other in pairs]),
            "ratio": spread([other[key] / one[key] for one, other in pairs])}


def compare(programs, model, data, more, count):
    pairs = []
    for number in range(count + 1):
        order = (0, 1) if number % 2 == 0 else (1, 0)
        found = {which: measured(programs[which], model, data, more) for which in order}
        pairs.append((found[0], found[1]))
    return {key: summary(pairs[1:], key) for key in pairs[0][0]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--model", action="append", default=[], metavar="NAME=FILE,KIND:DATA")
    parser.add_argument("--json", type=pathlib.Path)
    asked = parser.parse_args()
    models = dict(MODELS)
    for each in asked.model:
        name, rest = each.split("=", 1)
        models[name] = tuple(rest.split(",", 1))
    rows = {}
    for name, (model, data) in models.items():
        for what, more in (("whole data", []), ("64 samples", START)):
            row = rows[f"{name}, {what}"] = compare((asked.before, asked.after), str(model), data, more, asked.pairs)
            for key, values in row.items():
                texts = [f"{which} {middle:.4g} [{least:.4g}, {most:.4g}]" for which, (middle, least, most) in values.items()]
                print(f"{name}, {what}, {key}: " + "; ".join(texts), flush=True)
    if asked.json:
        asked.json.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
