"""Two parties without a job file: one listens, the other connects, and each describes the same job from its own side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Optional, TypedDict, Union

from ._arguments import ordered
from ._identity import Identity
from ._job import Job
from ._progress import ShowProgress
from ._result import Result
from ._run import run
from ._tell import Confirm, Tell
from ._types import Data, Path
from .errors import _input

if TYPE_CHECKING:
    # Nothing imports it when the package runs.
    from typing_extensions import Unpack

__all__ = ["Pair", "dot", "intersect", "union"]

Columns = Union[Sequence[str], Mapping[str, str]]
"""Agreed names of columns; a mapping from them to own headers where those differ."""


class Pair(TypedDict, total=False):
    """What every such function takes besides, by name. Both parties say it, each from its own side."""

    listen: str
    """Listen on this address."""
    connect: str
    """Connect to this address: one of the two."""
    receiver: str
    """Who learns: ``me``, if not said; ``peer`` or ``both``."""
    id: str
    """Both parties' name for this job; ``adhoc`` if not said."""
    name: str
    """This party's name; ``listener`` or ``dialer`` if not said."""
    peer_name: str
    """The peer's."""
    protocol: str
    """The protocol; ``auto`` if not said."""
    security: str
    """What the other is assumed to do; ``semi-honest`` if not said."""
    level: str
    """Computational security; ``bits128`` if not said."""
    normalize: Union[Sequence[str], Mapping[str, str]]
    """How this party's key columns are normalised: one profile a column, or by column."""
    max_rows: int
    """Refuse a peer with more."""
    pad_to: int
    """Pad both sets of keys to this size, so that sizes are not revealed."""
    min_result: int
    """Report a number below this only as being below it."""
    timeout: float
    """How long to wait for the peer, in seconds."""
    patience: float
    """How long it may be connected and neither send nor read anything."""
    memory: float
    """Bytes that the job may use besides the table."""
    allow_unreadable: bool
    """Go on although more than half of the keys cannot be read."""
    allow_insecure: bool
    """Allow what the command asks ``--allow-insecure`` for."""
    tell: Tell
    """Who is told what each party will learn, before anything is sent: see `run`."""
    confirm: Confirm
    """Who has the last word on it: see `run`."""
    progress: ShowProgress
    """Who is told how far it is: see `ShowProgress`."""


def intersect(
    data: Data,
    peer: str,
    identity: Union[Identity, Path],
    *,
    key: Columns,
    reveal: str = "rows",
    gives: Sequence[str] = (),
    peer_gives: Sequence[str] = (),
    duplicates: str = "all",
    nulls: str = "skip",
    **pair: Unpack[Pair],
) -> Result:
    """Finds the rows that this party and one other have in common: as ``tacita intersect``, with which it can also be met.

    Parameters
    ----------
    data : table
        This party's table.
    peer : str
        The other's fingerprint.
    identity : Identity or path
        This party's key pair.
    key : sequence of str or mapping of str to str
        Columns to match rows by; a mapping has own headers by agreed name.
    reveal : str
        ``rows``, ``count``, ``sum:COLUMN`` (several: ``sum:A,B``), ``mean:COLUMN``, or ``payload``, for which a party gives columns.
    gives, peer_gives : sequence of str
        Columns that this party gives, and that the peer gives.
    duplicates : {"all", "first", "error", "multiset"}
        Treatment of rows with equal keys.
    nulls : {"skip", "error"}
        Treatment of rows without a key.
    **pair
        What both parties say, each from its own side: see `Pair`.

    Returns
    -------
    Result
        What this party learns.

    Examples
    --------
    >>> tacita.intersect(  # doctest: +SKIP
    ...     table, "SHA256:...", "id", key={"name": "insured", "dob": "birth"}, connect="a.example:7400", receiver="peer"
    ... )
    """
    side = _Side(identity, peer, pair)
    names, mapping = _named("key", key)
    job: dict[str, Any] = {
        "job": "intersect",
        "reveal": reveal,
        "key": {"columns": names, "duplicates": duplicates, "nulls": nulls},
    }
    return side.run(data, side.giving(job, gives, peer_gives), mapping)


def union(
    data: Data,
    peer: str,
    identity: Union[Identity, Path],
    *,
    key: Columns,
    reveal: str = "rows",
    gives: Sequence[str] = (),
    peer_gives: Sequence[str] = (),
    duplicates: str = "all",
    nulls: str = "skip",
    **pair: Unpack[Pair],
) -> Result:
    """Finds the rows that this party or one other has: as ``tacita union``.

    Parameters
    ----------
    data : table
        This party's table.
    peer : str
        The other's fingerprint.
    identity : Identity or path
        This party's key pair.
    key : sequence of str or mapping of str to str
        Columns to match rows by; a mapping has own headers by agreed name.
    reveal : {"rows", "count"}
        What is revealed.
    gives, peer_gives : sequence of str
        Columns that this party gives, and that the peer gives.
    duplicates : {"all", "first", "error", "multiset"}
        Treatment of rows with equal keys.
    nulls : {"skip", "error"}
        Treatment of rows without a key.
    **pair
        What both parties say, each from its own side: see `Pair`.

    Returns
    -------
    Result
        What this party learns.

    Examples
    --------
    >>> tacita.union(table, "SHA256:...", "id", key=["name"], listen=":7400", receiver="me")  # doctest: +SKIP
    """
    side = _Side(identity, peer, pair)
    names, mapping = _named("key", key)
    job: dict[str, Any] = {
        "job": "union",
        "reveal": reveal,
        "key": {"columns": names, "duplicates": duplicates, "nulls": nulls},
    }
    return side.run(data, side.giving(job, gives, peer_gives), mapping)


