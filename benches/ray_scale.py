#!/usr/bin/env python3
"""Jobs on many machines that are not there: how long a run takes, and what bounds it, with real drivers over machines and a wire that are simulated.

Usage: ray_scale.py [--rows N,N] [--machines N,N] [--gbits N,N] [--cores N] [--latency S] [--json]; in an environment with tacita, ray and pyarrow.

Both parties' drivers run `tacita.ray.run`: they meet, draw the seed, hand out every bucket and hear of its end, over a connection that delays what is said.
What they hand it out to is a pool whose tasks compute nothing. In real time, each takes as long as its rows and bytes take:

- a task has one core of a machine to itself, and there are as many as machines have cores;
- reading, spreading and doing a bucket take the CPU seconds that `tacita.ray.plan` says, for this machine's cores;
- pieces of a bucket come over the network of its party's cluster, of which each core has its part;
- the bytes of all buckets under way share one wire between the parties evenly, while machines compute.

What a driver itself takes for each task, and each object that goes into one or comes out of it, is measured with Ray, on one node of this machine, and waited for.
What is not simulated: the start of a cluster, machines that are slower than others or lost, and the contents of tables.
"""

from __future__ import annotations

import argparse
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

NAMES = ("shop", "bakery")
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
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
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


class World:
    """Time, and the wire. Whoever looks moves it on to now."""

    def __init__(self, bandwidth: float, slots: int) -> None:
        self.lock = threading.RLock()
        self._bandwidth, self._slots = bandwidth, slots
        self._now = time.monotonic()
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._flows: list[tuple[float, int, Callable[[], None]]] = []
        self._each = 0.0
        """Bytes that a flow would have sent that was there from the beginning."""
        self._number = 0
        self.busy_wire = 0.0

    def _next(self) -> int:
        self._number += 1
        return self._number

    def at(self, seconds: float, do: Callable[[], None]) -> None:
        """Does something so many seconds from now."""
        heapq.heappush(self._events, (self._now + seconds, self._next(), do))

    def send(self, size: float, do: Callable[[], None]) -> None:
        """Does something when so many bytes have gone over the wire."""
        heapq.heappush(self._flows, (self._each + size, self._next(), do))

    def move(self) -> None:
        """Lets happen what happens until now."""
        with self.lock:
            until = time.monotonic()
            while True:
                rate = self._bandwidth / len(self._flows) if self._flows else 0.0
                sent = self._now + (self._flows[0][0] - self._each) / rate if rate else float("inf")
                event = self._events[0][0] if self._events else float("inf")
                then = min(sent, event, until)
                self.busy_wire += (then - self._now) * bool(self._flows)
                self._each += (then - self._now) * rate
                self._now = max(self._now, then)
                if then == until and min(sent, event) > until:
                    return
                queue = self._flows if sent <= event else self._events
                heapq.heappop(queue)[2]()


class Meeting:
    """A bucket's machines, which begin when both are there and end together."""

    def __init__(self) -> None:
        self.here: list[Task] = []


class Task:
    """One under way, or waiting for a core."""

    def __init__(self, function: str, arguments: tuple[Any, ...], returns: int) -> None:
        self.function, self.arguments = function, arguments
        self.refs: list[Any] = [self, *[None] * (returns - 1)]
        self.error: BaseException | None = None
        self.value: Any = None
        self.ended = False


