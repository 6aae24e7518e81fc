"""Runs of parties: with the command at the other end, several at once, interrupted, and watched."""

from __future__ import annotations

import json
import logging
import os
import pathlib
import pickle
import subprocess
import sys
import threading
import time
import tomllib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy
import pandas
import pyarrow
import pytest
from conftest import COMMAND, EXAMPLES, command, free_address

import tacita

PATIENTS = EXAMPLES / "patients"


def patients(parties: dict[str, dict[str, str]], **more: object) -> dict[str, object]:
    """The samples' job with these parties."""
    spec = tomllib.loads((PATIENTS / "job.toml").read_text())
    for name, own in parties.items():
        spec["parties"][name] = {
            **{k: v for k, v in spec["parties"][name].items() if k not in ("address", "identity")},
            **own,
        }
    return {**spec, **more}


@pytest.mark.parametrize("ours", ["hospital", "insurer"])
def test_the_command_is_the_other_party(ours: str, pair, tmp_path: pathlib.Path) -> None:
    ids, parties = pair
    theirs = "insurer" if ours == "hospital" else "hospital"
    path = tmp_path / "job.json"
    path.write_text(json.dumps(patients(parties)))
    told = [
        COMMAND,
        "run",
        path,
        "--as",
        theirs,
        "--input",
        PATIENTS / f"{theirs}.csv",
        "--identity",
        tmp_path / theirs,
    ]
    other = subprocess.Popen([*map(str, told), "--output", "theirs.csv", "--report", "theirs.json", "--quiet"])
    result = tacita.run(tacita.Job.load(path), ours, PATIENTS / f"{ours}.csv", ids[ours])
    assert other.wait(60) == 0
    report = json.loads(pathlib.Path("theirs.json").read_text())
    assert result.report["agreement"] == report["agreement"]
    assert result.report["bytes"]["sent"] == report["bytes"]["received"]
    summary = json.loads((PATIENTS / "expected" / "summary.json").read_text())["job"]
    assert result.value == {"rows": summary["lines"][ours]} and report["result"] == {"rows": summary["lines"][theirs]}


def test_functions_for_two_meet_the_command(pair, tmp_path: pathlib.Path) -> None:
    ids, _ = pair
    for name, keys in {
        "intersect": (["--key", "id"], {"key": ["id"]}),
        "union": (["--key", "id"], {"key": ["id"]}),
        "dot": (["--column", "n", "--bits", "8"], {"column": "m", "bits": 8}),
    }.items():
        (tmp_path / "in.csv").write_text("id,n\n1,2\n2,3\n3,4\n")
        address = free_address()
        told = [
            COMMAND,
            name,
            "--listen",
            address,
            "--peer",
            ids["insurer"].fingerprint,
            "--identity",
            tmp_path / "hospital",
        ]
        other = subprocess.Popen(
            [
                *map(str, told),
                "--input",
                "in.csv",
                *keys[0],
                "--output",
                f"{name}.csv",
                "--receiver",
                "both" if name != "union" else "peer",
            ]
        )
        own = pyarrow.table({"id": [2, 3, 4], "m": [1, 1, 1]})
        function = getattr(tacita, name)
        receiver = "both" if name != "union" else "me"
        result = function(
            own, ids["hospital"].fingerprint, ids["insurer"], connect=address, receiver=receiver, **keys[1]
        )
        assert other.wait(60) == 0
        assert result.value == {"intersect": {"rows": 2}, "union": {"rows": 4}, "dot": {"value": 9}}[name]


def test_different_terms_are_the_same_error_at_both(pair, tmp_path: pathlib.Path) -> None:
    ids, parties = pair
    (tmp_path / "job.json").write_text(json.dumps(patients(parties, limits={"max_rows": 100_000})))
    told = [
        COMMAND,
        "run",
        "job.json",
        "--as",
        "hospital",
        "--input",
        PATIENTS / "hospital.csv",
        "--identity",
        tmp_path / "hospital",
    ]
    other = subprocess.Popen([*map(str, told), "--quiet"], stderr=subprocess.PIPE, text=True)
    with pytest.raises(tacita.TermsError) as raised:
        tacita.run(tacita.Job(**patients(parties)), "insurer", PATIENTS / "insurer.csv", ids["insurer"])
    _, text = other.communicate(timeout=60)
    assert other.returncode == raised.value.code == 5
    assert "limits.max_rows" in text and "limits.max_rows" in str(raised.value)
    assert raised.value.kind == "terms"


