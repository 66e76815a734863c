"""Special characters in every format, and numbers that are not."""

import csv
import io
import math

from analysis.tables.model import Line, Table, column, escape, missing, plain, prose
from analysis.tables.write import to_csv, to_latex, to_markdown

TABLE = Table(
    "odd",
    "Odd",
    "50% of K_max & more — <b>",
    [column("a_b", align="l"), column("x|y")],
    [Line([plain("{1} | 2"), missing("pending")], ["exp/run_1"]), Line([plain("~"), plain("^")])],
    notes=["A note."],
    records=[{"a": 0.5, "b": math.nan}, {"a": None, "b": "text, with comma"}],
)


def test_latex_escapes_everything():
    tex = to_latex(TABLE)
    assert r"50\% of $K_{\max}$ \& more --- $<$b$>$" in tex
    assert r"\{1\} | 2 & \emph{pending} \\" in tex
    assert r"\textasciitilde{} & \textasciicircum{} \\" in tex
    assert "% exp/run_1" in tex
    assert escape("\\") == r"\textbackslash{}"
    assert prose("K_η") == r"$K_\eta$"
    assert (
        prose("Adv. to k: k = 1, from k to k + 1") == r"Adv.\ to $k$: $k = 1$, from $k$ to $k + 1$"
    )
    assert prose("p ≤ 0.05 / 7; p = 0.5.") == r"$p \le 0.05$ / 7; $p = 0.5$."
    assert prose("6.3k pp run-p of k-means, p_x") == r"6.3k pp run-p of k-means, p\_x"


def test_markdown_keeps_its_columns():
    lines = to_markdown(TABLE).splitlines()
    assert "| {1} \\| 2 | *pending* |" in lines
    assert "- A note." in lines


def test_csv_leaves_unknown_numbers_empty():
    rows = list(csv.reader(io.StringIO(to_csv(TABLE))))
    assert rows == [["a", "b"], ["0.5", ""], ["", "text, with comma"]]
