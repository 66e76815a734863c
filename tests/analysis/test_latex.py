"""pdflatex accepts every table, and none is wider than the page's text."""

import os
import re
import shutil
import subprocess

import pytest

from analysis.tables.every import every_table
from analysis.tables.write import to_latex

DOCUMENT = r"""\documentclass{article}
\usepackage[textwidth=5.5in,textheight=9in]{geometry}
\usepackage{booktabs,graphicx}
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
    tables = every_table(stored)
    inputs = "\n".join(rf"\input{{{table.name}.tex}}\clearpage" for table in tables)
    for table in tables:
        (tmp_path / f"{table.name}.tex").write_text(to_latex(table))
    (tmp_path / "all.tex").write_text(DOCUMENT % inputs)
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all.tex"],
        cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:]
    assert not re.findall(r"Overfull .*", done.stdout)
    assert not re.findall(r"LaTeX Warning: .*(?:undefined|too large).*", done.stdout)
