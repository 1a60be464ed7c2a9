#!/usr/bin/env python3
"""Goal: a machine on the network that has no ticket gains nothing from a launch, and neither delays nor ends it; a stolen
node can end its own node and no other. Method: a launch on three nodes while a fourth one connects to all their ports
(attacker.py) with garbage, floods, slow and half-open connections, used and expired tickets and another node's
certificate. The result has the bits of one process, the exit status is 0, and the log stays short.

attacks_test.py TROUPE SOURCE_DIR [NAME...]
"""
import base64
import functools
import hashlib
import json
import os
import pathlib
import signal
import ssl
import struct
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from cluster import send, wait_until  # noqa: E402
from launches import (PATIENCE, RESNET, SOURCE, TROUPE, expect_nothing_left, expect_same_bits, launch,  # noqa: E402
                        main)

AGENT = str(pathlib.Path(TROUPE).parent / "troupe-agent")
# Some seconds long, with the thousand records as often as TIMES says.
FLAGS = ["--stages", "4", "--micro-batch", "4"]
TIMES = 3
# Of addresses that no node has.
STRANGERS = "10.90.0.0/16"
# Of all lines but those of progress.
LINES_MAX = 60


def evaluation(nodes, flags, times=TIMES):
    data = nodes.folder / f"{times}000.bin"
    data.write_bytes(times * (SOURCE / "data/cifar10/test_batch_1000.bin").read_bytes())
    command = [TROUPE, "eval", *RESNET, *flags, "--json"]
    command[command.index("--data") + 1] = f"cifar10:{data}"
    return command


@functools.lru_cache
def alone(nodes):
    done = subprocess.run(evaluation(nodes, ["--micro-batch", "4"]), capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@functools.lru_cache
def version():
    said = subprocess.run([AGENT, "--version"], capture_output=True, text=True, check=True).stdout
    return said.removeprefix("troupe-agent ").strip()


class attack:
    """attacker.py on the fourth node."""

    def __init__(self, nodes, kind, targets, *flags):
        script = pathlib.Path(__file__).resolve().parent / "attacker.py"
        words = [sys.executable, str(script), kind, *targets, "--version", version(), *map(str, flags)]
        self.process = nodes.nodes[3].run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                          stderr=subprocess.PIPE, text=True)

    def stop(self):
        send(self.process.pid, signal.SIGKILL)
        self.process.communicate(timeout=PATIENCE)

    def told(self):
        out, err = self.process.communicate(timeout=PATIENCE)
        assert self.process.returncode == 0, err
        return json.loads(out)

    def expect_nothing_gained(self, connected=1):
        told = self.told()
        assert told["gained"] == 0 and told["connected"] >= connected, told


def expect_nothing_gained(*attacks):
    for each in attacks:
        each.expect_nothing_gained()


def listening(node):
    """ADDRESS:PORT of all but sshd; the driver's is open on all addresses."""
    lines = subprocess.run(["ip", "netns", "exec", node.space, "ss", "-ltnH"], capture_output=True, text=True).stdout
    ports = [line.split()[3].rsplit(":", 1)[1] for line in lines.splitlines()]
    return [f"{node.address}:{port}" for port in ports if port != "22"]


def driver_of(nodes):
    lines = subprocess.run(["ip", "netns", "exec", nodes.nodes[0].space, "ss", "-ltnH"], capture_output=True, text=True)
    open_to_all = [line.split()[3] for line in lines.stdout.splitlines() if line.split()[3].startswith("0.0.0.0:")]
    assert len(open_to_all) == 1, lines.stdout
    return f"{nodes.nodes[0].address}:{open_to_all[0].rsplit(':', 1)[1]}"


def start_and_run(nodes, launcher=(), ssh=None, times=TIMES):
    run = launch(nodes, 2, (), launcher, evaluation(nodes, FLAGS, times), nodes.nodes[:3], ssh)
    run.wait_for(f"[1-9][0-9]*/{times}000 samples")
    return run


def expect_undisturbed(nodes, run, replayed=0):
    result = run.result()
    expect_same_bits(result, alone(nodes))
    if replayed is not None:
        assert result["delivery"]["replayed"] == replayed, result["delivery"]
    lines = [line for line in run.said if "000 samples" not in line]
    assert len(lines) <= LINES_MAX, f"{len(lines)} lines: " + "\n".join(lines[:20])
    expect_nothing_left(nodes)
    return lines


