"""Where runs are executed, and with what; it imports nothing heavy."""

from dataclasses import dataclass

from s2m.config.fields import setting


@dataclass
class LocalCfg:
    """Runs on the cores of this machine."""

    kind: str = setting("local", "where runs are executed", choices=["local"])
    workers: int = setting(0, "runs at a time; 0: one per core", low=0)


@dataclass
class SlurmCfg:
    """Runs as jobs of a SLURM cluster; the resources are those of one job, which has one node."""

    kind: str = setting("slurm", "where runs are executed", choices=["slurm"])
    partition: str = setting("", "partition; empty: the cluster's default")
    account: str = setting("", "account that pays; empty: the user's default")
    qos: str = setting("", "quality of service; empty: the default")
    constraint: str = setting("", "features that the node must have; empty: any")
    gpus: int = setting(1, "GPUs", low=0)
    gpu_type: str = setting("", "kind of GPU, as in gres=gpu:KIND:1; empty: any")
    cpus: int = setting(4, "CPU cores", low=1)
    memory: float = setting(16.0, "memory, GB", above=0)
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
    max_requeues: int = setting(200, "times that a job may be requeued before it fails", low=0)
    patience: float = setting(60.0, "seconds to go on trying when sbatch is refused", low=0)
    python: str = setting("", "command of the job's interpreter; empty: the one in use here")
    setup: list[str] = setting([], "shell lines before it (module load ...)")
    sbatch: list[str] = setting(
        [], """further options of sbatch, as in 'cluster.sbatch=["--mail-type=FAIL"]'"""
    )
    srun: list[str] = setting([], "further arguments of srun")


CLUSTERS = {"local": LocalCfg, "slurm": SlurmCfg}
"""The settings of each place where runs are executed."""
