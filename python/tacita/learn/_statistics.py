"""How columns here and columns there go together."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Optional, Union

from .._arguments import whole
from ..errors import _input
from ._parties import Parties
from ._products import DIGITS, indicators, numbers, products

if TYPE_CHECKING:
    import pandas

__all__ = ["contingency", "correlation", "count"]


def contingency(
    parties: Parties,
    ones: Union[str, Sequence[str]],
    others: Union[str, Sequence[str]],
    *,
    min_cell: int = 5,
    reveal_to: Optional[Sequence[str]] = None,
) -> Optional[pandas.DataFrame]:
    """How many rows have each value of a column of one party and each value of a column of the other; of several columns, one table after the other.

    Those in `reveal_to` (both, if it is absent) learn the numbers; nobody learns of a row. Numbers below `min_cell` are missing, and others with them, so
    that the rest and the sums of rows and columns do not tell them. Sums of several tables of one column can. ``min_cell=0`` gives all: **a cell with a
    small number describes few rows**, and whoever recognises those learns what the other knows of them.

    >>> import pandas as pd
    >>> from tacita import learn
    >>> tables = {"a": pd.DataFrame({"x": ["p", "p", "q"]}), "b": pd.DataFrame({"y": ["no", "yes", "yes"]})}
    >>> learn.contingency(learn.Parties.simulated(tables, tell=None), "a.x", "b.y", min_cell=0)  # doctest: +NORMALIZE_WHITESPACE
    b.y  no  yes
    a.x
    p     1    1
    q     0    1
    """
    import numpy
    import pandas

    (one, own), (other, theirs) = _sides(parties, ones, others)
    first, second = parties.names
    columns = {one: own, other: theirs}
    learners = parties.names if reveal_to is None else [reveal_to] if isinstance(reveal_to, str) else list(reveal_to)
    keys = {"reveal_to": learners, "limits": {"min_cell": whole("min_cell", min_cell)}}
    if (tables := len(own) * len(theirs)) > 1:
        parties.tell(
            f"{tables} runs follow, each of a column here and one there, of which this holds. Tables of one column have the same sums, which can tell "
            "closed cells."
        )
    found: list[list[Any]] = []
    for row in columns[first]:
        pairs = [{first: row, second: column} for column in columns[second]]
        found.append([_cells(parties, pair, keys, more=bool(found) or place > 0) for place, pair in enumerate(pairs)])
    if any(cells is None for line in found for cells in line):
        return None
    values: Any = numpy.block(found)
    if not numpy.isnan(values).any():
        values = values.astype(numpy.int64)
    index, header = (_index(party, _labels(parties, party, columns[party])) for party in (first, second))
    table = pandas.DataFrame(values, index=index, columns=header)
    return table if one == first else table.T


def _cells(parties: Parties, pair: Mapping[str, str], keys: Mapping[str, Any], *, more: bool) -> Optional[Any]:
    """Numbers of rows for each category of a column of the first and each of one of the second, with none for closed cells."""
    import numpy
    import pyarrow

    names, given = {}, {}
    for party, column in pair.items():
        made, has = indicators(parties, party, [column])
        # Blanks around a category would not count.
        names[party] = [f"({name})" for name in made]
        if parties.here(party):
            places = numpy.stack([has[name] for name in made]).argmax(axis=0) if len(made) else numpy.zeros(0, dtype=int)
            values = numpy.array(names[party], dtype=object)[places]
            given[party] = {f"{party}.{column}": pyarrow.array(values, pyarrow.string())}
    rows, columns = (f"{party}.{column}" for party, column in pair.items())
    categories = dict(zip((rows, columns), names.values()))
    question = {"job": "crosstab", "rows": [rows], "columns": [columns], "categories": categories, **keys}
    results = parties.run_on_rows("contingency", question, given, more=more)
    learned = next((result for name, result in results.items() if name in keys["reveal_to"] and result.value), None)
    if learned is None:
        return None
    cells = {(cell[rows], cell[columns]): cell["count"] for cell in learned.table.to_pylist()}
    first, second = names.values()
    number = [[cells.get((one, other)) for other in second] for one in first]
    return numpy.array(number, dtype=float).reshape(len(first), len(second))


def counts(parties: Parties, ones: str, others: Sequence[str], *, reveal_to: Sequence[str]) -> Optional[pandas.DataFrame]:
    """As `contingency`, with all numbers, and in one run: what a model is made of."""
    import pandas

    (one, own), (other, theirs) = _sides(parties, ones, others)
    made = {party: indicators(parties, party, columns) for party, columns in ((one, own), (other, theirs))}
    matrix = products(
        parties,
        "contingency",
        {party: names for party, (names, _) in made.items()},
        {party: columns for party, (_, columns) in made.items() if parties.here(party)},
        reveal_to,
    )
    if matrix is None:
        return None
    first, second = parties.names
    columns = {one: own, other: theirs}
    index, header = (_index(party, _labels(parties, party, columns[party])) for party in (first, second))
    table = pandas.DataFrame(matrix, index=index, columns=header)
    return table if one == first else table.T


def _labels(parties: Parties, party: str, columns: Sequence[str]) -> list[tuple[str, object]]:
    """The categories of columns, each with its column."""
    return [(column, value) for column in columns for value in parties.categories(party, column)]


def count(parties: Parties, where: Mapping[str, object], *, reveal_to: Optional[Sequence[str]] = None) -> Optional[int]:
    """How many rows have given values of columns of both parties. Those in `reveal_to` (both, if it is absent) learn the number.

    >>> import pandas as pd
    >>> from tacita import learn
    >>> tables = {"a": pd.DataFrame({"x": ["p", "p", "q"]}), "b": pd.DataFrame({"y": ["no", "yes", "yes"]})}
    >>> learn.count(learn.Parties.simulated(tables, tell=None), {"a.x": "p", "b.y": "yes"})
    1
    """
    import numpy

    wanted: dict[str, list[tuple[str, object]]] = {name: [] for name in parties.names}
    for reference, value in where.items():
        party, column = parties.column(reference)
        agreed = parties.agreed(party, column)
        if agreed is not None and value not in agreed:
            raise _input(f"{reference}: {value!r} is none of its {len(agreed)} categories")
        wanted[party].append((column, value))
    alone = next((name for name, conditions in wanted.items() if not conditions), None)
    if alone is not None:
        raise _input(f"no column of {alone} is used: {parties.peer(alone)} counts that by itself")
    # What is asked is in the terms, so that both ask the same.
    names = {
        party: [" and ".join(f"{column}={value}" for column, value in conditions)]
        for party, conditions in wanted.items()
    }
    columns = {}
    for party in filter(parties.here, parties.names):
        table = parties.tables[party]
        # An empty cell has no value, and not this one.
        has = [(table[column] == value).fillna(False).to_numpy(dtype=bool) for column, value in wanted[party]]
        columns[party] = {names[party][0]: numpy.logical_and.reduce(has)}
    matrix = products(parties, "count", names, columns, reveal_to)
    return None if matrix is None else matrix[0][0]


def correlation(
    parties: Parties,
    ones: Union[str, Sequence[str]],
    others: Union[str, Sequence[str]],
    *,
    reveal_to: Optional[Sequence[str]] = None,
) -> Optional[pandas.DataFrame]:
    """Pearson's correlation of every column of numbers of one party with every one of the other. Those in `reveal_to` (both, if it is absent) learn them.

    Each party standardises its columns over the common rows by itself, which are not hidden then, so that nothing but the correlations is learned: no means, no variances. They are exact to within √rows
    · 10⁻⁹, because
    standardised numbers are rounded to nine digits. **Of few rows, or where somebody knows most of a column, a correlation can tell a number.**

    >>> import pandas as pd
    >>> from tacita import learn
    >>> tables = {"a": pd.DataFrame({"x": [1, 2, 3, 4]}), "b": pd.DataFrame({"y": [2.0, 1.0, 4.0, 3.0]})}
    >>> learn.correlation(learn.Parties.simulated(tables, tell=None), "a.x", "b.y").round(6)
         b.y
    a.x  0.6
    """
    import pandas

    parties.need_rows("a correlation")
    (one, own), (other, theirs) = _sides(parties, ones, others)
    names = {one: own, other: theirs}
    columns = {
        party: {name: _standardised(parties, party, name) for name in names[party]}
        for party in filter(parties.here, parties.names)
    }
    matrix = products(parties, "correlation", names, columns, reveal_to, bits=32, signed=True)
    if matrix is None:
        return None
    first, second = parties.names
    values = [[number / 10 ** (2 * DIGITS) for number in row] for row in matrix]
    index, header = ([f"{party}.{name}" for name in names[party]] for party in (first, second))
    table = pandas.DataFrame(values, index=index, columns=header)
    return table if one == first else table.T


def _standardised(parties: Parties, party: str, column: str) -> Any:
    """A column less its mean, such that its squares add up to one, in whole billionths."""
    import numpy

    values = numbers(parties.tables[party][column], f"{party}: {column}", "a correlation")
    # Of equal numbers, the mean may differ from them by rounding.
    if not len(values) or values.min() == values.max():
        raise _input(f"{party}: {column} is the same in all rows: it has no correlation with anything")
    # Its unit is no matter, and squares of very large or small numbers are none.
    apart = values / numpy.abs(values).max()
    apart -= apart.mean()
    apart /= numpy.abs(apart).max()
    return numpy.rint(apart / math.sqrt(float(apart @ apart)) * 10**DIGITS).astype(numpy.int64)


def _sides(
    parties: Parties, ones: Union[str, Sequence[str]], others: Union[str, Sequence[str]]
) -> list[tuple[str, list[str]]]:
    """The party and the columns of each side."""
    sides = []
    for references in (ones, others):
        columns = [
            parties.column(reference) for reference in ([references] if isinstance(references, str) else references)
        ]
        if len({party for party, _ in columns}) != 1:
            raise _input("a side has columns of one party, and one at least")
        sides.append((columns[0][0], [column for _, column in columns]))
    if sides[0][0] == sides[1][0]:
        raise _input(f"both sides are columns of {sides[0][0]}, so no other party is needed: use pandas.crosstab, or corr")
    return sides


def _index(party: str, labels: list[tuple[str, object]]) -> pandas.Index:
    import pandas

    columns = {column for column, _ in labels}
    if len(columns) == 1:
        return pandas.Index([value for _, value in labels], name=f"{party}.{labels[0][0]}")
    return pandas.MultiIndex.from_tuples(
        [(f"{party}.{column}", value) for column, value in labels], names=("column", "value")
    )
