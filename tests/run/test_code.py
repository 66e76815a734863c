import subprocess
from pathlib import Path

import pytest

from s2m.run import code
from s2m.run.code import CodeState, code_state


def git(root: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    done = subprocess.run(
        ["git", "-C", str(root), *identity, *arguments], check=True, capture_output=True
    )
    return done.stdout.decode().strip()


@pytest.fixture
def repository(root: Path) -> Path:
    git(root, "init", "-q")
    (root / "train.py").write_text("lr = 1\n")
    (root / "old.py").write_text("old\n")
    (root / "latin.txt").write_bytes(b"caf\xe9\n")
    (root / ".gitignore").write_text("runs/\n")
    git(root, "add", ".")
    git(root, "commit", "-qm", "first")
    return root


def test_a_clean_tree(repository):
    assert code_state(repository) == CodeState(git(repository, "rev-parse", "HEAD"), False, "")


@pytest.mark.parametrize(
    "names",
    [
        ["my *runs/.launch.lock", "my *runs/notes.txt", "my *runs/x/pfds/journal.jsonl"],
        ["deep/er/.slurm/code/x/s2m/launch.py", "deep/er/x/pfds/journal.jsonl"],
        ["copied/x/pfds/run.json", "copied/x/pfds/journal.jsonl"],
        [".launch.lock", "x/pfds/run.json", "x/pfds/run.log"],
        ["archive/x/pfds/evaluate.json", "archive/x/pfds/late.txt"],
    ],
)
def test_folders_of_runs_are_no_part_of_the_code(repository, names):
    archived = repository / "archive" / "x" / "pfds" / "run.json"
    archived.parent.mkdir(parents=True)
    archived.write_text("{}\n")
    (archived.parent / "evaluate.json").write_text("{}\n")
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "archive")
    for name in names:
        (repository / name).parent.mkdir(parents=True, exist_ok=True)
        (repository / name).write_text("text\n")
    clean = CodeState(git(repository, "rev-parse", "HEAD"), False, "")
    assert code_state(repository) == clean
    (repository / "train.py").write_text("lr = 2\n")
    (repository / "x.py").write_text("x = 1\n")
    state = code_state(repository)
    assert state.dirty and "text" not in state.patch
    assert "+lr = 2" in state.patch and "+x = 1" in state.patch


def test_the_patch_gives_the_code_back(repository, tmp_path):
    (repository / "train.py").write_text("lr = 2\n")
    (repository / "old.py").unlink()
    (repository / "latin.txt").write_bytes(b"caf\xe9 cr\xe8me\n")
    (repository / "neu 'ü'.py").write_text("new = True\n")
    (repository / "package").mkdir()
    (repository / "package" / "no_newline.py").write_text("x = 1")
    (repository / "runs").mkdir()
    (repository / "runs" / "ignored.py").write_text("no\n")
    state = code_state(repository)
    assert state.dirty and "ignored" not in state.patch
    copy = tmp_path / "copy"
    git(tmp_path, "clone", "-q", str(repository), str(copy))
    patch = tmp_path / "code.patch"
    patch.write_bytes(state.patch.encode("utf-8", "surrogateescape"))
    git(copy, "apply", str(patch))
    tracked = ["train.py", "latin.txt", "neu 'ü'.py", "package/no_newline.py"]
    for name in tracked:
        assert (copy / name).read_bytes() == (repository / name).read_bytes()
    assert not (copy / "old.py").exists()


def test_staged_files_are_part_of_the_patch(repository):
    (repository / "added.py").write_text("added\n")
    git(repository, "add", "added.py")
    assert "+added" in code_state(repository).patch


@pytest.mark.parametrize(
    "name", [".env", ".env.local", "wandb_KEY.txt", "secrets/a.py", "id_rsa", "api-token", "x.pem"]
)
def test_secrets_are_named_and_not_shown(repository, name):
    path = repository / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("hunter2\n")
    state = code_state(repository)
    assert state.dirty and name in state.patch and "hunter2" not in state.patch
    git(repository, "add", "-f", name)
    assert "hunter2" not in code_state(repository).patch


def test_binary_large_and_surplus_files_are_only_named(repository, monkeypatch):
    monkeypatch.setattr(code, "MOST", 2)
    (repository / "a.bin").write_bytes(b"\0hunter2")
    (repository / "b.txt").write_text("hunter2" * code.LARGEST)
    (repository / "c.txt").symlink_to("a.bin")
    for name in ["d.txt", "e.txt", "f.txt"]:
        (repository / name).write_text(name)
    patch = code_state(repository).patch
    assert "hunter2" not in patch
    left_out = [line.split(": ")[1] for line in patch.splitlines() if line.startswith("# not")]
    assert left_out == ["'a.bin'", "'b.txt'", "'c.txt'", "'f.txt'"]


def test_settings_of_the_user_do_not_change_the_patch(repository):
    (repository / "train.py").write_text("lr = 2\n")
    plain = code_state(repository).patch
    git(repository, "config", "color.ui", "always")
    git(repository, "config", "diff.noprefix", "true")
    git(repository, "config", "diff.external", "false")
    assert code_state(repository).patch == plain != ""


def test_a_package_inside_a_larger_repository(repository, tmp_path):
    inner = repository / "inner"
    inner.mkdir()
    (inner / "a.py").write_text("a\n")
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "second")
    (inner / "a.py").write_text("b\n")
    (repository / "train.py").write_text("outside\n")
    patch = code_state(inner).patch
    assert "+++ b/a.py" in patch and "outside" not in patch


def test_no_repository(tmp_path):
    assert code_state(tmp_path) == CodeState()
    assert code_state(tmp_path / "missing") == CodeState()


def test_a_repository_without_commits(tmp_path):
    git(tmp_path, "init", "-q")
    assert code_state(tmp_path) == CodeState()


def test_an_exported_tree_inside_a_foreign_repository(repository):
    exported = repository / "runs" / "export"
    exported.mkdir(parents=True)
    (exported / "a.py").write_text("a\n")
    assert code_state(exported) == CodeState()


def test_no_git_program(repository, monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert code_state(repository) == CodeState()
