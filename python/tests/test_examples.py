"""Every job of the samples gives the same as the command, whose results the project's other tests compare with the truth; and fails in the same way."""

from __future__ import annotations

import json
import pathlib
import re

import pyarrow.csv
import pytest
from conftest import EXAMPLES, command

import tacita

LEFT_OUT = {
    "do-not-fly/desk": "a list that stands and is asked, which no simulation runs",
    "office/job": "its tables are read with an option: see docs/start.md",
    "office/fees": "likewise",
    "office/addresses": "its inputs are lists: see docs/start.md",
    "dot/clients": "its clients' tables are slices, which its README makes",
    "dot/open": "opens shares: see test_shares",
    "dot/enough": "opens shares: see test_shares",
    "crosstab/job": "what closes besides small cells is random: see test_crosstab",
    "crosstab/costs": "likewise",
    "crosstab/three": "likewise",
    "dot/shares": "its results are random: see test_shares",
    "dot/noisy": "its results have noise",
    "attackers/noisy": "likewise",
}


def inputs(path: pathlib.Path, job: tacita.Job) -> dict[str, pathlib.Path]:
    """The samples' tables of a job's parties, or participants."""
    if job.kind == "aggregate":
        here = path.parent / "lists" if (path.parent / "lists").is_dir() else path.parent
        return {
            one.name.split(".")[0]: one
            for one in sorted(here.iterdir())
            if one.is_file() and one.suffix not in (".toml", ".md")
        }
    return {name: path.parent / f"{name}.csv" for name in job.parties}


def jobs() -> list[str]:
    paths = [path for path in sorted(EXAMPLES.glob("*/*.toml")) if path.parent.name != "policies"]
    names = [str(path.relative_to(EXAMPLES).with_suffix("")) for path in paths]
    assert set(LEFT_OUT) <= set(names)
    return [name for name in names if name not in LEFT_OUT]


@pytest.mark.parametrize("name", jobs())
def test_a_sample_gives_what_the_command_gives(name: str, tmp_path: pathlib.Path) -> None:
    path = EXAMPLES / f"{name}.toml"
    job = tacita.Job.load(path)
    tables = inputs(path, job)
    given = [f"--input={party}={table}" for party, table in tables.items()]
    out, report = tmp_path / "cli", tmp_path / "report.json"
    ran = command("simulate", path, *given, "--output", out, "--report", report, "--quiet")
    assert ran.returncode == 0, ran.stderr
    theirs = json.loads(report.read_text())

    ours = tacita.simulate(job, tables)
    assert ours.report["agreement"] == theirs["agreement"] == job.agreement
    saved = tmp_path / "python"
    saved.mkdir()
    for party, result in ours.items():
        if result.table_names:
            result.save(saved / f"{party}.csv")
        if party in theirs["parties"]:
            its = theirs["parties"][party]
            # Which protocol `auto` takes depends on what this machine does just then.
            same = job.protocol != "auto" or result.report.get("protocol") == its.get("protocol")
            for key in ("protocol", "rows", "result", "learned", "peers") if same else ("rows", "result", "peers"):
                assert result.report.get(key) == its.get(key), (party, key)
    written = {one.name for one in out.iterdir()}
    assert {one.name for one in saved.iterdir()} == written
    for one in written:
        assert (saved / one).read_bytes() == (out / one).read_bytes(), one


def test_tables_in_memory_give_the_same(tmp_path: pathlib.Path) -> None:
    path = EXAMPLES / "patients" / "payload.toml"
    job = tacita.Job.load(path)
    files = inputs(path, job)

    def read(file: pathlib.Path) -> pyarrow.Table:
        with file.open() as text:
            names = text.readline().strip().split(",")
        types = {name: pyarrow.string() for name in names}
        return pyarrow.csv.read_csv(file, convert_options=pyarrow.csv.ConvertOptions(column_types=types))

    of_files = tacita.simulate(job, files)
    of_memory = tacita.simulate(job, {name: read(file) for name, file in files.items()})
    for name in job.reveal_to:
        of_files[name].save(tmp_path / "files.csv")
        of_memory[name].save(tmp_path / "memory.csv")
        assert (tmp_path / "files.csv").read_text() == (tmp_path / "memory.csv").read_text()


def test_shares(tmp_path: pathlib.Path) -> None:
    dot = EXAMPLES / "dot"
    job = tacita.Job.load(dot / "shares.toml")
    ended = tacita.simulate(job, inputs(dot / "shares.toml", job))
    files = {name: tmp_path / f"{name}.json" for name in ended}
    for name, result in ended.items():
        result.save(files[name])
        assert files[name].stat().st_mode & 0o777 == 0o600
        assert result.table_names == [] and "values" not in repr(result)
    opened = tacita.simulate(tacita.Job.load(dot / "open.toml"), files)
    assert {json.dumps(one.value) for one in opened.values() if one.value} == {'{"value": 131}'}


# One party is at fault, or the job: where both are, either may be the first to say so.
NAMED = {"hospital": {}, "insurer": {"columns": {"name": "insured"}}}
WRONG: dict[str, dict[str, object]] = {
    "no column": {"key": {"columns": ["name"]}, "parties": {"hospital": {}, "insurer": {}}},
    "no profile": {"key": {"columns": ["name"], "normalize": ["nane"]}},
    "too many rows": {"key": {"columns": ["name"]}, "limits": {"max_rows": 150}},
    "nobody gives": {"key": {"columns": ["name"]}, "reveal": "sum:cost"},
    "gives what is not there": {"key": {"columns": ["name"]}, "reveal": "payload", "gives": {"insurer": ["costs"]}},
    "no numbers": {"key": {"columns": ["name"]}, "reveal": "sum:payer", "gives": {"insurer": ["payer"]}},
    "keys there twice": {
        "key": {"columns": ["name"], "duplicates": "error"},
        "parties": {**NAMED, "hospital": {"columns": {"name": "patient"}}},
    },
    "unreadable": {
        "key": {"columns": ["name"], "normalize": ["date"]},
        "parties": {**NAMED, "hospital": {"columns": {"name": "dob"}}},
    },
    "no such level": {"key": {"columns": ["name"]}, "protocol": "polynomial", "security": "malicious"},
}


@pytest.mark.parametrize("case", WRONG)
def test_the_same_error_as_the_command(case: str, tmp_path: pathlib.Path) -> None:
    spec = {"job": "intersect", "id": "x", "reveal_to": ["hospital"], "parties": NAMED, **WRONG[case]}
    path = tmp_path / "job.json"
    path.write_text(json.dumps(spec))
    tables = {name: EXAMPLES / "patients" / f"{name}.csv" for name in ("hospital", "insurer")}
    ran = command("simulate", path, *(f"--input={name}={table}" for name, table in tables.items()), "--quiet")
    with pytest.raises(tacita.Error) as raised:
        tacita.simulate(tacita.Job.load(path), tables)
    error = raised.value
    assert (error.kind, error.code, ran.returncode) == ("input", 2, 2)
    # But for the options of the command, which are arguments here.
    theirs = re.sub(r", or `[^`]*` on the command line", "", ran.stderr.strip().removeprefix("error: "))
    assert theirs.replace("--allow-unreadable", "allow_unreadable=True") == str(error)
