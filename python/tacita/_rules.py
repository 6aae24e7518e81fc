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

__all__ = ["frequent_itemsets", "rules", "rules_table"]


def rules(
    job: Job,
    party: str,
    data: Union[Data, Mapping[str, Data]],
    identity: Optional[Union[Identity, Path]] = None,
    **options: Any,
) -> pandas.DataFrame:
    """Returns the rules of a job ``rules`` in a DataFrame of mlxtend's shape. Needs pandas and pyarrow.

    Antecedents and consequents are frozensets. The columns are named and computed as by mlxtend's ``association_rules``, so that what reads its rules
    reads these, as `tacita.plot` does.

    Parameters
    ----------
    job : Job
        A job ``rules``.
    party : str
        The party whose rules they are.
    data : table, or mapping of str to table
        This party's table, to run the party; or the tables of all parties by name, to simulate them.
    identity : Identity or path, optional
        The party's key pair, which a run needs.
    **options
        Those of `simulate` or `run`.

    Returns
    -------
    pandas.DataFrame
        One row for each rule.

    Raises
    ------
    InputError
        It is another kind of job, or a run without an identity.

    Examples
    --------
    >>> import pandas as pd, tacita
    >>> job = tacita.Job(
    ...     job="rules", id="demo", reveal_to=["shop", "bakery"], parties=["shop", "bakery"],
    ...     min_support=2, min_confidence=0.6, items="*",
    ... )
    >>> shop = pd.DataFrame({"milk": [1, 1, 0, 1], "tea": [0, 0, 1, 0]})
    >>> rules = tacita.rules(job, "shop", {"shop": shop, "bakery": pd.DataFrame({"bread": [1, 1, 0, 0]})})
    >>> for _, rule in rules.iterrows():
    ...     print(set(rule["antecedents"]), set(rule["consequents"]), rule["support"], round(rule["confidence"], 3))
    {'bread'} {'milk'} 0.5 1.0
    {'milk'} {'bread'} 0.5 0.667
    """
    if job.kind != "rules":
        raise _input(f'rules are of a job "rules", and this is {job.kind!r}')
    if party not in job.parties:
        raise _input(f"{party!r} is none of the parties: {', '.join(job.parties)}")
    if isinstance(data, Mapping):
        return rules_table(simulate(job, data, **options)[party])
    if identity is None:
        raise _input("give identity=DIR to run this party; or the data of all parties, by name, to simulate them")
    return rules_table(run(job, party, data, identity, **options))


def frequent_itemsets(result: Result) -> pandas.DataFrame:
    """Returns the itemsets of a result of a job ``rules`` in the shape of mlxtend's ``apriori``. Needs pandas and pyarrow.

    Parameters
    ----------
    result : Result
        A result with rules.

    Returns
    -------
    pandas.DataFrame
        ``support`` and ``itemsets``, which are frozensets.
    """
    import pandas

    rows = result.itemsets.to_pylist()
    sets = pandas.Series([frozenset(_items(row["items"])) for row in rows], dtype=object)
    return pandas.DataFrame({"support": [row["support"] for row in rows], "itemsets": sets}).astype({"support": float})


def rules_table(result: Result) -> pandas.DataFrame:
    """Returns the rules of a result in mlxtend's shape, as `rules` does. Needs pandas and pyarrow.

    Parameters
    ----------
    result : Result
        A result with rules.

    Returns
    -------
    pandas.DataFrame
        One row for each rule.
    """
    import pandas

    frame = result.to_pandas()
    # Where there are no rules, columns have no type.
    measures = ["support", "confidence", "lift", "leverage", "conviction"]
    frame[measures] = frame[measures].astype(float)
    sides = {name: [frozenset(_items(text)) for text in frame[name]] for name in ("antecedents", "consequents")}
    itemsets = frequent_itemsets(result)
    supports = dict(zip(itemsets["itemsets"], itemsets["support"]))
    support, confidence, lift = frame["support"], frame["confidence"], frame["lift"]
    # An itemset that is no result of its own is known from the rule's measures.
    antecedent = _supports(sides["antecedents"], supports, support / confidence)
    consequent = _supports(sides["consequents"], supports, confidence / lift)
    columns: dict[str, Any] = {name: pandas.Series(sets, dtype=object) for name, sets in sides.items()}
    columns |= {"antecedent support": antecedent, "consequent support": consequent}
    columns |= {"support": support, "confidence": confidence, "lift": lift}
    # No cell is missing, so that every rule stands for all rows.
    columns |= {"representativity": 1.0, "leverage": frame["leverage"], "conviction": frame["conviction"]}
    return pandas.DataFrame(columns | _more_measures(support, antecedent, consequent))


def _more_measures(
    both: pandas.Series, antecedent: pandas.Series, consequent: pandas.Series
) -> dict[str, pandas.Series]:
    """The measures that mlxtend has beside those of a result, each from the three supports."""
    confidence, leverage = both / antecedent, both - antecedent * consequent
    most, other = both * (1 - antecedent), antecedent * (consequent - both)
    most = most.where(most >= other, other)
    return {
        "zhangs_metric": (leverage / most).where(most != 0, 0.0),
        "jaccard": both / (antecedent + consequent - both),
        "certainty": ((confidence - consequent) / (1 - consequent)).where(consequent != 1, 0.0),
        "kulczynski": (confidence + both / consequent) / 2,
    }


def _items(text: str) -> list[str]:
    return text.split("|")


def _supports(sets: list[frozenset[str]], known: dict[frozenset[str], float], derived: pandas.Series) -> pandas.Series:
    import pandas

    return pandas.Series([known.get(one, other) for one, other in zip(sets, derived)], dtype=float)
