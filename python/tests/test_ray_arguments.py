"""What is given to a job on many machines is looked at before anything begins."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest
from spreading import job_of, parties, people  # noqa: F401

import tacita
import tacita.ray
from tacita.ray import Processes


def test_wrong_arguments_are_one_line(parties, tmp_path: pathlib.Path) -> None:
    job, out = job_of(parties), tmp_path / "out"

    def told(data: Any = tmp_path / "hospital", identity: Any = tmp_path / "id" / "hospital", output: Any = out, **more: Any) -> str:
        with pytest.raises(tacita.InputError) as raised:
            tacita.ray.run(job, "hospital", data, identity, output, on=Processes(1), **{"timeout": 0.5, **more})
        assert "\n" not in str(raised.value)
        return str(raised.value)

    assert "already exists" in told(output=tmp_path)
    (tmp_path / "empty").mkdir()
    assert "has no file that ends with" in told(tmp_path / "empty")
    assert "nothing.parquet" in told(tmp_path / "nothing.parquet")
    assert "give its directory" in told(identity=tacita.Identity(tmp_path / "id" / "hospital"))
    assert "one or more" in str(pytest.raises(tacita.InputError, Processes, 0).value)
    people(0, 5, "hospital").rename(columns={"name": "names"}).to_parquet(tmp_path / "other.parquet")
    assert 'no column "name"' in told(tmp_path / "other.parquet")
    assert "wait until it ends" not in told(tmp_path / "other.parquet", work=tmp_path / "work")
    # What went wrong leaves nothing behind that is in the way of the next run.
    assert not out.exists() and not list(tmp_path.glob(".out*"))


WRONG = [
    ({"on": 8}, r"on = 8: give tacita\.ray\.Cluster"),
    ({"on": Processes}, "Processes\\(8\\)"),
    ({"workers_at": "nonsense:abc"}, "workers_at = 'nonsense:abc': give a host, and perhaps ports"),
    ({"workers_at": 7500}, "workers_at = 7500: give a host"),
    ({"workers_at": "7500-7599"}, "workers_at = '7500-7599': give a host"),
    ({"workers_at": "10.0.0.1:7599-7500"}, "the lower one first"),
    ({"workers_at": "10.0.0.1:0"}, "ports go from 1 to 65535"),
    ({"hosts": "10.0.0.1"}, "hosts = '10.0.0.1': give hosts or networks by party"),
    ({"hosts": {"insurer": ["10.20.0.0/99"]}}, "insurer at '10.20.0.0/99'"),
    ({"hosts": {"insurer": [7]}}, "insurer at 7"),
    ({"hosts": {"insurers": ["x"]}}, "no other party is called 'insurers'"),
    ({"buckets": -3}, "buckets = -3: give a whole number from 1 to 65,536"),
    ({"retries": True}, "retries = True"),
    ({"timeout": "soon"}, "timeout = 'soon': give seconds"),
    ({"resume": True}, "resume: give work="),
    ({"work": 3}, "work = 3: give the path of a directory"),
]  # fmt: skip


@pytest.mark.parametrize(("more", "message"), WRONG)
def test_wrong_options_are_one_line(parties, tmp_path: pathlib.Path, more: dict[str, Any], message: str) -> None:
    with pytest.raises(tacita.InputError, match=message) as raised:
        tacita.ray.run(job_of(parties), "hospital", tmp_path / "hospital", tmp_path / "id" / "hospital", tmp_path / "a" / "b", **{"on": Processes(1), **more})
    assert "\n" not in str(raised.value) and not (tmp_path / "a").exists()


def test_what_is_no_job_is_one_line(tmp_path: pathlib.Path) -> None:
    calls = [tacita.ray.run, lambda *told: tacita.run(*told[:4]), lambda job, *_: tacita.ray.plan(job, {}, {}), lambda job, *_: tacita.plan(job), lambda job, *_: tacita.simulate(job, {})]
    for call in calls:
        with pytest.raises(tacita.InputError, match=r"job: a str is not a job: give tacita\.Job\.load\('job\.toml'\)"):
            call("job.toml", "a", "b", "c", "d")


def test_places_where_nothing_can_be_written_are_one_line(parties, tmp_path: pathlib.Path) -> None:
    """And directories that were made for what does not come are gone."""
    (tmp_path / "file").write_text("")
    told = [job_of(parties), "hospital", tmp_path / "hospital", tmp_path / "id" / "hospital"]
    with pytest.raises(tacita.InputError, match="output: nothing can be written in .*file/sub"):
        tacita.ray.run(*told, tmp_path / "file" / "sub" / "out", on=Processes(1))
    with pytest.raises(tacita.NetworkError):
        tacita.ray.run(*told, tmp_path / "new" / "sub" / "out", on=Processes(1), timeout=0.5)
    assert not (tmp_path / "new").exists()


def test_a_run_that_is_not_confirmed_leaves_nothing(parties, tmp_path: pathlib.Path) -> None:
    told: list[str] = []
    with pytest.raises(tacita.InputError, match="^the run was not confirmed: nothing was sent$"):
        tacita.ray.run(
            job_of(parties), "hospital", tmp_path / "hospital", tmp_path / "id" / "hospital", tmp_path / "new" / "out", on=Processes(1),
            work=tmp_path / "work", tell=told.append, confirm=lambda sentences: sentences != told,
        )  # fmt: skip
    assert told and not (tmp_path / "new").exists() and not (tmp_path / "work").exists()


def test_hosts_of_ip_version_six() -> None:
    from tacita.ray._arguments import Hosts, Place

    assert Place.parse("::1") == ("[::1]", None) and Place.parse("[::1]:70-71") == ("[::1]", range(70, 72)) and Place.parse("a.b:80").ports == range(80, 81)
    assert [Place.parse(at).bound for at in ("::1", "fd00::2", "localhost", "10.0.0.1")] == ["[::1]", "[::]", "localhost", "0.0.0.0"]
    hosts = Hosts({"insurer": "fd00::/16"}, {"insurer": "[::1]:7000"})
    hosts.check("insurer", "[fd00::2]:7000")
    with pytest.raises(tacita.InputError, match="says that a machine of it is at"):
        hosts.check("insurer", "[::1]:7000")


def test_urls_are_refused_in_one_line(parties, tmp_path: pathlib.Path) -> None:
    told = {"data": tmp_path / "hospital", "identity": tmp_path / "id" / "hospital", "output": tmp_path / "out", "work": tmp_path / "work"}
    for what in told:
        wrong = {**told, what: "s3://bucket/o"}
        with pytest.raises(tacita.InputError, match=f"^{what} = 's3://bucket/o': it is a URL, and no path: give a ") as raised:
            tacita.ray.run(job_of(parties), "hospital", **wrong, on=Processes(1), timeout=0.5)
        assert "\n" not in str(raised.value)
    assert not list(tmp_path.glob("s3*")) and not list(pathlib.Path().glob("s3*"))
    with pytest.raises(tacita.InputError, match="^data = 'gs://b/1.csv'"):
        tacita.ray.run(job_of(parties), "hospital", ["gs://b/1.csv"], told["identity"], told["output"], on=Processes(1), timeout=0.5)


def test_the_environment_of_tasks_is_added_to_and_not_replaced() -> None:
    from tacita.ray._pools import _environment

    threads = {"RAYON_NUM_THREADS": "3"}
    assert _environment(3, None) == {"env_vars": threads}
    given = {"env_vars": {"MINE": "1"}, "working_dir": "."}
    assert _environment(3, given) == {"env_vars": {**threads, "MINE": "1"}, "working_dir": "."}
    assert given == {"env_vars": {"MINE": "1"}, "working_dir": "."}
    assert _environment(3, {"env_vars": {"RAYON_NUM_THREADS": "1"}})["env_vars"] == {"RAYON_NUM_THREADS": "1"}
    with pytest.raises(tacita.InputError, match=r"^on: Cluster\(runtime_env='x'\)"):
        _environment(1, "x")
