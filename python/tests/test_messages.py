"""What is said: warnings in reports, records of a job and a party, what will be learned, and refusals in the words of Python."""

from __future__ import annotations

import logging
import pathlib
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import pandas
import polars
import pyarrow
import pyarrow.dataset
import pytest

import tacita

KEYS: dict[str, Any] = {"job": "intersect", "id": "jan", "reveal_to": ["a"], "key": {"columns": ["day"], "normalize": ["date"]}, "parties": ["a", "b"]}
JOB = tacita.Job(**KEYS)
SOME = pyarrow.table({"day": ["2026-01-01"] * 8 + ["nonsense-17", "2026-01-02"]})
ALL = pyarrow.table({"day": ["2026-01-01", "2026-01-03"]})


def test_a_party_is_told_of_rows_that_it_could_not_use() -> None:
    result = tacita.simulate(JOB, {"a": SOME, "b": ALL})
    (warning,) = result["a"].warnings
    assert "cannot be read" in warning and "nonsense" not in warning
    assert result["a"].report["warnings"] == [warning] and result["b"].warnings == []
    assert result.report["parties"]["a"]["warnings"] == [warning]


def test_warnings_are_of_one_run(pair: Any) -> None:
    """Of several at once, each has its own."""
    ids, parties = pair
    job = tacita.Job(**{**KEYS, "reveal_to": list(parties), "parties": parties})
    found = {}

    def one(name: str, table: pyarrow.Table) -> None:
        found[name] = tacita.run(job, name, table, ids[name])

    threads = [threading.Thread(target=one, args=pair) for pair in zip(parties, (SOME, ALL))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found["hospital"].warnings) == 1 and found["insurer"].warnings == []
    # Of a run, and not of the process.
    assert tacita.simulate(JOB, {"a": ALL, "b": ALL})["a"].warnings == []


def test_records_tell_their_job_and_party(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="tacita"):
        tacita.simulate(JOB, {"a": SOME, "b": ALL})
    warned = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert [(record.job, record.party) for record in warned] == [("jan", "a")]  # type: ignore[attr-defined]
    assert {record.job for record in caplog.records} == {"jan"}  # type: ignore[attr-defined]
    assert {record.party for record in caplog.records} == {None, "a", "b"}  # type: ignore[attr-defined]


def runs(pair: Any, **options: Any) -> tacita.Result:
    """A run of the hospital, whose peer comes."""
    ids, parties = pair
    job = tacita.Job(**{**KEYS, "reveal_to": ["hospital"], "parties": parties})
    other = threading.Thread(target=tacita.run, args=(job, "insurer", ALL, ids["insurer"]), kwargs={"timeout": 30.0})
    other.start()
    try:
        return tacita.run(job, "hospital", ALL, ids["hospital"], **options)
    finally:
        other.join()


def test_what_will_be_learned_is_told_before_a_run(pair: Any, capsys: pytest.CaptureFixture[str]) -> None:
    told: list[str] = []
    confirmed: list[list[str]] = []
    result = runs(pair, tell=told.append, confirm=lambda sentences: confirmed.append(sentences) or True)
    assert result.learned[0] in told and confirmed == [told] and any(line.startswith("insurer learns") for line in told)
    assert capsys.readouterr().err == ""
    runs(pair, tell=True)
    assert result.learned[0] in capsys.readouterr().err


