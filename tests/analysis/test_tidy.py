"""Tidy frames: what is in them, and that the files beside the tables are the same."""

import pandas

from analysis import load
from analysis.build import main
from tests.analysis.synthetic import Spec, write_run


def test_every_setting_is_a_column_and_files_hold_the_same(tmp_path):
    for seed, gamma in ((40, 0.97), (41, 0.99)):
        write_run(tmp_path / "runs", Spec(seed=seed, levels={2: 9}, rates={5: (40, 90)},
                                          changes={"ppo": {"gamma": gamma}}))  # fmt: skip
    data = load(tmp_path / "runs")
    row = data.runs.set_index("seed").loc[40]
    assert (row["ppo.gamma"], row["encoder.name"], row["no_drop_5"]) == (0.97, "pfds", 0.9)
    assert (row["advance_2"], row["k_max"], row["task.episode_steps"]) == (9, 2, 500)
    assert set(data.curves.run) == set(data.episodes.run) == set(data.runs.run)
    assert len(data.episodes) == 200 and data.episodes.no_drop.sum() == 180
    last = data.curves[data.curves.iteration == 30_000]
    assert last["criteria/margin"].tolist() == [0.3, 0.3]
    some = load(tmp_path / "runs", only=["ppo.gamma>0.98"], metrics=["symmetry/diag_max"])
    assert some.runs.seed.tolist() == [41] and "symmetry/diag_max" in some.curves
    main([str(tmp_path / "runs"), "--out", str(tmp_path / "out"), "--by", "ppo.gamma"])
    for name in ("runs", "curves", "episodes"):
        frame = pandas.read_parquet(tmp_path / "out" / f"{name}.parquet")
        pandas.testing.assert_frame_equal(frame, getattr(data, name))
