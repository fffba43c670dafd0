"""What all pages share: the style sheet, the script that follows the color scheme, and the content security policy."""

from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from importlib.resources import files

from boostne.visualization.palette import css_variables


def read_asset(name: str) -> str:
    """Return a file of the folder ``assets``."""
    return (files("boostne.visualization") / "assets" / name).read_text(encoding="utf-8")


def style_sheet(*names: str) -> str:
    """Return the colors, the common style sheet and the given ones."""
    return css_variables() + "".join(read_asset(name) for name in ("theme.css", *names))


def theme_script() -> str:
    """Return the script for the head of a page, which sets its color scheme before anything is drawn."""
    return read_asset("theme.js")


def content_security_policy(scripts: Sequence[str], connect: str = "'none'") -> str:
    """Return a policy that allows the given scripts only, by their hashes, and requests to `connect` only.

    A node id or label cannot inject a script.
    """
    hashes = " ".join(f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" for script in scripts)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; "
        f"connect-src {connect}; form-action 'none'"
    )
