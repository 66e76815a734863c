"""Every command of README and docs: executed here, executed by a named test, or said why not.

A command that no line of `PROOFS` knows fails: it is added there, or to a page in another way.
"""

import argparse
import importlib
import re
import shlex
from pathlib import Path

import pytest

from analysis.build import options
from s2m import distill, evaluate, launch, replay
from s2m.console.errors import UserError

ROOT = Path(__file__).parents[2]
PAGES = [
    "README.md", "CONTRIBUTING.md", "slurm/README.md",
    *sorted(f"docs/{p.name}" for p in ROOT.glob("docs/*.md")),
]  # fmt: skip
PROGRAMS = (
    "python|python3|pip|make|s2m|sudo|cp|export|eval|srun|git|wandb|pytest|nvidia-smi|pre-commit|"
    r"python3\.11|[A-Z][A-Z0-9_]+=\S* python|timeout"
)
STUDY = ROOT / "results" / "desktop" / "encoders"
TEACHER, STUDENT = (STUDY / name for name in ("pfds-s40-01e39876", "tactset-s40-7e75a520"))


PLACEHOLDER = re.compile(r"(?<!run=)(?<!teacher=)\.\.\.|\b[A-Z]{3,}\b|<")
"""What a reader fills in: a command in a sentence that has none is complete."""


class Elsewhere(str):
    """A test that executes such a command, and what of it the test has; its words are read here."""


class NotHere(str):
    """Why a command cannot be executed by a test."""


def documented():
    """Yield every command of the pages, with the page."""
    for page in PAGES:
        text = (ROOT / page).read_text()
        shell = re.findall(r"^```(?:bash|sh)\n(.*?)^```$", text, re.S | re.M)
        plain = re.sub(r"^```.*?^```$", "", text, flags=re.S | re.M)
        block = r"^ {4,}(\S.*)$"
        lines = re.findall(block, plain, re.M) + "\n".join(shell).splitlines()
        told = re.findall(r"`(python [^`]+)`", re.sub(block, "", plain, flags=re.M))
        told = [" ".join(line.split()) for line in told if not PLACEHOLDER.search(line)]
        # tests/test_extending.py executes what stands there in sentences.
        for line in lines + (told if page != "docs/extending.md" else []):
            bare = re.split(r"\s{2,}#|\s#\s", line)[0].strip()
            for command in re.split(r" && |; (?=python)", bare):
                if re.match(rf"({PROGRAMS})\b(?!:)", command):
                    yield page, command


def words_of(command, tmp_path):
    """Return the words behind the program, with the folders that stand for some filled in."""
    words = shlex.split(re.sub(r"^[A-Z_]+=\S+ ", "", command))
    words = words[3:] if words[1] == "-m" else words[2:]
    runs = {"teacher": TEACHER, "run": STUDENT if "faults" in command else TEACHER}
    filled = []
    for word in words:
        key, _, value = word.partition("=")
        if key in runs and (value.endswith("...") or value.isupper()):
            word = f"{key}={STUDENT if value == 'STUDENT' else runs[key]}"
        if word in ("teacher=tables/teacher.json", "teacher=tables/teacher-pfds.json"):
            word = f"teacher={TEACHER}"
        if word == "cluster=mysite":
            word = "cluster=slurm"
        if key == "mine":  # the folder of docs/extending.md
            word = str(own_folder(tmp_path))
        filled.append(word)
    return filled


def own_folder(tmp_path):
    from tests.examples import write_encoder

    return write_encoder(tmp_path / "mine")


def plans(command, tmp_path):
    """Plan what would be launched: all is composed and checked, nothing is executed."""
    words = words_of(command, tmp_path)
    main = distill.main if "s2m.distill" in command else launch.main
    words = [word for word in words if not word.startswith(("root=", "dry="))]
    assert main([*words, f"root={tmp_path}", "dry=true"]) == 0


