#!/usr/bin/env python3
"""Goal: one command runs an evaluation on many nodes with the bits of one process, survives what can be survived, ends
with the named cause else, and leaves nothing behind. Method: the built programs on nodes made of network namespaces with
a real sshd each; results are compared with those of one process; processes, agents and nodes are killed, frozen and cut
off in the middle.

nodes_test.py TROUPE SOURCE_DIR [NAME...]
"""
import array
import hashlib
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from cluster import send, wait_until  # noqa: E402
from launches import (AFTER_THE_SILENCE, BEFORE_THE_SILENCE, LONG_SILENCE, PATIENCE, RESNET, SHORT_SILENCE, SOURCE,  # noqa: E402
                      TROUPE, evaluate_alone, expect_nothing_left, expect_same_bits, launch, main, started, within)

PROGRAM = str(pathlib.Path(TROUPE).parent / "many_nodes")
LATE_DEVICES = str(pathlib.Path(TROUPE).parent / "late_devices")


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
    run = launch(nodes, 2, ["--stages", "4", "--micro-batch", "8", *LONG_SILENCE], LONG_SILENCE, ssh=str(script))
    run.wait_until_it_runs()
    for pid in [*nodes.nodes[0].workers()[:1], *nodes.nodes[1].agents()]:
        send(pid, signal.SIGKILL)
    with within(BEFORE_THE_SILENCE):
        expect_same_bits(run.result(), evaluate_alone("--micro-batch", "8"))
    expect_nothing_left(nodes)


def write_safetensors(file, sizes, seed):
    """Random numbers of these names and sizes."""
    drawn, header, numbers = random.Random(seed), {}, b""
    for name, shape in sizes.items():
        count = 1
        for size in shape:
            count *= size
        piece = array.array("f", [drawn.uniform(-0.2, 0.2) for _ in range(count)]).tobytes()
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(numbers), len(numbers) + len(piece)]}
        numbers += piece
    text = json.dumps(header).encode()
    file.write_bytes(len(text).to_bytes(8, "little") + text + numbers)


def write_model_folder(folder):
    """A small ViT of transformers, in two files with an index: its configuration, and the names of ViTForImageClassification."""
    width, inner = 16, 24
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({
        "architectures": ["ViTForImageClassification"], "hidden_size": width, "num_hidden_layers": 2, "num_attention_heads": 2,
        "intermediate_size": inner, "image_size": 32, "patch_size": 8}))
    first = {"vit.embeddings.cls_token": [1, 1, width], "vit.embeddings.position_embeddings": [1, 17, width],
             "vit.embeddings.patch_embeddings.projection.weight": [width, 3, 8, 8],
             "vit.embeddings.patch_embeddings.projection.bias": [width]}
    second = {"vit.layernorm.weight": [width], "vit.layernorm.bias": [width], "classifier.weight": [10, width], "classifier.bias": [10]}
    square = ["attention.attention.query", "attention.attention.key", "attention.attention.value", "attention.output.dense"]
    for index, part in enumerate([first, second]):
        layers = {name: [width, width] for name in square} | {"intermediate.dense": [inner, width], "output.dense": [width, inner]}
        for name, shape in layers.items():
            part |= {f"vit.encoder.layer.{index}.{name}.weight": shape, f"vit.encoder.layer.{index}.{name}.bias": shape[:1]}
        for norm in ("layernorm_before", "layernorm_after"):
            part |= {f"vit.encoder.layer.{index}.{norm}.{each}": [width] for each in ("weight", "bias")}
    files = {f"model-{number}.safetensors": part for number, part in enumerate([first, second])}
    for seed, (name, part) in enumerate(files.items()):
        write_safetensors(folder / name, part, seed)
    index = {name: file for file, part in files.items() for name in part}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": index}))