def credentials(nodes, name, **texts):
    folder = nodes.folder / name
    folder.mkdir(exist_ok=True)
    for each, text in texts.items():
        (folder / f"{each}.pem").write_text(text)
    return folder


def self_signed(nodes):
    folder = credentials(nodes, "self-signed")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
                    "/CN=node", "-addext", f"subjectAltName=URI:troupe:node:{nodes.nodes[1].address}", "-days", "1",
                    "-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")], check=True,
                   capture_output=True)
    return folder


def stolen_from(nodes, node):
    """Root on a node reads the memory that its workers inherit (runtime/join/network_text.hpp)."""
    def find():
        for pid, _ in node.processes():
            for file in pathlib.Path(f"/proc/{pid}/fd").glob("*"):
                try:
                    if os.readlink(file).startswith("/memfd:troupe-network"):
                        return file.read_bytes()
                except OSError:
                    continue
        return None
    text = wait_until(find, 10, "a memory file")
    rest, fields = text.removeprefix(b"troupe-network-1"), []
    while rest:
        size = int(rest[1:].split(b" ", 1)[0])
        rest = rest[len(str(size)) + 2:]
        fields.append(rest[:size].decode())
        rest = rest[size:]
    name, _, certificate, key, authority = fields
    assert name == node.address
    return credentials(nodes, "stolen", cert=certificate, key=key, ca=authority)


# --- without a ticket ------------------------------------------------------------------------------------------------


def garbage(nodes):
    run = start_and_run(nodes)
    attack(nodes, "garbage", [driver_of(nodes)], "--count", 210).expect_nothing_gained(10)
    expect_undisturbed(nodes, run)


def certificates_of_no_authority_of_the_launch(nodes):
    run = start_and_run(nodes)
    shown = ["--credentials", self_signed(nodes), "--node", nodes.nodes[1].address]
    expect_nothing_gained(*(attack(nodes, kind, [driver_of(nodes)], "--count", 24, *shown)
                            for kind in ("first_words", "links", "joins")))
    expect_undisturbed(nodes, run)


def no_certificate_and_a_random_secret(nodes):
    run = start_and_run(nodes)
    named = ["--node", nodes.nodes[1].address]
    expect_nothing_gained(*(attack(nodes, kind, [driver_of(nodes)], "--count", 24, *named)
                            for kind in ("first_words", "links", "joins")))
    lines = expect_undisturbed(nodes, run)
    assert any("refused a connection" in line for line in lines), lines


def a_flood(nodes):
    run = start_and_run(nodes)
    attack(nodes, "flood", [driver_of(nodes)], "--count", 5000).expect_nothing_gained(1000)
    expect_undisturbed(nodes, run)


def half_open_connections(nodes):
    run = start_and_run(nodes)
    attack(nodes, "hold", [driver_of(nodes)], "--count", 500).expect_nothing_gained(500)
    expect_undisturbed(nodes, run)


def a_slow_loris(nodes):
    run = start_and_run(nodes)
    attack(nodes, "slowly", [driver_of(nodes)], "--count", 50, "--seconds", 30).expect_nothing_gained(50)
    expect_undisturbed(nodes, run)


def the_ports_of_workers(nodes):
    """Workers listen for their neighbours on other nodes."""
    run = start_and_run(nodes)
    ports = [port for node in nodes.nodes[:3] for port in listening(node)]
    of_workers = [port for port in ports if port != driver_of(nodes)]
    assert len(of_workers) >= 4, ports
    own = ["--credentials", self_signed(nodes)]
    expect_nothing_gained(attack(nodes, "garbage", of_workers, "--count", 14),
                          attack(nodes, "first_words", of_workers, "--count", 6),
                          attack(nodes, "first_words", of_workers, "--count", 6, *own),
                          attack(nodes, "flood", of_workers, "--count", 2000),
                          attack(nodes, "hold", of_workers, "--count", 100))
    expect_undisturbed(nodes, run)


