"""The sentences at the top of the report say what the tests give, and no more."""

from analysis.answer import answer, warning
from analysis.tables.every import every_table
from tests.analysis.synthetic import Spec

GOOD = {k: (90, 99) for k in range(1, 6)}
BAD = {k: (10, 40) for k in range(1, 6)}


def told(study):
    return answer(study, every_table(study))


def rows(seeds, **kinds):
    found = []
    for variant, (rates, at) in kinds.items():
        for seed in range(seeds):
            levels = {k: at * (k - 1) + seed for k in range(2, 6)} if at else {2: 10}
            varied = {k: (strict, kept - seed % 2) for k, (strict, kept) in rates.items()}
            found.append(Spec(variant, seed, levels, varied, iterations=500, changed=10))
    return found


def test_a_large_difference_with_enough_seeds_is_sure(study_of):
    study = study_of(*rows(8, pfds=(GOOD, 50), flat_mlp=(BAD, 0)))
    best, worse, *_, first = told(study)
    assert best.startswith("PFDS carries 5 balls best: 98.5% no-drop [98")
    assert worse.startswith("Surely worse than PFDS: Flat-MLP (−59.0 points")
    assert first == (
        "PFDS is first at 5 balls: after 204 iterations (restricted mean). "
        "Most runs of Flat-MLP never got there."
    )


def test_the_first_is_the_one_of_the_table_a_run_that_never_arrives_counts_its_budget(study_of):
    """By the median, 100 against 110, the row would be first of which one run never arrived."""

    def specs(variant, *arrived):
        for seed, at in enumerate(arrived):
            levels = {2: 10, 3: 20, 4: 30} | ({5: at} if at else {})
            yield Spec(variant, seed, levels, GOOD, iterations=500, changed=10)

    study = study_of(*specs("pfds", 110, 110, 113), *specs("dshc", 100, 100, 0))
    tables = every_table(study)
    *_, first = answer(study, tables)
    assert first.startswith("PFDS is first at 5 balls: after 111 iterations (restricted mean)")
    (row,) = [r for r in tables[0].records if r["variant"] == "pfds"]
    assert tables[0].name == "encoders" and row["advance_5_restricted_mean"] == 111


def test_with_few_seeds_nothing_is_sure_and_the_bound_is_told(study_of):
    lines = told(study_of(*rows(3, pfds=(GOOD, 50), flat_mlp=(BAD, 0))))
    assert lines[1].startswith("No difference from PFDS is sure: the smallest p, corrected by Holm")
    assert "With 3 seeds against 3 no p can be below 0.1" in lines[1]
    assert lines[2] == (
        "Open, neither a difference from PFDS nor equality is shown: Flat-MLP (−59.0 points)."
    )


def test_equality_is_shown_and_not_concluded_from_a_large_p(study_of):
    lines = told(study_of(*rows(5, pfds=(GOOD, 50), pfds_off=(GOOD, 50))))
    assert lines[0].startswith("PFDS_OFF and PFDS carry 5 balls best")
    assert "As good as PFDS within 5 points: PFDS_OFF." in lines


def test_one_seed_supports_no_claim(study_of):
    lines = told(study_of(*rows(1, pfds=(GOOD, 50), flat_mlp=(BAD, 0))))
    assert lines[0].startswith("One seed per row") and "nothing can be tested yet" in lines[1]


def test_nothing_was_evaluated(study_of):
    assert told(study_of(Spec(state="pending"))) == [
        "No policy has been evaluated yet: the tables fill as runs finish."
    ]


def test_numbers_of_the_demo_mean_nothing(study_of):
    assert warning(study_of(Spec(budget="demo"))).startswith("These numbers mean nothing")
    assert warning(study_of(Spec(seed=1))) == ""
