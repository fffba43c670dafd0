"""Controls of the page; each works by the keyboard alone."""

from collections.abc import Sequence

from boostne.visualization.markup import Markup, element


def choice(legend: str, name: str, choices: Sequence[tuple[str, str]]) -> Markup:
    """Return a row of radio buttons, value and text each; the first is chosen."""
    return element(
        "fieldset",
        element("legend", legend),
        *(
            element(
                "label",
                element("input", type="radio", name=name, value=value, checked=i == 0, autocomplete="off"),
                element("span", text),
            )
            for i, (value, text) in enumerate(choices)
        ),
        class_="choice",
    )