def a_flood_while_nodes_join(nodes):
    """All that a launch needs from outside happens while others crowd the port, which they know before it is open."""
    port = f"{nodes.nodes[0].address}:7600"
    crowd = [attack(nodes, "flood", [port], "--count", 1 << 40, "--seconds", PATIENCE) for _ in range(2)]
    try:
        run = start_and_run(nodes, ["--port", "7600"])
    finally:
        for each in crowd:
            each.stop()
    expect_undisturbed(nodes, run)


def many_addresses_while_far_nodes_join(nodes):
    """A byte each 30 ms from each of 500 addresses, none of which is ever idle as long as a node 60 ms away is."""
    nodes.nodes[3].has_addresses(STRANGERS)
    port = f"{nodes.nodes[0].address}:7601"
    for each in nodes.nodes[1:3]:
        each.is_far(30)
    crowd = attack(nodes, "dribble", [port], "--count", 500, "--network", STRANGERS, "--seconds", PATIENCE)
    try:
        run = launch(nodes, 2, (), ["--port", "7601"],
                     evaluation(nodes, ["--stages", "4", "--micro-batch", "50"], 1), nodes.nodes[:3])
        run.wait_for("[1-9][0-9]*/1000 samples")
    finally:
        crowd.stop()
        for each in nodes.nodes[1:3]:
            each.is_far(None)
    assert run.result()["delivery"]["lost"] == 0
    expect_nothing_left(nodes)


# --- with a ticket that is none any more -----------------------------------------------------------------------------


def reading_ssh(nodes):
    """Keeps what the launcher says to ssh."""
    script = nodes.folder / "reading-ssh"
    script.write_text(f'#!/bin/sh\nread -r line\numask 077\necho "$line" > {nodes.folder}/ticket.$1\n'
                      f'{{ echo "$line"; exec cat; }} | ssh -F {nodes.ssh_config} "$@"\n')
    script.chmod(0o755)
    return str(script)


def parts_of(ticket):
    text = ticket.read_text().strip().removeprefix("troupe-join-2:")
    content = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    return content[32:64].hex(), struct.unpack(">q", content[72:80])[0]


