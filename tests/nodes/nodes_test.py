#!/usr/bin/env python3
"""Goal: one command runs an evaluation on many nodes with the bits of one process, survives what can be survived, ends
with the named cause else, and leaves nothing behind. Method: the built programs on nodes made of network namespaces with
a real sshd each; results are compared with those of one process; processes, agents and nodes are killed, frozen and cut
off in the middle.

nodes_test.py TROUPE SOURCE_DIR [NAME...]
"""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from cluster import cluster, lacking, send, wait_until  # noqa: E402

TROUPE, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2])
PROGRAM = str(pathlib.Path(TROUPE).parent / "many_nodes")
RESNET = ["--model", f"{SOURCE}/data/cifar10/resnet20.pt", "--data", f"cifar10:{SOURCE}/data/cifar10/test_batch_1000.bin",
          "--metrics", "accuracy,cross_entropy", "--threads", "1"]
# Against hanging; no test waits so long.
PATIENCE = 240


def evaluate_alone(*flags):
    done = subprocess.run([TROUPE, "eval", *RESNET, *flags, "--json"], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


class started:
    """A command on a node. Its standard error is read as it comes."""

    def __init__(self, node, words, **how):
        self.process = node.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True, **how)
        self.said = []
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        self.out = ""
        self.out_reader = threading.Thread(target=self.read_out, daemon=True)
        self.out_reader.start()

    def read(self):
        for line in self.process.stderr:
            self.said.append(line.rstrip("\n"))

    def read_out(self):
        self.out = self.process.stdout.read()

    def text(self):
        return "\n".join(self.said)

    def wait_for(self, pattern, seconds=PATIENCE):
        def seen():
            if re.search(pattern, self.text()):
                return True
            assert self.process.poll() is None, f"it ended before {pattern}:\n{self.text()}"
            return False
        wait_until(seen, seconds, pattern)

    def wait_until_it_runs(self):
        """Some micro-batches are done, and some are not."""
        self.wait_for(r"[1-9][0-9]*/1000 samples")

    def end(self, seconds=PATIENCE):
        status = self.process.wait(seconds)
        self.reader.join(10)
        self.out_reader.join(10)
        return status

    def result(self):
        status = self.end()
        assert status == 0, f"status {status}:\n{self.text()}"
        return json.loads(self.out)


class launch(started):
    """A launch on its first node."""

    def __init__(self, nodes, slots, flags=(), launcher=(), command=None, hosts=None, ssh=None, hostfile=None):
        command = command or [TROUPE, "eval", *RESNET, *flags, "--json"]
        super().__init__(nodes.nodes[0], [
            TROUPE, "launch", "--hostfile", hostfile or nodes.hostfile(slots, hosts), "--ssh",
            ssh or f"ssh -F {nodes.ssh_config}", "--address", nodes.nodes[0].address, *launcher, "--", *command])


def expect_same_bits(result, alone):
    assert result["metrics"] == alone["metrics"], (result["metrics"], alone["metrics"])
    assert result["samples"] == alone["samples"] and result["delivery"]["lost"] == 0
    assert result["delivery"]["folded"] == result["delivery"]["expected"] == alone["delivery"]["expected"]


def expect_nothing_left(nodes, seconds=20):
    try:
        wait_until(lambda: not nodes.left_over(), seconds, "the end of all processes")
    except AssertionError:
        raise AssertionError(f"left over: {nodes.left_over()}")


def two_nodes_with_two_stages_each(nodes):
    alone = evaluate_alone()
    run = launch(nodes, 2, ["--stages", "4"], hosts=nodes.nodes[:2])
    result = run.result()
    expect_same_bits(result, alone)
    micro_batches = [each["micro_batches"] for each in result["stages"]]
    assert micro_batches == [alone["micro_batches"]] * 4, micro_batches
    expect_nothing_left(nodes)


def three_nodes_with_three_replicas(nodes):
    run = launch(nodes, 2, ["--stages", "2", "--replicas", "3"])
    expect_same_bits(run.result(), evaluate_alone())
    expect_nothing_left(nodes)


