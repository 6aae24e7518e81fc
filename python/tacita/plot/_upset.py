"""How sets overlap, as an UpSet plot (Lex and others, 2014)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import TYPE_CHECKING, Optional, Union

from .._result import Result
from ..errors import _input
from ._style import BLUE, FAINT, GREY, INK, bare
from ._style import figure as new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Number = Union[int, Result]
"""How many, or the result of a job that has revealed it."""

MODES = {"distinct": "in these and no others", "intersect": "in all of these"}


def upset(
    counts: Mapping[Union[str, Iterable[str]], Number],
    *,
    mode: str = "distinct",
    most: int = 30,
    figure: Optional[Figure] = None,
) -> Figure:
    """Draws how the sets of several parties overlap: a bar for each combination of parties, and a bar for each party's own number.

    Parameters
    ----------
    counts : mapping
        How many keys a party has, or several together, as ``{"a": 10, ("a", "b"): 3}``: numbers, or results of jobs ``intersect`` with
        ``reveal = "count"``.
    mode : {"distinct", "intersect"}
        Whether a bar is of keys that these parties have and no others, which takes the counts of all combinations; or of those that all of them have.
    most : int
        Bars that are drawn, at most: the largest.
    figure : matplotlib.figure.Figure, optional
        Figure to draw on.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Raises
    ------
    InputError
        A count is missing, or the counts contradict each other.

    Examples
    --------
    >>> import tacita
    >>> figure = tacita.plot.upset({"a": 10, "b": 8, ("a", "b"): 3})
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['7', '5', '3']
    """
    found = {frozenset([key] if isinstance(key, str) else key): _number(number) for key, number in counts.items()}
    parties = sorted(
        {name for names in found for name in names}, key=lambda name: (-found.get(frozenset([name]), 0), name)
    )
    if mode not in MODES:
        raise _input(f"mode = {mode!r}: use {' or '.join(MODES)}")
    if not found or frozenset() in found:
        raise _input("counts say how many keys a party has, or several of them together: {('a', 'b'): 120}")
    shown = distinct(found, parties) if mode == "distinct" else found
    bars = sorted(shown.items(), key=lambda one: (-one[1], len(one[0]), sorted(one[0])))[:most]
    sizes = [found.get(frozenset([name]), 0) for name in parties]

    figure = figure or new_figure(2.6 + 0.42 * max(len(bars), 6), 2.6 + 0.36 * len(parties))
    widths, heights = (1.3, 0.34 * max(len(bars), 6)), (2.4, 0.36 * len(parties))
    grid = figure.add_gridspec(2, 2, width_ratios=widths, height_ratios=heights, wspace=0.02, hspace=0.02)
    above = figure.add_subplot(grid[0, 1])
    matrix = figure.add_subplot(grid[1, 1], sharex=above)
    left = figure.add_subplot(grid[1, 0], sharey=matrix)
    _bars(above, [number for _, number in bars], f"keys {MODES[mode]}")
    _matrix(matrix, [names for names, _ in bars], parties)
    _sizes(left, sizes)
    return figure


def distinct(counts: Mapping[frozenset[str], int], parties: list[str]) -> dict[frozenset[str], int]:
    """How many keys each combination of parties has that no other has, from how many all of it have: by inclusion and exclusion."""
    everyone = [frozenset(names) for size in range(1, len(parties) + 1) for names in combinations(parties, size)]
    missing = next((names for names in everyone if names not in counts), None)
    if missing is not None:
        raise _input(
            f'how many keys do {", ".join(sorted(missing))} have? mode = "distinct" takes every combination, mode = "intersect" what there is'
        )
    found = {}
    for names in everyone:
        more = [other for other in everyone if names <= other]
        found[names] = sum((-1) ** (len(other) - len(names)) * counts[other] for other in more)
        if found[names] < 0:
            raise _input(
                f"the counts contradict each other: {', '.join(sorted(names))} have fewer keys together than with others"
            )
    return found


def _number(number: Number) -> int:
    if not isinstance(number, Result):
        return int(number)
    value = number.value or {}
    for name in ("count", "rows"):
        if name in value:
            return int(value[name])
    raise _input(f"{number!r} has no count: it is below the job's min_result, or for others")


def _bars(on: Axes, numbers: list[int], label: str) -> None:
    bars = on.bar(range(len(numbers)), numbers, width=0.62, color=BLUE, zorder=3)
    on.bar_label(bars, [f"{number:,}" for number in numbers], padding=2, fontsize=8, color=INK)
    on.set_ylabel(label)
    on.margins(y=0.12)
    on.grid(axis="y", color=FAINT, zorder=0)
    bare(on, "left")
    on.tick_params(axis="x", bottom=False, labelbottom=False)


def _matrix(on: Axes, columns: list[frozenset[str]], parties: list[str]) -> None:
    rows = range(len(parties))
    for row in rows[::2]:
        on.axhspan(row - 0.5, row + 0.5, color="#f5f7f9", linewidth=0, zorder=0)
    for column, names in enumerate(columns):
        members = [row for row in rows if parties[row] in names]
        on.scatter([column] * len(parties), rows, s=58, color=FAINT, zorder=2)
        on.plot([column, column], [members[0], members[-1]], color=INK, linewidth=1.8, zorder=3)
        on.scatter([column] * len(members), members, s=58, color=INK, zorder=4)
    on.set_ylim(len(parties) - 0.5, -0.5)
    on.set_xlim(-0.6, len(columns) - 0.4)
    on.set_yticks(list(rows), parties, parse_math=False)
    bare(on)
    on.tick_params(axis="both", length=0, labelbottom=False)


def _sizes(on: Axes, sizes: list[int]) -> None:
    bars = on.barh(range(len(sizes)), sizes, height=0.5, color=GREY, zorder=3)
    on.margins(x=0.4)
    on.invert_xaxis()
    on.bar_label(bars, [f"{size:,}" if size else "" for size in sizes], padding=2, fontsize=8, color=INK)
    on.set_title("keys of each", fontsize=9, color=INK, loc="right", pad=4)
    bare(on)
    on.tick_params(axis="both", length=0, labelleft=False, labelbottom=False)
