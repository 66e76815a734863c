"""One PDF of all tables and figures, compiled by LaTeX where that is installed."""

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from analysis.tables.model import Table, prose
from s2m.console.errors import UserError

NAME = "study"
HEAD = r"""\documentclass{article}
\usepackage[textwidth=5.5in,textheight=9in]{geometry}
\usepackage{booktabs,graphicx,longtable}
% As dense as it can be: this is for reading, a paper takes single tables and figures.
\renewcommand{\topfraction}{1} \renewcommand{\floatpagefraction}{0.6}
\setcounter{topnumber}{9} \setcounter{totalnumber}{9}
\begin{document}
"""


def require_latex() -> None:
    """Refuse --pdf at once where there is no LaTeX."""
    if shutil.which("pdflatex") is None:
        raise UserError(
            "--pdf needs pdflatex (apt-get install texlive-latex-recommended); the tables in "
            ".tex can be compiled elsewhere: leave out --pdf"
        )


def compile_pdf(tables: Sequence[Table], figures: Sequence[tuple[str, str]], out: Path) -> Path:
    """Write study.pdf of the tables and figures (name, caption) that lie in a folder."""
    parts = [rf"\input{{{table.name}.tex}}" for table in tables]
    parts += [
        rf"\begin{{figure}}[t] \centering \includegraphics{{figures/{name}.pdf}} "
        rf"\caption{{{prose(caption)}}} \end{{figure}}"
        for name, caption in figures
    ]
    text = HEAD + "\n".join(f"{part}\n\\clearpage" if i % 6 == 5 else part
                            for i, part in enumerate(parts)) + "\n\\end{document}\n"  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="s2m-") as place:
        source = Path(place) / f"{NAME}.tex"
        source.write_text(text)
        words = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error"]
        words += [f"-output-directory={place}", str(source)]
        for _ in range(3):  # long tables learn the widths of their columns from the call before
            done = subprocess.run(words, cwd=out, capture_output=True, text=True, check=False)
        if done.returncode:
            said = [line for line in done.stdout.splitlines() if line.startswith("!")]
            raise UserError(f"--pdf: LaTeX failed: {' '.join(said[:2]) or done.stdout[-200:]}")
        shutil.copyfile(source.with_suffix(".pdf"), out / f"{NAME}.pdf")
    return out / f"{NAME}.pdf"
