"""How rows of many machines come to their buckets."""

from __future__ import annotations

import pathlib
from types import SimpleNamespace
from typing import Any

import pyarrow
import pytest
from spreading import NAMES, job_of, parties, run_all, truth  # noqa: F401

import tacita
from tacita.ray import _spreading, _tasks


def test_groups_are_of_all_buckets() -> None:
    for buckets, rows, blocks in [(1, 0, 1), (40, 10**7, 8), (2000, 10**9, 256), (25_000, 10**11, 2048), (4096, 10**6, 500), (65_536, 10**9, 3)]:
        groups = _spreading.groups_of(buckets, rows, blocks)
        assert [bucket for group in groups for bucket in group] == list(range(buckets)) and all(map(len, groups))
        # A driver keeps track of them all, and none is more than a machine holds.
        pieces = blocks * len(groups)
        assert pieces <= max(_spreading.FEW_PIECES, blocks * (1 + rows // _spreading.GROUP_ROWS), 1.01 * blocks**2)


def test_what_is_gathered_is_what_each_block_has() -> None:
    key = bytes(range(32))
    job = tacita.Job(job="intersect", id="g", reveal_to=["a"], key={"columns": ["name"]}, parties={"a": {}, "b": {}})
    text = _tasks.Text(*job._spec.text)
    blocks = []
    for first in (0, 500, 700):
        table = pyarrow.table({"name": [f"Person {number}" for number in range(first, first + 200)], "n": range(first, first + 200)})
        blocks.append(_tasks.read(text, "a", table.replace_schema_metadata({"kept": "this"}), False)[1])
    alone = [_tasks.scatter(block, key, 7, [range(bucket, bucket + 1) for bucket in range(7)])[1:] for block in blocks]
    groups = [range(0, 3), range(3, 4), range(4, 7)]
    together = [_tasks.scatter(block, key, 7, groups)[1:] for block in blocks]
    gathered = [bucket for group in range(3) for bucket in _tasks.gather(*(pieces[group] for pieces in together))[1:]]
    assert len(gathered) == 7 and sum(map(len, gathered)) == 600
    for bucket, table in enumerate(gathered):
        assert table.equals(pyarrow.concat_tables([pieces[bucket] for pieces in alone])) and table.schema.metadata == {b"kept": b"this"}


def test_rows_that_are_gathered_are_those_of_a_join(parties, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_spreading, "FEW_PIECES", 3)
    monkeypatch.setattr(_spreading, "GROUP_ROWS", 400)
    results = run_all(job_of(parties), tmp_path, buckets=9)
    for name in NAMES[:2]:
        rows = results[name].dataset().to_table()["name"].to_pylist()
        assert set(rows) == truth(tmp_path, NAMES[:2]) and len(rows) == len(set(rows))


@pytest.mark.parametrize("blocks", [[0], [0, 0, 3], [10], [4, 6, 0], [1] * 10, [2, 0, 0, 0, 8]])
@pytest.mark.parametrize("buckets", [1, 3, 10, 25])
def test_rows_by_position_are_cut_where_buckets_begin(blocks: list[int], buckets: int) -> None:
    handed = 0

    def start(function: Any, *arguments: Any, returns: int, again: bool) -> SimpleNamespace:
        nonlocal handed
        handed += returns
        values = function(*arguments)
        assert len(values) == returns
        return SimpleNamespace(refs=values)

    run: Any = SimpleNamespace(pool=SimpleNamespace(start=start), all=lambda phase, tasks: None)
    drivers: Any = SimpleNamespace(buckets=buckets)
    rows = sum(blocks)
    table, tables = pyarrow.table({"n": pyarrow.array(range(rows), pyarrow.int64())}), []
    for own in blocks:
        tables.append(table.slice(sum(map(len, tables)), own))
    shelves = _spreading.cut(run, drivers, tables, blocks)
    whole = [pyarrow.concat_tables(pieces) for pieces in shelves]
    assert pyarrow.concat_tables(whole)["n"].to_pylist() == list(range(rows))
    assert max(map(len, whole)) - min(map(len, whole)) <= 1
    # Few pieces beside those that have rows.
    assert handed <= 4 * len(blocks) + 2 * buckets or rows < buckets
