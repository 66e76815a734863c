"""From the words of a command to the cells of a sweep."""

import pytest

from s2m.cluster.cells import expand, sweep_names
from s2m.console.errors import UserError
from s2m.launch import main


def rows(cells):
    return [(cfg.encoder.name, cfg.permute, cfg.seed) for cfg in cells]


def test_a_product_of_all_commas():
    words = ["encoder=pfds,dshc", "permute=true,false", "seed=40,41,42,43,44"]
    cells = expand(words).compose()
    assert len(cells) == 20 and len(set(rows(cells))) == 20


def test_a_run_that_appears_twice_is_refused():
    with pytest.raises(UserError, match="'seed=40 dry=true' appears twice"):
        expand(["seed=40,40", "dry=true"]).compose()


def test_a_pattern_names_the_files_of_a_group():
    cells = expand(["encoder=glob(set*)", "seed=40,41"]).compose()
    assert {cfg.encoder.name for cfg in cells} == {"set_transformer", "set_transformer_pf"}
    assert len(cells) == 4


def test_off_encoders_and_permute_meet_in_one_identity():
    (cell,) = expand(["encoder=dshc", "permute=false"]).compose()
    assert rows([cell]) == rows(expand(["encoder=dshc_off"]).compose()) == [("dshc", False, 40)]
    (off,), (on,) = expand(["encoder=pfds_off"]).compose(), expand(["encoder=pfds"]).compose()
    assert (off.encoder, off.permute, on.permute) == (on.encoder, False, True)


def test_table_one_has_eight_rows_of_five_seeds():
    cells = expand(["+sweep=encoders"]).compose()
    assert len(cells) == 40
    assert {(name, permute) for name, permute, _ in rows(cells)} == {
        ("flat_mlp", True), ("branch_mlp", True), ("dshc", False), ("dshc", True),
        ("set_transformer", True), ("set_transformer_pf", True), ("pfds", False), ("pfds", True),
    }  # fmt: skip
    assert {cfg.experiment for cfg in cells} == {"encoders"}


def test_sweeps_of_one_study_share_their_runs():
    table = {(c.encoder.name, c.permute, c.seed) for c in expand(["+sweep=encoders"]).compose()}
    assert set(rows(expand(["+sweep=ablation"]).compose())) < table
    assert set(rows(expand(["+sweep=seeds"]).compose())) < table


def test_the_command_line_takes_the_place_of_the_sweeps_own_words():
    cells = expand(["+sweep=seeds", "seed=1,2", "experiment=mine", "ppo.gamma=0.9"]).compose()
    assert rows(cells) == [("pfds", True, 1), ("pfds", True, 2)]
    assert {(c.experiment, c.ppo.gamma) for c in cells} == {("mine", 0.9)}


@pytest.mark.parametrize("name", sweep_names())
def test_every_named_sweep_composes_and_says_what_it_is(name):
    assert expand([f"+sweep={name}"]).compose()
    assert sweep_names()[name].endswith(".")


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["+sweep=encoder"], "unknown sweep 'encoder'. Did you mean 'encoders'? Allowed: ablation"),
        (["encoder=pfds,dsch"], "unknown encoder 'dsch'. Did you mean 'dshc'?"),
        (["seed=40,x"], "seed = x: must be an integer from 0"),
        (["seed=40,-1"], "seed = -1: allowed 0 to"),
        (["seed=interval(1,2)"], "cannot sweep over 'seed=interval(1,2)': write the values, as in"),
        (["seed=glob(4*)"], "cannot sweep over 'seed=glob(4*)': write the values, as in seed=a,b"),
        (["seed=range(1,4,0)"], "cannot sweep over 'seed=range(1,4,0)': range() arg 3 must not be"),
        (["seed=range(4,1)"], "'seed=range(4,1)' names no run: a range is empty"),
        (["evaluate.episodes=10,100"], "evaluate must be the same for all runs of a command"),
        (["+ppo.gama=0.9"], "cannot use '+ppo.gama=0.9': write setting=value"),
        (["~seed"], "cannot use '~seed"),
        (
            ["hydra/launcher=x"],
            "'hydra/launcher=x': this launcher plans and submits by itself;",
        ),
        (["hydra.x=1,2"], "unknown setting 'hydra.x'. Allowed: "),
        (["+sweep=demo", "+sweep=seeds"], "'+sweep=demo +sweep=seeds': give one sweep, and launch"),
        (["seed=40", "seed=41"], "'seed=40' and 'seed=41': give seed once, or seed=40,41 with -m"),
        (["encoder=pfds,"], "cannot read 'encoder=pfds,': write setting=value"),
    ],
)
def test_one_bad_cell_stops_the_whole_command_with_one_line(words, line):
    with pytest.raises(UserError) as error:
        expand(words).compose()
    assert str(error.value).startswith(line) and "\n" not in str(error.value)


