"""How often keys were reported, of a round of an aggregation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Optional, Union

from .._result import Result
from ..errors import _input
from ._style import BLUE, FAINT, GREY, INK, axes, bare

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MEASURES = {"count": "reports of a key", "distinct": "participants who report a key"}


def histogram(
    result: Union[Result, Mapping[int, int]],
    *,
    measure: str = "count",
    threshold: Optional[int] = None,
    log: Optional[bool] = None,
    ax: Optional[Axes] = None,
) -> Axes:
    """Draws how many keys were reported once, twice, and so on.

    Parameters
    ----------
    result : Result or mapping of int to int
        A result of a job ``aggregate`` that reveals a histogram, or numbers of keys by how often they were reported.
    measure : {"count", "distinct"}
        Reports, or participants.
    threshold : int, optional
        Keys from this number on stand out: those that the round reveals.
    log : bool, optional
        Whether numbers of keys are drawn as logarithms; if absent, where the greatest is more than fifty times the least.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    InputError
        There are no keys to draw.

    Examples
    --------
    >>> import tacita
    >>> tacita.plot.histogram({1: 420, 2: 55, 3: 12, 6: 2}, threshold=3).get_ylabel()
    'keys'
    """
    keys = _keys(result, measure)
    if not keys:
        raise _input("there are no keys to draw")
    on = axes(ax)
    if log is None:
        log = max(keys.values()) > 50 * min(keys.values())
    shown = [threshold is None or size >= threshold for size in keys]
    bars = on.bar(list(keys), list(keys.values()), width=0.8, color=[BLUE if one else GREY for one in shown], zorder=3)
    if log:
        on.set_yscale("log")
        on.set_ylim(bottom=0.5)
        on.yaxis.set_major_formatter("{x:,.0f}")
        on.minorticks_off()
    if len(keys) <= 30:
        on.bar_label(bars, [f"{number:,}" for number in keys.values()], padding=2, fontsize=8, color=INK)
    if threshold is not None:
        on.axvline(threshold - 0.5, color=INK, linewidth=1, linestyle=(0, (4, 3)), zorder=2)
        on.annotate(
            f"revealed from {threshold} on",
            (threshold - 0.5, 1),
            (5, -4),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            va="top",
            fontsize=9,
            color=INK,
        )
    on.set(xlabel=MEASURES[measure], ylabel="keys")
    if max(keys) - min(keys) < 20:
        on.set_xticks(range(min(keys), max(keys) + 1))
    on.margins(y=0.12)
    on.grid(axis="y", color=FAINT, zorder=0)
    bare(on, "left", "bottom")
    return on


def _keys(result: Union[Result, Mapping[int, int]], measure: str) -> dict[int, int]:
    """How many keys there are of each size."""
    if measure not in MEASURES:
        raise _input(f"measure = {measure!r}: use {' or '.join(MEASURES)}")
    if isinstance(result, Mapping):
        return dict(sorted(result.items()))
    rows = result.histogram.to_pylist()
    found = {int(row["size"]): int(row["rows"]) for row in rows if row["measure"] == measure}
    if rows and not found:
        raise _input(
            f"the histogram has no {measure!r}: a round counts participants where its reveal_when asks for them"
        )
    return dict(sorted(found.items()))
