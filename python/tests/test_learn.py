"""Statistics and models of two organisations' tables are those of the joined table, and what each learns is said before."""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy
import pandas
import pytest
from conftest import ROOT, free_address
from pandas.testing import assert_frame_equal
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


@pytest.fixture(scope="module")
def common() -> learn.Parties:
    return learn.Parties.simulated({"registry": REGISTRY, "bank": BANK}, tell=None).align(["person"])


def crosstab(one: str, other: str) -> pandas.DataFrame:
    return pandas.crosstab(PREFIXED[one], PREFIXED[other])


def test_rows_are_aligned(common: learn.Parties) -> None:
    assert 600 < len(JOINED) < 700
    for name, table in common.tables.items():
        assert table["person"].tolist() == JOINED["person"].tolist()
        assert table.columns.tolist() == {"registry": REGISTRY, "bank": BANK}[name].columns.tolist()


def test_own_names_and_formats_of_keys() -> None:
    a = pandas.DataFrame({"name": ["Bell, Ann", "Dorn, Cy"], "x": ["p", "q"]})
    b = pandas.DataFrame({"client": ["cy dorn", "ann  bell", "eve fitz"], "y": ["no", "yes", "no"]})
    parties = learn.Parties.simulated({"a": a, "b": b}, parties={"b": {"columns": {"name": "client"}}}, tell=None)
    aligned = parties.align(["name"], normalize=["name"])
    assert aligned.tables["b"]["y"].tolist() == ["yes", "no"]
    assert learn.count(aligned, {"a.x": "q", "b.y": "no"}) == 1


def test_keys_that_are_there_twice_are_refused() -> None:
    twice = pandas.DataFrame({"person": [1, 1, 2]})
    with pytest.raises(tacita.InputError, match="a: "):
        learn.Parties.simulated({"a": twice, "b": pandas.DataFrame({"person": [1]})}, tell=None).align(["person"])


def test_a_contingency_table_is_exact(common: learn.Parties) -> None:
    expected = crosstab("registry.work", "bank.income")
    assert_frame_equal(learn.contingency(common, "registry.work", "bank.income"), expected, check_dtype=False)
    assert_frame_equal(learn.contingency(common, "bank.income", "registry.work"), expected.T, check_dtype=False)


def test_several_columns_stand_one_after_the_other(common: learn.Parties) -> None:
    table = learn.contingency(common, ["registry.age", "registry.work"], ["bank.income", "bank.marital"])
    for one in ("registry.age", "registry.work"):
        for other in ("bank.income", "bank.marital"):
            assert (table.loc[one, other].to_numpy() == crosstab(one, other).to_numpy()).all()


def test_a_count_is_exact(common: learn.Parties) -> None:
    expected = ((JOINED["work"] == "office") & (JOINED["age"] == "over 50") & (JOINED["income"] == ">50K")).sum()
    assert (
        learn.count(common, {"registry.work": "office", "registry.age": "over 50", "bank.income": ">50K"})
        == expected
        > 0
    )


def test_a_correlation_is_exact_to_what_it_says(common: learn.Parties) -> None:
    value = learn.correlation(common, "bank.savings", ["registry.hours"])
    expected = numpy.corrcoef(JOINED["savings"], JOINED["hours"])[0, 1]
    assert value.loc["bank.savings", "registry.hours"] == pytest.approx(expected, abs=len(JOINED) ** 0.5 * 1e-9)
    assert abs(expected) > 0.05


def encoded(columns: list[str], rows: pandas.DataFrame) -> numpy.ndarray:
    return numpy.column_stack(
        [pandas.Categorical(rows[name], sorted(PREFIXED[name].unique())).codes for name in columns]
    )


def test_naive_bayes_is_that_of_scikit_learn(common: learn.Parties) -> None:
    theirs = CategoricalNB(alpha=0.7).fit(encoded(FEATURES, PREFIXED), PREFIXED["bank.income"])
    ours = learn.CategoricalNB(alpha=0.7).fit(common, "bank.income", FEATURES)
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


def test_naive_bayes_predicts_rows_that_two_parties_have(common: learn.Parties) -> None:
    model = learn.CategoricalNB().fit(common, "bank.income", FEATURES)
    assert (model.predict(common) == model.predict(PREFIXED)).all()
    assert len(set(model.predict(common))) == 2
    # The labels may be those of the first party, too.
    model = learn.CategoricalNB().fit(common, "registry.work", ["bank.marital", "registry.education", "bank.income"])
    assert (model.predict(common) == model.predict(PREFIXED)).all()


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
    aligned = parties.align(["person"])
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


def connected(
    work: Callable[[learn.Parties], object], tables: dict[str, pandas.DataFrame], categories: object, path: object
) -> dict[str, object]:
    """What comes of the same work at both parties, each on its own as on a machine of its own."""
    ids = {name: tacita.Identity.create(f"{path}/{name}", name) for name in tables}
    parties = {name: {"identity": identity.fingerprint} for name, identity in ids.items()}
    parties[next(iter(parties))]["address"] = free_address()

    def one(name: str) -> object:
        return work(learn.Parties.connected(name, tables[name], ids[name], parties, categories=categories, tell=None))  # type: ignore[arg-type]

    with ThreadPoolExecutor(2) as pool:
        return dict(zip(tables, pool.map(one, tables)))


def test_two_parties_that_are_connected(tmp_path: object) -> None:
    categories = {
        party: {name: sorted(table[name].unique()) for name in table if name not in ("person", "hours", "savings")}
        for party, table in {"registry": REGISTRY, "bank": BANK}.items()
    }

    def work(parties: learn.Parties) -> object:
        common = parties.align(["person"])
        table = learn.contingency(common, "registry.work", "bank.income", reveal_to=["registry"])
        model = learn.CategoricalNB().fit(common, "bank.income", FEATURES)
        return table, model, model.predict(common), len(common.tables)

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
        with pytest.raises(tacita.TermsError, match="column"):
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
    "nothing asked": (lambda p: learn.count(p, {"bank.income": ">50K"}), "nothing is asked of registry"),
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
        lambda p: p.with_tables({**p.tables, "bank": p.tables["bank"].assign(person="X")[:1]}).align(["person"]),
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
}


@pytest.mark.parametrize("case", WRONG)
def test_what_makes_no_sense_is_refused(case: str, common: learn.Parties) -> None:
    do, why = WRONG[case]
    with pytest.raises(tacita.InputError, match=why):
        do(common)
