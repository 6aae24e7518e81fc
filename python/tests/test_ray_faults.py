"""What fails while a job runs on many machines, and what comes of it."""

from __future__ import annotations

import concurrent.futures
import functools
import os
import pathlib
import subprocess
import sys
import textwrap
import time
from typing import Any

import pytest
from spreading import NAMES, Other, deaf, full, full_at, job_of, late_counts, late_items, late_scatter, parties, slow, truth  # noqa: F401
from test_ray_rules import baskets_of, check_rules_of_all, rules_job

import tacita
import tacita.ray
from tacita.ray import ClusterResult, Processes, _run, _tasks
from tacita.ray._pools import PoolLost


def run_both(
    job: tacita.Job, tmp_path: pathlib.Path, pools: dict[str, Any], options: dict[str, Any], each: dict[str, dict[str, Any]] | None = None
) -> list[ClusterResult | BaseException]:
    """Both parties, each on its pool and with options of its own; what comes of each."""

    def one(name: str) -> ClusterResult | BaseException:
        try:
            return tacita.ray.run(job, name, tmp_path / name, tmp_path / "id" / name, tmp_path / "out" / name, on=pools[name], **{"buckets": 5, "timeout": 60.0, **options, **(each or {}).get(name, {})})
        except BaseException as error:  # noqa: BLE001
            return error

    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        return list(threads.map(one, pools))


def check_rows(results: list[Any], tmp_path: pathlib.Path) -> None:
    """Every common row is there once."""
    for result in results:
        found = result.dataset().to_table()["name"].to_pylist()
        assert sorted(found) == sorted(truth(tmp_path, NAMES[:2]))


def test_who_has_no_room_for_a_bucket_yet_is_waited_for(parties, tmp_path: pathlib.Path) -> None:
    """One party does three buckets at a time and the other one, which takes longer than others are waited for."""
    pools = {"hospital": Processes(3), "insurer": Other(1, slow)}
    results = run_both(job_of(parties), tmp_path, pools, {"timeout": 2.0, "retries": 0, "patience": 60.0})
    check_rows(results, tmp_path)
    assert [result.report["buckets"]["begun"] for result in results] == [5, 5]


def test_a_result_that_cannot_be_written_is_made_again(parties, tmp_path: pathlib.Path) -> None:
    results = run_both(job_of(parties), tmp_path, {"hospital": Other(1, full), "insurer": Processes(1)}, {"patience": 60.0})
    check_rows(results, tmp_path)
    assert [result.report["buckets"]["begun"] for result in results] == [6, 6]


def test_a_result_that_never_can_is_one_line(parties, tmp_path: pathlib.Path) -> None:
    errors = run_both(job_of(parties), tmp_path, {"hospital": Other(1, full), "insurer": Processes(1)}, {"patience": 60.0, "retries": 0})
    assert isinstance(errors[0], tacita.InternalError) and "bucket 1: " in str(errors[0]) and "No space left on device" in str(errors[0])
    assert "\n" not in str(errors[0]) and isinstance(errors[1], tacita.NetworkError)


def test_failures_here_and_there_are_added_up(parties, tmp_path: pathlib.Path) -> None:
    """And nobody is blamed who has done nothing wrong."""
    pools = {"hospital": Other(1, full), "insurer": Other(1, functools.partial(full_at, 1))}
    errors = run_both(job_of(parties), tmp_path, pools, {"patience": 60.0, "retries": 1})
    assert isinstance(errors[0], tacita.NetworkError) and "bucket 1 has failed 2 times, here or elsewhere" in str(errors[0])
    assert isinstance(errors[1], tacita.NetworkError)


def test_a_failure_that_lasts_is_not_waited_for(parties, tmp_path: pathlib.Path) -> None:
    """Nobody waits for a connection to come back that the other party has ended."""
    started = time.monotonic()
    errors = run_both(job_of(parties), tmp_path, {"hospital": Other(1, deaf), "insurer": Processes(1)}, {"patience": 600.0, "retries": 0, "timeout": 3.0})
    assert all(isinstance(error, tacita.NetworkError) for error in errors) and time.monotonic() - started < 60


@pytest.mark.parametrize("who", NAMES[:2])
def test_who_spreads_for_long_is_waited_for(parties, tmp_path: pathlib.Path, who: str) -> None:
    """Drivers talk meanwhile: patience is for those who are silent."""
    pools = {name: Other(2, late_scatter, _tasks.scatter) if name == who else Processes(2) for name in NAMES[:2]}
    results = run_both(job_of(parties), tmp_path, pools, {"patience": 6.0})
    check_rows(results, tmp_path)


@pytest.mark.parametrize(("who", "late"), [("hospital", late_items), ("insurer", late_counts)])
def test_who_counts_for_long_is_waited_for(parties, tmp_path: pathlib.Path, who: str, late: Any) -> None:
    of = _tasks.items if late is late_items else _tasks.counts
    pools = {name: Other(2, late, of) if name == who else Processes(2) for name in NAMES[:2]}
    check_rules_of_all(rules_job(parties), tmp_path, baskets_of(tmp_path), pools, patience=6.0, buckets=2)


def test_ports_are_shared_by_the_workers_of_a_machine(parties, tmp_path: pathlib.Path) -> None:
    """Each takes one that no other has."""
    first = 10_000 + os.getpid() % 9_000
    pools = {"hospital": Processes(3), "insurer": Processes(3)}
    results = run_both(job_of(parties), tmp_path, pools, {"buckets": 60, "workers_at": f"127.0.0.1:{first}-{first + 8}", "patience": 60.0})
    check_rows(results, tmp_path)


