"""Regressions over two organisations' tables are those of the joined table, and of them nothing is opened but what is said."""

from __future__ import annotations

import sys
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy
import pandas
import pytest
from conftest import ROOT, connected
from sklearn.base import clone, is_regressor
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.metrics import r2_score

import tacita
from tacita import learn

sys.path.append(str(ROOT / "docs" / "notebooks"))
# Behind the line that says where it is.
from adult import people, split  # noqa: E402

RANGES = {"bank.savings": (0, 2000), "registry.hours": (0, 100)}
FEATURES = ["registry.hours", "registry.work", "bank.income"]


def simulated(**tables: pandas.DataFrame) -> learn.Parties:
    return learn.Parties.simulated(tables, tell=None, progress=False)


def recorded(parties: learn.Parties) -> list[tuple[str, dict[str, Any]]]:
    """What each party has of each run from here on, by what the run is for."""
    opened: list[tuple[str, dict[str, Any]]] = []
    run = parties.run

    def watched(what: str, *given: Any, **options: Any) -> dict[str, tacita.Result]:
        results = run(what, *given, **options)
        opened.append((what, {name: result.value and result.value["value"] for name, result in results.items()}))
        return results

    parties.run = watched  # type: ignore[method-assign]
    return opened


def design(parties: learn.Parties, features: list[str], *, drop_first: bool) -> numpy.ndarray:
    """The columns of features whose rows are those of the tables: as scikit-learn's users make them."""
    columns = [parties.tables[party][column] for party, column in map(parties.column, features)]
    parts = [column if column.dtype.kind in "if" else pandas.get_dummies(column, drop_first=drop_first) for column in columns]
    return numpy.column_stack([part.to_numpy(dtype=float) for part in parts])


def check(ours: learn.LinearRegression, theirs: Any) -> None:
    """Both have the same numbers, to what is said of their error."""
    assert ours.coef_.shape == ours.coef_error_.shape == theirs.coef_.shape
    assert (numpy.abs(ours.coef_ - theirs.coef_) <= ours.coef_error_).all()
    assert abs(ours.intercept_ - theirs.intercept_) <= ours.intercept_error_ + 1e-12


@pytest.mark.parametrize("seed", range(4))
def test_regressions_of_random_frames_are_those_of_scikit_learn(seed: int) -> None:
    random = numpy.random.default_rng(seed)
    rows, first = 150 + 40 * seed, seed % 2 == 0
    base = random.normal(size=(rows, 3))
    mine = pandas.DataFrame({"x": (7 + 2 * base[:, 0]).clip(0, 20), "k": random.choice(list("uvw"), rows)})
    # One feature nearly follows from another party's, on a scale of thousands. (On one of millions, scikit-learn takes it to follow.)
    theirs = pandas.DataFrame({"z": 1e3 * (mine["x"] + 0.05 * base[:, 1]), "n": random.integers(-50, 50, rows)})
    mine["y"] = (3 * mine["x"] - 1e-3 * theirs["z"] + 0.1 * theirs["n"] + base[:, 2]).round(2)
    parties = simulated(**({"a": mine, "b": theirs} if first else {"b": theirs, "a": mine}))
    ranges = {"a.y": (-100, 100), "a.x": (0, 20), "b.z": (-1e3, 3e4), "b.n": (-50, 50)}
    features = ["b.z", "a.k", "b.n", "a.x"]
    both = {intercept: design(parties, features, drop_first=intercept) for intercept in (True, False)}
    asked: list[tuple[learn.LinearRegression, Any]] = [
        (learn.LinearRegression(ranges=ranges), LinearRegression()),
        (learn.Ridge(20, ranges=ranges, fit_intercept=False), Ridge(20, fit_intercept=False)),
    ]
    for model, expected in asked:
        check(model.fit(parties, "a.y", features), expected.fit(both[model.fit_intercept], mine["y"]))
        assert model.n_rows_ == rows and (model.coef_error_[-1] < 1e-2)
        frame = pandas.DataFrame({f"a.{name}": mine[name] for name in mine} | {f"b.{name}": theirs[name] for name in theirs})
        predicted = expected.predict(both[model.fit_intercept])
        numpy.testing.assert_allclose(model.predict(frame), predicted, atol=1e-4)
        assert model.score(frame, mine["y"]) == pytest.approx(r2_score(mine["y"], predicted), abs=1e-6)
    assert asked[0][0].coef_names_.tolist() == ["b.z", "a.k=v", "a.k=w", "b.n", "a.x"]


