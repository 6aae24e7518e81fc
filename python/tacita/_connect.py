"""Questions to tables that other parties have."""

from __future__ import annotations

import threading
from collections.abc import Generator, Mapping
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from types import TracebackType
from typing import Any

from . import _tacita
from ._arguments import check_mapping
from ._doctor import Diagnosis, doctor
from ._identity import Identity, _inner
from ._inspect import Inspection, inspect
from ._job import Job
from ._keys import MemberTable
from ._plan import Plan, plan
from ._progress import Progress, ShowProgress
from ._questions import Question
from ._result import Result
from ._run import run_party
from ._tell import Confirm, Tell
from ._types import Data, Path
from .errors import _input

__all__ = ["Running", "Session", "connect"]


class Running(Future[Result]):
    """A question that is being answered: `Session.start` makes one.

    A `concurrent.futures.Future`, which can also be awaited: ``answer = await session.start(question, table)``.
    """

    def __init__(self) -> None:
        super().__init__()
        self._cancel = _tacita.Cancel()
        self._cancel_requested = False
        self._progress: Progress | None = None

    @property
    def progress(self) -> Progress | None:
        """How far it is; None before there is anything to say."""
        return self._progress

    def cancel(self) -> bool:
        """Ends it. The peers are told, and its result is a `concurrent.futures.CancelledError`.

        Returns
        -------
        bool
            Whether it ends; False if there is a result already, or one is being written.
        """
        if super().cancel():
            return True
        if self.done():
            return self.cancelled()
        # Said first: the run may end before this call is back.
        before, self._cancel_requested = self._cancel_requested, True
        if not self._cancel.cancel():
            self._cancel_requested = before
        return self._cancel_requested

    def cancelled(self) -> bool:
        """Says whether it was cancelled, before it began or while it ran.

        Returns
        -------
        bool
            Whether it was.
        """
        return super().cancelled() or (self.done() and isinstance(self.exception(), CancelledError))

    def __await__(self) -> Generator[Any, None, Result]:
        import asyncio

        return asyncio.wrap_future(self).__await__()

    def _watch(self, show: ShowProgress) -> ShowProgress:
        """Keeps the last progress, and passes it on to a function that wants it."""

        def keep(now: Progress) -> None:
            self._progress = now
            if callable(show):
                show(now)

        return keep


