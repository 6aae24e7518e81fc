"""A result and the table that it is of: own labels, own rows, digits."""

from __future__ import annotations

import pathlib

import numpy
import pandas
import polars
import pyarrow
import pyarrow.feather
import pyarrow.parquet
import pytest

import tacita

JOB = tacita.Job(job="intersect", id="x", reveal_to=["a"], key={"columns": ["id"]}, parties=["a", "b"])
GIVEN = tacita.Job(
    job="intersect", id="x", reveal="payload", reveal_to=["a"], gives={"b": ["n"]}, key={"columns": ["id"]}, parties=["a", "b"]
)
FRAME = pandas.DataFrame({"id": list("cabzyx"), "x": [3, 1, 2, 26, 25, 24]})
SOME = pandas.DataFrame({"id": list("xzca")})
INDEXES = {
    "a range": FRAME.index,
    "a range that begins elsewhere": pandas.RangeIndex(10, 16),
    "a range backwards": pandas.RangeIndex(9, -3, -2, name="label"),
    "texts": pandas.Index(list("uvwxyz")),
    "named": pandas.Index(list("uvwxyz"), name="label"),
    "texts that are the same": pandas.Index(list("uuuvvv")),
    "dates": pandas.date_range("2026-01-01", periods=6),
    "several": pandas.MultiIndex.from_product([["p", "q"], [1, 2, 3]], names=["one", None]),
}


def result_of(mine: object, job: tacita.Job = JOB, other: object = SOME) -> tacita.Result:
    return tacita.simulate(job, {"a": mine, "b": other})["a"]  # type: ignore[dict-item]


@pytest.mark.parametrize("kind", INDEXES)
@pytest.mark.parametrize("way", ["frame", "arrow", "reader", "parquet", "feather"])
def test_rows_have_the_labels_that_they_had(kind: str, way: str, tmp_path: pathlib.Path) -> None:
    whole = FRAME.set_axis(INDEXES[kind])
    for mine in (whole, whole[2:], whole[::-1], whole[whole["x"] > 2]):
        data: object = mine
        if way in ("parquet", "feather"):
            data = tmp_path / f"a.{way}"
            mine.to_parquet(data) if way == "parquet" else pyarrow.feather.write_feather(pyarrow.Table.from_pandas(mine), data)
        elif way != "frame":
            table = pyarrow.Table.from_pandas(mine)
            data = table if way == "arrow" else table.to_reader()
        found = result_of(data).to_pandas()
        expected = mine[mine["id"].isin(SOME["id"])].sort_values("id")
        pandas.testing.assert_frame_equal(found, expected, check_index_type=False, check_freq=False)


def test_what_is_assigned_goes_to_the_right_rows() -> None:
    mine = FRAME[1:]
    joined = mine.assign(found=result_of(mine).to_pandas()["x"])
    assert joined["found"].fillna(0).tolist() == [1, 0, 26, 0, 24]


def test_a_table_that_was_cut_has_no_labels_of_before() -> None:
    """pyarrow keeps what pandas said of the whole."""
    cut = pyarrow.Table.from_pandas(FRAME).slice(3)
    assert result_of(cut).to_pandas().index.tolist() == [0, 1]


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "csv"])
def test_masks_and_positions_are_of_the_own_rows(kind: str, tmp_path: pathlib.Path) -> None:
    mine = FRAME[["id", "x"]].assign(id=[*"cabzx", None])
    mine.to_csv(tmp_path / "a.csv", index=False)
    tables = {
        "pandas": mine.set_axis(list("uvwxyz")),
        "polars": polars.DataFrame(mine),
        "pyarrow": pyarrow.Table.from_pandas(mine, preserve_index=False),
        "csv": tmp_path / "a.csv",
    }
    result = result_of(tables[kind])
    assert result.mask.dtype == bool and result.mask.tolist() == [True, True, False, True, True, False]
    assert result.positions.tolist() == [1, 0, 4, 3]
    assert mine.iloc[result.positions]["x"].tolist() == list(map(int, result.table["x"].to_pylist())) == [1, 3, 25, 26]
    if kind == "polars":
        assert tables[kind].filter(result.mask)["x"].to_list() == [3, 1, 26, 25]
    elif kind == "pandas":
        assert tables[kind][result.mask]["x"].tolist() == [3, 1, 26, 25]
    elif kind == "pyarrow":
        assert tables[kind].filter(pyarrow.array(result.mask))["x"].to_pylist() == [3, 1, 26, 25]


OTHERS = pandas.DataFrame({"id": list("xzcc"), "n": pandas.array([2**53 + 1, None, 7, 8], dtype="Int64")})
JOINED = {"id": list("ccxz"), "note": ["n0", "n0", "n5", "n3"], "b.n": [7, 8, 2**53 + 1, None]}


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_a_frame_is_joined_that_has_more_columns_than_the_run_was_given(kind: str) -> None:
    frame = FRAME[["id"]].assign(note=[f"n{row}" for row in range(6)]).set_axis(range(20, 26))
    result = result_of(frame[["id"]], GIVEN, OTHERS)
    if kind == "pandas":
        joined = result.join(frame)
        assert joined.index.tolist() == [20, 20, 25, 23] and joined["b.n"].dtype == "Int64"
        rows = joined.astype({"b.n": object}).replace({pandas.NA: None}).to_dict("list")
    elif kind == "polars":
        rows = result.join(polars.DataFrame(frame)).to_dict(as_series=False)
    else:
        rows = result.join(pyarrow.Table.from_pandas(frame, preserve_index=False)).to_pydict()
    assert rows == JOINED


