"""Drivers of other parties that say what they like, and connections that are lost at the worst time."""

from __future__ import annotations

import json
import pathlib
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from spreading import NAMES, Other, job_of, late_scatter, parties, run_all, truth  # noqa: F401

import tacita
import tacita.ray
from tacita import _tacita
from tacita.ray import ClusterResult, Processes, _tasks
from tacita.ray._driver import Own

def meet(job: tacita.Job, tmp_path: pathlib.Path, name: str, rows: int = 1500, ready: bool = True) -> Any:
    """A driver of its own, which may say what it likes."""
    identity = _tacita.Identity.load(tmp_path / "id" / name)
    work = _tacita.Work.open(tmp_path / f"work-{name}", job._spec, name, identity, False)
    account, commitment = _tacita.RunAccount.open(job._spec, name, identity), _tacita.Commitment()
    commitment.add(b"rows")
    counts = json.dumps({"read": rows, "nulls": 0, "unreadable": 0, "duplicates": 0, "items": rows})
    drivers = _tacita.Drivers.meet(
        job._spec, name, identity, work, account, rows=counts, commitment=commitment, buckets=5, finished=[], listen=None, timeout=30.0, patience=60.0
    )  # fmt: skip
    if ready:
        Own(drivers, name, job.parties).ready()
    return drivers


def victim(job: tacita.Job, tmp_path: pathlib.Path, name: str, pool: Any = None, **options: Any) -> Callable[[], Any]:
    """The other party, which runs as it should; and what it ends with."""
    ended: list[Any] = []

    def work() -> None:
        try:
            result = tacita.ray.run(job, name, tmp_path / name, tmp_path / "id" / name, tmp_path / "out" / name, on=pool or Processes(1), buckets=5, **{"timeout": 60.0, "patience": 5.0, **options})
            ended.append(result)
        except BaseException as error:
            ended.append(error)

    thread = threading.Thread(target=work)
    thread.start()

    def result() -> Any:
        thread.join(90)
        assert not thread.is_alive()
        return ended[0]

    return result


@pytest.mark.parametrize(
    ("word", "error"),
    [
        ({"what": "start", "bucket": 0, "attempt": 0, "at": {"hospital": "169.254.169.254:80"}}, tacita.InputError),
        ({"what": "start", "bucket": 0, "attempt": 0, "at": {"hospital": "localhost.example:80"}}, tacita.InputError),
    ],
)
def test_a_leader_has_no_other_hosts_dialed(parties, tmp_path: pathlib.Path, word: dict[str, Any], error: type[BaseException]) -> None:
    """It would have the machines of the other party knock wherever it likes in that one's network."""
    job = job_of(parties)
    ended = victim(job, tmp_path, "insurer")
    drivers = meet(job, tmp_path, "hospital")
    with pytest.raises(tacita.Error):
        drivers.turn({"insurer": json.dumps([word])})
        while True:
            drivers.turn({"insurer": "[]"})
    raised = ended()
    assert isinstance(raised, error) and "hosts=" in str(raised)


def test_followers_that_lie_are_found_out(parties, tmp_path: pathlib.Path) -> None:
    """Words about buckets that were not begun."""
    job = job_of(parties)
    ended = victim(job, tmp_path, "hospital")
    drivers = meet(job, tmp_path, "insurer")
    with pytest.raises(tacita.Error):
        drivers.turn({"hospital": json.dumps([{"what": "slots", "slots": 1}, {"what": "done", "bucket": 4, "attempt": 0}])})
        while True:
            drivers.turn({"hospital": "[]"})
    assert isinstance(ended(), tacita.ProtocolError)


@pytest.mark.parametrize("name", NAMES[:2])
def test_words_where_they_do_not_belong_are_refused(parties, tmp_path: pathlib.Path, name: str) -> None:
    """`ready` in a round of buckets."""
    job = job_of(parties)
    ended = victim(job, tmp_path, name)
    other = next(one for one in NAMES if one != name)
    drivers = meet(job, tmp_path, other)
    with pytest.raises(tacita.Error):
        while True:
            drivers.turn({name: json.dumps([{"what": "ready"}])})
    raised = ended()
    assert isinstance(raised, tacita.ProtocolError) and "ready" in str(raised)


