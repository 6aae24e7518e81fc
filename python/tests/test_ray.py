"""Jobs on many machines: on processes here, and on two clusters of Ray."""

from __future__ import annotations

import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from typing import Any

import pandas as pd
import pyarrow
import pyarrow.parquet
import pytest
from conftest import COMMAND, free_address
from spreading import NAMES, Dying, job_of, parties, people, run_all, truth  # noqa: F401

import tacita
import tacita.ray
from tacita import _tacita
from tacita.ray import ClusterResult, Processes

def test_rows_are_those_of_a_join_and_aligned(parties, tmp_path: pathlib.Path) -> None:
    results = run_all(job_of(parties), tmp_path)
    common = truth(tmp_path, NAMES[:2])
    assert len(common) > 900
    for name, result in results.items():
        rows = result.dataset().to_table().to_pandas()
        assert set(rows["name"]) == common and len(rows) == len(common)
        own = pd.read_parquet(tmp_path / name).dropna()
        assert set(rows[name]) == set(own[own["name"].isin(common)][name])
        assert result.value == {"rows": len(common)} and result.report["rows"]["read"] == 1500
        assert result.report["rows"]["nulls"] == 150
        assert any("5, each filled up to" in sentence for sentence in result.learned)
    # Files of one name are of the same keys in the same order.
    files = [sorted((tmp_path / "out" / name).iterdir()) for name in NAMES[:2]]
    assert [file.name for file in files[0]] == [f"part-{number:05}.parquet" for number in range(5)]
    for one, other in zip(*files):
        tables = [pyarrow.parquet.read_table(file).to_pandas() for file in (one, other)]
        assert list(tables[0]["name"]) == list(tables[1]["name"]) and len(tables[0]) > 100


def test_a_run_is_entered_once_and_asked_before_it_is_read(parties, tmp_path: pathlib.Path) -> None:
    """By the driver, from before its table is read to its end, and not by those who do its buckets."""
    run_all(job_of(parties, reveal="count"), tmp_path)
    for name in NAMES[:2]:
        (entry,) = tacita.ledger.list(tmp_path / "id" / name)
        assert entry["agreed"] is not None and entry["ended"]["outcome"] == "done"
        assert entry["ended"]["learned"] and entry["ended"]["rows"]["read"] == 1500
    policy = tmp_path / "id" / "hospital" / "policy.toml"
    policy.write_text('[[allow]]\npeers = []\n')
    with pytest.raises(tacita.InputError, match="refused by policy: peers: insurer"):
        tacita.ray.run(job_of(parties), "hospital", tmp_path / "nothing there", tmp_path / "id" / "hospital", tmp_path / "refused", on=Processes(1))
    assert [entry["ended"]["outcome"] for entry in tacita.ledger.list(tmp_path / "id" / "hospital")] == ["done", "refused"]
    # What fails is entered, too.
    policy.unlink()
    with pytest.raises(tacita.Error):
        tacita.ray.run(job_of(parties), "hospital", tmp_path / "nothing there", tmp_path / "id" / "hospital", tmp_path / "failed", on=Processes(1))
    failed = tacita.ledger.show(tmp_path / "id" / "hospital", 3)["ended"]
    assert failed["outcome"] == "failed" and "nothing there" in failed["why"]


def test_it_is_what_one_process_finds(parties, tmp_path: pathlib.Path) -> None:
    """The same rows, of text that is normalised, with keys that are there twice and some that cannot be read; from CSV, too."""
    tables = {
        "hospital": pd.DataFrame({"born": ["1.2.1990", "3.4.1985", "3.4.1985", "no date", "7.7.1977"], "ward": list("ABCDE")}),
        "insurer": pd.DataFrame({"born": ["1990-02-01", "1985-04-03", "2000-01-01"], "policy": [1, 2, 3]}),
    }
    job = job_of(parties, key={"columns": ["born"], "normalize": ["date:DMY"]}, reveal_to=["hospital"], reveal="payload", gives={"insurer": ["policy"]})
    expected = tacita.simulate(job, tables)["hospital"].table
    for name, table in tables.items():
        (tmp_path / f"{name}-csv").mkdir()
        for place in range(2):
            table.iloc[place::2].to_csv(tmp_path / f"{name}-csv" / f"{place}.csv", index=False)
    results = run_all(job, tmp_path, {name: tmp_path / f"{name}-csv" for name in tables}, buckets=3)
    found = results["hospital"].dataset().to_table()
    assert found.column_names == expected.column_names
    rows = [sorted(map(str, table.select(["born", "ward"]).to_pylist())) for table in (found, expected)]
    assert rows[0] == rows[1] and len(rows[0]) == 3
    assert {str(row["insurer.policy"]) for row in found.to_pylist()} == {"1", "2"}
    assert any("cannot be read" in warning for warning in results["hospital"].report["warnings"]) and results["insurer"].report["warnings"] == []
    assert "no date" not in str(results["hospital"].report)
    assert results["insurer"].value is None and results["insurer"].output is None
    with pytest.raises(tacita.InputError, match="learns no rows"):
        results["insurer"].dataset()