def test_a_join_of_something_else_is_refused() -> None:
    result = result_of(FRAME, GIVEN, OTHERS)
    wrong = {
        "it has 5 rows, and the table of the run had 6": FRAME[1:],
        "a dict is not a table": {"id": [1]},
        "a Series is not a table": FRAME["id"],
        "a column 'b.n', as the one that was given": FRAME.assign(**{"b.n": 1}),
    }
    for why, frame in wrong.items():
        with pytest.raises(tacita.InputError, match=f"^frame: .*{why}"):
            result.join(frame)


@pytest.mark.parametrize("job", ["union", "count"])
def test_what_is_not_made_of_own_rows_has_no_positions(job: str) -> None:
    keys = {"id": "x", "reveal_to": ["a"], "key": {"columns": ["id"]}, "parties": ["a", "b"]}
    of = tacita.Job(job="union", **keys) if job == "union" else tacita.Job(job="intersect", reveal="count", **keys)
    result = result_of(FRAME, of)
    assert result.to_pandas().index.tolist() == list(range(result.table.num_rows))
    for ask in (lambda: result.positions, lambda: result.mask, lambda: result.join(FRAME)):
        with pytest.raises(tacita.InputError, match="no positions"):
            ask()


def test_integers_keep_their_digits_where_some_are_missing() -> None:
    large = 2**53 + 1
    mine = polars.DataFrame({"id": list("xzc"), "own": [large, None, 1], "small": [1, 2, 3], "real": [0.5, None, 1.0]})
    result = result_of(mine, GIVEN, OTHERS)
    frame = result.to_pandas()
    assert frame.dtypes.astype(str).to_dict() == {"id": frame["id"].dtype.name, "own": "Int64", "small": "int64", "real": "float64", "b.n": "Int64"}
    assert frame["own"].tolist()[-2:] == [large, pandas.NA] and large in frame["b.n"].tolist()
    nullable, arrow = (result.to_pandas(dtype_backend=backend) for backend in ("numpy_nullable", "pyarrow"))
    assert nullable.dtypes.astype(str).to_dict() == {"id": "string", "own": "Int64", "small": "Int64", "real": "Float64", "b.n": "Int64"}
    assert {kind.pyarrow_dtype for kind in arrow.dtypes[1:]} == {pyarrow.int64(), pyarrow.float64()}
    assert large in arrow["own"].tolist() and large in nullable["own"].tolist()
    with pytest.raises(tacita.InputError, match="^dtype_backend = 'numpy'"):
        result.to_pandas(dtype_backend="numpy")  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["Int8", "UInt64", "Int32"])
def test_types_of_pandas_that_know_of_missing_values_come_back(kind: str) -> None:
    mine = FRAME.assign(x=pandas.array([1, None, 3, 4, 5, 6], dtype=kind))
    assert result_of(mine).to_pandas()["x"].dtype == kind


def test_an_index_without_a_name_is_no_column_elsewhere(tmp_path: pathlib.Path) -> None:
    result = result_of(FRAME.set_axis(INDEXES["several"]))
    assert result.to_polars().columns == ["id", "x", "one"]
    result.save(tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text().splitlines()[0] == "id,x,one"
    result.save(tmp_path / "a.parquet")
    assert pandas.read_parquet(tmp_path / "a.parquet").index.names == ["one", None]


def test_what_the_library_notes_of_labels_does_not_leave_it(tmp_path: pathlib.Path) -> None:
    result = result_of(FRAME[2:])
    result.save(tmp_path / "a.parquet")
    result.save(tmp_path / "a.arrow")
    read = pyarrow.ipc.open_file(tmp_path / "a.arrow").schema, pyarrow.parquet.read_schema(tmp_path / "a.parquet"), result.table.schema
    for schema in read:
        assert b"tacita" not in repr(schema.metadata).encode() and b'"index_columns":[]' in schema.metadata[b"pandas"]


def test_many_batches_have_their_positions() -> None:
    rows = 200_000
    rng = numpy.random.default_rng(5)
    mine = pandas.DataFrame({"id": rng.permutation(rows)})
    other = pandas.DataFrame({"id": rng.choice(rows, 5000, replace=False)})
    result = result_of(polars.concat([polars.DataFrame(mine[:77_777]), polars.DataFrame(mine[77_777:])], rechunk=False), JOB, other)
    assert result.mask.tolist() == mine["id"].isin(other["id"]).tolist()
    assert mine["id"].to_numpy()[result.positions].tolist() == result.table["id"].to_pylist()
