"""What a job will cost and reveal, before anything is sent."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Optional

from . import _tacita
from ._arguments import bits_a_second, check_mapping, named, seconds_of, whole
from ._html import bytes_text, page, seconds_text, table
from ._job import Job, _spec_of
from ._types import Data

__all__ = ["Plan", "plan"]


class Plan:
    """A plan: which protocol will run and why, what it costs, and what each will learn."""

    def __init__(self, plan: dict[str, Any]) -> None:
        self.json = plan
        """All of it, with the keys of ``tacita plan --json``."""

    @property
    def protocol(self) -> str:
        """The protocol that will run."""
        protocol: str = self.json["protocol"]
        return protocol

    @property
    def why(self) -> str:
        """Why it is the one."""
        why: str = self.json["why"]
        return why

    @property
    def seconds(self) -> float:
        """Seconds, if each party has a machine like this one; reading and writing tables not counted."""
        seconds: float = self.json["seconds_apart"]
        return seconds

    @property
    def rounds(self) -> int:
        """Message flights in sequence."""
        rounds: int = self.json["rounds"]
        return rounds

    @property
    def bytes(self) -> int:
        """Bytes that all parties send together, TLS aside."""
        return sum(share["bytes_sent"] for share in self.json["parties"].values())

    @property
    def warnings(self) -> list[str]:
        """What to think about before the job is run."""
        warnings: list[str] = self.json.get("warnings", [])
        return warnings

    def learned(self, party: str) -> list[str]:
        """Says what a party will learn.

        Parameters
        ----------
        party : str
            The party.

        Returns
        -------
        list of str
            Sentences.
        """
        learned: list[str] = self.json["parties"][party]["learned"]
        return learned

    def __repr__(self) -> str:
        cost = f"{self.rounds} flights, {bytes_text(self.bytes)}, {seconds_text(self.seconds)}"
        lines = [f"{self.json['choice']}: {self.why}", cost]
        for name, share in self.json["parties"].items():
            lines += [f"{name} sends {bytes_text(share['bytes_sent'])}", *(f"  - {one}" for one in share["learned"])]
        return "\n".join(lines + [f"Warning: {warning}" for warning in self.warnings])

    def _repr_html_(self) -> str:
        rows = [
            (
                name,
                share["items"],
                bytes_text(share["bytes_sent"]),
                seconds_text(share["cpu_seconds"]),
                bytes_text(share["memory"]),
                "<br>".join(share["learned"]),
            )
            for name, share in self.json["parties"].items()
        ]
        cost = f"{self.rounds} message flights, {bytes_text(self.bytes)}, {seconds_text(self.seconds)}"
        heads = ("party", "items", "sends", "CPU", "memory", "will learn")
        facts = table(("", ""), [("why", self.why), ("cost", cost), *(("warning", one) for one in self.warnings)])
        return page(self.json["choice"], facts, table(heads, rows, raw=5))


def plan(
    job: Job,
    rows: Optional[Mapping[str, float]] = None,
    *,
    tables: Optional[Mapping[str, Data]] = None,
    row_bytes: Optional[Mapping[str, float]] = None,
    latency: float = 0.0,
    bandwidth: Optional[float] = None,
) -> Plan:
    """Says what a job will cost, and who will learn what. It measures this machine for a moment, and sends nothing.

    Parameters
    ----------
    job : Job
        The job.
    rows : mapping of str to number, optional
        Distinct keys or rows of each party whose table is not in `tables`.
    tables : mapping of str to table, optional
        Tables of parties, to be counted exactly.
    row_bytes : mapping of str to number, optional
        Greatest length of the columns that a party gives.
    latency : float
        One way, in seconds.
    bandwidth : float, optional
        Bits a second.

    Returns
    -------
    Plan
        Protocol, bytes, seconds, warnings, and ``learned(party)``.

    Raises
    ------
    InputError
        A number is missing, or no protocol answers the job.

    Examples
    --------
    >>> import tacita
    >>> job = tacita.Job(job="intersect", id="demo", reveal_to=["a"], key={"columns": ["id"]}, parties=["a", "b"])
    >>> plan = tacita.plan(job, rows={"a": 1_000_000, "b": 500_000}, latency=0.02, bandwidth=100e6)
    >>> plan.protocol, plan.learned("a")[0]
    ('vole', 'a learns which of its own rows have a key that b has too.')
    """
    for what, given, example in (("rows", rows, "{'a': 1000}"), ("row_bytes", row_bytes, "{'a': 40}"), ("tables", tables, "{'a': table}")):
        if given is not None:
            check_mapping(what, given, example)
    with named():
        made = _tacita.plan(
            _spec_of(job),
            rows={name: whole(f"rows of {name}", number) for name, number in (rows or {}).items()},
            row_bytes={name: whole(f"row_bytes of {name}", number) for name, number in (row_bytes or {}).items()},
            tables=dict(tables or {}),
            latency=seconds_of("latency", latency),
            bandwidth=bits_a_second(bandwidth),
        )
    return Plan(json.loads(made))
