"""A page in one file: only its own scripts may run, and words from outside stay words."""

import importlib.util
import re
from base64 import b64encode
from hashlib import sha256

import pytest

from s2m.console.errors import UserError
from s2m.web import document
from s2m.web.charts import Point, Style, points
from s2m.web.document import Document
from s2m.web.grid import Field, Record, grid

EVIL = "</script><script>alert(1)</script>"


def chart(row="a", name="a s0"):
    return points("title", "x", "y", [Style(row, "#000000")], [Point(row, name, "k1", 1.0)])


def test_every_script_is_in_the_policy_and_no_other():
    page = Document("t", [Style("a", "#000000")])
    page.add_charts([chart(), None])
    text = page.render()
    scripts = re.findall(r"<script>(.*?)</script>", text, re.S)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
    sums = [b64encode(sha256(script.encode()).digest()).decode() for script in scripts]
    assert len(scripts) == 3 and [f"'sha256-{s}'" in policy for s in sums] == [True] * 3
    assert "unsafe-inline" not in policy.partition("script-src")[2]
    assert "unsafe-eval" not in policy
    assert text.count('class="chart"') == 1  # nothing is drawn of what has no data


def test_a_page_without_charts_is_small():
    assert len(Document("t").render()) < 30_000


def test_words_from_outside_stay_words():
    page = Document(EVIL, [Style(EVIL, "#000000")])
    page.add_charts([chart(EVIL, EVIL)])
    page.add(grid([EVIL], [Record([Field(EVIL)], row=EVIL)], [(EVIL, 1)]))
    assert "alert(1)</script>" not in page.render()


def test_a_grid_knows_values_states_runs_and_rules():
    text = grid(["row", "rate"], [Record([Field("a"), Field("9 %", 0.09, "missing")], [3, 4], "a")])
    assert '<tr data-runs="3 4" data-row="a"><th class="l"><button class="behind">a<' in text
    assert '<td class="l missing" data-v="0.09">9 %</td>' in text
    assert 'class="ruled"' in grid(["x"], [Record([Field("a")], ruled=True)])


def test_a_missing_library_is_told_in_one_line(monkeypatch):
    document._library.cache_clear()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    page = Document("t")
    page.add_charts([chart()])
    with pytest.raises(UserError, match="need the package bokeh: pip install bokeh"):
        page.render()
