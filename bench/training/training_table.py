"""Training of one model by Troupe, plain loops, DeepSpeed's PipelineEngine and torch's Schedule1F1B in turns. Prints tables in
Markdown.

Usage: python training_table.py BIN/training_bench FOLDER [--model NAME]... [--micro-batches N]... [--rounds N] [--seconds S]
       (torch 2.11, deepspeed 0.19.8; in the source tree, on a quiet machine)

FOLDER gets the exported weights and batches, and what DeepSpeed compiles. All begin with the same weights and batches, and the
losses of the first three steps are compared first: one that differs from the loop in C++ by more than 1e-5 is left out. In every
round each contestant makes as many steps as take about S seconds; the rounds begin with another one each, and the first is
discarded. The time of an ideal pipeline is that of its slowest stage for all micro-batches, and that of the other stage for one:
each stage in a plain loop, while the other one has the other core.
"""

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import time

parser = argparse.ArgumentParser()
parser.add_argument("program")
parser.add_argument("folder")
parser.add_argument("--model", action="append")
parser.add_argument("--micro-batches", action="append", type=int)
parser.add_argument("--rounds", type=int, default=9)
parser.add_argument("--seconds", type=float, default=0.7)
parser.add_argument("--pause", type=float, default=0, help="seconds between measurements, for what else the machine has to do")
parser.add_argument("--realtime", action="store_true", help="all contestants go before what else runs (needs root and chrt)")
parser.add_argument("--without", action="append", default=[])
asked = parser.parse_args()
os.environ["TORCH_EXTENSIONS_DIR"] = os.path.join(asked.folder, "extensions")
PEER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "torch_peer.py")
FIRST_STEPS = 3


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Contestant:
    def __init__(self, commands, log):
        self.processes = [subprocess.Popen(each, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True)
                          for each in commands]
        for each in self.processes:
            json.loads(each.stdout.readline())
            if asked.realtime:
                subprocess.run(["chrt", "--all-tasks", "--fifo", "--pid", "1", str(each.pid)], check=True)

    def steps(self, count):
        for each in self.processes:
            each.stdin.write("%d\n" % count)
            each.stdin.flush()
        answers = [json.loads(each.stdout.readline()) for each in self.processes]
        slowest = max(answers, key=lambda answer: answer["seconds"])
        return dict(answers[-1], seconds=slowest["seconds"] / count)

    def end(self):
        for each in self.processes:
            each.stdin.close()
            each.wait()


def commands_of(model, count):
    export = os.path.join(asked.folder, model + ".pt")
    own = [asked.program, "--model", model, "--micro-batches", str(count), "--as"]
    subprocess.run(own[:3] + ["--export", export], check=True)
    if asked.realtime:  # so are worker processes
        own = ["chrt", "--fifo", "1"] + own

    def peer(kind, *more):
        return [sys.executable, PEER, kind, export, str(count), *map(str, more)]

    ports = free_port(), free_port()
    return {
        "plain loop, C++": [own + ["plain"]],
        "plain loop, C++, 2 threads": [own + ["plain", "--threads", "2"]],
        "plain loop, Python": [peer("plain", 1)],
        "plain loop, Python, 2 threads": [peer("plain", 2)],
        "DeepSpeed": [peer("deepspeed", 1, rank, ports[0]) for rank in (0, 1)],
        "torch Schedule1F1B": [peer("schedule1f1b", 1, rank, ports[1]) for rank in (0, 1)],
        "Troupe, threads": [own + ["threads"]],
        "Troupe, workers": [own + ["workers"]],
        "Troupe, workers with a shadow": [own + ["workers", "--protect", "shadow"]],
        "both stages": [own + ["both"]],
    }


def median_range(values, form):
    return "%s [%s, %s]" % tuple(form % each for each in (statistics.median(values), min(values), max(values)))


def measure(model, count, log):
    contestants = {name: Contestant(commands, log) for name, commands in commands_of(model, count).items()
                   if name not in asked.without}
    expected = contestants["plain loop, C++"].steps(FIRST_STEPS)["losses"]
    furthest = {}
    for name, each in contestants.items():
        made = expected if name.startswith("plain loop, C++") and not name.endswith("threads") else \
            each.steps(FIRST_STEPS).get("losses", [])
        furthest[name] = max((abs(one - other) / other for one, other in zip(made, expected)), default=0)
    left_out = [name for name in contestants if furthest[name] > 1e-5]
    repeats = max(2, round(asked.seconds / contestants["plain loop, C++"].steps(3)["seconds"]))
    names = [name for name in contestants if name not in left_out]
    times = {name: [] for name in names}
    ideals = []
    for turn in range(asked.rounds):
        for place in range(len(names)):
            name = names[(turn + place) % len(names)]
            time.sleep(asked.pause)
            made = contestants[name].steps(repeats)
            if turn == 0:
                continue
            times[name].append(made["seconds"])
            if "stages" in made:
                slow, fast = sorted((each / repeats for each in made["stages"]), reverse=True)
                ideals.append(slow + fast / count)
    for each in contestants.values():
        each.end()
    size = {"lenet": 64, "resnet20": 16, "mlp256": 64}[model] * count
    print("\n### %s, %d micro-batches of %d samples\n" % (model, count, size // count))
    for name in left_out:
        print("Left out: %s, whose first losses differ by %.1g of their value.\n" % (name, furthest[name]))
    print("%d steps in each of %d rounds, load %.1f\n" % (repeats, asked.rounds - 1, os.getloadavg()[0]))
    print("| | samples/s | ms per step | of the ideal, % | Troupe's threads are faster by | workers by | losses differ by |")
    print("|---|---|---|---|---|---|---|")
    rows = [name for name in names if name != "both stages"]
    for name in rows:
        ratios = [median_range([b / a for a, b in zip(times[own], times[name])], "%.2f") if own in times else ""
                  for own in ("Troupe, threads", "Troupe, workers")]
        print("| %s | %.0f | %s | %s | %s | %s | %.1g |" % (
            name, size / statistics.median(times[name]), median_range([1e3 * each for each in times[name]], "%.2f"),
            median_range([100 * ideal / each for ideal, each in zip(ideals, times[name])], "%.0f"), *ratios, furthest[name]))
    print("| an ideal pipeline | %.0f | %s | | | | |" % (
        size / statistics.median(ideals), median_range([1e3 * each for each in ideals], "%.2f")))
    sys.stdout.flush()


with open(os.path.join(asked.folder, "log"), "w") as log:
    for model in asked.model or ["lenet", "resnet20", "mlp256"]:
        for count in asked.micro_batches or [8, 32]:
            measure(model, count, log)
