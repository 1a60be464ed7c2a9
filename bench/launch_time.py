#!/usr/bin/env python3
"""Time from a launch over two nodes to its first result: `troupe launch` with LeNet in two stages, against torchrun
with an empty program of two processes (gloo, one barrier). Nodes are network namespaces with an sshd each; both are
started from the first node and reach the second one by ssh. Runs alternate, and so does which of a pair is first; the
first pair is discarded.

launch_time.py TROUPE TORCHRUN [--pairs N] [--json FILE]
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

SOURCE = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(SOURCE / "tests" / "nodes"))
from cluster import cluster, lacking, named_node  # noqa: E402

SAMPLES = 64
PATIENCE = 600
EMPTY = """
import os, torch.distributed as group
group.init_process_group("gloo")
group.barrier()
if os.environ["RANK"] == "0": print("first result", flush=True)
group.destroy_process_group()
"""


def read_and_end(processes):
    """Milliseconds until the first process has written a line, and until all have ended; and what it has written."""
    begin = time.monotonic()
    made = [make() for make in processes]
    text = made[0].stdout.readline()
    first = time.monotonic() - begin
    text += made[0].stdout.read()
    for each in made:
        status = each.wait(PATIENCE)
        assert status == 0, f"{each.args}: status {status}"
    return 1000 * first, 1000 * (time.monotonic() - begin), text


def silent(node, words):
    return lambda: node.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                            text=True)


def run_troupe(nodes, troupe, _):
    words = [troupe, "launch", "--hostfile", nodes.hostfile(1), "--ssh", f"ssh -F {nodes.ssh_config}", "--",
             troupe, "eval", "--model", f"{SOURCE}/data/mnist/lenet.pt", "--data", f"mnist:{SOURCE}/data/mnist",
             "--stages", "2", "--limit", str(SAMPLES), "--threads", "1", "--json"]
    *times, text = read_and_end([silent(nodes.nodes[0], words)])
    result = json.loads(text)
    assert result["samples"] == SAMPLES and len(result["stages"]) == 2, text
    return times


def run_torchrun(nodes, torchrun, number):
    first, second = nodes.nodes
    words = lambda rank: [torchrun, "--nnodes=2", "--nproc-per-node=1", f"--node-rank={rank}",
                          f"--master-addr={first.address}", f"--master-port={29500 + number}",
                          str(nodes.folder / "empty.py")]
    ssh = ["ssh", "-F", str(nodes.ssh_config), second.address, "GLOO_SOCKET_IFNAME=eth0", *words(1)]
    *times, text = read_and_end([silent(first, ["env", "GLOO_SOCKET_IFNAME=eth0", *words(0)]), silent(first, ssh)])
    assert text == "first result\n", text
    return times


def measure(pairs, troupe, torchrun):
    programs = [("troupe", run_troupe, troupe), ("torchrun", run_torchrun, torchrun)]
    times = {name: [] for name, *_ in programs}
    with cluster(2, named_node) as nodes:
        (nodes.folder / "empty.py").write_text(EMPTY)
        for pair in range(pairs + 1):
            for name, run, program in programs[::1 if pair % 2 else -1]:
                times[name].append(run(nodes, program, pair))
            print(pair, {name: [round(t) for t in times[name][-1]] for name in times}, file=sys.stderr, flush=True)
    return {name: runs[1:] for name, runs in times.items()}


def summary(values, digits=0):
    middle, *ends = (round(v, digits) for v in (statistics.median(values), min(values), max(values)))
    return {"median": middle, "range": ends}


def report(times, load):
    results = []
    for index, until in enumerate(("first result", "end of all processes")):
        troupe, torchrun = ([run[index] for run in times[name]] for name in ("troupe", "torchrun"))
        results.append({"until": until, "troupe": summary(troupe), "torchrun": summary(torchrun),
                        "torchrun_over_troupe": summary([b / a for a, b in zip(troupe, torchrun)], 2)})
    return {"program": "launch_time.py", "load_before": load, "pairs": len(times["troupe"]),
            "unit": "ms from the launch; ratios are of a pair",
            "target": "torchrun / troupe at least 3 until the first result",
            "results": results}


def main():
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("troupe", type=os.path.abspath)
    reader.add_argument("torchrun", type=os.path.abspath)
    reader.add_argument("--pairs", type=int, default=10)
    reader.add_argument("--json", type=pathlib.Path)
    given = reader.parse_args()
    why = lacking()
    if why is not None:
        sys.exit(f"error: {why}")
    load = os.getloadavg()[0]
    text = json.dumps(report(measure(given.pairs, given.troupe, given.torchrun), round(load, 1)), indent=2)
    print(text)
    if given.json:
        given.json.write_text(text + "\n")


if __name__ == "__main__":
    main()
