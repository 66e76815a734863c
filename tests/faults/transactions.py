"""A launch on SLURM that dies at any of its writes and sbatches, and is then given again."""

import csv
import io
import os
import re
import signal
import subprocess
from collections import Counter
from collections.abc import Callable
from contextlib import redirect_stdout, suppress
from pathlib import Path
from typing import Any

from analysis.build import main as make_tables
from s2m.cluster.followup import find_steps
from s2m.cluster.manifest import FOLDER
from s2m.launch import main
from s2m.run.events import Events
from s2m.run.folder import find_runs
from tests.faults.cluster import SLURM, finished
from tests.words import latest

SHORT = [
    "budget.iterations=4", "budget.checkpoint_every=2", "budget.num_envs=4", "cluster.gpus=0",
    "cluster.pack=2", "cluster.poll=0.5", "evaluate.episodes=1",
    "evaluate.selection_episodes=1", "seed=1,2",
]  # fmt: skip
SWEEP = """# Two runs, their tables, and two commands after them.
experiment: {name}
cells:
  - encoder=pfds
then:
  - {table} {{root}}
  - -c "import sys; open(sys.argv[1], 'a').write('second ')" {{root}}/order
  - -c "import sys; open(sys.argv[1], 'a').write('third ')" {{root}}/order
"""
CHANGES = ("open", "mkdir", "write", "replace", "rename", "unlink", "rmdir")
TABLE = Path(__file__).with_name("table.py")
FEW = 40
"""Of the calls that copy the code every so many-th is a place to die."""


class Dying:
    """Counts the calls of a launch that change something, and dies at one of them."""

    def __init__(self, call: int = 0) -> None:
        """Die at a call, the first being 1; 0: never."""
        self.call, self.calls, self.copies = call, [], 0

    def _reach(self, what: str) -> bool:
        """Count a call; True at the one to die at. Only some of those that copy the code count."""
        if f"{FOLDER}/code" in what:
            self.copies += 1
            if self.copies % FEW:
                return False
        self.calls.append(what)
        return len(self.calls) == self.call

    def _dying(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(*given: Any, **named: Any) -> Any:
            if name == "open" and not given[1] & (os.O_CREAT | os.O_WRONLY | os.O_RDWR):
                return function(*given, **named)
            if self._reach(f"{name} {given[0]}"):
                if name == "write":
                    function(given[0], given[1][: len(given[1]) // 2])
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*given, **named)

        return wrapper

    def _sbatch(self, run: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(command: Any, **named: Any) -> Any:
            if command[0] != "sbatch":
                return run(command, **named)
            if self._reach("before sbatch"):
                os.kill(os.getpid(), signal.SIGKILL)
            if self._reach("inside sbatch"):
                # It goes on without its launcher, and holds the lock until it has ended.
                subprocess.Popen(["sh", "-c", 'sleep 1; exec "$@"', "sh", *command],
                                 stdout=subprocess.DEVNULL, pass_fds=named["pass_fds"])  # fmt: skip
                os.kill(os.getpid(), signal.SIGKILL)
            done = run(command, **named)
            if self._reach("after sbatch"):
                os.kill(os.getpid(), signal.SIGKILL)
            return done

        return wrapper

    def launch(self, words: list[str]) -> None:
        """Launch in this process, which must be one of its own."""
        for name in CHANGES:
            setattr(os, name, self._dying(name, getattr(os, name)))
        subprocess.run = self._sbatch(subprocess.run)
        main(words)


def words(place: Path, name: str = "tx") -> list[str]:
    """Return the words of a sweep with a chain of three commands, in a folder of its own."""
    own = place / "own" / "sweeps"
    own.mkdir(parents=True, exist_ok=True)
    (own / "tx.yaml").write_text(SWEEP.format(name=name, table=TABLE))
    settings = latest(*SLURM, *SHORT, f"root={place}/runs", "+sweep=tx")
    return ["-m", "--config-dir", str(own.parent), *settings]


def launch_dying(place: Path, call: int) -> str:
    """Launch a sweep in a forked process that dies at a call; return where, or nothing."""
    given, told = words(place), place / "died"
    child = os.fork()
    if child == 0:
        dying, code = Dying(call), 1
        reach = dying._reach

        def noting(what: str) -> bool:
            found = reach(what)
            if found:  # by a call that is not counted itself
                told.write_text(what)
            return found

        dying._reach = noting
        try:
            with redirect_stdout(io.StringIO()), suppress(SystemExit):
                dying.launch(given)
                code = 0
            (place / "calls").write_text("\n".join(dying.calls))
        finally:
            os._exit(code)
    ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert ended in (0, -signal.SIGKILL), f"{ended} at call {call}"
    return told.read_text() if told.exists() else ""


def call_of(place: Path, what: str, which: int) -> int:
    """Return the number of a call, the first being 1, in a launch that nothing disturbs."""
    launch_dying(place, 0)
    calls = (place / "calls").read_text().splitlines()
    return [number for number, found in enumerate(calls, 1) if found == what][which - 1]


def launch_again(place: Path) -> None:
    """Give the same command again."""
    with redirect_stdout(io.StringIO()):
        main(words(place))


def finish_launch(place: Path) -> list[str]:
    """Give the same command again, and stay until all has ended; return what is wrong then."""
    said = io.StringIO()
    with redirect_stdout(said):
        main([*words(place), "--wait"])
        said.truncate(0)
        main(words(place))
    return [] if "nothing to submit" in said.getvalue() else [f"it says {said.getvalue()!r}"]


def faults_in(place: Path) -> list[str]:
    """Return what was not done exactly once, or in the wrong order."""
    root, wrong = place / "runs", []
    for run in find_runs(root):
        kinds = Counter(event["kind"] for event in Events(run).read())
        if kinds["attempt"] != 1 or not finished(run):
            wrong.append(f"{run.path.name}: {kinds['attempt']} attempts")
    steps = find_steps(root)
    if len(steps) != 3 or not all(step.record.exists() for step in steps):
        wrong.append(f"{len(steps)} commands")
    begun = re.findall(r"^\+ (\S+)", "".join(_logs(root)), re.M)
    if sorted(begun) != ["-c", "-c", str(TABLE)]:
        wrong.append(f"commands were begun: {begun}")
    if not (root / "order").exists() or (root / "order").read_text() != "second third ":
        wrong.append("the order of the commands")
    return wrong


def _logs(root: Path) -> list[str]:
    return [path.read_text() for path in root.glob(f"{FOLDER}/*/*_log.out")]


def tables_of(place: Path) -> dict[str, bytes]:
    """Return the table of the chain and all others, without seconds and names of folders."""
    root = place / "runs"
    with redirect_stdout(io.StringIO()):
        make_tables(["--runs", str(root), "--out", str(place / "tables")])
    found = {"table.csv": (root / "table.csv").read_bytes()}
    for path in sorted((place / "tables").glob("*.csv")):
        if path.stem != "costs":
            head, *rows = csv.reader(path.read_text().replace(str(place), "").splitlines() or [""])
            kept = [i for i, name in enumerate(head) if not name.startswith("seconds")]
            found[path.name] = str([[row[i] for i in kept] for row in [head, *rows]]).encode()
    return found
