"""The best teacher: by selection episodes, step by step through the rule."""

from analysis.teacher import choose, override, reasons
from tests.analysis.synthetic import Spec

LATE = {2: 1, 3: 2, 4: 3, 5: 9000}
EARLY = {2: 1, 3: 2, 4: 3, 5: 6000}


def spec(seed, selection, levels=LATE, reported=(0, 90)):
    return Spec(seed=seed, levels=levels, rates={5: reported}, selection={5: selection})


def winner(study_of, *specs):
    choice = choose(study_of(*specs))
    assert choice is not None
    return choice.best.run.seed, choice.decided_by


def test_no_drop_decides_first(study_of):
    assert winner(study_of, spec(1, (99, 99)), spec(2, (0, 100))) == (2, "no-drop rate")


def test_then_strict(study_of):
    assert winner(study_of, spec(1, (40, 100)), spec(2, (41, 100))) == (2, "strict rate")


def test_then_the_earliest_and_one_that_never_arrived_is_last(study_of):
    specs = spec(1, (40, 100)), spec(2, (40, 100), EARLY), spec(3, (40, 100), {2: 1})
    assert winner(study_of, *specs) == (2, "earliest")


def test_then_the_lower_seed(study_of):
    assert winner(study_of, spec(2, (40, 100)), spec(1, (40, 100))) == (1, "lower seed")


def test_reported_episodes_have_no_say(study_of):
    chosen = winner(study_of, spec(1, (0, 90), reported=(100, 100)), spec(2, (0, 91)))
    assert chosen == (2, "no-drop rate")


def test_unfinished_and_unevaluated_runs_are_no_candidates(study_of):
    specs = Spec(seed=1, rates=None), Spec(seed=2, state="running"), spec(3, (0, 10))
    assert winner(study_of, *specs) == (3, "the only candidate")


def test_runs_that_may_yet_turn_out_better_are_named(study_of):
    running, failed = Spec(seed=2, state="running"), Spec(seed=4, state="failed")
    study = study_of(spec(1, (1, 9)), running, spec(3, (0, 10)), failed)
    choice = choose(study)
    assert [name.split("-")[1] for name in choice.partial] == ["s2"]
    named = next(run.name for run in study.runs if run.seed == 3)
    assert override(choice, study, named).partial == ()


def test_the_reasons_are_told(study_of):
    study = study_of(spec(1, (40, 100)), spec(2, (41, 99), reported=(0, 97)))
    lines = reasons(choose(study))
    assert "decided by: no-drop rate" in lines[0]
    assert "no-drop 100%, strict 40% on 100 selection episodes" in lines[1]
    assert "on the reported episodes: no-drop 97%" in lines[2]
    assert reasons(None) == ["Best teacher: none yet, no run has been evaluated at the top level."]


def test_the_best_of_one_encoder_is_chosen_by_the_same_rule(study_of):
    others = [
        Spec(variant="dshc", seed=s, rates={5: (0, 99)}, selection={5: (0, 99)}) for s in (1, 7)
    ]
    running = Spec(variant="dshc", seed=8, state="running")
    study = study_of(*others, spec(2, (0, 90)), spec(3, (0, 91)), running)
    assert choose(study).best.run.variant == "dshc"
    of_row = choose(study, "pfds")
    assert (of_row.best.run.seed, of_row.decided_by, len(of_row.ranking)) == (3, "no-drop rate", 2)
    assert of_row.partial == () and choose(study, "flat_mlp") is None
    taught = override(choose(study), study, "pfds")
    assert taught.teacher is of_row.teacher and taught.partial == ()
    assert len(override(choose(study), study, "dshc").partial) == 1
