"""The comparison of runs: the same bits, or where they part."""

import shutil
import subprocess
import sys

import pyarrow
import pytest

from analysis import compare
from analysis.compare import differences, main
from s2m.console.errors import UserError
from s2m.run.events import Events
from s2m.run.metrics import read_table, write_table
from tests.analysis.synthetic import Spec, write_run

RATES = {k: (5, 9) for k in range(1, 6)}
LEVELS = {2: 100, 3: 200}


@pytest.fixture
def twins(tmp_path):
    return [
        write_run(tmp_path / name, Spec("pfds", 40, levels=LEVELS, rates=RATES))
        for name in ("one", "other")
    ]


def change(run, name, row, value):
    table = read_table(run.metrics)
    values = table[name].to_pylist()
    values[row] = value(values[row])
    column = table.column_names.index(name)
    write_table(run.metrics, table.set_column(column, name, pyarrow.array(values)))


def test_runs_of_equal_numbers_are_the_same_whatever_time_they_took(twins, tmp_path, capsys):
    change(twins[1], "time/iteration", 3, lambda seconds: 2 * seconds)
    assert main([str(tmp_path / "one"), str(tmp_path / "other")]) == 0
    assert capsys.readouterr().out == f"{twins[0].path.name}: the same, bit for bit\n"


def test_runs_of_other_signatures_are_paired_by_variant_and_seed(twins, tmp_path, capsys):
    twins[1].path.rename(twins[1].path.with_name("pfds-s40-00000000"))
    assert main([str(tmp_path / "one"), str(tmp_path / "other")]) == 0
    assert "the same, bit for bit" in capsys.readouterr().out
    shutil.copytree(twins[0].path, tmp_path / "other" / "x" / "pfds-s40-11111111")
    with pytest.raises(UserError, match="have no run in common"):
        main([str(tmp_path / "one"), str(tmp_path / "other")])


def test_the_beginning_of_a_name_is_enough(twins, tmp_path, capsys):
    experiment = twins[0].path.parent
    short = [str(tmp_path / root / experiment.name / "pfds-s4") for root in ("one", "other")]
    assert main(short) == 0
    assert main([str(tmp_path / "on"), str(tmp_path / "oth")]) == 0
    assert capsys.readouterr().out.count("the same, bit for bit") == 2
    shutil.copytree(twins[0].path, experiment / "pfds-s41-11111111")
    with pytest.raises(UserError, match="may be pfds-s40-.*, pfds-s41-11111111: write more"):
        main(short)
    with pytest.raises(UserError, match="nothing is not a directory: compare two runs"):
        main([str(tmp_path / "nothing"), str(tmp_path / "other")])


def test_it_is_a_command_of_its_own(twins):
    words = [sys.executable, "-P", compare.__file__, *(str(run.path) for run in twins)]
    assert subprocess.run(words, capture_output=True, text=True).returncode == 0


def test_one_flipped_bit_is_told_with_its_iteration_and_the_machines(twins, capsys):
    change(twins[1], "criteria/margin", 7, lambda margin: margin * (1 + 2e-16))
    Events(twins[0], 1).append("attempt", processor="a\x1b[31m chip", packages={"torch": "2"})
    iteration = read_table(twins[0].metrics)["iteration"][7].as_py()
    (line,) = differences(*twins)
    assert f"from iteration {iteration} on (criteria/margin: by up to 3e-16" in line
    assert main([str(run.path) for run in twins]) == 1
    said = capsys.readouterr().out
    assert "chip" in said and "\x1b" not in said and "its machine is not recorded" in said


def test_settings_that_differ_come_first(tmp_path, twins):
    other = Spec("pfds", 40, levels=LEVELS | {3: 210}, rates=RATES, changes={"ppo": {"gamma": 0.9}})
    found = differences(twins[0], write_run(tmp_path / "later", other))
    assert found[0] == "settings: ppo.gamma = 0.99 and 0.9" and len(found) > 1


def test_other_levels_results_and_episodes_are_told(tmp_path, twins):
    later = Spec("pfds", 40, levels=LEVELS | {3: 210}, rates=RATES | {5: (5, 8)})
    found = differences(twins[0], write_run(tmp_path / "later", later))
    told = ["level changes: 2 at 100, 3 at 200 and 2 at 100, 3 at 210", "result of train"]
    assert all(line in found for line in [*told, "result of evaluate", "episodes"])


def test_folders_without_a_common_run_are_refused(tmp_path, twins):
    shutil.rmtree(twins[1].path)
    with pytest.raises(UserError, match="no run in common"):
        main([str(tmp_path / "one"), str(tmp_path / "other")])
