"""The page that ends the demo: what is real and what only checks the machinery."""

import subprocess

from analysis import demo
from analysis.demo import NEXT, Check, build, film
from s2m.run.status import FAILED, FINISHED

CHECKS = [Check("pfds-s40-1", FINISHED), Check("<dshc>", FAILED)]


def test_the_page_has_film_study_check_and_next_commands():
    page = build(CHECKS, filmed=True)
    assert '<video src="film.mp4"' in page and 'src="study/report.html"' in page
    assert "1 of 2 runs finished" in page and "&lt;dshc&gt;" in page and "<dshc>" not in page
    assert "They check the machinery" in page and all(command in page for command in NEXT)


def test_without_a_film_the_page_says_why():
    page = build(CHECKS, filmed=False)
    assert "<video" not in page and "no GL library" in page and 'src="carry.webp"' in page


def test_without_gl_the_film_is_skipped_in_one_line(monkeypatch, tmp_path, capsys):
    said = "Traceback ...\nerror: off-screen rendering needs an EGL library"
    done = subprocess.CompletedProcess([], 2, "", said)
    monkeypatch.setattr(demo.subprocess, "run", lambda *_, **__: done)
    assert film(tmp_path / "film.mp4") is False
    out = capsys.readouterr().out
    assert out == "films are skipped: off-screen rendering needs an EGL library\n"
