#!/usr/bin/env python3
"""Goal: Slurm, Open MPI and torchrun start a launch over their nodes with the bits of one process, and what ends it
leaves nothing behind. Method: the real programs on nodes made of network namespaces; results are compared with those of
one process; a task, the launcher and the whole job are ended in the middle. Of Kubernetes the manifest is held against
its schema.

A scheduler that is missing is named, and its tests are left out; so is kubernetes-validate (PyPI). TORCHRUN is the path of
torchrun, where PATH has none.

schedulers_test.py TROUPE SOURCE_DIR [NAME...]
"""
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from cluster import cluster, find, lacking, named_node, send, wait_until  # noqa: E402
from launches import (PATIENCE, RESNET, SOURCE, TROUPE, evaluate_alone, expect_nothing_left,  # noqa: E402
                      expect_same_bits, run_tests, started)
from slurm import lacking_slurm, slurm  # noqa: E402

SMALL = ["--micro-batch", "8"]
KUBERNETES_VALIDATE = "kubernetes-validate"
TORCHRUN = os.environ.get("TORCHRUN", "torchrun")


def launch_words(launcher, flags):
    return [TROUPE, "launch", *launcher, "--", TROUPE, "eval", *RESNET, *flags, "--json"]


def join_file(nodes):
    """A new name for each launch."""
    nodes.launches = getattr(nodes, "launches", 0) + 1
    return str(nodes.folder / f"job{nodes.launches}")


def join_files(nodes):
    return list(nodes.folder.glob("job*"))


def expect_end(nodes):
    """Of all processes, join files and jobs."""
    expect_nothing_left(nodes, 60)
    assert not join_files(nodes), join_files(nodes)
    if nodes.slurm is not None:
        wait_until(nodes.slurm.is_idle, 60, "idle nodes")
        assert not nodes.slurm.jobs()


def kill_agents(node):
    pids = node.agents()
    assert pids, f"{node.name} has no agent: {node.processes()}"
    for pid in pids:
        send(pid, signal.SIGKILL)


def kill_launcher(node):
    pids = [pid for pid, line in node.processes() if line.startswith(f"{TROUPE} launch")]
    assert pids, f"{node.name} has no launcher: {node.processes()}"
    for pid in pids:
        send(pid, signal.SIGKILL)


# Slurm


def in_slurm(nodes, words, place=0):
    return started(nodes.nodes[place], words, env=nodes.slurm.env)


def srun(nodes, count, tasks, flags):
    return in_slurm(nodes, ["srun", f"--nodes={count}", f"--ntasks-per-node={tasks}",
                            *launch_words(["--join-file", join_file(nodes)], flags)])


class batch_job:
    """A script with one command, which takes the script's place."""

    def __init__(self, nodes, flags, words):
        self.out, self.err = (nodes.folder / f"script.{end}" for end in ("out", "err"))
        script = nodes.folder / "script"
        script.write_text(f"#!/bin/sh\nexec {shlex.join(words)}\n")
        for old in (self.out, self.err):
            old.unlink(missing_ok=True)
        # without --wait, which asks for the end ever less often
        files = [f"--output={self.out}", f"--error={self.err}"]
        sbatch = in_slurm(nodes, ["sbatch", "--parsable", *files, *flags, str(script)])
        assert sbatch.end() == 0, sbatch.text()
        self.number = sbatch.out.strip()
        self.slurm = nodes.slurm

    def end(self):
        """The exit status: of a signal, 128 and more."""
        wait_until(lambda: self.number not in self.slurm.jobs(), PATIENCE, "the script's end", pause=0.2)
        shown = self.slurm.say("scontrol", "show", "job", self.number)
        status, number = map(int, re.search(r"\bExitCode=(\d+):(\d+)", shown).groups())
        return 128 + number if number else status

    def wait_until_it_runs(self):
        seen = lambda: self.err.exists() and re.search("[1-9][0-9]*/1000 samples", self.err.read_text())
        wait_until(seen, PATIENCE, "samples")

    def result(self):
        status = self.end()
        assert status == 0, f"status {status}: {self.err.read_text()}"
        return json.loads(self.out.read_text())