@pytest.mark.parametrize("alignment", ["hidden", "rows"])
def test_a_regression_of_common_rows(alignment: Any) -> None:
    """Each run opens sums to one party, and of products nothing but their sums."""
    registry, bank = split(people(260))
    joined = registry.merge(bank, on="person")
    parties = simulated(registry=registry, bank=bank).align(["person"], alignment=alignment)
    opened = recorded(parties)
    model = learn.LinearRegression(ranges=RANGES).fit(parties, "bank.savings", FEATURES)
    one = simulated(registry=joined, bank=joined)
    check(model, LinearRegression().fit(design(one, FEATURES, drop_first=True), joined["savings"]))
    assert model.n_rows_ == len(joined) and model.score(joined.rename(columns=prefixed), joined["savings"]) > 0.9
    # The registry has hours and four columns of kinds of work, the bank savings and one of incomes.
    sums = opened[1:] if alignment == "hidden" else opened
    shapes = [numpy.array(of["bank"], dtype=object).shape for _, of in sums]
    assert shapes == [(6, 3), (15, 1), (1, 2)][: len(sums)] and len(sums) == (3 if alignment == "hidden" else 2)
    assert all(what == "regression" and of["registry"] is None for what, of in sums)
    if alignment == "hidden":
        # One product of one column with one is a number.
        assert opened[0] == ("rows", {"registry": len(joined), "bank": len(joined)})


def prefixed(column: str) -> str:
    return f"{'bank' if column in ('savings', 'income', 'marital') else 'registry'}.{column}"


def test_nothing_is_opened_of_few_rows() -> None:
    """Rows that each party has are counted before anything is sent, and common ones before anything is opened."""
    a = pandas.DataFrame({"id": range(40), "y": 1.0, "x": range(40)})
    for ids, why in ((range(20, 60), "^there are 20 rows, and 30 are needed"), (range(50, 90), "^no row is common"), (range(20), "^there are 20 rows")):
        parties = simulated(a=a, b=pandas.DataFrame({"id": ids, "z": range(len(ids))})).align("id")
        opened = recorded(parties)
        model = learn.LinearRegression(ranges={"a.y": (0, 1), "a.x": (0, 40), "b.z": (0, 40)})
        with pytest.raises(tacita.InputError, match=why):
            model.fit(parties, "a.y", ["a.x", "b.z"])
        assert not hasattr(model, "coef_") and [what for what, _ in opened] == ["rows"] * (len(ids) == 40)


def test_parties_that_are_connected(tmp_path: object) -> None:
    """The other's object stays empty. A range that differs ends both, as do too few rows."""
    rows = numpy.arange(60)
    tables = {"a": pandas.DataFrame({"id": rows, "x": rows % 7}), "b": pandas.DataFrame({"id": rows + 5, "y": rows % 11, "k": list("uv") * 30})}
    ranges = {"a.x": (0, 10), "b.y": (0, 10)}

    def work(parties: learn.Parties) -> object:
        common = parties.align("id")
        model = learn.Ridge(ranges=ranges).fit(common, "b.y", ["a.x", "b.k"])
        with pytest.raises(tacita.InputError, match="^there are 55 rows, and 56 are needed"):
            learn.Ridge(ranges=ranges, min_rows=56).fit(common, "b.y", ["a.x", "b.k"])
        differs = ranges | ({"b.y": (0, 11)} if parties.here("a") else {})
        with pytest.raises(tacita.TermsError, match="column|job"):
            # By position.
            learn.Ridge(ranges=ranges | {"a.x": differs["b.y"]}).fit(parties, "b.y", ["a.x"])
        return model

    ended: Any = connected(work, tables, {"b": {"k": ["u", "v"]}}, tmp_path)
    assert not {"coef_", "intercept_", "n_rows_"} & set(vars(ended["a"]))
    with pytest.raises(tacita.InputError, match="^the model is not here: b has it"):
        ended["a"].predict(tables["a"])
    joined = tables["a"].merge(tables["b"], on="id")
    check(ended["b"], Ridge().fit(numpy.column_stack([joined["x"], joined["k"] == "v"]), joined["y"]))