def a_node_that_lacks_the_folder_of_a_model_gets_all_its_files(nodes):
    """An empty file system lies over the folder there."""
    folder, cache = nodes.folder / "model", nodes.folder / "cache"
    write_model_folder(folder)
    command = [TROUPE, "eval", "--model", str(folder), *RESNET[2:], "--stages", "4", "--json"]
    alone = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert alone.returncode == 0, alone.stderr
    other = nodes.nodes[1]
    script = nodes.folder / "without"
    script.write_text(f'#!/bin/sh\n[ $1 = {other.address} ] || exit 1\nshift\n'
                      f'exec ip netns exec {other.space} unshare --mount sh -c "mount -t tmpfs none {folder} && $*"\n')
    script.chmod(0o755)
    run = launch(nodes, 2, ssh=str(script), hosts=nodes.nodes[:2], launcher=["--env", f"TROUPE_CACHE_DIR={cache}"], command=command)
    expect_same_bits(run.result(), json.loads(alone.stdout))
    kept = {each.name for each in cache.rglob("*")}
    for each in folder.iterdir():
        assert hashlib.sha256(each.read_bytes()).hexdigest() in kept, (each, kept)
    expect_nothing_left(nodes)


def a_worker_is_killed(nodes):
    run = launch(nodes, 2, ["--stages", "4", "--micro-batch", "8"], hosts=nodes.nodes[:2])
    run.wait_until_it_runs()
    for pid in nodes.nodes[1].workers()[:1]:
        send(pid, signal.SIGKILL)
    expect_same_bits(run.result(), evaluate_alone("--micro-batch", "8"))
    expect_nothing_left(nodes)


def an_agent_is_killed_and_a_spare_node_takes_its_stages(nodes):
    alone = evaluate_alone("--micro-batch", "8")
    run = launch(nodes, 2, ["--stages", "4", "--micro-batch", "8", *LONG_SILENCE], LONG_SILENCE)
    run.wait_until_it_runs()
    for pid in nodes.nodes[1].agents():
        send(pid, signal.SIGKILL)
    with within(BEFORE_THE_SILENCE):
        expect_same_bits(run.result(), alone)
    expect_nothing_left(nodes)


def an_agent_is_killed_and_no_slot_is_left(nodes):
    run = launch(nodes, 2, ["--stages", "4", "--micro-batch", "8", *LONG_SILENCE], LONG_SILENCE, hosts=nodes.nodes[:2])
    run.wait_until_it_runs()
    for pid in nodes.nodes[1].agents():
        send(pid, signal.SIGKILL)
    with within(BEFORE_THE_SILENCE):
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
    alone = evaluate_alone("--micro-batch", "8")
    run = launch(nodes, 2, ["--stages", "4", "--micro-batch", "8", "--forward-deadline", "60", "--checksums", *SHORT_SILENCE],
                 SHORT_SILENCE)
    run.wait_until_it_runs()
    nodes.nodes[1].link("down")
    try:
        with within(AFTER_THE_SILENCE):
            expect_same_bits(run.result(), alone)
    finally:
        nodes.nodes[1].link("up")
    expect_nothing_left(nodes)


def a_connection_is_half_open(nodes):
    """Between the driver and a node, in either direction; the node's other connections live."""
    alone = evaluate_alone("--micro-batch", "8")
    driver, node = nodes.nodes[:2]
    for one, other in ((driver, node), (node, driver)):
        run = launch(nodes, 2, ["--stages", "4", "--micro-batch", "8", *SHORT_SILENCE], SHORT_SILENCE)
        run.wait_until_it_runs()
        one.loses_what_it_sends_to(other)
        try:
            with within(AFTER_THE_SILENCE):
                expect_same_bits(run.result(), alone)
            assert node.address in run.text(), run.text()
        finally:
            one.loses_what_it_sends_to(other, begins=False)
        expect_nothing_left(nodes)


