"""Columns that are more, or less, than they seem: the index of pandas, and types beyond Arrow's own."""

from __future__ import annotations

import concurrent.futures
import pathlib
import subprocess
import uuid

import pandas
import polars
import pyarrow
import pyarrow.feather
import pyarrow.parquet
import pytest
from conftest import COMMAND, command, free_address

import tacita
import tacita.ray
from tacita import _tacita
from tacita._job import _spec_of

JOB = tacita.Job(
    job="intersect", id="x", reveal="payload", reveal_to=["a"], gives={"b": ["o"]}, key={"columns": ["id"]}, parties=["a", "b"]
)  # fmt: skip
RULES = {"job": "rules", "id": "x", "reveal_to": ["a", "b"], "items": "*", "min_support": 0.5, "min_confidence": 0.5}
OTHER = pandas.DataFrame({"cup": [1, 1, 0, 1], "jug": [0, 1, 1, 1]})
BASKETS = pandas.DataFrame({"tea": [1, 1, 0, 1], "milk": [0, 1, 1, 1]})
SAME = ["ann", "ann", "ann", "bob"]
INDEXES = {
    "named": pandas.Index(SAME, name="customer"),
    "unnamed": pandas.Index(SAME),
    "several": pandas.MultiIndex.from_arrays([SAME, [1, 1, 1, 2]], names=["customer", None]),
    "numbers": pandas.Index([7, 7, 7, 9]),
    "as a column": pandas.Index(SAME, name="tea"),
    "with an empty name": pandas.Index(SAME, name=""),
    "a range": pandas.RangeIndex(5, 9),
}


def items_of(itemsets: pyarrow.Table) -> set[str]:
    return {item for row in itemsets["items"].to_pylist() for item in (row if isinstance(row, list) else row.split("|"))}


@pytest.mark.parametrize("kind", INDEXES)
def test_an_index_is_no_item(kind: str, tmp_path: pathlib.Path) -> None:
    """Whichever way the table comes: as a frame, as what libraries make of it, or as a file."""
    frame = BASKETS.set_axis(INDEXES[kind])
    frame.to_parquet(tmp_path / "a.parquet")
    pyarrow.feather.write_feather(pyarrow.Table.from_pandas(frame), tmp_path / "a.feather")
    frame.to_csv(tmp_path / "a.csv")
    table = pyarrow.Table.from_pandas(frame)
    ways = [frame, table, table.to_reader(), tmp_path / "a.parquet", tmp_path / "a.feather"]
    if "customer" not in table.column_names and kind != "with an empty name":
        # Those keep no metadata, but the names that pandas makes up.
        ways += [polars.DataFrame(table), tmp_path / "a.csv"] if kind != "as a column" else [polars.DataFrame(table)]
    job = tacita.Job(**RULES, parties=["a", "b"])
    for data in ways:
        result = tacita.simulate(job, {"a": data, "b": OTHER})
        for party in job.parties:
            assert items_of(result[party].itemsets) == {"tea", "milk", "cup", "jug"}, type(data)


def test_an_index_is_no_item_of_the_command(tmp_path: pathlib.Path) -> None:
    BASKETS.set_axis(INDEXES["several"]).to_parquet(tmp_path / "a.parquet")
    OTHER.to_csv(tmp_path / "b.csv", index=False)
    (tmp_path / "job.toml").write_text(
        'job = "rules"\nid = "x"\nreveal_to = ["a", "b"]\nitems = "*"\nmin_support = 0.5\nmin_confidence = 0.5\n[parties.a]\n[parties.b]\n'
    )
    done = command("simulate", "job.toml", "--input", "a=a.parquet", "--input", "b=b.csv", "--output", "out")
    assert done.returncode == 0, done.stderr
    written = "".join(path.read_text(errors="replace") for path in (tmp_path / "out").rglob("*.csv"))
    assert "milk" in written and "ann" not in written and "index" not in written
    shown = command("inspect", "a.parquet").stdout
    assert shown.count("index of pandas: no column") == 2


def test_an_index_is_no_item_on_many_machines(tmp_path: pathlib.Path) -> None:
    data = {"a": BASKETS.set_axis(INDEXES["several"]), "b": OTHER.set_axis(INDEXES["named"])}
    ids = {name: tacita.Identity.create(tmp_path / "id" / name, name) for name in data}
    parties = {name: {"identity": ids[name].fingerprint, "address": free_address()} for name in data}
    job = tacita.Job(**RULES, parties=parties)

    def one(name: str) -> tacita.ray.ClusterResult:
        pieces = [data[name].iloc[:2], data[name].iloc[2:]]
        out = tmp_path / f"{name}.parquet"
        return tacita.ray.run(job, name, pieces, tmp_path / "id" / name, out, on=tacita.ray.Processes(1), buckets=2, timeout=60.0)

    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        list(threads.map(one, data))
    for name in data:
        itemsets = pyarrow.parquet.read_table(tmp_path / f"{name}.itemsets.parquet")
        assert items_of(itemsets) == {"tea", "milk", "cup", "jug"}