SAID = [
    "a learns how many rows are common and, over these, the sum of each of b.z, b.k=v.",
    "a learns the sum of the products of each of these with each other, with itself, and with each of a.x, a.y.",
    "They are means, variances and covariances of b's columns: more than the coefficients, which follow from them.",
    "a learns such sums of its own a.x, a.y, over common rows. A column that is 0 in all rows but one tells it whether that row is common.",
    "If fewer than 40 rows are common, the fit ends at both before any of these sums is opened.",
    "That does not hide single rows from a if it chooses its columns for that: one that is 0 in all rows but one tells it b's columns of that row.",
    "b learns nothing of a's rows by the fit.",
]


def test_what_is_learned_is_said_before() -> None:
    rows = numpy.arange(50)
    tables = {"a": pandas.DataFrame({"id": rows, "y": rows / 2, "x": rows % 7}), "b": pandas.DataFrame({"id": rows, "z": rows % 5, "k": list("uv") * 25})}
    said: list[str] = []

    def heard(sentence: str) -> None:
        said.append(sentence)
        if sentence == SAID[-1]:
            raise PermissionError

    model = learn.LinearRegression(ranges={"a.y": (0, 25), "a.x": (0, 6), "b.z": (0, 4)})
    parties = learn.Parties.simulated(tables, tell=heard)
    for of, hidden in ((parties.align("id"), True), (parties, False)):
        said.clear()
        with pytest.raises(PermissionError):
            model.fit(of, "a.y", ["a.x", "b.z", "b.k"])
        assert said == [sentence for sentence in SAID if hidden or "its own a.x" not in sentence]


def test_a_column_of_one_row_reads_that_row() -> None:
    """The warning is true, however many rows there are."""
    rows = numpy.arange(200)
    secret = numpy.random.default_rng(1).integers(0, 1000, 200)
    parties = simulated(a=pandas.DataFrame({"y": rows == 17, "x": rows % 2}), b=pandas.DataFrame({"z": secret}))
    model = learn.LinearRegression(ranges={"a.y": (0, 1), "a.x": (0, 1), "b.z": (0, 1000)}, fit_intercept=False)
    opened = recorded(parties)
    model.fit(parties, "a.y", ["a.x", "b.z"])
    [[_, total], [_, _], [_, of_one]] = opened[0][1]["a"]
    assert round(int(of_one) / 1e18 * 1000) == secret[17] and round(int(total) / 1e9 * 1000) == secret.sum()


def test_features_that_follow_from_each_other() -> None:
    random = numpy.random.default_rng(3)
    x, w = random.normal(size=(2, 90)).clip(-4, 4)
    a, b = pandas.DataFrame({"y": x - w, "x": x, "c": 2.0}), pandas.DataFrame({"z": 3 * x, "w": w, "flat": 1e-4 * w})
    ranges = {"a.y": (-8, 8), "a.x": (-4, 4), "a.c": (0, 5), "b.z": (-12, 12), "b.w": (-4, 4), "b.flat": (-4, 4)}
    parties = simulated(a=a, b=b)
    for features, why in (
        (["b.w", "a.x", "b.z"], "^a: a.x, b.z: each follows, or nearly, from the others in the common rows"),
        (["b.w", "a.c"], "^a: a.c: the same in nearly all common rows"),
        (["a.x", "b.flat"], "^a: b.flat: the same in nearly all common rows"),
    ):
        model = learn.LinearRegression(ranges=ranges)
        with pytest.raises(tacita.InputError, match=why):
            model.fit(parties, "a.y", features)
        assert not hasattr(model, "coef_")
    frame = numpy.column_stack([b["w"], a["x"], b["z"]])
    check(learn.Ridge(2.0, ranges=ranges).fit(parties, "a.y", ["b.w", "a.x", "b.z"]), Ridge(2.0).fit(frame, a["y"]))


