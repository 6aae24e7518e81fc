"""What comes of a run on many machines."""

from __future__ import annotations

import json
import pathlib
from typing import TYPE_CHECKING, Any, Optional

from .. import _tacita
from .._html import bytes_text, page, seconds_text, table

if TYPE_CHECKING:
    import pyarrow.dataset

__all__ = ["ClusterResult"]


class ClusterResult:
    """What a party has learned in a run on many machines, and the report of it.

    >>> result = tacita.ray.run(job, "hospital", "patients/", "id/hospital", "common/")  # doctest: +SKIP
    >>> result.value  # doctest: +SKIP
    {'rows': 1250}
    """

    def __init__(self, party: str, output: Optional[pathlib.Path], report: dict[str, Any]) -> None:
        self.party = party
        """Whose it is."""
        self.output = output
        """The directory of its rows, a file of Parquet for each bucket; nothing where it learns none. Files of the same name have the same keys, in the
        same order, at all parties that learn rows."""
        self.report = report
        """The report, with the keys that ``--report`` writes, and ``buckets``: how many there were, and how often one was begun."""

    @property
    def value(self) -> Optional[dict[str, Any]]:
        """What was learned as numbers, as ``{"rows": 756}``; nothing where nothing was."""
        value: Optional[dict[str, Any]] = self.report["result"]
        return value

    @property
    def learned(self) -> list[str]:
        """What this party has learned, in sentences."""
        learned: list[str] = self.report["learned"]
        return learned

    def dataset(self) -> pyarrow.dataset.Dataset:
        """The rows, as a dataset of pyarrow. On Ray, ``ray.data.read_parquet(result.output)`` reads them."""
        import pyarrow.dataset

        if self.output is None:
            from ..errors import _input

            raise _input(f"{self.party} learns no rows in this job")
        return pyarrow.dataset.dataset(self.output, format="parquet")

    def __repr__(self) -> str:
        value = ", ".join(f"{name} {number}" for name, number in (self.value or {}).items())
        return f"ClusterResult({self.party}: {value or 'learns nothing'})"

    def _repr_html_(self) -> str:
        report = self.report
        facts = [
            ("protocol", report["protocol"]),
            ("buckets", str(report["buckets"]["number"])),
            ("sent, received", f"{bytes_text(report['bytes']['sent'])}, {bytes_text(report['bytes']['received'])}"),
            ("time", seconds_text(report["seconds"]["total"])),
            ("learned", "<br>".join(self.learned)),
        ]
        return page(repr(self), table(("", ""), facts, raw=1))


def learned(spec: _tacita.Spec, party: str, drivers: _tacita.Drivers, told: bool, repeated: int, opened: int) -> list[str]:
    """What a party learns, with what the buckets tell."""
    sentences = spec.learned(party)
    others = [name for name in spec.parties if name != party]
    sizes = " and ".join(f"{name} has {drivers.sizes[name]:,}" for name in others)
    bounds = ", ".join(f"{bound:,} of {name}" for name, bound in drivers.bounds.items())
    filled = f", each filled up to {bounds}" if bounds else ""
    sentences += [
        f"{party} learns of the buckets that there are {drivers.buckets:,}{filled}.",
        f"{party} learns when each bucket was begun, how long it took and how often it was begun again.",
        f"{party} learns from which addresses machines of the others do the buckets.",
        f"{party} can learn something of the size of another party's cluster from how many buckets that party asks for. The first party also sees how "
        "many each does at a time.",
    ]
    terms = json.loads(spec.terms)
    limits = terms.get("limits") or {}
    if drivers.bounds and "pad_to" not in limits:
        sentences.append(f"{party} learns of each of the others how many of its rows have a key, equal ones counted too, in place of how many keys it has: {sizes}.")
    if told:
        sentences.append(_answered(party, " and ".join(others), repeated))
    if opened > 1:
        sentences.append(_opened(spec, " and ".join(others), opened))
    # Among three, all who are connected with a party are told what it gives.
    told = party in spec.reveal_to or len(spec.parties) > 2
    if spec.reveal == "payload" and told and "max_text" not in limits and set(terms.get("gives") or {}) - {party}:
        sentences.append(f"{party} is told the length of the longest row that is given in each bucket.")
    return sentences


def _opened(spec: _tacita.Spec, others: str, opened: int) -> str:
    """What was opened of all buckets together more often than once."""
    if spec.kind == "rules":
        return (
            f"Itemsets were counted {opened} times from the first level on, because a driver or a connection was lost: of the same rows, but which items {others} "
            "had in them is not seen. Of a party that does not keep to the protocol, each time may have been another question."
        )
    return f"What all buckets say together was opened {opened} times, because a connection was lost; each time of the same buckets."


def _answered(party: str, others: str, repeated: int) -> str:
    """How many questions about its rows a party has answered."""
    if not repeated:
        return f"{party} has answered each bucket once: {others} had one question."
    many = "1 bucket was" if repeated == 1 else f"{repeated:,} buckets were"
    return (
        f"{party} has answered more than one question: {many} done again after {party} had answered, because a machine or a connection was lost. Of a party "
        "that does not keep to the protocol, each of these may have been about other keys."
    )