class Session:
    """This party, and peers that it reaches over the network: `connect` makes one."""

    def __init__(self, me: str, identity: Identity | Path, parties: dict[str, dict[str, Any]], options: dict[str, Any]) -> None:
        self._me, self._identity, self._parties, self._options = me, identity, parties, options
        # One run at a time: the next one listens where this one does.
        self._turn = threading.Lock()
        self._thread: threading.Thread | None = None
        self._worker: ThreadPoolExecutor | None = ThreadPoolExecutor(1, thread_name_prefix="tacita")
        # Of what is started and asked, and of whether the session is open.
        self._lock = threading.Lock()
        self._started: list[Running] = []
        self._asking: list[_tacita.Cancel] = []

    @property
    def parties(self) -> list[str]:
        """Names of the parties, in the order of questions that do not say another one."""
        return list(self._parties)

    def ask(self, question: Question, data: Data, *, progress: ShowProgress = None) -> Result:
        """Answers a question together with the peers, each of which asks the same one.

        Parameters
        ----------
        question : Question
            What is asked. If it names no parties, those of this session are meant; if it does, an earlier one of them listens for the later ones.
        data : table
            This party's table.
        progress : bool or callable, optional
            A function that gets a `Progress` now and then, or whether a bar is shown: see `run`.

        Returns
        -------
        Result
            What this party learns.
        """
        job, cancel = self.job(question), _tacita.Cancel()
        with self._lock:
            self._open()
            self._asking.append(cancel)
        try:
            with self._turn:
                self._open()
                return self._run(job, data, progress, cancel)
        finally:
            with self._lock:
                self._asking.remove(cancel)

    def start(self, question: Question, data: Data, *, progress: ShowProgress = None) -> Running:
        """Begins to answer a question, on a thread of its own. Questions that were started before are answered first.

        Parameters
        ----------
        question, data, progress
            As for `ask`. No bar is shown.

        Returns
        -------
        Running
            A future with the answer.
        """
        job, running = self.job(question), Running()

        def work() -> None:
            self._thread = threading.current_thread()
            with self._turn:
                if not running.set_running_or_notify_cancel():
                    return
                try:
                    answer = self._run(job, data, running._watch(progress), running._cancel)
                except BaseException as error:
                    running.set_exception(CancelledError() if running._cancel_requested else error)
                else:
                    running.set_result(answer)

        with self._lock:
            worker = self._open()
            self._started = [one for one in self._started if not one.done()]
            self._started.append(running)
            worker.submit(work)
        return running

    def check(self, question: Question, data: Data, rows: Mapping[str, float]) -> Plan:
        """Says what a question will cost, and what each party will learn. It counts the own table and sends nothing.

        Parameters
        ----------
        question : Question
            What would be asked.
        data : table
            This party's table.
        rows : mapping of str to number
            Rows that each other party is expected to have.

        Returns
        -------
        Plan
            Protocol, bytes, seconds, warnings, and ``learned(party)``.
        """
        self._open()
        return plan(self.job(question), rows=rows, tables={self._me: data})

    def inspect(self, question: Question, data: Data) -> Inspection:
        """Examines a table: its columns, and its keys as a question would match them. Nothing leaves this machine.

        Parameters
        ----------
        question : Question
            What would be asked.
        data : table
            This party's table.

        Returns
        -------
        Inspection
            The findings as data and as text: see `tacita.inspect`.
        """
        self._open()
        return inspect(data, self.job(question), self._me)

    def doctor(
        self, question: Question, data: Data | None = None, *, output: Path | None = None, overwrite: bool = False, meet: bool = False
    ) -> Diagnosis:
        """Checks what a question needs: identities, addresses, clock and table. No data is sent. What was asked before is answered first.

        Parameters
        ----------
        question : Question
            What would be asked.
        data : table, optional
            This party's table.
        output, overwrite
            A file for the result, and whether it may be there already: see `tacita.doctor`.
        meet : bool
            Whether to connect to the peers, each of which does the same at the same time, and to compare clocks, versions and terms.

        Returns
        -------
        Diagnosis
            The findings, each with its state and advice. It is true if nothing is to be mended.
        """
        job, timeout = self.job(question), self._options["timeout"]
        with self._turn:
            self._open()
            # It listens where questions do.
            return doctor(job, self._me, self._identity, data=data, output=output, overwrite=overwrite, meet=meet, timeout=timeout)

    def job(self, question: Question) -> Job:
        """Returns the job that a question is among the parties of this session, with their addresses and identities.

        Parameters
        ----------
        question : Question
            The question.

        Returns
        -------
        Job
            The job.

        Raises
        ------
        InputError
            The question names other parties, or is an `Aggregate`.
        """
        if not isinstance(question, Question):
            raise _input(f"question: a {type(question).__qualname__} is not a question: give a tacita.Intersect(...), or another question")
        if question.kind == "aggregate":
            raise _input("question: reports of an Aggregate go to its services: use tacita.submit and tacita.results")
        return question._between(self._parties)

    def close(self) -> None:
        """Ends the session: what is asked or started is cancelled, and waited for, except by a function that the session itself calls."""
        with self._lock:
            worker, self._worker = self._worker, None
            started, asking = list(self._started), list(self._asking)
        for one in asking:
            one.cancel()
        for running in started:
            running.cancel()
        if worker is not None:
            worker.shutdown(wait=threading.current_thread() is not self._thread)

    def _open(self) -> ThreadPoolExecutor:
        if self._worker is None:
            raise _input("this session is closed: make another one with tacita.connect")
        return self._worker

    def _run(self, job: Job, data: Data, progress: ShowProgress, cancel: _tacita.Cancel | None = None) -> Result:
        return run_party(job, self._me, data, self._identity, progress=progress, cancel=cancel, **self._options)

    def __enter__(self) -> Session:
        self._open()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Session({'closed' if self._worker is None else f'{self._me} of ' + ', '.join(self._parties)})"


