#!/usr/bin/env python3
"""Jobs on many machines, measured: two clusters of Ray on this machine against one process of each party, with the same cores.

Usage: ray_clusters.py [--rows N] [--runs N] [--files N] [--buckets N] [--only one,ray,kill,scale]; in an environment with tacita, ray and pyarrow. What it prints is JSON, a line a run.

`one` runs `tacita.run` at each party, `ray` the same with `tacita.ray`; both have all cores. `kill` has a worker of each cluster killed on the way. `scale` gives both
clusters one core together, and then two.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

NAMES = ("shop", "bakery")


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def make(root: pathlib.Path, rows: int, files: int) -> None:
    """Both tables: half of each is in the other, too."""
    import numpy
    import pyarrow
    import pyarrow.parquet

    import tacita

    parties = {}
    for place, name in enumerate(NAMES):
        (root / name).mkdir()
        for number in range(files):
            first, last = (rows * one // files + place * (rows // 2) for one in (number, number + 1))
            n = numpy.arange(first, last, dtype=numpy.uint64)
            # Distinct texts of 16 digits: a number times an odd one.
            key = pyarrow.array([f"{one:016x}" for one in n * numpy.uint64(0x9E3779B97F4A7C15)])
            pyarrow.parquet.write_table(pyarrow.table({"key": key, "n": n}), root / name / f"{number:03}.parquet")
        identity = tacita.Identity.create(root / "id" / name, name)
        parties[name] = {"identity": identity.fingerprint, "address": f"127.0.0.1:{free_port()}"}
    job = {"job": "intersect", "id": "many", "reveal_to": list(NAMES), "key": {"columns": ["key"]}, "parties": parties}
    (root / "job.json").write_text(json.dumps(job))


def check(paths: list[pathlib.Path], rows: int) -> None:
    """Every common row is there, once."""
    import numpy
    import pyarrow.parquet

    for path in paths:
        found = numpy.sort(pyarrow.parquet.read_table(path)["n"].to_numpy())
        assert (found == numpy.arange(rows // 2, rows, dtype=numpy.uint64)).all() and len(found) == rows - rows // 2, path


ONE = """
import json, os, pathlib, sys, time
import pyarrow.dataset, pyarrow.parquet, tacita
root, name = pathlib.Path(sys.argv[1]), sys.argv[2]
started = time.monotonic()
table = pyarrow.dataset.dataset(root / name).to_table()
result = tacita.run(tacita.Job.load(root / "job.json"), name, table, root / "id" / name, timeout=600)
result.save(root / f"{name}.one.parquet")
usage = __import__("resource").getrusage(0)
print(json.dumps({"seconds": time.monotonic() - started, "cpu": time.process_time(), "peak": usage.ru_maxrss * 1024, "bytes": result.report["bytes"]}))
"""

MANY = """
import json, os, pathlib, sys, time
import tacita, tacita.ray
root, name, address, cpus, buckets, output = pathlib.Path(sys.argv[1]), *sys.argv[2:]
for attempt in range(60):
    try:
        pool = tacita.ray.Cluster(address, cpus=int(cpus))
        break
    except tacita.InputError:
        time.sleep(1)
