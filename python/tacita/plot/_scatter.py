"""Rules by support and confidence."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Optional

from ._style import FAINT, INK, axes, bare, check_rules, finite_lifts, lift_bar

if TYPE_CHECKING:
    import numpy
    import pandas
    from matplotlib.axes import Axes


def scatter(rules: pandas.DataFrame, *, label: int = 5, ax: Optional[Axes] = None) -> Axes:
    """Draws rules as dots by support and confidence, coloured by lift.

    Parameters
    ----------
    rules : pandas.DataFrame
        Rules, as of `tacita.rules`.
    label : int
        Rules of the highest lift that are named.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    InputError
        There are no rules, or a column is missing.

    Examples
    --------
    >>> import pandas as pd, tacita
    >>> rule = {"antecedents": frozenset({"tea"}), "consequents": frozenset({"cake"}), "support": 0.2, "confidence": 0.8, "lift": 1.6}
    >>> tacita.plot.scatter(pd.DataFrame([rule])).get_ylabel()
    'confidence'
    """
    check_rules(rules, ("antecedents", "consequents", "support", "confidence", "lift"))
    on = axes(ax)
    # The strongest are drawn last, on top.
    rules = rules.sort_values("lift", kind="stable")
    lifts, scale = finite_lifts(rules)
    drawn = on.scatter(
        rules["support"],
        rules["confidence"],
        c=lifts,
        norm=scale,
        cmap="viridis_r",
        s=46,
        edgecolor="white",
        linewidth=0.7,
        zorder=3,
    )
    on.set(xlabel="support", ylabel="confidence")
    on.margins(0.1)
    on.grid(color=FAINT, zorder=0)
    bare(on, "left", "bottom")
    lift_bar(on, drawn)
    # Only now is it known where everything stands.
    whole = on.get_figure(root=True)
    if whole is not None:
        whole.draw_without_rendering()
    _name(on, rules.iloc[::-1].head(label), rules[["support", "confidence"]].to_numpy(dtype=float))
    return on


def _name(on: Axes, rules: pandas.DataFrame, dots: numpy.ndarray[Any, Any]) -> None:
    """Writes names beside dots, each where it hides least; rules at one place share one."""
    import numpy

    names: dict[tuple[float, float], list[str]] = {}
    for antecedents, consequents, x, y in zip(
        rules["antecedents"], rules["consequents"], rules["support"], rules["confidence"]
    ):
        names.setdefault((x, y), []).append(f"{_text(antecedents)} → {_text(consequents)}")
    # In points of the picture, as texts are measured.
    points = on.transData.transform(dots) * 72 / on.figure.dpi
    frame = on.get_window_extent().get_points().ravel() * 72 / on.figure.dpi
    taken: list[Box] = []
    for place, lines in names.items():
        size = numpy.array([max(map(len, lines)) * 0.52, len(lines) * 1.25]) * SIZE
        at = on.transData.transform(place) * 72 / on.figure.dpi
        offset, box = min(_places(at, size), key=lambda one: _hidden(one, points, taken, frame))
        taken.append(box)
        on.annotate(
            "\n".join(lines), place, offset, textcoords="offset points", fontsize=SIZE, color=INK, va="center", ha="left", zorder=4, parse_math=False,
            arrowprops={"arrowstyle": "-", "color": INK, "linewidth": 0.6, "alpha": 0.6, "shrinkA": 1, "shrinkB": 3, "relpos": (0 if offset[0] > 0 else 1,
            0.5)},
        )  # fmt: skip


SIZE = 8
"""Of the names, in points."""

Box = tuple[float, float, float, float]
"""Left, bottom, right, top."""


def _places(at: numpy.ndarray[Any, Any], size: numpy.ndarray[Any, Any]) -> Iterator[tuple[tuple[float, float], Box]]:
    """Where a name may stand, as an offset of the middle of its left side, and its box: nearer ones first."""
    for up in (0, 11, -11, 22, -22, 36, -36, 52, -52, 70, -70, 90, -90):
        for right in (9, -9 - size[0], 26, -26 - size[0]):
            left, middle = at[0] + right, at[1] + up
            yield (right, up), (left, middle - size[1] / 2, left + size[0], middle + size[1] / 2)


def _hidden(
    one: tuple[tuple[float, float], Box],
    points: numpy.ndarray[Any, Any],
    taken: list[Box],
    frame: numpy.ndarray[Any, Any],
) -> float:
    """How much a name in its box hides, or is hidden."""
    offset, (left, bottom, right, top) = one
    reach = 4
    over = (points > (left - reach, bottom - reach)).all(axis=1) & (points < (right + reach, top + reach)).all(axis=1)
    crossed = sum(left < box[2] + 2 and box[0] < right + 2 and bottom < box[3] and box[1] < top for box in taken)
    outside = left < frame[0] or right > frame[2] or bottom < frame[1] or top > frame[3]
    return float(over.sum() + 6 * crossed + 20 * outside + abs(offset[1]) / 60)


def _text(items: frozenset[str]) -> str:
    return ", ".join(sorted(map(str, items)))