@pytest.mark.parametrize(("learners", "more"), [(["insurer"], {}), (["hospital"], {}), (list(NAMES[:2]), {}), (["hospital"], {"limits": {"min_result": 5000}})])
def test_a_count_is_of_all_buckets_together(parties, tmp_path: pathlib.Path, learners: list[str], more: dict[str, Any]) -> None:
    """However many there are: none is counted on its own."""
    results = run_all(job_of(parties, reveal="count", reveal_to=learners, **more), tmp_path, buckets=20)
    common = len(truth(tmp_path, NAMES[:2]))
    expected = {"below": 5000} if more else {"count": common}
    for name, result in results.items():
        assert result.report["protocol"] == "ecdh" and result.report["buckets"]["number"] == 20
        assert result.value == (expected if name in learners else None)
        assert not any("each of" in sentence and "common" in sentence for sentence in result.learned)
        assert not list((tmp_path / "out").iterdir())


def test_a_count_of_nothing(parties, tmp_path: pathlib.Path) -> None:
    nothing = [pyarrow.table({"name": pyarrow.array([], pyarrow.string())})]
    results = run_all(job_of(parties, reveal="count"), tmp_path, {"hospital": nothing})
    assert all(result.value == {"count": 0} for result in results.values())


def test_three_parties(parties, tmp_path: pathlib.Path) -> None:
    results = run_all(job_of(parties, NAMES), tmp_path)
    common = truth(tmp_path, NAMES)
    assert len(common) > 400
    for name in NAMES:
        assert set(results[name].dataset().to_table()["name"].to_pylist()) == common


@pytest.mark.parametrize("rows", [0, 1, 7])
def test_few_rows_in_many_buckets(parties, tmp_path: pathlib.Path, rows: int) -> None:
    data = {"hospital": [people(0, rows, "hospital").astype(str)], "insurer": [people(0, 20, "insurer").astype(str)]}
    results = run_all(job_of(parties), tmp_path, data, buckets=9)
    assert [result.value for result in results.values()] == [{"rows": rows}] * 2


