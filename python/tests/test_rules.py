"""Rules are those of mlxtend on the joined tables: the same columns, types, rules and numbers."""

from __future__ import annotations

import pandas
import pytest
from conftest import EXAMPLES
from mlxtend.frequent_patterns import apriori, association_rules
from pandas.testing import assert_frame_equal

import tacita

SHOPS = ("shop", "bakery")


def baskets() -> dict[str, pandas.DataFrame]:
    """The samples' baskets as columns of true and false."""
    tables = {name: pandas.read_csv(EXAMPLES / "rules" / f"{name}.csv")["items"] for name in SHOPS}
    # Empty baskets hold no item.
    return {
        name: items.fillna("").str.get_dummies("|").drop(columns="", errors="ignore").astype(bool)
        for name, items in tables.items()
    }


def job(**keys: object) -> tacita.Job:
    common = {
        "job": "rules",
        "id": "x",
        "reveal_to": SHOPS,
        "parties": SHOPS,
        "items": "*",
        "min_support": 0.1,
        "min_confidence": 0.6,
    }
    return tacita.Job(**{**common, **keys})


def in_order(rules: pandas.DataFrame) -> pandas.DataFrame:
    sides = [[sorted(one) for one in rules[side]] for side in ("antecedents", "consequents")]
    order = sorted(range(len(rules)), key=lambda place: (sides[0][place], sides[1][place]))
    return rules.iloc[order].reset_index(drop=True)


@pytest.mark.parametrize("consequents", ["any", "single"])
def test_rules_are_those_of_mlxtend(consequents: str) -> None:
    tables = baskets()
    joined = pandas.concat(tables.values(), axis=1)
    expected = association_rules(
        apriori(joined, min_support=0.1, use_colnames=True), metric="confidence", min_threshold=0.6
    )
    if consequents == "single":
        expected = expected[expected["consequents"].map(len) == 1]
    rules = tacita.rules(job(consequents=consequents), "bakery", tables)
    assert len(rules) > 20 and {type(one) for one in rules["antecedents"]} == {frozenset}
    assert_frame_equal(in_order(rules), in_order(expected), check_exact=False, rtol=1e-12, atol=1e-12)


def test_itemsets_feed_mlxtend() -> None:
    tables = baskets()
    result = tacita.simulate(job(), tables)["shop"]
    itemsets = tacita.frequent_itemsets(result)
    expected = apriori(pandas.concat(tables.values(), axis=1), min_support=0.1, use_colnames=True)
    assert dict(zip(itemsets["itemsets"], itemsets["support"])) == dict(zip(expected["itemsets"], expected["support"]))
    made = association_rules(itemsets, metric="confidence", min_threshold=0.6)
    assert set(made["antecedents"]) >= set(tacita.rules_table(result)["antecedents"])


def test_mixed_rules_have_all_measures() -> None:
    """Where an itemset of one party is no result of its own, its support is what the rule's measures say."""
    tables = baskets()
    expected = in_order(tacita.rules(job(), "shop", tables))
    mixed = in_order(tacita.rules(job(mixed_only=True), "shop", tables))
    owner = {item: name for name, table in tables.items() for item in table}
    of_both = [
        len({owner[item] for item in one | other}) == 2
        for one, other in zip(expected["antecedents"], expected["consequents"])
    ]
    assert 0 < len(mixed) < len(expected)
    assert_frame_equal(mixed, expected[of_both].reset_index(drop=True), check_exact=False, rtol=1e-9, atol=1e-12)


def test_no_rules_have_the_same_shape() -> None:
    tables = baskets()
    none = tacita.rules(job(min_support=499), "shop", tables)
    some = tacita.rules(job(), "shop", tables)
    assert none.empty and list(none) == list(some) and (none.dtypes == some.dtypes).all()


def test_what_is_no_job_of_rules_is_refused() -> None:
    other = tacita.Job(job="intersect", id="x", reveal_to=["a"], key={"columns": ["id"]}, parties=["a", "b"])
    with pytest.raises(tacita.InputError, match='a job "rules"'):
        tacita.rules(other, "a", {})
    with pytest.raises(tacita.InputError, match="'shap' is none of the parties: shop, bakery"):
        tacita.rules(job(), "shap", baskets())
    with pytest.raises(tacita.InputError, match="identity=DIR"):
        tacita.rules(job(), "shop", baskets()["shop"])
