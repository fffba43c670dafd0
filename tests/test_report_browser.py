"""The reports in Chromium: light and dark mode, desktop and phone."""

import numpy as np
import pytest
from benchmarks.browser import until
from tests.browser import DESKTOP, EVIL, PHONE, background, launch, open_address, overflow
from tests.reproduction_folder import DATASETS, LEVELS, MAP_NODES, TRAIN, write_reproduction

from boostne import BoostNE, Embedding, NetMF, evaluate, load_dataset
from boostne.labels import as_labels
from boostne.reproduction import write_reproduction_report
from boostne.visualization import write_evaluation_report


@pytest.fixture(scope="module")
def browser():
    with launch("--disable-gpu") as running:
        yield running


@pytest.fixture
def visit(browser):
    """Return a function that opens a page and collects its errors and requests in `page.faults`."""
    contexts = []

    def open_page(path, **options):
        context = browser.new_context(**({"viewport": DESKTOP} | options))
        contexts.append(context)
        page = open_address(context, path.as_uri())
        until(page, "document.querySelectorAll('.plot:not(.js-plotly-plot)').length", 0)
        return page

    yield open_page
    for context in contexts:
        context.close()


@pytest.fixture(scope="module")
def reproduction(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reproduction") / "results"
    write_reproduction(folder)
    return write_reproduction_report(folder)


@pytest.fixture(scope="module")
def evaluation(tmp_path_factory):
    """Return the report of two embeddings whose ids and labels contain scripts."""
    data = load_dataset("karate")
    names = [f"{EVIL}{node}" for node in data.graph.nodes]
    labels = as_labels(
        {
            name: [f"{label}{EVIL}" for label in data.labels[node]]
            for name, node in zip(names, data.graph.nodes, strict=True)
        }
    )
    vectors = {
        f"boosted{EVIL}.npz": Embedding(names, BoostNE(dimensions=8, levels=2).fit_transform(data.graph), [4, 4]),
        "netmf.npz": Embedding(names, NetMF(dimensions=8).fit_transform(data.graph)),
    }
    results = {name: evaluate(one, labels, train=(30, 60), repeats=3) for name, one in vectors.items()}
    path = tmp_path_factory.mktemp("evaluation") / "scores.html"
    write_evaluation_report(path, vectors, labels, results)
    return path


def points(page):
    """Return the coordinates of the dots on the map."""
    x, y = page.evaluate("(({x, y}) => [[...x], [...y]])(document.getElementById('map').data[0])")
    return np.array([x, y])


def test_reproduction_report_loads_without_errors(visit, reproduction):
    page = visit(reproduction)
    assert page.title() == "Reproduction of the BoostNE paper"
    assert page.locator(".js-plotly-plot").count() == 1 + 2 * len(DATASETS) + 1
    for link in page.locator("nav a").all():
        assert page.locator(link.get_attribute("href")).count() == 1
    for link in page.locator("a[href$='.svg'], a[href$='.png'], a[href$='.csv']").all():
        assert (reproduction.parent / link.get_attribute("href")).is_file()
    assert page.faults == []


def test_score_tables_are_complete(visit, reproduction):
    page = visit(reproduction)
    for name in DATASETS:
        tables = page.locator(f"#scores-{name} table.scores")
        assert tables.count() == 2
        for table in tables.all():
            assert table.locator("thead th").count() == 1 + len(TRAIN)
            rows = table.locator("tbody tr")
            assert rows.locator("th").all_inner_texts() == [
                "SpectralClustering",
                "NetMF",
                "BoostNE (paper)",
                "BoostNE (recommended)",
            ]
            assert rows.locator("td").count() == 4 * len(TRAIN)
            assert all("\n" in text for text in rows.locator("td").all_inner_texts())
            assert table.locator(".best").count() >= len(TRAIN)


def test_number_below_each_score_is_selectable(visit, reproduction):
    page = visit(reproduction)
    cell = page.locator("table.scores td").first
    mean, difference = cell.inner_text().split()
    page.get_by_label("the paper’s value").check()
    paper = cell.inner_text().split()[1]
    assert float(mean) - float(paper) == pytest.approx(float(difference.replace("−", "-")), abs=2e-4)
    page.get_by_role("radio", name="standard error").check()
    assert "±" in cell.inner_text()


def test_selecting_a_level_changes_the_map(visit, reproduction):
    page = visit(reproduction)
    seen = [points(page)]
    assert seen[0].shape == (2, 34)
    page.get_by_label("1 (coarsest)").check()
    seen.append(points(page))
    page.locator("input[name=map-level]:checked").focus()
    for _ in range(max(LEVELS) - 1):
        page.keyboard.press("ArrowRight")
        seen.append(points(page))
    assert page.locator("#map-status").inner_text().startswith("karate, level 4 of 4: 34 nodes")
    assert len({positions.tobytes() for positions in seen}) == 1 + max(LEVELS)
    page.get_by_label("digits", exact=True).check()
    assert points(page).shape == (2, MAP_NODES)
    assert page.locator("#map-status").inner_text().startswith("digits, level 4 of 4")
    assert page.faults == []


def test_selecting_a_label_highlights_it(visit, reproduction):
    page = visit(reproduction)
    count = "new Set(document.getElementById('map').data[0].marker.color).size"
    assert page.evaluate(count) == 2
    before = page.evaluate("[...document.getElementById('map').data[0].marker.color]")
    button = page.locator("#map-classes button").first
    button.click()
    assert button.get_attribute("aria-pressed") == "true"
    after = page.evaluate("[...document.getElementById('map').data[0].marker.color]")
    assert 0 < sum(a != b for a, b in zip(before, after, strict=True)) < len(before)
    button.click()
    assert page.evaluate("[...document.getElementById('map').data[0].marker.color]") == before


def test_plots_follow_the_color_scheme(visit, reproduction):
    page = visit(reproduction, color_scheme="dark")
    plot_background = "document.getElementById('map').layout.paper_bgcolor"
    colors = page.evaluate("document.getElementById('map').data[0].marker.color")
    assert page.evaluate(plot_background) == "#14171b"
    assert background(page, "body") == "rgb(20, 23, 27)"
    page.emulate_media(color_scheme="light")
    until(page, plot_background, "#ffffff")
    assert background(page, "body") == "rgb(255, 255, 255)"
    assert page.evaluate("document.getElementById('map').data[0].marker.color") != colors
    assert page.faults == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize("which", ["reproduction", "evaluation"])
def test_page_never_scrolls_horizontally(visit, which, size, scheme, request):
    phone = {"is_mobile": True, "has_touch": True} if size is PHONE else {}
    page = visit(request.getfixturevalue(which), viewport=size, color_scheme=scheme, **phone)
    page.locator("details").evaluate_all("all => all.forEach(one => one.open = true)")
    assert overflow(page) == 0
    if size is PHONE and which == "reproduction":
        wide = "one => one.scrollWidth > one.clientWidth"
        assert any(box.evaluate(wide) for box in page.locator(".box").all())
    assert page.faults == []


def test_text_contrast(visit, reproduction):
    """Check that text and background have the contrast required by WCAG AA (4.5)."""
    for scheme in ("light", "dark"):
        page = visit(reproduction, color_scheme=scheme)
        worst = page.evaluate(CONTRAST)
        assert worst >= 4.5, scheme


CONTRAST = """() => {
  const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const paint = (...colors) => {
    for (const color of colors) { canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1); }
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const linear = (v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  const luminance = (rgb) => rgb.map((v) => linear(v / 255))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const background = getComputedStyle(document.body).backgroundColor;
  return Math.min(...[...document.querySelectorAll("td, th, p, dt, dd, .key span")].map((one) => {
    const style = getComputedStyle(one);
    const [a, b] = [luminance(paint(background, style.backgroundColor)), luminance(paint(style.color))];
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  }));
}"""


def test_ids_and_labels_cannot_inject_scripts(visit, evaluation):
    page = visit(evaluation)
    assert page.evaluate("window.hacked") is None
    assert page.locator("img").count() == 0
    assert EVIL in page.locator("h1").inner_text()
    assert EVIL in page.locator("#map-classes").inner_text()
    text = page.evaluate("document.getElementById('map').data[0].text[0]")
    assert "&lt;script&gt;" in text
    assert "<script" not in text
    page.evaluate("Plotly.Fx.hover('map', [{curveNumber: 0, pointNumber: 0}])")
    assert "<script>" in page.locator("#map .hoverlayer").text_content()
    assert page.evaluate("window.hacked") is None
    assert page.faults == []


def test_evaluation_report_compares_embeddings(visit, evaluation):
    page = visit(evaluation)
    assert page.locator("#scores table.scores tbody tr").count() == 4
    assert page.locator("#comparison tbody tr").count() == 2
    joined = points(page)
    page.get_by_label("2 (finest)").check()
    assert not np.array_equal(points(page), joined)
    page.get_by_label("netmf.npz", exact=True).check()  # has a single level
    assert page.locator("input[name=map-level]:enabled").count() == 1
    assert "all levels" in page.locator("#map-status").inner_text()