def connect(
    me: str,
    identity: Identity | Path,
    peers: Mapping[str, MemberTable],
    *,
    listen: str | None = None,
    timeout: float = 60.0,
    patience: float = 1800.0,
    memory: float | None = None,
    policy: Path | None = None,
    ledger: Path | None = None,
    allow_unreadable: bool = False,
    allow_insecure: bool = False,
    tell: Tell = None,
    confirm: Confirm = None,
) -> Session:
    """Opens a session with peers elsewhere: the same questions as those of `local`, asked over the network.

    Nothing is sent until a question is asked. Then each party asks the same one, and their terms are compared before data move. Of parties
    that listen, those that come later by name dial those before them; a party that does not listen dials all that do.

    Parameters
    ----------
    me : str
        This party's name.
    identity : Identity or path
        This party's key pair.
    peers : mapping of str to mapping
        The other parties by name, as ``{"insurer": {"address": "insurer.example:7400", "identity": "SHA256:..."}}``: the identity of each,
        and the addresses of those that listen.
    listen : str, optional
        Where this party listens, as ``"0.0.0.0:7400"``. Without it, it dials.
    timeout : float
        Seconds for which the peers are waited for.
    patience : float
        Seconds for which they may be connected and neither send nor read anything.
    memory : float, optional
        Bytes that a question may use besides the table.
    policy : path, optional
        The file that has to allow each question, in place of ``policy.toml`` in the identity's directory.
    ledger : path, optional
        Directory of the ledger in which questions are entered, in place of the identity's.
    allow_unreadable : bool
        Whether to go on although more than half of the own keys cannot be read.
    allow_insecure : bool
        Whether to allow what the command asks ``--allow-insecure`` for.
    tell, confirm : callable or bool, optional
        What gets to know, before each question, what each party will learn, and what has the last word: see `run`.

    Returns
    -------
    Session
        A context manager: at its end, what is still running is cancelled.

    Raises
    ------
    InputError
        An argument does not fit; or the identity cannot be read.

    Examples
    --------
    >>> import socket, tempfile, pandas as pd, tacita
    >>> work = tempfile.mkdtemp()
    >>> ids = {name: tacita.Identity.create(f"{work}/{name}", name) for name in ("hospital", "insurer")}
    >>> with socket.socket() as free:
    ...     free.bind(("127.0.0.1", 0))
    ...     address = "127.0.0.1:%d" % free.getsockname()[1]
    >>> question = tacita.Intersect(key=["id"], reveal=tacita.Rows(to="hospital"))
    >>> there = {"hospital": {"address": address, "identity": ids["hospital"].fingerprint}}
    >>> other = tacita.connect("insurer", ids["insurer"], there)
    >>> waiting = other.start(question, pd.DataFrame({"id": [2, 3, 4]}))
    >>> here = {"insurer": {"identity": ids["insurer"].fingerprint}}
    >>> with tacita.connect("hospital", ids["hospital"], here, listen=address) as session:
    ...     session.ask(question, pd.DataFrame({"id": [1, 2, 3]})).mask
    array([False,  True,  True])
    >>> waiting.result()
    Result(insurer: learns nothing)
    >>> other.close()
    """
    example = "{'insurer': {'address': 'insurer.example:7400', 'identity': 'SHA256:...'}}"
    check_mapping("peers", peers, example)
    for name, place in peers.items():
        if not isinstance(place, Mapping):
            raise _input(f"peers: {name} = {place!r}: give {example}")
        unknown = next((key for key in place if key not in MemberTable.__annotations__), None)
        if unknown is not None:
            raise _input(f"peers: {name} has no {unknown!r}: give {example}")
    if me in peers:
        raise _input(f"peers: {me} is this party: name the others alone")
    own: dict[str, Any] = {"identity": _inner(identity).fingerprint}
    if listen is not None:
        own["address"] = listen
    members: dict[str, dict[str, Any]] = {me: own, **{name: dict(place) for name, place in peers.items()}}
    parties = dict(sorted(members.items(), key=lambda member: ("address" not in member[1], member[0])))
    options = {
        "timeout": timeout,
        "patience": patience,
        "memory": memory,
        "policy": policy,
        "ledger": ledger,
        "allow_unreadable": allow_unreadable,
        "allow_insecure": allow_insecure,
        "tell": tell,
        "confirm": confirm,
    }
    return Session(me, identity, parties, options)