def by_ssh(nodes):
    return ["--ssh", f"ssh -F {nodes.ssh_config}"]


def srun_over_two_nodes(nodes):
    run = srun(nodes, 2, 1, ["--stages", "2"])
    expect_same_bits(run.result(), evaluate_alone())
    expect_end(nodes)


def srun_over_three_nodes_with_two_tasks_each(nodes):
    run = srun(nodes, 3, 2, ["--stages", "6"])
    expect_same_bits(run.result(), evaluate_alone())
    assert run.text().count("process 1 of this node has nothing to do") == 3, run.text()
    expect_end(nodes)


def srun_over_some_nodes_of_a_batch_job(nodes):
    """Nodes and ranks are those of the step, which has the last two nodes of the job."""
    words = ["srun", "--nodes=2", "--ntasks=2", "--relative=1",
             *launch_words(["--join-file", join_file(nodes)], ["--stages", "2"])]
    expect_same_bits(batch_job(nodes, ["--nodes=3", "--ntasks-per-node=1"], words).result(), evaluate_alone())
    expect_end(nodes)


def a_batch_script_that_starts_agents_by_ssh(nodes):
    words = launch_words(by_ssh(nodes), ["--stages", "6"])
    expect_same_bits(batch_job(nodes, ["--nodes=3", "--ntasks-per-node=2"], words).result(), evaluate_alone())
    expect_end(nodes)


def salloc_from_a_node_outside_the_job(nodes):
    """The driver has no worker beside it."""
    run = in_slurm(nodes, ["salloc", "--nodes=2", "--ntasks-per-node=2", "--nodelist=w1,w2",
                           *launch_words(by_ssh(nodes), ["--stages", "4", *SMALL])])
    run.wait_until_it_runs()
    assert not nodes.nodes[0].workers() and nodes.nodes[1].workers() and nodes.nodes[2].workers()
    expect_same_bits(run.result(), evaluate_alone(*SMALL))
    expect_end(nodes)


def a_task_of_srun_is_killed(nodes):
    """The third node takes its stages; the status of srun is that of the task."""
    run = srun(nodes, 3, 2, ["--stages", "4", *SMALL])
    run.wait_until_it_runs()
    kill_agents(nodes.nodes[1])
    status = run.end()
    expect_same_bits(json.loads(run.out), evaluate_alone(*SMALL))
    assert status == 128 + signal.SIGKILL, (status, run.text())
    expect_end(nodes)


def a_task_of_srun_is_killed_and_no_slot_is_left(nodes):
    run = srun(nodes, 2, 2, ["--stages", "4", *SMALL])
    run.wait_until_it_runs()
    kill_agents(nodes.nodes[1])
    assert run.end() not in (0, None)
    assert "E0618" in run.text() and "w1" in run.text(), run.text()
    expect_end(nodes)


def the_launcher_in_srun_is_killed(nodes):
    run = srun(nodes, 3, 2, ["--stages", "6", *SMALL])
    run.wait_until_it_runs()
    kill_launcher(nodes.nodes[0])
    assert run.end() not in (0, None), run.text()
    expect_end(nodes)


def a_job_is_cancelled_and_resumed(nodes):
    flags = ["--stages", "6", "--micro-batch", "4", "--journal", str(nodes.folder / "journal")]
    run = srun(nodes, 3, 2, flags)
    run.wait_until_it_runs()
    # so that it cannot be done before the job is cancelled
    for pid in nodes.nodes[2].workers():
        send(pid, signal.SIGSTOP)
    nodes.slurm.say("scancel", *nodes.slurm.jobs())
    assert run.end() not in (0, None), run.text()
    expect_end(nodes)
    again = srun(nodes, 3, 2, [*flags, "--resume"])
    expect_same_bits(again.result(), evaluate_alone("--micro-batch", "4"))
    expect_end(nodes)


