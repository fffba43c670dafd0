"""Reports: self-contained HTML pages with a conclusion, sections, and the explorer, all inline."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template

from boostne.io.atomic import atomic_path
from boostne.visualization.document import content_security_policy, read_asset, style_sheet, theme_script
from boostne.visualization.explorer.page import explorer_scripts, render_explorer
from boostne.visualization.html import Markup, element, joined, json_script, radio_group


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
    headline : str
        The conclusion in a few words.
    conclusion : sequence of str
        What it is based on, in sentences.
    sections : sequence of Section
        Those without a body are omitted.
    maps : mapping from str to mapping
        The parts of the explorer (see :func:`explorer.page.explorer_parts`) by the name of what it shows. The page
        needs a :func:`map_section` if there are any.
    """

    title: str
    headline: str
    conclusion: Sequence[str]
    sections: Sequence[Section]
    maps: Mapping[str, Mapping[str, str]]


def write_page(page: Page, path: Path) -> None:
    """Write the page to a file."""
    with atomic_path(path) as temporary:
        temporary.write_text(render(page), encoding="utf-8", errors="replace", newline="\n")


def render(page: Page) -> str:
    """Return the page as HTML; its policy also applies to the explorer, which is a document inside of the page."""
    script = read_asset("page.js")
    scripts = [script, *explorer_scripts()]
    sections = [section for section in page.sections if section.body]
    return Template(read_asset("page.html")).substitute(
        title=element("title", page.title),
        policy=element("meta", http_equiv="Content-Security-Policy", content=content_security_policy(scripts)),
        style=style_sheet("page.css"),
        theme=element("script", Markup(theme_script())),
        heading=element("h1", page.title),
        conclusion=_conclusion(page),
        contents=_contents(sections),
        sections=joined(
            element("section", element("h2", section.title), section.body, id=section.name) for section in sections
        ),
        data=json_script("explorer-data", _explorer_data(page.maps)) if page.maps else "",
        script=element("script", Markup(script)),
    )


def folded(summary: str, *content: Markup) -> Markup:
    """Return content that is shown after a click on its summary."""
    return element("details", element("summary", summary), *content)


def map_section(names: Collection[str], kind: str) -> Section:
    """Return the section with the explorer and buttons to choose among the maps; `kind` says what their names are."""
    choice = radio_group(kind, "map-name", [(str(i), name) for i, name in enumerate(names)]) if len(names) > 1 else ""
    frame = element("iframe", id="explorer", title="Interactive map of the nodes") if names else ""
    return Section("map", "Map", joined([choice, frame]))


def _conclusion(page: Page) -> Markup:
    sentences = element("ul", *(element("li", sentence) for sentence in page.conclusion))
    return element("div", element("p", page.headline, class_="headline"), sentences, class_="conclusion")


def _contents(sections: Sequence[Section]) -> Markup:
    links = (element("li", element("a", section.title, href=f"#{section.name}")) for section in sections)
    return element("nav", element("ul", *links), aria_label="Contents")


def _explorer_data(maps: Mapping[str, Mapping[str, str]]) -> dict[str, object]:
    """Return the explorer's page once, with a mark in place of each part, and the parts of each map."""
    parts = list(maps.values())
    return {"shell": render_explorer({name: f"<!--{name}-->" for name in parts[0]}), "maps": parts}
