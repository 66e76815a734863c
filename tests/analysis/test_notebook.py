"""docs/python.ipynb does what it says: its cells are executed from top to bottom.

Without Jupyter: the cells hold plain Python, whose last expression is what a notebook shows.
"""

import ast
import json
from typing import Any

import pytest

from analysis.publish import ROOT

NOTEBOOK = ROOT / "docs" / "python.ipynb"


def show(source: str, known: dict[str, Any]) -> Any:
    """Execute a cell and return what its last line shows."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, NOTEBOOK.name, "exec"), known)
    if not isinstance(last, ast.Expr):
        return None
    return eval(compile(ast.Expression(last.value), NOTEBOOK.name, "eval"), known)


def test_the_notebook_runs(monkeypatch):
    monkeypatch.chdir(ROOT)
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    known: dict[str, Any] = {}
    shown = [show("".join(cell["source"]), known) for cell in cells if cell["cell_type"] == "code"]
    shapes, rates, few, late, starts, said = shown
    runs, curves, episodes = (shape[0] for shape in shapes)
    assert (runs, episodes) == (44, 44 * 500) and curves == 43 * 500
    assert rates.loc[("pfds", True), "mean"] == pytest.approx(0.994)
    assert len(few) == 4 and few["ppo.gamma"].eq(0.99).all()
    assert late["pfds"] > late["flat_mlp"] and list(starts.columns) == ["dshc", "pfds"]
    assert said == "IQM 99.7%, P(PFDS better than DSHC) 86%, p = 0.048"
