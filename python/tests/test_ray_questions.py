"""Parties that ask more than one question in a run on many machines."""

from __future__ import annotations

import os
import pathlib
import shutil
from types import SimpleNamespace
from typing import Any

import pyarrow
import pytest
from spreading import NAMES, Other, full, job_of, parties  # noqa: F401
from test_ray_faults import run_both
from test_ray_rules import rules_job

import tacita
import tacita.ray
from tacita.ray import ClusterResult, Processes, _result, _run, _tasks

KEYS = 50


def forgetful(order: _tasks.Order, post: Any, *pieces: Any) -> Any:
    """Asks of other keys at each attempt, keeps what it learns, and says that the connection was lost."""
    keys = [f"Person {number}" for number in range(order.attempt * KEYS, (order.attempt + 1) * KEYS)]
    _tasks.bucket(order, post, pyarrow.table({"name": keys, order.party: keys}))
    found = pathlib.Path(order.output).parent / f"learned-{order.attempt}"
    order.kept("parquet").rename(found)
    raise tacita.NetworkError("the connection was lost", "network", 3)


def learned_sets(tmp_path: pathlib.Path) -> int:
    return len(list((tmp_path / "out").glob("learned-*")))


@pytest.mark.parametrize("who", NAMES[:2])
@pytest.mark.parametrize(("options", "questions"), [({}, 1), ({"repeats": 1}, 2)])
def test_who_says_that_a_bucket_failed_learns_no_more_of_it(
    parties, tmp_path: pathlib.Path, who: str, options: dict[str, Any], questions: int
) -> None:
    """One question is answered, and as many more as its party agreed to, whatever the other says about its network."""
    victim = next(name for name in NAMES[:2] if name != who)
    pools = {name: Other(1, forgetful) if name == who else Processes(1) for name in NAMES[:2]}
    each = {who: {"repeats": 1000, "retries": 1000}, victim: options}
    errors = run_both(job_of(parties), tmp_path, pools, {"buckets": 1, "patience": 60.0}, each)
    raised = errors[NAMES.index(victim)]
    assert isinstance(raised, tacita.NetworkError) and "bucket 0 was answered and has to be repeated" in str(raised)
    assert learned_sets(tmp_path) == questions


@pytest.mark.parametrize("who", NAMES[:2])
def test_who_forgets_what_it_had_is_not_told_again(parties, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, who: str) -> None:
    """It has kept all buckets, loses the connection, and comes back with none of them."""
    check_whole = _run._Run.check_whole

    def forgets(self: Any, missing: set[int], number: int) -> None:
        check_whole(self, missing, number)
        if self.party == who:
            self.finished.clear()
            self.told.clear()
            raise tacita.NetworkError("the connection was lost", "network", 3)

    monkeypatch.setattr(_run._Run, "check_whole", forgets)
    victim = next(name for name in NAMES[:2] if name != who)
    pools = {name: Processes(1) for name in NAMES[:2]}
    errors = run_both(job_of(parties), tmp_path, pools, {"patience": 60.0}, {who: {"repeats": 1000, "retries": 1000}, victim: {"repeats": 1}})
    raised = errors[NAMES.index(victim)]
    if victim == NAMES[0]:
        # It is told when all have kept a bucket.
        assert isinstance(raised, tacita.ProtocolError) and raised.peer == who and "which all parties have reported as done" in str(raised)
    else:
        assert isinstance(raised, tacita.NetworkError) and "as 1 before it, and repeats = 1" in str(raised)


@pytest.mark.parametrize("who", NAMES[:2])
def test_what_was_opened_is_not_opened_of_other_rows(parties, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, who: str) -> None:
    """It has the value, loses the connection, and would do the buckets again."""
    add_up, check = _run._Run._add_up, _run._Run._check_opened
    opened: list[str] = []

    def forgets(self: Any, drivers: Any) -> Any:
        outcome = add_up(self, drivers)
        if self.party != who:
            return outcome
        opened.append(who)
        self.finished.clear()
        raise tacita.NetworkError("the connection was lost", "network", 3)

    monkeypatch.setattr(_run._Run, "_add_up", forgets)
    monkeypatch.setattr(_run._Run, "_check_opened", lambda self, drivers: None if self.party == who else check(self, drivers))
    for name in NAMES[:2]:
        for piece in (tmp_path / name).iterdir():
            piece.unlink()
        (tmp_path / name / "a.csv").write_text("value\n1\n2\n3\n")
    job = tacita.Job(job="dot", id="d", reveal_to=list(NAMES[:2]), bits=4, parties={name: parties[name] for name in NAMES[:2]})
    errors = run_both(job, tmp_path, {name: Processes(1) for name in NAMES[:2]}, {"buckets": 3, "patience": 60.0})
    raised = errors[1 - NAMES.index(who)]
    assert isinstance(raised, tacita.TermsError) and "was opened, and 3 of its buckets are to be done again" in str(raised)
    assert opened == [who]


