"""Association rules on many machines."""

from __future__ import annotations

import concurrent.futures
import json
import pathlib
import subprocess
import threading
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from conftest import COMMAND, free_address
from spreading import NAMES, Dying, parties  # noqa: F401

import tacita
import tacita.ray
from tacita import _tacita
from tacita.ray import ClusterResult, Processes
from tacita.ray._driver import Own

def baskets_of(tmp_path: pathlib.Path, rows: int = 400) -> dict[str, pyarrow.Table]:
    """Rows with ids, in which what one party has goes with what the other has."""
    numbers = range(rows)
    here = ["|".join(item for item, every in (("tea", 2), ("milk", 3), ("rare", 150)) if number % every == 0) for number in numbers]
    there = ["|".join(item for item, every in (("cup", 2), ("spoon", 6), ("jug", 9)) if number % every == 0) for number in numbers]
    ids = [f"basket {number}" for number in numbers]
    return {"hospital": pyarrow.table({"id": ids, "items": here}), "insurer": pyarrow.table({"id": ids, "items": there})}


def mined(result: pathlib.Path) -> tuple[set[tuple[Any, ...]], set[tuple[Any, ...]]]:
    """Rules and itemsets that were written."""
    tables = [pyarrow.parquet.read_table(path) for path in (result, result.with_suffix(".itemsets.parquet"))]
    rules, itemsets = ({tuple(row.values()) for row in table.to_pylist()} for table in tables)
    return rules, itemsets


def check_rules(job: tacita.Job, tmp_path: pathlib.Path, tables: dict[str, pyarrow.Table], cut: int, **options: Any) -> dict[str, ClusterResult]:
    """What many machines find is what one finds."""
    expected = tacita.simulate(job, tables)
    data = {name: [table.slice(0, cut), table.slice(cut)] for name, table in tables.items()}

    def one(name: str) -> ClusterResult:
        return tacita.ray.run(
            job, name, data[name], tmp_path / "id" / name, tmp_path / f"{name}.parquet", on=Processes(2), **{"buckets": 4, "timeout": 60.0, "patience": 60.0, **options}
        )

    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        results = dict(zip(job.parties, threads.map(one, job.parties)))
    for name, result in results.items():
        rules, itemsets = mined(tmp_path / f"{name}.parquet")
        assert result.value == expected[name].value == {"itemsets": len(itemsets), "rules": len(rules)}
        assert rules == {tuple(row.values()) for row in expected[name].table.to_pylist()}
        assert itemsets == {tuple(row.values()) for row in expected[name].itemsets.to_pylist()}
        assert result.output == tmp_path / f"{name}.parquet"
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]
    return results


def rules_job(parties: dict[str, dict[str, Any]], **more: Any) -> tacita.Job:
    spec = {"job": "rules", "id": "baskets", "min_support": 20, "min_confidence": 0.5, "parties": {name: parties[name] for name in NAMES[:2]}}
    return tacita.Job(**{**spec, "reveal_to": list(NAMES[:2]), **more})


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"reveal": "counts", "min_support": "5%"},
        {"mixed_only": True, "consequents": "any"},
        {"max_len": 2, "protocol": "ot"},
    ],
    ids=["usual", "counts", "mixed_only", "max_len"],
)
def test_rules_are_those_of_one_machine(parties, tmp_path: pathlib.Path, more: dict[str, Any]) -> None:
    """Of rows by their position."""
    tables = baskets_of(tmp_path)
    results = check_rules(rules_job(parties, **more), tmp_path, tables, 130)
    assert results["hospital"].value["rules"] > 0
    assert any("there are 4" in sentence for sentence in results["insurer"].learned)


def test_rules_of_rows_by_their_ids(parties, tmp_path: pathlib.Path) -> None:
    """In another order at each, with rows that the other lacks."""
    tables = baskets_of(tmp_path)
    tables["insurer"] = tables["insurer"].take(list(reversed(range(370))))
    results = check_rules(rules_job(parties, row_id=["id"], alignment="rows", limits={"min_rows": 300}), tmp_path, tables, 130)
    assert results["hospital"].value["rules"] > 0


def test_rules_of_long_tables(parties, tmp_path: pathlib.Path) -> None:
    """A row has one item, and those of an id are a basket."""
    tables = {}
    for name, table in baskets_of(tmp_path).items():
        rows = [(row["id"], item) for row in table.to_pylist() for item in row["items"].split("|")]
        tables[name] = pyarrow.table({"id": [one for one, _ in rows], "items": [item for _, item in rows]})
    check_rules(rules_job(parties, row_id=["id"], alignment="rows", items={"long": True}), tmp_path, tables, 150)


