"""One PDF: an overview of two pages, then all tables and figures; compiled by LaTeX.

All of them do not fit on two pages with letters of 6 points, so the overview takes what has room.
"""

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from analysis.report import Picture
from analysis.tables.model import Table, prose
from analysis.tables.write import LONG, to_latex
from s2m.console.errors import UserError

NAME = "study"
FIRST = ("encoders", "ablation", "effects", "comparisons", "tactset")
"""Tables of the overview."""
INSTEAD = {"comparisons": "effects"}
"""Tables that it leaves out if there is another."""
HEAD = r"""\documentclass{article}
\usepackage[a4paper,margin=0.4in]{geometry}
\usepackage{booktabs,graphicx,longtable}
\pagestyle{empty} \raggedbottom \setlength{\parindent}{0pt}
\DeclareMathSizes{9}{9}{7}{7} \DeclareMathSizes{7}{7}{7}{7}
% Nothing floats: this is for reading, as dense as it can be; a paper takes single tables.
\makeatletter
\newenvironment{here}[1]{\par\def\@captype{#1}\begin{minipage}{\linewidth}}%
  {\end{minipage}\par\bigskip}
\renewenvironment{table}[1][]{\begin{here}{table}}{\end{here}}
\renewenvironment{figure}[1][]{\begin{here}{figure}}{\end{here}}
\makeatother
"""
# Tables are set in a wider text and scaled, so that their smallest letters have 6 points; figures
# are as narrow as the paper's narrowest place, where theirs have as many. A table or figure goes to
# the first column that has room; what is too high or too wide is left to the pages behind.
OVERVIEW = r"""
\newbox\one \newbox\tables \newdimen\rest \newdimen\whole \newif\ifwide
\newbox\colA \newbox\colB \newbox\colC \newbox\colD \newbox\colE \newbox\colF
\newcommand{\try}[2]{\ifvoid\one\else
  \ifdim\dimexpr\ht#1+\dp#1+\ht\one+\dp\one\relax>#2\else
  \setbox#1=\vbox{\unvbox#1\box\one}\fi\fi}
\newcommand{\placetable}[1]{\global\widefalse
  \setbox\one=\vbox{\hbox{\scalebox{0.86}{%
  \begin{minipage}{1.1627\textwidth}#1\end{minipage}}}\vskip 4pt}%
  \ifwide\else\try\tables\textheight\fi}
\newcommand{\placefigure}[2]{\setbox\one=\vbox{\hsize=2.145in \offinterlineskip
  \hbox{\includegraphics[width=2.145in]{#1}}
  \hbox to 2.145in{\strut\hss\footnotesize #2\hss}\vskip 4pt}%
  \try\colA\rest \try\colB\rest \try\colC\rest
  \try\colD\whole \try\colE\whole \try\colF\whole}
\newcommand{\column}[1]{\hbox to 2.145in{\vtop{\vskip 0pt\unvbox#1}\hss}}
\newcommand{\columns}[3]{\hbox to \textwidth{\column#1\hfil\column#2\hfil\column#3}}
\newcommand{\asitis}[3]{\setbox0=\hbox{#3}%
  \ifdim\wd0>\linewidth\global\widetrue\else\leavevmode\box0\fi}
"""


def require_latex() -> None:
    """Refuse --pdf at once where there is no LaTeX."""
    if shutil.which("pdflatex") is None:
        raise UserError(
            "--pdf needs pdflatex (apt-get install texlive-latex-recommended); the tables in "
            ".tex can be compiled elsewhere: leave out --pdf"
        )


def document(tables: Sequence[Table], figures: Sequence[Picture]) -> str:
    """Return the LaTeX of all tables and figures that lie in a folder."""
    parts = [*_overview(tables, figures), r"\clearpage\label{all}", *_all(tables, figures)]
    return "\n".join([HEAD, OVERVIEW, r"\begin{document}", *parts, r"\end{document}", ""])


def compile_pdf(tables: Sequence[Table], figures: Sequence[Picture], out: Path) -> Path:
    """Write study.pdf of the tables and figures (their files are in `out`)."""
    with tempfile.TemporaryDirectory(prefix="s2m-") as place:
        source = Path(place) / f"{NAME}.tex"
        source.write_text(document(tables, figures))
        words = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error"]
        words += [f"-output-directory={place}", str(source)]
        for _ in range(3):  # long tables learn the widths of their columns from the call before
            done = subprocess.run(words, cwd=out, capture_output=True, text=True, check=False)
        if done.returncode:
            said = [line for line in done.stdout.splitlines() if line.startswith("!")]
            raise UserError(f"--pdf: LaTeX failed: {' '.join(said[:2]) or done.stdout[-200:]}")
        shutil.copyfile(source.with_suffix(".pdf"), out / f"{NAME}.pdf")
    return out / f"{NAME}.pdf"


def _overview(tables: Sequence[Table], figures: Sequence[Picture]) -> list[str]:
    """Return two pages: the paper's tables without their notes, then figures in three columns."""
    named = {table.name: table for table in tables if len(table.lines) <= LONG}
    chosen = [named[name] for name in FIRST if name in named and INSTEAD.get(name) not in named]
    return [
        r"{\renewenvironment{table}[1][]{}{\par}\renewcommand{\label}[1]{}%",
        r"\renewcommand{\caption}[1]{\centering #1\par}\let\resizebox\asitis",
        *(rf"\placetable{{{to_latex(replace(table, notes=()))}}}" for table in chosen),
        r"\rest=\dimexpr\textheight-\ht\tables-\dp\tables\relax",
        r"\whole=\dimexpr\textheight-14pt\relax",
        *(rf"\placefigure{{figures/{one.name}-half.pdf}}{{{prose(one.title)}}}" for one in figures),
        r"\unvbox\tables \columns\colA\colB\colC \newpage \columns\colD\colE\colF",
        r"\vfill\centering\footnotesize From page~\pageref{all}: all tables with their notes, and "
        r"all figures at full width with what they show.\par}",
    ]


def _all(tables: Sequence[Table], figures: Sequence[Picture]) -> list[str]:
    """Return all tables and figures, at full width and with all that is said of them."""
    return [rf"\input{{{table.name}.tex}}" for table in tables] + [
        rf"\begin{{figure}}[t] \centering \includegraphics{{figures/{one.name}.pdf}} "
        rf"\caption{{{prose(one.caption)}}} \end{{figure}}"
        for one in figures
    ]
