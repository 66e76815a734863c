"""The configuration files of the private SLURM: templates and the settings that fill them."""

import random
import re
import secrets
import socket
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from s2m.console.errors import UserError

SLURM_CONF = """\
ClusterName={name}
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
CredType=cred/munge
# A requeued job waits until its credential has expired: 120 s by default.
AuthInfo=socket={folder}/munge.sock,cred_expire=5
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/run/slurmctld.pid
SlurmdPidFile={folder}/run/slurmd.%n.pid
SlurmctldLogFile={folder}/log/slurmctld.log
SlurmdLogFile={folder}/log/slurmd.%n.log
SlurmctldDebug=verbose
SlurmdDebug=verbose

# No cgroups, no CPU binding, and nodes that may claim more than the machine has.
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
SwitchType=switch/none
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
DefMemPerCPU=100
GresTypes=gpu

# Preempted jobs are told by their own signal (sbatch --signal), then requeued.
JobRequeue=1
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SlurmctldParameters=preempt_send_user_signal
DependencyParameters=kill_invalid_depend

# Quick reactions.
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0,bf_interval=1
KillWait=15
SlurmctldTimeout=10
SlurmdTimeout=10
BatchStartTimeout=10
MessageTimeout=10
InactiveLimit=0
MinJobAge=300
ReturnToService=2

MaxArraySize={max_array}
# From the clock: with ids from 1, files of an earlier cluster would be taken for those of a job.
FirstJobId={first_job}

{accounting}

{nodes}
PartitionName=low Nodes=ALL Default=YES MaxTime=INFINITE PriorityTier=1 PreemptMode=REQUEUE \
GraceTime={grace}
PartitionName=high Nodes=ALL MaxTime=INFINITE PriorityTier=10 PreemptMode=OFF
"""

NODE = (
    "NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs={cpus} Boards=1 "
    "SocketsPerBoard=1 CoresPerSocket={cpus} ThreadsPerCore=1 RealMemory=64000 Gres=gpu:{gpus}"
)

PORTS = range(10_000, 32_000)

NO_ACCOUNTING = "AccountingStorageType=accounting_storage/none"

ACCOUNTING = """\
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={database_port}
AccountingStoragePass={folder}/munge.sock
AccountingStorageTRES=gres/gpu
"""
LIMITS = "AccountingStorageEnforce=limits\n"

SLURMDBD_CONF = """\
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort={database_port}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
CommunicationParameters=NoInAddrAny
SlurmUser={user}
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=root
StorageLoc=slurm_acct_db
LogFile={folder}/log/slurmdbd.log
PidFile={folder}/run/slurmdbd.pid
DebugLevel=info
CommitDelay=0
"""


@dataclass(frozen=True)
class Settings:
    """What the cluster looks like to its users."""

    name: str = "devcluster"
    """SLURM's name of the cluster."""
    accounting: bool = True
    """Whether `sacct` works; costs a MariaDB and a few seconds."""
    nodes: int = 2
    """Number of nodes: n1, n2, ..."""
    cpus: int = 8
    """CPUs that a node claims to have."""
    gpus: int = 2
    """GPUs that a node claims to have."""
    grace: int = 20
    """Seconds between the signal and the end of a preempted job in partition `low`."""
    max_array: int = 1001
    """SLURM's MaxArraySize: one more than the highest index of an array."""
    max_submit: int = 0
    """Jobs that the user may have in the queue (MaxSubmitJobs); 0: no limit."""

    def __post_init__(self) -> None:
        """Refuse what makes no cluster."""
        if not re.fullmatch(r"[a-z][a-z0-9]{0,29}", self.name):
            raise UserError(f"name is {self.name!r}; allowed: a-z and 0-9, a letter first")
        least = {"nodes": 1, "cpus": 1, "gpus": 0, "grace": 0, "max_array": 2, "max_submit": 0}
        for name, minimum in least.items():
            if getattr(self, name) < minimum:
                raise UserError(f"{name} is {getattr(self, name)}; allowed: {minimum} or more")
        if self.max_submit and not self.accounting:
            raise UserError(f"max_submit is {self.max_submit}; limits need the accounting")

    @property
    def node_names(self) -> list[str]:
        """The names of the nodes."""
        return [f"n{index + 1}" for index in range(self.nodes)]


def write_files(folder: Path, settings: Settings, user: str) -> None:
    """Write slurm.conf, gres.conf, slurmdbd.conf, the munge key and the GPUs, all on free ports."""
    _write_secret(folder / "munge.key", secrets.token_bytes(128))
    host = socket.gethostname().split(".")[0]
    controller_port, database_port, *ports = _free_ports(2 + settings.nodes)
    words = {"folder": folder, "user": user, "database_port": database_port}
    nodes = [
        NODE.format(name=name, host=host, port=port, cpus=settings.cpus, gpus=settings.gpus)
        for name, port in zip(settings.node_names, ports, strict=True)
    ]
    slurm_conf = SLURM_CONF.format(
        **words,
        host=host,
        controller_port=controller_port,
        name=settings.name,
        max_array=settings.max_array,
        grace=settings.grace,
        first_job=1000 + int(time.time()) % 60_000_000,
        accounting=_accounting(settings).format(**words),
        nodes="\n".join(nodes),
    )
    (folder / "slurm.conf").write_text(slurm_conf)
    (folder / "gres.conf").write_text(_make_gpus(folder / "gpus", settings))
    if settings.accounting:
        _write_secret(folder / "slurmdbd.conf", SLURMDBD_CONF.format(**words).encode())


def _accounting(settings: Settings) -> str:
    if not settings.accounting:
        return NO_ACCOUNTING
    return ACCOUNTING + (LIMITS if settings.max_submit else "")


def _make_gpus(folder: Path, settings: Settings) -> str:
    """Make files that pass for GPUs, and return the gres.conf that names them."""
    folder.mkdir(exist_ok=True)
    lines = ["AutoDetect=off"]
    for name in settings.node_names:
        for index in range(settings.gpus):
            gpu = folder / f"{name}_{index}"
            gpu.unlink(missing_ok=True)
            # Anything but a device is refused, and CUDA_VISIBLE_DEVICES would stay empty.
            gpu.symlink_to("/dev/null")
            lines.append(f"NodeName={name} Name=gpu File={gpu}")
    return "\n".join(lines) + "\n"


def _write_secret(path: Path, content: bytes) -> None:
    path.touch(mode=0o600)
    path.chmod(0o600)
    path.write_bytes(content)


def _free_ports(number: int) -> list[int]:
    """Find ports below those that the kernel gives to others while the daemons still start."""
    ports: list[int] = []
    for port in random.SystemRandom().sample(PORTS, len(PORTS)):
        with socket.socket() as entry, suppress(OSError):
            entry.bind(("127.0.0.1", port))
            ports.append(port)
        if len(ports) == number:
            return ports
    raise UserError(f"no free ports from {PORTS[0]} to {PORTS[-1]}")
