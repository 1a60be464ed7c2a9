"""How long a training of two stages in worker processes stands still when a worker is killed.

    python3 bench/training/recovery_times.py build/release/bin/training_bench > bench/results/DATE-training-recovery.json

A worker is killed in a phase of a step. The log of the run says how long it took from the loss to the new edges, over
which the next forward pass begins. Beside it stands what the whole step took longer than an undisturbed one.
"""

import json
import re
import statistics
import subprocess
import sys

PHASES = ["mb1", "backward1", "vote", "decision", "apply"]
ROUNDS = 6  # kills in each phase; a stage may die 20 times within a minute


def measure(program, model):
    kills = []
    for number in range(ROUNDS * len(PHASES)):
        stage = number % 2
        kills += ["--fault", f"kill:stage=stage.{stage},at={PHASES[number % len(PHASES)]},step={5 + 4 * number}"]
    process = subprocess.Popen(
        [program, "--model", model, "--as", "workers", "--micro-batches", "4", *kills],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    json.loads(process.stdout.readline())
    times = []
    for _ in range(5 + 4 * ROUNDS * len(PHASES)):
        process.stdin.write("1\n")
        process.stdin.flush()
        times.append(json.loads(process.stdout.readline())["seconds"])
    process.stdin.close()
    log = process.stderr.read()
    process.wait()
    replaced = [float(each) for each in re.findall(r"was replaced after ([0-9.]+) s", log)]
    undisturbed = statistics.median(times[2:5] + [t for at, t in enumerate(times[5:]) if at % 4 in (2, 3)])
    longer = [times[5 + 4 * number] - undisturbed for number in range(ROUNDS * len(PHASES))]
    quantiles = lambda values: {"p50": statistics.median(values), "max": max(values), "count": len(values)}
    return {"model": model, "undisturbed_step_seconds": undisturbed,
            "loss_to_new_edges_seconds": quantiles(replaced), "step_longer_by_seconds": quantiles(longer)}


if __name__ == "__main__":
    print(json.dumps([measure(sys.argv[1], model) for model in ("lenet", "resnet20")], indent=2))
