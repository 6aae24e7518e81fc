"""The keys of a job, for whoever writes one as arguments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypedDict, Union

from ._arguments import ordered

__all__ = ["JobKeys", "KeyTable", "LimitsTable", "MemberTable", "Names", "NoiseTable", "ParticipantsTable", "Parties", "PartyTable", "RoundTable", "plain_keys"]

Names = Union[str, Sequence[str]]
"""One name, or several."""

Profiles = Union[Sequence[str], Mapping[str, str]]
"""A profile for each key column, or profiles by column."""

Items = Union[str, Sequence[str], Mapping[str, Any]]
"""``"*"``, columns, or a table as ``{"column": "items", "separator": "|"}``."""


class KeyTable(TypedDict, total=False):
    """The table ``key`` of a job file."""

    columns: Sequence[str]
    """Agreed names of the key columns."""
    any: Sequence[Union[Sequence[str], Mapping[str, Any]]]
    """In place of `columns`: several keys, of which one is enough."""
    normalize: Profiles
    """How key columns are normalised; ``none`` by default."""
    duplicates: Literal["all", "first", "error", "multiset"]
    """Treatment of rows with equal keys; ``all`` by default."""
    nulls: Literal["skip", "error"]
    """Treatment of rows without a key; ``skip`` by default."""


class LimitsTable(TypedDict, total=False):
    """The table ``limits`` of a job file."""

    max_rows: int
    """A party that has more rows is refused."""
    pad_to: int
    """Sizes are padded to this bound and not revealed."""
    min_rows: int
    """A party that has fewer keys is refused."""
    max_null: Union[int, float, str]
    """Rows without a key that a party may have: a number, or a share as ``"1%"``."""
    max_unreadable: Union[int, float, str]
    """Rows with an unreadable key that a party may have."""
    max_text: int
    """Bytes of a given text, to which all are padded."""
    blur: int
    """Dummies in each of two pools that blur the number of hidden common rows."""
    min_result: int
    """Numbers below this are reported as below it."""
    min_cell: int
    """Rows that a cell of a cross table needs to be open; 5 by default."""
    max_queries: int
    """Keys that one client may query in all."""
    max_clients: int
    """Clients that may query."""
    daily_queries: int
    """Keys that one client may query on one day."""
    rotate_within: str
    """Period within which a live list rotates its key, as ``"24h"``."""


class _NoiseTable(TypedDict):
    """Keys that noise needs."""

    epsilon: Union[float, str]
    """Epsilon of differential privacy, of one run."""


class NoiseTable(_NoiseTable, total=False):
    """The table ``noise`` of a job file."""

    delta: Union[float, str]
    """Delta of differential privacy: noise is Gaussian; by default it is 0, and noise is Laplace."""
    bounds: Union[Sequence[float], Mapping[str, Sequence[float]]]
    """The smallest and the largest number, of all columns or by party; numbers beyond are clipped. ``aggregate``: sizes of the histogram."""
    unit: Literal["report", "participant"]
    """``aggregate``: what is protected: one report, or all reports of one participant."""


class MemberTable(TypedDict, total=False):
    """Where a relay, a helper or a service is."""

    address: str
    """Listening address, as ``host:port``."""
    identity: str
    """Fingerprint of its public key."""


class PartyTable(MemberTable, total=False):
    """A party's own part of a job file."""

    columns: Mapping[str, str]
    """Own headers by agreed name, where they differ."""
    normalize: Profiles
    """Own profiles, where they differ."""
    role: Literal["client", "server"]
    """``dot`` among several: whose slices make up one side."""
    slice: int
    """Number of a client's slice, from 1 on."""
    skip: int
    """Lines above the header of a text file."""
    decimal: str
    """Decimal mark of numbers that are text; a point by default."""
    nulls: Sequence[str]
    """Words that stand for no value in key columns."""
    header: bool
    """Whether a text file has a header; ``True`` by default."""
    sheet: str
    """Name of a workbook's sheet."""
    format: str
    """Format of a file whose name does not tell."""
    expand: int
    """Addresses into which networks of a list are expanded, at most."""
    items: Items
    """``rules``: source of the party's own items."""
    show: Mapping[str, Any]
    """Own output: which rows, rules and itemsets it has."""


class _RoundTable(TypedDict):
    """What a round cannot do without."""

    reveal_when: str
    """Condition for revealing a key, as ``"distinct >= 3"``."""


class RoundTable(_RoundTable, total=False):
    """The table ``round`` of a job ``aggregate``."""

    values: Union[Sequence[int], Sequence[str], Mapping[str, int]]
    """Values that reports may carry: numbers, grades, or ``{"min": 1, "max": 100}``."""
    key_bytes: int
    """Length of a key at most; 16 by default."""
    keys: Literal["embedded", "hashed"]
    """Form in which keys travel; ``embedded`` by default."""
    value: str
    """Column with the values; ``value`` by default."""
    min_participants: int
    """Distinct participants in a shuffle, at least; 2 by default."""
    max_share: Union[float, str]
    """Share of a shuffle that may come from one participant."""
    batch_size: int
    """Reports that are shuffled at once; by default all of a round."""
    close_at: Any
    """Closing time of the round, as text or as a ``datetime``."""
    tighten: bool
    """Whether the database's operator may raise thresholds."""
    max_reports: int
    """Reports of one participant, at most."""


class ParticipantsTable(TypedDict, total=False):
    """The table ``participants`` of a job ``aggregate``."""

    ca: str
    """Fingerprint of the authority that has signed certificates."""
    allow: Any
    """Path of a file that lists participants."""