def test_padded_sizes_are_not_told(parties, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    usual = _tacita.usual_buckets
    monkeypatch.setattr(_tacita, "usual_buckets", lambda rows, slots: asked.append(rows) or usual(rows, slots))
    results = run_all(job_of(parties, limits={"pad_to": 4000}), tmp_path, buckets=None)
    # How many buckets a party asks for is told.
    assert asked == [4000, 4000]
    for result in results.values():
        assert result.value == {"rows": len(truth(tmp_path, NAMES[:2]))}
        assert not any("of its rows have a key" in sentence for sentence in result.learned)
    bounds = results["hospital"].report["buckets"]["filled_up_to"]
    assert bounds["hospital"] == bounds["insurer"] >= 4000


def test_a_killed_worker_is_replaced(parties, tmp_path: pathlib.Path) -> None:
    """Its bucket is begun again at both, and every row is there once."""
    job = job_of(parties)
    pools = {"hospital": Dying(2, 2), "insurer": Dying(2, 1)}

    def one(name: str) -> ClusterResult:
        return tacita.ray.run(job, name, tmp_path / name, tmp_path / "id" / name, tmp_path / "out" / name, on=pools[name], buckets=6, repeats=6, timeout=60.0, patience=60.0)

    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        results = list(threads.map(one, pools))
    common = truth(tmp_path, NAMES[:2])
    for result in results:
        found = result.dataset().to_table()["name"].to_pylist()
        assert set(found) == common and len(found) == len(common)
        assert result.report["buckets"]["begun"] > 6


DRIVER = textwrap.dedent("""
    import json, sys, time, pathlib, os, signal
    import tacita, tacita.ray
    if __name__ == "__main__":
        # Tests may have been started where it is ignored.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        job, name, root, resume, slow = tacita.Job.load(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3]), sys.argv[4] == "resume", sys.argv[5] == "slow"
        pool = tacita.ray.Processes(1)
        if slow:
            start = pool.start
            def slowly(function, *arguments, **options):
                if function.__name__ == "bucket":
                    if len(list(root.glob(f"out/.{name}.*/part-*"))) >= 2:
                        os.kill(os.getpid(), signal.SIGKILL)
                return start(function, *arguments, **options)
            pool.start = slowly
        result = tacita.ray.run(job, name, root / name, root / "id" / name, root / "out" / name, on=pool, work=root / "work" / name, resume=resume, buckets=6, timeout=60, patience=120)
        print(json.dumps(result.report))
""")


def test_a_killed_driver_is_resumed(parties, tmp_path: pathlib.Path) -> None:
    """The other party waits, and nothing that was kept is done again."""
    job = tmp_path / "job.json"
    spec = {
        "job": "intersect", "id": "spread", "reveal_to": ["hospital", "insurer"], "key": {"columns": ["name"], "normalize": ["name"]},
        "parties": {name: parties[name] for name in NAMES[:2]},
    }  # fmt: skip
    job.write_text(json.dumps(spec))
    (tmp_path / "driver.py").write_text(DRIVER)
    (tmp_path / "out").mkdir()
    (tmp_path / "work").mkdir()

    def driver(name: str, *more: str) -> subprocess.Popen[str]:
        return subprocess.Popen([sys.executable, tmp_path / "driver.py", job, name, tmp_path, *more], stdout=subprocess.PIPE, text=True)

    insurer = driver("insurer", "new", "")
    killed = driver("hospital", "new", "slow")
    assert killed.wait(120) == -signal.SIGKILL
    kept = sorted((tmp_path / "out").glob(".hospital.*/part-*"))
    assert len(kept) >= 2
    before = [file.stat().st_mtime_ns for file in kept]
    # Another run of the same party to the same place takes nothing away.
    theirs = sorted((tmp_path / "out").glob(".insurer.*/part-*"))
    with pytest.raises(tacita.NetworkError):
        tacita.ray.run(
            tacita.Job.load(job), "insurer", tmp_path / "insurer", tmp_path / "id" / "insurer", tmp_path / "out" / "insurer", on=Processes(1), timeout=0.5
        )
    assert theirs and all(file.exists() for file in theirs)
    hospital = driver("hospital", "resume", "")
    reports = [json.loads(process.communicate(timeout=120)[0]) for process in (hospital, insurer)]
    assert reports[0]["buckets"]["done"] < 6
    common = truth(tmp_path, NAMES[:2])
    for name in NAMES[:2]:
        found = pyarrow.parquet.read_table(tmp_path / "out" / name)["name"].to_pylist()
        assert set(found) == common and len(found) == len(common)
    both = {file.name for file in (tmp_path / "out" / "insurer").iterdir()}
    assert both == {file.name for file in (tmp_path / "out" / "hospital").iterdir()}
    assert not (tmp_path / "work" / "hospital" / "run.json").exists()
    assert before[0] == (tmp_path / "out" / "hospital" / kept[0].name).stat().st_mtime_ns


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_processes_end_with_their_driver(parties, tmp_path: pathlib.Path, how: signal.Signals) -> None:
    """In silence, however it ends, Ctrl-C included, which a terminal sends to all of them."""
    job = tmp_path / "job.json"
    spec = {"job": "intersect", "id": "spread", "reveal_to": ["hospital"], "key": {"columns": ["name"]}, "parties": {name: parties[name] for name in NAMES[:2]}}
    job.write_text(json.dumps(spec))
    (tmp_path / "driver.py").write_text(DRIVER)
    (tmp_path / "work").mkdir()
    told = [sys.executable, tmp_path / "driver.py", job, "hospital", tmp_path, "new", ""]
    driver = subprocess.Popen(told, stderr=subprocess.PIPE, text=True, start_new_session=True, env={**os.environ, "TMPDIR": str(tmp_path / "work")})
    until = time.monotonic() + 60
    # Rows are read, and the other party is waited for.
    while not list((tmp_path / "work").glob("tacita-*/*-1")) and time.monotonic() < until:
        time.sleep(0.05)
    os.killpg(driver.pid, how) if how == signal.SIGINT else driver.kill()
    _, errors = driver.communicate(timeout=60)
    assert "Process SpawnProcess" not in errors and "BrokenPipe" not in errors
    until = time.monotonic() + 30
    while alive(driver.pid) and time.monotonic() < until:
        time.sleep(0.05)
    assert not alive(driver.pid)


def alive(group: int) -> list[str]:
    """Processes of a group that have not ended."""
    listing = subprocess.run(["ps", "-eo", "pgid,stat,args"], capture_output=True, text=True, check=True).stdout.splitlines()
    return [line for line in listing if line.split()[0] == str(group) and not line.split()[1].startswith("Z")]


def test_through_a_relay(parties, tmp_path: pathlib.Path) -> None:
    """Nobody can be dialed: every machine of both meets its like at the relay."""
    tacita.Identity.create(tmp_path / "id" / "relay", "relay")
    address = free_address()
    relay = {"address": address, "identity": tacita.Identity(tmp_path / "id" / "relay").fingerprint}
    own = {name: {"identity": parties[name]["identity"]} for name in NAMES[:2]}
    spec = {
        "job": "intersect", "id": "spread", "reveal_to": ["hospital", "insurer"], "key": {"columns": ["name"], "normalize": ["name"]},
        "parties": own, "relay": relay,
    }  # fmt: skip
    path = tmp_path / "job.json"
    path.write_text(json.dumps(spec))
    serving = subprocess.Popen([COMMAND, "relay", "--listen", address, "--identity", tmp_path / "id" / "relay", path], stderr=subprocess.DEVNULL)
    try:
        results = run_all(tacita.Job.load(path), tmp_path)
    finally:
        serving.kill()
        serving.wait()
    assert results["hospital"].value == {"rows": len(truth(tmp_path, NAMES[:2]))}


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"job": "union", "reveal": "rows"}, "who learns a union would see"),
        ({"security": "malicious", "reveal_to": ["hospital"]}, "use security = \"semi-honest\""),
        ({"reveal": "count", "protocol": "polynomial", "reveal_to": ["hospital"]}, "would reveal the count of each bucket"),
        ({"key": {"columns": ["name"], "duplicates": "multiset"}}, "multiset"),
        ({"key": {"any": [["name"], ["id"]]}}, "key.any"),
    ],
)
def test_what_cannot_be_spread_is_refused(parties, tmp_path: pathlib.Path, more: dict[str, Any], message: str) -> None:
    with pytest.raises(tacita.InputError, match=message):
        tacita.ray.run(job_of(parties, **more), "hospital", tmp_path / "hospital", tmp_path / "id" / "hospital", tmp_path / "out", on=Processes(1))