def test_a_leader_does_not_ask_again_and_again(parties, tmp_path: pathlib.Path) -> None:
    """A bucket is begun as often as it may fail, and no more: who cheats would ask of other keys each time."""
    job = job_of(parties)
    ended = victim(job, tmp_path, "insurer", retries=2)
    drivers = meet(job, tmp_path, "hospital")
    with pytest.raises(tacita.Error):
        for attempt in range(10):
            start = {"what": "start", "bucket": 0, "attempt": attempt, "at": {"hospital": "127.0.0.1:9"}}
            heard = drivers.turn({"insurer": json.dumps([start, {"what": "stop", "bucket": 0, "attempt": attempt}])})
            while "failed" not in heard["insurer"]:
                heard = drivers.turn({"insurer": "[]"})
        while True:
            drivers.turn({"insurer": "[]"})
    raised = ended()
    # Somebody between the two may have cut each connection: the leader is not accused.
    assert isinstance(raised, tacita.NetworkError) and "has failed 3 times, here or elsewhere, and retries = 2" in str(raised)


def test_a_leader_does_not_begin_what_is_under_way(parties, tmp_path: pathlib.Path) -> None:
    job = job_of(parties)
    ended = victim(job, tmp_path, "insurer")
    drivers = meet(job, tmp_path, "hospital")
    twice = [{"what": "start", "bucket": 0, "attempt": attempt, "at": {"hospital": "127.0.0.1:9"}} for attempt in (0, 1)]
    with pytest.raises(tacita.Error):
        drivers.turn({"insurer": json.dumps(twice)})
        while True:
            drivers.turn({"insurer": "[]"})
    raised = ended()
    assert isinstance(raised, tacita.ProtocolError) and "was started again while it was running" in str(raised)


@pytest.mark.parametrize("word", [{"what": "ready"}, {"what": "end"}])
def test_a_leader_does_not_go_on_before_all_are_ready(parties, tmp_path: pathlib.Path, word: dict[str, Any]) -> None:
    job = job_of(parties)
    ended = victim(job, tmp_path, "insurer", pool=Other(1, late_scatter, _tasks.scatter))
    drivers = meet(job, tmp_path, "hospital", ready=False)
    with pytest.raises(tacita.Error):
        while True:
            drivers.turn({"insurer": json.dumps([word])})
    raised = ended()
    assert isinstance(raised, tacita.ProtocolError) and "ready" in str(raised)


def test_a_leader_that_begins_nothing_is_not_waited_for_for_ever(parties, tmp_path: pathlib.Path) -> None:
    """Its driver is alive and answers: that is not enough."""
    job = job_of(parties)
    ended = victim(job, tmp_path, "insurer", patience=1.0, timeout=5.0)
    drivers = meet(job, tmp_path, "hospital")
    with pytest.raises(tacita.Error):
        while True:
            drivers.turn({"insurer": "[]"})
            time.sleep(0.05)
    drivers.stop("network", None)
    assert isinstance(ended(), tacita.NetworkError)


def test_a_leader_that_ends_early_is_found_out(parties, tmp_path: pathlib.Path) -> None:
    """Rows of the buckets that are left would be missing without a word."""
    job = job_of(parties)
    ended = victim(job, tmp_path, "insurer")
    drivers = meet(job, tmp_path, "hospital")
    with pytest.raises(tacita.Error):
        drivers.turn({"insurer": json.dumps([{"what": "end"}])})
        drivers.end()
    raised = ended()
    assert isinstance(raised, tacita.ProtocolError) and "5 of 5 buckets were left" in str(raised)
    assert not (tmp_path / "out" / "insurer").exists()


def test_a_follower_that_takes_no_buckets_is_not_waited_for_for_ever(parties, tmp_path: pathlib.Path) -> None:
    job = job_of(parties)
    ended = victim(job, tmp_path, "hospital", patience=1.0, timeout=5.0)
    drivers = meet(job, tmp_path, "insurer")
    with pytest.raises(tacita.Error):
        while True:
            drivers.turn({"hospital": "[]"})
    drivers.stop("network", None)
    raised = ended()
    assert isinstance(raised, tacita.NetworkError) and "how many buckets" in str(raised)


def test_who_went_away_is_not_waited_for_as_long_as_at_first(parties, tmp_path: pathlib.Path) -> None:
    """`timeout` is for those who are still reading, `patience` for those who were there."""
    job = job_of(parties)
    started = time.monotonic()
    ended = victim(job, tmp_path, "insurer", timeout=600.0, patience=3.0)
    meet(job, tmp_path, "hospital").stop("network", None)
    assert isinstance(ended(), tacita.NetworkError) and time.monotonic() - started < 60


