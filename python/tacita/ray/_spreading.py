"""How the rows of all parts of a table come to their buckets."""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import _tacita
from . import _tasks

if TYPE_CHECKING:
    from ._driver import Own
    from ._run import _Run

Shelf = Sequence[Any]
"""References to what each part of a table has of one bucket."""

FEW_PIECES = 20_000
"""So many objects a driver on Ray hands from tasks to tasks within a second."""

GROUP_ROWS = 16_000_000
"""Of buckets that are gathered by one task, unless its parts of the table are larger: half a gigabyte or more."""


class Block(NamedTuple):
    """A part of a table that was read."""

    rows: int
    ref: Any
    committed: _tasks.Committed


def scatter(run: _Run, drivers: _tacita.Drivers, own: Own, blocks: Sequence[Block]) -> Sequence[Shelf]:
    """The rows of every bucket, where rows go by their key.

    Each block of the table leaves a piece for each bucket. Where these would be more than a driver keeps track of, it leaves one for each group of buckets,
    and what belongs to a group is gathered, to be cut into its buckets.
    """
    buckets, pool = drivers.buckets, run.pool
    groups = groups_of(buckets, sum(block.rows for block in blocks), len(blocks))
    told = (drivers.item_key, buckets, groups)
    tasks = [pool.start(_tasks.scatter, block.ref, block.committed, *told, returns=1 + len(groups), again=True) for block in blocks]
    run.all("spreading", tasks, own)
    pieces = [[task.refs[1 + group] for task in tasks] for group in range(len(groups))]
    if len(groups) == buckets:
        return pieces
    tasks = [pool.start(_tasks.gather, *some, returns=1 + len(group), again=True) for group, some in zip(groups, pieces)]
    run.all("gathering", tasks, own)
    return [[ref] for task in tasks for ref in task.refs[1:]]


def groups_of(buckets: int, rows: int, blocks: int) -> list[range]:
    """Which buckets are gathered together: each alone, where there are few pieces."""
    if blocks * buckets <= FEW_PIECES:
        return [range(bucket, bucket + 1) for bucket in range(buckets)]
    number = min(buckets, math.ceil(rows / max(GROUP_ROWS, rows / blocks)))
    starts = [group * buckets // number for group in range(number + 1)]
    return [range(*pair) for pair in zip(starts, starts[1:])]


def cut(run: _Run, drivers: _tacita.Drivers, own: Own, blocks: Sequence[Block]) -> Sequence[Shelf]:
    """The rows of every bucket, where rows go by their position: of each block, pieces for the buckets that it touches."""
    buckets, rows = drivers.buckets, sum(block.rows for block in blocks)
    ranges = [_tacita.bucket_range(bucket, buckets, rows) for bucket in range(buckets)]
    starts, ends = zip(*ranges)
    shelves: list[list[Any]] = [[] for _ in range(buckets)]
    first, tasks = 0, []
    for block in blocks:
        # A bucket without rows, too, is of some block, whose columns it has.
        touched = range(bisect.bisect_left(ends, first), bisect.bisect_right(starts, first + block.rows))
        pieces = [(max(start - first, 0), min(end - first, block.rows)) for start, end in ranges[touched.start : touched.stop]]
        task = run.pool.start(_tasks.cut, block.ref, block.committed, pieces, returns=1 + len(touched), again=True)
        for bucket, ref in zip(touched, task.refs[1:]):
            shelves[bucket].append(ref)
        tasks.append(task)
        first += block.rows
    run.all("spreading", tasks, own)
    return shelves
