"""What a job on many machines will cost: from the cost of one bucket to machines, hours and bytes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Optional, Union

from .. import _tacita
from .._arguments import bits_a_second, whole
from .._html import bytes_text, page, seconds_text, table
from .._job import Job, _spec_of
from .._plan import plan as plan_one
from ..errors import _input
from ._arguments import check_numbers

__all__ = ["ClusterPlan", "plan"]

ROW_SECONDS = 1.2e-6
"""CPU seconds in which a row is read, its key is normalised and hashed, and it is moved to its bucket: measured with short rows of Parquet, on Ray."""

DRIVER_SECONDS = 1e-3
"""What drivers take for a bucket, one after the other: measured on Ray."""


class Share(NamedTuple):
    """A party's share of the cost."""

    machines: int
    cores: int
    cpu_seconds: float
    """All of it."""
    seconds: float
    """With all machines busy."""
    bytes_sent: int
    memory: Optional[int]
    """Of one bucket under way, in bytes, the rows of its table left out; of `rules` it is not known."""
    filled_up_to: int
    """Rows of a bucket."""


class ClusterPlan:
    """A plan for many machines: how many buckets, how long, how many bytes, and what bounds it."""

    def __init__(self, protocol: str, buckets: int, shares: Mapping[str, Share], wire_seconds: float, driver_seconds: float) -> None:
        self.protocol = protocol
        """What runs in each bucket."""
        self.buckets = buckets
        self.shares = dict(shares)
        """By party."""
        self.wire_seconds = wire_seconds
        """How long the bytes take."""
        self.driver_seconds = driver_seconds
        """How long the drivers take to hand out buckets."""

    @property
    def seconds(self) -> float:
        """How long it takes, computation, traffic and what drivers do at the same time."""
        return max(self.wire_seconds, self.driver_seconds, *(share.seconds for share in self.shares.values()))

    @property
    def bytes(self) -> int:
        """What all send together."""
        return sum(share.bytes_sent for share in self.shares.values())

    @property
    def bound_by(self) -> str:
        """What takes longest: a party's machines, the wire, or the drivers."""
        each = {f"{name}'s machines": share.seconds for name, share in self.shares.items()}
        each |= {"the wire": self.wire_seconds, "the drivers": self.driver_seconds}
        return max(each, key=lambda what: each[what])

    def __repr__(self) -> str:
        lines = [
            f"{self.protocol} in {self.buckets:,} {'bucket' if self.buckets == 1 else 'buckets'}: {_time(self.seconds)}, {_amount(self.bytes)}; {self.bound_by} bound it",
            *(
                f"{name}: {share.machines} machines of {share.cores} cores, {share.cpu_seconds / 3600:,.1f} CPU hours, sends {_amount(share.bytes_sent)}"
                for name, share in self.shares.items()
            ),
        ]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = [
            (name, share.machines, share.cores, f"{share.cpu_seconds / 3600:,.1f}", _amount(share.bytes_sent), bytes_text(share.memory) if share.memory is not None else "not known")
            for name, share in self.shares.items()
        ]
        facts = [("buckets", f"{self.buckets:,}"), ("time", _time(self.seconds)), ("bytes", _amount(self.bytes)), ("bound by", self.bound_by)]
        return page(self.protocol, table(("", ""), facts), table(("party", "machines", "cores", "CPU hours", "sends", "memory a bucket"), rows))


def _time(seconds: float) -> str:
    return seconds_text(seconds) if seconds < 7200 else f"{seconds / 3600:,.1f} h"


def _amount(number: float) -> str:
    return bytes_text(number) if number < 2**40 else f"{number / 2**40:,.1f} TiB"


