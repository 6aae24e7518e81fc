"""The keys of a job, for whoever writes one as arguments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypedDict, Union

from ._arguments import ordered

__all__ = ["JobKeys", "plain_keys"]

Names = Union[str, Sequence[str]]


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
    limits: Mapping[str, Any]
    """Bounds that the parties agree on."""
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
    """``dot``, ``rules``: what rows are aligned by."""
    bits: int
    """``dot``: of numbers, at most."""
    signed: bool
    """``dot``: whether numbers may be below zero."""
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
    bins: Mapping[str, Any]
    """``rules``: how numbers become items."""
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
