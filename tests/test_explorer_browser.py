"""The explorer in Chromium with software rendering: pages and the server, desktop and phone."""

import io

import numpy as np
import pytest
from benchmarks.browser import SOFTWARE_WEBGL, until
from tests.browser import DESKTOP, EVIL, PHONE, background, launch, open_address, overflow

from boostne import BoostNE, Embedding, Graph, planted_partition
from boostne.labels import as_labels
from boostne.visualization.explorer import write_explorer_page
from boostne.visualization.explorer.layouts import level_layouts
from boostne.visualization.explorer.packing import to_map_grid

N, SEED = 240, 3
HIDE_WEBGL = """
const original = HTMLCanvasElement.prototype.getContext;
HTMLCanvasElement.prototype.getContext = function (kind, ...rest) {
  return kind === "webgl2" ? null : original.call(this, kind, ...rest);
};
"""


@pytest.fixture(scope="module")
def browser():
    with launch(*SOFTWARE_WEBGL) as running:
        yield running


@pytest.fixture
def visit(browser):
    contexts = []

    def open_page(path, script=None, **options):
        context = browser.new_context(**({"viewport": DESKTOP} | options))
        contexts.append(context)
        page = open_address(context, path.as_uri(), script=script)
        until(page, "window.explorer?.ready === true && window.explorer.view.frames > 0", True)
        return page

    yield open_page
    for context in contexts:
        context.close()


@pytest.fixture(scope="module")
def data():
    found = planted_partition(N, communities=4, mixing=0.1)
    names = [f"node {node}" for node in found.graph.nodes]
    graph = Graph(found.graph.adjacency, names)
    labels = as_labels({name: f"group {found.labels[i][0]}" for i, name in enumerate(names)})
    embedding = BoostNE(dimensions=12, levels=3).fit(graph).embedding_
    return embedding, labels, graph


@pytest.fixture(scope="module")
def explorer(data, tmp_path_factory):
    path = tmp_path_factory.mktemp("explorer") / "page.html"
    write_explorer_page(path, *data, title="planted", seed=SEED)
    return path


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """Return a page without levels whose ids and labels contain scripts."""
    rng = np.random.default_rng(0)
    names = [f"{i}</script>{EVIL}" for i in range(30)]
    labels = as_labels(
        {name: f"</script>{EVIL}{i % 2}" for i, name in enumerate(names)} | {"stranger": "a", "other": "b"}
    )
    path = tmp_path_factory.mktemp("hostile") / "page.html"
    write_explorer_page(path, Embedding(names, rng.random((30, 4))), labels, title=f"</title>{EVIL}")
    return path


def positions(page):
    """Return the positions of all nodes by id, once they rest."""
    until(page, "explorer.view.moving", False)
    ids, values = page.evaluate("[explorer.ids, [...explorer.view.end]]")
    return dict(zip(ids, map(tuple, np.reshape(values, (-1, 2)).tolist()), strict=True))


def on_screen(page, node):
    """Return the pixel of a node in the window."""
    return page.evaluate(
        """(id) => {
          const { view, ids } = explorer;
          const box = document.getElementById("overlay").getBoundingClientRect();
          const [left, top] = view.camera.toScreen(...view.place(ids.indexOf(id)));
          return [box.left + left, box.top + top];
        }""",
        node,
    )


