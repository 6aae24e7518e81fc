"""The report of a run on many machines."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any, Optional

from .. import _tacita
from ._place import number_of, rows_of
from ._result import learned

if TYPE_CHECKING:
    from ._run import _Run

__all__ = ["report_of"]


def value_of(run: _Run) -> Optional[dict[str, Any]]:
    """What is told as numbers."""
    if run.summed is not None:
        value: Optional[dict[str, Any]] = json.loads(run.summed.report)["result"]
        return value
    if run.keeps == "rows":
        told = {bucket: report["report"]["result"]["rows"] for (_, bucket), report in run.reports.items()}
        before = [part for part in run.parts() if number_of(part.name) not in told]
        return {"rows": sum(told.values()) + sum(map(rows_of, before))}
    return None


def report_of(run: _Run, drivers: _tacita.Drivers) -> dict[str, Any]:
    """The report of a run that has ended."""
    of_buckets = [report["report"] for report in run.reports.values()]
    spec = run.spec
    run.seconds["total"] = round(time.monotonic() - run.started, 3)
    return {
        "job": spec.kind,
        "id": spec.id,
        "protocol": drivers.protocol,
        "security": spec.security,
        "level": spec.level,
        "agreement": spec.agreement,
        "version": _tacita.__version__,
        "party": run.party,
        "peers": [name for name in spec.parties if name != run.party],
        "rows": run.counts,
        "result": value_of(run),
        "learned": learned(spec, run.party, drivers, bool(run.told), run.work.repeated, run.work.opened),
        "bytes": {
            way: of_drivers + sum(report["bytes"][way] for report in of_buckets)
            for way, of_drivers in zip(("sent", "received"), run.drivers_bytes)
        },
        "warnings": list(dict.fromkeys([*run.warnings, *(warning for report in of_buckets for warning in report.get("warnings", []))])),
        "seconds": run.seconds,
        "cpu_seconds": round(sum(report["cpu_seconds"] for report in run.reports.values()), 3),
        "buckets": {
            "number": drivers.buckets,
            "done": len({bucket for _, bucket in run.reports}),
            "begun": sum(run.begun.values()),
            "answered_again": run.work.repeated,
            "filled_up_to": drivers.bounds,
            "seconds": round(sum(report["seconds"] for report in run.reports.values()), 3),
        },
        "slots": run.pool.slots,
    }
