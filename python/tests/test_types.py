"""The types are true: of the stubs beside the binary, and for a user who checks strictly."""

from __future__ import annotations

import pathlib
import subprocess
import sys

from conftest import ROOT

SAMPLE = """
import polars as pl
import tacita


def common(hospital: pl.DataFrame, insurer: pl.DataFrame) -> int:
    job = tacita.Job(
        job="intersect", id="demo", reveal_to=["hospital"], parties=["hospital", "insurer"],
        key={"columns": ["name"], "normalize": ["name"]},
    )
    plan: tacita.Plan = tacita.plan(job, rows={"hospital": hospital.height, "insurer": insurer.height})
    print(plan.protocol, plan.seconds + 1.0)
    try:
        results = tacita.simulate(job, {"hospital": hospital, "insurer": insurer}, progress=lambda now: print(now.done))
    except tacita.NetworkError as error:
        print(error.peer, error.code + 1)
        raise
    frame: pl.DataFrame = results["hospital"].to_polars()
    identity = tacita.Identity("id")
    again: tacita.Result = tacita.run(job, "hospital", hospital, identity, timeout=5.0)
    kept = tacita.Job.from_file("job.toml")
    again = tacita.run(kept, "hospital", hospital, identity, tell=print, confirm=lambda sentences: len(sentences) < 10)
    rows = hospital.filter(again.mask)[again.positions[0]]
    print(rows, again.warnings, kept == job, kept.to_toml(), again.to_pandas(dtype_backend="pyarrow"))
    two: tacita.Result = tacita.union(insurer, "SHA256:...", "id", key=["name"], connect="h:7400", max_rows=10)
    print(two.value)
    question = tacita.Intersect(
        key={"columns": ["name", "born"], "normalize": ["name", tacita.date("DMY")], "duplicates": "first"},
        reveal=tacita.Payload(to="hospital", gives={"insurer": ["plan"]}), limits={"max_rows": 1000},
        parties={"hospital": {}, "insurer": {"columns": {"name": "insured"}}},
    )
    with tacita.local({"hospital": hospital, "insurer": insurer}) as session:
        costs: tacita.Plan = session.check(question)
        answers = session.ask(question, progress=False)
        answer: tacita.Result = answers["hospital"]
    found: tacita.Inspection = tacita.inspect(hospital, question, "hospital")
    facts: tacita.ColumnFacts = tacita.inspect("table.csv", key={"name": "insured"}, normalize=["name"], columns=["insured"]).columns[0]
    checked: tacita.Diagnosis = tacita.doctor(question, "hospital", identity, data=hospital, meet=True, timeout=5.0)
    print(found.counts["items"] + 1, found.text, facts.profiles[0], bool(checked), [finding.text for finding in checked.to_mend])
    question.save("job.toml", overwrite=True)
    saved: tacita.Intersect = tacita.Intersect.from_file("job.toml")
    some: tacita.Question = tacita.Question.from_file("job.toml")
    print(costs.seconds, answer.join(hospital), saved == some, saved.fingerprint, some.terms()["id"], tacita.run(saved.job, "hospital", hospital, "id"))
    round: tacita.Aggregate = tacita.Aggregate(key="ip", round={"reveal_when": "distinct >= 3"}, reveal=tacita.Keys(to="participants"))
    rules = tacita.Rules(min_support="1%", items={"column": "items"}, bins={"age": 4, "cost": [10.5, 20]}, reveal_to=["hospital", "insurer"])
    print(round, rules, tacita.Dot(column={"a": "x", "b": ["y", "z"]}, reveal=tacita.Value(to="a")), tacita.Shares(operation="open", reveal_to="a"))
    return frame.height + len(again.learned)
"""

WRONG = """
import tacita

tacita.run(tacita.Job.load("job.toml"), "hospital", 17, "id")
tacita.intersect("table.csv", "SHA256:...", "id", key=["id"], lissten=":7400")
tacita.learn.KNeighborsClassifier("five")
tacita.Job(job="intersect", id="x", revael="rows")
tacita.Job(job="intersect", id=5)
tacita.Intersect(key=["id"], revael="rows")
tacita.Intersect(reveal_to="a")
tacita.Intersect(key=["id"], reveal=tacita.Value(to="a"))
tacita.Union(key={"colums": ["id"]}, reveal_to="a")
tacita.Dot(security="honest", reveal_to="a")
tacita.inspect(17)
tacita.doctor("job.toml", "hospital", "id", meets=True)
"""


def mypy(text: str, path: pathlib.Path) -> subprocess.CompletedProcess[str]:
    path.write_text(text)
    return subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", str(path)], capture_output=True, text=True, cwd=path.parent
    )


def test_a_users_sample_passes_strictly(tmp_path: pathlib.Path) -> None:
    ran = mypy(SAMPLE, tmp_path / "sample.py")
    assert ran.returncode == 0, ran.stdout
    ran = mypy(WRONG, tmp_path / "wrong.py")
    assert ran.returncode == 1 and ran.stdout.count("[arg-type]") == 7 and ran.stdout.count("[call-arg]") == 5, ran.stdout


def test_the_package_itself_passes_strictly(tmp_path: pathlib.Path) -> None:
    told = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "python" / "pyproject.toml"), "-p", "tacita"]
    ran = subprocess.run(told, capture_output=True, text=True, cwd=tmp_path)
    assert ran.returncode == 0, ran.stdout


def test_the_stubs_are_those_of_the_binary(tmp_path: pathlib.Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", "tacita._tacita"], capture_output=True, text=True, cwd=tmp_path
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