def acts(command, tmp_path):
    """Compose and check what would be evaluated or filmed; other tests do it."""
    words = words_of(command, tmp_path)
    (evaluate if "s2m.evaluate" in command else replay).main(words)


def parses(command, tmp_path):
    """Read the options; tests/analysis/test_build.py makes everything."""
    options(words_of(command, tmp_path))


class Read(Exception):
    """The words of a command were read and found good: it would act now."""


def acting(*_, **__):
    raise Read


def reads(command, tmp_path, monkeypatch):
    """Let the command read its words, up to where it would act."""
    monkeypatch.syspath_prepend(ROOT / "slurm")
    place = command[command.index("python ") :].removesuffix(')"').split()
    if place[1] == "-m":
        module = importlib.import_module(place[2])
    elif place[1].startswith("analysis/"):
        module = importlib.import_module(place[1].removesuffix(".py").replace("/", "."))
    else:
        module = importlib.import_module("devcluster")
    parse = argparse.ArgumentParser.parse_args

    def parse_args(self, words):
        parse(self, words)
        raise Read

    words = words_of(" ".join(place), tmp_path)
    with monkeypatch.context() as patch, pytest.raises(Read):
        patch.setattr(argparse.ArgumentParser, "parse_args", parse_args)
        for name in (
            "s2m.policy.invariance.show", "s2m.policy.onnx.export", "s2m.learning.bench.bench",
            "s2m.doctor.examine", "s2m.stages.progress.Progress.automatic",
        ):  # fmt: skip
            patch.setattr(name, acting)
        patch.setattr("s2m.stages.move.move", lambda *_: None)
        patch.setattr("s2m.job.RunFolder.open", lambda _: TEACHER)
        module.main(words)


def is_there(command, tmp_path):
    """Find what is copied."""
    assert (ROOT / shlex.split(command)[1]).is_file()


PROOFS = [
    (r"python -m s2m\.(launch|distill) ", plans),
    (r"[A-Z_]+=\w+ python -m s2m\.launch ", plans),
    (r"python -m s2m\.(evaluate|replay) ", acts),
    (r"python (analysis/make_tables\.py|-m analysis\.make_tables)", parses),
    (r"python analysis/compare\.py", Elsewhere("tests/analysis/test_compare.py: compare")),
    (r"python analysis/archive\.py", Elsewhere("tests/analysis/test_archive.py: archive")),
    (r"python -m analysis\.robustness", Elsewhere("tests/analysis/test_robustness.py: publish")),
    (r"python -m analysis\.why", Elsewhere("tests/analysis/test_why.py: publish")),
    (r"python analysis/publish\.py", Elsewhere("tests/analysis/test_publish.py: publish")),
    (r"python -m s2m\.status.*--serve", Elsewhere("tests/monitor/test_serve.py: serve")),
    (r"python -m s2m\.status.*--html", Elsewhere("tests/monitor/test_page.py: --html")),
    (r"python -m s2m\.status", Elsewhere("tests/monitor/test_table.py: print_table")),
    (r"python -m s2m\.logs", Elsewhere("tests/monitor/test_output.py: print_output")),
    (r"python -m s2m\.cancel", Elsewhere("tests/cluster/test_withdrawal.py: cancel")),
    (r"python -m s2m\.audit", Elsewhere("tests/cluster/test_own.py: audit")),
    (r"python -m s2m\.export", Elsewhere("tests/policy/test_onnx.py: export")),
    (r"python -m s2m\.bench", Elsewhere("tests/commands/test_bench.py: s2m.bench")),
    (r"(srun .*)?python -m s2m\.doctor", Elsewhere("tests/commands/test_doctor.py: doctor")),
    (r"python -m s2m\.sync", Elsewhere("tests/tracking/test_sync.py: sync")),
    (r"python slurm/devcluster\.py", Elsewhere("tests/cluster/test_devcluster.py: start")),
    (r'eval "\$\(python slurm/devcluster', Elsewhere("tests/cluster/conftest.py: environment")),
    (r"python -m s2m\.dashboard", Elsewhere("tests/tracking/test_dashboard.py: dashboard")),
    (r"python -m s2m\.job", Elsewhere("tests/commands/test_job.py: s2m.job")),
    (r"eval .*register-python-argcomplete s2m", Elsewhere("tests/commands/test_main.py: ARGCOMPL")),
    (r"make docs", Elsewhere("tests/test_site.py: mkdocs")),
    (r"cp conf/", is_there),
    (r"make (test|lint|demo|coverage|bench)", NotHere("these are the tests themselves, or hours; "
     "the CI runs make test")),
    (r"sudo sh slurm/install-debian", NotHere("installs packages of the machine; the CI does it")),
    (r"python -m tests\.", NotHere("a tool of the tests themselves")),
    (r"sudo \.ci/run", NotHere("this is the CI itself, as root")),
    (r"pytest ", NotHere("these are the tests themselves")),
    (r"pre-commit ", NotHere("changes the hooks of the repository")),
    (r"pip install|export PIP_", NotHere("changes the environment of the tests; "
     "tests/test_environment.py tries what chooses torch")),
    (r"python3(\.11)? -m venv", NotHere("the CI makes its environment by make")),
    (r"git ", NotHere("changes the checkout")),
    (r"wandb login", NotHere("needs an account")),
    (r"nvidia-smi", NotHere("needs an NVIDIA card")),
    (r"python (-m )?benchmarks[./]", NotHere("minutes to an hour; make bench runs them")),
]  # fmt: skip
"""How each command is shown to work, by the first pattern that it begins with."""