def expect_refused(nodes, run, ticket):
    """By the real agent, and by one that does not look at the clock."""
    assert run.process.poll() is None, "an agent waits for a driver that is gone\n" + run.text()
    secret, _ = parts_of(ticket)
    agent = nodes.nodes[3].run([AGENT, "--join-file", str(ticket)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    out, err = agent.communicate(timeout=PATIENCE)
    assert agent.returncode not in (0, None) and out == "", (agent.returncode, out)
    attack(nodes, "joins", [driver_of(nodes)], "--secret", secret, "--node", nodes.nodes[1].address,
           ).expect_nothing_gained()
    assert run.process.poll() is None, run.text()
    return err


def a_used_ticket(nodes):
    run = start_and_run(nodes, ssh=reading_ssh(nodes))
    err = expect_refused(nodes, run, nodes.folder / f"ticket.{nodes.nodes[1].address}")
    assert "E0707" in err, err
    lines = expect_undisturbed(nodes, run)
    assert any("redeemed before" in line for line in lines), lines


def an_expired_ticket(nodes):
    """The run is so long that it does not end before on any machine, and is told to end."""
    run = start_and_run(nodes, ["--join-timeout", "15"], reading_ssh(nodes), times=100)
    ticket = nodes.folder / f"ticket.{nodes.nodes[1].address}"
    _, expires = parts_of(ticket)
    wait_until(lambda: time.time() > expires, PATIENCE, "the ticket's end")
    assert "E0707" in expect_refused(nodes, run, ticket)
    so_far = len(run.said)
    wait_until(lambda: any("000 samples" in line for line in run.said[so_far:]), PATIENCE, "more samples")
    for pid in nodes.nodes[0].pids_of(" launch "):
        send(pid, signal.SIGTERM)
    assert run.end() == 130, run.text()
    expect_nothing_left(nodes)


# --- with a node's certificate ---------------------------------------------------------------------------------------


def a_stolen_certificate_opens_no_other_port(nodes):
    """Not those of the driver's joins and edges, nor those of workers."""
    run = start_and_run(nodes)
    stolen = stolen_from(nodes, nodes.nodes[1])
    driver = driver_of(nodes)
    of_workers = [port for node in (nodes.nodes[0], nodes.nodes[2]) for port in listening(node) if port != driver]
    assert of_workers
    shown = ["--credentials", stolen, "--node", nodes.nodes[2].address]
    expect_nothing_gained(attack(nodes, "joins", [driver], "--count", 12, *shown),
                          attack(nodes, "first_words", [driver], "--count", 12, *shown),
                          attack(nodes, "first_words", of_workers, "--count", 6, *shown),
                          attack(nodes, "links", of_workers, "--count", 3, *shown))
    expect_undisturbed(nodes, run)


def a_stolen_certificate_ends_its_own_node_and_no_other(nodes):
    """A link of node 1 takes the place of node 1's: its stages go to the node that is left."""
    run = start_and_run(nodes)
    stolen = stolen_from(nodes, nodes.nodes[1])
    attack(nodes, "links", [driver_of(nodes)], "--count", 300, "--credentials", stolen).expect_nothing_gained(1)
    lines = expect_undisturbed(nodes, run, replayed=None)
    lost = [line for line in lines if "lost" in line and "10.89.0." in line]
    assert lost and all(nodes.nodes[1].address in line for line in lost), lines


def ticket_for(nodes, authority, port):
    """As the driver would write it, for node 2 (runtime/join/join_ticket.hpp)."""
    name, address = nodes.nodes[2].address.encode(), nodes.nodes[3].address.encode()
    content = hashlib.sha256(ssl.PEM_cert_to_DER_cert(authority)).digest() + os.urandom(32)
    content += struct.pack(">qqH", int(time.time()), int(time.time()) + 60, port)
    content += bytes([len(name)]) + name + bytes([1, len(address)]) + address
    content += hashlib.sha256(b"troupe-join-2:" + content).digest()[:4]
    return "troupe-join-2:" + base64.urlsafe_b64encode(content).decode().rstrip("=")


def a_stolen_certificate_is_not_the_drivers(nodes):
    """An agent that is led to another node, by its address say, shows no secret there."""
    run = start_and_run(nodes)
    stolen = stolen_from(nodes, nodes.nodes[1])
    posing = attack(nodes, "pose_as_driver", [f"{nodes.nodes[3].address}:7700"], "--count", 3, "--credentials", stolen)
    ticket = ticket_for(nodes, (stolen / "ca.pem").read_text(), 7700)
    agent = nodes.nodes[2].run([AGENT, "--stdin"], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    agent.stdin.write(ticket + "\n")
    agent.stdin.flush()
    told = posing.told()
    assert told["tried"] == 3 and told["gained"] == 0, told
    _, err = agent.communicate(timeout=PATIENCE)
    assert agent.returncode not in (0, None), err
    expect_undisturbed(nodes, run)


def an_agent_that_finds_no_driver_ends_when_it_is_told(nodes):
    """Whether by a scheduler's signal or with the connection that has started it."""
    own = self_signed(nodes)
    (own / "ca.pem").write_text("")
    ticket = ticket_for(nodes, (own / "cert.pem").read_text(), 7701)
    for end in (lambda agent: agent.send_signal(signal.SIGTERM), lambda agent: agent.stdin.close()):
        posing = attack(nodes, "pose_as_driver", [f"{nodes.nodes[3].address}:7701"], "--credentials", own)
        agent = nodes.nodes[2].run([AGENT, "--stdin"], stdin=subprocess.PIPE, text=True)
        agent.stdin.write(ticket + "\n")
        agent.stdin.flush()
        assert posing.told()["tried"] == 1
        end(agent)
        assert agent.wait(20) != 0
    expect_nothing_left(nodes)


TESTS = [garbage, certificates_of_no_authority_of_the_launch, no_certificate_and_a_random_secret, a_flood,
         half_open_connections, a_slow_loris, the_ports_of_workers, a_flood_while_nodes_join,
         many_addresses_while_far_nodes_join, a_used_ticket,
         an_expired_ticket, a_stolen_certificate_opens_no_other_port,
         a_stolen_certificate_ends_its_own_node_and_no_other, a_stolen_certificate_is_not_the_drivers,
         an_agent_that_finds_no_driver_ends_when_it_is_told]

if __name__ == "__main__":
    sys.exit(main(TESTS, 7, 4))
