"""HTML put together from Python, escaped unless it is marked as HTML: names of nodes and labels are anybody's."""

import json
from html import escape
from typing import Any

_VOID = frozenset({"br", "hr", "img", "input", "meta"})


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def element(tag: str, /, *children: Any, **attributes: Any) -> Markup:
    """Return an HTML element.

    Parameters
    ----------
    tag : str
    *children
        :class:`Markup` is taken as it is; anything else is escaped.
    **attributes
        ``class_`` stands for ``class``, and ``_`` for ``-``. True gives an attribute without a value; None and
        False leave it out.

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


def joined(children: Any, between: str = "") -> Markup:
    """Return the children one after the other, as :func:`element` takes them."""
    return Markup(
        between.join(child if isinstance(child, Markup) else escape(str(child)) for child in children)
    )


def data_block(identifier: str, value: Any) -> Markup:
    r"""Return JSON for the page's script to read; no text in it can end the block.

    Examples
    --------
    >>> data_block("names", ["</script>"])
    '<script type="application/json" id="names">["\\u003c/script>"]</script>'
    """
    text = json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    content = Markup(text.replace("<", "\\u003c"))
    return element("script", content, type="application/json", id=identifier)


def _attribute(key: str) -> str:
    return key.rstrip("_").replace("_", "-")