def test_a_task_that_ends_its_process_is_not_begun_for_ever() -> None:
    pool = Processes(1)
    try:
        task = pool.start(os._exit, 9, again=True)
        until = time.monotonic() + 60
        while not pool.done([task], 1.0) and time.monotonic() < until:
            pass
        assert "a process of this machine was ended" in str(task.error) and task.lost == 4
    finally:
        pool.close()


def test_a_script_without_its_guard_ends_with_one_line(parties, tmp_path: pathlib.Path) -> None:
    """Every new process would run it from its beginning."""
    (tmp_path / "job.json").write_text(
        '{"job": "intersect", "id": "g", "reveal_to": ["hospital"], "key": {"columns": ["name"]}, "parties": {"hospital": {"address": "127.0.0.1:1"}, "insurer": {}}}'
    )
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(f"""
        import tacita, tacita.ray
        job = tacita.Job.load({str(tmp_path / "job.json")!r})
        tacita.ray.run(job, "hospital", {str(tmp_path / "hospital")!r}, {str(tmp_path / "id" / "hospital")!r}, {str(tmp_path / "out")!r}, on=tacita.ray.Processes(2))
        """)
    )
    ran = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode != 0 and 'under `if __name__ == "__main__":`' in ran.stderr.splitlines()[-1]


def test_what_is_lost_with_all_machines_is_resumed(parties, tmp_path: pathlib.Path) -> None:
    """The driver ends, and the other party waits for one that goes on."""

    class Lost(Processes):
        def done(self, tasks: Any, timeout: float) -> Any:
            if list((tmp_path / "out").glob(".hospital.*/part-*")):
                raise PoolLost("the Ray cluster is lost: it does not answer")
            return super().done(tasks, timeout)

    (tmp_path / "kept").mkdir()
    with concurrent.futures.ThreadPoolExecutor(1) as threads:

        def one(name: str, pool: Any, resume: bool) -> ClusterResult:
            return tacita.ray.run(
                job_of(parties), name, tmp_path / name, tmp_path / "id" / name, tmp_path / "out" / name, on=pool, buckets=5, timeout=60.0, patience=60.0,
                work=tmp_path / "kept" / name, resume=resume,
            )  # fmt: skip

        other = threads.submit(one, "insurer", Processes(1), False)
        with pytest.raises(tacita.InternalError, match="the Ray cluster is lost.*resume=True goes on"):
            one("hospital", Lost(1), False)
        assert not other.done()
        check_rows([one("hospital", Processes(1), True), other.result()], tmp_path)


@pytest.mark.parametrize("job", ["rows", "shares"])
def test_who_is_killed_after_all_have_ended_goes_on_alone(parties, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, job: str) -> None:
    """Nobody else is there any more, and nobody is needed."""
    (tmp_path / "kept").mkdir()
    place = _run.place

    def killed(whole: dict[str, Any], target: pathlib.Path) -> pathlib.Path | None:
        if target.name == "hospital":
            raise KeyboardInterrupt
        return place(whole, target)

    monkeypatch.setattr(_run, "place", killed)
    spec = job_of(parties)
    if job == "shares":
        for name in NAMES[:2]:
            for piece in (tmp_path / name).iterdir():
                piece.unlink()
            (tmp_path / name / "a.csv").write_text("value\n1\n2\n")
        spec = tacita.Job(job="dot", id="d", reveal="shares", reveal_to=list(NAMES[:2]), bits=4, parties={name: parties[name] for name in NAMES[:2]})

    def one(name: str, resume: bool = False) -> Any:
        try:
            return tacita.ray.run(
                spec, name, tmp_path / name, tmp_path / "id" / name, tmp_path / "out" / name, on=Processes(1), buckets=2, patience=60.0,
                work=tmp_path / "kept" / name, resume=resume, timeout=2.0,
            )  # fmt: skip
        except KeyboardInterrupt as error:
            return error

    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        results = list(threads.map(one, NAMES[:2]))
    assert isinstance(results[0], KeyboardInterrupt) and isinstance(results[1], ClusterResult)
    monkeypatch.setattr(_run, "place", place)
    if job == "shares":
        # Another name may be another format.
        with pytest.raises(tacita.InputError, match="has written hospital: give an output of that name"):
            tacita.ray.run(
                spec, "hospital", tmp_path, tmp_path / "id" / "hospital", tmp_path / "out" / "other", on=Processes(1), work=tmp_path / "kept" / "hospital", resume=True
            )  # fmt: skip
    resumed = one("hospital", True)
    if job == "rows":
        check_rows([resumed, results[1]], tmp_path)
    assert resumed.value == results[1].value and (tmp_path / "out" / "hospital").exists()
    assert not [path for path in (tmp_path / "out").iterdir() if path.name.startswith(".")]
    assert not list((tmp_path / "kept" / "hospital").glob("run*"))


def test_a_place_that_is_taken_meanwhile_loses_nothing(parties, tmp_path: pathlib.Path) -> None:
    class Taken(Processes):
        def done(self, tasks: Any, timeout: float) -> Any:
            (tmp_path / "out" / "hospital").mkdir(exist_ok=True)
            return super().done(tasks, timeout)

    errors = run_both(job_of(parties), tmp_path, {"hospital": Taken(1), "insurer": Processes(1)}, {"patience": 60.0})
    assert isinstance(errors[0], tacita.InputError) and "whole result is in" in str(errors[0])
    kept = pathlib.Path(str(errors[0]).rpartition("whole result is in ")[2])
    assert len(list(kept.glob("part-*.parquet"))) == 5
    check_rows([errors[1]], tmp_path)
