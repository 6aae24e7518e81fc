#!/usr/bin/env python3
"""Jobs on many machines that are not there: how long a run takes, and what bounds it, with real drivers over machines and a wire that are simulated.

Usage: ray_scale.py [--rows N,N] [--machines N,N] [--gbits N,N] [--cores N] [--latency S]; in an environment with tacita, ray and pyarrow.

Both parties' drivers run `tacita.ray.run`: they meet, draw the seed, hand out every bucket and hear of its end, over a connection that delays what is said.
What they hand it out to is a pool whose tasks compute nothing. In real time, each takes as long as its rows and bytes take:

- a task has one core of a machine to itself, and there are as many as machines have cores;
- reading, spreading and doing a bucket take what they took in a run of 10^7 rows (--measure-rows), on one core of this machine for each party;
- pieces of a bucket come over the network of its party's cluster, of which each core has its part;
- the bytes of all buckets under way share one wire between the parties evenly, while machines compute.

What a driver itself takes for each task, and each object that goes into one or comes out of it, is measured with Ray, on one node of this machine, and waited for.
What is not simulated: the start of a cluster, machines that are slower than others or lost, and the contents of tables.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import heapq
import json
import os
import pathlib
import shutil
import socket
import tempfile
import threading
import time
from typing import Any, Callable, NamedTuple

import pyarrow
import pyarrow.parquet

import tacita
import tacita.ray
import ray_clusters
from ray_clusters import NAMES

ROW_BYTES = 40
"""Of a row with its key, on its way in the own cluster."""


class Ray(NamedTuple):
    """What a driver on Ray takes, in seconds."""

    task: float
    argument: float
    """For each object that a task takes."""
    result: float
    """For each object that comes of it."""


def measure_ray() -> Ray:
    """On a cluster of one node, which does nothing else."""
    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "disabled"}
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    nothing = ray.remote(num_cpus=1)(lambda *_: None)
    several = ray.remote(num_cpus=1)(lambda number: [None] * number)

    def seconds(do: Callable[[], Any], times: int) -> float:
        do()
        taken = []
        for _ in range(5):
            started = time.monotonic()
            do()
            taken.append((time.monotonic() - started) / times)
        return sorted(taken)[2]

    task = seconds(lambda: ray.get([nothing.remote() for _ in range(1000)]), 1000)
    result = seconds(lambda: ray.get(several.options(num_returns=1000).remote(1000)[0]), 1000)
    objects = several.options(num_returns=1000).remote(1000)
    argument = seconds(lambda: ray.get(nothing.remote(*objects)), 1000)
    ray.shutdown()
    return Ray(task, argument, result)


class Machines(NamedTuple):
    """What is simulated."""

    rows: int
    machines: int
    """Of each party."""
    cores: int
    gbits: float
    """Between the parties, of all machines together."""
    inside: float
    """Of each machine in its cluster, in Gbit/s."""


class Cost(NamedTuple):
    """What things take, in CPU seconds and bytes of both parties."""

    row: float
    bucket: float
    bytes: float
    sent: int


class Link:
    """A wire that all who send share evenly."""

    def __init__(self, gbits: float) -> None:
        self.bytes_a_second = gbits * 1e9 / 8
        self.busy = 0.0
        self._each = 0.0
        """Bytes that one would have sent that was there from the beginning."""
        self.flows: list[tuple[float, int, Callable[[], None]]] = []

    def start(self, size: float, number: int, do: Callable[[], None]) -> None:
        """Does something when so many bytes more are sent."""
        heapq.heappush(self.flows, (self._each + size, number, do))

    def next(self) -> float:
        """In how many seconds somebody's bytes are all sent."""
        return (self.flows[0][0] - self._each) * len(self.flows) / self.bytes_a_second if self.flows else float("inf")

    def move(self, seconds: float) -> None:
        """Sends on."""
        if self.flows:
            self._each += seconds * self.bytes_a_second / len(self.flows)
            self.busy += seconds


