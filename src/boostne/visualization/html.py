"""HTML elements of pages: data for scripts and groups of radio buttons."""

import json
from collections.abc import Sequence
from typing import Any

from boostne.html import Markup, element, joined

__all__ = ["Markup", "element", "joined", "json_script", "radio_group"]


def json_script(identifier: str, value: Any) -> Markup:
    r"""Return a script element with JSON data; no string in it can close the element.

    Examples
    --------
    >>> json_script("names", ["</script>"])
    '<script type="application/json" id="names">["\\u003c/script>"]</script>'
    """
    text = json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    content = Markup(text.replace("<", "\\u003c"))
    return element("script", content, type="application/json", id=identifier)


def radio_group(legend: str, name: str, options: Sequence[tuple[str, str]]) -> Markup:
    """Return radio buttons for (value, text) pairs; the first one is checked."""
    return element(
        "fieldset",
        element("legend", legend),
        *(
            element(
                "label",
                element("input", type="radio", name=name, value=value, checked=i == 0, autocomplete="off"),
                element("span", text),
            )
            for i, (value, text) in enumerate(options)
        ),
        class_="choice",
    )
