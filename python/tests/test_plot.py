"""Pictures show the numbers that they are of. How they look is for people to judge: docs/guides/python.md has them."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import matplotlib
import numpy
import pandas
import pytest
from conftest import EXAMPLES
from matplotlib import pyplot

import tacita
from tacita.plot._network import layout

matplotlib.use("Agg")

RULES = pandas.DataFrame(
    [
        {
            "antecedents": frozenset({"tea"}),
            "consequents": frozenset({"cake"}),
            "support": 0.2,
            "confidence": 0.8,
            "lift": 1.6,
        },
        {
            "antecedents": frozenset({"tea", "milk"}),
            "consequents": frozenset({"cake"}),
            "support": 0.1,
            "confidence": 0.9,
            "lift": 1.8,
        },
        {
            "antecedents": frozenset({"shop.jam"}),
            "consequents": frozenset({"bakery.jam"}),
            "support": 0.3,
            "confidence": 0.5,
            "lift": 1.0,
        },
    ]
)


@pytest.fixture(autouse=True)
def _closed() -> object:
    yield
    pyplot.close("all")


def test_upset_counts_by_inclusion_and_exclusion() -> None:
    sets = {"a": set(range(0, 60)), "b": set(range(40, 100)), "c": set(range(50, 70))}
    counts = {"a": 60, "b": 60, "c": 20, ("a", "b"): 20, ("a", "c"): 10, frozenset({"b", "c"}): 20, ("c", "b", "a"): 10}
    only = {"a": sets["a"] - sets["b"] - sets["c"], "b": sets["b"] - sets["a"] - sets["c"]}
    figure = tacita.plot.upset(counts)
    numbers = [int(text.get_text()) for text in figure.axes[0].texts]
    assert numbers == sorted([len(only["a"]), len(only["b"]), 10, 10, 10, 0, 0], reverse=True)
    assert [label.get_text() for label in figure.axes[1].get_yticklabels()] == ["a", "b", "c"]
    figure = tacita.plot.upset({**counts, "b": 61}, mode="intersect", most=3)
    assert [int(text.get_text()) for text in figure.axes[0].texts] == [61, 60, 20]


def test_upset_of_results() -> None:
    tables = {name: pandas.DataFrame({"id": range(start, start + 10)}) for name, start in {"a": 0, "b": 6}.items()}
    job = tacita.Job(
        job="intersect", id="x", reveal="count", reveal_to=["a"], key={"columns": ["id"]}, parties=["a", "b"]
    )
    figure = tacita.plot.upset({"a": 10, "b": 10, ("a", "b"): tacita.simulate(job, tables)["a"]})
    assert [text.get_text() for text in figure.axes[0].texts] == ["6", "6", "4"]


@pytest.mark.parametrize(
    ("counts", "mode", "why"),
    [
        ({"a": 1, "b": 1}, "distinct", "how many keys do a, b have"),
        ({"a": 1, "b": 1, ("a", "b"): 2}, "distinct", "contradict each other"),
        ({"a": 1}, "both", "use distinct or intersect"),
        ({}, "distinct", "counts say how many"),
    ],
)
def test_upset_refuses(counts: dict[object, int], mode: str, why: str) -> None:
    with pytest.raises(tacita.InputError, match=why):
        tacita.plot.upset(counts, mode=mode)  # type: ignore[arg-type]


def test_scatter_has_every_rule_where_it_belongs() -> None:
    on = tacita.plot.scatter(RULES, label=2)
    drawn = on.collections[0]
    assert {tuple(place) for place in drawn.get_offsets().data} == set(zip(RULES["support"], RULES["confidence"]))
    assert sorted(drawn.get_array()) == sorted(RULES["lift"])
    assert [text.get_text() for text in on.texts] == ["milk, tea → cake", "tea → cake"]


def test_network_has_every_item_and_arrow() -> None:
    on = tacita.plot.network(RULES, owners={"shop": ["tea", "milk", "jam"], "bakery": ["cake", "jam"]})
    names = [text for text in on.texts if text.get_text()]
    assert [text.get_text() for text in names] == ["bakery.jam", "cake", "milk", "shop.jam", "tea"]
    grounds = [text.get_bbox_patch().get_facecolor() for text in names]
    assert grounds[2] == grounds[3] == grounds[4] != grounds[0] == grounds[1]
    assert len(on.texts) - len(names) == 7
    assert len(on.collections[0].get_offsets()) == 3
    assert [text.get_text() for text in on.get_legend().get_texts()] == ["shop", "bakery"]
    one = tacita.plot.network(RULES, most=1)
    assert [text.get_text() for text in one.texts if text.get_text()] == ["cake", "milk", "tea"]


def test_names_are_no_formulas() -> None:
    """Two dollars in a name, or an unknown command between them, are letters."""
    priced = RULES.assign(antecedents=[frozenset({r"$\nowhere$ off"})] * 3)
    for on in (tacita.plot.network(priced, owners={"$a$": [r"$\nowhere$ off"]}), tacita.plot.scatter(priced)):
        assert any(r"$\nowhere$ off" in text.get_text() for text in on.texts)
        on.figure.draw_without_rendering()
    tacita.plot.upset({r"$\nowhere$": 1, "b": 1, (r"$\nowhere$", "b"): 1}).draw_without_rendering()


def test_a_layout_holds_nodes_apart_also_without_edges_between() -> None:
    places = layout(4, 2, [(0, 4), (4, 1), (2, 5), (5, 3)])
    apart = numpy.hypot(*(places[:, None] - places[None]).T)
    assert numpy.isfinite(places).all() and apart[~numpy.eye(6, dtype=bool)].min() > 0.4
    assert (layout(4, 2, [(0, 4), (4, 1), (2, 5), (5, 3)]) == places).all()


def test_histogram_of_a_round() -> None:
    path = EXAMPLES / "attackers"
    lists = {one.name.split(".")[0]: one for one in (path / "lists").iterdir()}
    result = next(iter(tacita.simulate(tacita.Job.load(path / "three.toml"), lists).values()))
    for measure in ("count", "distinct"):
        told = {int(row["size"]): int(row["rows"]) for row in result.histogram.to_pylist() if row["measure"] == measure}
        on = tacita.plot.histogram(result, measure=measure, threshold=3)
        assert {round(bar.get_x() + 0.4): bar.get_height() for bar in on.patches} == told
    colours = {round(bar.get_x() + 0.4) >= 3: bar.get_facecolor() for bar in on.patches}
    assert colours[True] != colours[False]
    with pytest.raises(tacita.InputError, match="use count or distinct"):
        tacita.plot.histogram(result, measure="size")


def test_axes_of_the_users_own_are_drawn_on() -> None:
    _, (one, two, three) = pyplot.subplots(1, 3)
    assert tacita.plot.scatter(RULES, ax=one) is one and tacita.plot.network(RULES, ax=two) is two
    assert tacita.plot.histogram({1: 2}, ax=three) is three


def test_nothing_to_draw_is_an_error_that_says_so() -> None:
    for draw in (tacita.plot.scatter, tacita.plot.network):
        with pytest.raises(tacita.InputError, match="no rules to draw"):
            draw(RULES.head(0))
        with pytest.raises(tacita.InputError, match="no column 'lift'"):
            draw(RULES.drop(columns="lift"))
    with pytest.raises(tacita.InputError, match="no keys to draw"):
        tacita.plot.histogram({})


def test_without_matplotlib_the_rest_works(tmp_path: pathlib.Path) -> None:
    hidden = "import sys; sys.modules['matplotlib'] = None; import tacita\ntry: tacita.plot.upset({'a': 1})\nexcept ImportError as error: print(error)"
    ran = subprocess.run([sys.executable, "-c", hidden], capture_output=True, text=True, cwd=tmp_path)
    assert ran.stdout == "pictures need matplotlib: pip install matplotlib\n", ran.stderr
