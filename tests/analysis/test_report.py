"""The report in a real browser: whole, quiet, without the network, on a phone and on paper."""

import os
import re
from html.parser import HTMLParser
from pathlib import Path

import imageio.v3 as iio
import numpy as np
import pytest

from analysis.report import build
from analysis.tables.every import every_table
from tests.analysis import browser
from tests.analysis.synthetic import GOOD, Spec

WIDTH = "document.documentElement.scrollWidth"
DRAWN = "document.querySelector('.chart[data-drawn]')"


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
            if name == "href":
                self.links.append(value or "")
            elif name == "src":
                self.sources.append(value or "")
            elif name == "id":
                self.ids.append(value or "")


def test_every_link_leads_somewhere_beside_the_page(page):
    found = Links(page.read_text())
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


def test_the_answer_stands_first_then_one_figure_then_the_main_table(page):
    text = page.read_text()
    marks = ['class="answer"', 'class="charts wide"', 'id="table-encoders"', ">Details</h2>"]
    assert [text.index(mark) for mark in marks] == sorted(text.index(mark) for mark in marks)


def test_what_has_no_data_has_no_axes(study_of, tmp_path):
    study = study_of(Spec(state="pending"))
    text = build(study, every_table(study), [], ["none"], "x", tmp_path)
    assert 'class="chart"' not in text and "No policy has been evaluated yet" in text


def test_a_demo_says_first_that_its_numbers_mean_nothing(study_of, tmp_path):
    study = study_of(Spec(budget="demo", state="pending"))
    text = build(study, every_table(study), [], ["none"], "x", tmp_path)
    assert text.index('role="alert"') < text.index('class="answer"')


def test_a_demo_has_rows_only_of_what_was_launched(study_of, tmp_path):
    specs = (Spec(variant, budget="demo", rates=GOOD) for variant in ("pfds", "dshc"))
    study = study_of(*specs)
    tables = every_table(study)
    assert [line.cells[0].text for line in tables[0].lines] == ["DSHC", "PFDS"]
    page = build(study, tables, [], ["none"], "x", tmp_path)
    text = re.sub(r"<(script|style).*?</\1>", "", page, flags=re.S)
    for absent in ("0/0", "pending", "Branch-MLP"):
        at = text.find(absent)
        assert at < 0, text[at - 80 : at + 80]


def test_names_from_outside_cannot_break_the_page(study_of, tmp_path):
    study = study_of(Spec(state="failed", iteration=3, budget="<script>alert(1)</script>"))
    text = build(study, every_table(study), [], ["<script>"], "</code><script>", tmp_path)
    assert "<script>alert" not in text and "</code><script>" not in text
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
    chromium.wait(DRAWN)
    assert chromium.evaluate("[...document.images].every(i => i.complete && i.naturalWidth > 200)")
    assert chromium.complaints() == []
    asked = [url for url in chromium.requests() if not url.startswith("data:")]
    assert asked == [page.resolve().as_uri()]


@pytest.mark.browser
def test_a_script_or_picture_from_outside_is_refused(page, chromium, tmp_path):
    """The checks above can fail: the page's own policy refuses both and says so."""
    spoiled = tmp_path / "report.html"
    evil = '<main><img src="http://localhost:9/x"><script>document.title = "evil"</script>'
    spoiled.write_text(page.read_text().replace("<main>", evil))
    chromium.open(spoiled)
    chromium.wait(DRAWN)
    said = [told for told in chromium.complaints() if "Content Security Policy" in told]
    assert len(said) == 2 and chromium.evaluate("document.title") == "S2M-Trek: results"


@pytest.mark.browser
@pytest.mark.parametrize("width", [400, 1600])
def test_it_fits_every_window_and_the_first_column_stays(page, chromium, width):
    chromium.open(page, width)
    chromium.wait(DRAWN)
    assert chromium.evaluate(WIDTH) <= width
    place = "document.querySelector('#table-encoders tbody tr').cells[0]"
    before = chromium.evaluate(f"{place}.getBoundingClientRect().left")
    chromium.evaluate("document.querySelector('#table-encoders .scroll').scrollLeft = 300")
    assert chromium.evaluate(f"{place}.getBoundingClientRect().left") == before


@pytest.mark.browser
def test_values_show_where_the_pointer_rests(page, chromium):
    chromium.open(page)
    chromium.wait(DRAWN)
    # Where the last row's first dot is drawn, asked of the library itself.
    x, y = chromium.evaluate("""(() => {
        const { plot, view } = [...drawn.values()][0];
        const data = plot.renderers.at(-1).data_source.data;
        const first = (name) => (data.get ? data.get(name) : data[name])[0];
        const box = view.canvas_view.el.getBoundingClientRect();
        return [box.left + view.frame.x_scale.compute(first("x")),
                box.top + view.frame.y_scale.compute(first("y"))];
    })()""")
    chromium.point(x - 30, y + 30)
    chromium.point(x, y)
    chromium.wait("""(() => {
        const inside = (root) => [...root.querySelectorAll("*")].map((e) => e.shadowRoot
            ? e.shadowRoot.textContent + inside(e.shadowRoot) : "").join("");
        return /s4\\d.*no-drop success.*%/s.test(inside(document));
    })()""")
    assert chromium.complaints() == []


