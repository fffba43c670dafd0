"""Nested facts about a run (parameters, versions, checksums) as an HTML definition list."""

from collections.abc import Mapping
from typing import Any

from boostne.visualization.html import Markup, element, joined

_SHA256_DIGITS = 64


def provenance(facts: Mapping[str, Any]) -> Markup:
    """Return names and values as a definition list; mappings become nested lists."""
    return element(
        "dl",
        *(
            part
            for name, value in facts.items()
            for part in (element("dt", str(name).replace("_", " ")), element("dd", _value(value)))
        ),
    )


def _value(value: Any) -> Markup | str:
    match value:
        case Mapping():
            return provenance(value)
        case list() | tuple() if any(isinstance(item, Mapping) for item in value):
            return joined(_item(item) for item in value)
        case list() | tuple():
            return ", ".join(_scalar(item) for item in value)
        case str() if len(value) == _SHA256_DIGITS and value.isalnum():
            return element("code", value)
        case _:
            return _scalar(value)


def _item(item: Any) -> Markup:
    """Return an item of a list; one with a name becomes a collapsible block under that name."""
    if not isinstance(item, Mapping) or "name" not in item:
        return element("div", _value(item))
    facts = {key: value for key, value in item.items() if key != "name"}
    return element("details", element("summary", item["name"]), provenance(facts))


def _scalar(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    return "–" if value is None or value == "" else str(value)
