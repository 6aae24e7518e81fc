"""Scalar products of columns here with columns there, columns of numbers, and columns of zeros and ones for categories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Optional

from ..errors import _input
from ._parties import Parties

__all__ = ["DIGITS", "indicators", "numbers", "products"]

DIGITS = 9
"""After the point, of numbers between -1 and 1 that are multiplied: with a sign, they fill the 32 bits that a job takes."""


def products(
    parties: Parties,
    what: str,
    names: Mapping[str, Sequence[str]],
    columns: Mapping[str, Mapping[str, Any]],
    reveal_to: Optional[Sequence[str]],
    *,
    bits: int = 1,
    signed: bool = False,
    min_rows: int = 0,
    more: bool = False,
) -> Optional[list[list[int]]]:
    """Every column of the first with every column of the second, as whole numbers: `names` are those of both parties, `columns` those of the parties that are
    here. Both learn them if `reveal_to` is absent; nothing comes where nobody here learns them. More columns than a job takes are products of several jobs.
    Tables of fewer rows than `min_rows` are refused. What is learned is not said again if it is `more` of the job before."""
    first, second = parties.names
    learners = parties.names if reveal_to is None else [reveal_to] if isinstance(reveal_to, str) else list(reveal_to)
    keys: dict[str, Any] = {"job": "dot", "reveal": "value", "reveal_to": learners, "bits": bits, "signed": signed}
    if min_rows:
        keys["limits"] = {"min_rows": min_rows}
    blocks = [(ones, others) for ones in _blocks(names[first]) for others in _blocks(names[second])]
    if len(blocks) > 1 and not more:
        parties.tell(f"{len(blocks)} runs follow, each of some columns here and there, of which this holds:")
    found = [
        _block(parties, what, keys, {first: ones, second: others}, columns, more=more or place > 0)
        for place, (ones, others) in enumerate(blocks)
    ]
    wide = len(_blocks(names[second]))
    matrix: list[list[int]] = []
    for start in range(0, len(found), wide):
        row = [block for block in found[start : start + wide] if block is not None]
        if not row:
            return None
        matrix += [sum(lines, []) for lines in zip(*row)]
    return matrix


MAX_COLUMNS = 256
"""Of a party in one job."""


def _blocks(names: Sequence[str]) -> list[list[str]]:
    return [list(names[start : start + MAX_COLUMNS]) for start in range(0, len(names), MAX_COLUMNS)]


def _block(
    parties: Parties,
    what: str,
    keys: Mapping[str, Any],
    names: Mapping[str, list[str]],
    columns: Mapping[str, Mapping[str, Any]],
    more: bool,
) -> Optional[list[list[int]]]:
    """The products of as many columns as one job takes."""
    own = {party: {name: given[name] for name in names[party]} for party, given in columns.items()}
    results = parties.run_on_rows(what, {**keys, "column": dict(names)}, own, more=more)
    learned = next(
        (result.value["value"] for name, result in results.items() if name in keys["reveal_to"] and result.value), None
    )
    if learned is None:
        return None
    # One product of one column with one is a number, and no matrix.
    matrix = learned if isinstance(learned, list) else [[learned]]
    return [[int(number) for number in row] for row in matrix]


def indicators(parties: Parties, party: str, columns: Sequence[str]) -> tuple[list[str], dict[str, Any]]:
    """The names of a column of zeros and ones for each category of columns, which both parties know; and where the table is here, these columns."""
    names, made = [], {}
    for column in columns:
        values = _values(parties, party, column) if parties.here(party) else None
        for category in parties.categories(party, column):
            name = f"{column}={category}"
            if name in names:
                raise _input(f"{party}: two categories are called {name!r}: give one of them another name")
            names.append(name)
            if values is not None:
                made[name] = (values == category).to_numpy()
    return names, made


def _values(parties: Parties, party: str, column: str) -> Any:
    """A column, all of whose values are categories."""
    values: Any = parties.tables[party][column]
    if values.isna().any():
        raise _input(
            f"{party}: {column} has {int(values.isna().sum())} empty cells: give those a category of their own, or leave their rows out"
        )
    known = parties.categories(party, column)
    strange = ~values.isin(known).to_numpy()
    if strange.any():
        raise _input(
            f"{party}: {column} has a value in row {strange.argmax() + 1} that is none of its {len(known)} categories"
        )
    return values


def numbers(cells: Any, name: str, what: str, when: str = " before the parties are aligned") -> Any:
    """A column of numbers, as floating-point ones, of which none is missing or infinite. `what` is of numbers, as an error says."""
    import numpy
    from pandas.api import types

    if cells.isna().any():
        raise _input(f"{name} has empty cells: leave their rows out{when}")
    plain = types.is_numeric_dtype(cells) and not types.is_complex_dtype(cells)
    if not plain and types.infer_dtype(cells) not in ("boolean", "integer", "floating", "mixed-integer-float", "decimal"):
        raise _input(f"{name} is of type {cells.dtype}: {what} is of numbers")
    values = cells.to_numpy(dtype=float)
    if not numpy.isfinite(values).all():
        raise _input(f"{name} has infinite numbers: leave their rows out{when}")
    return values