def test_learned_says_how_many_questions_were_answered(parties, tmp_path: pathlib.Path) -> None:
    """A machine that cannot write what it has learned asks again."""
    pools = {"hospital": Other(1, full), "insurer": Processes(1)}
    results = run_both(job_of(parties), tmp_path, pools, {"patience": 60.0})
    for result in results:
        assert isinstance(result, ClusterResult) and result.report["buckets"]["answered_again"] == 1
        assert any("answered more than one question: 1 bucket was done again" in sentence for sentence in result.learned)


def test_learned_says_that_one_question_was_answered(parties, tmp_path: pathlib.Path) -> None:
    results = run_both(job_of(parties, reveal_to=["hospital"]), tmp_path, {name: Processes(1) for name in NAMES[:2]}, {"patience": 60.0})
    for result, answered in zip(results, (False, True)):
        assert isinstance(result, ClusterResult) and result.report["buckets"]["answered_again"] == 0
        assert any("insurer has answered each bucket once" in sentence for sentence in result.learned) == answered


def test_learned_says_what_a_second_count_of_rules_may_ask(parties) -> None:
    """Rows are the same as the first time; items of the other party are not seen, and may be others."""
    drivers: Any = SimpleNamespace(buckets=4, sizes=dict.fromkeys(NAMES[:2], 400), bounds={})
    dot = tacita.Job(job="dot", id="d", reveal_to=list(NAMES[:2]), bits=4, parties={name: parties[name] for name in NAMES[:2]})

    def learned(job: tacita.Job, opened: int) -> str:
        return " ".join(_result.learned(job._spec, "hospital", drivers, False, 0, opened))

    rules = learned(rules_job(parties), 2)
    assert "counted 2 times" in rules and "which items insurer had in them is not seen" in rules and "another question" in rules
    assert "the same buckets" not in rules
    assert "opened 2 times, because a connection was lost; each time of the same buckets" in learned(dot, 2)
    for job in (dot, rules_job(parties)):
        assert "2 times" not in learned(job, 1)


@pytest.fixture
def begun(parties, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """Where the hospital keeps the one bucket of a run that both have begun, and that its driver has left."""

    def ends(self: Any, *arguments: Any) -> None:
        raise tacita.InternalError("no more", "internal", 70)

    buckets = _run._Run._buckets
    monkeypatch.setattr(_run._Run, "_buckets", lambda self, *arguments: (ends if self.party == NAMES[0] else buckets)(self, *arguments))
    (tmp_path / "kept").mkdir()
    errors = run_both(job_of(parties), tmp_path, {name: Processes(1) for name in NAMES[:2]}, {"buckets": 1, "patience": 60.0}, kept(tmp_path))
    monkeypatch.setattr(_run._Run, "_buckets", buckets)
    assert "no more" in str(errors[0]), errors
    (part,) = (tmp_path / "out").glob(".hospital.*.part")
    return part


def kept(tmp_path: pathlib.Path, **more: Any) -> dict[str, dict[str, Any]]:
    return {name: {"work": tmp_path / "kept" / name, **more} for name in NAMES[:2]}


def test_a_run_is_resumed_where_it_was_begun(parties, tmp_path: pathlib.Path, begun: pathlib.Path) -> None:
    """What it has answered is known there alone."""

    def resumed(output: pathlib.Path) -> None:
        tacita.ray.run(
            job_of(parties), "hospital", tmp_path / "hospital", tmp_path / "id" / "hospital", output, on=Processes(1), timeout=1.0,
            work=tmp_path / "kept" / "hospital", resume=True,
        )  # fmt: skip

    for output in (tmp_path / "out" / "other", tmp_path / "elsewhere" / "hospital"):
        with pytest.raises(tacita.InputError, match="has its buckets in .*give the same output as before"):
            resumed(output)
    (tmp_path / "link").symlink_to(tmp_path / "out")
    # It waits for the other party.
    with pytest.raises(tacita.NetworkError):
        resumed(tmp_path / "link" / "hospital")
    shutil.rmtree(begun)
    with pytest.raises(tacita.InputError, match="is missing, where the kept run"):
        resumed(tmp_path / "out" / "hospital")


def test_what_was_answered_is_looked_up_by_who_resumes(parties, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, begun: pathlib.Path) -> None:
    """A machine has answered a bucket and was lost, and its directory is listed as it was before."""
    (begun / _tasks.told_name(0)).touch()
    listed = os.listdir
    monkeypatch.setattr(os, "listdir", lambda *place: [name for name in listed(*place) if not str(name).startswith(_tasks.TOLD)])
    each = kept(tmp_path, resume=True)
    each["hospital"]["repeats"] = 0
    errors = run_both(job_of(parties), tmp_path, {name: Processes(1) for name in NAMES[:2]}, {"buckets": 1, "patience": 60.0}, each)
    assert isinstance(errors[0], tacita.NetworkError) and "bucket 0 was answered and has to be repeated" in str(errors[0]), errors
