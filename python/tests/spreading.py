"""What the tests of jobs on many machines share: parties with their tables, and processes that are killed."""

from __future__ import annotations

import concurrent.futures
import contextlib
import os
import pathlib
import signal
import time
from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest
from conftest import free_address

import tacita
import tacita.ray
from tacita.ray import ClusterResult, Processes, _tasks

NAMES = ("hospital", "insurer", "registry")


def people(first: int, rows: int, name: str) -> pd.DataFrame:
    """Rows with the keys `first` and so on, of which every tenth has none."""
    numbers = range(first, first + rows)
    keys = [None if number % 10 == 9 else f"Person {number}" for number in numbers]
    return pd.DataFrame({"name": keys, name: [f"{name}-{number}" for number in numbers]})


@pytest.fixture
def parties(tmp_path: pathlib.Path) -> dict[str, dict[str, Any]]:
    """Identities, addresses and tables."""
    made = {}
    for number, name in enumerate(NAMES):
        identity = tacita.Identity.create(tmp_path / "id" / name, name)
        table = tmp_path / name
        table.mkdir()
        for piece in range(3):
            people(number * 400 + piece * 500, 500, name).to_parquet(table / f"{piece}.parquet")
        made[name] = {"identity": identity.fingerprint, "address": free_address()}
    return made


def job_of(parties: dict[str, dict[str, Any]], names: tuple[str, ...] = NAMES[:2], **more: Any) -> tacita.Job:
    spec = {
        "job": "intersect", "id": "spread", "reveal_to": list(names), "key": {"columns": ["name"], "normalize": ["name"]},
        "parties": {name: parties[name] for name in names},
    }  # fmt: skip
    return tacita.Job(**{**spec, **more})


def run_all(job: tacita.Job, tmp_path: pathlib.Path, data: dict[str, Any] | None = None, **options: Any) -> dict[str, ClusterResult]:
    """All parties, each on processes of its own."""

    def one(name: str) -> ClusterResult:
        given = (data or {}).get(name, tmp_path / name)
        return tacita.ray.run(
            job, name, given, tmp_path / "id" / name, tmp_path / "out" / name, on=Processes(2), **{"buckets": 5, "timeout": 60.0, "patience": 60.0, **options}
        )

    with concurrent.futures.ThreadPoolExecutor(len(job.parties)) as threads:
        runs = {name: threads.submit(one, name) for name in job.parties}
    return {name: run.result() for name, run in runs.items()}


def truth(tmp_path: pathlib.Path, names: tuple[str, ...]) -> set[str]:
    keys = [set(pd.read_parquet(tmp_path / name)["name"].dropna()) for name in names]
    return set.intersection(*keys)


class Dying(Processes):
    """One of its processes is killed at the first chance while it does a bucket, and once more after that."""

    def __init__(self, processes: int, times: int) -> None:
        super().__init__(processes)
        self.times = times

    def done(self, tasks: Any, timeout: float) -> Any:
        for worker, task in self._busy.items():
            if self.times and self.is_the_one(task):
                self.times -= 1
                # It may be on its way out already.
                with contextlib.suppress(ProcessLookupError):
                    os.kill(worker.process.pid, signal.SIGKILL)
        return super().done(tasks, timeout)

    def is_the_one(self, task: Any) -> bool:
        return bool(task.function.__name__ == "bucket")


class Other(Processes):
    """Its processes do one kind of task, usually buckets, in another way."""

    def __init__(self, processes: int, way: Callable[..., Any], of: Callable[..., Any] = _tasks.bucket) -> None:
        super().__init__(processes)
        self.way, self.of = way, of

    def start(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        return super().start(self.way if function is self.of else function, *arguments, **options)


LATE = 8.0
"""Longer than tests have patience, in seconds."""


def late_scatter(*arguments: Any) -> Any:
    """Takes its time to spread rows."""
    time.sleep(LATE)
    return _tasks.scatter(*arguments)


def late_items(*arguments: Any) -> Any:
    """Takes its time to count items."""
    time.sleep(LATE)
    return _tasks.items(*arguments)


def late_counts(*arguments: Any) -> Any:
    """Takes its time to count itemsets."""
    time.sleep(LATE)
    return _tasks.counts(*arguments)


def slow(order: _tasks.Order, *arguments: Any) -> Any:
    """Takes five seconds for the first bucket."""
    if order.number == 0:
        time.sleep(5)
    return _tasks.bucket(order, *arguments)


def full(order: _tasks.Order, *arguments: Any) -> Any:
    """Has no room for the result of a bucket when it is done first."""
    return full_at(0, order, *arguments)


def full_at(attempt: int, order: _tasks.Order, *arguments: Any) -> Any:
    """Has none at one attempt."""
    write = _tasks.write_whole

    def fails(path: pathlib.Path, write: Any) -> None:
        raise OSError(28, "No space left on device", str(path))

    try:
        if order.number == 1 and order.attempt == attempt:
            _tasks.write_whole = fails
        return _tasks.bucket(order, *arguments)
    finally:
        _tasks.write_whole = write


def deaf(order: _tasks.Order, post: Any, *pieces: Any) -> Any:
    """Says that it listens where nobody does."""
    return _tasks.bucket(order, lambda bucket, attempt, _: post(bucket, attempt, free_address()), *pieces)