def test_rows_by_position_are_equally_many(parties, tmp_path: pathlib.Path) -> None:
    job = tacita.Job(job="dot", id="dot", reveal_to=["hospital"], bits=4, parties={name: parties[name] for name in NAMES[:2]})
    tables = {name: [pyarrow.table({"value": [1] * rows})] for name, rows in zip(NAMES, (9, 10))}
    with pytest.raises(tacita.TermsError, match="hospital has 9 where insurer has 10"):
        run_all(job, tmp_path, tables, buckets=2)


def test_equal_keys_that_give_much_are_told(parties, tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture) -> None:
    job = job_of(parties, reveal="payload", reveal_to=["hospital"], gives={"insurer": ["insurer"]}, limits={"max_text": 8})
    one_key = pyarrow.table({"name": ["Person 1"] * 900 + ["Person 2"] * 100, "insurer": [str(number) for number in range(1000)]})
    tables: dict[str, Any] = {"hospital": tmp_path / "hospital", "insurer": [one_key]}

    def one(name: str) -> Any:
        with pytest.raises(tacita.Error) as raised:
            tacita.ray.run(job, name, tables[name], tmp_path / "id" / name, tmp_path / "out" / name, on=Processes(2), buckets=20, timeout=60.0, patience=60.0)
        return raised.value

    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        errors = list(threads.map(one, tables))
    # Whose it is learns what is wrong, and nothing is begun again: it would be the same at another attempt.
    assert isinstance(errors[1], tacita.InputError) and "rows with a key, many of them equal ones" in str(errors[1]), errors
    assert isinstance(errors[0], tacita.NetworkError) and "insurer stopped: its input" in str(errors[0])
    assert "is begun again" not in caplog.text


