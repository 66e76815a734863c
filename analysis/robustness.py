"""Robustness: no-drop rates of policies that were evaluated under shifts, without retraining.

python -m analysis.robustness FOLDER [--publish] reads what `python -m s2m.evaluate -m` has stored
in a folder and writes robustness.csv, .md, .tex, .svg and .png beside it; that command calls it
itself. With --publish table and figure also go into docs/results.md.
"""

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analysis.docs import replace_section
from analysis.figures.draw import Drawing, new_figure, render
from analysis.rows import CONTROLS, Row, coloured, in_order, row
from analysis.tables.model import Cell, Line, Table, column, escape, missing, plain
from analysis.tables.write import to_csv, to_latex, to_markdown
from s2m.config.shift import name_of
from s2m.console.errors import UserError, run_command
from s2m.run.files import read_sealed, write_file
from s2m.run.kind import TACTSET
from s2m.run.rates import Count, wilson

ROOT = Path(__file__).resolve().parents[1]
PAGE, FIGURES = ROOT / "docs" / "results.md", ROOT / "docs" / "figures" / "study"
FOLDER = "evaluations"
COLUMNS = 3
"""Panels side by side."""
TITLE = "Robustness"
CAPTION = (
    "Robustness: no-drop rate under shifted physics, commands, noise and delays. Policies are "
    "evaluated without retraining."
)


@dataclass(frozen=True)
class Judged:
    """One policy under one shift, or as trained."""

    run: str
    row: Row
    seed: int
    iteration: int
    shift: dict[str, str]
    own: dict[str, Any]
    """What the run itself has for the settings that are shifted."""
    settings: dict[str, Any]
    successes: dict[int, dict[str, int]]
    """By number of balls: n, strict, no_drop."""

    def count(self, k: int | None = None) -> Count:
        """Return the episodes without a drop, of one number of balls or of all together."""
        chosen = [r for balls, r in self.successes.items() if k in (None, balls)]
        return Count(sum(r["no_drop"] for r in chosen), sum(r["n"] for r in chosen))


def load(folder: Path) -> list[Judged]:
    """Read the evaluations below a folder, which must have evaluated all policies alike."""
    paths = sorted((folder / FOLDER).glob("*.json"))
    if not paths:
        raise UserError(f"{folder} has no evaluations: python -m s2m.evaluate -m makes them")
    found = []
    for path in paths:
        content = read_sealed(path)
        variant, label = content["variant"], content["label"]
        drawn = row(variant)
        if variant == TACTSET:
            label = "TactSet"
        if label and drawn.label.removesuffix("_OFF") != label:  # an encoder of one's own
            drawn = replace(drawn, label=label, tex=escape(label))
        if content["colour"]:
            drawn = replace(drawn, colour=content["colour"])
        found.append(
            Judged(
                content["run"], drawn, content["seed"], content["iteration"], content["shift"],
                content["own"], content["settings"],
                {int(k): counts for k, counts in content["successes"].items()},
            )
        )  # fmt: skip
    settings = {str({n: v for n, v in one.settings.items() if n != "slots"}): one for one in found}
    if len(settings) > 1:
        raise UserError(
            f"{folder} holds evaluations of different settings ({' and '.join(sorted(settings))}): "
            "give each its own out="
        )
    rows = list(dict.fromkeys(one.row for one in found))
    painted = dict(zip(rows, coloured(rows), strict=True))
    return [replace(one, row=painted[one.row]) for one in found]


def _by_row(found: Sequence[Judged]) -> dict[Row, list[Judged]]:
    """Return the evaluations by the rows of the tables, in their order."""
    rows = {one.row.variant: one.row for one in found}
    order = [name for name in (*in_order({*rows}), *CONTROLS) if name in rows]
    return {rows[name]: [one for one in found if one.row.variant == name] for name in order}


def _shifts(found: Sequence[Judged]) -> list[dict[str, str]]:
    """Return the shifts, none first, then by the settings and their values."""

    def rank(shift: dict[str, str]) -> tuple:
        return len(shift), sorted(shift), [(_number(v), v) for _, v in sorted(shift.items())]

    distinct = {name_of(one.shift): one.shift for one in found}
    return sorted(distinct.values(), key=rank)


def _number(value: object) -> float:
    try:
        return float(str(value))
    except ValueError:
        return math.inf


def make_table(found: Sequence[Judged]) -> Table:
    """Return no-drop rates: a line per shift, a column per encoder."""
    rows, levels = _by_row(found), sorted({k for one in found for k in one.successes})
    several = len(levels) > 1
    lines, records, widest = [], [], 0.0
    for shift in _shifts(found):
        cells, runs = [plain(name_of(shift))], []
        for judged in rows.values():
            here = [one for one in judged if one.shift == shift]
            if not here:
                cells.append(missing("—"))
                continue
            every, most = (_pooled(here, k) for k in (None, levels[-1]))
            widest = max(widest, *((high - low) / 2 for low, high in map(wilson, (every, most))))
            brackets = f" ({100 * most.rate:.0f})" if several else ""
            cells.append(plain(f"{100 * every.rate:.0f}{brackets}"))
            runs += [one.run for one in here]
            records += [record for one in here for record in _records(one)]
        lines.append(Line(cells, runs, rule=len(lines) == 1))
    settings = found[0].settings
    seeds = {row.label: len({one.run for one in judged}) for row, judged in rows.items()}
    balls = _counted(levels[-1], "ball")
    if several:
        balls = f"{', '.join(map(str, levels[:-1]))} and {balls} pooled; in round brackets {balls}"
    return Table(
        "robustness",
        TITLE,
        f"{CAPTION} In %, with {balls}.",
        [
            column("shift", align="l"),
            *(replace(column(row.label), head=Cell(row.label, row.tex)) for row in rows),
        ],
        lines,
        notes=[
            f"{_counted(settings['episodes'], 'episode')} per number of balls, seed "
            f"{settings['seed']}: the same in all cells. 95 % Wilson half-widths are at most "
            f"{100 * widest:.0f} points; they do not cover how policies differ between training "
            "seeds.",
            "Policies: " + ", ".join(f"{n} of {label}" for label, n in seeds.items()) + ".",
        ],
        records=records,
    )


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _pooled(judged: Sequence[Judged], k: int | None = None) -> Count:
    counts = [one.count(k) for one in judged]
    return Count(sum(count.hits for count in counts), sum(count.n for count in counts))