def test_columns_are_read_by_all_their_parts(parties, tmp_path: pathlib.Path) -> None:
    """`smokes` has flags in its first part alone, and `ward` numbers of which each is an item."""
    rows = 300
    tables = {
        "hospital": pyarrow.table(
            {"smokes": ["0" if n % 2 else "1" for n in range(120)] + ["often" if n % 2 else "0" for n in range(180)], "ward": [str(n % 3) for n in range(rows)]}
        ),
        "insurer": pyarrow.table({"claims": ["1" if n % 2 else "0" for n in range(rows)], "age": [str(n % 80) for n in range(rows)]}),
    }
    job = rules_job(parties, items="*", bins={"age": [20, 60]}, min_support=10)
    results = check_rules(job, tmp_path, tables, 120)
    _, itemsets = mined(results["hospital"].output)
    names = {items for items, *_ in itemsets}
    assert {"smokes=0", "smokes=1", "smokes=often", "ward=2", "claims", "age=[20,60)"} <= names and "smokes" not in names


@pytest.mark.parametrize("row_id", [{}, {"row_id": ["id"], "alignment": "rows"}], ids=["position", "id"])
@pytest.mark.parametrize("rows", [0, 1, 3])
def test_rules_of_few_rows(parties, tmp_path: pathlib.Path, rows: int, row_id: dict[str, Any]) -> None:
    tables = {name: table.slice(0, rows) for name, table in baskets_of(tmp_path).items()}
    check_rules(rules_job(parties, min_support=1, **row_id), tmp_path, tables, 1)


def test_too_few_rows_in_common_are_not_counted(parties, tmp_path: pathlib.Path) -> None:
    tables = baskets_of(tmp_path)
    with pytest.raises(tacita.InputError, match="has 400 keys, and limits.min_rows is 1,000"):
        check_rules_of_all(rules_job(parties, row_id=["id"], alignment="rows", limits={"min_rows": 1000}), tmp_path, tables)


def check_rules_of_all(job: tacita.Job, tmp_path: pathlib.Path, tables: dict[str, pyarrow.Table], pools: dict[str, Any] | None = None, **options: Any) -> list[ClusterResult]:
    def one(name: str) -> ClusterResult:
        pool = (pools or {}).get(name) or Processes(2)
        return tacita.ray.run(job, name, [tables[name]], tmp_path / "id" / name, tmp_path / f"{name}.csv", on=pool, **{"buckets": 4, "timeout": 60.0, "patience": 60.0, **options})

    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        return list(threads.map(one, job.parties))


class DyingAt(Dying):
    """As it, in another kind of task."""

    def __init__(self, function: str, times: int) -> None:
        super().__init__(2, times)
        self.function = function

    def is_the_one(self, task: Any) -> bool:
        return task.function.__name__ == self.function


@pytest.mark.parametrize("function", ["bucket", "products", "counts"])
def test_a_worker_is_killed_while_it_counts(parties, tmp_path: pathlib.Path, function: str) -> None:
    tables, job = baskets_of(tmp_path), rules_job(parties, row_id=["id"], alignment="rows")
    pools = {"hospital": DyingAt(function, 1), "insurer": DyingAt(function, 1)}
    results = check_rules_of_all(job, tmp_path, tables, pools, repeats=4)
    assert [result.value for result in results] == [outcome.value for outcome in tacita.simulate(job, tables).values()]
    assert pools["hospital"].times == 0


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"bins": {"x": 4}}, "bins.x: where a column's quantiles are shows in all rows together"),
        ({"items": {"lines": True}}, "items.lines"),
        ({"protocol": "lattice"}, "hides numbers only approximately"),
    ],
)
def test_rules_that_cannot_be_spread_are_refused(parties, tmp_path: pathlib.Path, more: dict[str, Any], message: str) -> None:
    with pytest.raises(tacita.InputError, match=message):
        tacita.ray.run(rules_job(parties, **more), "hospital", [], tmp_path / "id" / "hospital", tmp_path / "out.csv", on=Processes(1))
    with pytest.raises(tacita.InputError, match="out.xyz"):
        tacita.ray.run(rules_job(parties), "hospital", [], tmp_path / "id" / "hospital", tmp_path / "out.xyz", on=Processes(1))


def test_what_rules_take_is_planned_from_a_run(parties, tmp_path: pathlib.Path) -> None:
    """As many rows take what they took, and ten times as many ten times that."""
    machines, job = {"hospital": 1, "insurer": 1}, rules_job(parties)
    with pytest.raises(tacita.InputError, match="how many items are frequent"):
        tacita.ray.plan(job, {"hospital": 400, "insurer": 400}, machines)
    results = check_rules(job, tmp_path, baskets_of(tmp_path), 100)
    reports = [result.report for result in results.values()]
    with pytest.raises(tacita.InputError, match="of all parties"):
        tacita.ray.plan(job, {"hospital": 400, "insurer": 400}, machines, measured=reports[0])
    plans = [tacita.ray.plan(job, {name: rows for name in results}, machines, cores=2, buckets=4, measured=reports) for rows in (400, 4000)]
    for name, result in results.items():
        one, ten = (plan.shares[name] for plan in plans)
        assert one.bytes_sent == pytest.approx(result.report["bytes"]["sent"], rel=0.01) and one.memory is None
        assert ten.cpu_seconds > one.cpu_seconds and one.cpu_seconds > result.report["cpu_seconds"]
    assert plans[0].protocol == "ot" and plans[0].driver_seconds >= 4 * 2e-3 and "not known" in plans[0]._repr_html_()


