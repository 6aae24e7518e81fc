"""What a job on many machines will cost: from the cost of one bucket to machines, hours and bytes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple, Optional

from .. import _tacita
from .._html import bytes_text, page, seconds_text, table
from .._job import Job
from .._plan import plan as plan_one
from ..errors import _input

__all__ = ["ClusterPlan", "plan"]

ROW_SECONDS = 1.2e-6
"""CPU seconds in which a row is read, its key is normalised and hashed, and it is moved to its bucket: measured with short rows of Parquet, on Ray."""


class Share(NamedTuple):
    """A party's share of the cost."""

    machines: int
    cores: int
    cpu_seconds: float
    """All of it."""
    seconds: float
    """With all machines busy."""
    bytes_sent: int
    memory: int
    """Of one bucket under way, in bytes, the rows of its table left out."""
    filled_up_to: int
    """Rows of a bucket."""


class ClusterPlan:
    """A plan for many machines: how many buckets, how long, how many bytes, and what bounds it."""

    def __init__(self, protocol: str, buckets: int, shares: Mapping[str, Share], wire_seconds: float) -> None:
        self.protocol = protocol
        """What runs in each bucket."""
        self.buckets = buckets
        self.shares = dict(shares)
        """By party."""
        self.wire_seconds = wire_seconds
        """How long the bytes take."""

    @property
    def seconds(self) -> float:
        """How long it takes, computation and traffic at the same time."""
        return max(self.wire_seconds, *(share.seconds for share in self.shares.values()))

    @property
    def bytes(self) -> int:
        """What all send together."""
        return sum(share.bytes_sent for share in self.shares.values())

    @property
    def bound_by(self) -> str:
        """What takes longest: the wire, or a party's machines."""
        slowest = max(self.shares, key=lambda name: self.shares[name].seconds)
        return "the wire" if self.wire_seconds > self.shares[slowest].seconds else f"{slowest}'s machines"

    def __repr__(self) -> str:
        lines = [
            f"{self.protocol} in {self.buckets:,} buckets: {_time(self.seconds)}, {_amount(self.bytes)}; {self.bound_by} bound it",
            *(
                f"{name}: {share.machines} machines of {share.cores} cores, {share.cpu_seconds / 3600:,.1f} CPU hours, sends {_amount(share.bytes_sent)}"
                for name, share in self.shares.items()
            ),
        ]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = [
            (name, share.machines, share.cores, f"{share.cpu_seconds / 3600:,.1f}", _amount(share.bytes_sent), bytes_text(share.memory))
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
    measured: Optional[Mapping[str, Any]] = None,
) -> ClusterPlan:
    """Says what a job costs on so many machines of each party, of so many cores like those of this machine.

    The cost of a bucket is planned with this machine's measured speed; `measured`, the report of a run of the job, gives what its buckets took instead.
    `bandwidth` is that between the parties, of all machines together, in bits a second.

    >>> import tacita, tacita.ray
    >>> job = tacita.Job(job="intersect", id="demo", reveal_to=["a"], key={"columns": ["id"]}, parties=["a", "b"])
    >>> plan = tacita.ray.plan(job, rows={"a": 10**9, "b": 10**9}, machines={"a": 8, "b": 8})
    >>> plan.protocol, plan.buckets
    ('vole', 2000)
    """
    spec = job._spec
    if spec.kind == "rules":
        raise _input("job: what rules take depends on how many items are frequent, which shows in the tables: `tacita.plan` with `tables` says it for one machine of each")
    for name in spec.parties:
        _tacita.can_spread(spec, name)
        if name not in rows or machines.get(name, 0) < 1:
            raise _input(f"rows, machines: how many has {name}? Say rows={{{name!r}: N}} and machines={{{name!r}: M}}")
    number = buckets or max(_tacita.usual_buckets(rows[name], machines[name] * cores) for name in spec.parties)
    number = min(number, _tacita.most_buckets(spec, min(rows[name] for name in spec.parties)))
    bounds = {name: _tacita.bucket_bound(rows[name], number, len(spec.parties)) for name in spec.parties}
    one = plan_one(job, rows=bounds, row_bytes=row_bytes, latency=latency)
    shares = {}
    for name in spec.parties:
        share = one.json["parties"][name]
        of_bucket, sent = share["cpu_seconds"], share["bytes_sent"]
        if measured is not None and measured["party"] == name:
            scale = bounds[name] / max(1, measured["buckets"]["filled_up_to"].get(name, bounds[name]))
            of_bucket = measured["cpu_seconds"] / max(1, measured["buckets"]["done"]) * scale
            sent = int(measured["bytes"]["sent"] / max(1, measured["buckets"]["done"]) * scale)
        slots, reading = machines[name] * cores, rows[name] * ROW_SECONDS
        cpu = number * of_bucket + reading
        # Buckets are done in turns of as many as there are cores; the last turn is as long as the others.
        busy = math.ceil(number / slots) * of_bucket + reading / slots
        shares[name] = Share(machines[name], cores, cpu, busy, number * sent, share["memory"], bounds[name])
    wire = sum(share.bytes_sent for share in shares.values()) * 8 / bandwidth
    return ClusterPlan(one.protocol, number, shares, wire)
