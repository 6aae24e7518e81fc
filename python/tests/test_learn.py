"""Statistics and models of two organisations' tables are those of the joined table, and what each learns is said before."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Literal

import numpy
import pandas
import pyarrow
import pytest
from conftest import ROOT, connected
from pandas.testing import assert_frame_equal
from sklearn.base import clone, is_classifier
from sklearn.naive_bayes import CategoricalNB
from sklearn.neighbors import KNeighborsClassifier

import tacita
from tacita import learn

sys.path.append(str(ROOT / "docs" / "notebooks"))
# Behind the line that says where it is.
from adult import people, split  # noqa: E402

REGISTRY, BANK = split(people(900))
JOINED = REGISTRY.merge(BANK, on="person").sort_values("person").reset_index(drop=True)
PREFIXED = JOINED.rename(
    columns={name: f"registry.{name}" for name in REGISTRY}
    | {name: f"bank.{name}" for name in BANK if name != "person"}
)
FEATURES = ["registry.age", "bank.marital", "registry.education", "registry.work"]


def both() -> learn.Parties:
    return learn.Parties.simulated({"registry": REGISTRY, "bank": BANK}, tell=None)


@pytest.fixture(scope="module")
def common() -> learn.Parties:
    """Rows of which neither party learns which are common."""
    return both().align(["person"])


@pytest.fixture(scope="module")
def shown() -> learn.Parties:
    return both().align(["person"], alignment="rows")


@pytest.fixture(params=["hidden", "rows"])
def either(request: pytest.FixtureRequest, common: learn.Parties, shown: learn.Parties) -> learn.Parties:
    return common if request.param == "hidden" else shown


def crosstab(one: str, other: str) -> pandas.DataFrame:
    return pandas.crosstab(PREFIXED[one], PREFIXED[other])


def test_rows_are_aligned(shown: learn.Parties) -> None:
    assert 600 < len(JOINED) < 700
    for name, table in shown.tables.items():
        assert table["person"].tolist() == JOINED["person"].tolist()
        assert table.columns.tolist() == {"registry": REGISTRY, "bank": BANK}[name].columns.tolist()


def test_hidden_rows_stay_where_they_are() -> None:
    """Nothing but their number is told, with the first answer."""
    said: list[str] = []
    parties = learn.Parties.simulated({"registry": REGISTRY, "bank": BANK}, tell=said.append).align(["person"])
    assert parties.hidden and parties.common is None and not said
    assert parties.tables["bank"] is BANK and parties.tables["registry"] is REGISTRY
    learn.count(parties, {"registry.work": "office", "bank.income": ">50K"})
    assert parties.common == len(JOINED)
    for name in parties.names:
        assert any(one.startswith(f"{name} learns how many rows have an id that both have, and not which") for one in said)
    assert not any("which of its own rows have" in one for one in said)


def test_a_model_of_hidden_rows_needs_a_common_row_of_each_label() -> None:
    a = pandas.DataFrame({"k": range(5), "x": list("ppqqp"), "label": list("uvuvw")})
    for keys, why in (([0, 1, 2, 3], "no common row has label = 'w'"), ([7, 8, 9, 10], "no row is common")):
        b = pandas.DataFrame({"k": keys, "y": list("sstt")})
        parties = learn.Parties.simulated({"a": a, "b": b}, tell=None).align("k")
        with pytest.raises(tacita.InputError, match=why):
            learn.CategoricalNB().fit(parties, "a.label", ["b.y", "a.x"])
    model = learn.CategoricalNB().fit(learn.Parties.simulated({"a": a, "b": b.assign(k=[4, 3, 2, 9])}, tell=None).align("k"), "a.label", ["a.x", "b.y"])
    assert model.class_count_.tolist() == [1, 1, 1]
    assert model.category_count_[0].tolist() == [[0, 1], [0, 1], [1, 0]] and model.category_count_[1].tolist() == [[0, 1], [1, 0], [1, 0]]


@pytest.mark.parametrize("alignment", ["hidden", "rows"])
def test_own_names_and_formats_of_keys(alignment: Literal["hidden", "rows"]) -> None:
    a = pandas.DataFrame({"name": ["Bell, Ann", "Dorn, Cy"], "x": ["p", "q"]})
    b = pandas.DataFrame({"client": ["cy dorn", "ann  bell", "eve fitz"], "y": ["no", "yes", "no"]})
    parties = learn.Parties.simulated({"a": a, "b": b}, parties={"b": {"columns": {"name": "client"}}}, tell=None)
    aligned = parties.align(["name"], normalize=["name"], alignment=alignment)
    assert aligned.tables["b"]["y"].tolist() == (b["y"].tolist() if alignment == "hidden" else ["yes", "no"])
    assert learn.count(aligned, {"a.x": "q", "b.y": "no"}) == 1


def test_keys_that_are_there_twice_are_refused() -> None:
    twice, once = pandas.DataFrame({"person": [1, 1, 2], "x": 1}), pandas.DataFrame({"person": [1], "y": 1})
    parties = learn.Parties.simulated({"a": twice, "b": once}, tell=None)
    with pytest.raises(tacita.InputError, match="a: "):
        parties.align(["person"], alignment="rows")
    with pytest.raises(tacita.InputError, match="a: "):
        learn.count(parties.align(["person"]), {"a.x": 1, "b.y": 1})


def test_a_contingency_table_is_exact(either: learn.Parties) -> None:
    expected = crosstab("registry.work", "bank.income")
    assert_frame_equal(learn.contingency(either, "registry.work", "bank.income", min_cell=0), expected, check_dtype=False)
    assert_frame_equal(learn.contingency(either, "bank.income", "registry.work", min_cell=0), expected.T, check_dtype=False)


def test_small_numbers_are_missing_and_others_with_them(either: learn.Parties) -> None:
    expected = crosstab("registry.work", "bank.marital").to_numpy()
    found = learn.contingency(either, "registry.work", "bank.marital", min_cell=40)
    assert found is not None
    open_cells = found.notna().to_numpy()
    assert (found.to_numpy()[open_cells] == expected[open_cells]).all() and (expected[open_cells] >= 40).all()
    assert open_cells.any() and (~open_cells).sum() > (expected < 40).sum() > 0
    # No line has one closed cell alone.
    assert 1 not in (~open_cells).sum(axis=0) and 1 not in (~open_cells).sum(axis=1)


def test_several_columns_stand_one_after_the_other(either: learn.Parties) -> None:
    table = learn.contingency(either, ["registry.age", "registry.work"], ["bank.income", "bank.marital"], min_cell=0)
    for one in ("registry.age", "registry.work"):
        for other in ("bank.income", "bank.marital"):
            assert (table.loc[one, other].to_numpy() == crosstab(one, other).to_numpy()).all()


def test_a_count_is_exact(either: learn.Parties) -> None:
    expected = ((JOINED["work"] == "office") & (JOINED["age"] == "over 50") & (JOINED["income"] == ">50K")).sum()
    assert (
        learn.count(either, {"registry.work": "office", "registry.age": "over 50", "bank.income": ">50K"})
        == expected
        > 0
    )


def test_a_correlation_is_exact_to_what_it_says(shown: learn.Parties) -> None:
    value = learn.correlation(shown, "bank.savings", ["registry.hours"])
    expected = numpy.corrcoef(JOINED["savings"], JOINED["hours"])[0, 1]
    assert value.loc["bank.savings", "registry.hours"] == pytest.approx(expected, abs=len(JOINED) ** 0.5 * 1e-9)
    assert abs(expected) > 0.05


def encoded(columns: list[str], rows: pandas.DataFrame) -> numpy.ndarray:
    return numpy.column_stack(
        [pandas.Categorical(rows[name], sorted(PREFIXED[name].unique())).codes for name in columns]
    )


def test_naive_bayes_is_that_of_scikit_learn(either: learn.Parties) -> None:
    theirs = CategoricalNB(alpha=0.7).fit(encoded(FEATURES, PREFIXED), PREFIXED["bank.income"])
    ours = learn.CategoricalNB(alpha=0.7).fit(either, "bank.income", FEATURES)
    assert ours.classes_.tolist() == theirs.classes_.tolist()
    assert (ours.class_count_ == theirs.class_count_).all()
    for mine, its in zip(ours.category_count_, theirs.category_count_):
        assert (mine == its).all()
    for mine, its in zip(ours.feature_log_prob_, theirs.feature_log_prob_):
        numpy.testing.assert_allclose(mine, its, rtol=1e-12)
    numpy.testing.assert_allclose(
        ours.predict_proba(PREFIXED), theirs.predict_proba(encoded(FEATURES, PREFIXED)), rtol=1e-9
    )
    assert (ours.predict(PREFIXED) == theirs.predict(encoded(FEATURES, PREFIXED))).all()


def test_naive_bayes_predicts_rows_that_two_parties_have(shown: learn.Parties) -> None:
    model = learn.CategoricalNB().fit(shown, "bank.income", FEATURES)
    assert (model.predict(shown) == model.predict(PREFIXED)).all()
    assert len(set(model.predict(shown))) == 2
    # The labels may be those of the first party, too.
    model = learn.CategoricalNB().fit(shown, "registry.work", ["bank.marital", "registry.education", "bank.income"])
    assert (model.predict(shown) == model.predict(PREFIXED)).all()


@pytest.mark.parametrize("neighbours", [1, 5])
def test_nearest_neighbours_are_those_in_the_clear(neighbours: int) -> None:
    features = ["age", "education", "work", "marital"]
    train, asked = people(300, seed=5), people(60, seed=6)[features]
    parties = learn.Parties.simulated({"clinic": train, "doctor": asked}, tell=None)
    model = learn.KNeighborsClassifier(neighbours).fit(parties, "clinic.income", features)
    agree = (asked[features].to_numpy()[:, None] == train[features].to_numpy()[None]).sum(axis=2)
    expected = []
    for row in agree:
        nearest = sorted(range(len(train)), key=lambda place: (-row[place], place))[:neighbours]
        votes = train["income"][nearest].tolist()
        expected.append(max(sorted(set(votes)), key=votes.count))
    ours = model.predict(parties)
    assert ours.tolist() == expected and len(set(expected)) == 2
    # scikit-learn's takes others of equally near rows; where there are none, it says the same.
    codes = [encoded_of(features, table, train) for table in (train, asked)]
    theirs = (
        KNeighborsClassifier(neighbours, metric="hamming", algorithm="brute")
        .fit(codes[0], train["income"])
        .predict(codes[1])
    )
    clear = [numpy.sort(row)[-neighbours] > numpy.sort(row)[-neighbours - 1] for row in agree]
    assert (ours[clear] == theirs[clear]).all()


def encoded_of(columns: list[str], rows: pandas.DataFrame, all_rows: pandas.DataFrame) -> numpy.ndarray:
    return numpy.column_stack(
        [pandas.Categorical(rows[name], sorted(all_rows[name].unique())).codes for name in columns]
    )


def test_what_is_learned_is_said_before() -> None:
    said: list[str] = []
    parties = learn.Parties.simulated({"registry": REGISTRY, "bank": BANK}, tell=said.append)
    aligned = parties.align(["person"], alignment="rows")
    assert any("registry learns which of its own rows" in one for one in said) and any(
        "bank learns which of its own rows" in one for one in said
    )
    said.clear()
    before: list[int] = []

    def fitted_yet(_: str) -> None:
        before.append(hasattr(model, "category_count_"))

    model = learn.CategoricalNB()
    aligned._tell = lambda sentence: (said.append(sentence), fitted_yet(sentence))
    model.fit(aligned, "bank.income", ["registry.age"])
    assert said[0].startswith(
        "bank learns, of each value of bank.income, with how many rows each value of registry.age"
    )
    assert said[1] == "registry learns nothing of bank's rows by the fit." and not any(before)
    said.clear()
    model.predict(aligned)
    assert "in general, that says which values they have" in said[0]


def test_rows_are_predicted_by_the_categories_of_the_fit() -> None:
    """Rows that are asked for may have fewer values than the model knows, and other ones are refused."""
    train = {
        "a": pandas.DataFrame({"x": ["p", "p", "q", "q", "r", "r"]}),
        "b": pandas.DataFrame({"y": ["no", "no", "yes", "yes", "no", "yes"], "z": [1, 1, 2, 2, 2, 1]}),
    }
    model = learn.CategoricalNB().fit(learn.Parties.simulated(train, tell=None), "b.y", ["a.x", "b.z"])
    some = {name: table.iloc[[2, 5]].reset_index(drop=True) for name, table in train.items()}
    clear = pandas.DataFrame({"a.x": some["a"]["x"], "b.z": some["b"]["z"]})
    predicted = model.predict(learn.Parties.simulated(some, tell=None))
    assert predicted.tolist() == model.predict(clear).tolist() == ["yes", "no"]
    said: list[str] = []
    strange = learn.Parties.simulated({**some, "a": pandas.DataFrame({"x": ["q", "s"]})}, tell=said.append)
    with pytest.raises(tacita.InputError, match="a: x has a value in row 2 that is none of its 3 categories"):
        model.predict(strange)
    assert not said


def test_columns_of_every_type_are_counted() -> None:
    """True and false, numbers, dates, categories and what pyarrow and pandas have for empty cells."""
    days = pandas.to_datetime(["2026-01-01", "2026-01-02", "2026-01-01", "2026-01-02"])
    columns = {
        "truth": [True, False, True, True],
        "whole": pandas.array([1, 2, 1, 2], dtype="Int64"),
        "day": days,
        "kind": pandas.Categorical(["u", "v", "v", "u"], ["v", "u", "w"]),
        "arrow": pandas.array(["s", "t", "t", "s"], dtype=pandas.ArrowDtype(pyarrow.string())),
    }
    left, right = pandas.DataFrame(columns), pandas.DataFrame({"y": [True, True, False, False], "n": [3, 3, 3, 1]})
    parties = learn.Parties.simulated({"a": left, "b": right}, tell=None)
    for name in columns:
        expected = pandas.crosstab(left[name].astype(object), right["y"]).to_numpy()
        assert (learn.contingency(parties, f"a.{name}", "b.y", min_cell=0).to_numpy() == expected).all(), name
        model = learn.CategoricalNB().fit(parties, "b.y", [f"a.{name}", "b.n"])
        assert (model.category_count_[0] == expected.T).all(), name
        clear = pandas.DataFrame({f"a.{name}": left[name], "b.n": right["n"]})
        assert model.predict(parties).tolist() == model.predict(clear).tolist()
    gaps = left.assign(whole=pandas.array([1, None, 1, 2], dtype="Int64"))
    holed = learn.Parties.simulated({"a": gaps, "b": right}, tell=None)
    assert learn.count(holed, {"a.whole": 1, "b.y": False}) == 1


def test_neighbours_give_labels_of_every_type() -> None:
    asked = pandas.DataFrame({"x": ["p", "q"]})
    for labels in ([1, 2], [True, False], [1.5, -2.5], ["ja", "nein"], [10**15, -1]):
        train = pandas.DataFrame({"x": ["q", "p"], "label": labels})
        parties = learn.Parties.simulated({"a": asked, "b": train}, tell=None)
        model = learn.KNeighborsClassifier(1).fit(parties, "b.label", "x")
        assert model.predict(parties).tolist() == labels[::-1]


def test_a_correlation_has_no_unit() -> None:
    x, y = numpy.array([1.0, 2.0, 4.0, 8.0, 16.0]), numpy.array([3.0, 1.0, 4.0, 1.0, 5.0])
    expected = numpy.corrcoef(x, y)[0, 1]
    for factor, shift in ((1.0, 0.0), (1e200, 0.0), (1e-200, 0.0), (1.0, 1e6)):
        tables = {"a": pandas.DataFrame({"x": x * factor + shift}), "b": pandas.DataFrame({"y": y})}
        value = learn.correlation(learn.Parties.simulated(tables, tell=None), "a.x", "b.y").iloc[0, 0]
        assert value == pytest.approx(expected, abs=5e-9), (factor, shift)


def test_what_is_told_may_be_refused() -> None:
    def no(sentence: str) -> None:
        raise PermissionError(sentence)

    parties = learn.Parties.simulated({"registry": REGISTRY, "bank": BANK}, tell=no)
    with pytest.raises(PermissionError, match="registry learns which"):
        parties.align(["person"], alignment="rows")
    with pytest.raises(PermissionError, match="registry learns the sum"):
        learn.count(parties.align(["person"]), {"registry.work": "office", "bank.income": ">50K"})


def test_two_parties_that_are_connected(tmp_path: object) -> None:
    categories = {
        party: {name: sorted(table[name].unique()) for name in table if name not in ("person", "hours", "savings")}
        for party, table in {"registry": REGISTRY, "bank": BANK}.items()
    }

    def work(parties: learn.Parties) -> object:
        common = parties.align(["person"])
        table = learn.contingency(common, "registry.work", "bank.income", min_cell=0, reveal_to=["registry"])
        model = learn.CategoricalNB().fit(common, "bank.income", FEATURES)
        shown = common.align(["person"], alignment="rows")
        return table, model, model.predict(shown), len(common.tables)

    ended = connected(work, {"registry": REGISTRY, "bank": BANK}, categories, tmp_path)
    table, model, predicted, tables = ended["registry"]  # type: ignore[misc]
    assert_frame_equal(table, crosstab("registry.work", "bank.income"), check_dtype=False)
    # The registry has neither the model nor what it predicts, and never the bank's table.
    assert not hasattr(model, "category_count_") and predicted is None and tables == 1
    table, model, predicted, _ = ended["bank"]  # type: ignore[misc]
    assert table is None and (predicted == model.predict(PREFIXED)).all()


def test_neighbours_that_are_connected(tmp_path: object) -> None:
    features = ["age", "education"]
    train, asked = people(80, seed=5), people(20, seed=6)[features]
    categories = {party: {name: sorted(train[name].unique()) for name in features} for party in ("clinic", "doctor")}

    def work(parties: learn.Parties) -> object:
        return learn.KNeighborsClassifier(3).fit(parties, "clinic.income", features).predict(parties)

    ended = connected(work, {"doctor": asked, "clinic": train}, categories, tmp_path)
    simulated = work(learn.Parties.simulated({"clinic": train, "doctor": asked}, tell=None))
    assert ended["clinic"] is None and (ended["doctor"] == simulated).all()  # type: ignore[attr-defined]


def test_categories_that_differ_end_both(tmp_path: object) -> None:
    tables = {"a": pandas.DataFrame({"x": ["p", "q"]}), "b": pandas.DataFrame({"y": ["u", "v"]})}

    def work(parties: learn.Parties) -> object:
        if "b" in parties.tables:
            parties._categories = {"a": {"x": ["q", "p"]}, "b": {"y": ["u", "v"]}}
        with pytest.raises(tacita.TermsError, match="categories"):
            learn.contingency(parties, "a.x", "b.y")
        return True

    assert all(connected(work, tables, {"a": {"x": ["p", "q"]}, "b": {"y": ["u", "v"]}}, tmp_path).values())


WRONG: dict[str, tuple[Callable[[learn.Parties], object], str]] = {
    "no party": (lambda p: learn.contingency(p, "work", "bank.income"), "name a column with its party in front"),
    "no column": (lambda p: learn.contingency(p, "registry.wrok", "bank.income"), "registry has no column 'wrok'"),
    "one party": (lambda p: learn.contingency(p, "bank.marital", "bank.income"), "both sides are columns of bank"),
    "mixed side": (
        lambda p: learn.contingency(p, ["bank.marital", "registry.age"], "bank.income"),
        "columns of one party",
    ),
    "nothing asked": (lambda p: learn.count(p, {"bank.income": ">50K"}), "no column of registry is used"),
    "own features": (
        lambda p: learn.CategoricalNB().fit(p, "bank.income", ["bank.marital"]),
        "all features are bank's",
    ),
    "not fitted": (lambda p: learn.CategoricalNB().predict(PREFIXED), "once it is fitted"),
    "constant": (
        lambda p: learn.correlation(
            p.with_tables({**p.tables, "bank": p.tables["bank"].assign(savings=1)}), "bank.savings", "registry.hours"
        ),
        "the same in all rows",
    ),
    "empty": (
        lambda p: learn.contingency(
            p.with_tables({**p.tables, "bank": p.tables["bank"].replace({"income": {">50K": None}})}),
            "bank.income",
            "registry.age",
        ),
        "empty cells",
    ),
    "nobody common": (
        lambda p: p.with_tables({**p.tables, "bank": p.tables["bank"].assign(person="X")[:1]}).align(["person"], alignment="rows"),
        "no row is common",
    ),
    "two of a name": (
        lambda p: learn.contingency(
            p.with_tables(
                {
                    **p.tables,
                    "bank": p.tables["bank"].assign(savings=[1, "1"] * (len(JOINED) // 2) + [2] * (len(JOINED) % 2)),
                },
                {"bank": {"savings": [1, "1", 2]}},
            ),
            "bank.savings",
            "registry.age",
        ),
        "two categories are called 'savings=1'",
    ),
    "too many neighbours": (
        lambda p: learn.KNeighborsClassifier(10_000).fit(p, "bank.income", ["person"]).predict(p),
        "n_neighbors = 10000, and bank has",
    ),
    "no neighbours": (lambda p: learn.KNeighborsClassifier(0), "one at least"),
    "no alpha": (lambda p: learn.CategoricalNB(alpha=0), "so that no probability is zero"),
    "not fitted, two parties": (lambda p: learn.CategoricalNB().predict(p), "once it is fitted"),
    "neighbours not fitted": (lambda p: learn.KNeighborsClassifier().predict(p), "was not fitted"),
    "probabilities of two parties": (
        lambda p: learn.CategoricalNB().fit(p, "bank.income", "registry.age").predict_proba(p),
        "and no probabilities",
    ),
    "a label that nobody has": (
        lambda p: learn.CategoricalNB().fit(
            p.with_tables(p.tables, {"bank": {"income": ["<=50K", ">50K", "?"]}}), "bank.income", "registry.age"
        ),
        "no row has one of the categories of income",
    ),
    "nobody learns": (lambda p: learn.contingency(p, "registry.work", "bank.income", reveal_to=[]), "reveal_to"),
    "not a category": (
        lambda p: learn.count(
            p.with_tables(p.tables, {"bank": {"income": ["<=50K", ">50K"]}}),
            {"bank.income": "> 50K", "registry.age": "over 50"},
        ),
        "'> 50K' is none of its 2 categories",
    ),
    "constant, but for rounding": (
        lambda p: learn.correlation(
            p.with_tables({**p.tables, "bank": p.tables["bank"].assign(savings=0.1)}), "bank.savings", "registry.hours"
        ),
        "the same in all rows",
    ),
    "no numbers": (lambda p: learn.correlation(p, "bank.income", "registry.hours"), "a correlation is of numbers"),
    "digits as text": (
        lambda p: learn.correlation(
            p.with_tables({**p.tables, "bank": p.tables["bank"].assign(savings="1")}), "bank.savings", "registry.hours"
        ),
        "savings is of type .*: a correlation is of numbers",
    ),
    "no DataFrame": (lambda p: learn.Parties.simulated({"a": [1], "b": [2]}), "a: a builtins.list is no pandas"),
    "two columns of a name": (
        lambda p: learn.Parties.simulated({"a": pandas.DataFrame([[1, 2]], columns=["x", "x"]), "b": REGISTRY}),
        "two columns are called 'x'",
    ),
    "several types": (
        lambda p: learn.contingency(
            p.with_tables({**p.tables, "bank": p.tables["bank"].assign(income=["a", 1, *["b"] * (len(JOINED) - 2)])}),
            "bank.income",
            "registry.age",
        ),
        "cannot be sorted",
    ),
    "labels with gaps": (
        lambda p: learn.KNeighborsClassifier(1).fit(
            p.with_tables({**p.tables, "bank": p.tables["bank"].replace({"income": {">50K": None}})}),
            "bank.income",
            "person",
        ),
        "income has empty cells",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_makes_no_sense_is_refused(case: str, shown: learn.Parties) -> None:
    do, why = WRONG[case]
    with pytest.raises(tacita.InputError, match=why):
        do(shown)


WITH_HIDDEN_ROWS: dict[str, tuple[Callable[[learn.Parties], object], str]] = {
    "correlation": (lambda p: learn.correlation(p, "bank.savings", "registry.hours"), 'align with alignment="rows"'),
    "prediction": (
        lambda p: learn.CategoricalNB().fit(p, "bank.income", "registry.age").predict(p),
        'align with alignment="rows"',
    ),
    "neighbours": (lambda p: learn.KNeighborsClassifier().fit(p, "bank.income", ["age"]), "before align"),
    "no such alignment": (lambda p: p.align(["person"], alignment="shown"), "use 'hidden' or 'rows'"),  # type: ignore[arg-type]
    "key of several types": (
        lambda p: learn.count(
            p.with_tables({**p.tables, "bank": BANK.assign(person=[1, *BANK["person"][1:]])}),
            {"registry.age": "over 50", "bank.income": ">50K"},
        ),
        "bank: person has values of several types",
    ),
    "half a row": (lambda p: learn.contingency(p, "registry.age", "bank.income", min_cell=1.5), "min_cell = 1.5: give"),  # type: ignore[arg-type]
    "no such key": (lambda p: p.align(["persons"]), "has no column 'persons'"),
    "key by the name of a column": (
        lambda p: learn.count(
            p.with_tables({name: table.assign(**{"age=over 50": table["person"]}) for name, table in p.tables.items()})
            .align("age=over 50"),
            {"registry.age": "over 50", "bank.income": ">50K"},
        ),
        "a column of the key cannot be called",
    ),
}


@pytest.mark.parametrize("case", WITH_HIDDEN_ROWS)
def test_what_needs_common_rows_is_refused_where_they_are_hidden(case: str, common: learn.Parties) -> None:
    do, why = WITH_HIDDEN_ROWS[case]
    with pytest.raises(tacita.InputError, match=why):
        do(common)


def test_models_are_estimators_of_scikit_learn() -> None:
    """Without being its classes: it is no requirement."""
    for model, params in ((learn.CategoricalNB(alpha=0.5), {"alpha": 0.5}), (learn.KNeighborsClassifier(7), {"n_neighbors": 7})):
        assert model.get_params() == params == model.get_params(deep=False)
        again = clone(model)
        assert type(again) is type(model) and again is not model and again.get_params() == params
        assert is_classifier(model) and repr(model) == f"{type(model).__name__}({next(iter(params))}={next(iter(params.values()))})"
        with pytest.raises(tacita.InputError, match="^depth: .* has no such parameter: it has"):
            model.set_params(depth=3)
        for wrong in (0, "five", None, True):
            with pytest.raises(tacita.InputError, match="at least"):
                clone(model).set_params(**{next(iter(params)): wrong})
    assert learn.CategoricalNB().set_params(alpha=2).alpha == 2 and repr(learn.CategoricalNB()) == "CategoricalNB()"


@pytest.mark.parametrize("labels", [[1, 0, 1, 1], [0.5, 1.5, 0.5, 0.5], [True, False, True, True], ["yes", "no", "yes", "yes"]])
def test_labels_keep_their_type(labels: list[Any]) -> None:
    shop = pandas.DataFrame({"town": ["A", "B", "A", "A"], "label": labels})
    bank = pandas.DataFrame({"owns": ["house", "flat", "house", "house"]})
    parties = learn.Parties.simulated({"bank": bank, "shop": shop}, tell=None)
    model = learn.CategoricalNB().fit(parties, "shop.label", ["bank.owns", "shop.town"])
    kind = numpy.array(labels).dtype if not isinstance(labels[0], str) else numpy.dtype(object)
    assert model.classes_.dtype == kind == model.predict(parties).dtype
    assert model.predict(parties).tolist() == labels and model.n_features_in_ == 2
    neighbours = learn.KNeighborsClassifier(1).fit(
        learn.Parties.simulated({"bank": bank, "shop": shop.rename(columns={"town": "owns"}).replace({"A": "house", "B": "flat"})}, tell=None), "shop.label", ["owns"]
    )
    found = neighbours.predict(learn.Parties.simulated({"bank": bank, "shop": shop.rename(columns={"town": "owns"}).replace({"A": "house", "B": "flat"})}, tell=None))
    assert found.tolist() == labels and found.dtype == kind


def test_scores_are_accuracies() -> None:
    shop = pandas.DataFrame({"town": ["A", "B", "A", "B"], "buys": [1, 0, 1, 1]})
    bank = pandas.DataFrame({"owns": ["house", "flat", "house", "flat"], "truth": [1, 0, 0, 0]})
    parties = learn.Parties.simulated({"bank": bank, "shop": shop}, tell=None)
    model = learn.CategoricalNB().fit(parties, "shop.buys", ["bank.owns", "shop.town"])
    predicted = model.predict(parties).tolist()
    expected = sum(one == other for one, other in zip(predicted, shop["buys"])) / 4
    assert model.score(parties, "shop.buys") == model.score(parties, shop["buys"]) == expected
    here = pandas.DataFrame({"bank.owns": bank["owns"], "shop.town": shop["town"]})
    assert model.score(here, [1, 1, 1, 1]) == sum(model.predict(here) == 1) / 4
    with pytest.raises(tacita.InputError, match="^y: there are 3 labels, and 4 rows"):
        model.score(here, [1, 1, 1])
    with pytest.raises(tacita.InputError, match="^y: shop gets the predictions, and bank.truth is a column of bank"):
        model.score(parties, "bank.truth")
    with pytest.raises(tacita.InputError, match="^y: give the labels"):
        model.score(here, "shop.buys")
    same = learn.Parties.simulated({"bank": bank, "shop": shop.assign(owns=["house", "flat", "house", "flat"])}, tell=None)
    nearest = learn.KNeighborsClassifier(1).fit(same, "shop.buys", ["owns"])
    assert nearest.score(same, "bank.truth") == sum(nearest.predict(same) == bank["truth"]) / 4
    with pytest.raises(tacita.InputError, match="^y: bank gets the predictions"):
        nearest.score(same, "shop.buys")
