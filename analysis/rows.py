"""The rows of the tables: what each is called, its symmetry group, how it is drawn.

A row is a variant, of which a run says so itself, or its encoder's class; or runs that are alike in
the settings that --by names.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from analysis.dotted import covers, describe, require_setting, settings, told, value
from analysis.frames import Run
from analysis.tables.model import escape
from s2m.config.encoder import Card, cards
from s2m.console.errors import UserError
from s2m.run.settings import PRESETS, differing, same

GROUP_TEX = {"G_0": "$G_0$", "G_diag": r"$G_{\mathrm{diag}}$", "G_frame": r"$G_{\mathrm{frame}}$"}
GROUP_TEXT = {"G_0": "G₀", "G_diag": "G_diag", "G_frame": "G_frame"}

PAPER = (
    "flat_mlp", "branch_mlp", "dshc_off", "dshc", "set_transformer", "set_transformer_pf",
    "pfds_off", "pfds",
)  # fmt: skip
"""The eight rows of Table 1, in its order."""

CONTROLS = ("zero", "untrained", "lqr", "lqr_mean")
"""Rows that have learned nothing: see s2m/learning/controls.py."""

_CONTROLS = {
    "zero": "Zero action", "untrained": "Untrained policy", "lqr": "LQR (clean state)",
    "lqr_mean": "LQR on the mean ball",
}  # fmt: skip
_PALETTE = ("#CC79A7", "#56B4E9", "#7A5195", "#8C6D31", "#17BECF", "#B5651D")
"""For encoders without a colour of their own; apart from each other and from those of s2m."""
_DISTINCT = (
    "#0072B2", "#D55E00", "#009E73", "#E69F00", "#CC79A7", "#56B4E9", "#000000", "#7A5195",
    "#8C6D31", "#17BECF", "#B5651D", "#BCBD22",
)  # fmt: skip
"""For rows that differ in more than the encoder."""
_SAID = {"agent", "encoder.name", "encoder.source", "permute"}
"""Settings that a variant says."""


@dataclass(frozen=True)
class Row:
    """One variant: an encoder with or without slot permutation; or one value of --by."""

    variant: str
    """Its name in files: pfds_off, or ppo.gamma=0.97."""
    label: str
    tex: str
    group: str
    """G_0, G_diag, G_frame, – for a control, or ? for an encoder this page does not know."""
    permute: bool
    colour: str

    @property
    def is_control(self) -> bool:
        """Whether it has learned nothing."""
        return self.variant in CONTROLS

    @property
    def dashes(self) -> str:
        """The line style: dashed without permutation."""
        return "-" if self.permute else "--"


def row(variant: str, run: Run | None = None) -> Row:
    """Return the row of a variant as its runs, or the encoder's class, describe it."""
    encoder = variant.removesuffix("_off")
    permute = encoder == variant
    known = cards().get(encoder, Card(encoder, "?", encoder))
    label = (run.label if run else "") or _CONTROLS.get(variant, known.label)
    tex = known.tex if known.tex and label == known.label else escape(label)
    if not permute:
        label += "_OFF"
        tex = tex[:-1] + r"\_OFF}" if tex.endswith("}") else tex + r"\_OFF"
    group = "–" if variant in CONTROLS else (run.group if run else "") or known.group
    colour = (run.colour if run else "") or known.colour
    return Row(variant, label, tex, group, permute, colour)


def encoder_row(run: Run) -> Row:
    """Return what a run's encoder is called, with its group, whatever makes the rows."""
    return row(run.variant.removesuffix("_off"), run)


def in_order(variants: Iterable[str]) -> list[str]:
    """Return those of the paper's eight rows, in its order, then all others by name."""
    variants = set(variants)
    return [*(v for v in PAPER if v in variants), *sorted(variants - {*PAPER, *CONTROLS})]


def coloured(rows: Sequence[Row], alike: bool = False) -> list[Row]:
    """Give every encoder without a colour a free one; `alike`: all rows, which share theirs."""
    if alike:
        return [replace(row, colour=_DISTINCT[i % len(_DISTINCT)]) for i, row in enumerate(rows)]
    taken = {row.colour for row in rows}
    free = [colour for colour in _PALETTE if colour not in taken] or list(_PALETTE)
    lacking = sorted({row.variant.removesuffix("_off") for row in rows if not row.colour})
    chosen = {name: free[i % len(free)] for i, name in enumerate(lacking)}
    return [
        row if row.colour else replace(row, colour=chosen[row.variant.removesuffix("_off")])
        for row in rows
    ]