def test_another_identity_is_refused(pair, tmp_path: pathlib.Path) -> None:
    ids, parties = pair
    with pytest.raises(tacita.InputError, match="parties.insurer.identity"):
        tacita.run(tacita.Job(**patients(parties)), "insurer", PATIENTS / "insurer.csv", ids["hospital"])


def test_a_peer_that_is_not_there(pair) -> None:
    ids, parties = pair
    with pytest.raises(tacita.NetworkError) as raised:
        tacita.run(tacita.Job(**patients(parties)), "insurer", PATIENTS / "insurer.csv", ids["insurer"], timeout=0.3)
    assert (raised.value.code, raised.value.peer, raised.value.kind) == (3, "hospital", "network")
    copy = pickle.loads(pickle.dumps(raised.value))
    assert (type(copy), copy.code, copy.peer, str(copy)) == (tacita.NetworkError, 3, "hospital", str(raised.value))


def test_a_peer_that_dies_is_an_error_at_once(pair, tmp_path: pathlib.Path) -> None:
    ids, parties = pair
    spec = {"job": "intersect", "id": "x", "reveal_to": ["hospital"], "key": {"columns": ["id"]}, "protocol": "ecdh"}
    (tmp_path / "job.json").write_text(json.dumps({**spec, "parties": parties}))
    (tmp_path / "in.csv").write_text("\n".join(["id", *map(str, range(300_000))]))
    told = [COMMAND, "run", "job.json", "--as", "insurer", "--input", "in.csv", "--identity", tmp_path / "insurer"]
    other = subprocess.Popen([*map(str, told), "--quiet"])
    died: list[float] = []

    def dies(_: tacita.Progress) -> None:
        if not died:
            other.kill()
            died.append(time.monotonic())

    table = pyarrow.table({"id": range(300_000)})
    with pytest.raises(tacita.NetworkError) as raised:
        tacita.run(tacita.Job.load(tmp_path / "job.json"), "hospital", table, ids["hospital"], progress=dies)
    assert (raised.value.code, raised.value.peer) == (3, "insurer") and time.monotonic() - died[0] < 10
    other.wait()


def test_several_runs_at_once() -> None:
    job = tacita.Job(job="intersect", id="x", reveal_to=["a"], key={"columns": ["id"]}, parties=["a", "b"])

    def one(shift: int) -> object:
        a, b = pyarrow.table({"id": range(1000)}), pyarrow.table({"id": range(shift, 1000 + shift)})
        return tacita.simulate(job, {"a": a, "b": b})["a"].value

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(one, range(0, 600, 100))) == [{"rows": 1000 - shift} for shift in range(0, 600, 100)]


def test_sums_and_means_of_several_columns() -> None:
    """Against pandas, with missing values; the table has a column for each number."""
    a = pandas.DataFrame({"id": [1, 2, 3, 9]})
    b = pandas.DataFrame({"id": [1, 1, 2, 3, 4], "v": [10, -4, None, 5, 99], "w": [0.5, 0.25, 1, None, 7]}).astype({"v": "Int64"})
    common = b[b["id"].isin(a["id"])][["v", "w"]]
    for reveal in ("sum:w,v", "mean:v,w"):
        job = tacita.Job(
            job="intersect", id="x", reveal=reveal, reveal_to=["a"], gives={"b": ["v", "w"]}, key={"columns": ["id"]}, parties=["a", "b"]
        )
        assert job.reveal == reveal
        result = tacita.simulate(job, {"a": a, "b": b})["a"]
        assert result.value is not None and result.value["count"] == 3
        assert result.value["sum"] == common.sum().to_dict() == {"v": 11, "w": 1.75}
        numbers = result.table.to_pylist()[0]
        assert (numbers["count"], numbers["sum_v"], numbers["sum_w"]) == (3, 11, "1.75")
        if reveal.startswith("mean"):
            assert result.value["values"] == common.count().to_dict()
            assert result.value["mean"] == pytest.approx(common.mean().to_dict(), rel=1e-14)
            assert numbers["mean_v"] == "3.66666666666667"


