"""The frozen config: what was written reads back, and foreign text does no harm."""

import subprocess
import sys
from dataclasses import asdict

import pytest
import yaml

from s2m.config.run import RunCfg
from s2m.console.errors import UserError
from s2m.run import frozen


def test_what_is_written_reads_back_and_is_plain_yaml():
    config = asdict(RunCfg(root="runs of ü, 'quoted': #1"))
    text = frozen.dump(config)
    assert frozen.parse(text) == config == yaml.safe_load(text)
    assert list(frozen.parse(text)) == list(config)


def test_runs_that_share_settings_do_not_share_objects():
    text = frozen.dump(asdict(RunCfg()))
    first = frozen.parse(text)
    first["task"]["command"]["linear_x"] = 99.0
    first["budget"]["hidden"].append(1)
    assert frozen.parse(text) == yaml.safe_load(text)


@pytest.mark.parametrize(
    "text",
    [
        "a: 1\na: 2\n", 'a: "x\nb: y"\n', "{a: 1,\nb: 2}\n", "a: |\n  b: 1\nc: 1\n",
        "---\na: 1\n", "# a comment\na: 1\n", "a:\n- 1\n- b: 2\nc: []\n", "a: [1,\n 2]\nb: x\n",
    ],
)  # fmt: skip
def test_other_forms_of_yaml_mean_what_they_mean(text):
    assert frozen.parse(text.encode()) == yaml.safe_load(text)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (b"a: &x [1]\nb: *x\n", "aliases"),
        (b"a: &x [*x]\n", "aliases"),
        (b"a: !!python/object/apply:os.system [touch harm]\n", "could not determine"),
        (b"a: " + b"9" * 5000, "too large"),
        (b"a: {1: x, b: y}\n", "keys that are not text"),
        (b"a: !!pairs [b: 1]\n", "it has a tuple"),
        (b"a: 2001-01-01\n", "it has a date"),
        (b"- 1\n", "no settings"),
        (b"", "no settings"),
        (b"a: 2001-99-99\n", "damaged"),
        (b"a: [\n", "damaged"),
        (b"\xff\xfe\n", "damaged"),
    ],
)
def test_what_is_no_config_is_one_line(text, line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=line) as error:
        frozen.parse(text)
    assert "\n" not in str(error.value) and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("sign", ["[", "{a: ", "- ", "? ", "&a "])
def test_deep_nesting_does_not_take_the_process_with_it(sign):
    """In a process of its own: beyond its limits the parser in C ends it with SIGSEGV."""
    program = """if True:
        import sys
        from s2m.console.errors import UserError
        from s2m.run import frozen
        for count in (100, 900, 2000, 120_000):
            text = b"a:\\n " + sys.argv[1].encode() * count
            for line in (text, text + b"\\n" + b" " * 4000 + b"- - - -"):
                try:
                    frozen.parse(line)
                except UserError:
                    pass
    """
    assert subprocess.run([sys.executable, "-c", program, sign], check=False).returncode == 0


def test_a_config_that_could_not_be_read_again_is_not_written():
    with pytest.raises(UserError, match="too large for a config"):
        frozen.dump({"setup": ["x" * 5000]})