def colors(page, selector="#points"):
    """Return the number of distinct saturated colors in a picture of an element."""
    from PIL import Image

    pixels = np.asarray(Image.open(io.BytesIO(page.locator(selector).screenshot())).convert("RGB")).reshape(-1, 3)
    saturated = pixels[np.ptp(pixels.astype(int), axis=1) > 60]
    found, counts = np.unique(saturated // 32, axis=0, return_counts=True)
    return len(found[counts > 40])


def select(page, node):
    page.get_by_label("Find a node by id").fill(node)
    page.keyboard.press("Enter")
    until(page, "document.querySelectorAll('.neighbors li').length", 10)


def set_level(page, value):
    page.locator("#level").evaluate("(slider, value) => { slider.value = value; }", value)
    page.locator("#level").dispatch_event("input")


def test_page_opens_from_disk_and_draws_all_nodes(visit, explorer):
    page = visit(explorer)
    assert page.title() == "planted – boostne explorer"
    assert page.locator("#summary").inner_text() == "240 nodes · 12 dimensions · 3 levels"
    assert not page.evaluate("!!explorer.view.renderer.still")
    assert colors(page) >= 4
    assert page.faults == []


def test_slider_moves_the_nodes_and_keeps_their_ids(visit, explorer, data):
    page = visit(explorer)
    layouts = [to_map_grid(one) for one in level_layouts(data[0], SEED)]
    nodes = data[0].nodes.tolist()
    for value, level in ((4, 0), (1, 1), (2, 2), (3, 3)):
        set_level(page, value)
        until(page, "explorer.view.level", level)
        expected = dict(zip(nodes, map(tuple, layouts[level].tolist()), strict=True))
        assert positions(page) == expected
    page.locator("#level").focus()
    page.keyboard.press("ArrowRight")
    until(page, "explorer.view.level", 0)
    assert page.locator("#level-name").inner_text().startswith("All levels")
    assert page.faults == []


def test_nodes_move_gradually(visit, explorer):
    page = visit(explorer)
    until(page, "explorer.view.moving", False)
    # Times are given by the test: half of the transition, then its end.
    half = page.evaluate(
        """async () => {
          const { view } = explorer;
          await view.showLevel(1);
          const [from, to] = [Array.from(view.begin), Array.from(view.end)];
          cancelAnimationFrame(view.request);
          view.started = 1000;
          view.draw(1450);
          const [x] = view.place(5);
          const middle = Math.abs(x - (from[10] + to[10]) / 2 / 65535) < 1e-6;
          view.draw(2000);
          return [middle, view.moving, view.place(5)[0] === to[10] / 65535];
        }"""
    )
    assert half == [True, False, True]


def test_fewer_nodes_are_drawn_while_the_map_moves_slowly(visit, explorer):
    page = visit(explorer)
    # Frames at given times, as if there were 40,000 nodes: first slow ones, then fast ones.
    drawn = page.evaluate(
        """() => {
          const { view } = explorer;
          const steps = [];
          view.renderer.draw = (panels, width, height, ratio, step) => steps.push(step);
          view.redraw = () => {};
          view.n = 40000;
          view.draw(0);
          view.lively = true;
          for (const now of [100, 200, 300, 400, 500]) view.draw(now);
          for (let now = 510; now < 700; now += 10) view.draw(now);
          view.lively = false;
          view.step = 4;
          view.draw(800);
          return steps;
        }"""
    )
    assert drawn[0] == 1
    assert max(drawn) == 5  # 8,000 nodes
    assert drawn[-2:] == [1, 1]


def test_reduced_motion_switches_levels_at_once(visit, explorer):
    page = visit(explorer, reduced_motion="reduce")
    assert page.evaluate("explorer.view.showLevel(2).then(() => explorer.view.moving)") is False


def test_the_level_chosen_last_is_shown_even_if_another_arrives_later(visit, explorer):
    page = visit(explorer)
    level = page.evaluate(
        """async () => {
          const { view, source } = explorer;
          let arrive;
          const late = new Promise((resolve) => { arrive = resolve; });
          const read = source.array.bind(source);
          source.array = (name) => (name === "positions-1" ? late.then(() => read(name)) : read(name));
          const first = view.showLevel(1);
          await view.showLevel(2);
          arrive();
          await first;
          return view.level;
        }"""
    )
    assert level == 2


def test_play_goes_from_the_coarsest_level_to_all(visit, explorer):
    page = visit(explorer)
    page.evaluate("window.setInterval = (action) => { window.tick = action; return 1; }")
    page.locator("#play").click()
    levels = [page.locator("#level").input_value()]
    while page.evaluate("explorer.control.timer !== null"):
        page.evaluate("window.tick()")
        levels.append(page.locator("#level").input_value())
    assert levels == ["1", "2", "3", "4"]


@pytest.mark.parametrize("row", [0, 17, 239])
def test_search_selects_and_neighbors_equal_most_similar(visit, explorer, data, row):
    embedding, labels, graph = data
    page = visit(explorer)
    node = embedding.nodes[row]
    select(page, node)
    assert page.locator("#node h2").inner_text() == node
    expected = embedding.most_similar(node, 10)
    assert page.locator(".neighbors .label").all_inner_texts() == [name for name, _ in expected]
    shown = [float(text) for text in page.locator(".neighbors .number").all_inner_texts()]
    assert shown == pytest.approx([similarity for _, similarity in expected], abs=6e-4)
    marked = page.evaluate("explorer.view.marks.similar.map((row) => explorer.ids[row])")
    assert marked == [name for name, _ in expected]
    edges = page.evaluate("explorer.view.marks.edges.map((row) => explorer.ids[row])")
    neighbors = graph.nodes[graph.adjacency[[row]].indices].tolist()
    assert sorted(edges) == sorted(neighbors)
    assert f"{len(neighbors)} edge" in page.locator("#node").inner_text()
    strongest = np.argsort(-np.abs(embedding.vectors[row]))[:3]
    assert page.locator("#node .bars .label").all_inner_texts() == [embedding.columns()[j] for j in strongest]
    assert labels[node][0] in page.locator("#node .chips").inner_text()
    page.locator(".neighbors button").nth(2).click()
    until(page, "document.querySelector('#node h2').textContent", expected[2][0])
    assert page.faults == []


def test_search_lists_matches_and_reports_none(visit, explorer):
    page = visit(explorer)
    page.get_by_label("Find a node by id").fill("NODE 23")
    assert page.locator("#matches li").all_inner_texts() == ["node 23", *(f"node 23{i}" for i in range(7))]
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    until(page, "document.querySelector('#node h2')?.textContent", "node 230")
    page.get_by_label("Find a node by id").fill("nobody")
    assert page.locator("#matches").inner_text() == "No id contains this text."


def test_click_selects_and_escape_clears(visit, explorer):
    page = visit(explorer)
    node = "node 42"
    page.mouse.move(*on_screen(page, node))
    until(page, "document.getElementById('card').hidden", False)
    assert page.locator("#card strong").inner_text().startswith("node ")
    page.mouse.down()
    page.mouse.up()
    until(page, "document.querySelectorAll('.neighbors li').length", 10)
    found = page.locator("#node h2").inner_text()
    assert np.hypot(*np.subtract(on_screen(page, found), on_screen(page, node))) < 10
    page.locator("#overlay").focus()
    page.keyboard.press("Escape")
    assert page.locator("#node h2").count() == 0
    assert page.evaluate("explorer.view.marks.selected") == -1


def draw_lasso(page, corners):
    page.mouse.move(*corners[0])
    page.mouse.down()
    for corner in [*corners[1:], corners[0]]:
        page.mouse.move(*corner, steps=3)
    page.mouse.up()


def test_lasso_selects_the_nodes_inside(visit, explorer, data, tmp_path):
    from matplotlib.path import Path as Polygon

    _, labels, _ = data
    page = visit(explorer)
    page.get_by_role("button", name="Select with a lasso").click()
    box = page.locator("#overlay").bounding_box()
    # A corner of the map, with a dent: a bounding box alone would select more.
    shape = [(0.05, 0.05), (0.75, 0.05), (0.5, 0.3), (0.6, 0.7), (0.05, 0.6)]
    corners = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in shape]
    draw_lasso(page, corners)
    places = {node: on_screen(page, node) for node in positions(page)}
    expected = {node for node, place in places.items() if Polygon(corners).contains_point(place)}
    assert 10 < len(expected) < N - 10
    chosen = page.evaluate("explorer.inside.map((row) => explorer.ids[row])")
    assert set(chosen) == expected
    assert page.locator("#selection h2").inner_text() == f"{len(expected)} nodes selected"
    mix = {label: sum(labels[node] == (label,) for node in expected) / len(expected) for label in labels.classes}
    names = page.locator("#selection .label").all_inner_texts()
    assert set(names) == {name for name in mix if mix[name]}
    assert [mix[name] for name in names] == sorted(filter(None, mix.values()), reverse=True)
    for name, text in zip(names, page.locator("#selection .number").all_inner_texts(), strict=True):
        assert float(text.rstrip("%")) == pytest.approx(100 * mix[name], abs=0.51)
    with page.expect_download() as download:
        page.get_by_role("button", name="Download ids").click()
    download.value.save_as(tmp_path / "ids.txt")
    assert (tmp_path / "ids.txt").read_text().splitlines() == chosen
    page.locator("#selection").get_by_role("button", name="Clear").click()
    assert page.locator("#selection").is_hidden()
    assert page.faults == []