def dot(
    data: Data,
    peer: str,
    identity: Union[Identity, Path],
    *,
    column: Union[str, Columns],
    row_id: Columns = (),
    alignment: Optional[str] = None,
    reveal: str = "value",
    bits: int = 1,
    signed: bool = False,
    scale: int = 0,
    **pair: Unpack[Pair],
) -> Result:
    """Multiplies a column here with a column there, row by row, and adds up: as ``tacita dot``.

    Parameters
    ----------
    data : table
        This party's table.
    peer : str
        The other's fingerprint.
    identity : Identity or path
        This party's key pair.
    column : str, sequence of str or mapping of str to str
        The column; a mapping has own headers by agreed name.
    row_id : sequence of str or mapping of str to str
        Columns to align rows by, in place of their position.
    alignment : {"hidden", "rows"}, optional
        With `row_id`, whether nobody learns which rows are common (``hidden``, if absent).
    reveal : {"value", "shares"}
        What is revealed.
    bits : int
        Bits of a number, at most.
    signed : bool
        Whether numbers may be below zero.
    scale : int
        Decimals of the numbers.
    **pair
        What both parties say, each from its own side: see `Pair`.

    Returns
    -------
    Result
        What this party learns.

    Examples
    --------
    >>> tacita.dot(table, "SHA256:...", "id", column="milk", listen=":7400", receiver="both")  # doctest: +SKIP
    """
    side = _Side(identity, peer, pair)
    # The two parties need not know each other's header.
    columns, mapping = _named("column", {"value": column} if isinstance(column, str) else column)
    ids, of_ids = _named("row_id", row_id)
    job: dict[str, Any] = {
        "job": "dot", "reveal": reveal, "column": columns, "bits": bits, "signed": signed, "scale": scale,
    }  # fmt: skip
    if ids:
        job |= {"row_id": ids, "key": {"columns": ids}}
    if alignment is not None:
        job["alignment"] = alignment
    return side.run(data, job, mapping | of_ids)


def _named(what: str, columns: Columns) -> tuple[list[str], dict[str, str]]:
    """Agreed names, and own headers where they differ."""
    if isinstance(columns, str):
        return [columns], {}
    if isinstance(columns, Mapping):
        return list(columns), {name: header for name, header in columns.items() if name != header}
    return ordered(what, columns), {}


def _meant(name: str) -> str:
    """The argument that is most like this one."""
    near = get_close_matches(name, Pair.__annotations__, 1)
    return f" (did you mean {near[0]!r}?)" if near else ""


class _Side:
    """One of the two."""

    def __init__(self, identity: Union[Identity, Path], peer: str, options: Pair) -> None:
        unknown = [name for name in options if name not in Pair.__annotations__]
        if unknown:
            raise _input(f"unexpected argument {unknown[0]!r}{_meant(unknown[0])}: use {', '.join(Pair.__annotations__)}")
        self.identity = identity if isinstance(identity, Identity) else Identity(identity)
        self.peer, self.options = peer, dict[str, Any](options)
        listens = "listen" in options
        if listens == ("connect" in options):
            raise _input("give listen=ADDR at one party, and connect=ADDR at the other")
        names = ("listener", "dialer") if listens else ("dialer", "listener")
        self.me, self.other = options.get("name", names[0]), options.get("peer_name", names[1])
        self.listens = listens
        if self.me == self.other:
            raise _input(f"name and peer_name: both parties are called {self.me!r}")
        self.receiver = options.get("receiver", "me")

    def giving(self, job: dict[str, Any], gives: Sequence[str], peer_gives: Sequence[str]) -> dict[str, Any]:
        """The job with what the parties give."""
        given = {self.me: ordered("gives", gives), self.other: ordered("peer_gives", peer_gives)}
        return job | {"gives": {name: columns for name, columns in given.items() if columns}}

    def run(self, data: Data, job: dict[str, Any], mapping: dict[str, str]) -> Result:
        """Runs this side of the job."""
        receivers = {"me": [self.me], "peer": [self.other], "both": [self.me, self.other]}
        if self.receiver not in receivers:
            raise _input(f"receiver = {self.receiver!r}: use me, peer or both")
        own: dict[str, Any] = {"identity": self.identity.fingerprint, "columns": mapping}
        if "normalize" in self.options:
            own["normalize"] = self.options["normalize"]
        parties = {self.me: own, self.other: {"identity": self.peer}}
        if not self.listens:
            parties = dict(reversed(parties.items()))
        first = self.me if self.listens else self.other
        parties[first]["address"] = self.options["listen" if self.listens else "connect"]
        limits = {name: self.options[name] for name in ("max_rows", "pad_to", "min_result") if name in self.options}
        words = {name: self.options[name] for name in ("protocol", "security", "level") if name in self.options}
        more = {"id": self.options.get("id", "adhoc"), "reveal_to": receivers[self.receiver], "parties": parties}
        bounds: dict[str, Any] = {"limits": limits} if limits else {}
        spec = Job(**job, **words, **more, **bounds)
        kept = ("timeout", "patience", "memory", "allow_unreadable", "allow_insecure", "tell", "confirm", "progress")
        return run(
            spec, self.me, data, self.identity, **{name: self.options[name] for name in kept if name in self.options}
        )