def plan(
    job: Job,
    rows: Mapping[str, int],
    machines: Mapping[str, int],
    *,
    cores: int = 16,
    buckets: Optional[int] = None,
    row_bytes: Optional[Mapping[str, int]] = None,
    latency: float = 0.0,
    bandwidth: float = 10e9,
    measured: Union[Mapping[str, Any], Sequence[Mapping[str, Any]], None] = None,
) -> ClusterPlan:
    """Says what a job costs on so many machines of each party, of so many cores like those of this machine.

    The cost of a bucket is planned with this machine's measured speed; `measured`, the report of a run of the job, or one of each party, gives what
    its rows and buckets took instead; `rules` are not planned without, since what they take depends on what is frequent in the tables.
    `bandwidth` is that between the parties, of all machines together, in bits a second.

    >>> import tacita, tacita.ray
    >>> job = tacita.Job(job="intersect", id="demo", reveal_to=["a"], key={"columns": ["id"]}, parties=["a", "b"])
    >>> plan = tacita.ray.plan(job, rows={"a": 10**9, "b": 10**9}, machines={"a": 8, "b": 8})
    >>> plan.protocol, plan.buckets
    ('vole', 2000)
    """
    spec = _spec_of(job)
    reports = [measured] if isinstance(measured, Mapping) else measured or ()
    of_party = {_party_of(report): report for report in reports}
    check_numbers(buckets, 0, latency=latency)
    bits = bits_a_second(bandwidth) or 0
    rows = {name: whole(f"rows of {name}", number) for name, number in rows.items() if name in spec.parties}
    for name in spec.parties:
        _tacita.can_spread(spec, name)
        if name not in rows or machines.get(name, 0) < 1 or cores < 1:
            raise _input(
                f"rows, machines: those of {name} are missing: give rows={{{name!r}: N}}, machines={{{name!r}: M}}, and perhaps cores=16, the cores of each machine"
            )
        if spec.kind == "rules" and name not in of_party:
            raise _input(
                "job: what rules take depends on how many items are frequent, which shows in the tables: give measured=[...], the reports of all parties of a run "
                "of it with a part of their rows"
            )
    asked = buckets or max(_tacita.usual_buckets(rows[name], machines[name] * cores) for name in spec.parties)
    number = _tacita.buckets_for(spec, asked, list(rows.values()))
    bounds = {name: _filled(spec, rows[name], number) for name in spec.parties}
    one = plan_one(job, rows=bounds, row_bytes=row_bytes, latency=latency) if spec.kind != "rules" else None
    shares, rounds = {}, 1.0
    for name in spec.parties:
        of_row, memory = ROW_SECONDS, None
        if one is not None:
            share = one.json["parties"][name]
            of_bucket, sent, memory = share["cpu_seconds"], share["bytes_sent"], share["memory"]
        if report := of_party.get(name):
            taken = _Taken.of(report, name)
            of_row, rounds = taken.of_row, taken.rounds
            of_bucket, sent = taken.of_filled * bounds[name], int(taken.sent * bounds[name])
        slots = machines[name] * cores
        reading = rows[name] * of_row
        cpu = number * of_bucket + reading
        # Buckets are done in turns of as many as there are cores; the last turn is as long as the others.
        busy = math.ceil(number / slots) * of_bucket + reading / slots
        shares[name] = Share(machines[name], cores, cpu, busy, number * sent, memory, bounds[name])
    wire = sum(share.bytes_sent for share in shares.values()) * 8 / bits
    protocol = one.protocol if one is not None else next(iter(of_party.values()))["protocol"]
    return ClusterPlan(protocol, number, shares, wire, number * rounds * DRIVER_SECONDS)


def _party_of(report: object) -> str:
    """Whose report it is."""
    if not isinstance(report, Mapping) or not {"party", "buckets", "cpu_seconds", "slots"} <= report.keys():
        raise _input("measured: give `result.report` of a `tacita.ray.run`, or a list of those of all parties")
    return str(report["party"])


def _filled(spec: _tacita.Spec, rows: int, buckets: int) -> int:
    """What a bucket is filled up to, or as many rows as it has where they go by their position."""
    return math.ceil(rows / buckets) if spec.aligns_by_position else _tacita.bucket_bound(rows, buckets, len(spec.parties))


class _Taken(NamedTuple):
    """What a party took in a run that was measured."""

    of_row: float
    """CPU seconds until it is in its bucket."""
    of_filled: float
    """CPU seconds for a row that a bucket is filled up to."""
    sent: float
    """Bytes for such a row."""
    rounds: float
    """How often each bucket was begun."""

    @classmethod
    def of(cls, report: Mapping[str, Any], name: str) -> _Taken:
        buckets, read = report["buckets"], max(1, report["rows"]["items"])
        done = max(1, buckets["done"])
        # Where nothing is filled up, as many rows are in each.
        filled = done * max(1, buckets["filled_up_to"].get(name, read / buckets["number"]))
        of_row = (report["seconds"]["load"] + report["seconds"]["spread"]) * report["slots"] / read
        return cls(of_row, report["cpu_seconds"] / filled, report["bytes"]["sent"] / filled, max(1.0, buckets["begun"] / done))
