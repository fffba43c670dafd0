"""The reports in Chromium: conclusion, sorting, the explorer inside, light and dark mode, desktop and phone."""

import numpy as np
import pytest
from benchmarks.browser import SOFTWARE_WEBGL, until
from tests.browser import DESKTOP, EVIL, PHONE, background, launch, open_address, overflow
from tests.reproduction_folder import DATASETS, MAP_NODES, TRAIN, write_reproduction

from boostne import BoostNE, Embedding, NetMF, evaluate, load_dataset
from boostne.evaluation import compare, conclude
from boostne.labels import as_labels
from boostne.reproduction import write_figures, write_reproduction_report
from boostne.visualization import write_evaluation_report
from boostne.visualization.charts import Chart, Line
from boostne.visualization.document import style_sheet
from boostne.visualization.svg_charts import chart_figure

READY = "window.explorer?.ready === true && window.explorer.view.frames > 0"


@pytest.fixture(scope="module")
def browser():
    with launch(*SOFTWARE_WEBGL) as running:
        yield running


@pytest.fixture
def visit(browser):
    """Return a function that opens a page and collects its errors and requests in `page.faults`."""
    contexts = []

    def open_page(path, **options):
        context = browser.new_context(**({"viewport": DESKTOP} | options))
        contexts.append(context)
        page = open_address(context, path.as_uri())
        until(inside(page), READY, value=True)
        return page

    yield open_page
    for context in contexts:
        context.close()


def inside(page):
    """Return the document of the explorer."""
    return page.locator("#explorer").element_handle().content_frame()


