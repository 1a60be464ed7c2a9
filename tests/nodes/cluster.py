"""Nodes made of network namespaces, each with a real sshd: hosts of a launch on one machine.

Needs root, ip (iproute2), ssh and sshd. A cluster leaves nothing behind: namespaces, processes and files go with it.
"""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time


def lacking():
    """What keeps a cluster from being made here; None if nothing does."""
    if os.geteuid() != 0:
        return "root is needed for network namespaces"
    for program in ("ip", "ssh", "ssh-keygen", "sshd"):
        if find(program) is None:
            return f"there is no {program}: scripts/setup.sh --nodes installs it"
    made = subprocess.run(["unshare", "--net", "true"], capture_output=True)
    return None if made.returncode == 0 else "this machine permits no network namespaces"


def shared_files():
    """Where all nodes of this machine have their files: what programs of Troupe may leave there."""
    return {str(each) for folder in ("/tmp", "/dev/shm", "/run") for each in pathlib.Path(folder).glob("*troupe*")}


def find(program):
    return shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")


def wait_until(seen, seconds, what, pause=0.01):
    """The first value of seen() that is true; an AssertionError if there is none in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = seen()
        if found:
            return found
        time.sleep(pause)
    raise AssertionError(f"{what}: not within {seconds} s")


class node:
    def __init__(self, cluster, number):
        self.cluster = cluster
        self.number = number
        self.name = f"w{number}"
        self.address = f"10.89.0.{number + 1}"
        self.space = f"{cluster.name}-{number}"
        self.sshd = None
        self.line = None

    def run(self, command, **how):
        return subprocess.Popen(["ip", "netns", "exec", self.space, *command], **how)

    def start_sshd(self):
        config = self.cluster.folder / f"sshd-{self.address}"
        config.write_text(
            f"ListenAddress {self.address}\nHostKey {self.cluster.folder}/host_key\nPidFile none\n"
            f"AuthorizedKeysFile {self.cluster.folder}/user_key.pub\nStrictModes no\nUsePAM no\n"
            "PasswordAuthentication no\nMaxStartups 100\n")
        self.sshd = self.run([find("sshd"), "-D", "-e", "-f", str(config)], stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)

    def listens(self):
        return f"{self.address}:22" in self.listeners()

    def listeners(self):
        """Local addresses, TCP."""
        seen = subprocess.run(["ip", "netns", "exec", self.space, "ss", "-ltnH"], capture_output=True, text=True).stdout
        return {line.split()[3] for line in seen.splitlines()}

    def loses_what_it_sends_to(self, other, begins=True):
        """Until it ends: the connections between the two are half open."""
        subprocess.run(["ip", "-n", self.space, "route", "add" if begins else "del", "blackhole", f"{other.address}/32"], check=True)

    def slow_down(self, rate):
        """What it sends goes so fast at most; None: as before."""
        how = ["replace", "dev", "eth0", "root", "tbf", "rate", rate, "burst", "16kb", "latency", "200ms"] if rate else ["del", "dev", "eth0", "root"]
        subprocess.run(["ip", "netns", "exec", self.space, find("tc"), "qdisc", *how], check=True)

    def is_far(self, milliseconds):
        """What it sends and gets takes so long; None: as before."""
        ip = lambda *words: subprocess.run(["ip", "-n", self.cluster.hub, "link", *words], check=True)
        port, line = f"port{self.number}", f"line{self.number}"
        if self.line is not None:
            self.line.kill()
            self.line.wait(10)
            self.line = None
            ip("del", line)
            ip("set", port, "master", "switch")
        if milliseconds:
            ip("set", port, "nomaster")
            ip("add", line, "type", "veth", "peer", "name", f"{line}-end")
            ip("set", f"{line}-end", "master", "switch", "up")
            ip("set", line, "up")
            script = pathlib.Path(__file__).resolve().parent / "delay.py"
            self.line = subprocess.Popen(["ip", "netns", "exec", self.cluster.hub, sys.executable, str(script), port,
                                          line, str(milliseconds)], stdin=subprocess.DEVNULL)

    def has_addresses(self, network):
        """All addresses of this network are its own, and the other nodes know the way."""
        subprocess.run(["ip", "-n", self.space, "route", "replace", "local", network, "dev", "lo"], check=True)
        for each in self.cluster.nodes:
            if each is not self:
                subprocess.run(["ip", "-n", each.space, "route", "replace", network, "dev", "eth0"], check=True)

    def processes(self):
        """(pid, command line) of all that live here."""
        pids = subprocess.run(["ip", "netns", "pids", self.space], capture_output=True, text=True).stdout.split()
        found = []
        for pid in pids:
            try:
                line = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
                state = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
            except OSError:
                continue
            if state != "Z":
                found.append((int(pid), line))
        return found

    def pids_of(self, part):
        return [pid for pid, line in self.processes() if part in line and "sshd" not in line]

    def agents(self):
        return [pid for pid, line in self.processes() if line.split(" ")[0].endswith("troupe-agent")]

    def workers(self):
        agents = set(self.agents())
        return [pid for pid, _ in self.processes() if parent_of(pid) in agents and name_of(pid) != "fork server"]

    def forget(self):
        """What is left on the machine, after the node's end."""

    def link(self, state):
        subprocess.run(["ip", "-n", self.space, "link", "set", "eth0", state], check=True)

    def signal_all(self, number):
        for pid, _ in self.processes():
            send(pid, number)