def a_node_is_slow(nodes):
    """Its workers compute for half of the time; that is no silence, and nothing is replaced."""
    run = launch(nodes, 2, ["--stages", "4", "--micro-batch", "8", *SHORT_SILENCE], SHORT_SILENCE, hosts=nodes.nodes[:2])
    run.wait_until_it_runs()
    signals = [signal.SIGSTOP, signal.SIGCONT]

    def slow_down():
        for pid in nodes.nodes[1].workers():
            send(pid, signals[0])
        signals.reverse()
        return run.process.poll() is not None

    wait_until(slow_down, PATIENCE, "the end of the run", pause=0.05)
    nodes.nodes[1].signal_all(signal.SIGCONT)
    result = run.result()
    expect_same_bits(result, evaluate_alone("--micro-batch", "8"))
    assert result["delivery"]["replayed"] == 0 and "replaced" not in run.text(), run.text()
    expect_nothing_left(nodes)


def an_activation_takes_longer_than_lost_work_is_waited_for(nodes):
    """5 MiB at 3 Mbit/s, twice: lost work is noticed after --worker-timeout and 5 s; what still comes is not lost."""
    some = ["--micro-batch", "80", "--limit", "160"]
    alone = evaluate_alone(*some)
    silence = ["--worker-timeout", "2"]
    sender = nodes.nodes[0]
    sender.slow_down("3mbit")
    try:
        run = launch(nodes, 1, ["--stages", "2", *some, *silence], silence, hosts=nodes.nodes[:2])
        result = run.result()
    finally:
        sender.slow_down(None)
    expect_same_bits(result, alone)
    assert result["delivery"]["replayed"] == 0, run.text()
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


def a_node_of_three_is_cut_off_and_returns(nodes):
    """Sooner than --worker-timeout: nothing is lost. A seed draws node, moment and time; TROUPE_FAULT_SEEDS=30 tries so many."""
    alone = evaluate_alone("--micro-batch", "8")
    for seed in range(int(os.environ.get("TROUPE_FAULT_SEEDS", "3"))):
        drawn = random.Random(seed)
        cut = drawn.choice(nodes.nodes[1:])
        fault = f"partition:node={cut.address},at=mb{drawn.randrange(1, 120)},for={drawn.uniform(0.1, 2):.2f}s"
        result = launch(nodes, 2, ["--stages", "6", "--micro-batch", "8", "--fault", fault]).result()
        expect_same_bits(result, alone)
        assert [each["times"] for each in result["faults"]] == [1], (seed, result["faults"])
        expect_nothing_left(nodes)