@pytest.mark.parametrize("asks", [lambda sentences: False, True])
def test_a_run_that_is_not_confirmed_sends_nothing(pair: Any, asks: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ids, parties = pair
    job = tacita.Job(**{**KEYS, "reveal_to": ["hospital"], "parties": parties})
    monkeypatch.setattr("builtins.input", lambda prompt: "n")
    # Nobody is there: it would wait, and be another error.
    with pytest.raises(tacita.InputError, match="^the run was not confirmed: nothing was sent$"):
        tacita.run(job, "hospital", ALL, ids["hospital"], confirm=asks, timeout=0.0)
    for what in ("tell", "confirm"):
        with pytest.raises(tacita.InputError, match=f"^{what} = 'yes': give a function"):
            tacita.run(job, "hospital", ALL, ids["hospital"], **{what: "yes"})


def run(**options: Any) -> Callable[[], object]:
    return lambda: tacita.run(options.pop("job", JOB), options.pop("party", "a"), options.pop("data", ALL), options.pop("identity", "id"), **options)


def simulate(**options: Any) -> Callable[[], object]:
    return lambda: tacita.simulate(JOB, {"a": ALL, "b": ALL}, **options)


WRONG: dict[str, tuple[Callable[[], object], str]] = {
    "memory in words": (simulate(memory="1G"), r"^memory = '1G': give a number of bytes, as 2e9"),
    "memory without an end": (simulate(memory=float("inf")), "^memory = inf"),
    "latency in words": (simulate(latency="slow"), "^latency = 'slow': give seconds"),
    "no latency": (simulate(latency=None), "^latency = None: give seconds"),
    "bandwidth in words": (simulate(bandwidth="100M"), "^bandwidth = '100M': give bits a second, as 100e6"),
    "storage that is no text": (simulate(storage=5), "^storage: .*int"),
    "a flag that is none": (simulate(allow_unreadable="yes"), "^allow_unreadable: "),
    "no identity": (run(identity=None), "^identity = None: give a tacita.Identity"),
    "an identity that is a number": (lambda: tacita.Identity(5), "^directory = 5: give a path"),  # type: ignore[arg-type]
    "a job that is a path": (run(job="job.toml"), r"^job: a str is not a job: give tacita.Job.load\('job.toml'\)"),
    "rows without names": (lambda: tacita.plan(JOB, 5), "^rows: a int has no names of parties: give "),  # type: ignore[arg-type]
    "tables without names": (lambda: tacita.plan(JOB, tables=pandas.DataFrame({"day": []})), "^tables: a DataFrame has no names"),  # type: ignore[arg-type]
    "rows in words": (lambda: tacita.plan(JOB, {"a": "1k", "b": 5}), "^rows of a = '1k': give a whole number"),  # type: ignore[dict-item]
    "a path that is none": (lambda: tacita.Job.load(5), "^path = 5: give a path"),  # type: ignore[arg-type]
    "a text that is none": (lambda: tacita.Job.parse(5), "^text: "),  # type: ignore[arg-type]
    "a place that is none": (lambda: tacita.simulate(JOB, {"a": ALL, "b": ALL})["a"].save(5), "^path = 5: give a path"),  # type: ignore[arg-type]
    "an argument of another name": (
        lambda: tacita.intersect(ALL, "SHA256:x", "id", key=["day"], lissten=":7400"),  # type: ignore[call-arg]
        r"^unexpected argument 'lissten' \(did you mean 'listen'\?\)",
    ),
    "a key without an order": (lambda: tacita.intersect(ALL, "SHA256:x", "id", key={"day", "id"}, listen=":7400"), "^key: a set has no order"),  # type: ignore[arg-type]
    "columns without an order": (
        lambda: tacita.intersect(ALL, "SHA256:x", "id", key=["day"], gives={"day", "id"}, listen=":7400"),  # type: ignore[arg-type]
        "^gives: a set has no order",
    ),
    "a URL": (lambda: tacita.simulate(JOB, {"a": "s3://bucket/a.parquet", "b": ALL}), r'^a: "s3://bucket/a.parquet" is a URL, and no path: give the table'),
    "a dataset": (lambda: tacita.simulate(JOB, {"a": pyarrow.dataset.dataset(ALL), "b": ALL}), "^a: .*Dataset is no table: give what its to_table"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_with_an_argument_is_said_with_its_name(case: str, tmp_path: pathlib.Path) -> None:
    do, why = WRONG[case]
    if "identity" not in case:
        tacita.Identity.create("id")
    with pytest.raises(tacita.InputError, match=why) as raised:
        do()
    assert "\n" not in str(raised.value) and raised.value.code == 2


@pytest.mark.parametrize("name", ["timeout", "patience"])
@pytest.mark.parametrize("value", [None, "60", -1, float("nan"), True])
def test_times_are_seconds(name: str, value: object) -> None:
    tacita.Identity.create("id")
    for of in (tacita.run, tacita.submit):
        more = ["2026-01"] if of is tacita.submit else []
        with pytest.raises(tacita.InputError, match=f"^{name} = {value}: give seconds|^{name} = '60': give seconds"):
            of(JOB, "a", ALL, "id", *more, **{name: value})


OF_COMMAND = re.compile(r"--[a-z]|on the command line")
REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "too little memory": (simulate(memory=10), "memory allows 10 B"),
    "no column": (lambda: tacita.simulate(JOB, {"a": pandas.DataFrame({"date": ["2026-01-01"]}), "b": ALL}), "columns = "),
    "a header that is data": (lambda: tacita.simulate(JOB, {"a": headless(), "b": ALL}), "header = false"),
    "an insecure level": (
        lambda: tacita.simulate(tacita.Job(**{**KEYS, "level": "paper80", "protocol": "bloom"}), {"a": ALL, "b": ALL}),
        "allow_insecure=True|not there",
    ),
    "keys that cannot be read": (lambda: tacita.simulate(JOB, {"a": pandas.DataFrame({"day": ["x", "y"]}), "b": ALL}), "allow_unreadable=True goes on"),
    "somebody else's identity": (lambda: someone_else(), "use the right identity"),
}


def headless() -> str:
    pathlib.Path("a.csv").write_text("2026-01-01\n2026-01-02\n")
    return "a.csv"


def someone_else() -> None:
    ids = [tacita.Identity.create(name) for name in ("one", "two")]
    parties = {"a": {"identity": ids[0].fingerprint, "address": "127.0.0.1:9"}, "b": {"identity": ids[1].fingerprint}}
    tacita.run(tacita.Job(**{**KEYS, "parties": parties}), "b", ALL, ids[0])


@pytest.mark.parametrize("case", REFUSED)
def test_refusals_speak_of_arguments_and_not_of_options(case: str) -> None:
    do, why = REFUSED[case]
    with pytest.raises(tacita.InputError, match=why) as raised:
        do()
    told = str(raised.value).replace("the command's --work", "")
    assert not OF_COMMAND.search(told), told


def test_a_reader_that_is_used_up_is_named() -> None:
    for rows in (SOME, SOME.slice(0, 0)):
        reader = pyarrow.RecordBatchReader.from_batches(rows.schema, rows.to_batches())
        if rows.num_rows:
            assert tacita.simulate(JOB, {"a": reader, "b": ALL})["a"].value == {"rows": 8}
        with pytest.raises(tacita.InputError, match="^a: the reader is used up, or never had a row"):
            tacita.simulate(JOB, {"a": reader, "b": ALL})
    assert tacita.simulate(JOB, {"a": SOME.slice(0, 0), "b": ALL})["a"].value == {"rows": 0}


NOTHING = {
    "polars": polars.DataFrame({"day": ["2026-01-01", "2026-01-02"], "none": [None, None]}),
    "polars in a list": polars.DataFrame({"day": ["2026-01-01", "2026-01-02"], "none": [[None], []]}),
    "polars in a record": polars.DataFrame({"day": ["2026-01-01", "2026-01-02"], "none": [{"x": None, "y": 1}, {"x": None, "y": 2}]}),
    "pyarrow": pyarrow.table({"day": ["2026-01-01", "2026-01-02"], "none": pyarrow.nulls(2)}),
    "pyarrow in a dictionary": pyarrow.table(
        {"day": ["2026-01-01", "2026-01-02"], "none": pyarrow.DictionaryArray.from_arrays(pyarrow.array([0, None], pyarrow.int8()), pyarrow.nulls(1))}
    ),
    "pandas": pandas.DataFrame({"day": ["2026-01-01", "2026-01-02"], "none": [None, None]}),
}


@pytest.mark.parametrize("kind", NOTHING)
def test_columns_without_a_value_are_read(kind: str) -> None:
    table = NOTHING[kind]
    result = tacita.simulate(JOB, {"a": table, "b": ALL})["a"]
    assert result.value == {"rows": 1}
    assert result.table["none"].to_pylist() == pyarrow.table(table)["none"].to_pylist()[:1]


def test_a_key_without_a_value_is_no_key() -> None:
    for table in (polars.DataFrame({"day": [None, None]}), pyarrow.table({"day": pyarrow.nulls(2)})):
        assert tacita.simulate(JOB, {"a": table, "b": ALL})["a"].value == {"rows": 0}


def test_a_type_error_of_the_users_own_stays_one() -> None:
    def progress(now: tacita.Progress) -> None:
        raise TypeError("mine")

    big = pyarrow.table({"id": range(30_000)})
    job = tacita.Job(job="intersect", id="x", reveal_to=["a"], key={"columns": ["id"]}, protocol="ecdh", parties=["a", "b"])
    with pytest.raises(TypeError, match="^mine$"):
        tacita.simulate(job, {"a": big, "b": big}, progress=progress)


def test_the_package_begins_without_what_is_optional() -> None:
    """Each takes a second and more to begin, and is asked for where it is used."""
    code = "import sys, tacita, tacita.learn; print([name for name in ('sklearn', 'pandas', 'pyarrow', 'numpy', 'polars') if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
