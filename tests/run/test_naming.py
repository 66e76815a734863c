"""Names show what differs among the runs at hand, and a hash only where nothing else tells."""

from typing import Any

import pytest

from s2m.console.errors import UserError
from s2m.run.finding import locate
from s2m.run.folder import RunFolder, runs_at
from s2m.run.identity import folder_name
from s2m.run.naming import among_siblings, tell_apart, told
from s2m.run.settings import differing
from tests.analysis.synthetic import Spec, config, write_run


def names(*specs: Spec) -> list[str]:
    configs = [config(spec) for spec in specs]
    found = tell_apart({folder_name(one): one for one in configs})
    return [str(found[folder_name(one)]) for one in configs]


def changed(seed: int = 40, variant: str = "pfds", **changes: Any) -> Spec:
    return Spec(variant, seed, changes=changes)


def test_runs_that_differ_in_variant_and_seed_need_no_more():
    assert names(Spec("pfds", 40), Spec("pfds_off", 41)) == ["pfds s40", "pfds_off s41"]


def test_the_settings_that_differ_are_shown_by_what_the_field_calls_them():
    runs = changed(ppo={"gamma": 0.98}), changed(41, ppo={"gamma": 0.97})
    assert names(*runs) == ["pfds γ=0.98 s40", "pfds γ=0.97 s41"]
    both = changed(task={"reward": {**config(Spec())["task"]["reward"], "edge": -5.0}})
    assert names(Spec(), both, changed(encoder={"width": 16})) == [
        "pfds width=32 edge=-15 s40", "pfds width=32 edge=-5 s40", "pfds width=16 edge=-15 s40",
    ]  # fmt: skip


def test_a_setting_that_came_later_shows_its_default():
    assert names(Spec(), changed(critic={"encoder": "flat_mlp"})) == [
        "pfds critic.encoder=same s40", "pfds critic.encoder=flat_mlp s40",
    ]  # fmt: skip


def test_a_budget_stands_for_all_it_sets():
    small = Spec(budget="demo", iterations=5, changes={"ppo": {"gamma": 0.9}})
    assert names(Spec(), small) == ["pfds paper s40", "pfds demo s40"]
    other = Spec(budget="demo", iterations=5, changes={"ppo": {"gamma": 0.8}})
    assert names(Spec(), small, other)[1:] == ["pfds demo γ=0.9 s40", "pfds demo γ=0.8 s40"]


def test_ambiguous_last_words_keep_the_whole_name():
    found = names(
        Spec(), changed(ppo={"learning_rate": 0.1, "epochs": 2}), changed(sim={"iterations": 7}),
        Spec(iterations=50),
    )  # fmt: skip
    assert "budget.iterations=50" in found[3] and "sim.iterations=7" in found[2]


def test_the_hash_comes_where_too_much_differs():
    each = {"clip": 0.1, "epochs": 2, "gamma": 0.9, "lam": 0.9, "minibatches": 2, "value": 2.0}
    runs = [Spec(), *(changed(ppo={name: value}) for name, value in each.items())]
    found = names(*runs)
    assert len(set(found)) == 7
    marks = [folder_name(config(run))[-8:] for run in runs]
    marked = [name.endswith(mark) for name, mark in zip(found, marks, strict=True)]
    assert marked == [True, False, False, False, False, True, True]


def test_what_a_group_file_sets_does_not_hide_what_was_swept():
    curricula = {
        "paper": {"min_stage_episodes": 2048, "min_steps_per_level": 3200, "window": 2048},
        "desktop": {"min_stage_episodes": 200, "min_steps_per_level": 800, "window": 200},
    }
    runs = [
        changed(curriculum=one, encoder={"width": width}, ppo={"gamma": gamma})
        for one in curricula.values() for width in (16, 32) for gamma in (0.98, 0.99)
    ]  # fmt: skip
    assert names(*runs) == [
        f"pfds min_stage_episodes={one['min_stage_episodes']} width={width} γ={gamma} s40"
        for one in curricula.values() for width in (16, 32) for gamma in (0.98, 0.99)
    ]  # fmt: skip


def test_equal_numbers_do_not_differ():
    assert differing([told(config(changed(ppo={"gamma": v}))) for v in (1, 1.0)]) == []


def test_a_run_is_named_among_those_of_its_experiment(tmp_path):
    one = write_run(
        tmp_path,
        changed(
            ppo={"gamma": 0.98},
        ),
    )
    assert str(among_siblings(one)) == "pfds s40"
    write_run(tmp_path, Spec(experiment="other"))
    assert str(among_siblings(one)) == "pfds s40"
    other = write_run(tmp_path, Spec())
    other.config_file.write_text("spoilt")
    assert str(among_siblings(one)) == "pfds s40"
    write_run(tmp_path, changed(41))
    assert str(among_siblings(one)) == "pfds γ=0.98 s40"


def test_the_beginning_of_a_name_is_enough(tmp_path, monkeypatch):
    runs = [write_run(tmp_path / "runs", Spec(seed=seed)) for seed in (4, 40, 41)]
    place = runs[0].path.parent
    assert RunFolder.open(place / "pfds-s4").path == runs[0].path
    assert RunFolder.open(place / "pfds-s40").path == runs[1].path
    assert [run.path for run in runs_at([tmp_path / "ru"])] == [run.path for run in runs]
    with pytest.raises(UserError, match="may be pfds-s4-.*, pfds-s40-.*: write more of the name"):
        locate(place / "pfds-s")
    with pytest.raises(UserError, match="is not a run folder"):
        RunFolder.open(place / "dshc")
    monkeypatch.chdir(tmp_path)
    assert RunFolder.open("pfds-s41").path.resolve() == runs[2].path
