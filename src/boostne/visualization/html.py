"""HTML built from Python. Text is escaped unless marked as HTML, because node ids and labels are untrusted."""

import json
from collections.abc import Sequence
from html import escape
from typing import Any

_VOID = frozenset({"br", "hr", "img", "input", "meta"})


class Markup(str):
    """A string that is already HTML."""

    __slots__ = ()


def element(tag: str, /, *children: Any, **attributes: Any) -> Markup:
    """Return an HTML element.

    Parameters
    ----------
    tag : str
    *children
        :class:`Markup` is inserted unchanged; anything else is escaped.
    **attributes
        ``class_`` stands for ``class``, and ``_`` for ``-``. True gives an attribute without a value; None and
        False omit it.

    Examples
    --------
    >>> element("p", "1 < 2, ", element("b", "says Ann"), class_="note")
    '<p class="note">1 &lt; 2, <b>says Ann</b></p>'
    """
    words = "".join(
        f" {_attribute(key)}" if value is True else f' {_attribute(key)}="{escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    start = f"<{tag}{words}>"
    return Markup(start if tag in _VOID else f"{start}{joined(children)}</{tag}>")


def joined(children: Any, separator: str = "") -> Markup:
    """Concatenate children, escaped as in :func:`element`."""
    return Markup(separator.join(child if isinstance(child, Markup) else escape(str(child)) for child in children))


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


def _attribute(key: str) -> str:
    return key.rstrip("_").replace("_", "-")
