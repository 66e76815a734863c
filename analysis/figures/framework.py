"""The figure of the whole method (the paper's Fig. 1), with the sizes of these runs."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from matplotlib.figure import Figure

from analysis.figures.draw import Drawing, is_narrow, leading
from analysis.figures.sheet import Area, Box, Sheet, tied
from analysis.figures.tactset import shown
from analysis.fixed import (
    ACTIONS,
    BALL_FRAMES,
    BALL_SIZE,
    BALL_SLOTS,
    CELLS,
    COMMAND_SIZE,
    PROPRIO_FRAMES,
    PROPRIO_SIZE,
)
from analysis.frames import Run, StudentRun
from analysis.rows import GROUP_TEXT, encoder_row
from analysis.study import Study
from analysis.tables.settings import show, value_of
from s2m.config.critic import SAME
from s2m.config.curriculum import AT_LEAST
from s2m.console.text import one_line

CRITERIA = {
    "length_ratio": "episode length", "margin": "support margin", "dangerous": "dangerous steps",
    "edge": "steps outside", "linear_error": "velocity error", "yaw_error": "yaw rate error",
}  # fmt: skip
UNITS = {"linear_error": " m/s", "yaw_error": " rad/s"}
SIDE, GAP, STEP = 0.08, 0.2, 0.12
"""Inches at the sides of a band, from box to box, and from box to box below it."""
LONGEST = 60
"""Letters of a setting."""


def framework(study: Study) -> Drawing | None:
    """Return the system overview: a student and its teacher, or training alone."""
    student, cohort = shown(study), leading(study)
    if student is not None:
        teacher = study.teacher_of(student)
        cohort = next(one for one in study.every.values() if teacher in one.runs)
    elif cohort is not None:
        teacher = cohort.runs[0]
    else:
        return None
    bands = [("Teacher: PPO on privileged observations", _teacher(teacher, cohort.row.colour))]
    if student is not None:
        bands.append(("Student: TactSet, distilled by DAgger", _student(student)))
    below = " Below: its student, which feels contacts instead of seeing balls." if student else ""
    return Drawing(
        "framework",
        "System overview",
        f"Training of {cohort.row.label}, with the settings of its runs: balls pass the encoder, "
        "proprioception and command go to actor and critic as they are. The curriculum adds balls "
        f"to the simulator, PPO trains the networks.{below}",
        lambda: _paint(bands),
        [teacher.id, *([student.id] if student else [])],
    )


def _said(config: Mapping[str, Any], setting: str) -> str:
    """Return a setting as it stands in a config, on one line; a dash if it has none."""
    return tied(one_line(show(value_of(config, setting)))[:LONGEST])


def _teacher(run: Run, colour: str) -> list[list[Box]]:
    """Return the boxes of training: those that act in each step, then those that steer it."""
    config, budget = run.config, run.config["budget"]
    balls = f"{BALL_FRAMES} × {BALL_SLOTS} × {BALL_SIZE}"
    known, permuted = encoder_row(run), value_of(config, "permute")
    critic = value_of(config, "critic.encoder")
    simulator = [
        _said(config, "sim.name"),
        f"{budget['num_envs']:,} environments",
        f"control at {_said(config, 'control frequency')} Hz",
        f"{_said(config, 'task.episode_steps')} steps an episode",
    ]
    seen = [
        f"proprioception {tied(f'{PROPRIO_FRAMES} × {PROPRIO_SIZE}')}",
        f"command {COMMAND_SIZE}",
        f"balls {tied('H × N × d =')} {tied(balls)}",
        "slots permuted in each frame" if permuted else "slots in fixed order",
    ]
    encoder = [
        f"encoder, {GROUP_TEXT.get(known.group, known.group)}",
        f"{balls} → {_said(config, 'encoder.embedding')}",
    ]
    if critic not in (None, SAME):
        encoder.append(f"critic: {_said(config, 'critic.encoder')}")
    network = [
        f"hidden layers {_said(config, 'budget.hidden')}",
        f"actor: {ACTIONS} joint offsets",
        "critic: clean balls",
    ]
    steps = tied(f"{budget['iterations']:,} iterations"), tied(f"of {budget['steps']:,} steps")
    samples = budget["iterations"] * budget["num_envs"] * budget["steps"]
    ppo = [
        " ".join(steps),
        tied(f"{_rounded(samples)} samples"),
        f"γ = {_said(config, 'ppo.gamma')}",
    ]
    acting = [
        Box("Simulator", simulator),
        Box("Observations", seen),
        Box(known.label, encoder, colour),
        Box("Actor and critic", network),
    ]
    return [acting, [_curriculum(config["curriculum"]), Box("PPO", ppo)]]


def _curriculum(config: Mapping[str, Any]) -> Box:
    """Return the box of the promotion criteria, with the thresholds of the first and last level."""
    levels = range(config["start"], config["stop"])
    found = ["one more ball when (first to last level)"]
    for name, said in CRITERIA.items():
        given = config[name]
        limits = given[levels.start - 1 : levels.stop - 1] if isinstance(given, list) else [given]
        ends = [f"{limit:g}" for limit in dict.fromkeys([*limits[:1], *limits[-1:]])]
        sign = "≥" if name in AT_LEAST else "≤"
        found.append(tied(f"{said} {sign} {' to '.join(ends)}{UNITS.get(name, '')}"))
    if not levels:
        return Box(f"Curriculum: k = {config['stop']} balls")
    title = f"Curriculum: k = {config['start']} to {config['stop']} balls"
    return Box(title, [found[0], ", ".join(found[1:])])


def _rounded(count: int) -> str:
    return f"{count / 1e9:.3g} billion" if count >= 1e9 else f"{count / 1e6:.3g} million"


def _student(student: StudentRun) -> list[list[Box]]:
    """Return the boxes of the student: its network, then how it is taught."""
    config = student.config["distill"]
    channels, units, code, hidden, first, later, labels = (
        _said(config, name)
        for name in (
            "channels", "gru", "embedding", "hidden", "bc_steps", "dagger_steps", "labels"
        )
    )  # fmt: skip
    memory = "with memory" if config.get("memory", True) else "without memory"
    beside = PROPRIO_FRAMES * PROPRIO_SIZE + COMMAND_SIZE
    head = [
        f"with proprioception and command ({beside})",
        f"hidden layers {hidden}",
        tied(f"→ {ACTIONS} joint offsets"),
    ]
    network = [
        Box("Contact map", [f"{BALL_FRAMES} × {CELLS} × {CELLS} cells", "union of all contacts"]),
        Box("CNN", [tied("3 × 3"), f"{channels} channels → {code}"]),
        Box(
            "GRU",
            [
                f"{units} units → {code}",
                memory,
            ],
        ),
        Box("Policy head", head),
    ]
    more = config["rounds"] - 1
    rounds = [f"round 0: {first} steps, {tied('teacher acts')}"]
    if more:
        said = "round 1" if more == 1 else f"rounds 1 to {more}"
        rounds.append(f"{said}: {later} steps each, {tied('student acts')}")
    return [network, [Box("DAgger", [*rounds, f"teacher labels all steps ({labels} balls)"])]]


def _paint(bands: Sequence[tuple[str, list[list[Box]]]]) -> Figure:
    sheet, top = Sheet(), 0.02
    for i, (title, rows) in enumerate(bands):
        if i:
            x = sheet.width / 2
            sheet.arrow((x, top), (x, top + GAP))
            sheet.words(x + 0.06, top + 0.04, "labels", sheet.small, "left")
            top += GAP
        top = _band(sheet, title, rows, top)
    return sheet.figure(top + 0.02)


def _band(sheet: Sheet, title: str, rows: Sequence[Sequence[Box]], begin: float) -> float:
    """Draw a band from a height on and return where it ends."""
    acting, steering = rows
    left, width = SIDE, sheet.width - 2 * SIDE
    top = sheet.heading(title, left, begin + 0.04, width) + 0.04
    if is_narrow():
        below = _ring(sheet, acting, steering, top, left, width)
    else:
        below = _line(sheet, acting, steering, top + SIDE, left, width)
    end = below[-1].bottom + SIDE
    sheet.frame(Area(0.02, begin, sheet.width - 0.04, end - begin), "0.8", "0.96", zorder=0.5)
    return end


def _line(
    sheet: Sheet, acting: Sequence[Box], steering: Sequence[Box], top: float, *span: float
) -> list[Area]:
    """Draw what acts in a row, and below it what steers it."""
    left, width = span
    places = sheet.row(acting, left, top, width, GAP)
    for one, other in pairwise(places):
        sheet.arrow((one.right, one.middle[1]), (other.left, one.middle[1]))
    first, last = places[0], places[-1]
    shares = [len(acting) - 1, 1] if len(steering) > 1 else [1]
    below = sheet.row(steering, left, last.bottom + GAP, width, GAP, shares)
    sheet.arrow((last.middle[0], below[-1].top), (last.middle[0], last.bottom))
    if len(steering) > 1:
        x, y = first.middle[0], first.top - SIDE
        sheet.arrow((x, below[0].top), (x, first.bottom))
        sheet.arrow((last.middle[0], last.top), (last.middle[0], y), (x, y), (x, first.top))
    return below


def _ring(
    sheet: Sheet, acting: Sequence[Box], steering: Sequence[Box], top: float, *span: float
) -> list[Area]:
    """Draw what acts in two rows, the second from right to left, and below it what steers it."""
    left, width = span
    one, two = sheet.row(acting[:2], left, top, width, GAP)
    four, three = sheet.row(acting[:1:-1], left, one.bottom + GAP, width, GAP)
    sheet.arrow((one.right, one.middle[1]), (two.left, one.middle[1]))
    sheet.arrow((two.middle[0], two.bottom), (two.middle[0], three.top))
    sheet.arrow((three.left, four.middle[1]), (four.right, four.middle[1]))
    if len(steering) > 1:
        sheet.arrow((four.middle[0], four.top), (four.middle[0], one.bottom))
    places = []
    for box in steering[::-1]:
        top = (places or [four])[-1].bottom + (STEP if places else GAP)
        places += sheet.row([box], left, top, width, GAP)
    sheet.arrow((four.middle[0], places[0].top), (four.middle[0], four.bottom))
    return places
