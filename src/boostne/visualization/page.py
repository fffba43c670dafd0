"""Self-contained HTML pages: a table of contents, sections, and all scripts, styles and data inline."""

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from string import Template

from boostne.io.atomic import atomic_path
from boostne.visualization.charts import Chart
from boostne.visualization.html import Markup, element, joined, json_script
from boostne.visualization.level_map import LevelMap
from boostne.visualization.palette import css_variables


@dataclass(frozen=True)
class Section:
    """A section of a page; `name` is its anchor."""

    name: str
    title: str
    body: Markup


@dataclass(frozen=True)
class Page:
    """The content of a page.

    Attributes
    ----------
    title : str
    lead : Markup
        Introduction below the title.
    sections : sequence of Section
    charts : sequence of Chart
    maps : sequence of LevelMap
    """

    title: str
    lead: Markup
    sections: Sequence[Section]
    charts: Sequence[Chart]
    maps: Sequence[LevelMap]


def write_page(page: Page, path: Path) -> None:
    """Write the page to a file."""
    with atomic_path(path) as temporary:
        temporary.write_text(render(page), encoding="utf-8", newline="\n")


def render(page: Page) -> str:
    """Return the page as HTML.

    The content security policy allows only the two scripts below, by their hashes, and no requests: a node id or
    label cannot inject a script.
    """
    from plotly.offline import get_plotlyjs

    scripts = [get_plotlyjs(), _asset("page.js")]
    data = {
        "charts": {chart.name: chart.to_dict() for chart in page.charts},
        "maps": [one.to_dict() for one in page.maps],
    }
    return Template(_asset("page.html")).substitute(
        title=element("title", page.title),
        policy=element("meta", http_equiv="Content-Security-Policy", content=content_security_policy(scripts)),
        style=css_variables() + _asset("page.css"),
        heading=element("h1", page.title),
        lead=page.lead,
        contents=_contents(page.sections),
        sections=joined(
            element("section", element("h2", section.title), section.body, id=section.name) for section in page.sections
        ),
        data=json_script("report-data", data),
        scripts=joined(element("script", Markup(script)) for script in scripts),
    )


def content_security_policy(scripts: Sequence[str]) -> str:
    """Return a policy that allows the given scripts only, and no requests."""
    hashes = " ".join(f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" for script in scripts)
    return f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'"


def _contents(sections: Sequence[Section]) -> Markup:
    links = (element("li", element("a", section.title, href=f"#{section.name}")) for section in sections)
    return element("nav", element("ul", *links), aria_label="Contents")


def _asset(name: str) -> str:
    return (files("boostne.visualization") / "assets" / name).read_text(encoding="utf-8")