def test_words_without_commas_are_one_cell():
    assert expand(["encoder=pfds"]).cells == [["encoder=pfds"]]


@pytest.fixture
def sweep(tmp_path, monkeypatch):
    """Return the path of a sweep file that a test may write, the only one there is."""
    monkeypatch.setattr("s2m.config.search.SWEEPS", tmp_path)
    return tmp_path / "mine.yaml"


HEAD = "# Mine.\nexperiment: mine\n"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", " must have the keys experiment, cells, and may have then"),
        ("experiment:\ncells: [seed=1]\n", ": experiment must be the name of a folder"),
        (f"{HEAD}cells:\n", ": cells must be a list of text, each line like '- encoder=pfds seed"),
        (f"{HEAD}cells: encoder=pfds\n", ": cells must be a list of text"),
        (f"{HEAD}cells:\n  - seed: 1\n", ": cells must be a list of text"),
        (f"{HEAD}cells:\n  -\n", ": cells must be a list of text"),
        (f"{HEAD}cells: []\n", ": cells must have at least one line"),
        (
            f'{HEAD}cells:\n  - "seed=1\n',
            ", line 5: is not valid YAML: while scanning a quoted scalar fr",
        ),
        (f"{HEAD}cells: [seed=1]\nthen:\n", ": then must be a list of text, each line like '- -m"),
        (f"{HEAD}cells: [seed=1]\nthen: analysis/x.py\n", ": then must be a list of text"),
        (f"{HEAD}cells: [seed=1]\nthen: ['']\n", ": then must be a list of text"),
        (f"{HEAD}cells: [seed=1]\nthen: ['-m']\n", ": then: -m: write a script, or -m and a mod"),
        (f"{HEAD}cells: [seed=1]\nthen: ['x.py \"a']\n", ': then: x.py "a: no closing quotation'),
    ],
)
def test_a_wrong_sweep_file_is_one_line_with_its_name(sweep, text, line):
    sweep.write_text(text)
    with pytest.raises(UserError) as error:
        expand(["+sweep=mine"])
    assert str(error.value).startswith(f"{sweep}{line}") and "\n" not in str(error.value)


@pytest.mark.parametrize("text", [b"", b"\n# Mine.\n", b"\xff"])
def test_a_sweep_file_without_a_first_line_spoils_nothing_else(sweep, text, capsys):
    sweep.write_bytes(text)
    assert main(["--help"]) == 0
    assert "\n  mine " in capsys.readouterr().out


def test_a_sweep_file_that_is_no_text_is_one_line(sweep):
    sweep.write_bytes(b"\xff")
    with pytest.raises(UserError, match=f"^a file is not valid YAML: .*{sweep}"):
        expand(["+sweep=mine"])


def test_an_open_quote_in_a_cell_is_one_line(sweep):
    sweep.write_text(f"{HEAD}cells:\n  - encoder=pfds root='a\n")
    with pytest.raises(UserError, match="^cannot read 'root='a': write setting=value"):
        expand(["+sweep=mine"])
