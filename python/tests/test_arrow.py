"""Tables of every library that speaks Arrow come in and go out, without a copy of what they hold."""

from __future__ import annotations

import datetime
import pathlib
import struct

import duckdb
import pandas
import polars
import pyarrow
import pytest

import tacita

JOB = tacita.Job(job="intersect", id="x", reveal_to=["a"], key={"columns": ["id"]}, parties=["a", "b"])
COLUMNS = {
    "id": ["k1", "k2", "k3", None],
    "day": [datetime.date(2026, 1, day) for day in (1, 2, 3, 4)],
    "n": [1, 2, 3, 4],
}
OTHER = pyarrow.table({"id": ["k3", "k2", "k9"]})


class OneBatch:
    """What hands out an array, as pyarrow's record batch and nanoarrow do, and no stream."""

    def __init__(self, batch: pyarrow.RecordBatch) -> None:
        self.batch = batch

    def __arrow_c_array__(self, requested_schema: object | None = None) -> object:
        return self.batch.__arrow_c_array__(requested_schema)


TABLE = pyarrow.table(COLUMNS)
KINDS = {
    "pyarrow": TABLE,
    "pyarrow batch": TABLE.to_batches()[0],
    "array": OneBatch(TABLE.to_batches()[0]),
    "reader": None,
    "pandas": pandas.DataFrame(COLUMNS),
    "pandas arrow": TABLE.to_pandas(types_mapper=pandas.ArrowDtype),
    "polars": polars.DataFrame(COLUMNS),
    "categories": pandas.DataFrame(COLUMNS).astype({"id": "category"}),
    "duckdb": duckdb.from_arrow(TABLE),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_comes_in(kind: str) -> None:
    table = KINDS[kind] if kind != "reader" else TABLE.to_reader()
    result = tacita.simulate(JOB, {"a": table, "b": OTHER})["a"]
    assert result.report["rows"] == {"read": 4, "nulls": 1, "unreadable": 0, "duplicates": 0, "items": 3}
    assert result.table.column_names == list(COLUMNS)
    assert [str(one) for one in result.table["id"].to_pylist()] == ["k2", "k3"]
    assert result.table["n"].to_pylist() == [2, 3]
    assert result.table["day"].cast(pyarrow.date32()).to_pylist() == COLUMNS["day"][1:3]


def test_a_result_goes_out() -> None:
    result = tacita.simulate(JOB, {"a": TABLE, "b": OTHER})["a"]
    expected = [
        {"id": "k2", "day": datetime.date(2026, 1, 2), "n": 2},
        {"id": "k3", "day": datetime.date(2026, 1, 3), "n": 3},
    ]
    assert pyarrow.table(result).to_pylist() == expected
    assert polars.DataFrame(result).to_dicts() == expected == result.to_polars().to_dicts()
    assert result.to_pandas().to_dict("records") == expected
    assert duckdb.sql("select n from result").fetchall() == [(2,), (3,)]
    assert result.table.schema == TABLE.schema


def test_an_index_of_pandas_comes_back() -> None:
    frame = pandas.DataFrame({"id": ["k1", "k2", "k3"]}, index=pandas.Index([10, 20, 30], name="row"))
    assert tacita.simulate(JOB, {"a": frame, "b": OTHER})["a"].to_pandas().index.tolist() == [20, 30]
    plain = pandas.DataFrame({"id": ["k1", "k2", "k3"]})
    assert tacita.simulate(JOB, {"a": plain, "b": OTHER})["a"].to_pandas().index.tolist() == [1, 2]


def test_tables_of_several_batches_and_of_none() -> None:
    batches = pyarrow.Table.from_batches([*TABLE.to_batches(), *TABLE.slice(0, 2).to_batches()])
    assert tacita.simulate(JOB, {"a": batches, "b": OTHER})["a"].value == {"rows": 3}
    assert tacita.simulate(JOB, {"a": TABLE.slice(0, 0), "b": OTHER})["a"].table.num_rows == 0


def test_nothing_of_a_table_is_copied_on_its_way_out_and_in() -> None:
    """The buffers that a result hands out are those that pyarrow then holds, each time."""
    result = tacita.simulate(JOB, {"a": TABLE, "b": OTHER})["a"]
    addresses = [
        {
            buffer.address
            for column in pyarrow.table(result).columns
            for chunk in column.chunks
            for buffer in chunk.buffers()
            if buffer
        }
        for _ in "12"
    ]
    assert addresses[0] == addresses[1]


@pytest.mark.parametrize("data", [3, None, {"id": [1]}, [], [1], object()])
def test_what_is_no_table_is_refused(data: object) -> None:
    with pytest.raises(tacita.InputError, match="a: a .* is no table|a, 1: a .* is no table|is no table"):
        tacita.simulate(JOB, {"a": data, "b": OTHER})  # type: ignore[dict-item]


def test_a_type_that_cannot_be_a_key_is_refused() -> None:
    with pytest.raises(tacita.InputError, match='column "id" is of type'):
        tacita.simulate(JOB, {"a": pyarrow.table({"id": [[1], [2]]}), "b": OTHER})


def test_a_stream_that_fails_is_an_error_and_no_crash() -> None:
    def broken():
        yield TABLE.to_batches()[0]
        raise ValueError("the disk is gone")

    reader = pyarrow.RecordBatchReader.from_batches(TABLE.schema, broken())
    with pytest.raises(tacita.InputError, match="the disk is gone"):
        tacita.simulate(JOB, {"a": reader, "b": OTHER})


class Hands:
    """What hands out whatever it was given."""

    def __init__(self, name: str, what: object) -> None:
        setattr(self, name, lambda requested_schema=None: what() if callable(what) else what)


def text(offsets: list[int], data: bytes) -> pyarrow.Array:
    """A column of text as its buffers say, which nobody has looked at."""
    buffers = [None, pyarrow.py_buffer(struct.pack(f"{len(offsets)}i", *offsets)), pyarrow.py_buffer(data)]
    return pyarrow.Array.from_buffers(pyarrow.string(), len(offsets) - 1, buffers)


def raises() -> object:
    raise ArithmeticError("cell 'Ann'", "in column id")


MALFORMED: dict[str, tuple[object, str]] = {
    "no UTF-8": (pyarrow.table({"id": text([0, 2, 4], b"ab\xff\xfe")}), "UTF"),
    "text that ends before it begins": (pyarrow.table({"id": text([0, 4, 1], b"abcd")}), "offset"),
    "text that ends within a letter": (pyarrow.table({"id": text([0, 3, 4], b"ab\xc3\xa4")}), "cannot be read"),
    "no entry of the dictionary": (
        pyarrow.table({"id": pyarrow.DictionaryArray.from_arrays(pyarrow.array([0, 7]), ["k1"], safe=False)}),
        "cannot be read",
    ),
    "in a column that is no key": (pyarrow.table({"id": ["k1"], "note": text([0, 1], b"\xff")}), "UTF"),
    "a column": (pyarrow.array([1, 2]), "a single column"),
    "a column of several chunks": (pyarrow.chunked_array([[1], [2]]), "a single column"),
    "rows that are null": (pyarrow.array([{"id": "k1"}, None]), "whole rows of it are null"),
    "rows that are null in a stream": (pyarrow.chunked_array([[{"id": "k1"}, None]]), "whole rows of it are null"),
    "a stream for the second time": (Hands("__arrow_c_stream__", TABLE.__arrow_c_stream__()), "released"),
    "an array for the second time": (Hands("__arrow_c_array__", TABLE.to_batches()[0].__arrow_c_array__()), "before"),
    "no capsule": (Hands("__arrow_c_stream__", 17), "a: cannot be handed out"),
    "a capsule of something else": (Hands("__arrow_c_stream__", TABLE.schema.__arrow_c_schema__()), "a: cannot be"),
    "an exception": (Hands("__arrow_c_stream__", raises), "a: cannot be handed out as an Arrow table: in column id$"),
    "two columns of a name": (pandas.DataFrame([[1, 2]], columns=["id", "id"]), "a: cannot be handed out.*Duplicate"),
    "values of several types": (pandas.DataFrame({"id": [1, "Ann"]}), "a: cannot be handed out.*column id"),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_what_is_not_as_arrow_says_is_an_error_in_the_table(case: str) -> None:
    data, why = MALFORMED[case]
    if "second time" in case:
        tacita.simulate(JOB, {"a": data, "b": OTHER})
    with pytest.raises(tacita.InputError, match=why) as raised:
        tacita.simulate(JOB, {"a": data, "b": OTHER})  # type: ignore[dict-item]
    assert "\n" not in str(raised.value) and "Ann" not in str(raised.value)


def test_the_cause_of_a_refusal_stands_behind_it() -> None:
    with pytest.raises(tacita.InputError) as raised:
        tacita.simulate(JOB, {"a": Hands("__arrow_c_stream__", raises), "b": OTHER})  # type: ignore[dict-item]
    assert isinstance(raised.value.__cause__, ArithmeticError)
    # What is missing on this machine is no fault of the table.
    with pytest.raises(ImportError):
        tacita.simulate(JOB, {"a": Hands("__arrow_c_stream__", lambda: __import__("nowhere")), "b": OTHER})  # type: ignore[dict-item]


def test_a_part_of_an_array_is_that_part() -> None:
    rows = pyarrow.array([{"id": "k1"}, {"id": "k2"}, {"id": None}, {"id": "k3"}])[1:]
    assert tacita.simulate(JOB, {"a": rows, "b": OTHER})["a"].table["id"].to_pylist() == ["k2", "k3"]


def test_files_and_tables_may_be_mixed(tmp_path: pathlib.Path) -> None:
    (tmp_path / "b.csv").write_text("id\nk1\nk3\n")
    assert tacita.simulate(JOB, {"a": TABLE, "b": tmp_path / "b.csv"})["a"].value == {"rows": 2}