def variant_rows(runs: Sequence[Run], names: Iterable[str]) -> dict[str, tuple[Row, list[Run]]]:
    """Return the rows of some variants with their runs."""
    found = {name: [run for run in runs if run.variant == name] for name in names}
    rows = [row(name, members[0] if members else None) for name, members in found.items()]
    return dict(zip(found, zip(coloured(rows), found.values(), strict=True), strict=True))


def split(runs: Sequence[Run], by: Sequence[str]) -> dict[str, tuple[Row, list[Run]]]:
    """Return a row for each combination of some settings, or sections of them, with its runs.

    `differing` among the settings that are meant makes the names; runs of a row are alike in them.
    """
    known = [settings(run) for run in runs]
    names = _leaves(runs, by)
    if set(names) <= _SAID:
        return variant_rows(runs, in_order({run.variant for run in runs}))
    said = "encoder.name" in names
    rest = [name for name in names if not (said and name in _SAID)]
    groups: dict[tuple[Any, ...], list[int]] = {}
    for i, found in enumerate(known):
        lead = (runs[i].variant,) if said else ()
        groups.setdefault((*lead, *(same(value(found, name)) for name in rest)), []).append(i)
    rows = {}
    for members in groups.values():
        run, found = runs[members[0]], known[members[0]]
        label = describe(found, rest)
        key = " ".join(f"{name}={same(value(found, name))}" for name in rest)
        base = row(run.variant, run)
        permute = base.permute or "permute" not in names
        if said:
            key, label, tex = f"{run.variant} {key}", f"{base.label} {label}", base.tex
            one = replace(
                base, variant=key, label=label, tex=f"{tex} {escape(describe(found, rest))}"
            )
        else:
            one = Row(key, label, escape(label), base.group, permute, base.colour)
        rows[key] = one, [runs[i] for i in members], _rank(run, found, rest, said)
    ordered = sorted(rows.values(), key=lambda item: item[2])
    painted = coloured([one for one, *_ in ordered], alike=True)
    pairs = zip(painted, ordered, strict=True)
    return {one.variant: (one, members) for one, (_, members, _) in pairs}


def _rank(run: Run, found: Any, names: Sequence[str], said: bool) -> tuple[Any, ...]:
    """Order rows by the paper's encoders, then by value, numbers as numbers."""
    place = PAPER.index(run.variant) if run.variant in PAPER else len(PAPER)
    values = [same(value(found, name)) for name in names]
    numbers = [(0, v, "") if isinstance(v, int | float) else (1, 0, str(v)) for v in values]
    return (place if said else 0, run.variant if said else "", *numbers)


def _leaves(runs: Sequence[Run], by: Sequence[str]) -> list[str]:
    """Return the settings that make the rows: those meant by a name in which runs differ."""
    found = [settings(run) | told(run) for run in runs]
    known = {name for one in found for name in one}
    apart = [name for name in differing(found) if any(covers(b, name) for b in by)]
    for name in by:
        if any(covers(name, leaf) for leaf in apart):
            continue
        only = name if name in known else f"{name}.name"
        if only not in known:
            raise UserError(f"--by {name}: the runs do not differ in any setting of {name}")
        apart.append(only)
    order = {name: i for i, name in enumerate(by)}
    return sorted(apart, key=lambda leaf: min(i for n, i in order.items() if covers(n, leaf)))


def require_alike(runs: Sequence[Run], by: Sequence[str]) -> None:
    """Refuse runs that differ in more than the settings that make the rows, and the seed."""
    found = [told(run) for run in runs]
    known = {name for run, one in zip(runs, found, strict=True) for name in settings(run) | one}
    for name in by:
        require_setting(name, known)
    free = (*by, "seed", "experiment")

    def apart(known: Sequence[dict[str, Any]]) -> list[str]:
        return [n for n in differing(known) if not any(covers(name, n) for name in free)]

    more = apart(found)
    # The name of a budget decides nothing: what it sets does.
    unnamed = [{k: v for k, v in one.items() if k != "budget.name"} for one in found]
    if not more or (more == ["budget.name"] and not apart(unnamed)):
        return
    said = ", ".join(f"{name} ({_values(found, name)})" for name in more[:5])
    said += f" and {len(more) - 5} more" if len(more) > 5 else ""
    names = [name.removesuffix(".name") if name in PRESETS else name for name in more]
    chosen = f"{names[0]}={same(found[0].get(more[0]))}"
    raise UserError(
        f"the runs differ in more than {', '.join(by)} and seed: {said}. Add what should make "
        f"rows: --by {' '.join([*by, *names[:5]])}; or choose: --only {chosen}"
    )


def _values(found: Sequence[Any], name: str) -> str:
    values = sorted({str(one.get(name, "default")) for one in found})
    return ", ".join(values[:4]) + (", ..." if len(values) > 4 else "")
