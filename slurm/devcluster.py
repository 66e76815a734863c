"""A private SLURM on this machine: real daemons in one folder, listening on loopback only.

Several `slurmd` play the nodes, symbolic links to /dev/null play their GPUs. Keys, sockets, state
and logs live in the folder; nothing of a SLURM elsewhere on the machine is read or written.
"""

import argparse
import fcntl
import json
import os
import pwd
import re
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, fields, replace
from pathlib import Path

from daemons import Daemons, find_processes, find_program, kill
from slurmconf import Settings, write_files

from s2m.console.errors import UserError, run_command, unknown

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "scancel", "scontrol", "sinfo", "squeue")
ACCOUNTING_PROGRAMS = ("mariadb", "mariadbd", "mariadb-install-db", "slurmdbd", "sacct", "sacctmgr")
STOP_ORDER = ("slurmd", "slurmctld", "slurmdbd", "mariadbd", "munged")
USABLE = ("idle", "mixed", "allocated", "completing")

SOCKET_PATH_LIMIT = 107
"""Bytes in the path of a unix socket (sun_path, without its final zero)."""


class DevCluster:
    """A SLURM in a folder, to start, to stop and to break; also a context manager."""

    def __init__(
        self, folder: Path, settings: Settings | None = None, die_with_parent: bool = False
    ) -> None:
        """Take a new or empty folder, or that of an earlier cluster, to go on with its state.

        Without settings those of the earlier cluster hold. With `die_with_parent` the kernel ends
        the daemons when the thread that started them ends, even by SIGKILL.
        """
        self.folder = Path(folder).resolve()
        self._record = self.folder / "cluster.json"
        if settings is None and self._record.exists():
            settings = Settings(**json.loads(self._record.read_text()))
        self.settings = settings or Settings()
        self.user = pwd.getpwuid(os.getuid()).pw_name
        self._daemons = Daemons(self.folder, die_with_parent)

    @classmethod
    def existing(cls, folder: Path) -> "DevCluster":
        """Return the cluster that was started in a folder, by whatever process."""
        cluster = cls(folder)
        if not cluster._record.exists():
            raise UserError(f"no cluster was ever started in {cluster.folder}")
        return cluster

    @property
    def environment(self) -> dict[str, str]:
        """The variables by which SLURM's commands find this cluster."""
        return {"SLURM_CONF": str(self.folder / "slurm.conf")}

    def start(self) -> "DevCluster":
        """Start all daemons and return when every node is idle."""
        self._prepare_folder()
        with self._starting():
            try:
                self._start_munge()
                if self.settings.accounting:
                    self._start_accounting()
                self._start_controller()
                for node in self.settings.node_names:
                    self._start_node(node)
                self._wait_for("the nodes", lambda: set(self.node_states().values()) == {"idle"})
            except BaseException:
                self.stop()
                raise
        return self

    def stop(self) -> None:
        """Cancel all jobs and end all daemons; the folder with state and logs stays."""
        daemons = self.running()
        if "slurmctld" in daemons:
            self.cancel_jobs()
        for kind in STOP_ORDER:
            for name in daemons:
                if name.split(".")[0] == kind:
                    self._daemons.end(name, signal.SIGTERM)
        self._kill_jobs(self.settings.node_names)

    def running(self) -> dict[str, int]:
        """Return the process ids of the live daemons by name, those of nodes as `slurmd.n1`."""
        return self._daemons.running()

    def run(self, *command: str) -> str:
        """Run a command against this cluster and return its stripped output."""
        environment = os.environ | self.environment
        try:
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, timeout=180
            )
        except subprocess.TimeoutExpired as error:
            raise RuntimeError(str(error)) from None
        if done.returncode:
            raise RuntimeError(f"{shlex.join(command)}: {done.stderr.strip()}")
        return done.stdout.strip()

    def node_states(self) -> dict[str, str]:
        """Return SLURM's word for the state of each node, with a `*` if the node is silent."""
        lines = self.run("sinfo", "--noheader", "--Node", "--partition=low", "--format=%N %T")
        return dict(line.split() for line in lines.splitlines())

    def node_down(self, node: str, orphans: bool = False) -> None:
        """Crash a node with all that runs on it; `orphans` go on, unseen by SLURM.

        SLURM notices after some 25 s.
        """
        if f"slurmd.{self._known(node)}" not in self.running():
            raise UserError(f"node {node} is already down")
        self._daemons.end(f"slurmd.{node}", signal.SIGKILL)
        if not orphans:
            self._kill_jobs([node])

    def node_up(self, node: str) -> None:
        """Start the daemon of a node and return when jobs may run there."""
        if f"slurmd.{self._known(node)}" in self.running():
            raise UserError(f"node {node} is already up")
        self._start_node(node)
        self._wait_for(f"node {node}", lambda: self.node_states()[node] in USABLE)

    def restart_controller(self) -> None:
        """Stop the controller in good order and start it again; running jobs go on meanwhile."""
        self._daemons.end("slurmctld", signal.SIGTERM)
        self._start_controller()

    def cancel_jobs(self) -> None:
        """Cancel all jobs and wait up to 60 s until they have gone from the nodes that are up."""
        with suppress(RuntimeError):
            self.run("scancel", "--full", f"--user={self.user}")
        up = [node for node in self.settings.node_names if f"slurmd.{node}" in self.running()]
        deadline = time.monotonic() + 60
        while self._job_processes(up) and time.monotonic() < deadline:
            time.sleep(0.1)

    def __enter__(self) -> "DevCluster":
        """Start the cluster for a block."""
        return self.start()

    def __exit__(self, *_: object) -> None:
        """Stop the cluster."""
        self.stop()

    def _known(self, node: str) -> str:
        if node not in self.settings.node_names:
            raise unknown("node", node, self.settings.node_names)
        return node

    def _prepare_folder(self) -> None:
        folder, last = self.folder, self.settings.node_names[-1]
        if not re.fullmatch(r"[\w./+-]+", str(folder), re.ASCII):
            raise UserError(f"{folder} does not fit in slurm.conf: use letters, digits and ._+-")
        # The longest path of a socket is that of a job's step: node, job and step number.
        excess = len(f"{folder}/spool/{last}/{last}_{2**26}.{2**32}") - SOCKET_PATH_LIMIT
        if excess > 0:
            allowed = len(str(folder)) - excess
            raise UserError(
                f"{folder} is too long a path for unix sockets: {len(str(folder))} characters, "
                f"allowed are {allowed}"
            )
        if absent := missing_programs(self.settings.accounting):
            raise UserError(
                f"SLURM is not installed here (missing: {', '.join(absent)}): "
                "run slurm/install-debian.sh as root"
            )
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(f"cannot make the folder {folder}: {error.strerror}") from None
        if any(folder.iterdir()) and not self._record.exists():
            raise UserError(f"{folder} holds other files: take a new or an empty folder")

    @contextmanager
    def _starting(self) -> Iterator[None]:
        """Write the files, unless another start has been made or is under way."""
        with (self.folder / "lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise UserError(f"a cluster is just being started in {self.folder}") from None
            if self.running():
                raise UserError(f"a cluster already runs in {self.folder}: stop it first")
            shutil.rmtree(self.folder / "run", ignore_errors=True)
            for name in ("log", "run", "spool", "state"):
                (self.folder / name).mkdir(exist_ok=True)
            self._record.write_text(json.dumps(asdict(self.settings)))
            write_files(self.folder, self.settings, self.user)
            yield

    def _start_munge(self) -> None:
        folder = self.folder
        (folder / "munge.sock").unlink(missing_ok=True)
        self._spawn(
            "munged", "--foreground", "--force", "--num-threads=4",
            f"--socket={folder}/munge.sock", f"--key-file={folder}/munge.key",
            f"--seed-file={folder}/munge.seed", f"--pid-file={folder}/run/munged.pid",
            f"--log-file={folder}/log/munged.log",
        )  # fmt: skip
        self._wait_for("munge", (folder / "munge.sock").exists)

    def _start_accounting(self) -> None:
        data, run = self.folder / "mysql", self.folder / "run"
        common = ("--no-defaults", f"--datadir={data}", f"--user={self.user}", f"--tmpdir={run}")
        if not data.exists():
            try:
                self.run(
                    "mariadb-install-db", *common, "--skip-test-db",
                    "--auth-root-authentication-method=normal",
                )  # fmt: skip
            except RuntimeError as error:
                shutil.rmtree(data, ignore_errors=True)
                reason = str(error).splitlines()[-1]
                raise UserError(f"the database could not be made: {reason}") from None
        database = f"--socket={run}/mysql.sock"
        self._spawn(
            "mariadbd", *common, "--skip-networking", database, f"--pid-file={run}/mariadbd.pid",
            "--innodb-buffer-pool-size=64M", "--innodb-log-file-size=16M",
            "--innodb-flush-log-at-trx-commit=0", "--innodb-lock-wait-timeout=900",
            "--performance-schema=OFF",
        )  # fmt: skip
        select = ("mariadb", "--no-defaults", "--user=root", database, "--execute=select 1")
        self._wait_for("the database", lambda: self.run(*select))
        self._spawn("slurmdbd", "-D", MYSQL_UNIX_PORT=f"{run}/mysql.sock")
        self._wait_for("the accounting", lambda: self.run("sacctmgr", "list", "cluster"))
        with suppress(RuntimeError):  # An earlier cluster in this folder has added it.
            self.run("sacctmgr", "--immediate", "add", "cluster", self.settings.name)
        if limit := self.settings.max_submit:
            with suppress(RuntimeError):
                self.run("sacctmgr", "--immediate", "add", "account", "all")
            with suppress(RuntimeError):
                self.run("sacctmgr", "--immediate", "add", "user", self.user, "account=all")
            self.run("sacctmgr", "--immediate", "modify", "user", self.user, "set",
                     f"MaxSubmitJobs={limit}")  # fmt: skip

    def _start_controller(self) -> None:
        self._spawn("slurmctld", "-D")
        self._wait_for("the controller", lambda: self.run("scontrol", "ping"))

    def _start_node(self, node: str) -> None:
        (self.folder / "spool" / node).mkdir(exist_ok=True)
        # The variable marks the step daemons, which outlive this one and are not its children.
        self._spawn("slurmd", "-D", "-N", node, suffix=f".{node}", SLURMD_NODENAME=node)

    def _spawn(self, program: str, *arguments: str, suffix: str = "", **variables: str) -> None:
        environment = os.environ | self.environment | variables
        self._daemons.start(program + suffix, [program, *arguments], environment)

    def _wait_for(self, what: str, condition: Callable[[], object], timeout: float = 180) -> None:
        """Wait until a condition holds; a command that fails means: not yet."""
        deadline = time.monotonic() + timeout
        while True:
            with suppress(RuntimeError):
                if condition():
                    return
            failed = self._daemons.failed()
            if failed or time.monotonic() > deadline:
                why = f"{failed[0]} has ended" if failed else f"waited {timeout:.0f} s"
                raise UserError(f"{what} did not start ({why}): see {self.folder}/log")
            time.sleep(0.1)

    def _kill_jobs(self, nodes: list[str]) -> None:
        """Kill what runs on nodes until nothing is found: a job may fork while it is listed."""
        while found := self._job_processes(nodes):
            kill(found)

    def _job_processes(self, nodes: Iterable[str]) -> set[int]:
        """Find jobs and their step daemons, which are no children of the node's daemon."""
        conf = {f"{name}={value}" for name, value in self.environment.items()}
        places = {f"SLURMD_NODENAME={node}" for node in nodes}
        return find_processes([conf, places]) - set(self.running().values())


def missing_programs(accounting: bool = True) -> list[str]:
    """Return the programs that a cluster needs and this machine lacks."""
    needed = PROGRAMS + (ACCOUNTING_PROGRAMS if accounting else ())
    return [program for program in needed if find_program(program) is None]


def main(words: list[str]) -> int:
    """Run one command on a cluster folder."""
    options = _parse(words)
    if options.command == "start":
        given = {field.name: getattr(options, field.name) for field in fields(Settings)}
        cluster = DevCluster(options.folder)
        # What is not given stays as it was when the cluster was started last.
        chosen = {name: value for name, value in given.items() if value is not None}
        cluster.settings = replace(cluster.settings, **chosen)
        cluster.start()
        print(f"SLURM runs with {cluster.settings.nodes} nodes. To use it in this shell:")
        print(f'  eval "$(python slurm/devcluster.py env {options.folder})"')
        return 0
    cluster = DevCluster.existing(options.folder)
    if options.command == "env":
        for name, value in cluster.environment.items():
            print(f"export {name}={shlex.quote(value)}")
    elif options.command == "status":
        return _print_status(cluster)
    elif options.command == "stop":
        cluster.stop()
    elif not cluster.running():
        raise UserError(f"no cluster runs in {cluster.folder}: start one first")
    elif options.command == "restart-controller":
        cluster.restart_controller()
    elif options.command == "node-down":
        cluster.node_down(options.node, options.orphans)
    else:
        cluster.node_up(options.node)
    return 0


def _print_status(cluster: DevCluster) -> int:
    daemons = cluster.running()
    for name, process in daemons.items():
        print(f"{name:12} process {process}")
    if "slurmctld" not in daemons:
        print("not running")
        return 1
    for node, state in cluster.node_states().items():
        print(f"{node:12} {state}")
    return 0


def _parse(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="A private SLURM on this machine, in one folder.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    helps = {
        "start": "start all daemons and wait until the nodes are idle",
        "stop": "cancel all jobs and end all daemons",
        "env": "print the lines for eval",
        "status": "print daemons and nodes; exit code 1 if the cluster does not run",
        "node-down": "crash a node",
        "node-up": "start the daemon of a crashed node",
        "restart-controller": "stop and start the controller",
    }
    parsers = {name: commands.add_parser(name, help=text) for name, text in helps.items()}
    for entry in parsers.values():
        entry.add_argument("folder", type=Path, metavar="DIR")
    for name in ("node-down", "node-up"):
        parsers[name].add_argument("node", help="n1, n2, ...")
    parsers["node-down"].add_argument("--orphans", action="store_true", help="let its jobs go on")
    start, default = parsers["start"], Settings()
    start.add_argument("--name", help=f"SLURM's name of the cluster ({default.name})")
    start.add_argument("--accounting", action=argparse.BooleanOptionalAction)
    for name in ("nodes", "cpus", "gpus", "grace", "max_array", "max_submit"):
        option = f"--{name.replace('_', '-')}"
        start.add_argument(option, type=int, metavar="N", help=f"({getattr(default, name)})")
    return parser.parse_args(words)


if __name__ == "__main__":
    run_command(main)
