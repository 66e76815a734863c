"""The survey of runs: what is only known from all of them."""

from s2m.cluster.state import RunState
from s2m.monitor.survey import SurveyedRun, forecast, typical_levels
from s2m.run.folder import RunFolder


def surveyed(name, status, levels, iteration):
    state = RunState(
        status, iteration=iteration, total=600, levels=levels, seconds=2.0, stage="train"
    )
    return SurveyedRun(RunFolder(f"runs/x/{name}"), state)


def test_levels_are_forecast_from_runs_of_the_same_variant():
    others = [surveyed(f"pfds-s{i}-0", "finished", {3: 100 + 20 * i}, 600) for i in range(3)]
    young, old, dshc = (
        surveyed("pfds-s9-0", "running", {}, 30),
        surveyed("pfds-s8-0", "running", {}, 500),
        surveyed("dshc-s9-0", "running", {}, 30),
    )
    typical = typical_levels([*others, young, old, dshc])
    assert forecast(others[0], 3, typical) == "at 100"
    assert forecast(young, 3, typical) == "in 3 min 00 s"
    assert forecast(old, 3, typical) == "late"
    assert forecast(dshc, 3, typical) == forecast(young, 5, typical) == ""
