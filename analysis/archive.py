"""Keep the results of finished and failed runs in little space.

python analysis/archive.py RUNS OUT [--policies SEED | all] copies everything that tables, figures
and the report read, and the policies of one seed or of all (and of students and their teachers)
without what only a resumed training needs. make_tables.py makes the same tables from OUT as from
RUNS, once no run of RUNS has anything left to do.
"""

import argparse
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from s2m.console.errors import UserError, run_command
from s2m.run.folder import FILES, RunFolder, find_runs
from s2m.run.journal import Journal
from s2m.run.kind import STUDENT
from s2m.run.metrics import write_table
from s2m.run.status import FAILED, FINISHED, status_of

if TYPE_CHECKING:
    from s2m.run.checkpoint import State


def archive(runs: Path, out: Path, seed: int | None) -> tuple[list[Path], list[Path]]:
    """Copy the runs below a folder that have ended; return what is there now and what has not.

    The policies of one seed are kept, or of all of them without one.
    """
    runs, out = runs.resolve(), out.resolve()
    if out.is_relative_to(runs) or runs.is_relative_to(out):
        raise UserError(f"{out}: the archive must be outside of the runs in {runs}")
    found = list(find_runs(runs))
    if not found:
        raise UserError(f"{runs} is not a run folder and holds none")
    taught = {f.config()["taught_by"]["signature"] for f in found if f.kind is STUDENT}
    kept, waiting = [], []
    for folder in found:
        place = out / folder.path.parent.name / folder.path.name
        stage = status_of(folder)
        if stage not in (FINISHED, FAILED):
            waiting.append(folder.path)
            continue
        who = folder.identity
        chosen = folder.kind is STUDENT or seed in (None, who.seed) or who.signature in taught
        _copy(folder, place, chosen and stage == FINISHED)
        kept.append(place)
    return kept, waiting


def _copy(folder: RunFolder, place: Path, acts: bool) -> None:
    """Write the archive of one run afresh, then replace an older one with it."""
    from s2m.run import checkpoint  # slow to import: torch comes with it

    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent, prefix=".new-") as name:
        new = RunFolder(Path(name) / place.name)
        new.path.mkdir()
        for name in FILES:
            if folder.inside(name).exists():
                shutil.copyfile(folder.path / name, new.path / name)
        write_table(new.metrics, Journal(folder).table())
        found = checkpoint.load_latest(folder) if acts else None
        if found is not None:
            checkpoint.save(new, found.iteration, _policy(found.state), "final")
        if place.exists():
            shutil.rmtree(place)
        new.path.rename(place)


def _policy(state: "State") -> "State":
    """Return what acts: the network of a student, or the actor of a teacher."""
    if "student" in state:
        return {"student": state["student"]}
    return {"learner": {"actor_state_dict": state["learner"]["actor_state_dict"]}}


def _seed(word: str) -> int | None:
    if word != "all" and not word.isdecimal():
        raise argparse.ArgumentTypeError(f"{word!r}: allowed are a seed and all")
    return None if word == "all" else int(word)


def main(words: list[str]) -> None:
    """Archive and say what was done."""
    parser = argparse.ArgumentParser(
        prog="analysis/archive.py", description="Keep the results of runs in little space."
    )
    parser.add_argument("runs", type=Path, help="folder of runs")
    parser.add_argument("out", type=Path, help="folder of the archive")
    parser.add_argument(
        "--policies", type=_seed, default=40, metavar="SEED",
        help="seed whose policies stay (40), or all",
    )  # fmt: skip
    options = parser.parse_args(words)
    kept, waiting = archive(options.runs, options.out, options.policies)
    size = sum(file.stat().st_size for file in options.out.rglob("*") if file.is_file())
    print(f"{options.out}: {len(kept)} runs, {size / 1e6:.1f} MB")
    for path in waiting:
        print(f"has not ended, left out: {path}")


if __name__ == "__main__":
    run_command(main)
