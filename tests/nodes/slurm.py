"""Slurm on the nodes of a cluster: slurmctld on the first one, a slurmd on each, and one munged for all."""
import os
import subprocess

from cluster import find, wait_until

PROGRAMS = ("munged", "slurmctld", "slurmd", "srun", "sbatch", "salloc", "scancel", "scontrol", "sinfo", "squeue")
DAEMONS = ("slurmctld", "slurmd")
DAEMON_PORTS = {"6817", "6818"}


def lacking_slurm():
    for program in PROGRAMS:
        if find(program) is None:
            return f"there is no {program}: the packages slurmctld, slurmd, slurm-client and munge have them"
    return None


class slurm:
    """Its nodes have the names and `slots` processors each, whatever the machine has."""

    def __init__(self, nodes, slots):
        self.nodes = nodes
        self.folder = nodes.folder / "slurm"
        self.conf = self.folder / "slurm.conf"
        self.slots = slots
        self.daemons = []

    def __enter__(self):
        self.folder.mkdir()
        self.conf.write_text(self.text())
        # the one that asks for no file system of cgroups, which namespaces made by ip-netns(8) do not have
        (self.folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
        for each in self.nodes.nodes:
            (self.folder / f"spool-{each.name}").mkdir()
        self.env = {**os.environ, "SLURM_CONF": str(self.conf)}
        (self.folder / "key").write_bytes(os.urandom(128))
        (self.folder / "key").chmod(0o400)
        self.nodes.daemons += DAEMONS
        self.nodes.daemon_ports |= DAEMON_PORTS
        try:
            self.start_daemons()
        except BaseException:
            self.__exit__()
            raise
        return self

    def text(self):
        first = self.nodes.nodes[0]
        lines = [f"SlurmctldHost={first.name}({first.address})", "ClusterName=troupe", "SlurmUser=root",
                 "SlurmdUser=root", "AuthType=auth/munge", f"AuthInfo=socket={self.folder}/munge.socket",
                 "CredType=cred/munge",
                 f"StateSaveLocation={self.folder}/state", f"SlurmdSpoolDir={self.folder}/spool-%n",
                 f"SlurmctldPidFile={self.folder}/slurmctld.pid", f"SlurmdPidFile={self.folder}/slurmd-%n.pid",
                 f"SlurmctldLogFile={self.folder}/slurmctld.log", f"SlurmdLogFile={self.folder}/slurmd-%n.log",
                 "ProctrackType=proctrack/linuxproc", "TaskPlugin=task/none", "SwitchType=switch/none",
                 "MpiDefault=none",
                 "JobAcctGatherType=jobacct_gather/none", "AccountingStorageType=accounting_storage/none",
                 "SelectType=select/cons_tres", "SelectTypeParameters=CR_CPU", "SlurmdParameters=config_overrides",
                 "ReturnToService=2", "KillWait=10", "SchedulerParameters=sched_min_interval=0"]
        lines += [f"NodeName={each.name} NodeAddr={each.address} CPUs={self.slots} State=UNKNOWN"
                  for each in self.nodes.nodes]
        lines.append("PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE OverSubscribe=NO State=UP")
        return "\n".join(lines) + "\n"

    def start_daemons(self):
        silent = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL,
                  "start_new_session": True}
        munge = [find("munged"), "--foreground", "--force"]
        munge += [f"--{name}={self.folder}/{file}" for name, file in
                  (("socket", "munge.socket"), ("key-file", "key"), ("pid-file", "munged.pid"),
                   ("seed-file", "munged.seed"), ("log-file", "munged.log"))]
        self.daemons.append(subprocess.Popen(munge, **silent))
        wait_until((self.folder / "munge.socket").exists, 30, "munged")
        self.daemons.append(self.nodes.nodes[0].run([find("slurmctld"), "-D", "-i"], env=self.env, **silent))
        for each in self.nodes.nodes:
            self.daemons.append(each.run([find("slurmd"), "-D"], env=self.env, **silent))
        wait_until(self.is_idle, 25, f"slurmd of all nodes (logs in {self.folder})")

    def say(self, *words):
        return self.nodes.nodes[0].run(list(words), env=self.env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                       text=True).communicate(timeout=60)[0]

    def is_idle(self):
        return self.say("sinfo", "-hN", "-o", "%t").split() == ["idle"] * len(self.nodes.nodes)

    def jobs(self):
        return self.say("squeue", "-h", "-o", "%i").split()

    def __exit__(self, *_):
        for each in reversed(self.daemons):
            each.terminate()
        for each in self.daemons:
            try:
                each.wait(20)
            except subprocess.TimeoutExpired:
                each.kill()