def test_mouse_and_keys_move_and_zoom_the_map(visit, explorer):
    page = visit(explorer)
    before = on_screen(page, "node 7")
    box = page.locator("#overlay").bounding_box()
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(*middle)
    page.mouse.down()
    page.mouse.move(middle[0] + 50, middle[1] - 30, steps=5)
    page.mouse.up()
    assert np.allclose(np.subtract(on_screen(page, "node 7"), before), (50, -30), atol=8)
    page.mouse.wheel(0, -600)
    until(page, "explorer.view.camera.zoom > 2", True)
    page.locator("#overlay").focus()
    page.keyboard.press("0")
    assert np.allclose(on_screen(page, "node 7"), before)
    for keys, check in (("+", "zoom > 1"), ("-", "zoom === 1"), ("ArrowLeft", "x < 0.5"), ("ArrowUp", "y > 0.5")):
        page.keyboard.press(keys)
        assert page.evaluate(f"explorer.view.camera.{check}"), keys
    page.keyboard.press("[")
    until(page, "explorer.view.level", 3)
    for key in ("l", "L"):
        page.keyboard.press(key)
        assert page.locator("#lasso").get_attribute("aria-pressed") == str(key == "l").lower()
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "search"
    assert page.faults == []


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE])
def test_nodes_at_the_border_are_visible_as_a_whole(visit, explorer, viewport):
    page = visit(explorer, viewport=viewport)
    for x, y in ((0, 0), (1, 1)):
        inside = page.evaluate(
            """([x, y]) => {
              const { camera } = explorer.view;
              const [left, top] = camera.toScreen(x, y);
              const radius = explorer.view.diameter(camera) / 2;
              return Math.min(left, top, camera.width - left, camera.height - top) >= radius;
            }""",
            [x, y],
        )
        assert inside