def parent_of(pid):
    try:
        return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
    except OSError:
        return None


def name_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return None


def send(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


class named_node(node):
    """A node with a host name of its own, by which the others find it."""

    def __init__(self, cluster, number):
        super().__init__(cluster, number)
        # ip-netns(8) lays it over /etc
        self.etc = pathlib.Path("/etc/netns") / self.space

    def run(self, command, **how):
        self.etc.mkdir(parents=True, exist_ok=True)
        hosts = "".join(f"{each.address} {each.name}\n" for each in self.cluster.nodes)
        (self.etc / "hosts").write_text("127.0.0.1 localhost\n" + hosts)
        return super().run(["unshare", "--uts", "sh", "-c", 'hostname "$0" && exec "$@"', self.name, *command], **how)

    def forget(self):
        shutil.rmtree(self.etc, ignore_errors=True)


class cluster:
    """So many nodes on one switch; the first one is where launches start."""

    def __init__(self, count, kind=node):
        self.name = f"troupe{os.getpid()}"
        self.hub = f"{self.name}-hub"
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="troupe-nodes-"))
        # what a node's daemons have in their command lines
        self.daemons = ["sshd"]
        self.daemon_ports = {"22"}
        self.nodes = [kind(self, number) for number in range(count)]

    def __enter__(self):
        os.makedirs("/run/sshd", exist_ok=True)
        for key in ("host_key", "user_key"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.folder / key)], check=True)
        self.ssh_config = self.folder / "ssh_config"
        self.ssh_config.write_text(
            f"IdentityFile {self.folder}/user_key\nIdentitiesOnly yes\nStrictHostKeyChecking no\n"
            "UserKnownHostsFile /dev/null\nLogLevel ERROR\nConnectTimeout 5\n")
        ip = lambda *words: subprocess.run(["ip", *words], check=True)
        hub = self.hub
        ip("netns", "add", hub)
        ip("-n", hub, "link", "add", "switch", "type", "bridge")
        ip("-n", hub, "link", "set", "switch", "up")
        for number, each in enumerate(self.nodes):
            ip("netns", "add", each.space)
            ip("-n", each.space, "link", "set", "lo", "up")
            ip("-n", hub, "link", "add", f"port{number}", "type", "veth", "peer", "name", "eth0", "netns", each.space)
            ip("-n", hub, "link", "set", f"port{number}", "master", "switch", "up")
            ip("-n", each.space, "addr", "add", f"{each.address}/24", "dev", "eth0")
            ip("-n", each.space, "link", "set", "eth0", "up")
            each.start_sshd()
        for each in self.nodes:
            wait_until(each.listens, 20, f"sshd of {each.address}")
        self.files_before = shared_files()
        return self

    def __exit__(self, *_):
        for each in self.nodes:
            each.is_far(None)
            each.signal_all(signal.SIGCONT)
            each.signal_all(signal.SIGKILL)
            if each.sshd is not None:
                each.sshd.wait(10)
        for space in [each.space for each in self.nodes] + [self.hub]:
            subprocess.run(["ip", "netns", "del", space], check=False)
        for each in self.nodes:
            each.forget()
        shutil.rmtree(self.folder, ignore_errors=True)

    def hostfile(self, slots, nodes=None):
        path = self.folder / "hosts"
        path.write_text("".join(f"{each.address} slots={slots}\n" for each in nodes or self.nodes))
        return str(path)

    def left_over(self):
        """All processes but the daemons."""
        found = [one for each in self.nodes for one in each.processes()]
        return [(pid, line) for pid, line in found if not any(part in line for part in self.daemons)]

    def left_behind(self):
        """Files that launches have made for themselves, and listeners but those of daemons."""
        listeners = [f"{each.name}: {one}" for each in self.nodes for one in each.listeners()
                     if one.rsplit(":", 1)[1] not in self.daemon_ports]
        return sorted(shared_files() - self.files_before) + listeners
