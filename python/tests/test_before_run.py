"""Tables that are inspected, and parties that are examined: what the commands find, as values."""

from __future__ import annotations

import json
import pathlib
import pickle
import socket
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import EXAMPLES, command, free_address

import tacita

PATIENTS = (
    'name,born,mail,visits\n"DOE, Jane",04/05/1980,jane@example.org,3\n"Smith, Bob",13/05/1980,bob@example.org,12\n'
    '"DOE, Jane",04/05/1980,,3\n"Miller, Ann",,ann@example.org,\n"Roe, Rick",31/02/1981,rick@example.org,7\n'
)
KEY = {"key": ["name", "born"], "normalize": ["name", tacita.date("DMY")]}


def patients(tmp_path: pathlib.Path) -> pathlib.Path:
    path = tmp_path / "patients.csv"
    path.write_text(PATIENTS)
    return path


def commanded(tmp_path: pathlib.Path, *arguments: object) -> tuple[str, dict[str, object], str]:
    """What the command prints, its report, and its warnings."""
    report = tmp_path / "report.json"
    report.unlink(missing_ok=True)
    ran = command("inspect", *arguments, "--report", report)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout, json.loads(report.read_text()), ran.stderr


def question(parties=None, **keys: object) -> tacita.Intersect:
    return tacita.Intersect(key=["id"], reveal=tacita.Rows(to="hospital"), parties=parties, **keys)


def test_a_file_is_inspected_as_by_the_command(tmp_path: pathlib.Path) -> None:
    path = patients(tmp_path)
    for arguments, options in [
        ((), {}),
        (("--columns", "mail,visits"), {"columns": ["mail", "visits"]}),
        (("--key", "name,dob=born", "--normalize", "name,date:DMY"), {**KEY, "key": {"name": "name", "dob": "born"}}),
        (("--key", "visits", "--normalize", "integer", "--nulls", "3"), {"key": "visits", "normalize": "integer", "nulls": ["3"]}),
        (("--key", "mail"), {"key": ["mail"], "normalize": {}}),
    ]:
        printed, report, said = commanded(tmp_path, path, *arguments)
        found = tacita.inspect(path, **options)
        assert found.json == report
        assert found.text.replace("Add key=[...]", "Add --key A,B") + "\n" == printed
        assert repr(found) == found.text and all(warning in said for warning in found.warnings)
    assert found.rows == 5 and found.counts["items"] == 4 and found.counts["nulls"] == 1
    assert "mail" in found._repr_html_()


def test_findings_are_values(tmp_path: pathlib.Path) -> None:
    found = tacita.inspect(patients(tmp_path), **KEY)
    assert found.counts == {"read": 5, "nulls": 1, "unreadable": 1, "duplicates": 1, "items": 2}
    assert found.first_keys[0] == {"place": "line 2", "parts": ["doe jane", "1980-05-04"]}
    assert found.unreadable == [{"place": "line 6", "header": "born", "value": "31/02/1981"}]
    assert found.frequent[0]["values"][0] == {"value": "DOE, Jane", "rows": 2, "mark": None}
    born = found.columns[1]
    assert (born.name, born.type, born.empty, born.distinct, born.shape, born.profiles) == ("born", "text", 1, 3, "99/99/9999", ("date:DMY",))
    assert 0.5 < born.read["date:DMY"] < 1
    # What may be shown to others has no value of the table.
    assert not any(value in json.dumps(found.json) for value in ("Jane", "DOE", "1980", "1981"))
    assert "Jane" in found.text
    assert pickle.loads(pickle.dumps(found)).json == found.json


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "duckdb", "batches"])
def test_a_frame_is_inspected_as_its_file(library: str, tmp_path: pathlib.Path) -> None:
    frame = pd.read_csv(patients(tmp_path))
    written = tmp_path / "patients.parquet"
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), written)
    _, report, said = commanded(tmp_path, written, "--key", "name,born", "--normalize", "name,date:DMY")
    table = pa.Table.from_pandas(frame, preserve_index=False)
    data = {
        "pandas": lambda: frame,
        "polars": lambda: pl.from_pandas(frame),
        "pyarrow": lambda: table,
        "duckdb": lambda: duckdb.from_arrow(table),
        # Batches of any length are one table.
        "batches": lambda: pa.Table.from_batches([batch for row in range(5) for batch in table.slice(row, 1).to_batches()]),
    }[library]()
    found = tacita.inspect(data, **KEY)
    assert found.json["form"]["name"] == "table in memory" and found.json["file"] == "data"
    assert {**found.json, "file": "", "form": ""} == {**report, "file": "", "form": ""}
    assert all(warning.replace("data", "", 1) in said for warning in found.warnings)