class Simulated:
    """A pool of machines that take their time, and do nothing."""

    def __init__(self, world: World, setup: Machines, cost: Cost, ray: Ray, facts: dict[str, Any], buckets: int, meetings: dict[Any, Meeting], part: bytes) -> None:
        self.slots = setup.machines * setup.cores
        self.post = None
        self._world, self._setup, self._cost, self._ray, self._facts, self._buckets = world, setup, cost, ray, facts, buckets
        self._meetings, self._part = meetings, part
        self._free = self.slots
        self._waiting: list[Task] = []
        self._ended: list[Task] = []
        self._told: list[tuple[int, int, str]] = []
        self._wake = threading.Condition(world.lock)
        self.driver_seconds = 0.0

    def at(self, address: str | None) -> str:
        return "127.0.0.1"

    def start(self, function: Any, *arguments: Any, returns: int = 1, again: bool = False) -> Task:
        taken = self._ray.task + self._ray.argument * len(arguments) + self._ray.result * (returns - 1)
        self.driver_seconds += taken
        time.sleep(taken)
        task = Task(function.__name__, arguments, returns)
        with self._world.lock:
            self._world.move()
            self._waiting.append(task)
            self._assign()
        return task

    def _assign(self) -> None:
        while self._free and self._waiting:
            self._free -= 1
            self._begin(self._waiting.pop(0))

    def _begin(self, task: Task) -> None:
        world, cost = self._world, self._cost
        if task.function == "bucket":
            order = task.arguments[0]
            moved = self._setup.rows / self._buckets * ROW_BYTES * 8 / (self._setup.inside * 1e9 / self._setup.cores)
            if order.listens:
                world.at(0.005, lambda: self._told.append((order.number, order.attempt, "127.0.0.1:1")))
            meeting = self._meetings.setdefault((order.session, order.number), Meeting())
            meeting.here.append(task)
            task.keep = self._keep  # type: ignore[attr-defined]
            if len(meeting.here) == len(NAMES):
                both = [moved + cost.bucket, cost.bytes]

                def one_is_over() -> None:
                    both.pop()
                    for one in meeting.here if not both else ():
                        one.keep(one)  # type: ignore[attr-defined]

                world.at(both[0], one_is_over)
                world.send(both[1], one_is_over)
            return
        rows = self._setup.rows / self._files
        reads = task.function == "read"
        moved = rows * ROW_BYTES * 8 / (self._setup.inside * 1e9 / self._setup.cores) if task.function == "gather" else 0.0
        world.at(rows * cost.row * (2 / 3 if reads else 1 / 3) if task.function != "gather" else moved, lambda: self._over(task, self._facts if reads else None))

    @property
    def _files(self) -> int:
        return self._facts["files"]

    def _keep(self, task: Task) -> None:
        order = task.arguments[0]
        task.path = order.kept("parquet")  # type: ignore[attr-defined]
        task.path.write_bytes(self._part)  # type: ignore[attr-defined]
        sent = self._cost.sent
        report = {"result": {"rows": 0}, "bytes": {"sent": sent, "received": sent}}
        self._over(task, {"report": report, "cpu_seconds": self._cost.bucket, "seconds": self._cost.bucket})

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


def simulate(setup: Machines, ray: Ray, latency: float) -> dict[str, Any]:
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
        plan = tacita.ray.plan(job(port), *both, cores=setup.cores, bandwidth=setup.gbits * 1e9)
        one = next(iter(plan.shares.values()))
        row = tacita.ray._plan.ROW_SECONDS
        bucket = (one.cpu_seconds - setup.rows * row) / plan.buckets
        cost = Cost(row, bucket, plan.bytes / plan.buckets, plan.bytes // plan.buckets // 2)
        files = max(64, 2 * slots)
        table = pyarrow.table({"key": ["a"]})
        own, _ = tacita.ray._tasks.read(tacita.ray._tasks.Text(*job(port)._spec.text), NAMES[0], table, False)
        facts = {**own, "files": files}
        facts["counts"] = {name: 0 for name in own["counts"]} | {"items": setup.rows // files, "read": setup.rows // files}
        pyarrow.parquet.write_table(table.slice(0, 0), scratch / "part")
        part = (scratch / "part").read_bytes()
        world, meetings = World(setup.gbits * 1e9 / 8, slots), {}
        pools = {name: Simulated(world, setup, cost, ray, facts, plan.buckets, meetings, part) for name in NAMES}
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
            "wire_busy": round(world.busy_wire, 1),
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
    options = parser.parse_args()
    ray = measure_ray()
    print(json.dumps({"ray": {name: f"{value * 1e6:.0f} us" for name, value in ray._asdict().items()}}), flush=True)
    for rows in options.rows:
        for gbits in options.gbits:
            for machines in options.machines:
                setup = Machines(int(rows), int(machines), options.cores, gbits, options.inside)
                print(json.dumps(simulate(setup, ray, options.latency)), flush=True)


if __name__ == "__main__":
    main()