def a_batch_script_is_told_to_drain(nodes):
    """By the signal that goes to the script alone."""
    flags = ["--stages", "6", "--micro-batch", "1", "--journal", str(nodes.folder / "drained")]
    of_job = ["--nodes=3", "--ntasks-per-node=2"]
    job = batch_job(nodes, of_job, launch_words(by_ssh(nodes), flags))
    job.wait_until_it_runs()
    nodes.slurm.say("scancel", "--batch", "--signal=TERM", job.number)
    assert job.end() == 130, job.err.read_text()
    said = job.err.read_text()
    assert "interrupted: finishing" in said and "interrupted again" not in said, said
    expect_end(nodes)
    again = batch_job(nodes, of_job, launch_words(by_ssh(nodes), [*flags, "--resume"])).result()
    expect_same_bits(again, evaluate_alone("--micro-batch", "1"))
    assert again["delivery"]["resumed"] > 0
    expect_end(nodes)


SLURM = [srun_over_two_nodes, srun_over_three_nodes_with_two_tasks_each, srun_over_some_nodes_of_a_batch_job,
         a_batch_script_that_starts_agents_by_ssh, salloc_from_a_node_outside_the_job, a_task_of_srun_is_killed,
         a_task_of_srun_is_killed_and_no_slot_is_left, the_launcher_in_srun_is_killed, a_job_is_cancelled_and_resumed,
         a_batch_script_is_told_to_drain]


# Open MPI


def mpirun_words(nodes, count, tasks, launcher, flags, *more):
    hosts = ",".join(f"{each.name}:{tasks}" for each in nodes.nodes[:count])
    return ["mpirun", "--allow-run-as-root", "--host", hosts, "-N", str(tasks), "--bind-to", "none", *more,
            "--mca", "plm_rsh_agent", f"ssh -F {nodes.ssh_config}", "--mca", "oob_tcp_if_include", "eth0",
            *launch_words(["--join-file", join_file(nodes), *launcher], flags)]


def mpirun(nodes, count, tasks, launcher, flags, *more):
    return started(nodes.nodes[0], mpirun_words(nodes, count, tasks, launcher, flags, *more))


def mpirun_over_two_nodes(nodes):
    run = mpirun(nodes, 2, 1, ["--num-slots", "2"], ["--stages", "4"])
    expect_same_bits(run.result(), evaluate_alone())
    expect_end(nodes)


def mpirun_over_three_nodes_with_two_processes_each(nodes):
    run = mpirun(nodes, 3, 2, ["--num-slots", "2"], ["--stages", "6"])
    expect_same_bits(run.result(), evaluate_alone())
    assert run.text().count("process 1 of this node has nothing to do") == 3, run.text()
    expect_end(nodes)


def mpirun_with_ranks_that_alternate_between_nodes(nodes):
    """Their numbers say nothing about nodes; so it is an error, and no wrong placement."""
    run = mpirun(nodes, 2, 2, [], ["--stages", "2"], "--rank-by", "node")
    assert run.end() not in (0, None)
    assert "E0104" in run.text() and "ppr:1:node" in run.text(), run.text()
    expect_end(nodes)


def a_process_of_mpirun_is_killed(nodes):
    """mpirun ends all others then."""
    run = mpirun(nodes, 3, 1, ["--num-slots", "2"], ["--stages", "4", *SMALL])
    run.wait_until_it_runs()
    kill_agents(nodes.nodes[1])
    assert run.end() not in (0, None), run.text()
    expect_end(nodes)


def mpirun_is_told_to_end(nodes):
    run = mpirun(nodes, 3, 1, ["--num-slots", "2"], ["--stages", "6", *SMALL])
    run.wait_until_it_runs()
    for pid in nodes.nodes[0].pids_of("mpirun"):
        send(pid, signal.SIGTERM)
    assert run.end() not in (0, None), run.text()
    expect_end(nodes)


OPEN_MPI = [mpirun_over_two_nodes, mpirun_over_three_nodes_with_two_processes_each,
            mpirun_with_ranks_that_alternate_between_nodes, a_process_of_mpirun_is_killed, mpirun_is_told_to_end]


