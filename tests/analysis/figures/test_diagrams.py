"""The two figures of boxes: they say what the runs were made with, and all of it can be read."""

import re
from dataclasses import replace
from itertools import combinations, pairwise

import pytest
from matplotlib import rc_context
from matplotlib.patches import FancyBboxPatch
from matplotlib.text import Annotation, Text

from analysis.figures.architecture import STEPS, architecture
from analysis.figures.draw import STYLE, half_width, render
from analysis.figures.framework import framework
from analysis.figures.gallery import draw
from analysis.figures.sheet import broken, tied, width_of
from analysis.fixed import BALL_FRAMES, BALL_SIZE, BALL_SLOTS
from analysis.frames import Frames
from analysis.sources.local import load
from analysis.study import Asked, make_study
from s2m.config.encoder import EncoderCfg, cards
from s2m.encoders.registry import make_encoder
from tests.analysis.synthetic import FELT, GOOD, Spec, write_run, write_student

CHANGED = {
    "budget": {"steps": 17, "hidden": [96, 48, 24]},
    "task": {"episode_steps": 321},
    "sim": {"timestep": 0.005, "decimation": 5},
    "encoder": {"width": 40, "embedding": 20},
    "curriculum": {"stop": 3, "length_ratio": 0.77, "margin": [0.4, 0.35, 0.2, 0.1]},
}
LONG = "An encoder whose name is so long that no box can hold it, by A_B"


def said(drawing) -> str:
    """Return the lines of a figure, which an SVG has as comments."""
    assert drawing
    return "\n".join(re.findall("<!-- (.*?) -->", render(drawing)["svg"].decode()))


def changed(root, name="pfds", **fields):
    """Return the study of a run of which some fields are others."""
    write_run(root, Spec(name, changes={"encoder": {"source": "5" * 64}}))
    (run,) = load(root).runs
    return make_study(Frames([replace(run, **fields)]))


def test_the_overview_has_the_numbers_of_the_config(study_of, tmp_path):
    before = said(framework(study_of(Spec(), root=tmp_path / "one")))
    for text in (
        "4,096 environments",
        "control at 50 Hz",
        "4 × 5 × 14 → 32",
        "support margin ≥ 0.3",
    ):
        assert text in before
    assert "slots permuted" in before and "Student" not in before
    after = said(framework(study_of(Spec("dshc_off", changes=CHANGED), root=tmp_path / "other")))
    for text in (
        "DSHC", "encoder, G_diag", "of 17 steps", "2.09 billion samples", "96, 48, 24",
        "321 steps an episode", "control at 40 Hz", "4 × 5 × 14 → 20", "slots in fixed order",
        "k = 1 to 3 balls", "episode length ≥ 0.77", "support margin ≥ 0.4 to 0.35,",
    ):  # fmt: skip
        assert text in after and text not in before, text


def test_the_overview_shows_a_student_with_its_own_teacher(tmp_path):
    write_run(tmp_path, Spec(rates=GOOD))
    teacher = write_run(tmp_path, Spec("dshc", rates=GOOD))
    changes = {"distill": {"gru": 77, "channels": 11, "hidden": [33], "bc_steps": 1234}}
    pupil = write_student(tmp_path, teacher, FELT, changes=changes)
    drawing = framework(make_study(load(tmp_path)))
    lines = said(drawing)
    for text in ("DSHC", "77 units", "11 channels", "hidden layers 33", "round 0: 1,234 steps",
                 "rounds 1 to 2", "4 × 16 × 16 cells"):  # fmt: skip
        assert text in lines, text
    assert drawing and [name.split("/")[1] for name in drawing.runs] == [
        teacher.path.name, pupil.path.name
    ]  # fmt: skip


def test_encoders_are_drawn_once_each_the_baseline_first(study_of):
    study = study_of(
        *(Spec(name) for name in ("flat_mlp", "dshc", "dshc_off", "pfds", "pfds_off")),
        Spec("branch_mlp", state="pending"),
    )
    drawing = architecture(study)
    lines = said(drawing).splitlines()
    assert drawing and len(drawing.runs) == 4 and lines[0] == "PFDS"
    assert {"G_frame", "G_diag", "G₀", "166,000 parameters", "14 → 32 → 32"} <= {*lines}


def test_widths_and_pooling_come_from_the_config(study_of):
    changes = {"encoder": {"width": 40, "embedding": 20, "pool": "max"}}
    lines = said(architecture(study_of(Spec(changes=changes)))).splitlines()
    assert {"14 → 40 → 40", "max", "4 × 40", "160 → 80 → 20"} <= {*lines}


