"""The Gram matrix of columns of two parties over the rows that both have: sums of columns, and of products of two columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Optional

from ..errors import _input
from ._parties import NOTHING_COMMON, Parties
from ._products import DIGITS, indicators, numbers, products

__all__ = ["Column", "Gram", "gram", "scaled"]

ONE: int = 10**DIGITS
"""Columns between -1 and 1 are counted in billionths, and their products in billionths of these."""

ONES = "1"
"""The name of a column of ones: with it, products add columns up."""


@dataclass(frozen=True)
class Column:
    """A column of one party on a scale that both know, ``(x - centre) / half``, on which its range is between -1 and 1."""

    party: str
    column: str
    low: float
    high: float
    centre: float
    category: Optional[object] = None
    """Of a column of ones where the party's column has this value, and of zeros elsewhere."""

    @property
    def half(self) -> float:
        return max(self.high - self.centre, self.centre - self.low)

    @property
    def title(self) -> str:
        return self.column if self.category is None else f"{self.column}={self.category}"

    @property
    def name(self) -> str:
        """As it stands in the terms: parties that scale it otherwise do not agree."""
        return f"({self.title} - {self.centre!r}) / {self.half!r}" if self.centre else f"{self.title} / {self.half!r}"


@dataclass
class Gram:
    """Sums over rows, as whole numbers: of columns in billionths, and of products in billionths of these."""

    rows: int
    sums: dict[Column, int]
    products: dict[tuple[Column, Column], int]

    def moments(self, ones: Sequence[Column], others: Sequence[Column], *, central: bool) -> Any:
        """The mean of the product of each of `ones` with each of `others`; `central`, of what they are apart from their means."""
        import numpy

        def moment(one: Column, other: Column) -> float:
            total = self.products[one, other] if (one, other) in self.products else self.products[other, one]
            # Whole numbers, so that no digit is lost where means are large.
            apart = self.rows * total - (self.sums[one] * self.sums[other] if central else 0)
            return apart / (self.rows * ONE) ** 2

        return numpy.array([[moment(one, other) for other in others] for one in ones]).reshape(len(ones), len(others))

    def means(self, columns: Sequence[Column]) -> Any:
        """The means of columns."""
        import numpy

        return numpy.array([self.sums[column] / (self.rows * ONE) for column in columns])


def scaled(parties: Parties, columns: Sequence[Column]) -> dict[str, Any]:
    """Columns of one party whose table is here, on their scales, by name."""
    party = columns[0].party
    ones = indicators(parties, party, list(dict.fromkeys(column.column for column in columns if column.category is not None)))[1]
    made: dict[str, Any] = {}
    for column in columns:
        if column.category is None:
            values = numbers(parties.tables[party][column.column], f"{party}: {column.column}", "a regression")
        else:
            values = ones[column.title].astype(float)
        outside = (values < column.low) | (values > column.high)
        if outside.any():
            raise _input(
                f"{party}: {column.column} has a number in row {outside.argmax() + 1} that is outside of its range, from {column.low} to {column.high}"
            )
        if column.name in made:
            raise _input(f"{party}: two columns are called {column.title!r}: give one of them another name")
        made[column.name] = (values - column.centre) / column.half
    return made


def gram(
    parties: Parties,
    learner: str,
    columns: Mapping[str, Sequence[Column]],
    given: Mapping[str, Mapping[str, Any]],
    target: Column,
    min_rows: int,
) -> Optional[Gram]:
    """The Gram matrix of `columns` of both parties and `target`, one of the learner's, but without the target's square. Nothing where the learner is not.

    `given` are the columns as `scaled` has them, of the parties that are here. Both end with an error if fewer than `min_rows` rows are common.
    """
    import numpy

    peer, own = parties.peer(learner), [*columns[learner], target]
    ones = {party: {ONES: numpy.ones(len(parties.tables[party]), dtype=numpy.int64)} for party in given}
    rows = _rows(parties, ones, min_rows)

    def opened(mine: list[str], theirs: list[str], made: Mapping[str, Mapping[str, Any]], more: bool = True) -> Any:
        sides = {learner: mine, peer: theirs}
        matrix = products(
            parties, "regression", sides, made, [learner], bits=32, signed=True, min_rows=min_rows, more=more
        )
        if parties.hidden and parties.common != rows:
            raise _input(f"{rows} rows were common, and now {parties.common} are: leave the tables as they are while a model is fitted")
        # Whole numbers of Python, of any length.
        of_both = numpy.array(matrix, dtype=object)
        return None if matrix is None else of_both if parties.names[0] == learner else of_both.T

    def squares(party: str, pairs: Sequence[tuple[Column, Column]]) -> dict[str, Any]:
        # Numbered, as a column may be called like a product.
        return {
            f"{place}: {one.name} * {two.name}": _billionths(given[party][one.name] * given[party][two.name])
            if party in given
            else None
            for place, (one, two) in enumerate(pairs)
        }

    # A column of ones adds the other's columns up. Products of two columns meet nothing else: more than their sums would be opened.
    singles = {party: ones[party] | {name: _billionths(values) for name, values in given[party].items()} for party in given}
    crossed = opened([ONES, *(one.name for one in own)], [ONES, *(one.name for one in columns[peer])], singles, more=False)
    pairs = {
        learner: [(one, other) for place, one in enumerate(columns[learner]) for other in own[place:]],
        peer: [(one, other) for place, one in enumerate(columns[peer]) for other in columns[peer][place:]],
    }
    theirs, mine = squares(peer, pairs[peer]), squares(learner, pairs[learner])
    totals = {peer: opened([ONES], list(theirs), {party: theirs if party == peer else ones[party] for party in given})}
    if mine and parties.hidden:
        totals[learner] = opened(list(mine), [ONES], {party: mine if party == learner else ones[party] for party in given})
    elif learner in given:
        totals[learner] = numpy.array([sum(values.tolist()) for values in mine.values()], dtype=object)
    if crossed is None:
        return None
    return Gram(
        rows,
        dict(zip(own, crossed[1:, 0])) | dict(zip(columns[peer], crossed[0, 1:])),
        {(one, other): crossed[1 + row, 1 + place] for row, one in enumerate(own) for place, other in enumerate(columns[peer])}
        | {pair: total * ONE for party, of in totals.items() for pair, total in zip(pairs[party], of.ravel())},
    )


def _rows(parties: Parties, ones: Mapping[str, Mapping[str, Any]], min_rows: int) -> int:
    """How many rows both parties have, which both learn, and which are at least `min_rows`."""
    here = min(map(len, parties.tables.values()))
    if parties.hidden and here >= min_rows:
        matrix = products(parties, "rows", {party: [ONES] for party in parties.names}, ones, None, min_rows=min_rows)
        assert matrix is not None, "both learn it"
        here = matrix[0][0]
        if not here:
            raise _input(NOTHING_COMMON)
    if here < min_rows:
        raise _input(f"there are {here} rows, and {min_rows} are needed (min_rows): nothing was opened")
    return here


def _billionths(numbers: Any) -> Any:
    import numpy

    return numpy.rint(numbers * ONE).astype(numpy.int64)
