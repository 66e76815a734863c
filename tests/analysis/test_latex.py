"""pdflatex accepts every table and figure, and none is wider or taller than the page."""

import os
import re
import shutil
import subprocess
import zlib
from dataclasses import replace
from pathlib import Path

import pytest

from analysis.build import main
from analysis.document import OVERVIEW, document
from analysis.figures.gallery import draw
from analysis.publish import ROOT
from analysis.sources.local import load
from analysis.study import make_study
from analysis.tables.every import every_table
from analysis.tables.seeds import runs
from analysis.tables.write import LONG, to_latex
from tests.analysis.synthetic import DATA, Spec, write_run

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


def compiled(folder: Path, name: str) -> str:
    """Return what LaTeX said last: a long table, and references, learn from the call before."""
    for _ in range(3):
        done = subprocess.run(
            ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", name],
            cwd=folder, capture_output=True, text=True,
            env={**os.environ, "max_print_line": "1000"},  # else it breaks lines anywhere
        )  # fmt: skip
        assert done.returncode == 0, done.stdout[-2000:]
    return done.stdout


def complaints(said: str) -> list[str]:
    """Return what did not fit, and which references have no label."""
    return re.findall(r"Overfull \\[hv]box.*|LaTeX Warning: .*(?:undefined|too large).*", said)


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
    assert complaints(compiled(tmp_path, "all.tex")) == []


@pytest.mark.latex
def test_the_paper_takes_its_tables_and_figures(made, pdflatex, tmp_path):
    """In its own shape: every label is there, no float is wider or taller than its page."""
    out = tmp_path / "out"
    shutil.copytree(made[1], out)
    shutil.copyfile(DATA / "paper.tex", out / "paper.tex")
    said = compiled(out, "paper.tex")
    assert complaints(said) == []
    # The check can fail: a page that has no room for them, and a table that is not there.
    text = (DATA / "paper.tex").read_text()
    broken = text.replace(r"\input{thresholds}", "").replace("textheight=9in", "textheight=2in")
    (out / "paper.tex").write_text(broken)
    found = " ".join(complaints(compiled(out, "paper.tex")))
    assert "tab:curriculum_thresholds" in found and "Float too large" in found


def complete(source: str, place: Path) -> str:
    """Compile a document beside its tables and figures, without complaint; return what is said."""
    (place / "all.tex").write_text(source)
    said = compiled(place, "all.tex")
    assert not re.findall(r"Overfull .*|LaTeX Warning: .*", said)
    return said


def letters(pdf: bytes) -> list[float]:
    """Return the sizes of the letters that the pages set, those inside of figures apart."""
    sizes = []
    for packed in re.findall(rb"stream\r?\n(.*?)\r?\nendstream", pdf, re.DOTALL):
        try:
            text = zlib.decompress(packed).decode("latin1")
        except zlib.error:
            continue
        scales = [1.0]
        for scale, mark, size in re.findall(
            r"(\S+) 0 0 \S+ \S+ \S+ cm\b|(?<!\S)([qQ])(?!\S)|/F\d+ (\S+) Tf", text
        ):
            if mark == "q":
                scales.append(scales[-1])
            elif mark == "Q":
                scales.pop()
            elif scale:
                scales[-1] *= float(scale)
            else:
                sizes.append(scales[-1] * float(size))
    return sizes


def shipped(said: str) -> list[int]:
    """Return how many figures of half width each page has."""
    pages = re.split(r"\[\d+", said[said.index("[1") :])[1:]
    return [len(re.findall(r"<\./figures/[a-z0-9-]+-half\.pdf>", page)) for page in pages]


@pytest.fixture
def pictures(stored, made, tmp_path):
    """The stored study's tables and figures, in a folder of the test."""
    shutil.copytree(made[1], tmp_path, dirs_exist_ok=True)
    return draw(stored, every_table(stored), tmp_path, lambda items, total, what: items)


@pytest.mark.latex
def test_the_document_begins_with_two_pages_that_can_be_read(stored, pdflatex, pictures, tmp_path):
    source = document(every_table(stored), pictures)
    said = complete(source, tmp_path)
    assert r"\newlabel{all}{{}{3}" in (tmp_path / "all.aux").read_text()
    found = shipped(said)
    assert sum(found[:2]) >= 10 and not any(found[2:])
    assert all(f"<./figures/{one.name}.pdf>" in said for one in pictures)
    complete(source.replace(r"\clearpage\label{all}", r"\label{all}\end{document}"), tmp_path)
    sizes = letters((tmp_path / "all.pdf").read_bytes())
    assert len(sizes) > 100 and min(sizes) >= 5.99
    assert 7.5 * 2.145 / 2.65 >= 6 and set(re.findall(r"([0-9.]+)in\b", OVERVIEW)) == {"2.145"}


@pytest.mark.latex
def test_what_has_no_room_is_left_to_the_pages_behind(stored, pdflatex, pictures, tmp_path):
    """Very many figures, a table of many rows and one that is too wide."""
    tables = every_table(stored)
    lines = [replace(line, cells=line.cells[:3]) for line in tables[0].lines]
    tables[0] = replace(tables[0], columns=tables[0].columns[:3], lines=lines * 4)
    assert len(tables[0].lines) > LONG
    tables[1] = replace(tables[1], columns=[*tables[1].columns] * 5, spans=(), lines=[])
    for table in tables[:2]:
        (tmp_path / f"{table.name}.tex").write_text(to_latex(table))
    said = complete(document(tables, pictures * 3), tmp_path)
    assert r"\newlabel{all}{{}{3}" in (tmp_path / "all.aux").read_text()
    found = shipped(said)
    assert found[0] >= 3 and sum(found[:2]) >= 10 and not any(found[2:])


@pytest.mark.latex
def test_all_of_it_as_one_pdf(pdflatex, tmp_path):
    write_run(tmp_path / "runs", Spec(levels={2: 9}, rates={5: (40, 90)}))
    words = [str(tmp_path / "runs"), "--out", str(tmp_path / "out"), "--pdf"]
    assert main(words) == 0
    assert (tmp_path / "out" / "study.pdf").read_bytes().startswith(b"%PDF")
    assert main(words[:-1]) == 0
    assert not (tmp_path / "out" / "study.pdf").exists()