@pytest.mark.parametrize(("by", "reveal"), [("position", "value"), ("id", "value"), ("id", "shares")])
@pytest.mark.parametrize("rows", [(0, 0), (0, 5)])
def test_products_of_no_rows_are_nothing(parties, tmp_path: pathlib.Path, by: str, reveal: str, rows: tuple[int, int]) -> None:
    if by == "position" and rows[0] != rows[1]:
        pytest.skip("rows by position are equally many")
    more = {"row_id": ["id"], "alignment": "rows"} if by == "id" else {}
    job = tacita.Job(job="dot", id="d", reveal=reveal, reveal_to=list(NAMES[:2]), bits=4, parties={name: parties[name] for name in NAMES[:2]}, **more)
    data = {name: [pyarrow.table({"id": list(map(str, range(own))), "value": pyarrow.array([3] * own, pyarrow.int64())})] for name, own in zip(NAMES, rows)}
    results = run_all(job, tmp_path, data, buckets=3)
    if reveal == "value":
        assert [result.value for result in results.values()] == [{"value": 0}] * 2
        return
    shares = [json.loads((tmp_path / "out" / name).read_text()) for name in NAMES[:2]]
    assert sum(int(share["values"][0]) for share in shares) % int(shares[0]["modulus"]) == 0


def test_numbers_that_do_not_fit_are_found_before_others_are_met(parties, tmp_path: pathlib.Path) -> None:
    job = tacita.Job(job="dot", id="d", reveal_to=["hospital"], bits=4, parties={name: parties[name] for name in NAMES[:2]})
    for table, message in [(pyarrow.table({"value": [1, 16]}), "row 2, column \"value\": this number does not fit"), (pyarrow.table({"other": [1]}), 'no column "value"')]:
        started = time.monotonic()
        with pytest.raises(tacita.InputError, match=message):
            tacita.ray.run(job, "hospital", table, tmp_path / "id" / "hospital", tmp_path / "out", on=Processes(1), timeout=60)
        assert time.monotonic() - started < 30


@pytest.mark.parametrize("changed", ["keys", "values"])
def test_other_rows_are_not_resumed(parties, tmp_path: pathlib.Path, changed: str) -> None:
    """Whoever changes its rows after the seed is known is refused: it could have chosen them for a bucket, or would mix old values with new ones."""
    job = job_of(parties)

    def again(names: tuple[str, ...], resume: bool) -> list[BaseException | None]:
        def one(name: str) -> BaseException | None:
            try:
                pool = Dying(1, 100) if not resume else Processes(1)
                tacita.ray.run(job, name, tmp_path / name, tmp_path / "id" / name, tmp_path / "out" / name, on=pool, work=tmp_path / "kept" / name, resume=resume, buckets=4, retries=1, timeout=60.0, patience=60.0)
            except tacita.Error as error:
                return error
            return None

        with concurrent.futures.ThreadPoolExecutor(2) as threads:
            return list(threads.map(one, names))

    (tmp_path / "kept").mkdir()
    assert all(again(NAMES[:2], False))
    table = people(5000 if changed == "keys" else 0, 500, "hospital")
    table["hospital"] = table["hospital"] + " now"
    table.to_parquet(tmp_path / "hospital" / "0.parquet")
    errors = again(NAMES[:2], True)
    assert isinstance(errors[0], tacita.InputError) and "input has changed" in str(errors[0])
    assert errors[1] is not None


def of_ray() -> dict[str, str]:
    """The environment of all that belongs to a cluster, whatever token this user has for others."""
    return {**os.environ, "RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": f"{os.getpid():064x}"}


def ray_start(*told: str, log: pathlib.Path) -> subprocess.Popen[bytes]:
    """A node of a cluster, with one core."""
    ray = pathlib.Path(sys.executable).parent / "ray"
    always = ["--num-cpus=1", "--block", "--object-store-memory=200000000", "--min-worker-port=0", "--max-worker-port=0"]
    with log.open("w") as out:
        return subprocess.Popen(
            [str(ray), "start", *told, *always], stdout=out, stderr=out, env=of_ray(), start_new_session=True
        )


