"""Association rules on many machines: these count, and the drivers say what is counted next."""

from __future__ import annotations

import pathlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow
import pyarrow.compute
import pyarrow.parquet

from .. import _tacita
from . import _tasks
from ._pools import Task

if TYPE_CHECKING:
    from ._driver import Own
    from ._run import _Run


def mine(run: _Run, drivers: _tacita.Drivers, own: Own) -> _tacita.Outcome:
    """Level by level, when the items of every bucket are kept: each machine counts the own itemsets of its bucket, and leaves shares of the counts of those
    with items of both parties."""
    buckets = with_rows(drivers)
    tasks = [run.pool.start(_tasks.items, run.order(drivers, bucket, 0, {}), returns=2, again=True) for bucket in buckets]
    run.all("counting items", tasks, own)
    facts = [run.pool.value(task.refs[0]) for task in tasks]
    rows = [fact["rows"] for fact in facts]
    items = _added_up([run.pool.value(task.refs[1]) for task in tasks])
    own.ready()
    names = drivers.begin_levels(
        sum(rows), [fact["run"] for fact in facts if fact["run"]], items["item"].to_pylist(), items["count"].to_pylist(), run.work
    )
    of_interest = run.part / "items"
    table = pyarrow.table({"item": pyarrow.array(names, pyarrow.string())})
    _tasks.write_whole(of_interest, lambda path: pyarrow.parquet.write_table(table, path))
    number = 0
    while (wanted := drivers.next_level()) is not None:
        number += 1
        alone, mixed, sets = wanted
        place = run.part / f"level-{number}"
        _tasks.write_whole(place, lambda path, sets=sets: path.write_bytes(sets))  # type: ignore[misc]
        levels = [_tasks.Level(number, of_bucket, sum(rows), str(place), str(of_interest)) for of_bucket in rows]
        counts = _own_counts(run, drivers, own, levels, alone)
        own.ready()
        drivers.take_own(counts)
        if mixed:
            files = _shares(run, drivers, levels, number)
            drivers.take_mixed(files)
            for file in files:
                file.unlink()
        place.unlink()
    return drivers.finish_levels(run.spec, "{}")


def with_rows(drivers: _tacita.Drivers) -> Sequence[int]:
    """The buckets that there is anything in: none where a party has no rows."""
    return range(drivers.buckets) if all(drivers.sizes.values()) else ()


NO_ITEMS = pyarrow.table({"item": pyarrow.array([], pyarrow.string()), "count": pyarrow.array([], pyarrow.uint64())})


def _added_up(tables: list[pyarrow.Table]) -> pyarrow.Table:
    """In how many rows of all buckets each item is."""
    added = pyarrow.concat_tables([NO_ITEMS, *tables]).group_by("item").aggregate([("count", "sum")])
    return added.rename_columns({"item": "item", "count_sum": "count"})


def _own_counts(run: _Run, drivers: _tacita.Drivers, own: Own, levels: list[_tasks.Level], number: int) -> list[int]:
    """In how many rows of all buckets each of the own itemsets is, of which there are so many."""
    if number == 0:
        return []
    tasks = [
        run.pool.start(_tasks.counts, run.order(drivers, bucket, 0, {}, level), again=True) for bucket, level in enumerate(levels)
    ]
    run.all("counting itemsets", tasks, own)
    total = pyarrow.array([0] * number, pyarrow.uint32())
    for task in tasks:
        total = pyarrow.compute.add_checked(total, run.pool.value(task.refs[0]))
    counts: list[int] = total.to_pylist()
    return counts


def _shares(run: _Run, drivers: _tacita.Drivers, levels: list[_tasks.Level], number: int) -> list[pathlib.Path]:
    """The files in which every bucket has left its shares of the counts of this level."""
    files = [run.part / _tasks.part_name(bucket, f"counts-{number}") for bucket in with_rows(drivers)]

    def begin(bucket: int, attempt: int, at: dict[str, str]) -> Task:
        return run.pool.start(_tasks.products, run.order(drivers, bucket, attempt, at, levels[bucket]), run.pool.post)

    def finished(bucket: int, report: dict[str, Any]) -> None:
        """The file is all that is kept."""

    run.round(drivers, f"multiplying, level {number}", with_rows(drivers), begin, finished, level=number)
    return files
