"""Settings as the runs had them, beside the paper's: read from the frozen configs, not typed."""

from collections.abc import Mapping
from typing import Any

from analysis.fixed import BALL_FRAMES, BALL_SLOTS
from analysis.paper import published
from analysis.study import Study
from analysis.tables.model import Cell, Line, Table, column, plain

THRESHOLDS = {
    "margin": ("μ*", r"$\mu^*$"),
    "dangerous": ("f*_d", r"$f^*_d$"),
    "edge": ("f*_e", r"$f^*_e$"),
    "linear_error": ("ε*_v", r"$\epsilon^*_v$"),
    "yaw_error": ("ε*_ω", r"$\epsilon^*_\omega$"),
}


def value_of(config: Mapping[str, Any], setting: str) -> Any:
    """Return a setting of a resolved config by its dotted name; None if it has none."""
    if setting == "ball frames":
        return BALL_FRAMES
    if setting == "ball slots":
        return BALL_SLOTS
    if setting == "control frequency":
        sim = config["sim"]
        period = sim["dt"] if "dt" in sim else sim["timestep"] * sim["decimation"]
        return 1 / period
    value: Any = config
    for part in setting.split("."):
        if not isinstance(value, Mapping) or part not in value:
            return None
        value = value[part]
    return value


def show(value: Any) -> str:
    """Return a setting as text."""
    if isinstance(value, list | tuple):
        return ", ".join(show(item) for item in value)
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "—"}[value]
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def alike(mine: Any, theirs: Any) -> bool:
    """Tell whether two settings are the same, numbers up to rounding."""
    if isinstance(mine, int | float) and isinstance(theirs, int | float):
        return abs(mine - theirs) <= 1e-9 * max(abs(mine), abs(theirs))
    return mine == theirs


def _power_of_ten(value: Any) -> str:
    """Return a setting in LaTeX, a small number as the paper writes it."""
    if isinstance(value, float) and 0 < abs(value) < 0.01:
        digits, _, exponent = f"{value:.6e}".partition("e")
        return rf"${float(digits):g}\times 10^{{{int(exponent)}}}$"
    return plain(show(value)).tex


def hyperparameters(study: Study) -> Table:
    """Return the PPO settings; a difference from the paper is named in the last column."""
    config = study.config or {}
    lines, records = [], []
    for item in [*published()["hyperparameters"], *published()["unpublished"]]:
        mine, theirs = value_of(config, item["setting"]), item.get("value")
        known = theirs is not None
        note = (
            ""
            if known and alike(mine, theirs)
            else f"paper: {show(theirs) if known else 'not given'}"
        )
        first = not known and all(record["paper"] is not None for record in records)
        value = Cell(show(mine), _power_of_ten(mine))
        lines.append(Line([plain(item["name"]), value, plain(note)], rule=first))
        records.append(
            {"name": item["name"], "setting": item["setting"], "value": show(mine),
             "paper": show(theirs) if known else None}
        )  # fmt: skip
    budget = config.get("budget", {})
    return Table(
        "hyperparameters",
        "Hyper-parameters",
        f"PPO settings shared by all runs (budget {budget.get('name')}, "
        f"version {budget.get('version')}, simulator {config.get('sim', {}).get('name')}).",
        [column("Parameter", align="l"), column("Value", align="l"), column("Note", align="l")],
        lines,
        records=records,
        label="tab:supp_hyperparams",
    )


def thresholds(study: Study) -> Table:
    """Return the promotion thresholds per level."""
    mine = (study.config or {}).get("curriculum", {})
    theirs = published()["curriculum"]
    lines, records = [], []
    for i in range(len(theirs["margin"])):
        cells = [Cell(f"{i + 1} → {i + 2}", rf"${i + 1} \to {i + 2}$")]
        record: dict[str, Any] = {"level": i + 1}
        for name in THRESHOLDS:
            value, paper = mine[name][i], theirs[name][i]
            text = f"{value:.2f}" if alike(value, paper) else f"{value:g} (paper: {paper:.2f})"
            cells.append(plain(text))
            record |= {name: value, f"{name}_paper": paper}
        lines.append(Line(cells))
        records.append(record)
    notes = []
    for name in ("length_ratio", "required_successes", "min_stage_episodes", "min_steps_per_level"):
        paper = "" if alike(mine[name], theirs[name]) else f" (paper: {show(theirs[name])})"
        words = name.replace("_", " ").capitalize()
        notes.append(f"{words}: {show(mine[name])}{paper}.")
    return Table(
        "thresholds",
        "Promotion thresholds",
        "Curriculum promotion thresholds per level. Least mean support margin, largest "
        "fractions of dangerous steps and of steps with a ball outside, largest velocity and yaw "
        "rate errors.",
        [column("Level"), *(column(text, tex) for text, tex in THRESHOLDS.values())],
        lines,
        notes=notes,
        records=records,
        label="tab:curriculum_thresholds",
    )