def test_small_maps_of_all_levels_lead_to_a_level(visit, explorer):
    page = visit(explorer)
    page.get_by_role("button", name="All levels side by side").click()
    until(page, "explorer.view.small", True)
    panels = page.evaluate("explorer.view.smallPanels().map(({ level, left, top }) => [level, left, top])")
    assert [level for level, _, _ in panels] == [1, 2, 3, 0]
    box = page.locator("#overlay").bounding_box()
    _, left, top = panels[1]
    page.mouse.click(box["x"] + left + 20, box["y"] + top + 20)
    until(page, "[explorer.view.small, explorer.view.level].join()", "false,2")
    assert page.locator("#level").input_value() == "2"
    assert page.faults == []


def test_colors_by_label_community_degree_and_component(visit, explorer, data):
    page = visit(explorer)
    choices = page.locator("#color-by option").all_inner_texts()
    assert choices == ["Label", "Community", "Degree", "Component"]
    assert sorted(page.locator("#legend .label").all_inner_texts()) == sorted(data[1].classes.tolist())
    pixels = "explorer.view.renderer.pixels.join()"
    seen = [page.evaluate(pixels)]
    largest = int(data[2].adjacency.count_nonzero(axis=1).max())
    scales = {"degree": f"0 edges\n{largest} (logarithmic)"}
    for kind in ("community", "degree", "component"):
        page.locator("#color-by").select_option(kind)
        until(page, f"{pixels} !== '{seen[-1]}'", True)
        seen.append(page.evaluate(pixels))
        if kind in scales:
            assert page.locator("#legend").inner_text() == scales[kind]
    assert page.locator("#component option").all_inner_texts() == data[0].columns()
    page.locator("#component").select_option("7")
    until(page, f"{pixels} !== '{seen[-1]}'", True)
    values = data[0].vectors[:, 7]
    shares = np.array(page.evaluate("explorer.ids.map((id, row) => explorer.coloring.share[row])"))
    order = {node: i for i, node in enumerate(page.evaluate("explorer.ids"))}
    expected = (values - values.min()) / np.ptp(values)
    assert np.allclose(shares[[order[node] for node in data[0].nodes]], expected, atol=0.5 / 15 + 1e-6)
    assert page.faults == []


