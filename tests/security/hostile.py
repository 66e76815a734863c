"""Run folders that somebody wrote to do harm, one kind of harm each.

Whoever would fall for one of them leaves a file named `harm` in the folder that `trap` makes the
present one, or changes the file `treasure` beside it.
"""

import hashlib
import io
import json
import os
import pickle
import shutil
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
import yaml

from s2m.run.files import SUM, write_sealed
from s2m.run.folder import RunFolder, find_runs
from s2m.run.seal import MARK
from tests.analysis.synthetic import Spec, write_run, write_student
from tests.cluster.jobs import submit

NASTY = (
    "<script>document.title='harm'</script><img src=x onerror=\"document.title='harm'\">"
    "$(touch harm)`touch harm`;touch harm&'\"|\\input{harm}[/bold][red]%${oc.env:HOME}"
    "\x1b]0;harm\x07\n=harm\u202e"
)
"""For HTML, a shell, LaTeX, rich, OmegaConf, a terminal, a spreadsheet and a reader."""
RATES = {k: (8, 9) for k in range(1, 6)}
SMALL: dict[str, Any] = {"iterations": 50, "episodes": 10}
BEYOND = "1" + "0" * 400


class Payload:
    """Unpickling it makes the file `harm`."""

    def __reduce__(self):
        return os.mknod, ("harm",)


def sealed(data: bytes) -> bytes:
    """Return content with the checksum that a checkpoint of ours has."""
    return data + MARK + hashlib.sha256(data).hexdigest().encode() + b"\n"


def torch_pickle() -> bytes:
    buffer = io.BytesIO()
    torch.save({"iteration": 50, "state": Payload()}, buffer)
    return buffer.getvalue()


def object_array() -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.array([Payload()], dtype=object), allow_pickle=True)
    return buffer.getvalue()


def change(path: Path, **values) -> None:
    """Change fields of a JSON file."""
    content = json.loads(path.read_text()) | values
    content.pop(SUM, None)
    write_sealed(path, content)


def freeze(folder: RunFolder, text: bytes) -> None:
    """Put another config in the place of the frozen one, with a checksum that fits."""
    folder.config_file.write_bytes(text)
    change(folder.run_file, config_sha256=hashlib.sha256(text).hexdigest())


def configure(folder: RunFolder, **changes) -> None:
    """Change groups of the frozen config."""
    config = yaml.safe_load(folder.config_file.read_text())
    for group, values in changes.items():
        config[group] = config.get(group, {}) | values if isinstance(values, dict) else values
    freeze(folder, yaml.safe_dump(config, sort_keys=False).encode())


def add(path: Path, line: str) -> None:
    with path.open("a") as file:
        file.write(line + "\n")


def event(folder: RunFolder, **fields) -> None:
    add(folder.events, json.dumps({"time": "2026-01-01", "attempt": 1, **fields}))


def attempt(folder: RunFolder, pid: int) -> None:
    """Claim that a process of this machine is at the run."""
    for stage in ("train", "evaluate"):
        folder.result_file(stage).unlink(missing_ok=True)
    change(folder.attempt, host=socket.gethostname(), pid=pid, ended=None)


def judged(folder: RunFolder, **changes) -> None:
    folder.write_result("evaluate", (folder.result("evaluate") or {}) | changes)


def trained(folder: RunFolder, **changes) -> None:
    folder.write_result("train", (folder.result("train") or {}) | changes)


def half_trained(folder: RunFolder, **changes) -> None:
    """Claim that a process judges a run that has ended its training in some way."""
    result = folder.result("train") or {}
    attempt(folder, os.getpid())
    folder.write_result("train", result | changes)


def student(folder: RunFolder, **changes) -> None:
    """Put a student of a good run in the place of a run."""
    root = folder.path.parents[1]
    taught = write_student(root, next(find_runs(root)), RATES, seed=folder.identity.seed)
    configure(taught, **changes)
    shutil.rmtree(folder.path)
    taught.path.rename(folder.path)


def linked(folder: RunFolder, name: str) -> None:
    path = folder.path / name
    path.unlink(missing_ok=True)
    path.symlink_to(Path.cwd() / "treasure")


def rename(folder: RunFolder, name: str) -> None:
    folder.path.rename(os.fsdecode(os.fsencode(folder.path.parent) + b"/" + os.fsencode(name)))


def submitted(folder: RunFolder, /, **changes) -> None:
    entry = submit([[folder]], job="12")
    fields = json.loads(entry.file.read_text())
    del fields["sha256"]
    entry.file.write_text(json.dumps(fields | {"name": "s2m-x"} | changes))


