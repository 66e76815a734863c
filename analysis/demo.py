"""The whole chain in small, and a page about it: python analysis/demo.py [--out demo].

First comes what was archived: the table of the study and a film of its teacher beside its student.
Then eight runs of seconds each are trained, tabulated and distilled, as a check of the machinery.
Without a GL library films are left out, and everything else is made.
"""

import argparse
import html
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from s2m.console.errors import run_command
from s2m.run.folder import find_runs
from s2m.run.status import FINISHED, status_of

ROOT = Path(__file__).resolve().parents[1]
STUDY = ROOT / "results" / "desktop"
TEACHER, STUDENT = (
    STUDY / "encoders" / name for name in ("pfds-s40-01e39876", "tactset-s40-7e75a520")
)
SEEN, FELT = "PFDS sees the balls", "TactSet feels them"
NEXT = {
    "python -m s2m.launch encoder=pfds": "trains one run with a live panel: some minutes of a core",
    "python -m s2m.launch -m +sweep=encoders dry=true": "plans the whole study; without dry=true "
    "it runs on all cores, and resumes if you stop it",
    "python -m s2m.status --serve": "shows all curves on localhost while runs train",
}
"""What to type after the demo, and what it does."""


@dataclass(frozen=True)
class Check:
    """One run of the demo: whether the machinery brought it to its end."""

    name: str
    status: str


def main(words: list[str]) -> int:
    """Make everything, best first, then the page; 1 if a run of the demo has not finished."""
    parser = argparse.ArgumentParser(prog="python analysis/demo.py", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("demo"), help="folder to write to (demo)")
    out: Path = parser.parse_args(words).out
    out.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    print("1/4  The archived study: 43 runs at the desktop budget", flush=True)
    _tables(STUDY, out / "study")
    print("2/4  A PFDS teacher and its student, filmed in the same episode", flush=True)
    filmed = film(out / "film.mp4")
    shutil.copy(ROOT / "docs" / "figures" / "carry.webp", out)
    print("3/4  Eight small runs, as a check of the machinery", flush=True)
    runs = out / "runs"
    _python("-m", "s2m.launch", "-m", "+sweep=demo", f"root={runs}", "tracking=disabled")
    print("4/4  Their tables, and a student of the best of them", flush=True)
    _tables(runs, out / "check", "--distill")
    checks = [Check(folder.path.name, status_of(folder)) for folder in find_runs(runs)]
    page = out / "index.html"
    page.write_text(build(checks, filmed))
    minutes, seconds = divmod(round(time.monotonic() - began), 60)
    print(f"\n{sum(check.status == FINISHED for check in checks)} of {len(checks)} runs finished, "
          f"{minutes} min {seconds:02d} s in all. Open {page}")  # fmt: skip
    print("\n".join(["Next:", *(f"  {command:<50} {what}" for command, what in NEXT.items())]))
    return int(any(check.status != FINISHED for check in checks))


def film(out: Path) -> bool:
    """Film the archived policies; where no GL library is, say so in one line."""
    captions = f"captions=[{SEEN},{FELT}]"
    words = [f"run={TEACHER}", f"beside={STUDENT}", captions, "k=5", "every=4", f"out={out}"]
    words += ["width=400", "height=300"]
    done = subprocess.run(
        [sys.executable, "-m", "s2m.replay", *words], capture_output=True, text=True
    )
    if done.returncode == 0:
        print(f"wrote {out}", flush=True)
        return True
    said = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
    print(f"films are skipped: {said.removeprefix('error: ')}", flush=True)
    return False


def build(checks: list[Check], filmed: bool) -> str:
    """Return the page."""
    shown = """<video src="film.mp4" autoplay loop muted controls playsinline></video>
<p>Five balls on the back of the robot, for 10 s. Left: the PFDS teacher, which sees the balls.
Right: TactSet, its student, which only feels them by the 16 x 16 contact map beside it.</p>"""
    missing = """<img src="carry.webp" alt="Teacher and student carry five balls">
<p>This film came with the repository: this machine has no GL library (libegl1, libgl1) for its own.
Left: the PFDS teacher, which sees the balls. Right: TactSet, its student, which feels them.</p>"""
    commands = "\n".join(
        f"<dt><code>{html.escape(command)}</code></dt><dd>{html.escape(what)}</dd>"
        for command, what in NEXT.items()
    )
    rows = "\n".join(
        f"<tr><td>{html.escape(check.name)}</td><td>{html.escape(check.status)}</td></tr>"
        for check in checks
    )
    done = sum(check.status == FINISHED for check in checks)
    return PAGE.format(
        film=shown if filmed else missing, commands=commands, rows=rows, done=done, all=len(checks)
    )


PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>S2M-Trek: the demo</title>
<meta name="viewport" content="width=device-width">
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 1100px; margin: 2rem auto; padding: 0 1rem;
  color: #222; background: #fff }}
video, img, iframe {{ width: 100%; border: 1px solid #ccc; border-radius: 6px }}
iframe {{ height: 80vh }}
code {{ background: #f2f2f2; padding: .1em .4em; border-radius: 4px }}
dt {{ margin-top: .6rem }}
td {{ padding: .1rem 1.5rem .1rem 0; font-variant-numeric: tabular-nums }}
.check {{ border-left: 4px solid #d90; padding-left: 1rem }}
</style></head><body>
<h1>S2M-Trek: the demo</h1>
{film}
<h2>Next</h2>
<dl>{commands}</dl>
<h2>The study</h2>
<p>43 archived runs: eight encoders, five seeds each, controls and a student. These are real
numbers; <a href="study/report.html">the report on a page of its own</a>.</p>
<iframe src="study/report.html" title="Report of the archived study"></iframe>
<h2>This machine</h2>
<div class="check">
<p><strong>{done} of {all} runs finished.</strong> The demo has just trained, evaluated, tabulated
and distilled these runs of a few seconds each. They check the machinery; their success rates say
nothing about encoders, and <a href="check/report.html">their report</a> shows only that one can be
made.</p>
<table>{rows}</table>
</div>
</body></html>
"""


def _python(*words: str) -> None:
    """Run a command of this project; the next ones come even if it fails, and the page says so."""
    subprocess.run([sys.executable, *words], check=False)


def _tables(runs: Path, out: Path, *more: str) -> None:
    """Make the tables and the report of some runs."""
    script = os.path.relpath(ROOT / "analysis" / "make_tables.py")
    _python(script, "--runs", os.path.relpath(runs), "--out", str(out), *more)


if __name__ == "__main__":
    run_command(main)
