"""A job as a value: written, read, compared, copied, sent elsewhere; and what is wrong with one."""

from __future__ import annotations

import copy
import multiprocessing
import pathlib
import pickle
import re
from typing import Any

import numpy
import pytest
from conftest import EXAMPLES

import tacita

KEYS: dict[str, Any] = {
    "job": "intersect", "id": "x", "reveal": "payload", "reveal_to": ["a"], "gives": {"b": ["o"]}, "key": {"columns": ["id", "day"], "normalize": ["none", "date:DMY"]},
    "limits": {"max_rows": 1000}, "parties": {"a": {"address": "h:1", "columns": {"id": "Id"}}, "b": {}},
}  # fmt: skip
FILES = sorted(path for path in EXAMPLES.rglob("*.toml") if re.search(r"^job\s*=", path.read_text(), re.MULTILINE))


def test_there_are_job_files() -> None:
    assert len(FILES) >= 10


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(EXAMPLES)))
def test_a_job_of_an_example_stays_what_it_is(path: pathlib.Path, tmp_path: pathlib.Path) -> None:
    job = tacita.Job.from_file(path)
    assert job.to_toml() == path.read_text()
    job.save(tmp_path / "job.toml")
    again = tacita.Job.load(tmp_path / "job.toml")
    assert again.agreement == job.agreement
    if job.kind != "aggregate" and "[clients]" not in job.to_toml():
        # Files that such a job names are beside it.
        assert again == job
    assert pickle.loads(pickle.dumps(job)).agreement == job.agreement


def test_arguments_become_a_job_file_and_come_back(tmp_path: pathlib.Path) -> None:
    job = tacita.Job(**KEYS)
    for name in ("job.toml", "job.json"):
        job.save(tmp_path / name)
        assert tacita.Job.load(tmp_path / name) == job
    assert (tmp_path / "job.toml").read_text().startswith('job = "intersect"\n') and (tmp_path / "job.json").read_text()[0] == "{"
    assert list(tacita.Job.parse(job.to_toml()).parties) == ["a", "b"]
    with pytest.raises(tacita.InputError, match=r"job.toml: already exists"):
        job.save(tmp_path / "job.toml")
    job.save(tmp_path / "job.toml", overwrite=True)
    with pytest.raises(tacita.InputError, match="give a name that ends in .toml"):
        tacita.Job.load(tmp_path / "job.toml").save(tmp_path / "other.json")
    with pytest.raises(tacita.InputError, match="cannot be written: no such file"):
        job.save(tmp_path / "nowhere" / "job.toml")


def test_numbers_that_toml_cannot_say_are_not_changed() -> None:
    rules = '{"job": "rules", "id": "x", "reveal_to": ["a", "b"], "items": "*", "min_support": %s, "min_confidence": 0.5, "parties": {"a": {}, "b": {}}}'
    assert tacita.Job.parse(tacita.Job.parse(rules % "0.1").to_toml()) == tacita.Job.parse(rules % "0.1")
    with pytest.raises(tacita.InputError, match="as TOML.*keep it as JSON"):
        tacita.Job.parse(rules % "0.100000000000000001").to_toml()


def test_jobs_that_say_the_same_are_equal() -> None:
    job = tacita.Job(**KEYS)
    assert job == tacita.Job(**KEYS) == tacita.Job.parse(job.to_toml()) and hash(job) == hash(tacita.Job(**KEYS))
    assert job == tacita.Job(**{**KEYS, "security": "semi-honest"}), "a default that is said"
    others = [
        {**KEYS, "id": "y"},
        {**KEYS, "reveal_to": ["b"], "gives": {"a": ["o"]}},
        {**KEYS, "parties": {"a": {"address": "h:2", "columns": {"id": "Id"}}, "b": {}}},
        {**KEYS, "parties": {"b": {}, "a": {"address": "h:1", "columns": {"id": "Id"}}}},
        {**KEYS, "parties": {"a": {"address": "h:1"}, "b": {}}},
        {**KEYS, "limits": {"max_rows": 1001}},
    ]
    for keys in others:
        assert job != tacita.Job(**keys)
    assert len({job, tacita.Job(**KEYS), *(tacita.Job(**keys) for keys in others)}) == 1 + len(others)
    assert job != "job" and (job == 3) is False


def kind_of(job: tacita.Job) -> tuple[str, tacita.Job]:
    return job.kind, job


def test_a_job_travels() -> None:
    job = tacita.Job(**KEYS)
    assert copy.copy(job) == copy.deepcopy({"job": [job]})["job"][0] == pickle.loads(pickle.dumps(job)) == job
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(kind_of, (job,)) == ("intersect", job)


def test_an_order_that_counts_is_not_taken_from_a_set() -> None:
    for path, value in [
        ("key.columns", {"columns": {"id", "day"}}),
        ("key.normalize", {"columns": ["id", "day"], "normalize": frozenset({"none", "date"})}),
    ]:
        with pytest.raises(tacita.InputError, match=f"^{path}: a set has no order"):
            tacita.Job(**{**KEYS, "key": value})
    with pytest.raises(tacita.InputError, match="^parties: a set has no order"):
        tacita.Job(**{**KEYS, "parties": {"a", "b"}})  # type: ignore[dict-item]
    for learners in ({"a", "b"}, {"b": 0, "a": 0}.keys(), numpy.array(["a", "b"]), (name for name in "ab")):
        assert sorted(tacita.Job(**{**KEYS, "reveal": "rows", "gives": {}, "reveal_to": learners}).reveal_to) == ["a", "b"]


def test_what_is_none_was_not_said() -> None:
    own = {"scale": None, "key": {**KEYS["key"], "duplicates": None}, "limits": {"max_rows": 1000, "pad_to": None}}
    assert tacita.Job(**{**KEYS, **own}) == tacita.Job(**KEYS)


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        ({"revael": "rows"}, "`revael`: did you mean `reveal`?"),
        ({"key": {"column": ["id"]}}, "`column`: did you mean `columns`?"),
        ({"limits": {"maxrows": 5}}, "`maxrows`: did you mean `max_rows`?"),
        ({"parties": {"a": {"adress": "h:1"}, "b": {}}}, "`adress`: did you mean `address`?"),
        ({"xyzzy": 1}, "unknown key `xyzzy`, expected one of"),
    ],
)
def test_a_key_that_there_is_not_is_named_with_the_nearest(wrong: dict[str, Any], meant: str) -> None:
    with pytest.raises(tacita.InputError) as raised:
        tacita.Job(**{**KEYS, **wrong})
    assert meant in str(raised.value)
    with pytest.raises(tacita.InputError):
        tacita.Job(**{**KEYS, "reveal": "nothing"})