Parties = Union[Sequence[str], Mapping[str, PartyTable]]
"""Names, or tables by name where a party has settings of its own."""


class JobKeys(TypedDict, total=False):
    """The keys of a job file, as `Job` takes them. Which of them a kind of job has is in its guide."""

    job: str
    """Which question is asked: ``intersect``, ``union``, ``dot``, ``rules``, ``shares`` or ``aggregate``."""
    id: str
    """The parties' name for it."""
    protocol: str
    """Which protocol answers it; ``auto`` if not said."""
    security: str
    """What the others are assumed to do; ``semi-honest`` if not said."""
    level: str
    """Computational security; ``bits128`` if not said."""
    reveal: str
    """What those in `reveal_to` learn."""
    reveal_to: Names
    """Who learns."""
    gives: Mapping[str, Sequence[str]]
    """Whose columns others may see."""
    key: Mapping[str, Any]
    """What a row is matched by."""
    scale: int
    """How many decimals numbers have."""
    noise: Mapping[str, Any]
    """``dot``, ``crosstab``, ``aggregate``: noise that is added to what is revealed; ``shares``: noise that is in them."""
    limits: Mapping[str, Any]
    """Bounds that the parties agree on."""
    quality: str
    """Whether learners are told how many rows others could not use: ``hidden`` if not said, or ``told``."""
    clients: Mapping[str, Any]
    """Who may ask a party that stands and answers."""
    relay: Mapping[str, Any]
    """Where parties meet that can only dial out."""
    helper: Mapping[str, Any]
    """Who helps, in protocols through a helper."""
    parties: Union[Sequence[str], Mapping[str, Mapping[str, Any]]]
    """The parties, in their order: a later one dials earlier ones."""
    column: Union[Names, Mapping[str, Names]]
    """``dot``: the columns that are multiplied."""
    row_id: Names
    """``dot``, ``rules``, ``crosstab``: what rows are aligned by."""
    alignment: str
    """``dot``, ``rules``, ``crosstab``: with `row_id`, whether nobody learns which rows are common: ``hidden`` if not said, or ``rows``."""
    bits: int
    """``dot``, ``crosstab``: of numbers, at most."""
    signed: bool
    """``dot``, ``crosstab``: whether numbers may be below zero."""
    modulus: Any
    """``dot``: what sums are taken modulo."""
    extension: str
    """``dot``, ``rules``: how oblivious transfers are made."""
    chunk: int
    """``dot``: how many rows are in a message."""
    density: Any
    """``dot``, ``rules``: which share of the rows a column is in at most."""
    min_support: Any
    """``rules``: how frequent an itemset is at least."""
    min_confidence: Any
    """``rules``: of a rule, at least."""
    max_len: int
    """``rules``: most items of an itemset."""
    consequents: str
    """``rules``: how many items a consequent has."""
    items: Any
    """``rules``: where items come from."""
    mixed_only: bool
    """``rules``: only itemsets of several parties."""
    max_candidates: int
    """``rules``: most candidates that are counted."""
    max_rules: int
    """``rules``: most rules that are made."""
    bins: Any
    """``rules``, ``crosstab``: how numbers become items or categories. ``intersect`` and ``union`` by `polynomial`: into how many bins keys go."""
    rows: Names
    """``crosstab``: columns whose categories are the rows of the table."""
    columns: Names
    """``crosstab``: columns whose categories are the columns of the table."""
    measure: str
    """``crosstab``: what a cell has."""
    categories: Mapping[str, Sequence[str]]
    """``crosstab``: the categories of columns, where they are agreed on."""
    strategy: str
    """``intersect``, ``union`` by `polynomial`: how polynomials travel and are multiplied."""
    decryption: str
    """``intersect`` by `outsourced-bloom`: the order in which parties decrypt."""
    false_positives: str
    """``intersect`` by `outsourced-bloom`: how often a key is wrongly in the result."""
    operation: Any
    """``shares``: what is done with shares."""
    round: Mapping[str, Any]
    """``aggregate``: what is collected, and when it is revealed."""
    participants: Mapping[str, Any]
    """``aggregate``: who may report."""
    proxy: Sequence[Mapping[str, Any]]
    """``aggregate``: the proxies."""
    oracle: Sequence[Mapping[str, Any]]
    """``aggregate``: the oracles."""
    database: Sequence[Mapping[str, Any]]
    """``aggregate``: the database."""


UNORDERED = ("reveal_to",)
"""Keys whose values have no order: a set will do."""


def plain_keys(keys: Mapping[str, Any]) -> dict[str, Any]:
    """The keys as a job file has them: what is ``None`` was not said, and names of parties are parties that say nothing of their own.

    A set is refused where order counts: it has another one in each process.
    """
    plain = {name: _plain(name, value) for name, value in keys.items() if value is not None}
    parties = plain.get("parties")
    if isinstance(parties, list):
        plain["parties"] = {name: {} for name in parties}
    return plain


def _plain(path: str, value: Any) -> Any:
    if isinstance(value, Mapping):
        # Terms do not go by the order of a mapping, but for that of the parties, which dictionaries keep.
        return {name: _plain(f"{path}.{name}", one) for name, one in value.items() if one is not None}
    if isinstance(value, (set, frozenset)):
        return sorted(value) if path in UNORDERED else ordered(path, value)
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)) and not hasattr(value, "isoformat"):
        return [_plain(path, one) for one in value]
    return value