@pytest.fixture(scope="module")
def reproduction(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reproduction") / "results"
    write_reproduction(folder)
    write_figures(folder)
    return write_reproduction_report(folder)


@pytest.fixture(scope="module")
def scored():
    """Return two embeddings whose names, ids and labels contain scripts, their labels and scores."""
    data = load_dataset("karate")
    names = [f"{EVIL}{node}" for node in data.graph.nodes]
    labels = as_labels(
        {
            name: [f"{label}{EVIL}</script>" for label in data.labels[node]]
            for name, node in zip(names, data.graph.nodes, strict=True)
        }
    )
    vectors = {
        "netmf.npz": Embedding(names, NetMF(dimensions=8).fit_transform(data.graph)),
        f"boosted{EVIL}</script>.npz": Embedding(
            names, BoostNE(dimensions=8, levels=2).fit_transform(data.graph), [4, 4]
        ),
    }
    results = {name: evaluate(one, labels, train=(30, 60), repeats=3) for name, one in vectors.items()}
    return vectors, labels, results


@pytest.fixture(scope="module")
def evaluation(scored, tmp_path_factory):
    path = tmp_path_factory.mktemp("evaluation") / "scores.html"
    write_evaluation_report(path, *scored)
    return path


def positions(frame):
    """Return the positions of the nodes on the map by id, once they rest."""
    until(frame, "explorer.view.moving", value=False)
    ids, values = frame.evaluate("[explorer.ids, [...explorer.view.end]]")
    return dict(zip(ids, map(tuple, np.reshape(values, (-1, 2)).tolist()), strict=True))


def set_level(frame, level):
    frame.locator("#level").fill(str(level))
    until(frame, "explorer.view.level", level)


def test_conclusion_comes_first_and_is_right(visit, evaluation, scored):
    page = visit(evaluation)
    sentences = [str(one) for one in conclude(compare(scored[2]))]
    found = page.locator(".conclusion li").all_inner_texts()
    assert found[:2] == [" ".join(sentence.split()) for sentence in sentences]
    means = {name: float(result.mean("micro").mean()) for name, result in scored[2].items()}
    assert page.locator(".headline").inner_text().startswith(max(means, key=means.get))
    first = page.locator("main > *").first
    assert first.get_attribute("class") == "conclusion"


def test_best_score_of_each_column_is_marked(visit, evaluation, scored):
    page = visit(evaluation)
    for table, metric in zip(page.locator("table.scores").all(), ("micro", "macro"), strict=True):
        means = np.round([result.mean(metric) for result in scored[2].values()], 4)
        marked = [[cell.get_attribute("class") == "best" for cell in row.locator("td").all()]
                  for row in table.locator("tbody tr").all()]  # fmt: skip
        assert marked == (means == means.max(axis=0)).tolist()
    errors = page.locator("table.scores").first.locator(".se").all_inner_texts()
    expected = np.concatenate(
        [result.scores["micro"].reshape(2, 3).std(axis=1, ddof=1) for result in scored[2].values()]
    )
    assert errors == [f"± {error:.4f}" for error in expected / 3**0.5]


def test_tables_sort_by_mouse_and_keyboard(visit, reproduction):
    page = visit(reproduction)
    table = page.locator("#scores-digits table.scores").first
    head = table.locator("thead th").nth(2)

    def means():
        return [float(text.split()[0]) for text in table.locator("tbody tr td:nth-child(3)").all_inner_texts()]

    before = means()
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    assert means() == sorted(before, reverse=True)
    head.get_by_role("button").press("Enter")
    assert head.get_attribute("aria-sort") == "ascending"
    assert means() == sorted(before)
    name = table.locator("thead th").first
    name.get_by_role("button").press("Space")
    names = table.locator("tbody th").all_inner_texts()
    assert names == ["BoostNE (paper)", "BoostNE (recommended)", "NetMF", "SpectralClustering"]
    assert (name.get_attribute("aria-sort"), head.get_attribute("aria-sort")) == ("ascending", None)
    assert page.faults == []


def test_signed_numbers_and_p_values_sort_by_value(visit, reproduction):
    page = visit(reproduction)
    page.locator("details").evaluate_all("all => all.forEach(one => one.open = true)")
    table = page.locator("#scores-digits table.plain").first
    for column in ("difference", "p"):
        head = table.locator("thead th").filter(has_text=column).first
        head.get_by_role("button").click()
        place = head.evaluate("one => one.cellIndex") + 1
        texts = table.locator(f"tbody tr > :nth-child({place})").all_inner_texts()
        values = [float(text.replace("−", "-").rstrip("* ")) for text in texts]
        assert values == sorted(values, reverse=True), column


def test_explorer_inside_the_report(visit, evaluation, scored):
    page = visit(evaluation)
    frame = inside(page)
    assert frame.locator("#levels").is_hidden()  # NetMF has no levels
    name = list(scored[0])[1]
    page.get_by_label(name, exact=True).check()
    until(page, "document.getElementById('explorer').contentWindow.explorer?.view.levelCount", 2)
    frame = inside(page)
    until(frame, READY, value=True)
    together = positions(frame)
    set_level(frame, 1)
    assert positions(frame) != together
    assert positions(frame).keys() == set(scored[0][name].nodes.tolist())
    node = scored[0][name].nodes[3]
    frame.get_by_label("Find a node by id").fill(node)
    frame.locator("#search").press("Enter")
    until(frame, "document.querySelectorAll('.neighbors li').length", 10)
    expected = [other for other, _ in scored[0][name].most_similar(node, 10)]
    assert frame.locator(".neighbors .label").all_inner_texts() == expected
    assert page.faults == []


def test_maps_of_a_reproduction_have_levels_and_labels(visit, reproduction):
    page = visit(reproduction)
    frame = inside(page)
    seen = [positions(frame)]
    assert len(seen[0]) == 34
    for level in (1, 2, 3, 4):
        set_level(frame, level)
        seen.append(positions(frame))
    assert len({tuple(one.items()) for one in seen}) == 5
    page.get_by_label("digits", exact=True).check()
    until(page, "document.getElementById('explorer').contentWindow.explorer?.description.n", MAP_NODES)
    frame = inside(page)
    until(frame, READY, value=True)
    assert frame.locator("#legend .label").all_inner_texts() == [str(digit) for digit in range(10)]
    frame.get_by_label("Find a node by id").fill("7")
    frame.locator("#search").press("Enter")
    until(frame, "document.querySelector('#node h2')?.textContent", "7")
    assert frame.locator("#node h3").count() == 0  # positions have no components and no neighbors
    assert page.faults == []


def test_wheel_scrolls_the_report_until_the_map_is_clicked(visit, evaluation):
    page = visit(evaluation)
    page.locator("#explorer").scroll_into_view_if_needed()
    box = page.locator("#explorer").bounding_box()
    place = box["x"] + box["width"] / 3, max(box["y"], 0) + 200
    frame = inside(page)
    page.mouse.move(*place)
    page.mouse.wheel(0, -100)
    page.wait_for_timeout(100)
    assert frame.evaluate("explorer.view.camera.zoom") == 1
    frame.locator("#overlay").focus()
    page.mouse.wheel(0, -100)
    until(frame, "explorer.view.camera.zoom > 1", value=True)


def test_reproduction_report_is_complete(visit, reproduction):
    page = visit(reproduction)
    assert page.title().startswith("Reproduction of “Multi-Level Network Embedding")
    assert page.locator("svg.plot").count() == 1 + 2 * len(DATASETS)
    for link in page.locator("nav a").all():
        assert page.locator(link.get_attribute("href")).count() == 1
    links = page.locator("a[href$='.svg'], a[href$='.png'], a[href$='.csv']").all()
    assert len(links) > 2 * (1 + 3 * len(DATASETS))
    for link in links:
        assert (reproduction.parent / link.get_attribute("href")).is_file()
    for table in page.locator("table.scores").all():
        assert table.locator("thead th").count() == 1 + len(TRAIN)
        assert table.locator("tbody td").count() == 4 * len(TRAIN)
        assert table.locator(".best").count() >= len(TRAIN)
    assert not page.locator("#run details").evaluate("one => one.open")
    assert page.faults == []


def test_number_below_each_score_is_selectable(visit, reproduction):
    page = visit(reproduction)
    cell = page.locator("table.scores td").first
    mean, difference = cell.inner_text().split()
    page.get_by_label("the paper’s value").check()
    paper = cell.inner_text().split()[1]
    assert float(mean) - float(paper) == pytest.approx(float(difference.replace("−", "-")), abs=2e-4)
    page.get_by_role("radio", name="standard error").check()
    assert "±" in cell.inner_text()


def test_color_scheme_and_button_change_page_and_explorer(visit, reproduction):
    page = visit(reproduction, color_scheme="dark")
    frame = inside(page)
    assert background(page, "body") == background(frame, "body") == "rgb(16, 18, 20)"
    dark = frame.evaluate("explorer.view.renderer.pixels.join()")
    page.emulate_media(color_scheme="light")
    until(page, "getComputedStyle(document.body).backgroundColor", "rgb(246, 246, 244)")
    until(frame, f"explorer.view.renderer.pixels.join() === '{dark}'", value=False)
    assert background(frame, "body") == "rgb(246, 246, 244)"
    assert frame.locator("#theme").is_hidden()
    page.get_by_role("button", name="Light or dark").click()
    until(frame, f"explorer.view.renderer.pixels.join() === '{dark}'", value=True)
    assert background(page, "body") == "rgb(16, 18, 20)"
    assert page.faults == []


@pytest.mark.parametrize("which", ["reproduction", "evaluation"])
def test_phone_never_scrolls_sideways(visit, which, request):
    path = request.getfixturevalue(which)
    page = visit(path, viewport=PHONE, color_scheme="dark", is_mobile=True, has_touch=True)
    page.locator("details").evaluate_all("all => all.forEach(one => one.open = true)")
    assert overflow(page) == 0
    if which == "reproduction":
        wide = "one => one.scrollWidth > one.clientWidth"
        assert any(box.evaluate(wide) for box in page.locator(".box").all())
    # The frame is as high as the explorer, so that only the report scrolls.
    until(inside(page), "document.documentElement.scrollHeight <= innerHeight + 1", value=True)
    assert overflow(inside(page)) == 0
    assert page.faults == []


def test_text_contrast(visit, reproduction):
    """Check that text and background have the contrast required by WCAG AA (4.5)."""
    for scheme in ("light", "dark"):
        page = visit(reproduction, color_scheme=scheme)
        worst = page.evaluate(CONTRAST)
        assert worst >= 4.5, scheme


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE])
def test_numbers_and_labels_of_charts_do_not_overlap(browser, viewport):
    context = browser.new_context(viewport=viewport)
    page = context.new_page()
    chart = Chart("c", "title", "levels k", "Micro-F1", [Line("a", [1, 64], [0.9781, 0.9789], 0, error=[1e-4, 1e-4])])
    page.set_content(f"<style>{style_sheet('page.css')}</style>{chart_figure(chart, has_files=False)}")
    assert len(page.locator("svg.plot text").filter(has_text="0.978").all()) > 3
    assert page.locator("svg.plot").evaluate_all(OVERLAPS) == []
    context.close()