class World:
    """Time. Whoever looks moves it on to now."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self._now = time.monotonic()
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._links: list[Link] = []
        self._number = 0

    def link(self, gbits: float) -> Link:
        """A new one."""
        self._links.append(Link(gbits))
        return self._links[-1]

    def at(self, seconds: float, do: Callable[[], None]) -> None:
        """Does something so many seconds from now."""
        self._number += 1
        heapq.heappush(self._events, (self._now + seconds, self._number, do))

    def send(self, link: Link, size: float, do: Callable[[], None]) -> None:
        """Does something when so many bytes have gone over a link."""
        self._number += 1
        link.start(size, self._number, do)

    def move(self) -> None:
        """Lets happen what happens until now."""
        with self.lock:
            until = time.monotonic()
            while True:
                link = min(self._links, key=Link.next)
                sent = self._now + link.next()
                event = self._events[0][0] if self._events else float("inf")
                then = max(self._now, min(sent, event, until))
                for each in self._links:
                    each.move(then - self._now)
                self._now = then
                if min(sent, event) > until:
                    return
                heapq.heappop(link.flows if sent <= event else self._events)[2]()


class Task:
    """One under way, or waiting for a core."""

    def __init__(self, function: str, arguments: tuple[Any, ...], returns: int) -> None:
        self.function, self.arguments = function, arguments
        self.refs: list[Any] = [self, *[None] * (returns - 1)]
        self.error: BaseException | None = None
        self.value: Any = None
        self.ended = False


class Common(NamedTuple):
    """What both parties' machines are in."""

    world: World
    between: Link
    meetings: dict[Any, list[Callable[[], None]]]
    """By bucket, what its machines do at its end."""
    setup: Machines
    cost: Cost
    ray: Ray
    facts: dict[str, Any]
    """What is said of a part of the table."""
    files: int
    buckets: int
    part: bytes
    """The file of a bucket's result."""


class Simulated:
    """A pool of machines that take their time, and do nothing."""

    def __init__(self, common: Common) -> None:
        setup = common.setup
        self.slots = setup.machines * setup.cores
        self.post = None
        self._common, self._world = common, common.world
        self._inside = common.world.link(setup.inside * setup.machines)
        self._free = self.slots
        self._waiting: collections.deque[Task] = collections.deque()
        self._told: list[tuple[int, int, str]] = []
        self.driver_seconds = 0.0
        self._driver_until = time.monotonic()

    def at(self, address: str | None) -> str:
        return "127.0.0.1"

    def start(self, function: Any, *arguments: Any, returns: int = 1, again: bool = False) -> Task:
        ray = self._common.ray
        taken = ray.task + ray.argument * len(arguments) + ray.result * (returns - 1)
        self.driver_seconds += taken
        # Sleeps are longer than they are told to be; what is too much of one comes off the next.
        self._driver_until = max(self._driver_until, time.monotonic() - 0.005) + taken
        if (left := self._driver_until - time.monotonic()) > 0.002:
            time.sleep(left)
        task = Task(function.__name__, arguments, returns)
        with self._world.lock:
            self._world.move()
            self._waiting.append(task)
            self._assign()
        return task

    def _assign(self) -> None:
        while self._free and self._waiting:
            self._free -= 1
            task = self._waiting.popleft()
            getattr(self, f"_{task.function}")(task)

    def _read(self, task: Task) -> None:
        common = self._common
        self._world.at(common.setup.rows / common.files * common.cost.row * 2 / 3, lambda: self._over(task, common.facts))

    def _scatter(self, task: Task) -> None:
        common = self._common
        self._world.at(common.setup.rows / common.files * common.cost.row / 3, lambda: self._over(task, None))

    def _gather(self, task: Task) -> None:
        self._pull(self._common.setup.rows * (len(task.refs) - 1) / self._common.buckets, lambda: self._over(task, None))

    def _pull(self, rows: float, do: Callable[[], None]) -> None:
        """Gets rows from where they are: on this machine as likely as on any other."""
        elsewhere = 1 - 1 / self._common.setup.machines
        self._world.send(self._inside, rows * ROW_BYTES * elsewhere, do)

    def _bucket(self, task: Task) -> None:
        common, order = self._common, task.arguments[0]

        def ends() -> None:
            order.kept("parquet").write_bytes(common.part)
            sent = common.cost.sent
            report = {"result": {"rows": 0}, "bytes": {"sent": sent, "received": sent}}
            self._over(task, {"report": report, "cpu_seconds": common.cost.bucket, "seconds": common.cost.bucket, "told": False})

        def meets() -> None:
            if order.listens:
                self._told.append((order.number, order.attempt, "127.0.0.1:1"))
            both = common.meetings.setdefault((order.session, order.number), [])
            both.append(ends)
            if len(both) < len(NAMES):
                return
            left = ["computing", "sending"]

            def one_is_over() -> None:
                left.pop()
                for end in both if not left else ():
                    end()

            self._world.at(common.cost.bucket, one_is_over)
            self._world.send(common.between, common.cost.bytes, one_is_over)

        self._pull(common.setup.rows / common.buckets, meets)

    def _over(self, task: Task, value: Any) -> None:
        task.value, task.ended = value, True
        self._free += 1
        self._assign()

    def done(self, tasks: list[Task], timeout: float) -> list[Task]:
        until = time.monotonic() + timeout
        while True:
            self._world.move()
            ended = [task for task in tasks if task.ended]
            if ended or self._told or time.monotonic() > until:
                return ended
            time.sleep(0.001)

    def value(self, ref: Any) -> Any:
        return ref.value

    def posted(self) -> list[tuple[int, int, str]]:
        with self._world.lock:
            told, self._told[:] = list(self._told), []
        return told

    def stop(self, task: Task) -> None:
        raise NotImplementedError("nothing fails here")

    def close(self) -> None:
        """Nothing is left."""


