"""A count on many machines: what all buckets have left is put together before anybody learns anything of it."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from .. import _tacita
from . import _tasks

if TYPE_CHECKING:
    from ._driver import Own
    from ._run import _Run


def count(run: _Run, drivers: _tacita.Drivers, own: Own) -> _tacita.Outcome:
    """The common keys of all buckets together, when the sender has kept its part of each.

    The sender's driver sends the elements of all buckets in one random order and its tags sorted, so that neither shows which bucket it is of. The receiver's
    machines count. Whoever has lost the connection meanwhile sends or counts the same again, and nothing else.
    """
    sends = run.keeps == "pool"
    counted = drivers.has_counted(run.work)
    if not all(drivers.sizes.values()):
        counted = True
        if not sends:
            run.work.count(0)
    if not counted:
        if sends:
            drivers.send_pool(run.work, run.parts())
        else:
            run.work.count(_counted(run, drivers, own))
    # The sender waits for as long as the machines of the receiver count.
    own.ready()
    if sends:
        return drivers.hear_count(run.spec, "{}")
    number = run.work.counted
    assert number is not None
    return drivers.tell_count(run.spec, number, "{}")


def _counted(run: _Run, drivers: _tacita.Drivers, own: Own) -> int:
    """What the receiver's machines count."""
    place = run.part / "pool"
    place.mkdir(mode=0o700, exist_ok=True)
    parts = drivers.receive_pool(place)
    order = run.order(drivers, 0, 0, {})
    run.all("opening", [run.pool.start(_tasks.open_pool, order, str(place), part, again=True) for part in range(parts)], own)
    tasks = [run.pool.start(_tasks.match_pool, order, str(place), part, again=True) for part in range(parts)]
    run.all("counting", tasks, own)
    total: int = sum(run.pool.value(task.refs[0]) for task in tasks)
    shutil.rmtree(place, ignore_errors=True)
    return total