@pytest.fixture
def clusters(tmp_path: pathlib.Path) -> Iterator[dict[str, str]]:
    """Two clusters of Ray on this machine, by party."""
    pytest.importorskip("ray", reason="Ray has no wheel for this Python")
    addresses, started = {}, []
    for number, name in enumerate(NAMES[:2]):
        port = free_address().rpartition(":")[2]
        # Paths of sockets in it must not be long.
        told = ["--head", f"--port={port}", "--include-dashboard=false", f"--temp-dir=/tmp/tacita-ray-{os.getpid()}-{number}"]
        started.append(ray_start(*told, log=tmp_path / f"ray-{name}.log"))
        addresses[name] = f"127.0.0.1:{port}"
    yield addresses
    for number, process in enumerate(started):
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        shutil.rmtree(f"/tmp/tacita-ray-{os.getpid()}-{number}", ignore_errors=True)


ON_RAY = """
import gc, json, os, pathlib, signal, sys, time
import pyarrow.parquet, ray, tacita, tacita.ray
from tacita.ray._tasks import bucket
job, name, root, address = tacita.Job.load(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3]), sys.argv[4]
for attempt in range(200):
    try:
        pool = tacita.ray.Cluster(address)
        break
    except tacita.InputError:
        time.sleep(1)
data = root / name if name == "hospital" else ray.data.read_parquet(str(root / name))
if name != "hospital":
    from tacita.ray._table import pieces_of
    rows = [text for ref in pieces_of(data) for text in ray.get(ref)[name].to_pylist()]
    assert rows == [text for file in sorted((root / name).iterdir()) for text in pyarrow.parquet.read_table(file)[name].to_pylist()]
if name == "hospital":
    (root / "wrong").mkdir()
    pyarrow.parquet.write_table(pyarrow.table({"names": ["Ann"]}), root / "wrong" / "1.parquet")
    try:
        tacita.ray.run(job, name, root / "wrong", root / "id" / name, root / "out" / "wrong", on=pool, timeout=120)
    except tacita.InputError as error:
        assert 'no column "name"' in str(error) and "\\n" not in str(error)
        # Ray speaks of what nobody has taken when it goes, some seconds after the error.
        kept = error
def dying(order, post, *pieces):
    if order.number == 1 and order.attempt == 0 and order.party == "hospital":
        os.kill(os.getpid(), signal.SIGKILL)
    return bucket(order, post, *pieces)
start = pool.start
pool.start = lambda function, *arguments, **options: start(dying if function is bucket else function, *arguments, **options)
result = tacita.ray.run(job, name, data, root / "id" / name, root / "out" / name, on=pool, workers_at="127.0.0.1", buckets=4, repeats=4, timeout=120, patience=120)
print(json.dumps(result.report))
if name == "hospital":
    del kept
    gc.collect()
    # The pool serves another run, too.
    def larger(one, other):
        return max(one, other)
    assert pool.value(pool.start(larger, 1, 2).refs[0]) == 2 and pool.post
    assert pool.done([], 0.1) == []
    pool.close()
"""


def on_ray(parties, clusters: dict[str, str], tmp_path: pathlib.Path) -> list[subprocess.Popen[str]]:
    """Both parties, each on its cluster."""
    path = tmp_path / "job.json"
    spec = {
        "job": "intersect", "id": "spread", "reveal_to": ["hospital", "insurer"], "key": {"columns": ["name"], "normalize": ["name"]},
        "parties": {name: parties[name] for name in NAMES[:2]},
    }  # fmt: skip
    path.write_text(json.dumps(spec))
    (tmp_path / "on_ray.py").write_text(ON_RAY)
    told = [[sys.executable, str(tmp_path / "on_ray.py"), str(path), name, str(tmp_path), clusters[name]] for name in NAMES[:2]]
    environment = of_ray()
    files = [open(tmp_path / f"{name}.err", "w") for name in NAMES[:2]]
    return [subprocess.Popen(own, stdout=subprocess.PIPE, stderr=file, text=True, env=environment) for own, file in zip(told, files)]


def check_exact(running: list[subprocess.Popen[str]], tmp_path: pathlib.Path) -> list[dict[str, Any]]:
    """Every common row is there, once, at both."""
    reports = [json.loads(process.communicate(timeout=300)[0].splitlines()[-1]) for process in running]
    assert [process.returncode for process in running] == [0, 0], [(tmp_path / f"{name}.err").read_text()[-2000:] for name in NAMES[:2]]
    common = truth(tmp_path, NAMES[:2])
    for name, report in zip(NAMES, reports):
        found = pyarrow.parquet.read_table(tmp_path / "out" / name)["name"].to_pylist()
        assert set(found) == common and len(found) == len(common) and report["result"] == {"rows": len(common)}
    return reports