def proof_of(command):
    found = [proof for pattern, proof in PROOFS if re.match(pattern, command)]
    assert found, f"no test executes '{command}': add it to PROOFS"
    return found[0]


@pytest.fixture
def calm(monkeypatch, tmp_path):
    """What takes long or needs a cluster stands still; words are read and checked all the same."""
    monkeypatch.setattr("s2m.cluster.slurm.check", lambda *_: None)
    monkeypatch.setattr("s2m.stages.evaluate.judge", lambda *_: None)
    monkeypatch.setattr("s2m.stages.robustness.judge_all", lambda *_: 0)
    monkeypatch.setattr("analysis.robustness.write", lambda *_: "")
    monkeypatch.setattr("s2m.policy.film.show", lambda *_: None)


@pytest.mark.parametrize("page", PAGES)
def test_every_command_of_a_page_is_proven(page, calm, tmp_path, capsys, monkeypatch):
    for place, command in documented():
        proof = proof_of(command) if place == page else NotHere("another page's")
        if callable(proof):
            folder = tmp_path / str(abs(hash(command)))
            folder.mkdir(exist_ok=True)
            proof(command, folder)
        elif isinstance(proof, Elsewhere):
            test, _, said = proof.partition(": ")
            assert said in (ROOT / test).read_text(), f"{test} does not execute {command}"
            if "python " in command:
                reads(command, tmp_path, monkeypatch)


@pytest.mark.parametrize(
    "command",
    [
        "python -m s2m.status --no-such-option", "python analysis/compare.py a b c",
        "python -m s2m.export RUN no=1", "python -m s2m.doctor --clutser",
        "python -m s2m.bench --jsn", "python -m s2m.job RUN sym=warp", "python -m s2m.audit RUN x",
        "python slurm/devcluster.py begin /tmp/cluster", "python -m s2m.sync --wach",
    ],
)  # fmt: skip
def test_a_command_with_wrong_words_is_not_proven(command, tmp_path, monkeypatch, capsys):
    proof_of(command)
    with pytest.raises((SystemExit, UserError)):
        reads(command, tmp_path, monkeypatch)


def test_the_pages_have_commands_and_no_proof_is_idle():
    commands = [command for _, command in documented()]
    assert len(commands) > 100
    idle = [p for p, _ in PROOFS if not any(re.match(p, command) for command in commands)]
    assert idle == []