def _records(one: Judged) -> list[dict[str, Any]]:
    records = []
    for k, counts in sorted(one.successes.items()):
        low, high = wilson(one.count(k))
        records.append(
            {
                "variant": one.row.variant, "run": one.run, "seed": one.seed,
                "iteration": one.iteration, "shift": name_of(one.shift), "k": k, **counts,
                "no_drop_low": low, "no_drop_high": high,
            }
        )  # fmt: skip
    return records


def make_figure(found: Sequence[Judged]) -> Drawing:
    """Return no-drop rates against each setting, a line per encoder; pairs in a panel of names."""
    rows = _by_row(found)
    keys = [shift.keys() for shift in _shifts(found) if len(shift) == 1]
    single = list(dict.fromkeys(key for names in keys for key in names))
    several = [shift for shift in _shifts(found) if len(shift) > 1]
    panels = [*single, *([""] if several else [])] or [""]

    def paint() -> Figure:
        high = -(-len(panels) // COLUMNS)
        figure, grid = new_figure(0.5 + 1.5 * high, high, min(COLUMNS, len(panels)), sharey=True)
        for axes, key in zip(grid.flat, panels, strict=False):
            shifts = [{}, *several] if not key else [s for s in _shifts(found) if [*s] == [key]]
            _panel(axes, key, shifts, rows)
        for axes in grid.flat[len(panels) :]:
            axes.set_visible(False)
        grid[0, 0].set_ylim(0, 100)
        for axes in grid[:, 0]:
            axes.set_ylabel("no-drop, %")
        handles, labels = grid[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=4)
        return figure

    return Drawing(
        "robustness",
        TITLE,
        f"{CAPTION} All numbers of balls together; one line per encoder, dashed without slot "
        "permutation. Dotted: the value of training.",
        paint,
        sorted({one.run for one in found}),
    )


def _panel(
    axes: Axes, key: str, shifts: Sequence[dict[str, str]], rows: dict[Row, list[Judged]]
) -> None:
    own = {one.own[key] for judged in rows.values() for one in judged if key in one.own}
    numeric = bool(key) and all(
        math.isfinite(_number(v)) for v in [*own, *(s[key] for s in shifts)]
    )
    places: list[tuple[float, dict[str, str]]] = [(float(i), s) for i, s in enumerate(shifts)]
    if numeric:
        places = [(_number(shift[key]), shift) for shift in shifts]
    elif key:
        places = [(float(i), s) for i, s in enumerate([{}, *shifts])]
    if numeric and len(own) == 1:
        at = _number(*own)
        axes.axvline(at, color="0.6", ls=":", lw=0.8)
        places = sorted([*((x, s) for x, s in places if x != at), (at, {})], key=lambda p: p[0])
    for drawn, judged in rows.items():
        points = [(x, _pooled([one for one in judged if one.shift == s])) for x, s in places]
        known = [(x, 100 * count.rate) for x, count in points if count.n]
        axes.plot(
            [x for x, _ in known], [y for _, y in known], marker="o", ms=2, color=drawn.colour,
            ls=drawn.dashes, label=drawn.label,
        )  # fmt: skip
    axes.set_xlabel(key or "several settings")
    if not numeric:
        names = ["\n".join(name_of(s).split(" ")) if s else "as trained" for _, s in places]
        axes.set_xticks([x for x, _ in places], names, fontsize=4)


def write(folder: Path) -> str:
    """Write the table and the figure, and return the table as Markdown."""
    found = load(folder)
    table, drawn = make_table(found), render(make_figure(found))
    texts = {"csv": to_csv(table), "md": to_markdown(table), "tex": to_latex(table)}
    for kind, text in texts.items():
        write_file(folder / f"robustness.{kind}", text.encode())
    for kind in ("svg", "png"):
        write_file(folder / f"robustness.{kind}", drawn[kind])
    return texts["md"]


def publish(folder: Path) -> None:
    """Put the table and the figure into docs/results.md."""
    text = write(folder).split("\n", 2)[2].strip("\n")
    (FIGURES / "robustness.svg").write_bytes((folder / "robustness.svg").read_bytes())
    picture = f"![No-drop rates under shifts]({FIGURES.relative_to(PAGE.parent)}/robustness.svg)"
    replace_section(PAGE, "robustness", f"{text}\n\n{picture}")


def main(words: list[str]) -> None:
    """Write table and figure, and publish them if asked."""
    parser = argparse.ArgumentParser(prog="python -m analysis.robustness", description=__doc__)
    parser.add_argument("folder", type=Path, help="folder that s2m.evaluate -m has written")
    parser.add_argument("--publish", action="store_true", help="also into docs/results.md")
    options = parser.parse_args(words)
    print(write(options.folder))
    if options.publish:
        publish(options.folder)


if __name__ == "__main__":
    run_command(main)