def a_script_in_the_place_of_ssh(nodes):
    script = nodes.folder / "on"
    spaces = "\n".join(f"{each.address}) space={each.space};;" for each in nodes.nodes)
    script.write_text(f'#!/bin/sh\ncase $1 in\n{spaces}\nesac\nshift\nexec ip netns exec $space sh -c "$*"\n')
    script.chmod(0o755)
    run = launch(nodes, 2, ["--stages", "6"], ssh=str(script))
    expect_same_bits(run.result(), evaluate_alone())
    expect_nothing_left(nodes)


def a_worker_is_killed(nodes):
    run = launch(nodes, 2, ["--stages", "4", "--micro-batch", "8"], hosts=nodes.nodes[:2])
    run.wait_until_it_runs()
    for pid in nodes.nodes[1].workers()[:1]:
        send(pid, signal.SIGKILL)
    expect_same_bits(run.result(), evaluate_alone("--micro-batch", "8"))
    expect_nothing_left(nodes)


def an_agent_is_killed_and_a_spare_node_takes_its_stages(nodes):
    run = launch(nodes, 2, ["--stages", "4", "--micro-batch", "8"])
    run.wait_until_it_runs()
    for pid in nodes.nodes[1].agents():
        send(pid, signal.SIGKILL)
    expect_same_bits(run.result(), evaluate_alone("--micro-batch", "8"))
    expect_nothing_left(nodes)


def an_agent_is_killed_and_no_slot_is_left(nodes):
    run = launch(nodes, 2, ["--stages", "4", "--micro-batch", "8"], hosts=nodes.nodes[:2])
    run.wait_until_it_runs()
    for pid in nodes.nodes[1].agents():
        send(pid, signal.SIGKILL)
    assert run.end() not in (0, None)
    assert "E0618" in run.text() and nodes.nodes[1].address in run.text(), run.text()
    expect_nothing_left(nodes)


def a_run_may_shrink(nodes):
    run = launch(nodes, 2, ["--stages", "4", "--micro-batch", "8"], ["--allow-shrink"], hosts=nodes.nodes[:2])
    run.wait_until_it_runs()
    for pid in nodes.nodes[1].agents():
        send(pid, signal.SIGKILL)
    expect_same_bits(run.result(), evaluate_alone("--micro-batch", "8"))
    expect_nothing_left(nodes)


def the_network_of_a_node_is_cut(nodes):
    run = launch(nodes, 2, ["--stages", "4", "--micro-batch", "8", "--worker-timeout", "6"], ["--worker-timeout", "6"])
    run.wait_until_it_runs()
    nodes.nodes[1].link("down")
    try:
        expect_same_bits(run.result(), evaluate_alone("--micro-batch", "8"))
    finally:
        nodes.nodes[1].link("up")
    expect_nothing_left(nodes)


def says_again(node):
    """Whether a TCP connection of `node` waits for the receipt of what it has sent once more."""
    table = node.run(["cat", "/proc/net/tcp"], stdout=subprocess.PIPE, text=True).communicate(timeout=PATIENCE)[0]
    return any(int(line.split()[6], 16) > 0 for line in table.splitlines()[1:])


def a_node_is_cut_off_and_returns(nodes):
    """Sooner than --worker-timeout: nothing is lost. Once by the kernel, once by a fault plan."""
    cut = nodes.nodes[1]
    flags = ["--stages", "4", "--micro-batch", "8", "--fault", f"partition:node={cut.address},at=mb40,for=0.5s"]
    run = launch(nodes, 2, flags, hosts=nodes.nodes[:2])
    run.wait_until_it_runs()
    cut.link("down")
    try:
        wait_until(lambda: says_again(nodes.nodes[0]), PATIENCE, "segments that the driver's node sends once more")
    finally:
        cut.link("up")
    result = run.result()
    expect_same_bits(result, evaluate_alone("--micro-batch", "8"))
    assert [each["times"] for each in result["faults"]] == [1], result["faults"]
    expect_nothing_left(nodes)