def test_long_tables_are_counted_in_one_go() -> None:
    """A frame of one batch is longer than the batches that are looked at."""
    frame = pl.DataFrame({"id": [number % 100_000 for number in range(200_000)]}).rechunk()
    found = tacita.inspect(frame, key="id", normalize="integer")
    assert found.counts == {"read": 200_000, "nulls": 0, "unreadable": 0, "duplicates": 100_000, "items": 100_000}
    assert found.columns[0].distinct == 100_000


def test_a_questions_key_is_inspected(tmp_path: pathlib.Path) -> None:
    frame = pd.DataFrame({"ID": [1, 2, 2, None], "x": [1, 2, 3, 4]}).astype({"ID": "Int64"})
    counts = {"read": 4, "nulls": 1, "unreadable": 0, "duplicates": 1, "items": 2}
    agreed = question({"hospital": {"columns": {"id": "ID"}}, "insurer": {}})
    for asked in (agreed, agreed.job):
        assert tacita.inspect(frame, asked, "hospital").counts == counts
    assert tacita.inspect(frame.rename(columns={"ID": "id"}), question()).counts == counts
    with tacita.local({"hospital": frame, "insurer": pl.DataFrame({"id": [5]})}) as session:
        found = session.inspect(agreed)
        assert found["hospital"].counts == counts and found["insurer"].counts["items"] == 1
    # A party's settings are those of its file, too.
    (tmp_path / "t.csv").write_text("a line\nid\nx\nnone\n")
    agreed = question({"hospital": {"skip": 1, "nulls": ["none"]}, "insurer": {}})
    assert tacita.inspect(tmp_path / "t.csv", agreed, "hospital").counts == {**counts, "read": 2, "items": 1, "duplicates": 0}
    # Jobs that match no keys have columns alone.
    numbers = tacita.Dot(column="x", bits=8, reveal=tacita.Value(to="a"), parties=["a", "b"])
    assert tacita.inspect(frame, numbers, "a").counts == {}


def test_sixteen_threads_look_at_one_table_and_one_inspection(pair) -> None:
    ids, parties = pair
    frame = pl.DataFrame({"id": [number % 50 for number in range(1000)]})
    shared = tacita.inspect(frame, key="id")

    def look(number: int) -> tuple[object, ...]:
        found = tacita.inspect(frame, key="id") if number % 2 else shared
        checked = tacita.doctor(question(parties), "insurer", ids["insurer"], data=frame)
        return found.counts, found.columns, found.text, found.warnings, repr(found), found._repr_html_(), bool(checked), checked.to_mend

    with ThreadPoolExecutor(16) as pool:
        first, *others = pool.map(look, range(64))
    assert all(other == first for other in others) and first[0]["items"] == 50  # type: ignore[call-overload,index]