def test_selecting_a_label_highlights_it(visit, explorer, data):
    page = visit(explorer)
    button = page.locator("#legend button").first
    label = button.locator(".label").inner_text()
    button.click()
    assert page.locator("#legend button").first.get_attribute("aria-pressed") == "true"
    alphas = np.array(page.evaluate("[...explorer.view.renderer.pixels]")).reshape(-1, 4)[:, 3]
    members = [node for node, alpha in zip(page.evaluate("explorer.ids"), alphas, strict=True) if alpha == 235]
    assert set(members) == {node for node in data[0].nodes.tolist() if data[1][node] == (label,)}
    page.locator("#legend button").first.click()
    assert page.locator("#legend button").first.get_attribute("aria-pressed") == "false"


def test_regions_are_named_by_the_labels_of_their_nodes(visit, explorer, data):
    page = visit(explorer)
    places = positions(page)
    regions = page.evaluate("explorer.regionNames(explorer.view.end)")
    assert {region["name"] for region in regions} == set(data[1].classes.tolist())
    points = np.array([places[node] for node in data[0].nodes]) / 65535
    for region in regions:
        nearest = np.linalg.norm(points - [region["x"], region["y"]], axis=1).argsort()[:9]
        labels = [data[1][node][0] for node in data[0].nodes[nearest]]
        assert max(set(labels), key=labels.count) == region["name"]
    page.locator("#names").uncheck()
    assert page.evaluate("explorer.regionNames(explorer.view.end)") == []


def test_colors_follow_the_color_scheme_and_the_button(visit, explorer):
    page = visit(explorer, color_scheme="dark")
    assert background(page, "body") == "rgb(16, 18, 20)"
    dark = page.evaluate("[...explorer.view.renderer.pixels].join()")
    page.emulate_media(color_scheme="light")
    until(page, "getComputedStyle(document.body).backgroundColor", "rgb(246, 246, 244)")
    until(page, f"[...explorer.view.renderer.pixels].join() === '{dark}'", False)
    page.get_by_role("button", name="Light or dark").click()
    until(page, f"[...explorer.view.renderer.pixels].join() === '{dark}'", True)
    assert page.faults == []


@pytest.mark.parametrize("which", ["explorer", "hostile"])
def test_phone(visit, which, request):
    page = visit(request.getfixturevalue(which), viewport=PHONE, is_mobile=True, has_touch=True)
    assert overflow(page) == 0
    node = page.evaluate("explorer.ids[7]")
    page.touchscreen.tap(*on_screen(page, node))
    until(page, "document.querySelectorAll('.neighbors li').length", 10)
    assert overflow(page) == 0
    assert page.locator("#node").bounding_box()["y"] < page.locator("#legend").bounding_box()["y"]
    assert page.faults == []


def touch(page, kind, *places):
    """Send a touch event with a finger at each place; Playwright itself can only tap."""
    page.session.send(
        "Input.dispatchTouchEvent",
        {"type": f"touch{kind}", "touchPoints": [{"x": x, "y": y, "id": i} for i, (x, y) in enumerate(places)]},
    )


