"""Numbers of the tables against hand computation on runs made for it."""

import csv
import io
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from analysis.frames import Curves, Frames
from analysis.study import Asked, make_study
from analysis.tables.costs import costs
from analysis.tables.effects import comparisons, effects
from analysis.tables.every import every_table
from analysis.tables.headline import encoders
from analysis.tables.paper import (
    advance_verdict,
    beside_the_paper,
    rate_verdict,
    reached_verdict,
)
from analysis.tables.promotion import binding, bound_by, promotion
from analysis.tables.seeds import learning, rates, runs, seeds
from analysis.tables.settings import hyperparameters, thresholds
from analysis.tables.write import to_csv
from analysis.teacher import choose
from s2m.run.events import Events
from s2m.run.folder import find_runs
from tests.analysis.synthetic import Spec

PFDS = [3000, 3200, 3400, 3600, 3800]


def five(variant: str, times: Sequence[int | None], hits: Sequence[int]) -> list[Spec]:
    """Five seeds with given iterations to 3 balls (and 1000 later to 5) and no-drop at k = 5."""
    specs = []
    for i, (at, n) in enumerate(zip(times, hits, strict=True)):
        levels = {2: 1000} if at is None else {2: 1000, 3: at, 4: at + 500, 5: at + 1000}
        specs.append(Spec(variant, 40 + i, levels=levels, rates={5: (n // 2, n)}))
    return specs


@pytest.fixture
def square(study_of):
    """The 2 x 2 with five seeds: DSHC without permutation never reaches 3 balls."""
    return study_of(
        *five("pfds", PFDS, [100, 100, 98, 96, 100]),
        *five("pfds_off", PFDS, [100, 100, 98, 96, 100]),
        *five("dshc", [t + 3000 for t in PFDS], [90, 92, 94, 96, 98]),
        *five("dshc_off", [None] * 5, [0, 0, 2, 0, 0]),
    )


def record(table, **wanted):
    rows = [r for r in table.records if all(r[k] == v for k, v in wanted.items())]
    assert len(rows) == 1
    return rows[0]


def test_table_1_keeps_seeds_and_episodes_apart(square):
    row = record(encoders(square), variant="pfds")
    assert row["advance_3_km_median"] == 3400
    assert (row["advance_3_min"], row["advance_3_max"]) == (3000, 3800)
    assert row["advance_5_restricted_mean"] == pytest.approx(4400)
    assert (row["reached_3"], row["finished"]) == (5, 5)
    assert (row["no_drop_seed_min"], row["no_drop_seed_median"]) == (0.96, 1.0)
    assert (row["no_drop_hits"], row["no_drop_episodes"]) == (494, 500)
    assert row["no_drop_episode_wilson_low"] == pytest.approx(0.9741, abs=1e-4)
    never = record(encoders(square), variant="dshc_off")
    assert never["advance_3_km_median"] is None
    assert never["advance_3_restricted_mean"] == 30_000
    assert never["reached_3"] == 0


def test_effects_of_the_square_by_hand(square):
    table = effects(square)
    permutation = record(table, comparison="DSHC: permuted − not permuted", advance_to=3)
    # Mean 6400 against a budget of 30,000; the five differ by a standard deviation of 316.
    assert permutation["iterations"] == pytest.approx(6400 - 30_000)
    half = 2.7764451 * (100_000 / 5) ** 0.5  # t with 4 degrees of freedom; the other cell is still
    assert permutation["iterations_high"] == pytest.approx(6400 - 30_000 + half, abs=1e-3)
    assert permutation["logrank_p"] == pytest.approx(2 / 252)
    # Holm over four comparisons at two levels, all of them at the least p there is but PFDS's.
    assert permutation["logrank_p_holm"] == pytest.approx(8 * 2 / 252)
    assert permutation["reached_fisher_p"] == pytest.approx(2 / 252)
    assert permutation["no_drop"] == pytest.approx(0.94 - 0.004)
    assert permutation["no_drop_p"] == pytest.approx(2 / 252)
    later = record(table, comparison="DSHC: permuted − not permuted", advance_to=5)
    assert later["iterations"] == pytest.approx(7400 - 30_000)
    assert table.lines[0].cells[4].text.startswith("−22600 [")
    assert table.lines[0].cells[5].text == "0.0079 (0.063)"
    same = record(table, comparison="PFDS: permuted − not permuted", advance_to=3)
    assert (same["iterations"], same["logrank_p"]) == (0, 1)
    cross = record(table, comparison="interaction: effect on PFDS − on DSHC", advance_to=3)
    assert cross["iterations"] == pytest.approx(0 - (6400 - 30_000))
    assert cross["logrank_p"] is None
    # Effects on the rate: 0 on PFDS and 93.6 points on DSHC; far beyond what the seeds spread.
    assert cross["no_drop"] == pytest.approx(-0.936)
    assert cross["no_drop_p"] < 1e-6 and cross["no_drop_high"] < -0.85
    assert any("seed 44: 3,800, 4,800 and 3,800, 4,800" in note for note in table.notes)


def test_the_same_training_is_compared_pair_by_pair(study_of):
    """Seeds differ by more than the two runs of one seed do: by pairs the difference is clear."""
    on = five("pfds", PFDS, [60, 70, 80, 90, 100])
    off = five("pfds_off", PFDS, [57, 68, 77, 88, 97])
    study = study_of(*on, *off, asked=Asked(paper=True))
    # Differences 3, 2, 3, 2, 3: mean 2.6, standard deviation 0.5477, t with 4 degrees of freedom.
    half = 2.7764451 * 0.5477226 / 5**0.5
    said = f"+2.6 [{2.6 - half:.1f}, {2.6 + half:.1f}] percentage points"
    found = effects(study)
    assert found and said in found.notes[-1]


def test_rates_of_a_part_of_the_seeds_say_so(study_of):
    most = five("pfds", PFDS, [50, 60, 50, 50, 50])
    most[2:] = [replace(spec, rates=None) for spec in most[2:]]
    study = study_of(*most, *five("dshc", PFDS, [90] * 5), *five("pfds_off", PFDS, [90] * 5))
    line = encoders(study).lines[-1]
    assert line.cells[-2].text == "55% (50–60; 2/5)"
    row = next(li for li in comparisons(study).lines if li.cells[0].text == "DSHC − PFDS")
    assert row.cells[1].text == "5 vs 5"
    assert row.cells[-2].text.endswith("(5 vs 2)") and row.cells[-2].under.endswith("(5 vs 2)")
    assert record(comparisons(study), comparison="DSHC − PFDS")["no_drop_runs"] == "5 2"
    square = effects(study)
    assert square
    row = next(li for li in square.lines if li.cells[0].text == "PFDS: permuted − not permuted")
    assert row.cells[-2].text.endswith("(2 vs 5)")


def test_comparisons_against_pfds(square):
    table = comparisons(square)
    assert record(table, comparison="DSHC − PFDS")["iterations"] == pytest.approx(3000)
    assert record(table, comparison="DSHC − PFDS")["logrank_p"] == pytest.approx(2 / 252)
    # Holm over the three rows that were launched.
    assert record(table, comparison="PFDS_OFF − PFDS")["logrank_p_holm"] == 1
    assert record(table, comparison="DSHC − PFDS")["logrank_p_holm"] == pytest.approx(6 / 252)
    assert "exact" in table.notes[-1] and "below 3 × 0.0079 = 0.024." in table.notes[-1]


def test_many_runs_are_said_to_be_drawn(study_of):
    specs = [Spec(v, s, levels={2: s}) for v in ("pfds", "dshc") for s in range(1, 12)]
    note = comparisons(study_of(*specs)).notes[-1]
    assert "over 20,000 drawn labellings" in note and "exact" not in note


def test_seeds_and_runs_list_every_run(square):
    table = seeds(square)
    assert [line.cells[0].text for line in table.lines] == ["40", "41", "42", "43", "44", "all"]
    assert table.lines[-1].cells[3].text == "~3.4k (3.0–3.8; 5/5)"
    assert any("93.8% confidence" in note for note in table.notes)
    row = record(runs(square), variant="pfds", seed=40)
    assert (row["advance_3"], row["samples_3"]) == (3000, 3000 * 4096 * 24)
    assert row["no_drop_5"] == 1.0
    assert row["seconds"] == pytest.approx(30_000 * 1.5)


def test_rates_count_failures_and_average_the_rest(square):
    row = record(rates(square), variant="dshc", seed=40, k=5)
    assert (row["strict"], row["no_drop"], row["dropped"], row["fell"]) == (45, 90, 10, 0)
    # 90 survive 500 steps; the others fall at 190..199.
    assert row["steps"] == pytest.approx((90 * 500 + sum(range(190, 200))) / 100)
    assert row["minimum_margin"] == pytest.approx(0.9 * 0.2 - 0.1 * 0.1)


def test_costs(square):
    row = record(costs(square), variant="pfds")
    assert row["encoder_parameters"] == "166000"
    assert row["seconds_median"] == pytest.approx(45_000)
    assert row["samples_per_second"] == pytest.approx(4096 * 24 / 1.5)


def test_settings_come_from_the_runs_and_name_what_differs(study_of):
    changed = {"ppo": {"gamma": 0.98}, "curriculum": {"margin": [0.3, 0.25, 0.2, 0.1]}}
    study = study_of(Spec(changes=changed, levels={2: 10}))
    notes = {line.cells[0].text: line.cells[2].text for line in hyperparameters(study).lines}
    assert notes["Discount γ"] == "paper: 0.99"
    assert notes["GAE λ"] == ""
    assert notes["Factor on rewards"] == "paper: not given"
    assert thresholds(study).lines[3].cells[1].text == "0.1 (paper: 0.15)"
    assert thresholds(study).lines[0].cells[1].text == "0.30"


def test_verdicts_know_the_papers_one_run_and_its_episodes(square):
    pfds, never = square.cohorts["pfds"], square.cohorts["dshc_off"]
    near = rate_verdict(0.95, pfds, 5, "no_drop")
    assert near.word == "inside" and near.interval is not None
    # Five seeds of 96 to 100: another one, judged in 100 episodes, lies well below the worst.
    assert 0.85 < near.interval.low < 0.94
    assert rate_verdict(0.80, pfds, 5, "no_drop").word == "outside"
    assert rate_verdict(0.5, pfds, 4, "no_drop").word == "not evaluated"
    # Logarithms of 3000 to 3800 spread by 0.093, so one more run by 0.28 around 3388.
    found = advance_verdict(3900, pfds, 3)
    assert found.word == "inside" and found.interval is not None
    assert found.interval == pytest.approx((2546, 4508), rel=0.01)
    assert advance_verdict(5000, pfds, 3).word == "outside"
    # One run that never arrived beside five that did: 1 in 6 by chance.
    assert advance_verdict(None, pfds, 3).p == pytest.approx(1 / 6)
    assert advance_verdict(None, never, 3).p == 1
    assert reached_verdict(True, never, 3).p == pytest.approx(1 / 6)


def test_one_run_is_compared_by_fisher(study_of):
    one = study_of(Spec(rates={5: (0, 91)}, levels={3: 100})).cohorts["pfds"]
    found = rate_verdict(1.0, one, 5, "no_drop")
    assert found.word == "outside" and found.p == pytest.approx(0.0032, abs=1e-4)
    assert rate_verdict(0.97, one, 5, "no_drop").word == "inside"
    assert advance_verdict(3900, one, 3).word == "one run"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "simulator"),
        ({"sim": {"name": "isaaclab"}, "task": {"episode_steps": 60}}, "episode length"),
        ({"sim": {"name": "isaaclab"}, "curriculum": {"margin": [0.1] * 4}}, "promotion threshold"),
        ({"sim": {"name": "isaaclab"}, "curriculum": {"stop": 4}}, "promotion threshold"),
        ({"sim": {"name": "isaaclab"}, "budget": {"num_envs": 64}}, "budget"),
    ],
)
def test_what_is_not_the_papers_is_set_beside_it_without_a_verdict(study_of, changes, said):
    study = study_of(Spec(levels={3: 20}, rates={5: (40, 70)}, changes=changes))
    table = beside_the_paper(study)
    assert table and {r["verdict"] for r in table.records} == {""}
    assert said in table.notes[0]
    assert table.lines[0].cells[-1].text == "100% ours 70% [60, 78]"


def test_missing_cells_say_why(stored):
    rows = {line.cells[0].text: [c.text for c in line.cells] for line in encoders(stored).lines}
    assert rows["Flat-MLP"][3:9] == ["pending"] * 6
    assert rows["Branch-MLP"][3:9] == ["failed"] * 6
    assert rows["Set Transformer (PF)"][3:9] == ["running"] * 6
    assert rows["Set Transformer"][3:9] == ["5", "pending", "300", "800", "pending", "pending"]
    assert rows["DSHC_OFF"][-1] == "2/3, 1 failed"


def test_an_evaluation_that_failed_or_is_left_out_is_not_pending(study_of, tmp_path):
    five_balls = {5: (40, 90)}
    specs = [Spec("pfds", s, rates=five_balls) for s in (40, 41)]
    study_of(*specs, Spec("dshc", 40, rates=five_balls, episodes=90), Spec("pfds_off", 40))
    broken = next(f for f in find_runs(tmp_path / "runs") if f.identity.variant == "pfds_off")
    Events(broken, 1).append("failed", reason="out of memory")
    study = study_of()
    found = {r["variant"]: i for i, r in enumerate(encoders(study).records)}
    for variant, word in (("dshc", "left out"), ("pfds_off", "failed")):
        assert encoders(study).lines[found[variant]].cells[-2].text == word
        label = study.cohorts[variant].row.label
        row = next(li for li in comparisons(study).lines if li.cells[0].text == f"{label} − PFDS")
        assert [cell.text for cell in row.cells[-2:]] == [word] * 2
        row = next(line for line in runs(study).lines if line.cells[0].text == label)
        assert row.cells[-1].text == word


def test_levels_that_were_not_evaluated_are_not_pending(study_of):
    study = study_of(Spec(rates={1: (50, 60)}, selection={5: (1, 2)}))
    assert encoders(study).lines[-1].cells[-2].text == "not evaluated"
    assert runs(study).lines[0].cells[-1].text == "not evaluated"


def test_every_csv_can_be_read_back(stored):
    for table in every_table(stored):
        rows = list(csv.DictReader(io.StringIO(to_csv(table))))
        assert len(rows) == len(table.records), table.name


def test_one_pending_run_is_enough_for_all_tables(study_of):
    study = study_of(Spec(state="pending"))
    for table in every_table(study):
        assert table.lines, table.name


@pytest.fixture
def controlled(study_of):
    """One run that learns and three that do not."""
    full = {k: (100, 100) for k in range(1, 6)}
    return study_of(
        Spec("pfds", 40, levels={2: 1000}, rates={k: (40, 90) for k in full}),
        Spec("zero", 40, rates={k: (0, 30) for k in full}),
        Spec("lqr", 40, levels={2: 10, 3: 20, 4: 30, 5: 40}, rates=full),
    )


def test_controls_stand_below_the_encoders_and_in_no_comparison(controlled):
    table = encoders(controlled)
    assert [line.cells[0].text for line in table.lines[1:]] == ["Zero action", "LQR (clean state)"]
    assert [line.rule for line in table.lines] == [False, True, False]
    assert [cell.text for cell in table.lines[2].cells[1:4]] == ["–", "–", "5"]
    assert list(controlled.cohorts) == ["pfds"]
    assert {record["variant"] for record in costs(controlled).records} == {"pfds"}


def test_a_control_never_teaches(controlled):
    choice = choose(controlled)
    assert choice is not None and [item.run.variant for item in choice.ranking] == ["pfds"]


def test_missed_criteria_are_named_with_their_values(controlled):
    table = promotion(controlled)
    by_row = {line.cells[0].text: [cell.text for cell in line.cells[1:]] for line in table.lines}
    # 30 episodes of 500 steps and margin 0.2; 70 of 100 + i steps, i from 30, and margin -0.1.
    short = sum(100 + i for i in range(30, 100))
    length = (30 * 500 + short) / 100 / 500
    margin = (30 * 500 * 0.2 - short * 0.1) / (30 * 500 + short)
    assert by_row["Zero action"][0] == f"length {length:.3f}, margin {margin:.3f}"
    assert by_row["LQR (clean state)"] == ["margin 0.200", "margin 0.200", "passes", "passes"]
    record = next(r for r in table.records if r["variant"] == "zero" and r["k"] == 1)
    assert record["passes"] is False and record["length_ratio"] == pytest.approx(length)
    assert record["dangerous"] == pytest.approx(100 * 7 / (30 * 500 + short))


@pytest.mark.parametrize(
    "change", [{}, {"normalise": "frozen"}, {"critic": {"encoder": "flat_mlp"}}], ids=str
)
def test_pfds_is_blind_to_slots_only_if_all_around_it_is(study_of, change):
    study = study_of(*(Spec(variant, 40) for variant in ("pfds", "pfds_off", "dshc", "dshc_off")))
    runs = [replace(run, config={**run.config, **change}) for run in study.runs]
    notes = effects(make_study(Frames(runs))).notes
    assert any("PFDS to 3 and 5 balls with and without" in note for note in notes)
    assert any("cannot see the permutation" in note for note in notes) == (not change)


def test_the_criteria_of_the_last_check_before_a_promotion_bound(controlled):
    (run,) = (run for run in controlled.runs if run.variant == "pfds")
    met = {"length_ratio": 0.9, "margin": 0.4, "dangerous": 0.1, "edge": 0.01}
    met |= {"linear_error": 0.1, "yaw_error": 0.1}

    def at(*rows, levels):
        values = {
            f"criteria/{n}": np.array([row.get(n, v) for row in rows]) for n, v in met.items()
        }
        curves = Curves(np.arange(len(rows)), values)
        return replace(run, curves=curves, levels=levels)

    short, near, unknown = (
        {"length_ratio": 0.7},
        {"margin": 0.24, "edge": 0.05},
        dict.fromkeys(met, np.nan),
    )
    one = at(near, short, unknown, {}, near, unknown, levels={2: 2, 3: 4})
    assert bound_by(one, 1) == ["length_ratio"]
    assert bound_by(one, 2) == []
    assert bound_by(one, 3) == ["edge"], "level 3 asks for a margin of 0.2 only"
    assert bound_by(one, 4) is None, "it was never there"
    assert bound_by(replace(one, curves=Curves(np.empty(0))), 1) is None

    table = binding(controlled)
    lines = {line.cells[0].text: [cell.text for cell in line.cells[1:]] for line in table.lines}
    assert lines["Zero action"][1:] == ["–", "–", "–"]
    assert lines["Zero action"][0].startswith("never: ")
    assert [r["promoted"] for r in table.records if r["variant"] == "pfds"] == [True, *[False] * 3]


def test_the_speed_of_learning_counts_minutes_and_samples(square):
    table = learning(square)
    # 30,000 iterations of 1.5 s; 4096 x 24 samples each.
    assert table.lines[0].cells[0].text == "40"
    assert table.lines[0].cells[-1].text == "750.0 min, 2949.12 M"
    assert table.lines[0].cells[2].text == f"75.0 min, {3000 * 4096 * 24 / 1e6:.2f} M"
