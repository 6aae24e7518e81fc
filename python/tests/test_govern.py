"""Policy and ledger: what the command says of them, as values."""

from __future__ import annotations

import csv
import io
import json
import pathlib
from concurrent.futures import ThreadPoolExecutor

import pytest
from conftest import command

import tacita


def question(parties: dict[str, dict[str, str]]) -> tacita.Intersect:
    """How many the insurer has in common with the hospital."""
    return tacita.Intersect(key=["id"], reveal=tacita.Count(to="insurer"), parties=parties)


def counted(pair, tmp_path: pathlib.Path) -> tacita.Intersect:
    """The same, asked and answered once."""
    ids, parties = pair
    asked = question(parties)
    tables = {name: tmp_path / f"{name}.csv" for name in ids}
    for name, rows in {"hospital": "1\n2\n3\n", "insurer": "2\n3\n4\n"}.items():
        tables[name].write_text(f"id\n{rows}")
    with ThreadPoolExecutor() as pool:
        results = list(pool.map(lambda name: tacita.run(asked.job, name, tables[name], ids[name]), ids))
    assert [result.value for result in results] == [None, {"count": 2}]
    return asked


def policy(tmp_path: pathlib.Path, peer: str, keys: str) -> pathlib.Path:
    path = tmp_path / "a policy.toml"
    path.write_text(f'[[allow]]\npeers = ["{peer}"]\n{keys}\n')
    return path


def test_a_policy_allows_and_refuses(pair, tmp_path: pathlib.Path) -> None:
    ids, parties = pair
    asked, peer = question(parties), ids["insurer"].fingerprint
    path = policy(tmp_path, peer, 'reveal = ["count"]')
    for job in (asked, asked.job):
        allowed = tacita.policy.check(job, "hospital", policy=path)
        assert allowed.rule == f"{path}, line 2"
        assert allowed.remaining == ("without an identity, earlier runs, their privacy loss and approvals were not counted",)
    assert tacita.policy.check(asked, "hospital", policy=path, identity=ids["hospital"]).remaining == ()
    with pytest.raises(tacita.InputError, match="line 3: refused by policy: reveal: the job reveals \"count\""):
        tacita.policy.check(asked, "hospital", policy=policy(tmp_path, peer, 'reveal = ["rows"]'))
    with pytest.raises(tacita.InputError, match="there is no policy"):
        tacita.policy.check(asked, "hospital", identity=ids["hospital"])
    with pytest.raises(tacita.InputError, match="bank"):
        tacita.policy.check(asked, "bank", policy=path)
    with pytest.raises(tacita.InputError, match="policy = 3"):
        tacita.policy.check(asked, "hospital", policy=3)  # type: ignore[arg-type]


def test_a_policy_is_explained(pair, tmp_path: pathlib.Path) -> None:
    ids, parties = pair
    path = policy(tmp_path, ids["insurer"].fingerprint, 'reveal = ["rows"]\n[[allow]]\npeers = []')
    told = tacita.policy.explain(question(parties), identity=ids["hospital"], policy=path)
    assert told.allowed_by is None and [(rule.line, rule.allows) for rule in told.rules] == [(2, False), (5, False)]
    peers, reveal, *_ = told.rules[0].keys
    assert peers.refusal is None and reveal.text == 'reveal = ["rows"]'
    assert reveal.refusal == 'reveal: the job reveals "count"' and reveal.line == 3
    path = policy(tmp_path, ids["insurer"].fingerprint, "exact_answers = 3")
    told = tacita.policy.explain(question(parties), identity=ids["hospital"], policy=path)
    assert told.allowed_by == 2 and told.remaining[0].startswith("exact_answers is counted when a run has read its rows")
    with pytest.raises(tacita.InputError, match="names no party with the identity"):
        tacita.policy.explain(question({"hospital": {}, "insurer": {}}), identity=ids["hospital"], policy=path)


def test_a_ledger_is_read_as_by_the_command(pair, tmp_path: pathlib.Path) -> None:
    ids, _ = pair
    with pytest.raises(tacita.InputError, match="nothing was run yet"):
        tacita.ledger.list(ids["hospital"])
    counted(pair, tmp_path)
    for name in ids:
        entries = tacita.ledger.list(tmp_path / name)
        (entry,) = entries
        assert entry["entry"] == 1 and entry["party"] == name and entry["ended"]["outcome"] == "done"
        assert tacita.ledger.show(ids[name], 1) == entry == json.loads(command("ledger", "show", 1, "--identity", tmp_path / name).stdout)
        assert tacita.ledger.verify(ids[name]) + "\n" == command("ledger", "verify", "--identity", tmp_path / name).stdout
        assert json.loads(tacita.ledger.export(ids[name])) == entries
        (row,) = csv.DictReader(io.StringIO(tacita.ledger.export(ids[name], "csv")))
        assert (row["outcome"], row["job"]) == ("done", "intersect")
        assert tacita.ledger.export(ids[name], "html").startswith("<!doctype html>")
        with pytest.raises(tacita.InputError, match="entry = 2: the ledger holds 1"):
            tacita.ledger.show(ids[name], 2)
        with pytest.raises(tacita.InputError, match="format = 'pdf': use one of json, csv, html"):
            tacita.ledger.export(ids[name], "pdf")  # type: ignore[arg-type]
        with pytest.raises(tacita.InputError, match="there is no ledger"):
            (tmp_path / "empty").mkdir(mode=0o700, exist_ok=True)
            tacita.ledger.verify(ids[name], directory=tmp_path / "empty")


def test_runs_count_for_a_policy(pair, tmp_path: pathlib.Path) -> None:
    asked = counted(pair, tmp_path)
    ids, _ = pair
    path = policy(tmp_path, ids["insurer"].fingerprint, "runs_per_day = 1")
    tacita.policy.check(asked, "hospital", policy=path)
    with pytest.raises(tacita.InputError, match="runs_per_day: insurer had 1 runs today"):
        tacita.policy.check(asked, "hospital", policy=path, identity=ids["hospital"])


def test_a_ledger_that_was_changed_is_told(pair, tmp_path: pathlib.Path) -> None:
    counted(pair, tmp_path)
    place = tmp_path / "hospital" / "ledger"
    contents = bytearray(place.read_bytes())
    contents[60] ^= 1
    place.write_bytes(contents)
    for read in (tacita.ledger.list, tacita.ledger.verify, tacita.ledger.export):
        with pytest.raises(tacita.InputError, match="record 1 of .* was changed, cut or moved"):
            read(tmp_path / "hospital")