@pytest.mark.parametrize("name", cards())
def test_what_is_drawn_is_what_the_code_builds(name, study_of):
    cfg = EncoderCfg(name=name, width=24, embedding=18)
    layers = [
        tuple(reversed(weight.shape))
        for key, weight in make_encoder(cfg, BALL_FRAMES, BALL_SLOTS, BALL_SIZE).named_parameters()
        if key.endswith("weight")
    ]
    assert name in STEPS
    changes = {"encoder": {"width": 24, "embedding": 18}}
    lines = said(architecture(study_of(Spec(name, changes=changes)))).splitlines()
    sizes = [line.split(" → ") for line in lines if "→" in line]
    if name == "pfds":
        assert [tuple(map(int, pair)) for line in sizes for pair in pairwise(line)] == layers
        return
    *_, (before, r), (_, e) = layers
    (d, w) = layers[0]
    assert sizes[-1][-2:] == ["r", str(e)] and str(d) in (sizes[0][0], lines[-4])
    joined = re.fullmatch(r"(\d*)w", sizes[-1][-3].removeprefix("→ "))
    assert joined and before == int(joined[1] or 1) * w and r > 0


def test_an_encoder_of_ones_own_is_a_box_with_its_group(tmp_path):
    study = changed(tmp_path, label="My Net", group="G_diag")
    for drawing in (architecture(study), framework(study)):
        lines = said(drawing)
        assert "My Net" in lines and "G_diag" in lines
        assert "4 × 5 × 14 → 32" in lines and "φ" not in lines


def test_rows_of_other_settings_name_the_encoder(study_of):
    specs = [Spec(seed=s, changes={"encoder": {"width": s}}) for s in (16, 24)]
    study = study_of(*specs, asked=Asked(by=["encoder.width"]))
    lines = said(architecture(study)).splitlines()
    assert lines.count("PFDS") == 2 and {"14 → 16 → 16", "14 → 24 → 24"} <= {*lines}


def test_without_a_run_nothing_is_drawn(tmp_path):
    for study in (make_study(load(tmp_path)), make_study(load(tmp_path), asked=Asked(paper=True))):
        assert framework(study) is None and architecture(study) is None


def test_a_config_that_lacks_settings_is_drawn_without_them(study_of, tmp_path):
    (run,) = study_of(Spec("dshc")).runs
    config = {**run.config, "encoder": {"name": "dshc"}, "ppo": {}, "task": {}, "permute": True}
    config["sim"] = {"name": "x\n" * 99, "dt": 0.02}
    study = make_study(Frames([replace(run, config=config)]))
    assert "56 → w → w" in said(architecture(study)) and "γ = —" in said(framework(study))


def test_a_setting_that_is_in_no_table_is_drawn_anew(study_of, tmp_path):
    (run,) = study_of(Spec(state="pending")).runs
    task = run.config["task"] | {"episode_steps": 321}
    (tmp_path / "figures").mkdir()
    for config, shown in ((run.config, 500), (run.config | {"task": task}, 321)):
        study = make_study(Frames([replace(run, config=config)]))
        draw(study, [], tmp_path, lambda items, total, what: items)
        picture = (tmp_path / "figures" / "framework.svg").read_text()
        assert f"<!-- {shown} steps an episode -->" in picture


@pytest.mark.parametrize("half", [False, True], ids=["full", "half"])
@pytest.mark.parametrize("figure", [framework, architecture])
@pytest.mark.parametrize("which", ["stored", "long"])
def test_no_text_leaves_its_box_or_meets_another(figure, half, which, stored, tmp_path):
    study = stored if which == "stored" else changed(tmp_path, label=LONG)
    drawing = figure(study)
    with half_width() if half else rc_context(fname=STYLE):
        painted = drawing.paint()
        painted.draw_without_rendering()
        size = painted.get_size_inches()
        words = [t for t in painted.findobj(Text) if t.get_text() and not isinstance(t, Annotation)]
        boxes = [p for p in painted.findobj(FancyBboxPatch) if p.get_gid() == "box"]
        extents = [text.get_window_extent() for text in words]
        frames = [box.get_window_extent() for box in boxes]
    assert words and boxes and size[0] == (2.65 if half else 5.5)
    for text, place in zip(words, extents, strict=True):
        assert place.x0 >= 0 and place.x1 <= painted.bbox.width, text.get_text()
        assert place.y0 >= 0 and place.y1 <= painted.bbox.height, text.get_text()
        assert text.get_fontsize() >= (7.5 if half else 7)
        for frame in frames:
            if frame.overlaps(place):
                assert frame.x0 <= place.x0 and place.x1 <= frame.x1, text.get_text()
                assert frame.y0 <= place.y0 and place.y1 <= frame.y1, text.get_text()
    for (one, a), (other, b) in combinations(zip(words, extents, strict=True), 2):
        assert not a.padded(-1).overlaps(b.padded(-1)), (one.get_text(), other.get_text())


def test_lines_are_broken_at_spaces_that_are_not_tied():
    wide = width_of("aaa bbb", 8) + 0.01
    assert broken("aaa bbb ccc", wide, 8) == ["aaa bbb", "ccc"]
    assert broken(f"aaa {tied('bbb ccc')}", wide, 8) == ["aaa", tied("bbb ccc")]
    cut = broken("m" * 40, wide, 8)
    assert "".join(cut) == "m" * 40 and all(width_of(part, 8) <= wide for part in cut)