def test_rules_are_counted_again_by_another_driver(parties, tmp_path: pathlib.Path) -> None:
    """Rows that are aligned stay so; of levels nothing is kept."""
    tables, job = baskets_of(tmp_path), rules_job(parties, row_id=["id"], alignment="rows")
    (tmp_path / "kept").mkdir()

    def both(resume: bool) -> list[Any]:
        def one(name: str) -> Any:
            pool = Processes(2) if resume else DyingAt("products", 100)
            try:
                return tacita.ray.run(
                    job, name, [tables[name]], tmp_path / "id" / name, tmp_path / f"{name}.csv", on=pool, buckets=4, patience=20.0,
                    timeout=20.0, work=tmp_path / "kept" / name, resume=resume, retries=1,
                )  # fmt: skip
            except tacita.Error as error:
                return error

        with concurrent.futures.ThreadPoolExecutor(2) as threads:
            return list(threads.map(one, job.parties))

    assert all(isinstance(error, tacita.Error) for error in both(False))
    aligned = [sorted((path, path.stat().st_mtime_ns) for path in tmp_path.glob(f".{name}.csv.*/part-*.parquet")) for name in job.parties]
    assert [len(kept) for kept in aligned] == [4, 4]
    results, expected = both(True), tacita.simulate(job, tables)
    assert [result.value for result in results] == [outcome.value for outcome in expected.values()]
    # Each level once, in each of the buckets, and no alignment.
    assert results[0].report["buckets"]["begun"] == 4 * len(expected["hospital"].report["levels"])
    assert not list(tmp_path.glob(".*.csv.*"))


def test_a_leader_that_ends_a_level_early_is_found_out(parties, tmp_path: pathlib.Path) -> None:
    """What the buckets have left of another level would be added up."""
    tables, job = baskets_of(tmp_path), rules_job(parties)
    ended: list[BaseException] = []

    def insurer() -> None:
        try:
            tacita.ray.run(job, "insurer", [tables["insurer"]], tmp_path / "id" / "insurer", tmp_path / "out.csv", on=Processes(1), buckets=4, timeout=20.0, patience=20.0)
        except BaseException as error:
            ended.append(error)

    thread = threading.Thread(target=insurer)
    thread.start()
    identity = _tacita.Identity.load(tmp_path / "id" / "hospital")
    work = _tacita.Work.open(tmp_path / "work", job._spec, "hospital", identity, False)
    counts = {"read": 400, "nulls": 0, "unreadable": 0, "duplicates": 0, "items": 400}
    account = _tacita.RunAccount.open(job._spec, "hospital", identity)
    drivers = _tacita.Drivers.meet(
        job._spec, "hospital", identity, work, account, rows=json.dumps(counts), commitment=_tacita.Commitment(), buckets=4, finished=[], listen=None, timeout=30.0, patience=60.0
    )  # fmt: skip
    own = Own(drivers, "hospital", job.parties)
    own.ready()
    own.ready()
    drivers.begin_levels(400, [], ["tea", "milk"], [200, 133], work)
    alone, mixed, _ = drivers.next_level()
    assert mixed == 6
    own.ready()
    drivers.take_own([50] * alone)
    with pytest.raises(tacita.Error) as told:
        drivers.turn({"insurer": '[{"what": "end"}]'})
        drivers.turn({"insurer": "[]"})
    thread.join(60)
    assert isinstance(ended[0], tacita.ProtocolError) and "4 of 4 buckets were left" in str(ended[0])
    # Whoever broke the protocol is told so, and does not wait for the other to come back.
    assert "failed its checks" in str(told.value) and told.value._ended_there


def test_rules_through_a_relay(parties, tmp_path: pathlib.Path) -> None:
    tacita.Identity.create(tmp_path / "id" / "relay", "relay")
    address = free_address()
    relay = {"address": address, "identity": tacita.Identity(tmp_path / "id" / "relay").fingerprint}
    own = {name: {"identity": parties[name]["identity"]} for name in NAMES[:2]}
    spec = {"job": "rules", "id": "baskets", "min_support": 20, "min_confidence": 0.5, "reveal_to": list(own), "parties": own, "relay": relay}
    path = tmp_path / "job.json"
    path.write_text(json.dumps(spec))
    serving = subprocess.Popen([COMMAND, "relay", "--listen", address, "--identity", tmp_path / "id" / "relay", path], stderr=subprocess.DEVNULL)
    try:
        check_rules(tacita.Job.load(path), tmp_path, baskets_of(tmp_path), 100)
    finally:
        serving.kill()
        serving.wait()