TABLES = {
    "a": pandas.DataFrame({"y": range(50), "x": 0.5, "text": "1", "day": pandas.Timestamp("2026-01-01"), "cat": ["u"] * 49 + ["v"]}),
    "b": pandas.DataFrame({"z": range(50), "gap": [None, *range(49)], "far": [*range(49), numpy.inf], "one": "k", "exact": [Decimal(1)] * 50}),
}
USUAL = {"a.y": (0, 50), "a.x": (0, 1), "a.text": (0, 1), "a.day": (0, 1), "b.z": (0, 50), "b.gap": (0, 50), "b.far": (0, 50)}
WRONG: dict[str, tuple[Callable[[], Any], str]] = {
    "outside": (lambda: fitted(["b.z"], {"b.z": (0, 20)}), r"^b: z has a number in row 22 that is outside of its range, from 0.0 to 20.0$"),
    "target outside": (lambda: fitted(["b.z"], {"a.y": (1, 50)}), "^a: y has a number in row 1 that is outside"),
    "missing": (lambda: fitted(["b.gap"]), "^b: gap has empty cells"),
    "infinite": (lambda: fitted(["b.far"]), "^b: far has infinite numbers"),
    "text": (lambda: fitted(["a.text", "b.z"]), "^a: text is of type .*: a regression is of numbers"),
    "date": (lambda: fitted(["a.day", "b.z"]), "^a: day is of type datetime64.*: a regression is of numbers"),
    "unknown": (lambda: fitted(["b.zz"]), "^b has no column 'zz'"),
    "no party": (lambda: fitted(["z"]), "name a column with its party in front"),
    "number without a range": (lambda: learn.Ridge().fit(simulated(**TABLES), "a.y", "b.z"), r"^which numbers may a.y have\? .*ranges="),
    "target of categories": (lambda: fitted(["b.z"], target="a.cat"), "^a.cat is the target, and has no range"),
    "one category": (lambda: fitted(["b.one"]), "^b.one has one category"),
    "two of a name": (
        lambda: learn.Ridge(ranges=RANGES | {"b.k=v": (0, 1), "a.y": (0, 1)}).fit(
            simulated(a=pandas.DataFrame({"y": [1.0] * 50}), b=pandas.DataFrame({"k": ["u", "v"] * 25, "k=v": 1})), "a.y", ["b.k", "b.k=v"]
        ),
        "^b: two columns are called 'k=v'",
    ),
    "own features": (lambda: fitted(["a.x"]), "^all features are a's"),
    "no features": (lambda: fitted([]), "^all features are a's"),
    "twice": (lambda: fitted(["b.z", "b.z"]), "^b.z is named twice"),
    "target as a feature": (lambda: fitted(["b.z", "a.y"]), "^a.y is named twice"),
    "few rows asked for": (lambda: fitted(["b.z"], min_rows=19), "^min_rows = 19: 20 at least, 10 for each of 2 coefficients"),
    "few rows": (lambda: fitted(["b.z"], min_rows=51), "^there are 50 rows, and 51 are needed"),
    "range": (lambda: learn.LinearRegression(ranges={"a.y": (1, 1)}), r"^ranges: a.y = \(1, 1\): give the smallest"),
    "half a range": (lambda: learn.LinearRegression(ranges={"a.y": (1,)}), "^ranges: a.y"),  # type: ignore[dict-item]
    "endless range": (lambda: learn.LinearRegression(ranges={"a.y": (0, numpy.inf)}), "^ranges: a.y"),
    "intercept": (lambda: learn.LinearRegression(fit_intercept="no"), "^fit_intercept = 'no'"),  # type: ignore[arg-type]
    "rows": (lambda: learn.LinearRegression(min_rows=0), "^min_rows = 0: a whole number"),
    "alpha": (lambda: learn.Ridge(-1), "^alpha = -1: a number, and zero at least"),
    "not fitted": (lambda: learn.Ridge().predict(pandas.DataFrame()), "^the model is not here: the party with the target has it"),
}