def delayed(port: int, latency: float) -> int:
    """A port at which the other one is reached, with so many seconds on each way."""
    listener = socket.create_server(("127.0.0.1", 0))

    def pipe(source: socket.socket, target: socket.socket) -> None:
        queue: list[tuple[float, bytes]] = []
        some = threading.Condition()

        def write() -> None:
            while True:
                with some:
                    while not queue:
                        some.wait()
                    due, data = queue.pop(0)
                time.sleep(max(0.0, due - time.monotonic()))
                try:
                    target.sendall(data) if data else target.shutdown(socket.SHUT_WR)
                except OSError:
                    return
                if not data:
                    return

        threading.Thread(target=write, daemon=True).start()
        while True:
            try:
                data = source.recv(1 << 16)
            except OSError:
                data = b""
            with some:
                queue.append((time.monotonic() + latency, data))
                some.notify()
            if not data:
                return

    def accept() -> None:
        while True:
            one, _ = listener.accept()
            for _ in range(100):
                try:
                    other = socket.create_connection(("127.0.0.1", port))
                    break
                except OSError:
                    time.sleep(0.05)
            for pair in ((one, other), (other, one)):
                for end in pair:
                    end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=pipe, args=pair, daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return listener.getsockname()[1]


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def measure_buckets(rows: int) -> list[dict[str, Any]]:
    """What both parties report of a run with so many rows, in buckets of the size that many have."""
    with tempfile.TemporaryDirectory() as scratch:
        root = pathlib.Path(scratch)
        ray_clusters.make(root, rows, 8)

        def party(name: str) -> dict[str, Any]:
            job = tacita.Job.load(root / "job.json")
            options: dict[str, Any] = {"on": tacita.ray.Processes(1), "buckets": max(1, rows // 500_000)}
            return tacita.ray.run(job, name, root / name, root / "id" / name, root / f"{name}.out", **options).report

        with concurrent.futures.ThreadPoolExecutor(2) as threads:
            return list(threads.map(party, NAMES))


def simulate(setup: Machines, ray: Ray, measured: list[dict[str, Any]], latency: float) -> dict[str, Any]:
    """One run."""
    scratch = pathlib.Path(tempfile.mkdtemp())
    try:
        port = free_port()
        identities = {name: tacita.Identity.create(scratch / "id" / name, name).fingerprint for name in NAMES}

        def job(port: int) -> tacita.Job:
            parties = {name: {"identity": identities[name], "address": f"127.0.0.1:{port}"} for name in NAMES}
            return tacita.Job(job="intersect", id="scale", reveal_to=list(NAMES), key={"columns": ["key"]}, protocol="vole", parties=parties)

        slots = setup.machines * setup.cores
        both = dict.fromkeys(NAMES, setup.rows), dict.fromkeys(NAMES, setup.machines)
        plan = tacita.ray.plan(job(port), *both, cores=setup.cores, bandwidth=setup.gbits * 1e9, measured=measured)
        one = next(iter(plan.shares.values()))
        loaded = measured[0]["seconds"]["load"] + measured[0]["seconds"]["spread"]
        row = loaded * measured[0]["slots"] / measured[0]["rows"]["items"]
        bucket = (one.cpu_seconds - setup.rows * row) / plan.buckets
        cost = Cost(row, bucket, plan.bytes / plan.buckets, plan.bytes // plan.buckets // 2)
        files = max(64, 2 * slots)
        table = pyarrow.table({"key": ["a"]})
        facts, _ = tacita.ray._tasks.read(tacita.ray._tasks.Text(*job(port)._spec.text), NAMES[0], table, False)
        facts["counts"] = {name: 0 for name in facts["counts"]} | {"items": setup.rows // files, "read": setup.rows // files}
        pyarrow.parquet.write_table(table.slice(0, 0), scratch / "part")
        world = World()
        between = world.link(setup.gbits)
        common = Common(world, between, {}, setup, cost, ray, facts, files, plan.buckets, (scratch / "part").read_bytes())
        pools = {name: Simulated(common) for name in NAMES}
        through = delayed(port, latency)

        def party(name: str) -> Any:
            return tacita.ray.run(
                job(port if name == NAMES[0] else through), name, [table] * files, scratch / "id" / name, scratch / f"{name}.out", on=pools[name],
                listen=f"127.0.0.1:{port}" if name == NAMES[0] else None, buckets=plan.buckets,
            )  # fmt: skip

        started, cpu = time.monotonic(), time.process_time()
        with concurrent.futures.ThreadPoolExecutor(2) as threads:
            results = list(threads.map(party, NAMES))
        seconds = time.monotonic() - started
        report = results[0].report
        assert report["buckets"]["done"] == plan.buckets
        return {
            "rows": setup.rows, "machines": setup.machines, "cores": setup.cores, "gbits": setup.gbits, "files": files, "buckets": plan.buckets,
            "seconds": round(seconds, 1), "planned": round(plan.seconds, 1), "bound_by": plan.bound_by, "phases": report["seconds"],
            "bucket_seconds": round(bucket, 2), "driver_on_ray": round(pools[NAMES[0]].driver_seconds, 1), "drivers_cpu": round(time.process_time() - cpu, 1),
            "wire_busy": round(between.busy, 1),
        }  # fmt: skip
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def main() -> None:
    def numbers(text: str) -> list[float]:
        return [float(one) for one in text.split(",")]

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=numbers, default=[1e9])
    parser.add_argument("--machines", type=numbers, default=[1, 8, 64])
    parser.add_argument("--gbits", type=numbers, default=[10, 100])
    parser.add_argument("--inside", type=float, default=10.0)
    parser.add_argument("--cores", type=int, default=16)
    parser.add_argument("--latency", type=float, default=0.01)
    parser.add_argument("--measure-rows", type=int, default=10_000_000)
    options = parser.parse_args()
    ray = measure_ray()
    print(json.dumps({"ray": {name: f"{value * 1e6:.0f} us" for name, value in ray._asdict().items()}}), flush=True)
    measured = measure_buckets(options.measure_rows)
    print(json.dumps({"measured": [{what: report[what] for what in ("cpu_seconds", "seconds", "buckets", "bytes")} for report in measured]}), flush=True)
    for rows in options.rows:
        for gbits in options.gbits:
            for machines in options.machines:
                setup = Machines(int(rows), int(machines), options.cores, gbits, options.inside)
                print(json.dumps(simulate(setup, ray, measured, options.latency)), flush=True)


if __name__ == "__main__":
    main()