def test_fingers_move_zoom_and_draw_the_lasso(visit, explorer):
    page = visit(explorer, viewport=PHONE, is_mobile=True, has_touch=True)
    page.session = page.context.new_cdp_session(page)
    box = page.locator("#overlay").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    touch(page, "Start", (x, y))
    for step in (10, 20, 40):
        touch(page, "Move", (x + step, y))
    touch(page, "End")
    until(page, "explorer.view.camera.x < 0.5", True)
    touch(page, "Start", (x - 30, y), (x + 30, y))
    for step in (40, 60, 90):
        touch(page, "Move", (x - step, y), (x + step, y))
    touch(page, "End")
    until(page, "explorer.view.camera.zoom > 2", True)
    page.locator("#fit").tap()
    page.locator("#lasso").tap()
    left, top, right, bottom = box["x"] + 2, box["y"] + 2, box["x"] + box["width"] - 2, box["y"] + box["height"] - 2
    touch(page, "Start", (left, top))
    for corner in ((right, top), (right, bottom), (left, bottom)):
        touch(page, "Move", corner)
    touch(page, "End")
    until(page, "explorer.inside?.length", N)
    assert page.evaluate("scrollY") == 0
    assert page.faults == []


def test_selections_with_many_labels_list_the_most_frequent(visit, explorer):
    page = visit(explorer)
    page.evaluate(
        """() => {
          const rows = explorer.ids.map((_, row) => row);
          explorer.description.classes = Array.from({ length: 14 }, (_, i) => `label ${i}`);
          const indices = rows.map((row) => row % 14);
          explorer.labels = { starts: [...rows, rows.length], indices, sizes: Array(14).fill(1) };
          explorer.lasso([[-1, -1], [2, -1], [2, 2], [-1, 2]]);
        }"""
    )
    assert page.locator("#selection .bars li").count() == 12
    assert page.locator("#selection p").inner_text() == "and 2 less frequent labels"


def test_ids_and_labels_cannot_inject_scripts(visit, hostile):
    page = visit(hostile)
    node = page.evaluate("explorer.ids[3]")
    select(page, node)
    page.mouse.move(*on_screen(page, node))
    until(page, "document.getElementById('card').hidden", False)
    for selector in ("h1", "#legend", "#node h2", ".neighbors", "#card"):
        assert EVIL in page.locator(selector).inner_text(), selector
    assert page.locator("img").count() == 0
    assert page.evaluate("window.hacked") is None
    assert page.faults == []


def test_levels_are_hidden_without_levels_and_unknown_labels_are_counted(visit, hostile):
    page = visit(hostile)
    assert page.locator("#levels").is_hidden()
    assert page.locator("#small").is_hidden()
    assert page.locator("#notes").inner_text() == "2 nodes with labels are not in the embedding."
    assert page.locator("#color-by option").all_inner_texts() == ["Label", "Component"]


def test_without_webgl_a_sentence_and_a_still_picture(visit, explorer):
    page = visit(explorer, script=HIDE_WEBGL)
    assert "no WebGL" in page.locator("#message").inner_text()
    map_box, sentence = (page.locator(name).bounding_box() for name in ("#overlay", "#message"))
    assert sentence["y"] >= map_box["y"] + map_box["height"] - 1  # it covers no node
    assert colors(page) >= 4
    before = positions(page)
    set_level(page, 1)
    until(page, "explorer.view.level", 1)
    assert page.evaluate("explorer.view.moving") is False
    assert positions(page) != before
    assert page.faults == []


def test_map_is_restored_after_the_gpu_was_lost(visit, explorer):
    page = visit(explorer)
    page.evaluate("window.gpu = explorer.view.renderer.gl.getExtension('WEBGL_lose_context'); window.gpu.loseContext()")
    until(page, "explorer.view.renderer.gl.isContextLost()", True)
    frames = page.evaluate("explorer.view.frames")
    page.evaluate("window.gpu.restoreContext()")
    until(page, f"explorer.view.frames > {frames}", True)
    assert colors(page) >= 4