def fitted(features: list[str], ranges: dict[str, Any] = {}, *, target: str = "a.y", min_rows: Any = None, categories: Any = None) -> Any:  # noqa: B006
    model = learn.LinearRegression(ranges=USUAL | ranges, min_rows=min_rows)
    return model.fit(learn.Parties.simulated(TABLES, tell=no_word, categories=categories), target, features)


def no_word(sentence: str) -> None:
    """Whatever is wrong with own columns is found before anything is said or sent."""
    if not sentence.startswith(("a learns", "They are", "If fewer", "That does", "b learns nothing")):
        raise AssertionError(sentence)


@pytest.mark.parametrize("case", WRONG)
def test_what_makes_no_sense_is_refused(case: str) -> None:
    do, why = WRONG[case]
    with pytest.raises(tacita.InputError, match=why):
        do()


def test_models_are_regressors_of_scikit_learn() -> None:
    ranges = {"b.z": (0, 50), "a.y": (0, 50)}
    for model in (learn.LinearRegression(ranges=ranges, min_rows=30), learn.Ridge(0.5, ranges=ranges, fit_intercept=False)):
        again = clone(model)
        assert type(again) is type(model) and again.get_params() == model.get_params() and is_regressor(model)
        assert eval(repr(model), vars(learn)).get_params() == model.get_params()
        with pytest.raises(tacita.InputError, match="^normalize: .* has no such parameter: it has"):
            model.set_params(normalize=True)
        with pytest.raises(tacita.InputError, match="^ranges: "):
            model.set_params(ranges={"b.z": (1, 0)})
    assert repr(learn.LinearRegression()) == "LinearRegression()"


def test_rows_that_are_predicted() -> None:
    tables = {"a": pandas.DataFrame({"y": [1.0, 2.0, 4.0, 3.0] * 10, "k": list("uuvw") * 10}), "b": pandas.DataFrame({"z": [Decimal(row % 3) for row in range(40)]})}
    parties = simulated(**tables)
    model = learn.LinearRegression(ranges={"a.y": (0, 5), "b.z": (0, 2)}).fit(parties, "a.y", ["a.k", "b.z"])
    assert model.n_features_in_ == 2 and model.feature_names_in_.tolist() == ["a.k", "b.z"]
    rows = pandas.DataFrame({"a.k": ["v", "u"], "b.z": [0.5, 7.0], "more": 1})
    predicted = model.predict(rows)
    assert predicted[0] == pytest.approx(model.intercept_ + model.coef_ @ [1, 0, 0.5])
    for wrong, why in (
        (rows[["a.k"]], "^no column 'b.z': the rows have a.k"),
        (rows.assign(**{"a.k": "x"}), "^a.k: 'x' is none of its 3 categories"),
        (rows.assign(**{"b.z": None}), "^b.z has empty cells: leave their rows out$"),
        (rows.assign(**{"b.z": "1"}), "^b.z is of type"),
        (parties, "^rows of two parties are not predicted"),
    ):
        with pytest.raises(tacita.InputError, match=why):
            model.predict(wrong)  # type: ignore[arg-type]
    with pytest.raises(tacita.InputError, match="^y: there are 3 numbers, and 2 rows"):
        model.score(rows, [1, 2, 3])
    with pytest.raises(tacita.InputError, match="^y: give the numbers"):
        model.score(rows, "a.y")
    assert model.score(rows, [2, 2]) == 0 and model.score(rows, predicted) == 1 and model.score(rows[:1], predicted[:1]) == 1
