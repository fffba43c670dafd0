"""Screenshots of the explorer, and of a report, for the documentation: cora and digits, desktop and phone."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.browser import SOFTWARE_WEBGL, launch, until
from boostne import BoostNE, NetMF, evaluate, load_dataset
from boostne.visualization import write_evaluation_report, write_explorer_page

DOCS = Path(__file__).parents[1] / "docs"
DESKTOP = {"viewport": {"width": 1280, "height": 820}}
PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True, "device_scale_factor": 2}
MAX_BYTES = 300_000
TITLES = {"digits": "Handwritten digits", "cora": "Cora"}


def run() -> None:
    """Write the screenshots to the folder docs."""
    with tempfile.TemporaryDirectory() as folder, launch(*SOFTWARE_WEBGL) as browser:
        pages = {name: write_page(name, Path(folder)) for name in TITLES}
        for name, (dataset, options, act) in SCREENSHOTS.items():
            path = DOCS / f"{name}.png"
            take(browser, pages[dataset], options, act, path)
            check_size(path)
        take_report(browser, write_report(Path(folder)), DOCS / "report.png")


def write_page(name: str, folder: Path) -> Path:
    """Write the page of a data set."""
    data = load_dataset(name)
    path = folder / f"{name}.html"
    embedding = BoostNE(dimensions=128, levels=8).fit(data.graph).embedding_
    write_explorer_page(path, embedding, data.labels, data.graph, title=TITLES[name])
    return path


def write_report(folder: Path) -> Path:
    """Write the report of two embeddings of the digits."""
    data = load_dataset("digits")
    models = {"boostne.npz": BoostNE(dimensions=128, levels=8), "netmf.npz": NetMF(dimensions=128)}
    embeddings = {name: model.fit(data.graph).embedding_ for name, model in models.items()}
    results = {name: evaluate(one, data.labels, train=(1, 2, 5, 10, 50, 90)) for name, one in embeddings.items()}
    path = folder / "report.html"
    write_evaluation_report(path, embeddings, data.labels, results)
    return path


def take_report(browser: Any, page_path: Path, path: Path) -> None:
    """Take a screenshot of a report from its top to the end of the map."""
    width = 1000
    context = browser.new_context(viewport={"width": width, "height": 800})
    page = context.new_page()
    page.goto(page_path.as_uri())
    until(page, "document.getElementById('explorer').contentWindow.explorer?.view.frames > 0", value=True)
    box = page.locator("#map").bounding_box()
    clip = {"x": 0, "y": 0, "width": width, "height": box["y"] + box["height"] + 24}
    page.screenshot(path=path, full_page=True, clip=clip)
    context.close()
    check_size(path)


def check_size(path: Path) -> None:
    """Print the size of a picture; fail if it is too large for the repository."""
    size = path.stat().st_size
    assert size <= MAX_BYTES, f"{path} has {size:,} bytes, more than {MAX_BYTES:,}"
    print(f"{path}: {size:,} bytes")


def take(browser: Any, page_path: Path, options: dict[str, Any], act: Callable[[Any], None], path: Path) -> None:
    """Open a page, act on it, and take a screenshot once nothing moves."""
    context = browser.new_context(**options)
    page = context.new_page()
    page.goto(page_path.as_uri())
    until(page, "window.explorer?.ready === true && window.explorer.view.frames > 0", value=True)
    act(page)
    until(page, "explorer.view.moving || explorer.view.request !== null", value=False)
    page.screenshot(path=path)
    context.close()


def select_first(page: Any) -> None:
    """Select the node closest to the middle of the largest region among those with its label."""
    page.evaluate(
        """() => {
          const { view } = explorer;
          const [{ x, y, group }] = explorer.regionNames(view.end);
          const distance = (row) => Math.hypot(view.place(row)[0] - x, view.place(row)[1] - y);
          const rows = explorer.ids.map((_, row) => row).filter((row) => explorer.hasLabel(row, group));
          return explorer.select(rows.reduce((a, b) => (distance(b) < distance(a) ? b : a)));
        }"""
    )


def show_small(page: Any) -> None:
    """Show all levels side by side."""
    page.locator("#small").click()
    until(page, "explorer.view.small", value=True)


def lasso_on_level_one(page: Any) -> None:
    """Show level 1 and draw a lasso around a quarter of the map."""
    page.evaluate("explorer.control.set(1)")
    until(page, "explorer.view.moving", value=False)
    page.evaluate(
        """explorer.lasso(Array.from({ length: 40 }, (_, i) => {
          const angle = (2 * Math.PI * i) / 40;
          return [0.36 + 0.2 * Math.cos(angle), 0.62 + 0.2 * Math.sin(angle)];
        }))"""
    )


SCREENSHOTS: dict[str, tuple[str, dict[str, Any], Callable[[Any], None]]] = {
    "explorer": ("digits", DESKTOP, select_first),
    "explorer-levels": ("digits", DESKTOP | {"color_scheme": "dark"}, show_small),
    "explorer-cora": ("cora", DESKTOP, lasso_on_level_one),
    "explorer-phone": ("cora", PHONE, select_first),
    "explorer-phone-dark": ("digits", PHONE | {"color_scheme": "dark"}, select_first),
}
