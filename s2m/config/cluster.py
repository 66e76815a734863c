"""Where runs are executed, and with what; it imports nothing heavy."""

from dataclasses import asdict, dataclass, replace
from typing import Any

from s2m.config.fields import setting
from s2m.console.errors import UserError

ALL, NONE = "auto", "none"
UUIDS = ("GPU-", "MIG-")
"""How the name of a card begins that is no number."""


@dataclass
class LocalCfg:
    """Runs on the cores and GPUs of this machine."""

    kind: str = setting("local", "where runs are executed", choices=["local"])
    workers: int = setting(
        0,
        "most runs at a time; 0: one per core, or what the GPUs take of runs that need one",
        low=0,
    )
    gpus: Any = setting(
        ALL,
        "GPUs to assign to runs that need one (sim.device=cuda:0): auto for all, a number, a list "
        "as [0,2], or none, which lets all runs see all cards",
    )
    runs_per_gpu: int = setting(1, "runs that share a GPU", low=1)

    def check(self) -> None:
        """Refuse what names no GPUs, or one twice."""
        named = self.named()
        if named is not None and len(set(named)) < len(named):
            raise UserError(
                f"cluster.gpus = {self.gpus}: name every GPU once; cluster.runs_per_gpu=2 lets two "
                "runs share one"
            )

    def named(self) -> list[str] | None:
        """Return the GPUs that are to be handed out; None if that is all there are."""
        if self.gpus in (ALL, NONE):
            return [] if self.gpus == NONE else None
        cards = self.gpus if isinstance(self.gpus, list) else [self.gpus]
        for card in cards:
            number = isinstance(card, int) and not isinstance(card, bool) and card >= 0
            if not number and not (isinstance(card, str) and card.startswith(UUIDS)):
                raise UserError(
                    f"cluster.gpus = {self.gpus}: allowed are {ALL}, {NONE}, the number of a GPU "
                    "as nvidia-smi numbers them, or a list, as in cluster.gpus=[0,2]"
                )
        return [str(card) for card in cards]


@dataclass
class ThenCfg:
    """What a script after a sweep gets instead of a run's resources; modules get those of a run."""

    partition: str = setting("", "partition; empty: that of the runs")
    account: str = setting("", "account; empty: that of the runs")
    qos: str = setting("", "quality of service; empty: that of the runs")
    constraint: str = setting("", "features of the node; empty: those of the runs")
    gpus: int = setting(0, "GPUs", low=0)
    cpus: int = setting(0, "CPU cores; 0: as many as the runs have", low=0)
    memory: float = setting(0.0, "memory, GB; 0: as much as the runs have", low=0)
    minutes: int = setting(0, "time limit; 0: that of the runs", low=0, high=30 * 24 * 60)


@dataclass
class SlurmCfg:
    """Runs as jobs of a SLURM cluster; the resources are those of one job, which has one node."""

    kind: str = setting("slurm", "where runs are executed", choices=["slurm"])
    clusters: str = setting(
        "", "cluster of a site with several (sbatch --clusters); empty: that of this machine"
    )
    partition: str = setting("", "partition, or several as in 'a,b'; empty: the cluster's default")
    account: str = setting("", "account to charge; empty: the user's default")
    qos: str = setting("", "quality of service; empty: the default")
    constraint: str = setting("", "features that the node must have; empty: any")
    gpus: int = setting(1, "GPUs", low=0)
    gpu_type: str = setting("", "kind of GPU, as in gres=gpu:KIND:1; empty: any")
    cpus: int = setting(4, "CPU cores", low=1)
    memory: float = setting(16.0, "memory, GB; 0: what the site gives", low=0)
    memory_per: str = setting("job", "what that memory is for", choices=["job", "cpu", "gpu"])
    minutes: int = setting(
        720,
        "time limit in whole minutes, 1440 for 24 hours; what is not finished by then is requeued",
        low=1, high=30 * 24 * 60,
    )  # fmt: skip
    signal_seconds: int = setting(
        120, "warning before the time limit; must be enough for an iteration", low=10
    )
    pack: int = setting(1, "runs that share a job and its GPU", low=1)
    threads: int = setting(1, "threads of each run's numerical libraries", low=1)
    max_parallel: int = setting(0, "jobs of a sweep that run at a time; 0: no limit", low=0)
    requeue: bool = setting(True, "whether the site lets jobs be requeued")
    max_requeues: int = setting(200, "times that a job may be requeued before it fails", low=0)
    chain: int = setting(
        0,
        "jobs submitted ahead that resume one after the other, where requeue=false",
        low=0,
        high=99,
    )
    patience: float = setting(
        60.0, "how long to retry while sbatch does not answer or accept, s", low=0
    )
    poll: float = setting(30.0, "how often --wait polls the queue, s", above=0)
    python: str = setting("", "command of the job's interpreter; empty: the one in use here")
    setup: list[str] = setting([], "shell lines before it (module load ...)")
    sbatch: list[str] = setting(
        [], """further options of sbatch, as in 'cluster.sbatch=["--mail-type=FAIL"]'"""
    )
    srun: list[str] = setting([], "further arguments of srun")
    then: ThenCfg = setting(ThenCfg(), "resources of the scripts after a sweep")

    def check(self) -> None:
        """Refuse settings that contradict each other."""
        if self.chain and self.requeue:
            raise UserError(
                f"cluster.chain = {self.chain}: allowed with cluster.requeue=false only; jobs that "
                "may be requeued need no others ahead"
            )
        if self.memory_per == "gpu" and not self.gpus:
            raise UserError(
                f"cluster.memory_per = gpu: allowed with a GPU; cluster.gpus = {self.gpus}"
            )

    def for_scripts(self) -> "SlurmCfg":
        """Return the settings of a job that only reads runs."""
        own = {name: value for name, value in asdict(self.then).items() if value}
        if self.memory_per == "gpu" and "memory" not in own:
            own |= {"memory": 0.0}
        whole = {"memory_per": "job"} if "memory" in own else {}
        # A single job resumes no other one.
        return replace(self, **{"gpus": 0, **own, **whole})


CLUSTERS = {"local": LocalCfg, "slurm": SlurmCfg}
"""The settings of each place where runs are executed."""
