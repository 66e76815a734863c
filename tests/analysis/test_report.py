"""The report in a real browser: whole, quiet, without the network, on a phone and on paper."""

import os
from html.parser import HTMLParser
from pathlib import Path

import pytest

from analysis.report import build
from analysis.tables.every import every_table
from tests.analysis import browser
from tests.analysis.synthetic import Spec

PICTURES = "[...document.images].every(i => i.complete && i.naturalWidth > 200)"
WIDTH = "document.documentElement.scrollWidth"


@pytest.fixture(scope="session")
def page(made):
    """The report of the stored runs."""
    return made[1] / "report.html"


class Links(HTMLParser):
    """Collects every address in a page, the sources of pictures apart."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.sources: list[str] = []
        self.ids: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            assert value is not None
            if name == "href":
                self.links.append(value)
            elif name == "src":
                self.sources.append(value)
            elif name == "id":
                self.ids.append(value)


def test_every_link_leads_somewhere_beside_the_page(page):
    found = Links(page.read_text())
    assert len(found.sources) == 10
    assert all(source.startswith("data:image/") for source in found.sources)
    assert len(found.ids) == len(set(found.ids))
    for link in found.links:
        if link.startswith("#"):
            assert link[1:] in found.ids
        elif link != "data:,":
            assert (page.parent / link).exists(), link


def test_it_names_command_commit_runs_and_what_is_left_out(page):
    text = page.read_text()
    assert "<code>python analysis/make_tables.py --runs " in text
    assert "c0ffee0000000000000000000000000000000000" in text
    assert "badc0de000 instead of c0ffee0000" in text
    assert "Best teacher: encoders/pfds-s42-" in text


def test_names_from_outside_cannot_break_the_page(study_of, tmp_path):
    study = study_of(Spec(state="failed", iteration=3, budget="<script>alert(1)</script>"))
    text = build(study, every_table(study), [], ["<script>"], "</code><script>", tmp_path)
    assert "<script" not in text
    assert "&lt;/code&gt;&lt;script&gt;" in text


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    """A browser; skipped without Chromium, a failure with S2M_REQUIRE_BROWSER=1."""
    if browser.find() is None:
        reason = "Chromium is not installed (apt-get install chromium)"
        if os.environ.get("S2M_REQUIRE_BROWSER") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    with browser.chromium(tmp_path_factory.mktemp("profile")) as tab:
        yield tab


@pytest.mark.browser
def test_the_page_is_quiet_whole_and_asks_for_nothing(page, chromium):
    chromium.open(page)
    assert chromium.evaluate("document.images.length") == 10
    assert chromium.evaluate(PICTURES)
    assert chromium.complaints() == []
    asked = [url for url in chromium.requests() if not url.startswith("data:")]
    assert asked == [page.resolve().as_uri()]


@pytest.mark.browser
def test_a_picture_from_outside_would_be_noticed(page, chromium, tmp_path):
    """The checks above can fail: the page's own policy refuses the request and says so."""
    spoiled = tmp_path / "report.html"
    spoiled.write_text(page.read_text().replace("<main>", '<main><img src="http://localhost:9/x">'))
    chromium.open(spoiled)
    assert not chromium.evaluate(PICTURES)
    assert any("Content Security Policy" in said for said in chromium.complaints())


@pytest.mark.browser
@pytest.mark.parametrize("width", [360, 768, 1600])
def test_it_fits_every_window(page, chromium, width):
    chromium.open(page, width)
    assert chromium.evaluate(WIDTH) <= width
    # Tables that are wider scroll by themselves.
    assert chromium.evaluate("[...document.images].every(i => i.clientWidth <= innerWidth)")


@pytest.mark.browser
def test_it_prints(page, chromium, tmp_path: Path):
    chromium.open(page)
    chromium.print(tmp_path / "page.pdf")
    assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF-")