@pytest.mark.browser
def test_rows_are_shown_and_hidden_everywhere_and_remembered(page, chromium):
    chromium.open(page)
    chromium.wait(DRAWN)
    seen = """[[...document.querySelectorAll('#table-encoders tbody tr:not([hidden])')].length,
        [...drawn.values()][0].plot.renderers.filter(r => r.visible && r.name === 'PFDS').length]"""
    rows, marks = chromium.evaluate(seen)
    assert marks > 0
    chromium.evaluate("document.querySelector('#rows [data-row=PFDS]').click()")
    assert chromium.evaluate(seen) == [rows - 1, 0]
    chromium.open(page)
    chromium.wait(DRAWN)
    assert chromium.evaluate(seen) == [rows - 1, 0]
    chromium.evaluate("sessionStorage.clear()")


@pytest.mark.browser
def test_tables_are_sorted_and_filtered(page, chromium):
    chromium.open(page)
    names = "[...document.querySelectorAll('#table-runs tbody tr:not([hidden])')].map(r => "
    first, seeds = f"{names} r.cells[0].textContent)", f"{names} r.cells[1].textContent)"
    head = "document.querySelectorAll('#table-runs thead tr:last-child th')"
    heads = chromium.evaluate(f"[...{head}].map(h => h.textContent)")
    column = heads.index("seed") if "seed" in heads else 1
    seeds = f"{names} r.cells[{column}].textContent)"
    for order in (1, -1):
        chromium.evaluate(f"{head}[{column}].click()")
        numbers = [int(text) for text in chromium.evaluate(seeds)]
        assert numbers == sorted(numbers, key=lambda n: order * n) and len(set(numbers)) > 1
    chromium.evaluate("""(() => { const field = document.querySelector('#table-runs .filter');
        field.value = 'pfds s42'; field.dispatchEvent(new Event('input')); })()""")
    found = chromium.evaluate(first)
    assert found and all("pfds" in name.lower() for name in found)
    chromium.evaluate("sessionStorage.clear()")


@pytest.mark.browser
def test_dark_and_light(page, chromium):
    chromium.open(page)
    chromium.wait(DRAWN)
    paper = "getComputedStyle(document.body).backgroundColor"
    before = chromium.evaluate(paper)
    chromium.evaluate("document.getElementById('theme').click()")
    assert chromium.evaluate(paper) != before
    chromium.wait(DRAWN)  # anew, with axes that can be read
    assert chromium.complaints() == []
    chromium.evaluate("localStorage.clear()")


@pytest.mark.browser
def test_a_cell_leads_to_its_runs_and_their_films(study_of, chromium, tmp_path):
    rates = {k: (9, 10) for k in range(1, 6)}
    specs = [Spec("pfds", seed, rates=rates, episodes=20, iterations=50) for seed in (40, 41)]
    study = study_of(*specs)
    frames = [np.full((64, 96, 3), shade, dtype=np.uint8) for shade in range(0, 250, 25)]
    iio.imwrite(Path(study.runs[1].link) / "demo.mp4", frames, plugin="FFMPEG", fps=10)
    page = tmp_path / "report.html"
    page.write_text(build(study, every_table(study), [], ["none"], "x", tmp_path))
    chromium.open(page, height=2000)
    row = "document.querySelector('#table-encoders [data-row=PFDS]')"
    chromium.evaluate(f"{row}.scrollIntoView({{block: 'center'}})")
    box = chromium.evaluate(f"{row}.cells[3].getBoundingClientRect().toJSON()")
    chromium.point(box["x"] + 5, box["y"] + 5, click=True)
    chromium.wait("document.getElementById('behind').open")
    told = chromium.evaluate("document.getElementById('behind').innerText")
    assert "PFDS: K_max" in told and all(run.id in told for run in study.runs)
    film = "document.querySelector('#behind .film')"
    chromium.evaluate(f"{film}.removeAttribute('target')")  # in this tab, which is watched
    chromium.evaluate(f"{film}.click()")
    chromium.wait("document.querySelector('video')?.videoWidth === 96")


@pytest.mark.browser
def test_it_prints(page, chromium, tmp_path: Path):
    chromium.open(page)
    chromium.print(tmp_path / "page.pdf")
    assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF-")
