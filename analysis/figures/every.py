"""The list of all figures, in the order of the report."""

from analysis.figures.curves import criteria, diagnostic, symmetry
from analysis.figures.draw import Drawing
from analysis.figures.levels import ablation, progression, seed_band, survival
from analysis.figures.success import success
from analysis.figures.tactset import rounds, tactset
from analysis.study import Study


def every_figure(study: Study) -> list[Drawing]:
    """Return the drawings of a study; nothing is painted yet."""
    made = [
        success, progression, ablation, seed_band, criteria, diagnostic, survival, symmetry,
        tactset, rounds,
    ]  # fmt: skip
    return [make(study) for make in made]
