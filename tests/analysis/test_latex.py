"""pdflatex accepts every table, and none is wider than the page's text."""

import os
import re
import shutil
import subprocess
from dataclasses import replace

import pytest

from analysis.build import main
from analysis.publish import ROOT
from analysis.sources.local import load
from analysis.study import make_study
from analysis.tables.every import every_table
from analysis.tables.seeds import runs
from analysis.tables.write import LONG, to_latex
from tests.analysis.synthetic import Spec, write_run

DOCUMENT = r"""\documentclass{article}
\usepackage[textwidth=5.5in,textheight=9in]{geometry}
\usepackage{booktabs,graphicx,longtable}
\begin{document}
%s
\end{document}
"""


@pytest.fixture(scope="session")
def pdflatex():
    """Skip without LaTeX; S2M_REQUIRE_LATEX=1 makes that a failure."""
    if shutil.which("pdflatex") is None:
        reason = "pdflatex is not installed (apt-get install texlive-latex-recommended)"
        if os.environ.get("S2M_REQUIRE_LATEX") == "1":
            pytest.fail(reason)
        pytest.skip(reason)


@pytest.mark.latex
def test_all_tables_compile_and_fit(stored, pdflatex, tmp_path):
    """Once more as the paper refers to them, with the 43 runs of the archive over two pages."""
    archived = runs(make_study(load(ROOT / "results" / "desktop")))
    assert len(archived.lines) > LONG
    tables = [*every_table(stored), replace(archived, name="archived")]
    refers = r"\ref{tab:encoders} \ref{tab:perm_ablation} \ref{tab:supp_hyperparams} "
    refers += r"\ref{tab:curriculum_thresholds} \ref{tab:archived}\clearpage"
    inputs = refers + "\n".join(rf"\input{{{table.name}.tex}}\clearpage" for table in tables)
    for table in tables:
        (tmp_path / f"{table.name}.tex").write_text(to_latex(table))
    (tmp_path / "all.tex").write_text(DOCUMENT % inputs)
    for _ in range(3):  # a long table learns the width of its columns from the call before
        done = subprocess.run(
            ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all.tex"],
            cwd=tmp_path, capture_output=True, text=True,
        )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:]
    assert not re.findall(r"Overfull .*", done.stdout)
    assert not re.findall(r"LaTeX Warning: .*(?:undefined|too large).*", done.stdout)


@pytest.mark.latex
def test_all_of_it_as_one_pdf(pdflatex, tmp_path):
    write_run(tmp_path / "runs", Spec(levels={2: 9}, rates={5: (40, 90)}))
    words = [str(tmp_path / "runs"), "--out", str(tmp_path / "out"), "--pdf"]
    assert main(words) == 0
    assert (tmp_path / "out" / "study.pdf").read_bytes().startswith(b"%PDF")
    assert main(words[:-1]) == 0
    assert not (tmp_path / "out" / "study.pdf").exists()