@pytest.mark.parametrize("name", NAMES[:2])
def test_who_has_all_succeeds_without_the_others(parties, tmp_path: pathlib.Path, name: str) -> None:
    """The connection is lost before its end, and the other one, which is done, does not come back."""
    job = job_of(parties)
    ended = victim(job, tmp_path, name, timeout=3.0, patience=3.0)
    other = next(one for one in NAMES if one != name)
    drivers = meet(job, tmp_path, other, rows=0)
    drivers.stop("network", None)
    result = ended()
    assert isinstance(result, ClusterResult) and result.value == {"rows": 0}


@pytest.mark.parametrize("who", ["Leader", "Follower"])
def test_a_connection_that_is_lost_at_the_end(parties, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, who: str) -> None:
    """Drivers meet once more, and nothing is done again."""
    of_all = getattr(tacita.ray._run, who)
    lost: list[str] = []

    class Losing(of_all):
        def run(self) -> None:
            super().run()
            if not lost:
                lost.append(who)
                raise tacita.NetworkError("the connection was lost", "network", 3)

    monkeypatch.setattr(tacita.ray._run, who, Losing)
    results = run_all(job_of(parties), tmp_path, timeout=5.0, patience=30.0)
    assert lost
    for result in results.values():
        assert result.value == {"rows": len(truth(tmp_path, NAMES[:2]))} and result.report["buckets"]["begun"] == 5


def test_terms_of_another_bucket_pass() -> None:
    """A machine that dials where one was lost may find that of another bucket in its place."""
    here = tacita.ray._driver.Here(Processes(1), lambda *_: None, 1, lambda *_: None, "a")
    here._passes(0, tacita.TermsError("of another bucket"), False)
    here._passes(1, tacita.AuthenticationError("of another job"), False)
    with pytest.raises(tacita.TermsError):
        here._passes(0, tacita.TermsError("of another bucket"), False)
    with pytest.raises(tacita.InputError):
        here._passes(0, tacita.InputError("the own data"), True)


def test_a_relay_is_not_asked_for_more_than_it_joins() -> None:
    class Ended(Exception):
        pass

    class Drivers:
        def turn(self, words: dict[str, str]) -> dict[str, str]:
            self.started = sum(word["what"] == "start" for word in json.loads(words["b"]))
            if self.started:
                raise Ended
            return {"b": json.dumps([{"what": "slots", "slots": 1000}])}

    class Here:
        pool = type("Pool", (), {"slots": 1000})

        def start(self, *_: Any) -> None:
            pass

        def words(self, timeout: float) -> list[Any]:
            return []

    drivers = Drivers()
    with pytest.raises(Ended):
        tacita.ray._driver.Leader(drivers, Here(), ["a", "b"], False, 60.0, range(600), lambda: None).run()
    assert drivers.started == 255


@pytest.mark.parametrize("time_to_tell", [0.0, 60.0])
def test_who_ends_a_bucket_by_itself_has_time_to_say_why(monkeypatch: pytest.MonkeyPatch, time_to_tell: float) -> None:
    """And is stopped after all, if it says nothing: another party may have lied."""
    monkeypatch.setattr(tacita.ray._driver, "TELLS", time_to_tell)
    turns: list[list[dict[str, Any]]] = []

    class Ended(Exception):
        pass

    class Drivers:
        def turn(self, words: dict[str, str]) -> dict[str, str]:
            turns.append(json.loads(words["b"]))
            if len(turns) == 5:
                raise Ended
            return {"b": json.dumps([{"what": "slots", "slots": 1}] if len(turns) == 1 else [])}

    class Here:
        pool = type("Pool", (), {"slots": 1})
        said: list[dict[str, Any]] = []

        def start(self, bucket: int, attempt: int, _: Any) -> None:
            stands = {"what": "stands", "bucket": bucket, "attempt": attempt, "address": "127.0.0.1:9"}
            self.said = [stands, {"what": "failed", "bucket": bucket, "attempt": attempt, "by": "b"}]

        def words(self, timeout: float) -> list[Any]:
            time.sleep(0.01)
            said, self.said = self.said, []
            return said

    with pytest.raises(Ended):
        tacita.ray._driver.Leader(Drivers(), Here(), ["a", "b"], True, 60.0, [0], lambda: None).run()
    told = [word["what"] for words in turns for word in words]
    assert told == (["start", "stop"] if time_to_tell == 0.0 else ["start"])