# Pairs of texts of the charts that overlap.
OVERLAPS = """(charts) => charts.flatMap((chart) => {
  const texts = [...chart.querySelectorAll("text")].map((one) => [one.textContent, one.getBoundingClientRect()]);
  const apart = (a, b) => a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top;
  return texts.flatMap(([text, a], i) =>
    texts.slice(i + 1).filter(([, b]) => !apart(a, b)).map(([other]) => [text, other]));
})"""

CONTRAST = """() => {
  const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const paint = (...colors) => {
    for (const color of colors) { canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1); }
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const linear = (v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  const luminance = (rgb) => rgb.map((v) => linear(v / 255))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (one) => (one ? [...behind(one.parentElement), getComputedStyle(one).backgroundColor] : ["white"]);
  return Math.min(...[...document.querySelectorAll("td, th, td span, p, li, dt, dd, .key, button")].map((one) => {
    const style = getComputedStyle(one);
    const [a, b] = [luminance(paint(...behind(one))), luminance(paint(style.color))];
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  }));
}"""


def test_names_ids_and_labels_cannot_inject_scripts(visit, evaluation):
    page = visit(evaluation)
    frame = inside(page)
    assert EVIL in page.locator("h1").inner_text()
    assert EVIL in page.locator(".legend").first.inner_text()
    assert EVIL in frame.locator("#legend").inner_text()
    for document in (page, frame):
        assert document.locator("img").count() == 0
        assert document.evaluate("window.hacked") is None
    assert page.faults == []
