"""Check the links of a built site: every file and anchor they name exists, and nothing is loaded from another host.

Usage: python scripts/check_site.py build/docs
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {("img", "src"), ("script", "src"), ("link", "href"), ("iframe", "src"), ("source", "src"), ("video", "src")}
NOT_LOADED = {"canonical", "next", "prev", "search", "index", "author"}


class Page(HTMLParser):
    """Ids and links of an HTML page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[tuple[str, bool]] = []  # the address, and whether the browser loads it with the page
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Collect the ids and links of a tag."""
        values = {name: value for name, value in attributes if value is not None}
        self.ids.update(values[name] for name in ("id", "name") if name in values)
        for name in ("href", "src"):
            if name in values:
                loaded = (tag, name) in LOADED and values.get("rel") not in NOT_LOADED
                self.links.append((values[name], loaded))


def broken_links(site: Path) -> list[str]:
    """Return a line for each broken link of the site."""
    paths = [path for path in sorted(site.rglob("*.html")) if "_static" not in path.parts]
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in paths}
    found = []
    for path, page in pages.items():
        for link, loaded in page.links:
            reason = _fault(pages, path, link, loaded)
            if reason:
                found.append(f"{path.relative_to(site)}: {link}: {reason}")
    return found


def _fault(pages: dict[Path, Page], path: Path, link: str, loaded: bool) -> str | None:
    parts = urlsplit(link)
    if parts.scheme == "data":
        return None
    if parts.scheme or parts.netloc:
        return "loaded from another host" if loaded else None
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    target = target / "index.html" if target.is_dir() else target
    if not target.is_file():
        return "no such file"
    if parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].ids:
        return "no such anchor"
    return None


def main() -> None:
    """Check the site whose folder is the argument."""
    site = Path(sys.argv[1]).resolve()
    pages = len(list(site.rglob("*.html")))
    if not pages:
        sys.exit(f"no pages in {site}")
    broken = broken_links(site)
    if broken:
        sys.exit("\n".join([*broken, f"{len(broken)} broken links"]))
    print(f"{pages} pages without broken links")  # noqa: T201


if __name__ == "__main__":
    main()
