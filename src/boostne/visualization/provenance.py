"""What was run, on what, with which checksum: nested names and values as a list."""

from collections.abc import Mapping
from typing import Any

from boostne.visualization.markup import Markup, element, joined

_CHECKSUM = 64  # hexadecimal digits


def provenance(facts: Mapping[str, Any]) -> Markup:
    """Return names and values as a definition list; a mapping inside becomes a list inside."""
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
        case str() if len(value) == _CHECKSUM and value.isalnum():
            return element("code", value)
        case _:
            return _scalar(value)


def _item(item: Any) -> Markup:
    """Return one of several; those that have a name are opened by it."""
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
