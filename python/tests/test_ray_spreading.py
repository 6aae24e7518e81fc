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
from tacita.ray._table import pieces_of, together


def test_groups_are_of_all_buckets() -> None:
    for buckets, rows, blocks in [(1, 0, 1), (40, 10**7, 8), (2000, 10**9, 256), (25_000, 10**11, 2048), (4096, 10**6, 500), (65_536, 10**9, 3)]:
        groups = _spreading.groups_of(buckets, rows, blocks)
        assert [bucket for group in groups for bucket in group] == list(range(buckets)) and all(map(len, groups))
        # A driver keeps track of them all, and none is more than a machine holds.
        pieces = blocks * len(groups)
        assert pieces <= max(_spreading.FEW_PIECES, blocks * (1 + rows // _spreading.GROUP_ROWS), 1.01 * blocks**2)


def read(text: _tasks.Text, table: pyarrow.Table) -> tuple[pyarrow.Table, _tasks.Committed]:
    """A block, and what stands for it."""
    facts, block = _tasks.read(text, "a", table, False)
    return block, _tasks.Committed(facts["digest"], facts["schema"])


@pytest.mark.parametrize("by", ["key", "position"])
def test_rows_that_are_read_again_and_have_changed_are_refused(by: str) -> None:
    """A machine that is lost takes along what it has read; another one reads the file as it is then."""
    more = {"job": "intersect", "key": {"columns": ["name"]}} if by == "key" else {"job": "dot", "column": "n", "bits": 8}
    job = tacita.Job(id="g", reveal_to=["a"], parties={"a": {}, "b": {}}, **more)
    text = _tasks.Text(*job._spec.text)
    (_, committed), (block, _) = (read(text, pyarrow.table({"name": ["x", "y"], "n": [1, last]})) for last in (2, 3))
    with pytest.raises(tacita.InputError, match="the input has changed since it was read"):
        if by == "key":
            _tasks.scatter(block, committed, bytes(32), 2, [range(0, 2)])
        else:
            _tasks.cut(block, committed, [(0, 1), (1, 2)])


def test_columns_of_parts_are_those_that_hold_all() -> None:
    def schema(**types: pyarrow.DataType) -> pyarrow.Schema:
        return pyarrow.schema(list(types.items()))

    one = schema(a=pyarrow.null(), b=pyarrow.string(), c=pyarrow.int32())
    whole = together(["x", "y", "z"], [one, schema(a=pyarrow.date32(), b=pyarrow.large_string(), c=pyarrow.int64()), one])
    assert whole == schema(a=pyarrow.date32(), b=pyarrow.large_string(), c=pyarrow.int64())
    wrong = [
        (schema(a=pyarrow.null(), b=pyarrow.string(), c=pyarrow.float64()), r"x and y .* c \(int32\) and c \(double\)"),
        (schema(a=pyarrow.null(), b=pyarrow.string()), "c and nothing at the same place"),
        (pyarrow.schema([("a", pyarrow.null()), ("z", pyarrow.string()), ("c", pyarrow.int32())]), "b and z at the same place"),
    ]
    for other, message in wrong:
        with pytest.raises(tacita.InputError, match=message):
            together(["x", "y"], [one, other])


def test_files_are_in_the_order_of_their_numbers(tmp_path: pathlib.Path) -> None:
    for name in ("part-10.csv", "part-2.csv", "a.txt", "b.tsv.gz", "c.ipc", "_SUCCESS", ".part-3.csv.crc", "part-2.csv.crc"):
        (tmp_path / name).write_text("a\n1\n")
    assert [pathlib.Path(piece).name for piece in pieces_of(tmp_path)] == ["a.txt", "b.tsv.gz", "c.ipc", "part-2.csv", "part-10.csv"]
    (tmp_path / "notes.md").write_text("")
    with pytest.raises(tacita.InputError, match="notes.md does not have the ending of a table"):
        pieces_of(tmp_path)


def test_blocks_of_a_dataset_are_in_its_order() -> None:
    """And not in that in which they are ready; what its owner has set stays."""

    class Dataset:
        context = SimpleNamespace(execution_options=SimpleNamespace(preserve_order=False))

        def to_arrow_refs(self) -> list[int]:
            return [1, 2] if self.context.execution_options.preserve_order else [2, 1]

    dataset: Any = Dataset()
    assert pieces_of(dataset) == [1, 2] and dataset.context.execution_options.preserve_order is False


def test_a_part_with_nulls_alone_goes_with_the_others(parties, tmp_path: pathlib.Path) -> None:
    keys = [f"Person {number}" for number in range(30)]
    tables = {
        "hospital": [pyarrow.table({"name": keys[:10], "ward": pyarrow.nulls(10)}), pyarrow.table({"name": keys[10:], "ward": ["A"] * 20})],
        "insurer": [pyarrow.RecordBatchReader.from_batches(pyarrow.schema([("name", pyarrow.string())]), pyarrow.table({"name": keys}).to_batches())],
    }
    rows = run_all(job_of(parties), tmp_path, tables, buckets=3)["hospital"].dataset().to_table()
    assert rows.schema.field("ward").type == pyarrow.string() and rows["ward"].null_count == 10 and len(rows) == 30


def test_what_is_gathered_is_what_each_block_has() -> None:
    key = bytes(range(32))
    job = tacita.Job(job="intersect", id="g", reveal_to=["a"], key={"columns": ["name"]}, parties={"a": {}, "b": {}})
    text = _tasks.Text(*job._spec.text)
    blocks = []
    for first in (0, 500, 700):
        table = pyarrow.table({"name": [f"Person {number}" for number in range(first, first + 200)], "n": range(first, first + 200)})
        blocks.append(read(text, table.replace_schema_metadata({"kept": "this"})))
    alone = [_tasks.scatter(*block, key, 7, [range(bucket, bucket + 1) for bucket in range(7)])[1:] for block in blocks]
    groups = [range(0, 3), range(3, 4), range(4, 7)]
    together = [_tasks.scatter(*block, key, 7, groups)[1:] for block in blocks]
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

    run: Any = SimpleNamespace(pool=SimpleNamespace(start=start), all=lambda *_: None)
    drivers: Any = SimpleNamespace(buckets=buckets)
    rows = sum(blocks)
    table = pyarrow.table({"n": pyarrow.array(range(rows), pyarrow.int64())})
    committed = _tasks.Committed(b"digest", table.schema)
    table, parts = table.replace_schema_metadata({_tasks.DIGEST: b"digest"}), []
    for own in blocks:
        parts.append(_spreading.Block(own, table.slice(sum(part.rows for part in parts), own), committed))
    shelves = _spreading.cut(run, drivers, run, parts)
    whole = [pyarrow.concat_tables(pieces) for pieces in shelves]
    assert pyarrow.concat_tables(whole)["n"].to_pylist() == list(range(rows))
    assert max(map(len, whole)) - min(map(len, whole)) <= 1
    # Few pieces beside those that have rows.
    assert handed <= 4 * len(blocks) + 2 * buckets or rows < buckets
