"""Rules as a network of items, as arules' users draw it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Optional

from ._style import GREY, INK, OWNERS, axes, check_rules, finite_lifts, lift_bar

if TYPE_CHECKING:
    import numpy
    import pandas
    from matplotlib.axes import Axes


def network(
    rules: pandas.DataFrame,
    *,
    owners: Optional[Mapping[str, Iterable[str]]] = None,
    most: int = 25,
    by: str = "lift",
    ax: Optional[Axes] = None,
) -> Axes:
    """Draws rules as a network: a circle for each rule, as large as its support and coloured by its lift. Arrows lead from its antecedents, and to its
    consequents.

    Parameters
    ----------
    rules : pandas.DataFrame
        Rules, as of `tacita.rules`.
    owners : mapping of str to iterable of str, optional
        Whose items are whose, each in a colour of its own: ``{"shop": shop.columns}``.
    most : int
        Rules that are drawn, at most.
    by : str
        Column whose highest rules are drawn.
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
    >>> sorted(text.get_text() for text in tacita.plot.network(pd.DataFrame([rule])).texts if text.get_text())
    ['cake', 'tea']
    """
    check_rules(rules, ("antecedents", "consequents", "support", "lift", by))
    rules = rules.sort_values(by, ascending=False, kind="stable").head(most)
    items = sorted({str(item) for side in ("antecedents", "consequents") for one in rules[side] for item in one})
    into = [
        (items.index(str(item)), len(items) + rule) for rule, one in enumerate(rules["antecedents"]) for item in one
    ]
    out = [(len(items) + rule, items.index(str(item))) for rule, one in enumerate(rules["consequents"]) for item in one]
    places = layout(len(items), len(rules), into + out)

    on = axes(ax, 7.6, 6.0)
    lifts, scale = finite_lifts(rules)
    support = rules["support"].to_numpy(dtype=float)
    circles = places[len(items) :]
    for one, other in into + out:
        # The picture is as large as what the arrows lead to.
        arrow = {
            "arrowstyle": "-|>",
            "color": GREY,
            "linewidth": 0.9,
            "alpha": 0.75,
            "shrinkA": 9,
            "shrinkB": 8 if other >= len(items) else 12,
            "connectionstyle": "arc3,rad=0.06",
        }
        on.annotate("", places[other], places[one], arrowprops=arrow, zorder=1).set_in_layout(False)
    drawn = on.scatter(
        circles[:, 0],
        circles[:, 1],
        s=40 + 260 * support / support.max(),
        c=lifts,
        norm=scale,
        cmap="viridis_r",
        edgecolor="white",
        linewidth=1,
        zorder=3,
    )
    colours = _colours(items, owners or {}, on)
    for item, place in zip(items, places):
        box = {
            "boxstyle": "round,pad=0.3",
            "facecolor": colours.get(item, "#f1f3f5"),
            "edgecolor": GREY,
            "linewidth": 0.6,
        }
        on.text(
            place[0],
            place[1],
            item,
            ha="center",
            va="center",
            fontsize=9,
            color=INK,
            bbox=box,
            zorder=4,
            parse_math=False,
        )
    on.update_datalim(places)
    on.margins(0.08)
    on.autoscale_view()
    on.set_axis_off()
    lift_bar(on, drawn)
    return on


def layout(items: int, rules: int, edges: list[tuple[int, int]], steps: int = 300) -> numpy.ndarray[Any, Any]:
    """Places for items and rules, as far from each other as there are edges between them, as nearly as that goes (Gansner, Koren and North, 2004). The
    same each time."""
    import numpy

    nodes = items + rules
    far = _distances(nodes, edges)
    # Items that all rules have would come to lie in one heap in the middle: they are to be read, and so are held apart.
    far[:items, :items] *= 1.5
    weight = 1 / numpy.maximum(far, 1) ** 2
    weight[:items, :items] *= max(rules / items, 1) ** 2
    numpy.fill_diagonal(weight, 0)
    solve = numpy.linalg.pinv(numpy.diag(weight.sum(axis=1)) - weight)
    # A spiral, on which no two are in one place.
    angle, radius = numpy.arange(nodes) * 2.399963, numpy.sqrt(numpy.arange(nodes) + 0.5)
    places = radius[:, None] * numpy.column_stack((numpy.cos(angle), numpy.sin(angle)))
    for _ in range(steps):
        apart = numpy.hypot(*(places[:, None] - places[None]).T).T
        pull = -weight * far / numpy.maximum(apart, 1e-9)
        numpy.fill_diagonal(pull, 0)
        numpy.fill_diagonal(pull, -pull.sum(axis=1))
        places = solve @ (pull @ places)
    return _upright(places)


def _distances(nodes: int, edges: list[tuple[int, int]]) -> numpy.ndarray[Any, Any]:
    """How many edges there are between any two nodes; one more than the most of them where there is no way."""
    import numpy

    far = numpy.full((nodes, nodes), numpy.inf)
    numpy.fill_diagonal(far, 0)
    for one, other in edges:
        far[one, other] = far[other, one] = 1
    for through in range(nodes):
        far = numpy.minimum(far, far[:, through, None] + far[None, through])
    most = far[numpy.isfinite(far)].max()
    return numpy.where(numpy.isfinite(far), far, most + 1)


def _upright(places: numpy.ndarray[Any, Any]) -> numpy.ndarray[Any, Any]:
    """Turned so that they are spread from left to right rather than up and down."""
    import numpy

    places = places - places.mean(axis=0)
    turned: numpy.ndarray[Any, Any] = places @ numpy.linalg.svd(places, full_matrices=False)[2].T
    return turned


def _colours(items: list[str], owners: Mapping[str, Iterable[str]], on: Axes) -> dict[str, str]:
    """The colour of each item, by its owner, which the legend names."""
    from matplotlib.patches import Patch

    colours: dict[str, str] = {}
    patches = []
    for (owner, own), colour in zip(owners.items(), OWNERS * (1 + len(owners) // len(OWNERS))):
        here = set(map(str, own))
        # An item whose name both have bears its owner's in front.
        colours |= {
            item: colour
            for item in items
            if item in here or item.removeprefix(f"{owner}.") in here and item.startswith(f"{owner}.")
        }
        patches.append(Patch(facecolor=colour, edgecolor=GREY, linewidth=0.6, label=owner))
    if patches:
        for text in on.legend(handles=patches, loc="upper left", frameon=False, fontsize=9).get_texts():
            text.set_parse_math(False)
    return colours
