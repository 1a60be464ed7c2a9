"""Launches on the nodes of a cluster, what is expected of them, and the loop over tests. For the tests of this folder."""
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import threading
import time
import traceback

from cluster import cluster, lacking, send, wait_until

TROUPE, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2])
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
    try:  # a process that ends gives up its memory, and with it its name, some time before its sockets
        wait_until(lambda: not nodes.left_behind(), seconds, "the end of all listeners")
    except AssertionError:
        raise AssertionError(f"left behind: {nodes.left_behind()}")


class within:
    """From the fault to the end of the run; a bound that only the right way of noticing keeps."""

    def __init__(self, seconds):
        self.seconds = seconds

    def __enter__(self):
        self.begin = time.monotonic()

    def __exit__(self, kind, *_):
        took = time.monotonic() - self.begin
        assert kind is not None or took < self.seconds, f"it took {took:.1f} s, {self.seconds} are allowed"


# A killed process is noticed by its connections' end, long before this silence.
LONG_SILENCE = ["--worker-timeout", "90"]
BEFORE_THE_SILENCE = 45
# A frozen or cut-off one by this silence; then comes the rest of the run.
SHORT_SILENCE = ["--worker-timeout", "6"]
AFTER_THE_SILENCE = 45


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


def some_of(tests, count):
    """As in tests/support/case_choice.hpp: drawn afresh; all where TROUPE_ALL_CASES is set."""
    if "TROUPE_ALL_CASES" in os.environ:
        return tests
    drawn = random.sample(tests, count)
    return [test for test in tests if test in drawn]


def main(tests, drawn, count, always=()):
    """The tests named on the command line, or `always` and so many of `tests`, drawn afresh, on `count` nodes."""
    why = lacking()
    if why is not None:
        print(f"skipped: {why}")
        return 77
    named = [test for test in [*always, *tests] if test.__name__ in sys.argv[3:]]
    wanted = named or [*always, *some_of(tests, drawn)]
    with cluster(count) as nodes:
        failed = run_tests(wanted, nodes)
    print(f"{len(wanted) - failed} passed, {failed} failed")
    return 1 if failed else 0