def chaos_loses_agents_and_nodes(nodes):
    """Two launches of three nodes; in the second one is frozen and cut off, one lost, with stages of either, and a control
    message is lost on a node without the driver."""
    one, two = nodes.nodes[1:]
    faults = [f"stop:node={one.address},at=mb10,for=0.2s", f"partition:agent={one.address},at=mb20,for=0.2s",
              f"stop:worker=2,at=0.05s,for=0.1s", f"kill:node={one.address},at=mb40",
              "drop:control=driver-stage.2,at=msg4"]
    words = [TROUPE, "chaos", *RESNET, "--stages", "4", "--micro-batch", "8", "--json"]
    for each in faults:
        words += ["--fault", each]
    run = launch(nodes, 2, command=words)
    result = run.result()
    assert result["bit_identical"], result["objection"]
    assert [each["times"] for each in result["faults"]] == [1, 1, 1, 1, 1], result["faults"]
    assert result["faults"][3]["recovery_seconds"] > 0 and result["faults"][3]["replayed"] > 0, result["faults"]
    assert result["repeat"].startswith("troupe launch --hostfile ") and " -- troupe chaos --model " in result["repeat"]
    expect_nothing_left(nodes)
    by_hand = ["--num-nodes", "2", "--no-ssh", "--node-rank", "0", "--join-file", "x"]
    refused = started(nodes.nodes[0], [TROUPE, "launch", *by_hand, "--", *words])
    assert refused.end() not in (0, None) and "leave out --no-ssh" in refused.text(), refused.text()


def an_agent_is_frozen(nodes):
    run = launch(nodes, 2, ["--stages", "4", "--micro-batch", "8", "--worker-timeout", "6"], ["--worker-timeout", "6"])
    run.wait_until_it_runs()
    frozen = nodes.nodes[1].agents()
    for pid in frozen:
        send(pid, signal.SIGSTOP)
    expect_same_bits(run.result(), evaluate_alone("--micro-batch", "8"))
    for pid in frozen:
        send(pid, signal.SIGCONT)
    expect_nothing_left(nodes)


def a_whole_node_is_frozen(nodes):
    run = launch(nodes, 2, ["--stages", "4", "--micro-batch", "8", "--worker-timeout", "6"], ["--worker-timeout", "6"])
    run.wait_until_it_runs()
    nodes.nodes[1].signal_all(signal.SIGSTOP)
    expect_same_bits(run.result(), evaluate_alone("--micro-batch", "8"))
    nodes.nodes[1].signal_all(signal.SIGCONT)
    expect_nothing_left(nodes)


def the_driver_is_killed(nodes):
    run = launch(nodes, 2, ["--stages", "6", "--micro-batch", "8"])
    run.wait_until_it_runs()
    drivers = [pid for pid, line in nodes.nodes[0].processes() if " eval " in line and " launch " not in line]
    send(min(drivers), signal.SIGKILL)
    assert run.end() == 128 + signal.SIGKILL, run.text()
    expect_nothing_left(nodes)


def the_launcher_is_killed(nodes):
    run = launch(nodes, 2, ["--stages", "6", "--micro-batch", "8"])
    run.wait_until_it_runs()
    for pid in nodes.nodes[0].pids_of(" launch "):
        send(pid, signal.SIGKILL)
    run.end()
    expect_nothing_left(nodes)


def sshd_is_killed(nodes):
    """The connection by which an agent was started ends: the agent ends with it, and its node counts as lost."""
    run = launch(nodes, 2, ["--stages", "4", "--micro-batch", "8"])
    run.wait_until_it_runs()
    for pid, line in nodes.nodes[1].processes():
        if "sshd" in line:
            send(pid, signal.SIGKILL)
    expect_same_bits(run.result(), evaluate_alone("--micro-batch", "8"))
    expect_nothing_left(nodes)
    nodes.nodes[1].sshd.wait(10)
    nodes.nodes[1].start_sshd()
    wait_until(nodes.nodes[1].listens, 20, "sshd")


def a_launch_is_told_to_end(nodes):
    journal = str(nodes.folder / "journal")
    flags = ["--stages", "4", "--micro-batch", "4", "--journal", journal]
    run = launch(nodes, 2, flags, hosts=nodes.nodes[:2])
    run.wait_until_it_runs()
    for pid in nodes.nodes[0].pids_of(" launch "):
        send(pid, signal.SIGTERM)
    assert run.end() == 130, run.text()
    expect_nothing_left(nodes)
    again = launch(nodes, 2, [*flags, "--resume"], hosts=nodes.nodes[:2])
    expect_same_bits(again.result(), evaluate_alone("--micro-batch", "4"))
    expect_nothing_left(nodes)