DEEP = "[" * 100_000
ATTACKS: dict[str, Callable[[RunFolder], object]] = {
    "name": lambda f: rename(f, NASTY.replace("/", "∕") + "-s1-0"),
    "name of a student": lambda f: (
        student(f), rename(f, NASTY.replace("/", "∕") + "-s2-0")),
    "name that is no text": lambda f: rename(f, "pfds-\udcff-s1-0"),
    "variant": lambda f: change(f.run_file, variant="../../harm"),
    "label": lambda f: change(f.run_file, variant=r"$\frac$"),
    "commit": lambda f: change(f.run_file, commit="--output=harm"),
    "seed": lambda f: change(f.run_file, seed=10**400),
    "signature": lambda f: change(f.run_file, signature=["x"]),
    "created": lambda f: change(f.run_file, created=None),
    "deep run.json": lambda f: f.run_file.write_text(DEEP),
    "tag": lambda f: freeze(f, b"a: !!python/object/apply:os.mknod [harm]\n"),
    "deep config": lambda f: freeze(f, b"a: " + DEEP.encode()),
    "aliases": lambda f: freeze(f, b"a: &a [x, x]\n" + b"".join(
        b"%c: &%c [*%c, *%c]\n" % (i + 1, i + 1, i, i) for i in range(97, 122))),
    "no groups": lambda f: freeze(f, b"budget: 3\ncurriculum: [1]\n"),
    "interpolation": lambda f: configure(f, budget={"name": "${oc.env:WANDB_API_KEY}"}),
    "budget": lambda f: configure(f, budget={"name": NASTY}),
    "iterations": lambda f: configure(f, budget={"iterations": 10**400}),
    "words for numbers": lambda f: configure(f, budget={"iterations": "<b>", "num_envs": "x"}),
    "keys": lambda f: configure(f, extra=[{1: "a", "b": 2}]),
    "pairs": lambda f: freeze(f, f.config_file.read_bytes() + b"extra: !!pairs [a: {1: a, b: 2}]"),
    "thresholds": lambda f: configure(f, curriculum={"margin": [NASTY] * 4}),
    "reason": lambda f: (attempt(f, 2**22 + 1), event(f, kind="failed", reason=NASTY)),
    "kind": lambda f: event(f, kind=NASTY),
    "kind that is none": lambda f: event(f, kind=["x"]),
    "level": lambda f: event(f, kind="level", level=10**400, iteration=3),
    "iteration": lambda f: event(f, kind="level", level=3, iteration=NASTY),
    "deep event": lambda f: add(f.events, '{"kind":' + DEEP),
    "row": lambda f: add(f.journal, f'{{"iteration":{BEYOND},"row":{{"a":{BEYOND}}}}}'),
    "infinite row": lambda f: add(
        f.journal, '{"iteration":51,"row":{"curriculum/level":1e999,"time/iteration":1e308}}'),
    "level of a row": lambda f: add(
        f.journal, '{"iteration":50,"row":{"curriculum/level":1e15,"time/iteration":1}}'),
    "metric": lambda f: add(f.journal, json.dumps({"iteration": 51, "row": {NASTY: 1.0}})),
    "every process": lambda f: attempt(f, -1),
    "a process": lambda f: attempt(f, os.getpid()),
    "every job": lambda f: (attempt(f, os.getpid()), submitted(f, job="--user=root")),
    "job of others": lambda f: (attempt(f, os.getpid()), submitted(f)),
    "log of a job": lambda f: (attempt(f, 2**22 + 1), submitted(f, name="\0")),
    "log that is no text": lambda f: (attempt(f, 2**22 + 1), submitted(f, packs=[["\ud800"], 3])),
    "episodes elsewhere": lambda f: judged(f, episodes="../../../treasure"),
    "absolute episodes": lambda f: judged(f, selection="/etc/passwd"),
    "successes": lambda f: judged(f, successes={NASTY: {"n": 0, "strict": NASTY, "no_drop": 1}}),
    "evaluation": lambda f: judged(f, settings={NASTY: NASTY}, iteration=10**400),
    "levels": lambda f: trained(f, levels={"99": 3, "4": 10**400}),
    "levels as words": lambda f: trained(f, levels={"2": "x"}),
    "iterations as words": lambda f: half_trained(f, iterations="x"),
    "rounds": lambda f: student(f, distill={"rounds": 10**12}),
    "rounds as words": lambda f: student(f, distill={"rounds": "x", "epochs": 10**12}),
    "teacher": lambda f: student(f, taught_by={"signature": ["x"]}),
    "parameters": lambda f: trained(f, encoder_parameters=NASTY),
    "pickled metrics": lambda f: f.metrics.write_bytes(pickle.dumps(Payload())),
    "pickled episodes": lambda f: (f.path / "episodes.parquet").write_bytes(object_array()),
    "linked events": lambda f: linked(f, "events.jsonl"),
    "linked log": lambda f: linked(f, "run.log"),
    "linked config": lambda f: linked(f, "config.yaml"),
    "log": lambda f: f.log.write_text(NASTY),
}  # fmt: skip


def trap(place: Path) -> Path:
    """Make the place with the treasure and the runs: three good ones, then one of each attack."""
    (place / "treasure").write_text("a secret\n")
    root = place / "runs"
    for seed in range(3):
        write_run(root, Spec(seed=seed, levels={2: 10}, rates=RATES, **SMALL))
    for number, (name, attack) in enumerate(ATTACKS.items(), start=100):
        spec = Spec(seed=number, levels={2: 10}, rates=RATES, **SMALL)
        folder = write_run(root, spec)
        attack(folder)
        if folder.path.exists() and name != "linked log":
            target = folder.path.with_name(f"{folder.path.name} {name}")
            shutil.move(folder.path, target)
    return root