@pytest.mark.parametrize("kind", ["named", "unnamed", "several"])
def test_an_index_that_is_named_is_refused(kind: str) -> None:
    frame = pandas.DataFrame({"id": [1, 2, 3, 4], "o": [1, 2, 3, 4]}, index=INDEXES[kind])
    name = "__index_level_0__" if kind == "unnamed" else "customer"
    # Either party may be the first that fails.
    good = pandas.DataFrame({"id": [1], "o": [2], name: [3]})
    common = {"job": "intersect", "id": "x", "reveal_to": ["a"], "parties": ["a", "b"]}
    as_key = tacita.Job(**common, key={"columns": [name]})
    given = tacita.Job(**common, key={"columns": ["id"]}, reveal="payload", gives={"b": [name]})
    as_item = tacita.Job(**{**RULES, "items": [name]}, parties=["a", "b"])
    for job, tables in [(as_key, {"a": frame, "b": good}), (given, {"a": good, "b": frame}), (as_item, {"a": frame, "b": good})]:
        with pytest.raises(tacita.InputError, match=f'column "{name}" is an index of pandas.*reset_index') as raised:
            tacita.simulate(job, tables)
        assert "\n" not in str(raised.value)


def test_labels_in_files_are_those_of_the_rows_or_none(tmp_path: pathlib.Path) -> None:
    job = tacita.Job(job="intersect", id="x", reveal_to=["a"], key={"columns": ["id"]}, parties=["a", "b"])
    big = pandas.DataFrame({"id": list("cabzyx"), "x": [3, 1, 2, 26, 25, 24]})
    for mine in (big[3:], big.set_axis(list("uvwxyz"))[3:], big[big["x"] > 3].sort_values("x")):
        result = tacita.simulate(job, {"a": mine, "b": big})["a"]
        found = result.to_pandas()
        assert found["id"].tolist() == ["x", "y", "z"]
        for ending in ("parquet", "feather"):
            result.save(tmp_path / f"a.{ending}")
        assert mine.loc[found.index, "x"].tolist() == found["x"].tolist() == [24, 25, 26]
        for frame in (pandas.read_parquet(tmp_path / "a.parquet"), pandas.read_feather(tmp_path / "a.feather")):
            if isinstance(mine.index, pandas.RangeIndex):
                assert frame.index.tolist() == [0, 1, 2]
            else:
                assert mine.loc[frame.index, "x"].tolist() == frame["x"].tolist() == [24, 25, 26]
        for ending in ("csv", "json"):
            result.save(tmp_path / f"a.{ending}")
            assert "index" not in (tmp_path / f"a.{ending}").read_text()


def objects() -> polars.DataFrame:
    return polars.DataFrame({"id": ["k"], "o": polars.Series([object()], dtype=polars.Object)})


def categories_of_periods() -> pandas.Series:
    return pandas.Series(pandas.Categorical(pandas.period_range("1970-01", periods=1, freq="M")))


ODD = {
    "objects of polars": (objects(), "addresses in memory"),
    "the same in Arrow": (objects().to_arrow(), "addresses in memory"),
    "periods": (pandas.Series([pandas.Period("1970-02", "M")]), "pandas.period"),
    "intervals": (pandas.Series(pandas.interval_range(0, 1)), "pandas.interval"),
    "categories of periods": (categories_of_periods(), "pandas.period"),
    "lists of periods": (pyarrow.ListArray.from_arrays([0, 1], pyarrow.array(pandas.Series([pandas.Period("1970-02", "M")]))), "pandas.period"),
    "what nobody knows": (
        pyarrow.array([b"12345678"], pyarrow.opaque(pyarrow.binary(), "pointer", "somebody")),
        "arrow.opaque",
    ),
}


@pytest.mark.parametrize("kind", ODD)
def test_types_whose_stored_values_are_something_else_are_refused(kind: str, tmp_path: pathlib.Path) -> None:
    column, why = ODD[kind]
    if isinstance(column, (polars.DataFrame, pyarrow.Table)):
        table = column
    elif isinstance(column, pandas.Series):
        table = pandas.DataFrame({"id": ["k"], "o": column})
    else:
        table = pyarrow.table({"id": ["k"], "o": column})
    good = pandas.DataFrame({"id": ["k"], "o": ["x"]})
    ways = [table]
    if "memory" not in why:
        pyarrow.feather.write_feather(pyarrow.table(table), tmp_path / "o.feather")
        ways.append(tmp_path / "o.feather")
    for data in ways:
        for tables in ({"a": good, "b": data}, {"a": data, "b": good}):
            with pytest.raises(tacita.InputError, match=f'column "o" .*{why}') as raised:
                tacita.simulate(JOB, tables)
            assert "\n" not in str(raised.value)
    with pytest.raises(tacita.InputError, match=f'column "o" .*{why}'):
        _tacita.read_block(_spec_of(JOB), "a", table, False)


def test_periods_in_a_file_are_refused_by_the_command(tmp_path: pathlib.Path) -> None:
    pandas.DataFrame({"p": pandas.period_range("1970-01", periods=2, freq="M")}).to_parquet(tmp_path / "p.parquet")
    done = subprocess.run([COMMAND, "inspect", "p.parquet"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "pandas.period" in done.stderr and done.stderr.count("\n") == 1


def test_uuids_are_what_they_are_as_text(tmp_path: pathlib.Path) -> None:
    job = tacita.Job(job="intersect", id="x", reveal_to=["a"], key={"columns": ["id"]}, parties=["a", "b"])
    values = [uuid.UUID(int=number) for number in (1, 2**127 + 5, 7)]
    text = pandas.DataFrame({"id": [str(value) for value in values[:2]]})
    frame = pandas.DataFrame({"id": values})
    frame.to_parquet(tmp_path / "u.parquet")
    for data in (frame, pyarrow.table({"id": pyarrow.array([value.bytes for value in values], pyarrow.uuid())}), tmp_path / "u.parquet"):
        result = tacita.simulate(job, {"a": data, "b": text})["a"]
        assert sorted(result.table["id"].to_pylist()) == sorted(text["id"])
