#!/usr/bin/env python3
"""Goal: a training over the nodes of a launch has the bits of one process, whatever worker or node dies, and says what is
missing where a state is lost. Method: the built programs with agents of several nodes on this host, which a script in
the place of ssh starts; workers and agents are killed in the middle, at a drawn step and moment.

training_test.py TROUPE SOURCE_DIR [NAME...]
"""
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback

TROUPE = sys.argv[1]
PROGRAM = str(pathlib.Path(TROUPE).parent / "trained_nodes")
STEPS = 120
# Against hanging; no test waits so long.
PATIENCE = 240


def train_alone(stages):
    done = subprocess.run([PROGRAM, "memory", str(stages), "1", str(STEPS), "threads"], capture_output=True, text=True,
                          timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def children_of(pid):
    return [int(each) for task in pathlib.Path(f"/proc/{pid}/task").iterdir()
            for each in (task / "children").read_text().split()]


def below(pid):
    try:
        own = children_of(pid)
    except OSError:
        return []
    return own + [deeper for each in own for deeper in below(each)]


def has_state(pid):
    """It has memory that its agent made for a stage."""
    try:
        return "memfd:troupe-blob" in pathlib.Path(f"/proc/{pid}/maps").read_text()
    except OSError:
        return False


class launch:
    """A training on the nodes n0 (this one, with the driver), n1 and so on."""

    def __init__(self, slots, protection, stages, replicas=1, launcher=()):
        self.folder = tempfile.TemporaryDirectory()
        self.place = pathlib.Path(self.folder.name)
        script = self.place / "on"
        script.write_text(f'#!/bin/sh\necho $$ > {self.place}/$1.part\nmv {self.place}/$1.part {self.place}/$1.pid\n'
                          'shift\nexec sh -c "$*"\n')
        script.chmod(0o755)
        names = ["127.0.0.1"] + [f"n{node}" for node in range(1, len(slots))]
        (self.place / "hosts").write_text("".join(f"{name} slots={count}\n" for name, count in zip(names, slots)))
        self.process = subprocess.Popen(
            [TROUPE, "launch", "--hostfile", str(self.place / "hosts"), "--ssh", str(script), "--address", "127.0.0.1",
             "--worker-timeout", "60", *launcher, "--", PROGRAM, protection, str(stages), str(replicas), str(STEPS)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.out, self.said = [], []
        self.changed = threading.Condition()
        self.open_streams = 2
        self.readers = [threading.Thread(target=self.read, args=each, daemon=True)
                        for each in ((self.process.stdout, self.out), (self.process.stderr, self.said))]
        for each in self.readers:
            each.start()

    def read(self, stream, into):
        for line in stream:
            with self.changed:
                into.append(line.rstrip("\n"))
                self.changed.notify_all()
        with self.changed:
            self.open_streams -= 1
            self.changed.notify_all()

    def text(self):
        return "\n".join(self.said)

    def wait_for(self, seen, what):
        with self.changed:
            self.changed.wait_for(lambda: seen() or self.open_streams == 0, PATIENCE)
            assert seen(), f"it ended before {what}, or took too long:\n{self.text()}"

    def wait_for_step(self, step):
        self.wait_for(lambda: len(self.out) > step, f"step {step}")

    def agent(self, node):
        return int((self.place / f"n{node}.pid").read_text())

    def kill_agent(self, node):
        os.kill(self.agent(node), signal.SIGKILL)

    def kill_worker(self, node):
        """A drawn one that has a stage."""
        os.kill(random.choice([pid for pid in below(self.agent(node)) if has_state(pid)]), signal.SIGKILL)

    def end(self):
        status = self.process.wait(PATIENCE)
        for each in self.readers:
            each.join(10)
        self.folder.cleanup()
        return status

    def expect(self, alone):
        status = self.end()
        assert status == 0, f"status {status}:\n{self.text()}"
        different = [pair for pair in zip(self.out, alone) if pair[0] != pair[1]]
        assert self.out == alone, f"{different[:2]}, {len(self.out)} lines of {len(alone)}\n{self.text()}"


def step_drawn():
    return random.randrange(5, STEPS - 40)


def nodes_have_the_bits_of_threads():
    launch([2, 1, 1], "memory", 4).expect(train_alone(4))


def a_worker_dies_and_its_state_stays_on_its_node():
    run = launch([1, 2], "memory", 3)
    for step in (10, 40, 70):
        run.wait_for_step(step + random.randrange(20))
        run.kill_worker(1)
    run.expect(train_alone(3))
    assert "was replaced" in run.text() and "again behind" not in run.text(), run.text()


def a_node_is_lost(protection, steps_again):
    run = launch([1, 1, 1, 1], protection, 3)
    run.wait_for_step(step_drawn())
    run.kill_agent(1)
    run.expect(train_alone(3))
    again = [int(each) for each in re.findall(r"(\d+) steps are done again", run.text())]
    assert len(again) == 1 and again[0] <= steps_again, (again, run.text())


def a_node_is_lost_and_the_shadow_serves():
    a_node_is_lost("shadow", 0)


def a_node_is_lost_and_the_last_copy_serves():
    a_node_is_lost("checkpoint:10", 9)


def a_node_is_lost_and_its_replica_serves():
    """Each node has one replica of both stages."""
    placement = "stage.0/0=n1,stage.1/0=n1,stage.0/1=n2,stage.1/1=n2"
    run = launch([2, 2, 2], "memory", 2, 2, launcher=["--placement", placement])
    run.wait_for_step(step_drawn())
    run.kill_agent(1)
    run.expect(train_alone(2))


def a_second_node_is_lost_during_recovery():
    run = launch([1, 1, 1, 1, 1], "checkpoint:20", 3)
    run.wait_for_step(step_drawn())
    run.kill_agent(1)
    run.wait_for(lambda: re.search("n1.*lost|steps are done again", run.text()), "the loss of n1")
    if random.random() < 0.5:
        run.wait_for(lambda: "steps are done again" in run.text(), "the new begin")
    run.kill_agent(2)
    run.expect(train_alone(3))


def a_node_is_lost_without_protection():
    run = launch([1, 1, 1, 1], "memory", 3)
    run.wait_for_step(step_drawn())
    run.kill_agent(1)
    status = run.end()
    assert status == 1 and "E0620" in run.text() and "--protect" in run.text(), f"status {status}:\n{run.text()}"


def no_slot_is_left():
    run = launch([1, 1, 1], "shadow", 3)
    run.wait_for_step(step_drawn())
    run.kill_agent(1)
    status = run.end()
    assert status == 4 and "E0618" in run.text() and "--allow-shrink" in run.text(), f"status {status}:\n{run.text()}"


def the_launch_may_shrink():
    run = launch([1, 1, 1], "shadow", 3, launcher=["--allow-shrink"])
    run.wait_for_step(step_drawn())
    run.kill_agent(2)
    run.expect(train_alone(3))


def the_command_tells_of_the_fault_that_took_a_node():
    data = pathlib.Path(sys.argv[2]) / "data/mnist"
    train = [TROUPE, "train", "--model", str(data / "lenet.pt"), "--data", f"mnist:{data}", "--loss", "nll", "--steps", "150",
             "--micro-batch", "16", "--num-micro-batches", "4", "--stages", "2", "--threads", "1", "--json"]
    alone = json.loads(subprocess.run(train, capture_output=True, text=True, timeout=PATIENCE).stdout)
    with tempfile.TemporaryDirectory() as folder:
        script = pathlib.Path(folder) / "on"
        script.write_text('#!/bin/sh\nshift\nexec sh -c "$*"\n')
        script.chmod(0o755)
        hosts = pathlib.Path(folder) / "hosts"
        hosts.write_text("127.0.0.1 slots=1\nn1 slots=1\nn2 slots=1\n")
        done = subprocess.run([TROUPE, "launch", "--hostfile", str(hosts), "--ssh", str(script), "--address", "127.0.0.1",
                               "--", *train, "--processes", "--protect", "checkpoint:5", "--fault", "kill:node=n1,at=0.5s"],
                              capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["losses"] == alone["losses"] and result["weights_sha256"] == alone["weights_sha256"], done.stderr
    assert [each["times"] for each in result["faults"]] == [1], (result["faults"], done.stderr)


def main():
    tests = [nodes_have_the_bits_of_threads, a_worker_dies_and_its_state_stays_on_its_node,
             a_node_is_lost_and_the_shadow_serves, a_node_is_lost_and_the_last_copy_serves,
             a_node_is_lost_and_its_replica_serves, a_second_node_is_lost_during_recovery,
             a_node_is_lost_without_protection, no_slot_is_left, the_launch_may_shrink,
             the_command_tells_of_the_fault_that_took_a_node]
    failed = 0
    for test in [each for each in tests if not sys.argv[3:] or each.__name__ in sys.argv[3:]]:
        begin = time.monotonic()
        try:
            test()
            print(f"{test.__name__}: passed in {time.monotonic() - begin:.1f} s", flush=True)
        except Exception:
            failed += 1
            traceback.print_exc()
            print(f"{test.__name__}: FAILED", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