def mpirun_in_a_job_of_slurm(nodes):
    """Its processes have the variables of both; those of Slurm are of the daemon that started them."""
    words = ["mpirun", "--allow-run-as-root", "-N", "1", "--bind-to", "none", "--mca", "oob_tcp_if_include", "eth0",
             *launch_words(["--join-file", join_file(nodes), "--num-slots", "2"], ["--stages", "6"])]
    expect_same_bits(batch_job(nodes, ["--nodes=3", "--ntasks-per-node=1"], words).result(), evaluate_alone())
    expect_end(nodes)


# torchrun


def torchrun_over_two_nodes(nodes):
    words = launch_words(["--join-file", join_file(nodes), "--num-slots", "2"], ["--stages", "4"])
    runs = [started(each, [TORCHRUN, "--no-python", "--nnodes=2", "--nproc-per-node=1", "--rdzv-backend=c10d",
                           "--rdzv-id=7", f"--rdzv-endpoint={nodes.nodes[0].address}:29400", *words])
            for each in nodes.nodes[:2]]
    status = [run.end() for run in runs]
    assert status == [0, 0], "\n".join(run.text() for run in runs)
    # the endpoint's node need not have rank 0
    expect_same_bits(json.loads(runs[0].out or runs[1].out), evaluate_alone())
    expect_end(nodes)


def torchrun_with_ranks_by_hand(nodes):
    words = launch_words(["--join-file", join_file(nodes), "--num-slots", "2"], ["--stages", "4"])
    runs = [started(each, [TORCHRUN, "--no-python", "--nnodes=2", "--nproc-per-node=2", f"--node-rank={rank}",
                           f"--master-addr={nodes.nodes[0].address}", "--master-port=29500", *words])
            for rank, each in enumerate(nodes.nodes[:2])]
    expect_same_bits(runs[0].result(), evaluate_alone())
    assert runs[1].end() == 0 and runs[1].out == "", runs[1].text() + runs[1].out
    expect_end(nodes)


# Kubernetes


def the_manifest_of_the_page_fits_its_schema(nodes):
    manifest = nodes.folder / "manifest.yaml"
    page = (SOURCE / "docs/multi-node.md").read_text()
    manifest.write_text("\n---\n".join(re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)))
    done = subprocess.run([KUBERNETES_VALIDATE, "--strict", str(manifest)], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(re.findall("passed for resource (service|job)/troupe ", done.stdout + done.stderr)) == 2, done


TORCH = [torchrun_over_two_nodes, torchrun_with_ranks_by_hand]


def wanted_of(tests):
    return [each for each in tests if not sys.argv[3:] or each.__name__ in sys.argv[3:]]


def lacking_program(name):
    return None if find(name) else f"there is no {name}"


def main():
    why = lacking()
    if why is not None:
        print(f"skipped: {why}")
        return 77
    groups = [("Kubernetes", lacking_program(KUBERNETES_VALIDATE), [the_manifest_of_the_page_fits_its_schema]),
              ("Open MPI", lacking_program("mpirun"), OPEN_MPI), ("torchrun", lacking_program(TORCHRUN), TORCH),
              ("Slurm", lacking_slurm(), SLURM), ("Open MPI in Slurm", lacking_slurm() or lacking_program("mpirun"),
                                                  [mpirun_in_a_job_of_slurm])]
    for name, missing, _ in groups:
        if missing is not None:
            print(f"{name} is left out: {missing}", flush=True)
    wanted = {name: wanted_of(tests) if missing is None else [] for name, missing, tests in groups}
    count = sum(map(len, wanted.values()))
    if all(missing is not None for _, missing, _ in groups):
        print("skipped: no scheduler is here")
        return 77
    with cluster(3, named_node) as nodes:
        nodes.slurm = None
        failed = run_tests(wanted["Kubernetes"] + wanted["Open MPI"] + wanted["torchrun"], nodes)
        in_jobs = wanted["Slurm"] + wanted["Open MPI in Slurm"]
        if in_jobs:
            with slurm(nodes, 2) as nodes.slurm:
                failed += run_tests(in_jobs, nodes)
    print(f"{count - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