def a_node_that_does_not_answer_is_named(nodes):
    path = nodes.folder / "with-a-silent-address"
    path.write_text(f"{nodes.nodes[0].address} slots=2\n10.89.0.99 slots=2\n")
    started = time.monotonic()
    run = launch(nodes, 2, ["--stages", "4"], ["--join-timeout", "20"], hostfile=str(path))
    assert run.end() not in (0, None)
    assert "10.89.0.99" in [line for line in run.said if line.startswith("error ")][-1], run.text()
    assert time.monotonic() - started < 40
    expect_nothing_left(nodes)


def many_nodes_alone():
    done = subprocess.run([PROGRAM, f"{SOURCE}/data"], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    assert "nll sum 0x" in done.stdout and "0 lost" in done.stdout, done.stdout
    return done.stdout


def a_program_of_ones_own(nodes):
    """examples/many_nodes: a route, a join and a stage in C++ on three nodes; workers are on each of them."""
    run = launch(nodes, 2, command=[PROGRAM, f"{SOURCE}/data"])
    agents = [node for node in nodes.nodes if node.address != nodes.nodes[0].address]
    wait_until(lambda: all(node.workers() for node in agents), PATIENCE, "workers on all nodes")
    assert run.end() == 0, run.text()
    assert run.out == many_nodes_alone(), run.out
    expect_nothing_left(nodes)


def a_worker_of_a_program_of_ones_own_is_killed(nodes):
    run = launch(nodes, 2, command=[PROGRAM, f"{SOURCE}/data"])
    run.wait_for(r"\n[1-9][0-9]* of 10000 samples")
    send(nodes.nodes[1].workers()[0], signal.SIGKILL)
    assert run.end() == 0, run.text()
    assert re.search("SIGKILL|killed", run.text()), run.text()
    assert run.out == many_nodes_alone(), run.out
    expect_nothing_left(nodes)


ALWAYS = [two_nodes_with_two_stages_each, three_nodes_with_three_replicas]
TESTS = [a_script_in_the_place_of_ssh, a_worker_is_killed,
         an_agent_is_killed_and_a_spare_node_takes_its_stages, an_agent_is_killed_and_no_slot_is_left, a_run_may_shrink,
         the_network_of_a_node_is_cut, a_node_is_cut_off_and_returns, chaos_loses_agents_and_nodes,
         an_agent_is_frozen, a_whole_node_is_frozen, the_driver_is_killed,
         the_launcher_is_killed, a_program_of_ones_own, a_worker_of_a_program_of_ones_own_is_killed, sshd_is_killed, a_launch_is_told_to_end,
         a_node_that_does_not_answer_is_named]
# So many of TESTS have their turn in one run (tests/support/turns.hpp).
EACH_TURN = 6


def run_tests(tests, nodes):
    """The number of those that have failed; of a failed test nothing goes on."""
    failed = 0
    for test in tests:
        begin = time.monotonic()
        try:
            test(nodes)
            print(f"{test.__name__}: passed in {time.monotonic() - begin:.1f} s", flush=True)
        except Exception:
            failed += 1
            traceback.print_exc()
            print(f"{test.__name__}: FAILED", flush=True)
            for pid, _ in nodes.left_over():
                send(pid, signal.SIGCONT)
                send(pid, signal.SIGKILL)
    return failed


def in_turn(tests, count):
    """As in tests/support/turns.hpp: after some turns all have run; TROUPE_TURN names the day, or "all"."""
    day = os.environ.get("TROUPE_TURN", str(int(time.time() // 86400)))
    if day == "all":
        return tests
    first = int(day) * count % len(tests)
    return [test for place, test in enumerate(tests) if (place - first) % len(tests) < count]


def main(tests, each_turn, count, always=()):
    """The tests named on the command line, or `always` and as many of `tests` as have their turn, on `count` nodes."""
    why = lacking()
    if why is not None:
        print(f"skipped: {why}")
        return 77
    named = [test for test in [*always, *tests] if test.__name__ in sys.argv[3:]]
    wanted = named or [*always, *in_turn(tests, each_turn)]
    with cluster(count) as nodes:
        failed = run_tests(wanted, nodes)
    print(f"{len(wanted) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(TESTS, EACH_TURN, 3, ALWAYS))
