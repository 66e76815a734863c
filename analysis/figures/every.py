"""The list of all figures, in the order of the report."""

from analysis.figures.architecture import architecture
from analysis.figures.curves import criteria, diagnostic, symmetry, training
from analysis.figures.draw import Drawing
from analysis.figures.framework import framework
from analysis.figures.levels import ablation, progression, seed_band, survival
from analysis.figures.success import profiles, success
from analysis.figures.tactset import rounds, tactset
from analysis.study import Study


def every_figure(study: Study) -> list[Drawing]:
    """Return the drawings that a study has something for; nothing is painted yet."""
    made = [
        success, profiles, progression, ablation, seed_band, criteria, diagnostic, survival,
        symmetry, tactset, rounds, framework, architecture,
    ]  # fmt: skip
    drawings = [make(study) for make in made]
    drawings += [training(study, metric) for metric in study.asked.metrics]
    return [drawing for drawing in drawings if drawing is not None]