# The cluster's own start is not the job's: workers are there when it begins.
pool.value(pool.start(lambda: None).refs[0])
started = time.monotonic()
result = tacita.ray.run(
    tacita.Job.load(root / "job.json"), name, root / name, root / "id" / name, output, on=pool, workers_at="127.0.0.1", timeout=600,
    buckets=int(buckets) or None,
)
report = result.report
print(json.dumps({"seconds": time.monotonic() - started, "driver_cpu": time.process_time(), "cpu": report["cpu_seconds"], "phases": report["seconds"], "buckets": report["buckets"], "bytes": report["bytes"]}))
"""


def both(code: str, arguments: dict[str, list[str]], cores: str) -> dict[str, dict]:
    """Runs both parties at once."""
    environment = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "disabled"}
    told = {name: ["taskset", "-c", cores, sys.executable, "-c", code, *map(str, own)] for name, own in arguments.items()}
    running = {name: subprocess.Popen(own, stdout=subprocess.PIPE, text=True, env=environment) for name, own in told.items()}
    outputs = {name: process.communicate()[0] for name, process in running.items()}
    return {name: json.loads(output.splitlines()[-1]) for name, output in outputs.items()}


class Clusters:
    """Two clusters, of so many cores each, on these cores."""

    def __init__(self, cpus: int, cores: str) -> None:
        self.processes, self.addresses, self.directories = [], {}, []
        for name in NAMES:
            port, directory = free_port(), tempfile.mkdtemp(prefix="ray-", dir="/tmp")
            ray = str(pathlib.Path(sys.executable).parent / "ray")
            told = ["taskset", "-c", cores, ray, "start", "--head", f"--port={port}", f"--num-cpus={cpus}", "--include-dashboard=false", "--block",
                    f"--temp-dir={directory}", "--object-store-memory=4000000000",
                    "--min-worker-port=0", "--max-worker-port=0"]  # fmt: skip
            environment = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "disabled"}
            self.processes.append(subprocess.Popen(told, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment, start_new_session=True))
            self.addresses[name] = f"127.0.0.1:{port}"
            self.directories.append(directory)
        time.sleep(8)

    def kill_one_each(self) -> int:
        """Kills a worker of each while it does a bucket."""
        killed = set()
        until = time.monotonic() + 300
        while len(killed) < len(self.directories) and time.monotonic() < until:
            listing = subprocess.run(["ps", "-eo", "pid,ppid,args"], capture_output=True, text=True).stdout.splitlines()[1:]
            rows = [line.split(None, 2) for line in listing]
            parents = {pid: args for pid, _, args in (row for row in rows if len(row) == 3)}
            for pid, ppid, args in (row for row in rows if len(row) == 3):
                if not args.startswith("ray::bucket"):
                    continue
                for directory in self.directories:
                    if directory in parents.get(ppid, "") and directory not in killed:
                        os.kill(int(pid), signal.SIGKILL)
                        killed.add(directory)
            time.sleep(0.2)
        return len(killed)

    def end(self) -> None:
        for process in self.processes:
            os.killpg(process.pid, signal.SIGTERM)
        for process in self.processes:
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
        for directory in self.directories:
            shutil.rmtree(directory, ignore_errors=True)


def many(root: pathlib.Path, clusters: Clusters, cpus: int, buckets: int, cores: str) -> dict[str, dict]:
    outputs = {name: root / f"{name}.many" for name in NAMES}
    for output in outputs.values():
        shutil.rmtree(output, ignore_errors=True)
    return both(MANY, {name: [root, name, clusters.addresses[name], cpus, buckets, outputs[name]] for name in NAMES}, cores)


def say(what: str, rows: int, taken: dict[str, dict], **more: object) -> None:
    seconds = max(one["seconds"] for one in taken.values())
    print(json.dumps({"what": what, "rows": rows, "seconds": round(seconds, 2), **more, "parties": taken}), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--files", type=int, default=8)
    parser.add_argument("--buckets", type=int, default=0)
    parser.add_argument("--only", default="one,ray,kill,scale")
    options = parser.parse_args()
    wanted, all_cores = options.only.split(","), sorted(os.sched_getaffinity(0))[:2]
    cores = ",".join(map(str, all_cores))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with tempfile.TemporaryDirectory() as scratch:
        root = pathlib.Path(scratch)
        make(root, options.rows, options.files)
        clusters = Clusters(len(all_cores), cores) if {"ray", "kill"} & set(wanted) else None
        try:
            for _ in range(options.runs):
                # In turn, so that what the machine does besides falls on both.
                if "one" in wanted:
                    say("one", options.rows, both(ONE, {name: [root, name] for name in NAMES}, cores))
                if "ray" in wanted and clusters:
                    say("ray", options.rows, many(root, clusters, 1, options.buckets, cores))
                    check([root / f"{name}.many" for name in NAMES], options.rows)
            if "kill" in wanted and clusters:
                import threading

                killing = threading.Thread(target=clusters.kill_one_each)
                killing.start()
                taken = many(root, clusters, 1, options.buckets, cores)
                killing.join()
                check([root / f"{name}.many" for name in NAMES], options.rows)
                say("kill", options.rows, taken)
        finally:
            if clusters:
                clusters.end()
        for number in (1, 2) if "scale" in wanted else ():
            own = ",".join(map(str, all_cores[:number]))
            clusters = Clusters(number, own)
            try:
                for _ in range(options.runs):
                    say("scale", options.rows, many(root, clusters, 1, options.buckets, own), cores=number)
            finally:
                clusters.end()


if __name__ == "__main__":
    main()
