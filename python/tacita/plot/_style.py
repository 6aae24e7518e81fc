"""What the pictures have in common: colours, and axes to draw on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Optional

from ..errors import _input

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, ORANGE, GREY, FAINT, INK = "#2f6690", "#d1603d", "#8d99a6", "#e4e8ec", "#22303c"

OWNERS = ("#dbe7f1", "#fbe3d6", "#e2efdd", "#efe3f3", "#f6efcf", "#dff0ef")
"""Grounds for names, by owner: light enough for black text."""


def figure(width: float, height: float) -> Figure:
    """A new figure, in inches, which notebooks show."""
    made: Figure = _pyplot().figure(figsize=(width, height), layout="constrained")
    return made


def axes(given: Optional[Axes], width: float = 6.4, height: float = 4.4) -> Axes:
    """The axes that the user gave, or new ones."""
    return given if given is not None else figure(width, height).add_subplot()


def bare(on: Axes, *sides: str) -> None:
    """Leaves out the frame but for some of its sides."""
    for name, spine in on.spines.items():
        spine.set_visible(name in sides)
        spine.set_color(GREY)
    on.tick_params(colors=INK, length=3)


def lift_bar(on: Axes, drawn: Any) -> None:
    """The scale of lifts beside what is coloured by them."""
    bar = on.figure.colorbar(drawn, ax=on, shrink=0.85, pad=0.02)
    bar.set_label("lift", color=INK)
    bar.outline.set_visible(False)


def finite_lifts(rules: pandas.DataFrame) -> tuple[Any, Any]:
    """The lifts of rules, and a scale for them."""
    from matplotlib.colors import Normalize

    lifts = rules["lift"].to_numpy(dtype=float)
    return lifts, Normalize(lifts.min(), max(lifts.max(), lifts.min() + 0.1))


def check_rules(rules: pandas.DataFrame, needs: Iterable[str]) -> None:
    """Refuses what has no rules in it."""
    missing = [name for name in needs if name not in rules]
    if missing:
        raise _input(f"no column {missing[0]!r}: rules have the columns of tacita.rules")
    if rules.empty:
        raise _input("there are no rules to draw: ask for less support or confidence")


def _pyplot() -> Any:
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("pictures need matplotlib: pip install matplotlib") from error
    return pyplot
