"""Facts about a table before a question is asked. ``tacita inspect`` at the command line."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Optional, Union

from . import _tacita
from ._arguments import named, ordered
from ._html import page, table
from ._job import Job, _spec_of
from ._questions import Question
from ._types import Data
from .errors import _input

__all__ = ["ColumnFacts", "Inspection", "inspect"]


@dataclass(frozen=True)
class ColumnFacts:
    """Facts about a column."""

    name: str
    """Header of the column."""

    type: str
    """Type of its values; ``text`` in a text file."""

    index: bool
    """Whether it is an index of pandas, which can be no key."""

    empty: int
    """Rows in which it holds nothing, or blanks."""

    distinct: Optional[int]
    """Number of different values; None if there are more than 100,000, or they are no text."""

    shortest: Optional[int]
    """Characters of the shortest value."""

    longest: Optional[int]
    """Characters of the longest value."""

    shape: Optional[str]
    """Shape of most values, as ``99/99/9999``."""

    shape_share: Optional[float]
    """Share of the values that have this shape."""

    profiles: tuple[str, ...]
    """Profiles that fit best; several if nothing in the column tells them apart."""

    read: Mapping[str, float]
    """Share of the values that each profile reads."""


class Inspection:
    """Findings on a table: `inspect` makes one."""

    def __init__(self, found: dict[str, Any]) -> None:
        self.json: dict[str, Any] = found["report"]
        """All findings without any value of the table, with the keys of ``tacita inspect --report``."""

        self.text: str = found["text"]
        """The findings as ``tacita inspect`` prints them, with values of key columns."""

        self.warnings: list[str] = found["warnings"]
        """Warnings that a run would give."""

        values: dict[str, Any] = found["values"] or {"first": [], "unreadable": [], "frequent": []}
        self.first_keys: list[dict[str, Any]] = values["first"]
        """First keys as they are compared, each with its ``place`` and ``parts``."""

        self.unreadable: list[dict[str, str]] = values["unreadable"]
        """First values that cannot be read, each with its ``place``, ``header`` and ``value``."""

        self.frequent: list[dict[str, Any]] = values["frequent"]
        """Most frequent ``values`` of each key column, which may be placeholders."""

    @property
    def rows(self) -> int:
        """Rows of the table."""
        rows: int = self.json["rows"]
        return rows

    @property
    def columns(self) -> list[ColumnFacts]:
        """Facts about each column that was examined; none of baskets."""
        return [ColumnFacts(**{**column, "profiles": tuple(column["profiles"])}) for column in self.json.get("columns", ())]

    @property
    def counts(self) -> dict[str, int]:
        """Rows by what would become of them: ``read = nulls + unreadable + duplicates + items``. Empty without a key."""
        counts: dict[str, int] = self.json.get("key", {}).get("rows", {})
        return counts

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        rows = [(one.name, one.type, one.empty, one.distinct, one.shape or "", " or ".join(one.profiles)) for one in self.columns]
        facts = [(name, count) for name, count in self.counts.items()] + [("warning", warning) for warning in self.warnings]
        heads = ("column", "type", "empty", "distinct", "mostly like", "read by")
        return page(f"{self.json['file']}: {self.rows} rows", table(heads, rows), table(("", ""), facts))


def inspect(
    data: Data,
    question: Union[Job, Question, None] = None,
    party: Optional[str] = None,
    *,
    key: Union[str, Sequence[str], Mapping[str, str], None] = None,
    normalize: Union[str, Sequence[str], Mapping[str, str], None] = None,
    columns: Optional[Sequence[str]] = None,
    nulls: Optional[Sequence[str]] = None,
    decimal: Optional[str] = None,
) -> Inspection:
    """Examines a table: its columns, the profiles that fit them, and the keys that would be matched. Nothing leaves this machine.

    Parameters
    ----------
    data : table
        The table, in memory or a file.
    question : Job or Question, optional
        What would be asked: its key is examined.
    party : str, optional
        The party whose table it is. Required, if the question names its parties.
    key : str, sequence of str or mapping of str to str, optional
        Columns to match rows by, in place of a question. A mapping has headers by agreed name: ``{"born": "date of birth"}``.
    normalize : str, sequence of str or mapping of str to str, optional
        Profiles of the columns in `key`, one for each, or by name. Without it, values are compared as they are.
    columns : sequence of str, optional
        Columns to examine; by default the first 100.
    nulls : sequence of str, optional
        Words in the columns of `key` that stand for no value, in place of the usual ones.
    decimal : {".", ","}, optional
        Decimal mark of numbers in the columns of `key`.

    Returns
    -------
    Inspection
        The findings as data and as text, with warnings that a run would give.

    Raises
    ------
    InputError
        The table cannot be read, or has no such column; or arguments do not go together.

    Examples
    --------
    >>> import pandas as pd, tacita
    >>> table = pd.DataFrame({"name": ["Ann Bell", "Bob Smith", "Bob Smith"], "born": ["13/2/1990", "1/4/1985", "1/4/1985"]})
    >>> found = tacita.inspect(table, key=["name", "born"], normalize=["name", tacita.date("DMY")])
    >>> found.counts["items"], found.columns[1].profiles
    (2, ('date:DMY',))
    """
    if question is None:
        asked = None
        names, profiles = _key(key, normalize)
        if not names and (nulls is not None or decimal is not None):
            raise _input(f"{'nulls' if nulls is not None else 'decimal'}: it is about the columns of key: add key=[...]")
    else:
        given = {"key": key, "normalize": normalize, "nulls": nulls, "decimal": decimal}
        twice = next((name for name, value in given.items() if value is not None), None)
        if twice is not None:
            raise _input(f"{twice}: the question says how rows are matched: leave one of them out")
        asked, names, profiles = _asked(question, party), [], []
    with named():
        found = _tacita.inspect(
            data,
            question=asked,
            key=names,
            normalize=profiles,
            columns=ordered("columns", columns or []) if not isinstance(columns, str) else [columns],
            nulls=None if nulls is None else list(nulls),
            decimal=decimal,
        )
    return Inspection(json.loads(found))


def _asked(question: Union[Job, Question], party: Optional[str]) -> tuple[_tacita.Spec, str]:
    """The job that a question is, and the party whose table is examined."""
    if isinstance(question, Question) and question._wants_parties:
        # No party has settings of its own.
        return question._checked._spec, question._checked.parties[0]
    spec = _spec_of(question.job if isinstance(question, Question) else question)
    if party is None:
        raise _input(f"party: whose table is it? Give one of {', '.join(spec.parties)}")
    return spec, party


def _key(
    key: Union[str, Sequence[str], Mapping[str, str], None], normalize: Union[str, Sequence[str], Mapping[str, str], None]
) -> tuple[list[tuple[str, str]], list[str]]:
    """Agreed names with headers, and a profile for each."""
    if key is None:
        if normalize is not None:
            raise _input("normalize: it is about the columns of key: add key=[...]")
        return [], []
    if isinstance(key, Mapping):
        names = list(key.items())
    else:
        names = [(name, name) for name in ([key] if isinstance(key, str) else ordered("key", key))]
    if not names:
        raise _input("key: name at least one column")
    if isinstance(normalize, Mapping):
        known = {name for name, _ in names}
        unknown = next((name for name in normalize if name not in known), None)
        if unknown is not None:
            raise _input(f"normalize: {unknown!r} is not in key")
        return names, [normalize.get(name, "none") for name, _ in names]
    if normalize is None:
        return names, []
    return names, [normalize] if isinstance(normalize, str) else ordered("normalize", normalize)