def test_two_clusters_of_ray(parties, clusters, tmp_path: pathlib.Path) -> None:
    """A directory of files at one, a dataset of Ray at the other; a worker is killed while it does a bucket."""
    reports = check_exact(on_ray(parties, clusters, tmp_path), tmp_path)
    assert [report["buckets"]["begun"] for report in reports] == [5, 4]
    # What failed before, as a column was wrong, is the library's to say, and not Ray's.
    told = (tmp_path / "hospital.err").read_text()
    assert "Unhandled error" not in told and "Traceback" not in told, told


@pytest.mark.slow
def test_a_node_goes_away(parties, clusters, tmp_path: pathlib.Path) -> None:
    """With all that lies on it: Ray makes that again, and the drivers begin its buckets again."""
    log, until = tmp_path / "ray-hospital.log", time.monotonic() + 60
    while not (found := re.search(r"--address='([^']+)'", log.read_text())) and time.monotonic() < until:
        time.sleep(0.5)
    head = found.group(1)
    node = ray_start(f"--address={head}", log=tmp_path / "node.log")
    time.sleep(8)
    for piece in range(3, 40):
        for name in NAMES[:2]:
            people(piece * 10_000, 10_000, name).to_parquet(tmp_path / name / f"{piece:02}.parquet")
    running = on_ray(parties, clusters, tmp_path)
    until = time.monotonic() + 120
    while time.monotonic() < until and not list(tmp_path.glob("out/.hospital.*/part-*")):
        time.sleep(0.05)
    os.killpg(node.pid, signal.SIGKILL)
    node.wait()
    check_exact(running, tmp_path)


@pytest.mark.parametrize(("by", "reveal"), [("position", "value"), ("id", "value"), ("position", "shares")])
def test_scalar_products_add_up(parties, tmp_path: pathlib.Path, by: str, reveal: str) -> None:
    """Each bucket leaves shares, and nothing but their sum is opened."""
    own, theirs = ([number * 7 % 11 for number in range(103)], [number * 5 % 13 for number in range(103)])
    tables = {name: pyarrow.table({"id": [str(place) for place in range(103)], "value": values}) for name, values in zip(NAMES, (own, theirs))}
    expected = sum(one * other for one, other in zip(own, theirs))
    if by == "id":
        # Another order, and a row that the other lacks.
        tables["insurer"] = tables["insurer"].take(list(reversed(range(102))))
        expected -= own[102] * theirs[102]
    more = {"row_id": ["id"], "alignment": "rows"} if by == "id" else {}
    job = tacita.Job(job="dot", id="dot", reveal=reveal, reveal_to=["hospital", "insurer"], bits=4, parties={name: parties[name] for name in NAMES[:2]}, **more)
    data = {name: [table.slice(0, 40), table.slice(40)] for name, table in tables.items()}
    results = run_all(job, tmp_path, data, buckets=4)
    if reveal == "value":
        assert [result.value for result in results.values()] == [{"value": expected}] * 2
        assert not (tmp_path / "out" / "hospital").exists()
        return
    files = [tmp_path / "out" / name for name in NAMES[:2]]
    shares = [json.loads(file.read_text()) for file in files]
    modulus = int(shares[0]["modulus"])
    assert sum(int(share["values"][0]) for share in shares) % modulus == expected and shares[0]["values"] != [str(expected)]
    assert all(file.stat().st_mode & 0o077 == 0 for file in files)
    # The command opens them as it opens those of one run.
    assert shares[0]["run"] == shares[1]["run"] and shares[0]["agreement"] == shares[1]["agreement"] == job.agreement


