from dataclasses import asdict

import yaml

from s2m.cluster.cells import expand
from s2m.cluster.shown import show_cells
from s2m.config.search import CONF, REPOSITORY, Search
from s2m.run.identity import folder_name


def shown(capsys, *words, search=REPOSITORY, info=False):
    sweep = expand(["sim=dummy", *words], search)
    cells = sweep.compose(search)
    show_cells(sweep.cells, cells, search, info)
    return cells, capsys.readouterr().out


def test_a_config_is_printed_as_its_folder_would_freeze_it(capsys):
    (cfg,), out = shown(capsys, "seed=7")
    assert not out.startswith("---") and "#" not in out
    assert yaml.safe_load(out) == asdict(cfg)


def test_several_configs_are_documents_with_their_words(capsys):
    cells, out = shown(capsys, "seed=7,8", "encoder=pfds")
    assert [asdict(cfg) for cfg in cells] == list(yaml.safe_load_all(out))
    lines = [line for line in out.splitlines() if line.startswith("# ")]
    assert ["seed=7" in lines[0], "seed=8" in lines[1]] == [True, True] and len(lines) == 2


def test_the_information_tells_places_choices_and_the_folder(capsys, tmp_path):
    (tmp_path / "ppo").mkdir()
    (tmp_path / "ppo" / "slow.yaml").write_text("gamma: 0.5\n")
    (cfg,), out = shown(capsys, "ppo=slow", search=Search((tmp_path,)), info=True)
    assert cfg.ppo.gamma == 0.5 and yaml.safe_load(out) == asdict(cfg)
    lines = out.splitlines()
    assert lines[:2] == [f"# searched: {CONF}", f"# searched: {tmp_path}"]
    assert " ppo=slow" in lines[2] and " sim=dummy" in lines[2]
    assert lines[3] == f"# folder: {cfg.root}/{cfg.experiment}/{folder_name(asdict(cfg))}"
