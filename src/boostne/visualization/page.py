"""One self-contained page: sections, a table of contents, and everything that they need inside the file."""

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from boostne.io.atomic import atomic_path
from boostne.visualization.markup import Markup, data_block, element, joined
from boostne.visualization.palette import css_variables


@dataclass(frozen=True)
class Section:
    """A part of the page with a heading; `name` is its anchor."""

    name: str
    title: str
    body: Markup


@dataclass(frozen=True)
class Page:
    """What a page shows.

    Attributes
    ----------
    title : str
    lead : Markup
        What stands under the title.
    sections : sequence of Section
    data : dict
        For the page's script: ``charts`` (by name) and ``maps``.
    """

    title: str
    lead: Markup
    sections: Sequence[Section]
    data: dict[str, Any] = field(default_factory=dict)


def write_page(page: Page, path: Path) -> None:
    """Write the page as one file."""
    with atomic_path(path) as temporary:
        temporary.write_text(render(page), encoding="utf-8", newline="\n")


def render(page: Page) -> str:
    """Return the page as HTML.

    The page's policy allows the two scripts below, by their checksums, and nothing from outside: no request
    leaves the page, and no script can come in by the name of a node.
    """
    from plotly.offline import get_plotlyjs

    scripts = [get_plotlyjs(), _asset("page.js")]
    return Template(_asset("page.html")).substitute(
        title=element("title", page.title),
        policy=element("meta", http_equiv="Content-Security-Policy", content=_policy(scripts)),
        style=css_variables() + _asset("page.css"),
        heading=element("h1", page.title),
        lead=page.lead,
        contents=_contents(page.sections),
        sections=joined(
            element("section", element("h2", section.title), section.body, id=section.name)
            for section in page.sections
        ),
        data=data_block("report-data", page.data),
        scripts=joined(element("script", Markup(script)) for script in scripts),
    )


def _policy(scripts: Sequence[str]) -> str:
    hashes = " ".join(
        f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" for script in scripts
    )
    return f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'"


def _contents(sections: Sequence[Section]) -> Markup:
    links = (element("li", element("a", section.title, href=f"#{section.name}")) for section in sections)
    return element("nav", element("ul", *links), aria_label="Contents")


def _asset(name: str) -> str:
    return (files("boostne.visualization") / "assets" / name).read_text(encoding="utf-8")