def test_a_plan_is_about_what_a_run_takes(parties, tmp_path: pathlib.Path) -> None:
    job = job_of(parties)
    small = tacita.ray.plan(job, {"hospital": 10**9, "insurer": 10**9}, {"hospital": 4, "insurer": 8}, bandwidth=1e15)
    large = tacita.ray.plan(job, {"hospital": 10**11, "insurer": 10**11}, {"hospital": 4, "insurer": 8}, bandwidth=1e15)
    # Each measures this machine for itself, which may be busier the one time than the other.
    assert small.bound_by == "hospital's machines" and 30 < large.seconds / small.seconds < 300
    assert large.buckets > 20_000 and "TiB" in repr(large) and "<table>" in large._repr_html_()
    narrow = tacita.ray.plan(job, {"hospital": 10**9, "insurer": 10**9}, {"hospital": 400, "insurer": 400}, bandwidth=1e9)
    assert narrow.bound_by == "the wire" and narrow.seconds > narrow.bytes * 8 / 1e9 * 0.99
    with pytest.raises(tacita.InputError, match="those of insurer are missing"):
        tacita.ray.plan(job, {"hospital": 1}, {"hospital": 1})
    ones = {"hospital": 1, "insurer": 1}
    wrong = [({"bandwidth": 0.0}, "bits a second"), ({"buckets": 0.5}, "whole number"), ({"measured": {"a": 1}}, "result.report"), ({"cores": 0}, "cores")]
    for more, message in wrong:
        with pytest.raises(tacita.InputError, match=message):
            tacita.ray.plan(job, ones, ones, **more)
    assert tacita.ray.plan(job, {"hospital": 1e6, "insurer": 1e6}, ones).buckets == 64
    # Buckets of few rows would have room for hundreds of times as many.
    unequal = tacita.ray.plan(job, {"hospital": 1000, "insurer": 64_000_000}, ones, buckets=64_000)
    assert unequal.buckets == 125 and unequal.shares["hospital"].filled_up_to * 125 < 5600
    report = run_all(job, tmp_path)["hospital"].report
    measured = tacita.ray.plan(job, {"hospital": 1350, "insurer": 1350}, {"hospital": 1, "insurer": 1}, cores=2, buckets=5, measured=report)
    assert measured.shares["hospital"].bytes_sent == report["bytes"]["sent"] // 5 * 5
    assert measured.shares["hospital"].filled_up_to == report["buckets"]["filled_up_to"]["hospital"]


def test_files_of_other_columns_are_one_line(parties, tmp_path: pathlib.Path) -> None:
    tables = [pyarrow.table({"name": ["a"], "ward": [1]}), pyarrow.table({"name": ["b"], "ward": ["x"]})]
    with pytest.raises(tacita.InputError, match=r"part 1 of the data and part 2 .* same columns: ward \(int64\) and ward \(string\)"):
        tacita.ray.run(job_of(parties), "hospital", tables, tmp_path / "id" / "hospital", tmp_path / "out", on=Processes(1))


def test_learned_is_not_taken_in_by_names(parties, tmp_path: pathlib.Path) -> None:
    """Sizes are told, whatever the job is called; and what is given is told of to all who are connected."""
    results = run_all(job_of(parties, id="not pad_to'd"), tmp_path)
    assert all(any("of its rows have a key" in sentence for sentence in result.learned) for result in results.values())
    job = job_of(parties, NAMES, reveal="payload", reveal_to=["hospital"], gives={"insurer": ["insurer"]})
    shutil.rmtree(tmp_path / "out")
    results = run_all(job, tmp_path, buckets=2)
    told = [name for name, result in results.items() if any("longest row that is given in each bucket" in sentence for sentence in result.learned)]
    assert told == ["hospital", "registry"]


def test_padded_rows_are_not_told_apart_by_their_counts(parties, tmp_path: pathlib.Path) -> None:
    """Few rows that are padded to many are in as few buckets as if they were not; and rows with few keys in none whose number is told."""
    given = {"reveal": "payload", "reveal_to": ["hospital"], "gives": {"insurer": ["policy"]}}
    job = job_of(parties, limits={"pad_to": 40_000}, **given)
    many = [pyarrow.table({"name": [f"Person {number}" for number in range(40_000)], "policy": ["a"] * 40_000})]
    with pytest.raises(tacita.Error) as raised:
        run_all(job, tmp_path, {"hospital": tmp_path / "hospital", "insurer": many}, buckets=4)
    assert "hospital has enough rows for 1 bucket" in str(raised.value)
    same = [pyarrow.table({"name": [f"Person {number % 50}" for number in range(40_000)]})]
    job = job_of(parties, **given)
    with pytest.raises(tacita.Error) as raised:
        run_all(job, tmp_path, {"hospital": same, "insurer": many}, buckets=4)
    assert "too few to hide" in str(raised.value)