def test_others_run_meanwhile(pair) -> None:
    """The interpreter is released: this thread goes on while another waits in vain for its peer."""
    ids, parties = pair
    job, ended = tacita.Job(**patients(parties)), threading.Event()

    def wait() -> None:
        with pytest.raises(tacita.NetworkError):
            tacita.run(job, "hospital", PATIENTS / "hospital.csv", ids["hospital"], timeout=1.0)
        ended.set()

    thread = threading.Thread(target=wait)
    thread.start()
    steps = 0
    while not ended.is_set():
        steps += 1
        time.sleep(0.001)
    thread.join()
    assert steps > 20


INTERRUPTED = """
import sys, time, signal, os, threading, pyarrow, tacita
job = tacita.Job.load(sys.argv[1])
def interrupt():
    time.sleep(0.5)
    global began
    began = time.monotonic()
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt).start()
try:
    if sys.argv[2] == "run":
        tacita.run(job, "hospital", pyarrow.table({"name": ["x"], "dob": ["2000-01-01"]}), sys.argv[3])
    elif sys.argv[2] == "roles":
        tacita.simulate(job, {name: sys.argv[3] for name in "abcdef"})
    elif sys.argv[2] == "stream":
        # A library that computes only when it is asked.
        slow = (time.sleep(0.2) or pyarrow.record_batch({"id": [i]}) for i in range(100))
        stream = pyarrow.RecordBatchReader.from_batches(pyarrow.schema({"id": pyarrow.int64()}), slow)
        tacita.simulate(job, {"a": stream, "b": pyarrow.table({"id": [1]})})
    else:
        n = 3_000_000
        tacita.simulate(job, {"a": pyarrow.table({"id": range(n)}), "b": pyarrow.table({"id": range(n)})})
except KeyboardInterrupt:
    print(time.monotonic() - began)
"""


@pytest.mark.parametrize("what", ["run", "simulate", "stream", "roles"])
def test_ctrl_c_ends_a_run_within_a_second(what: str, pair, tmp_path: pathlib.Path) -> None:
    _, parties = pair
    spec: dict[str, object] = {
        "job": "intersect",
        "id": "x",
        "reveal_to": ["a"],
        "key": {"columns": ["id"]},
        "protocol": "ecdh",
        "parties": {"a": {}, "b": {}},
    }
    if what == "run":
        spec = patients(parties)
    elif what == "roles":
        spec = tomllib.loads((EXAMPLES / "attackers" / "three.toml").read_text())
    (tmp_path / "job.json").write_text(json.dumps(spec))
    other = tmp_path / "hospital" if what == "run" else next((EXAMPLES / "attackers" / "lists").iterdir())
    (tmp_path / "scratch").mkdir()
    told = [sys.executable, "-c", INTERRUPTED, "job.json", what, str(other)]
    within = {**os.environ, "TMPDIR": str(tmp_path / "scratch")}
    ran = subprocess.run(told, capture_output=True, text=True, timeout=60, env=within)
    assert ran.stdout and float(ran.stdout) < 1.0, ran.stderr
    # Neither tables nor processes are left.
    assert not list((tmp_path / "scratch").iterdir())
    assert str(tmp_path) not in subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout


def test_files_of_a_run_are_for_its_user_alone(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lists = {one.name.split(".")[0]: one for one in (EXAMPLES / "attackers" / "lists").iterdir()}
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    seen, ended = set(), threading.Event()

    def look() -> None:
        while not ended.is_set():
            seen.update(one.stat().st_mode & 0o777 for one in tmp_path.glob("tacita-*"))
            time.sleep(0.01)

    looking = threading.Thread(target=look)
    looking.start()
    try:
        tacita.simulate(tacita.Job.load(EXAMPLES / "attackers" / "three.toml"), lists)
    finally:
        ended.set()
        looking.join()
    assert seen == {0o700} and not list(tmp_path.glob("tacita-*"))


FORKED = """
import os, sys, pyarrow, tacita
job = tacita.Job(job="intersect", id="x", reveal_to=["a"], key={"columns": ["id"]}, parties=["a", "b"])
tables = {name: pyarrow.table({"id": range(1000)}) for name in "ab"}
if sys.argv[1] == "after":
    tacita.simulate(job, tables)
if os.fork() == 0:
    try:
        print(tacita.simulate(job, tables)["a"].value, flush=True)
    except tacita.InputError as error:
        print(error, flush=True)
    os._exit(0)
os.wait()
"""


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_fork_that_would_wait_for_ever_says_so(when: str) -> None:
    ran = subprocess.run([sys.executable, "-c", FORKED, when], capture_output=True, text=True, timeout=60)
    told = "{'rows': 1000}" if when == "before" else "this process is a fork of one that has computed"
    assert ran.stdout.startswith(told), ran.stderr


def test_progress_is_told_and_may_end_a_run() -> None:
    job = tacita.Job(
        job="intersect", id="x", reveal_to=["a"], key={"columns": ["id"]}, protocol="ecdh", parties=["a", "b"]
    )
    tables = {name: pyarrow.table({"id": range(30_000)}) for name in "ab"}
    seen: list[tacita.Progress] = []
    tacita.simulate(job, tables, progress=seen.append)
    assert {one.party for one in seen} == {"a", "b"} and all(
        one.phase and one.done <= one.total for one in seen if one.total
    )

    def enough(now: tacita.Progress) -> None:
        raise LookupError(now.party)

    with pytest.raises(LookupError):
        tacita.simulate(job, tables, progress=enough)


BARS = """
import sys, pyarrow, tacita, tacita._progress
there = tacita._progress._there
tacita._progress._there = lambda package: package == sys.argv[1] and there(package)
job = tacita.Job(job="intersect", id="x", reveal_to=["a"], key={"columns": ["id"]}, protocol="ecdh", parties=["a", "b"])
print(tacita.simulate(job, {name: pyarrow.table({"id": range(20_000)}) for name in "ab"}, progress=True)["a"])
print([name for name in ("rich.progress", "tqdm.auto") if name in sys.modules])
"""


@pytest.mark.parametrize("package", ["rich", "tqdm", "neither"])
def test_bars_are_drawn_by_what_is_there(package: str, tmp_path: pathlib.Path) -> None:
    ran = subprocess.run([sys.executable, "-c", BARS, package], capture_output=True, text=True, timeout=60)
    drawn = {"rich": "['rich.progress']", "tqdm": "['tqdm.auto']", "neither": "[]"}[package]
    assert ran.stdout.splitlines() == ["Result(a: rows 20000)", drawn], ran.stderr
    assert "Traceback" not in ran.stderr and (package != "tqdm" or "a: " in ran.stderr)


def test_the_command_is_a_module_too() -> None:
    ran = subprocess.run([sys.executable, "-m", "tacita", "--version"], capture_output=True, text=True, timeout=60)
    assert ran.stdout == f"tacita {tacita.__version__}\n"


def test_what_is_said_goes_to_logging_without_values(caplog: pytest.LogCaptureFixture) -> None:
    job = tacita.Job(
        job="intersect", id="x", reveal_to=["a"], parties=["a", "b"], key={"columns": ["born"], "normalize": ["date"]}
    )
    with caplog.at_level(logging.INFO, logger="tacita"):
        dates = ["2026-01-01"] * 8 + ["nonsense-17"]
        tacita.simulate(job, {name: pyarrow.table({"born": dates}) for name in "ab"})
    assert any("a learns which of its own rows" in one.message for one in caplog.records)
    assert any(one.levelname == "WARNING" and "cannot be read" in one.message for one in caplog.records)
    assert "nonsense-17" not in caplog.text


def test_a_plan_says_what_the_command_says() -> None:
    path = PATIENTS / "job.toml"
    told = command("plan", path, "--rows", "hospital=5000", "--rows", "insurer=6000", "--json")
    theirs, plan = json.loads(told.stdout), tacita.plan(tacita.Job.load(path), rows={"hospital": 5000, "insurer": 6000})
    for key in ("protocol", "choice", "rounds"):
        assert plan.json[key] == theirs[key]
    for name, share in theirs["parties"].items():
        assert (
            plan.learned(name) == share["learned"] and plan.json["parties"][name]["bytes_sent"] == share["bytes_sent"]
        )
    assert "hospital sends" in repr(plan) and "<table>" in plan._repr_html_()
    exact = tacita.plan(
        tacita.Job.load(path), tables={name: PATIENTS / f"{name}.csv" for name in ("hospital", "insurer")}
    )
    assert exact.json["parties"]["hospital"]["items"] == 186
    with pytest.raises(tacita.InputError, match="how many .* has insurer"):
        tacita.plan(tacita.Job.load(path), rows={"hospital": 1})


JOB: dict[str, object] = {
    "job": "intersect",
    "id": "x",
    "reveal_to": ["a"],
    "key": {"columns": ["id"]},
    "parties": ["a", "b"],
}
ARGUMENTS: dict[str, tuple[Callable[[tacita.Job, dict[str, pyarrow.Table]], object], str]] = {
    "no bandwidth": (lambda job, tables: tacita.simulate(job, tables, bandwidth=0), "give bits a second"),
    "bandwidth below zero": (lambda job, tables: tacita.simulate(job, tables, bandwidth=-5), "give bits a second"),
    "bandwidth that is none": (lambda job, tables: tacita.plan(job, {}, bandwidth=float("nan")), "give bits a second"),
    "latency below zero": (lambda job, tables: tacita.simulate(job, tables, latency=-1), "latency = -1"),
    "memory below zero": (lambda job, tables: tacita.simulate(job, tables, memory=-5), "memory = -5"),
    "rows below zero": (lambda job, tables: tacita.plan(job, {"a": -1, "b": 5}), "rows of a = -1"),
    "half a row": (lambda job, tables: tacita.plan(job, {"a": 1, "b": 1.5}), "rows of b = 1.5"),
    "tables without names": (lambda job, tables: tacita.simulate(job, [*tables.values()]), "by name"),  # type: ignore[arg-type]
    "a key of another type": (lambda job, tables: tacita.Job(**{**JOB, "key": "id"}), r"expected the table \[key\]$"),
    "an object": (lambda job, tables: tacita.Job(**{**JOB, "limits": {"max_rows": object()}}), "object cannot be a value"),
    "no number": (
        lambda job, tables: tacita.Job(**{**JOB, "limits": {"max_rows": float("nan")}}),
        "^limits: Out of range",
    ),
}


@pytest.mark.parametrize("case", ARGUMENTS)
def test_a_wrong_argument_is_named(case: str) -> None:
    do, why = ARGUMENTS[case]
    with pytest.raises(tacita.InputError, match=why) as raised:
        do(tacita.Job(**JOB), {name: pyarrow.table({"id": [1]}) for name in "ab"})
    assert raised.value.code == 2 and "\n" not in str(raised.value)


def test_numbers_are_numbers_however_they_are_written() -> None:
    job = tacita.Job(**{**JOB, "limits": {"max_rows": numpy.int64(5)}, "reveal_to": numpy.array(["a"])})
    assert job.terms["limits"] == {"max_rows": 5} and job.reveal_to == ["a"]
    assert tacita.plan(job, {"a": 5.0, "b": numpy.int64(5)}, bandwidth=numpy.float64(1e8)).rounds > 0


def test_an_error_names_its_party_once() -> None:
    tables = {"a": pyarrow.table({"ident": [1]}), "b": pyarrow.table({"id": [1]})}
    with pytest.raises(tacita.InputError, match='^a: no column "id"') as raised:
        tacita.simulate(tacita.Job(**JOB), tables)
    assert raised.value.party == "a"


def test_what_is_shown_of_a_result_is_short() -> None:
    names = {party: [f"{party}{number}" for number in range(60)] for party in "ab"}
    job = tacita.Job(job="dot", id="x", reveal_to=["a"], column=names, bits=1, parties=["a", "b"])
    tables = {party: pyarrow.table({name: [1] for name in columns}) for party, columns in names.items()}
    assert len(repr(tacita.simulate(job, tables))) < 300
    wide = pyarrow.table({"id": [1], **{f"c{number}": ["x" * 100_000] for number in range(50)}})
    result = tacita.simulate(tacita.Job(**JOB), {"a": wide, "b": wide})["a"]
    assert len(result._repr_html_()) < 10_000 and len(result.table["c0"][0].as_py()) == 100_000


def test_notebooks_get_html_that_is_escaped() -> None:
    job = tacita.Job(job="intersect", id="<b>", reveal_to=["a"], key={"columns": ["id"]}, parties=["a", "b"])
    table = pyarrow.table({"id": ["<i>1</i>"]})
    result = tacita.simulate(job, {"a": table, "b": table})
    for html in (job._repr_html_(), result._repr_html_(), result["a"]._repr_html_()):
        assert "<table" in html and "<b>'" not in html and "<i>" not in html