def chaos_loses_agents_and_nodes(nodes):
    """Two launches of three nodes; in the second one is frozen and cut off, one lost, with stages of either, and a control
    message is lost on a node without the driver."""
    one, two = nodes.nodes[1:]
    faults = [f"stop:node={one.address},at=mb10,for=0.2s", f"partition:agent={one.address},at=mb20,for=0.2s",
              "stop:worker=2,at=0.05s,for=0.1s", f"kill:node={one.address},at=mb40",
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
    alone = evaluate_alone("--micro-batch", "8")
    run = launch(nodes, 2, ["--stages", "4", "--micro-batch", "8", *SHORT_SILENCE], SHORT_SILENCE)
    run.wait_until_it_runs()
    frozen = nodes.nodes[1].agents()
    for pid in frozen:
        send(pid, signal.SIGSTOP)
    with within(AFTER_THE_SILENCE):
        expect_same_bits(run.result(), alone)
    for pid in frozen:
        send(pid, signal.SIGCONT)
    expect_nothing_left(nodes)


def a_whole_node_is_frozen(nodes):
    alone = evaluate_alone("--micro-batch", "8")
    run = launch(nodes, 2, ["--stages", "4", "--micro-batch", "8", *SHORT_SILENCE], SHORT_SILENCE)
    run.wait_until_it_runs()
    nodes.nodes[1].signal_all(signal.SIGSTOP)
    with within(AFTER_THE_SILENCE):
        expect_same_bits(run.result(), alone)
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


def all_parts_of_a_launch_are_told_to_end(nodes):
    """As a scheduler does before it takes the nodes: the agent waits for its driver, which drains, and no part ends with 0."""
    journal, join = str(nodes.folder / "drained"), str(nodes.folder / "drained-join")
    hosts = nodes.hostfile(2, nodes.nodes[:2])
    command = [TROUPE, "eval", *RESNET, "--stages", "4", "--micro-batch", "4", "--journal", journal, "--json"]
    by_hand = [[TROUPE, "launch", "--hostfile", hosts, "--no-ssh", "--node-rank", rank, "--join-file", join, "--", *command]
               for rank in ("0", "1")]
    run, other = [started(node, words) for node, words in zip(nodes.nodes, by_hand)]
    run.wait_until_it_runs()
    for part in (other, run):
        part.process.send_signal(signal.SIGTERM)
    assert run.end() == 130 and "E0618" not in run.text(), run.text()
    assert other.end() == 128 + signal.SIGTERM, other.text()
    assert json.loads(run.out)["partial"], run.out
    expect_nothing_left(nodes)
    expect_same_bits(launch(nodes, 2, [*command[2 + len(RESNET):-1], "--resume"], hosts=nodes.nodes[:2]).result(),
                     evaluate_alone("--micro-batch", "4"))


def one_node_is_told_to_end(nodes):
    """As a cluster does that takes one node back: its agent tells its driver, and the run is drained for --resume."""
    journal = str(nodes.folder / "one-told")
    flags = ["--stages", "4", "--micro-batch", "4", "--journal", journal]
    run = launch(nodes, 2, flags, hosts=nodes.nodes[:2])
    run.wait_until_it_runs()
    for pid in nodes.nodes[1].agents():
        send(pid, signal.SIGTERM)
    assert run.end() == 130 and "E0618" not in run.text() and "taken away" in run.text(), run.text()
    assert json.loads(run.out)["partial"], run.out
    expect_nothing_left(nodes)
    again = launch(nodes, 2, [*flags, "--resume"], hosts=nodes.nodes[:2])
    expect_same_bits(again.result(), evaluate_alone("--micro-batch", "4"))
    expect_nothing_left(nodes)


def an_agent_whose_ticket_is_void_gives_up(nodes):
    """Its driver is gone, and only the ticket says when to end."""
    join = nodes.folder / "void-join"
    words = [TROUPE, "launch", "--hostfile", nodes.hostfile(2, nodes.nodes[:2]), "--no-ssh", "--node-rank", "0", "--join-file",
             str(join), "--join-timeout", "2", "--", TROUPE, "eval", *RESNET, "--stages", "4"]
    run = started(nodes.nodes[0], words)
    ticket = pathlib.Path(f"{join}.1")
    wait_until(ticket.exists, PATIENCE, "a ticket")
    kept = nodes.folder / "void-ticket"
    kept.write_bytes(ticket.read_bytes())
    kept.chmod(0o600)
    assert run.end() not in (0, None), run.text()
    agent = started(nodes.nodes[1], [TROUPE, "agent", "--join-file", str(kept)])
    with within(BEFORE_THE_SILENCE):
        assert agent.end() not in (0, None) and "not joined within" in agent.text(), agent.text()
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


def a_node_that_does_not_join_leaves_its_stages_to_spare_slots(nodes):
    """One whose agent ends at once, and one that is not there; without spare slots the launch fails as soon as it can."""
    script = nodes.folder / "ssh-but-for-one"
    script.write_text(f'#!/bin/sh\n[ "$1" != {nodes.nodes[1].address} ] || exit 9\nexec ssh -F {nodes.ssh_config} "$@"\n')
    script.chmod(0o755)
    run = launch(nodes, 2, ["--stages", "4"], ssh=str(script))
    expect_same_bits(run.result(), evaluate_alone())
    assert f"node {nodes.nodes[1].address}: " in run.text() and "slots of other nodes" in run.text(), run.text()
    expect_nothing_left(nodes)
    path = nodes.folder / "one-is-not-there"
    path.write_text("".join(f"{each} slots=2\n" for each in (nodes.nodes[0].address, "10.89.0.99", nodes.nodes[2].address)))
    run = launch(nodes, 2, ["--stages", "4"], ["--join-timeout", "8"], hostfile=str(path))
    expect_same_bits(run.result(), evaluate_alone())
    expect_nothing_left(nodes)
    began = time.monotonic()
    run = launch(nodes, 2, ["--stages", "5"], ssh=str(script))
    assert run.end() == 4 and "E0618" in run.text() and nodes.nodes[1].address in run.text(), run.text()
    assert time.monotonic() - began < 45
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
    """The run takes about a second, so that on a busy machine the signal may come when all is counted. It is sent again then, in
    another run; the result must be right each time."""
    for _ in range(5):
        run = launch(nodes, 2, command=[PROGRAM, f"{SOURCE}/data"])
        run.wait_for(r"\n[1-9][0-9]* of 10000 samples")
        send(nodes.nodes[1].workers()[0], signal.SIGKILL)
        assert run.end() == 0, run.text()
        assert run.out == many_nodes_alone(), run.out
        expect_nothing_left(nodes)
        if re.search("SIGKILL|killed", run.text()):
            return
    raise AssertionError("no worker was killed within a run:\n" + run.text())


def late_devices_alone():
    done = subprocess.run([LATE_DEVICES, f"{SOURCE}/data/mnist", "cpu"], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    assert "cross_entropy sum 0x" in done.stdout and "625 folded, 0 lost" in done.stdout, done.stdout
    return done.stdout


def devices_of_two_nodes_are_joined_by_nccl(nodes):
    """Over the stand-in for NCCL: the id of each communicator goes from node to node, and a stage fails without it."""
    command = [LATE_DEVICES, f"{SOURCE}/data/mnist", "privateuseone"]
    run = launch(nodes, 2, command=command)
    agents = [node for node in nodes.nodes if node.address != nodes.nodes[0].address]
    wait_until(lambda: all(node.workers() for node in agents), PATIENCE, "workers on all nodes")
    assert run.end() == 0, run.text()
    assert run.out == late_devices_alone(), run.out
    run = launch(nodes, 2, command=command)
    run.wait_for(r"\n[1-9][0-9]* samples")
    send(nodes.nodes[1].workers()[0], signal.SIGKILL)
    assert run.end() == 0, run.text()
    assert re.search("SIGKILL|killed", run.text()), run.text()
    assert run.out == late_devices_alone(), run.out
    expect_nothing_left(nodes)


ALWAYS = [two_nodes_with_two_stages_each, three_nodes_with_three_replicas]
TESTS = [a_script_in_the_place_of_ssh, a_node_that_lacks_the_folder_of_a_model_gets_all_its_files,
         a_node_that_does_not_join_leaves_its_stages_to_spare_slots, a_worker_is_killed,
         an_agent_is_killed_and_a_spare_node_takes_its_stages, an_agent_is_killed_and_no_slot_is_left, a_run_may_shrink,
         the_network_of_a_node_is_cut, a_connection_is_half_open, a_node_is_slow,
         an_activation_takes_longer_than_lost_work_is_waited_for, a_node_is_cut_off_and_returns,
         a_node_of_three_is_cut_off_and_returns, chaos_loses_agents_and_nodes,
         an_agent_is_frozen, a_whole_node_is_frozen, the_driver_is_killed,
         all_parts_of_a_launch_are_told_to_end, one_node_is_told_to_end, an_agent_whose_ticket_is_void_gives_up,
         the_launcher_is_killed, a_program_of_ones_own, a_worker_of_a_program_of_ones_own_is_killed, sshd_is_killed, a_launch_is_told_to_end,
         a_node_that_does_not_answer_is_named, devices_of_two_nodes_are_joined_by_nccl]
# So many of TESTS run in CI, drawn afresh each time; `make check` runs all.
DRAWN = 6


if __name__ == "__main__":
    sys.exit(main(TESTS, DRAWN, 3, ALWAYS))