def test_baskets_are_inspected(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "shop.dat"
    path.write_text("1 2 3\n2\n\n")
    printed, report, _ = commanded(tmp_path, path)
    found = tacita.inspect(path)
    assert (found.json, found.text + "\n", found.columns, found.rows) == (report, printed, [], 3)
    with pytest.raises(tacita.InputError, match="baskets have no columns"):
        tacita.inspect(path, key="1")


def test_empty_tables_are_inspected(tmp_path: pathlib.Path) -> None:
    for data in (pd.DataFrame({"id": pd.Series([], dtype="int64")}), pl.DataFrame({"id": []}, schema={"id": pl.String}), pa.table({"id": pa.array([], pa.string())})):
        found = tacita.inspect(data, key="id")
        assert found.rows == found.counts["items"] == 0 and found.columns[0].profiles == ()
        assert "no rows" in found.text
    with pytest.raises(tacita.InputError, match="no columns"):
        tacita.inspect(pd.DataFrame())
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(tacita.InputError, match="empty.csv"):
        tacita.inspect(tmp_path / "empty.csv")


def test_what_cannot_be_inspected_is_refused_in_one_line(tmp_path: pathlib.Path) -> None:
    frame, path = pd.DataFrame({"id": [1]}), patients(tmp_path)
    agreed = question({"hospital": {}, "insurer": {}})
    for give, words in [
        (lambda: tacita.inspect(tmp_path / "none.csv"), "none.csv: cannot be read"),
        (lambda: tacita.inspect(tmp_path), "is a directory"),
        (lambda: tacita.inspect("s3://there/t.parquet"), "is a URL"),
        (lambda: tacita.inspect(17), "data: a int is no table"),  # type: ignore[arg-type]
        (lambda: tacita.inspect([path, path]), "data: 2 tables are given"),
        (lambda: tacita.inspect([frame, frame]), "data: 2 tables are given"),
        (lambda: tacita.inspect(frame, key="ID"), 'data: no column "ID"'),
        (lambda: tacita.inspect(frame, columns=["x"]), 'data: no column "x"'),
        (lambda: tacita.inspect(frame, columns={"id"}), "columns: a set has no order"),  # type: ignore[arg-type]
        (lambda: tacita.inspect(frame, key=[]), "key: name at least one"),
        (lambda: tacita.inspect(frame, key={"id"}), "key: a set has no order"),  # type: ignore[arg-type]
        (lambda: tacita.inspect(frame, key="id", normalize="dates"), "dates"),
        (lambda: tacita.inspect(frame, key="id", normalize=["none", "none"]), "normalize: 2 profiles for 1 key column"),
        (lambda: tacita.inspect(frame, key="id", normalize={"x": "none"}), "normalize: 'x' is not in key"),
        (lambda: tacita.inspect(frame, key="id", decimal=";"), "decimal = "),
        (lambda: tacita.inspect(frame, normalize="none"), "normalize: it is about the columns of key"),
        (lambda: tacita.inspect(frame, nulls=["x"]), "nulls: it is about the columns of key"),
        (lambda: tacita.inspect(frame, agreed), "party: whose table is it? Give one of hospital, insurer"),
        (lambda: tacita.inspect(frame, agreed, "bank"), "bank"),
        (lambda: tacita.inspect(frame, agreed, "hospital", key="id"), "key: the question says how rows are matched"),
        (lambda: tacita.inspect(frame, "job.toml", "hospital"), "is not a job"),  # type: ignore[arg-type]
        (lambda: tacita.inspect(frame, tacita.Intersect(key={"any": [["id"], ["x"]]}, reveal=tacita.Rows(to="a"))), "several keys"),
    ]:
        with pytest.raises(tacita.InputError, match=words.replace("(", r"\(").replace("?", r"\?")) as raised:
            give()
        assert "\n" not in raised.value.message and "--" not in raised.value.message


def examined(ran: subprocess.CompletedProcess[str]) -> list[tuple[str, str, str]]:
    """The findings that the command prints."""
    lines = ran.stdout.split("\n\n")[0].splitlines()
    return [(line[:4].strip().lower(), *line[6:].split(maxsplit=1)) for line in lines]


def told(found: tacita.Diagnosis) -> list[tuple[str, str, str]]:
    return [(finding.state, finding.subject, finding.text) for finding in found]


def test_a_party_is_examined_as_by_the_command(pair, tmp_path: pathlib.Path) -> None:
    ids, parties = pair
    job, table, output = tmp_path / "job.toml", tmp_path / "t.csv", tmp_path / "common.csv"
    question(parties).save(job)
    table.write_text("id\n1\n2\n2\n\n")
    output.write_text("there")
    with listening(parties["hospital"]["address"]):
        ran = command("doctor", job, "--as", "insurer", "--identity", tmp_path / "insurer", "--input", table)
        found = tacita.doctor(job, "insurer", tmp_path / "insurer", data=table)
        assert told(found) == examined(ran) and ran.returncode == 0
        assert bool(found) and found.to_mend == [] and repr(found) + "\n" == ran.stdout
    arguments = ("--as", "hospital", "--identity", tmp_path / "hospital", "--input", table, "--output", output)
    ran = command("doctor", job, *arguments)
    found = tacita.doctor(job, "hospital", ids["hospital"], data=table, output=output)
    advised = [(state, subject, text.replace("overwrite=True", "--force")) for state, subject, text in told(found)]
    assert advised == examined(ran) and ran.returncode == 2
    assert not found and [finding.subject for finding in found.to_mend] == ["output"] and "1 thing to mend." in repr(found)
    assert "output" in found._repr_html_() and len(found) == len(list(found))
    assert tacita.doctor(job, "hospital", ids["hospital"], data=table, output=output, overwrite=True)


def listening(address: str) -> socket.socket:
    host, port = address.split(":")
    return socket.create_server((host, int(port)))


def test_tables_in_memory_are_examined(pair) -> None:
    ids, parties = pair
    rows = {"id": ["1", "2", "2", None, *map(str, range(10, 400))]}
    for data in (pd.DataFrame(rows), pl.DataFrame(rows), pa.table(rows)):
        found = tacita.doctor(question(parties), "hospital", ids["hospital"], data=data)
        assert ("ok", "input", "hospital: 394 rows, 392 distinct keys; 1 without a key, 0 unreadable, 1 with a key seen before") in told(found)
        assert found
    found = tacita.doctor(question(parties), "hospital", ids["hospital"], data=pl.DataFrame({"ID": [1]}))
    (finding,) = found.to_mend
    assert finding.subject == "input" and 'no column "id"' in finding.text and "--" not in finding.text
    found = tacita.doctor(question(parties), "hospital", ids["hospital"])
    assert ("note", "input", "not looked at: give data") in told(found)
    few = question(parties, limits={"min_rows": 3})
    (finding,) = tacita.doctor(few, "hospital", ids["hospital"], data=pl.DataFrame({"id": []}, schema={"id": pl.String})).to_mend
    assert finding.subject == "input"


def test_what_is_wrong_is_a_finding(pair, tmp_path: pathlib.Path) -> None:
    ids, parties = pair
    agreed = question(parties)

    def mends(*arguments: object, **options: object) -> list[tuple[str, str]]:
        found = tacita.doctor(*arguments, **options)  # type: ignore[arg-type]
        return [(finding.subject, finding.text) for finding in found.to_mend]

    (wrong,) = mends(agreed, "hospital", ids["insurer"])
    assert wrong[0] == "identity" and ids["insurer"].fingerprint in wrong[1]
    (wrong,) = mends(agreed, "hospital", tmp_path / "nowhere")
    assert wrong[0] == "identity" and "nowhere" in wrong[1]
    (wrong,) = mends(tmp_path / "none.toml", "hospital", ids["hospital"])
    assert wrong[0] == "job" and "none.toml" in wrong[1]
    (wrong,) = mends(agreed, "bank", ids["hospital"])
    assert wrong[0] == "job"
    (wrong,) = mends(agreed, "hospital", ids["hospital"], data=tmp_path / "none.csv")
    assert wrong[0] == "input" and "none.csv" in wrong[1]
    with listening(parties["hospital"]["address"]):
        (wrong,) = mends(agreed, "hospital", ids["hospital"])
        assert wrong[0] == "network" and "choose a free port" in wrong[1] and "--" not in wrong[1]
    assert mends(agreed, "hospital", ids["hospital"], listen="127.0.0.1:0") == []
    # A peer that does not answer may not have begun.
    found = tacita.doctor(agreed, "insurer", ids["insurer"])
    assert found and any(finding.state == "note" and "does not answer" in finding.text for finding in found)


def test_what_is_no_argument_is_refused(pair) -> None:
    ids, parties = pair
    agreed = question(parties)
    for give, words in [
        (lambda: tacita.doctor(17, "hospital", ids["hospital"]), "job: a int is not a job"),  # type: ignore[arg-type]
        (lambda: tacita.doctor(question(), "hospital", ids["hospital"]), "parties: none are named"),
        (lambda: tacita.doctor(agreed, "hospital", 17), "identity = 17"),  # type: ignore[arg-type]
        (lambda: tacita.doctor(agreed, 17, ids["hospital"]), "party: "),  # type: ignore[arg-type]
        (lambda: tacita.doctor(agreed, "hospital", ids["hospital"], data=17), "hospital: a int is no table"),  # type: ignore[arg-type]
        (lambda: tacita.doctor(agreed, "hospital", ids["hospital"], output=17), "output = 17"),  # type: ignore[arg-type]
        (lambda: tacita.doctor(agreed, "hospital", ids["hospital"], timeout=-1), "timeout = -1"),
    ]:
        with pytest.raises(tacita.InputError, match=words) as raised:
            give()
        assert "\n" not in raised.value.message


def test_doctors_of_sessions_meet(pair) -> None:
    ids, parties = pair
    tables = {name: pd.DataFrame({"id": [1, 2]}) for name in ids}
    sessions = {
        "hospital": tacita.connect("hospital", ids["hospital"], {"insurer": parties["insurer"]}, listen=parties["hospital"]["address"]),
        "insurer": tacita.connect("insurer", ids["insurer"], {"hospital": parties["hospital"]}),
    }
    with sessions["hospital"], sessions["insurer"], ThreadPoolExecutor() as pool:
        found = list(pool.map(lambda name: sessions[name].doctor(question(), tables[name], meet=True), ids))
        for name, other, seen in zip(ids, reversed(ids), found):
            assert seen, seen
            assert any(text.startswith(f"connected with {other}") for _, subject, text in told(seen) if subject == "meet")
            assert {"clock", "terms"} <= {finding.subject for finding in seen}
            assert sessions[name].inspect(question(), tables[name]).counts["items"] == 2
        # With other terms they say so, and the sessions go on.
        asked = {"hospital": question(), "insurer": question(limits={"max_rows": 10})}
        for seen in pool.map(lambda name: sessions[name].doctor(asked[name], meet=True), ids):
            assert [finding.subject for finding in seen.to_mend] == ["terms"]
        answers = list(pool.map(lambda name: sessions[name].ask(question(), tables[name]), ids))
        assert answers[0].mask.all()
    with pytest.raises(tacita.InputError, match="closed"):
        sessions["hospital"].doctor(question())
    with pytest.raises(tacita.InputError, match="closed"):
        sessions["hospital"].inspect(question(), tables["hospital"])


def test_ctrl_c_ends_a_doctor_that_waits(pair, tmp_path: pathlib.Path) -> None:
    """Its peer is there and says nothing."""
    ids, parties = pair
    agreed = question({"hospital": parties["hospital"], "insurer": {**parties["insurer"], "address": free_address()}})
    agreed.save(tmp_path / "job.toml")
    code = """
        import os, signal, socket, threading, tacita

        agreed = tacita.Job.load("job.toml")
        with socket.create_server(("127.0.0.1", 0)) as silent:
            address = "127.0.0.1:%d" % silent.getsockname()[1]
            named = tacita.Job.parse(agreed.to_toml().replace(ADDRESS, address))

            def interrupt():
                silent.accept()
                os.kill(os.getpid(), signal.SIGINT)

            threading.Thread(target=interrupt, daemon=True).start()
            try:
                tacita.doctor(named, "insurer", "insurer", meet=True, timeout=3600)
            except KeyboardInterrupt:
                print("interrupted")
    """
    code = textwrap.dedent(code).replace("ADDRESS", repr(parties["hospital"]["address"]))
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert ran.stdout == "interrupted\n", ran.stderr


def test_others_go_on_while_a_doctor_waits(pair) -> None:
    """The interpreter is released: the thread that is waited for is one of this process."""
    ids, parties = pair
    with socket.create_server(("127.0.0.1", 0)) as silent:
        parties["hospital"]["address"] = "127.0.0.1:%d" % silent.getsockname()[1]
        accepted = threading.Event()

        def accept() -> None:
            connection, _ = silent.accept()
            accepted.set()
            connection.close()

        other = threading.Thread(target=accept)
        other.start()
        found = tacita.doctor(question(parties), "insurer", ids["insurer"], meet=True, timeout=0.5)
        other.join()
    assert accepted.is_set() and [finding.subject for finding in found.to_mend] == ["meet"]
    assert "meet=True" in found.to_mend[0].text or "hospital" in found.to_mend[0].text


def test_an_aggregations_participant_is_examined(tmp_path: pathlib.Path) -> None:
    job, table = EXAMPLES / "attackers" / "three.toml", EXAMPLES / "attackers" / "lists" / "alder.txt"
    tacita.Identity.create(tmp_path / "id", "alder")
    found = tacita.doctor(job, "alder", tmp_path / "id", data=table)
    assert told(found) == examined(command("doctor", job, "--as", "alder", "--identity", tmp_path / "id", "--input", table))
    (input,) = [one for one in tacita.doctor(job, "alder", tmp_path / "id", data=pd.DataFrame({"x": [1]})) if one.subject == "input"]
    assert input.state == "mend"
