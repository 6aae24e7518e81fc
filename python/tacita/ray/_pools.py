"""Where tasks run: on a Ray cluster, or on processes of this machine. Both do the same for a driver."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import logging
import multiprocessing
import multiprocessing.connection
import os
import pathlib
import pickle
import shutil
import signal
import socket
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Optional, Protocol

from ..errors import Error, _input

_log = logging.getLogger("tacita")

__all__ = ["Cluster", "Pool", "PoolLost", "Processes", "Task", "WorkerLost"]

TRIES = 3
"""How often a task is begun again elsewhere that may be, when its worker is lost."""


class WorkerLost(Exception):
    """A machine or a process went away while it did a task, or was told to."""


class PoolLost(Exception):
    """All machines are gone."""


class Task(Protocol):
    """Work under way."""

    refs: Sequence[Any]
    """What comes of it, for other tasks to take. The first one is small: the driver looks at it."""
    error: Optional[BaseException]
    """Why it failed, once it has."""


class Pool(Protocol):
    """Where tasks run."""

    slots: int
    """How many tasks run at a time."""
    @property
    def post(self) -> Callable[[int, int, str], object]:
        """What a task tells its driver with: see `posted`."""

    def at(self, address: Optional[str]) -> Optional[str]:
        """At which host machines are found whose party is at this address; each knows its own, if this does not."""

    def start(self, function: Callable[..., Any], *arguments: Any, returns: int = 1, again: bool = False) -> Task:
        """Starts a task. Of several results each has a reference of its own; `again` if it may be done again elsewhere when its worker is lost."""

    def done(self, tasks: Sequence[Task], timeout: float) -> list[Task]:
        """Those of the tasks that have ended; waits for one of them for so many seconds."""

    def value(self, ref: Any) -> Any:
        """What a reference stands for."""

    def posted(self) -> list[tuple[int, int, str]]:
        """What tasks have told since the last time."""

    def stop(self, task: Task) -> None:
        """Ends a task before its time."""

    def close(self) -> None:
        """Ends all."""


class Cluster:
    """A Ray cluster, of which Ray's own rules say where tasks run.

    `address` is the cluster's, as ``ray.init`` takes it, where the process is in none yet; `cpus` are the cores of a task, `slots` how many buckets are done
    at a time (all cores of the cluster, if that is not said), and `options` what else ``ray.remote`` takes, as ``resources`` or ``memory``.

    >>> import tacita.ray
    >>> tacita.ray.Cluster("auto", cpus=4)  # doctest: +SKIP
    """

    def __init__(self, address: Optional[str] = None, *, cpus: int = 1, slots: Optional[int] = None, **options: Any) -> None:
        try:
            ray: Any = importlib.import_module("ray")
        except ImportError as error:
            raise _input("on: Ray is not installed: `pip install ray`, or give on=tacita.ray.Processes(N)") from error
        self._ray = ray
        _check_counts("Cluster", cpus=cpus, slots=slots)
        if not ray.is_initialized():
            _find(address)
            try:
                ray.init(address=address, log_to_driver=False, logging_level=logging.WARNING)
            except (ConnectionError, RuntimeError, ValueError) as error:
                raise _input(f"on: no Ray cluster is found at address={address!r}: {_first_line(error)}") from None
        cores = [int(node["Resources"].get("CPU", 0)) for node in ray.nodes() if node["Alive"]]
        most = max(cores, default=0)
        if most < cpus:
            # Where clusters grow, one may come.
            _log.warning("on: Cluster(cpus=%d): no machine of the cluster has so many cores (the most are %d), and nothing begins until one has", cpus, most)
        self.cpus = cpus
        self.slots = slots or max(1, sum(own // cpus for own in cores))
        self._options = {"num_cpus": cpus, **options, "runtime_env": _environment(cpus, options.get("runtime_env"))}
        # Where the driver is: a node that goes away does not take it along.
        here = importlib.import_module("ray.util.scheduling_strategies").NodeAffinitySchedulingStrategy(
            node_id=ray.get_runtime_context().get_node_id(), soft=False
        )
        self._boards = ray.remote(num_cpus=0)(_Board).options(scheduling_strategy=here)
        self._board: Any = None
        self._asked: Any = None
        self._told: list[tuple[int, int, str]] = []
        self._functions: dict[Callable[..., Any], Any] = {}

    def at(self, address: Optional[str]) -> Optional[str]:
        return None

    @property
    def post(self) -> Callable[[int, int, str], object]:
        """Of this run."""
        with self._whole():
            self._board = self._board or self._boards.remote()
        return _RayPost(self._board)

    def start(self, function: Callable[..., Any], *arguments: Any, returns: int = 1, again: bool = False) -> _RayTask:
        if function not in self._functions:
            self._functions[function] = self._ray.remote(function)
        remote = self._functions[function].options(num_returns=returns, max_retries=TRIES if again else 0, **self._options)
        with self._whole():
            refs = remote.remote(*arguments)
        return _RayTask([refs] if returns == 1 else refs)

    def done(self, tasks: Sequence[Any], timeout: float) -> list[Any]:
        of_refs = {task.refs[0]: task for task in tasks}
        if not of_refs:
            return []
        with self._whole():
            if self._asked is None and self._board is not None:
                self._asked = self._board.take.remote()
            refs = [*of_refs, *([self._asked] if self._asked is not None else [])]
            ready, _ = self._ray.wait(refs, num_returns=1, timeout=timeout, fetch_local=False)
            if ready:
                ready, _ = self._ray.wait(refs, num_returns=len(refs), timeout=0, fetch_local=False)
            ended = []
            for ref in ready:
                if ref == self._asked:
                    self._told += self._ray.get(ref)
                    self._asked = None
                else:
                    task = of_refs[ref]
                    task.error = self._failure(ref)
                    if task.error is not None:
                        # What nobody takes of a task that failed, Ray would print.
                        for other in task.refs[1:]:
                            self._failure(other)
                    ended.append(of_refs[ref])
        return ended

    @contextlib.contextmanager
    def _whole(self) -> Iterator[None]:
        """Errors of Ray here are not those of a task."""
        try:
            yield
        except (self._ray.exceptions.RayError, ConnectionError) as error:
            raise PoolLost(f"the Ray cluster is lost: {_first_line(error)}") from None

    def _failure(self, ref: Any) -> Optional[BaseException]:
        try:
            self._ray.get(ref)
        except self._ray.exceptions.RayTaskError as error:
            return error.cause if isinstance(error.cause, Exception) else error
        except self._ray.exceptions.RayError as error:
            return WorkerLost(_first_line(error))
        return None

    def value(self, ref: Any) -> Any:
        failure = self._failure(ref)
        if failure is not None:
            raise failure
        return self._ray.get(ref)

    def posted(self) -> list[tuple[int, int, str]]:
        told, self._told = self._told, []
        return told

    def stop(self, task: Any) -> None:
        with contextlib.suppress(self._ray.exceptions.RayError):
            self._ray.cancel(task.refs[0], force=True)

    def close(self) -> None:
        board, self._board, self._asked, self._told = self._board, None, None, []
        with contextlib.suppress(self._ray.exceptions.RayError):
            if board is not None:
                self._ray.kill(board)


def _environment(cpus: int, given: Any) -> dict[str, Any]:
    """The environment of tasks: what was given, and as many threads as a task has cores, unless that says otherwise."""
    if given is not None and not isinstance(given, Mapping):
        raise _input(f"on: Cluster(runtime_env={given!r}): give a mapping, as {{'env_vars': {{'NAME': 'value'}}}}")
    environment = dict(given or {})
    return {**environment, "env_vars": {"RAYON_NUM_THREADS": str(cpus), **(environment.get("env_vars") or {})}}


def _check_counts(pool: str, **counts: Optional[int]) -> None:
    for name, number in counts.items():
        if number is not None and (not isinstance(number, int) or isinstance(number, bool) or number < 1):
            raise _input(f"on: {pool}({name}={number!r}): give a whole number, one or more")


def _find(address: Optional[str]) -> None:
    """Ray itself would try for a minute and more where nobody answers."""
    host, _, port = (address or "").removeprefix("ray://").rpartition(":")
    if host and port.isdigit():
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
        except OSError as error:
            raise _input(f"on: nothing answers at address={address!r}: {(error.strerror or str(error)).lower()}") from None


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].partition(". ")[0]


class _RayTask:
    def __init__(self, refs: Sequence[Any]) -> None:
        self.refs: Sequence[Any] = refs
        self.error: Optional[BaseException] = None


class _Board:
    """Where tasks on a cluster leave what their driver is to know."""

    def __init__(self) -> None:
        self.told: list[tuple[int, int, str]] = []
        self.some = asyncio.Event()

    async def post(self, bucket: int, attempt: int, address: str) -> None:
        self.told.append((bucket, attempt, address))
        self.some.set()

    async def take(self) -> list[tuple[int, int, str]]:
        """Waits until there is something."""
        await self.some.wait()
        told, self.told = self.told, []
        self.some.clear()
        return told


class _RayPost:
    def __init__(self, board: Any) -> None:
        self.board = board

    def __call__(self, bucket: int, attempt: int, address: str) -> None:
        self.board.post.remote(bucket, attempt, address)


class Processes:
    """So many processes of this machine, with so many threads each: the same without Ray.

    What is on its way between tasks is in files of a directory of its own in `scratch`, which only this user can read; the system's for temporary files, if that is not said.

    >>> import tacita.ray
    >>> tacita.ray.Processes(4).slots
    4
    """

    def __init__(self, processes: int, *, threads: int = 1, scratch: Optional[str] = None) -> None:
        _check_counts("Processes", processes=processes, threads=threads)
        self.slots = processes
        self.post: Callable[[int, int, str], object] = _post
        self._threads = threads
        self._scratch_in = scratch
        self._scratch: Optional[pathlib.Path] = None
        self._context = multiprocessing.get_context("spawn")
        self._idle: list[_Worker] = []
        self._busy: dict[_Worker, _ProcessTask] = {}
        self._waiting: list[_ProcessTask] = []
        self._told: list[tuple[int, int, str]] = []
        self._made = 0

    def at(self, address: Optional[str]) -> Optional[str]:
        return address.rpartition(":")[0] if address else "127.0.0.1"

    def start(self, function: Callable[..., Any], *arguments: Any, returns: int = 1, again: bool = False) -> _ProcessTask:
        if self._scratch is None:
            self._scratch = pathlib.Path(tempfile.mkdtemp(prefix="tacita-", dir=self._scratch_in))
        self._made += 1
        refs = [_Ref(str(self._scratch / f"{self._made}-{number}"), os.getpid()) for number in range(returns)]
        task = _ProcessTask(function, arguments, refs, again)
        self._waiting.append(task)
        self._assign()
        return task

    def _assign(self) -> None:
        while self._waiting and (self._idle or len(self._busy) < self.slots):
            worker = self._idle.pop() if self._idle else _Worker(self._context, self._threads)
            task = self._waiting.pop(0)
            try:
                worker.pipe.send((task.function, task.arguments, task.refs))
            except OSError:
                # It died while it had nothing to do.
                self._waiting.insert(0, task)
                continue
            self._busy[worker] = task

    def done(self, tasks: Sequence[Any], timeout: float) -> list[Any]:
        if not any(task.ended for task in tasks) and self._busy:
            of_pipes = {worker.pipe: worker for worker in self._busy}
            for pipe in multiprocessing.connection.wait(list(of_pipes), timeout):
                self._hear(of_pipes[pipe])
        return [task for task in tasks if task.ended]

    def _hear(self, worker: _Worker) -> None:
        task = self._busy[worker]
        try:
            what, told = worker.pipe.recv()
        except (EOFError, OSError):
            del self._busy[worker]
            worker.process.join(5)
            failed = worker.process.exitcode
            worker.end()
            task.lost += 1
            if not worker.stands and not worker.killed and failed is not None and failed > 0:
                task.end(
                    _input(
                        "on: a process ended while it started: a script calls tacita.ray.run under `if __name__ == \"__main__\":`, and is a file; its own words "
                        "are above"
                    )
                )
            elif task.again and not task.stopped and task.lost <= TRIES:
                self._waiting.insert(0, task)
            else:
                task.end(WorkerLost("a process of this machine was ended"))
            self._assign()
            return
        if what == "stands":
            worker.stands = True
            return
        if what == "post":
            self._told.append(told)
            return
        del self._busy[worker]
        if worker.killed:
            # It had ended its task when it was stopped.
            worker.end()
        else:
            self._idle.append(worker)
        task.end(told)
        self._assign()

    def value(self, ref: _Ref) -> Any:
        return ref.load()

    def posted(self) -> list[tuple[int, int, str]]:
        told, self._told = self._told, []
        return told

    def stop(self, task: Any) -> None:
        task.stopped = True
        if task in self._waiting:
            self._waiting.remove(task)
            task.end(WorkerLost("it was stopped"))
        for worker, busy in self._busy.items():
            if busy is task:
                worker.killed = True
                worker.process.kill()

    def close(self) -> None:
        for worker in [*self._idle, *self._busy]:
            worker.end()
        self._idle, self._busy, self._waiting = [], {}, []
        if self._scratch is not None:
            shutil.rmtree(self._scratch, ignore_errors=True)
            self._scratch = None


class _ProcessTask:
    def __init__(self, function: Callable[..., Any], arguments: Sequence[Any], refs: Sequence[Any], again: bool) -> None:
        self.function, self.arguments, self.refs, self.again = function, arguments, refs, again
        self.error: Optional[BaseException] = None
        self.ended = self.stopped = False
        self.lost = 0

    def end(self, error: Optional[BaseException]) -> None:
        self.error, self.ended = error, True


class _Ref:
    """What a task leaves in a file."""

    def __init__(self, path: str, owner: int) -> None:
        self.path, self.owner = path, owner

    def keep(self, value: Any) -> None:
        import pyarrow

        with open(self.path, "wb") as file:
            if isinstance(value, pyarrow.Table):
                file.write(b"A" + b"\0" * 63)
                with pyarrow.ipc.new_stream(file, value.schema) as writer:
                    writer.write_table(value)
            else:
                file.write(b"P")
                pickle.dump(value, file)

    def load(self) -> Any:
        import pyarrow

        with open(self.path, "rb") as file:
            if file.read(1) == b"P":
                return pickle.load(file)
        with pyarrow.memory_map(self.path) as mapped:
            mapped.seek(64)
            return pyarrow.ipc.open_stream(mapped).read_all()

    def __del__(self) -> None:
        # Nobody can ask for it any more. Copies in other processes are no owners.
        if self.owner == os.getpid():
            pathlib.Path(self.path).unlink(missing_ok=True)


class _Worker:
    def __init__(self, context: Any, threads: int) -> None:
        self.pipe, theirs = context.Pipe()
        self.stands = self.killed = False
        # The environment is that of all pools of this process.
        with _starting:
            before = os.environ.get("RAYON_NUM_THREADS")
            os.environ["RAYON_NUM_THREADS"] = str(threads)
            try:
                self.process = context.Process(target=_work, args=(theirs,), daemon=True)
                self.process.start()
            finally:
                if before is None:
                    del os.environ["RAYON_NUM_THREADS"]
                else:
                    os.environ["RAYON_NUM_THREADS"] = before
        theirs.close()

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()


_pipe: Any = None
_speaking, _starting = threading.Lock(), threading.Lock()


def _tell(what: str, told: object) -> None:
    with _speaking:
        _pipe.send((what, told))


def _post(bucket: int, attempt: int, address: str) -> None:
    _tell("post", (bucket, attempt, address))


def _end_with(parent: Any) -> None:
    """Nobody takes what this process does any more, once the driver is gone."""
    multiprocessing.connection.wait([parent.sentinel])
    os._exit(1)


def _work(pipe: Any) -> None:
    """Does tasks, one after the other."""
    global _pipe
    _pipe = pipe
    # Ctrl-C reaches all processes of a terminal; the driver ends these.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(multiprocessing.parent_process(),), daemon=True).start()
    _tell("stands", None)
    while True:
        try:
            function, arguments, refs = pipe.recv()
        except (EOFError, OSError):
            return
        try:
            told = function(*(one.load() if isinstance(one, _Ref) else one for one in arguments))
            for ref, value in zip(refs, [told] if len(refs) == 1 else told):
                ref.keep(value)
            _tell("done", None)
        except Error as error:
            _tell("done", error)
        except Exception as error:
            _tell("done", RuntimeError("".join(traceback.format_exception(error))))
