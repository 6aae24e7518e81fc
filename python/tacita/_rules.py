"""Association rules as the users of mlxtend know them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Optional, Union

from ._identity import Identity
from ._job import Job
from ._result import Result
from ._run import run, simulate
from ._types import Data, Path
from .errors import _input

if TYPE_CHECKING:
    import pandas

__all__ = ["rules", "rules_table"]


def rules(
    job: Job,
    party: str,
    data: Union[Data, Mapping[str, Data]],
    identity: Optional[Union[Identity, Path]] = None,
    **options: Any,
) -> pandas.DataFrame:
    """The rules of a job ``rules`` in a DataFrame of mlxtend's shape. Needs pandas and pyarrow.

    With the data of all parties, by name, it simulates them; with this party's own it runs it, for which it needs `identity`. `options` are those of `simulate` or `run`.
    Antecedents and consequents are frozensets; the columns are named and computed as mlxtend does.

    >>> import pandas as pd, tacita
    >>> job = tacita.Job(
    ...     job="rules", id="demo", reveal_to=["shop", "bakery"], parties=["shop", "bakery"],
    ...     min_support=2, min_confidence=0.6, items="*",
    ... )
    >>> shop = pd.DataFrame({"milk": [1, 1, 0, 1], "tea": [0, 0, 1, 0]})
    >>> rules = tacita.rules(job, "shop", {"shop": shop, "bakery": pd.DataFrame({"bread": [1, 1, 0, 0]})})
    >>> for rule in rules.itertuples():
    ...     print(set(rule.antecedents), set(rule.consequents), rule.support, round(rule.confidence, 3))
    {'bread'} {'milk'} 0.5 1.0
    {'milk'} {'bread'} 0.5 0.667
    """
    if job.kind != "rules":
        raise _input(f"rules are of a job \"rules\", and this is {job.kind!r}")
    if isinstance(data, Mapping):
        return rules_table(simulate(job, data, **options)[party])
    if identity is None:
        raise _input("give identity=DIR to run this party; or the data of all parties, by name, to simulate them")
    return rules_table(run(job, party, data, identity, **options))


def rules_table(result: Result) -> pandas.DataFrame:
    """The rules of a result in mlxtend's shape."""
    import pandas

    frame = result.to_pandas()
    sides = {name: [frozenset(_items(text)) for text in frame[name]] for name in ("antecedents", "consequents")}
    supports = {frozenset(_items(row["items"])): row["support"] for row in result.itemsets.to_pylist()}
    support, confidence, lift = frame["support"], frame["confidence"], frame["lift"]
    # An itemset that is no result of its own is known from the rule's measures.
    of = {
        "antecedent support": _supports(sides["antecedents"], supports, support / confidence),
        "consequent support": _supports(sides["consequents"], supports, confidence / lift),
    }
    measures = {name: frame[name] for name in ("support", "confidence", "lift", "leverage", "conviction")}
    return pandas.DataFrame({**sides, **of, **measures})


def _items(text: str) -> list[str]:
    return text.split("|")


def _supports(sets: list[frozenset[str]], known: dict[frozenset[str], float], derived: Any) -> list[float]:
    return [known.get(one, float(other)) for one, other in zip(sets, derived)]
