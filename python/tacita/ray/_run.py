"""One party's run of a job on many machines."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import pathlib
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Optional, Union

from .. import _tacita
from .._identity import Identity
from .._job import Job, _spec_of
from .._progress import ShowProgress, watching
from .._tell import Confirm, Tell, before_run
from .._types import Path
from ..errors import Error, InternalError, NetworkError, ProtocolError, TermsError, _input
from . import _count, _rules, _spreading, _tasks
from ._arguments import Hosts, Place, check_numbers, check_pool, made_parents, text_of
from ._driver import Begin, Follower, Here, Leader, Own, lasting
from ._place import number_of, place, remove_empty
from ._pools import Cluster, Pool, PoolLost, Task, WorkerLost
from ._report import report_of
from ._result import ClusterResult
from ._spreading import Block, Shelf
from ._table import Data, pieces_of, together

__all__ = ["run"]

_log = logging.getLogger("tacita")

WHOLE = "whole"
"""Where a result stands that is no directory of its own, until it is placed."""

PAUSE = 2.0
"""Between two attempts to meet drivers that went away, in seconds."""


def run(
    job: Job,
    party: str,
    data: Data,
    identity: Path,
    output: Path,
    *,
    on: Optional[Pool] = None,
    work: Optional[Path] = None,
    resume: bool = False,
    buckets: Optional[int] = None,
    listen: Optional[str] = None,
    workers_at: Optional[str] = None,
    hosts: Optional[Mapping[str, Union[str, Sequence[str]]]] = None,
    timeout: float = 600.0,
    patience: float = 1800.0,
    retries: int = 10,
    repeats: Optional[int] = None,
    allow_unreadable: bool = False,
    allow_insecure: bool = False,
    tell: Tell = None,
    confirm: Confirm = None,
    progress: ShowProgress = None,
) -> ClusterResult:
    """Runs one party of a job on many machines, with those of the other parties elsewhere: each party runs this, on machines of its own.

    `data` is a directory of Parquet or CSV files, a list of files or tables, or a Ray dataset; `identity` and `output` are directories that every machine of this
    party sees, `output` one that is not there yet: it gets a file of rows for each bucket. (Of `rules`, it is a file as the command's: ``rules.csv``, with the
    itemsets beside it; of shares, their file.) `on` is where it runs: a `Cluster` of Ray (the one that
    the process is in, if nothing is said) or `Processes` of this machine. `work` is a directory in which the run is kept, so that with
    `resume` another driver goes on with it. `buckets` is how many this party asks for. The driver listens at the party's address in the job, or at `listen`; its
    machines at `workers_at`, a host and perhaps ports (``10.0.0.1:7500-7599``), by default each at its own address in the cluster. `hosts` says at which
    hosts or networks machines of others are dialed, by party; by default at the host of their address in the job alone. `timeout` is how long the others are
    waited for, who may still be reading, `patience` how long they may be away or silent, in seconds; `retries` how often a bucket that fails is begun again,
    and `repeats` how many in all may be begun again that this party has answered already: each is another question to its rows for who does not keep to the
    protocol. By default these are a third of the buckets, ten at most or one in fifty: none of one or two. `tell` and `confirm` are those of `tacita.run`.

    >>> tacita.ray.run(
    ...     job, "hospital", "patients/", "id/hospital", "common/", on=tacita.ray.Processes(8)
    ... )  # doctest: +SKIP
    """
    spec = _spec_of(job)
    _tacita.can_spread(spec, party)
    if isinstance(identity, Identity):
        raise _input("identity: give its directory, which every machine of this party sees")
    owner = _tacita.Identity.load(text_of("identity", identity))
    check_numbers(buckets, retries, repeats, timeout=timeout, patience=patience)
    hosts_of = Hosts(hosts or {}, {name: spec.address(name) for name in spec.parties if name != party})
    if on is not None:
        check_pool(on)
    if workers_at is not None:
        Place.parse(workers_at)
    if resume and work is None:
        raise _input("resume: give work=..., the directory in which the run was kept")
    target = text_of("output", output).absolute()
    itemsets = [target.with_name(f"{target.stem}.itemsets{target.suffix}")] if spec.kind == "rules" else []
    for there in [target, *itemsets]:
        if there.exists():
            raise _input(f"output: {there} already exists: give a path that does not")
    before_run(job, party, tell, confirm)
    with (
        watching(progress) as shown,
        tempfile.TemporaryDirectory(prefix="tacita-") as scratch,
        contextlib.closing(on if on is not None else Cluster()) as pool,
        contextlib.closing(_tacita.Work.open(text_of("work", work or f"{scratch}/work"), spec, party, owner, resume)) as kept,
    ):
        if kept.ended is not None:
            whole = json.loads(kept.ended)
            if whole["files"] and not whole["rows"] and whole["name"] != target.name:
                raise _input(f"output: the kept run has written {whole['name']}: give an output of that name, in any directory")
            result = ClusterResult(party, place(whole, target), whole["report"])
            kept.clear()
            return result
        if resume and not kept.has_run:
            _log.warning("work: %s holds no run that others have agreed to, and a new one begins", work)
        account = _tacita.RunAccount.open(spec, party, owner)
        one = _Run(
            job=job,
            party=party,
            owner=owner,
            identity=str(pathlib.Path(identity).absolute()),
            target=target,
            pool=pool,
            work=kept,
            account=account,
            buckets=buckets,
            listen=listen,
            workers_at=workers_at or pool.at(spec.address(party)),
            hosts=hosts_of,
            times=(timeout, patience),
            retries=retries,
            repeats=repeats,
            options={"allow_unreadable": True, "allow_insecure": allow_insecure},
            shown=shown,
            resumes=work is not None,
        )
        made = made_parents(target)
        try:
            one.stay()
            if spec.kind == "rules":
                _tacita.check_file(target)
            whole = one.to_its_end(data, allow_unreadable)
        except BaseException as error:
            with contextlib.suppress(Error):
                account.end(why=str(error) or type(error).__name__)
            if work is None or not kept.has_run:
                # Nobody can go on with it.
                one.forget()
                kept.clear()
                remove_empty(made)
            if isinstance(error, (PoolLost, WorkerLost)):
                again = "; resume=True goes on elsewhere" if work is not None and kept.has_run else ""
                raise InternalError(f"{error}{again}", "internal", 70) from None
            raise
        account.end(report=json.dumps(whole["report"]))
        result = ClusterResult(party, place(whole, target), whole["report"])
        kept.clear()
        return result


class _Run:
    def __init__(
        self,
        *,
        job: Job,
        party: str,
        owner: _tacita.Identity,
        identity: str,
        target: pathlib.Path,
        pool: Pool,
        work: _tacita.Work,
        account: _tacita.RunAccount,
        buckets: Optional[int],
        listen: Optional[str],
        workers_at: Optional[str],
        hosts: Hosts,
        times: tuple[float, float],
        retries: int,
        repeats: Optional[int],
        options: dict[str, Any],
        shown: Any,
        resumes: bool,
    ) -> None:
        self.job, self.party, self.owner, self.identity, self.target, self.pool = job, party, owner, identity, target, pool
        self.account = account
        self.work, self.asked, self.listen, self.workers_at, self.hosts = work, buckets, listen, workers_at, hosts
        self.times, self.retries, self.options, self.shown, self.resumes = times, retries, options, shown, resumes
        self.repeats = repeats
        self.spec = job._spec
        self.text = _tasks.Text(*self.spec.text)
        self.started = time.monotonic()
        self.seconds: dict[str, float] = {}
        learns_rows = party in self.spec.reveal_to and self.spec.reveal in ("rows", "payload")
        self.keeps = {"dot": "shares", "rules": "items"}.get(self.spec.kind) or ("rows" if learns_rows else "numbers")
        self.counts_all = self.spec.kind == "intersect" and self.spec.reveal == "count"
        if self.counts_all and party != next(name for name in self.spec.parties if name in self.spec.reveal_to):
            self.keeps = "pool"
        # Readers of datasets leave out what begins with a point. It is of this run alone: buckets of another one have other rows.
        self.part = target.with_name(f".{target.name}.{work.name}.part")
        self.sums = self.keeps in ("shares", "items") or self.counts_all
        """Whether what it learns is of all buckets together."""
        self.learns = self.keeps in ("shares", "items", "pool") or (not self.counts_all and party in self.spec.reveal_to)
        self.goes_on = work.has_run
        """Whether another driver began the run."""
        self.summed: Optional[_tacita.Outcome] = None
        self.all_ended = False
        # Both by the level, where a job has several, and the bucket.
        self.reports: dict[tuple[int, int], dict[str, Any]] = {}
        self.begun: dict[tuple[int, int], int] = {}
        self.facts = "null"
        self.warnings: list[str] = []
        """What this party was warned of as it read its table."""
        self.counts: dict[str, int] = {}
        self.finished: set[int] = set()
        """The buckets of which this party has kept what it learns."""
        self.told: set[int] = set()
        """The buckets that this party has answered."""
        self.done_by_all: set[int] = set()
        """The buckets that all have said to be done."""
        self.drivers_bytes = [0, 0]

    def stay(self) -> None:
        """Notes where results of buckets are kept, and which were answered. Whoever goes on with a run does so there: elsewhere it would not know."""
        place = str(self.part.parent.resolve() / self.part.name)
        if not self.goes_on:
            self.work.keep_at(json.dumps(place))
            return
        there = json.loads(self.work.place or "null")
        if there != place:
            raise _input(f"output: the kept run has its buckets in {there}: give the same output as before, beside it")
        if not self.part.is_dir():
            raise _input(f"output: {place} is missing, where the kept run has its buckets: restore it, or remove the work directories of all parties and start again")

    def to_its_end(self, data: Data, allow_unreadable: bool) -> dict[str, Any]:
        """From the data to all that this party learns, whole; `place` takes it."""
        # Rows that a party learns are there for whoever may read its output; its own are not.
        self.part.mkdir(exist_ok=True, mode=0o700 if self.sums else 0o777)
        # From here on, what tasks say: a directory that several machines see may be listed as it was.
        names = os.listdir(self.part)
        self.finished = {number for number in map(number_of, names) if number is not None}
        self.told = {int(name.removeprefix(_tasks.TOLD)) for name in names if name.startswith(_tasks.TOLD)}
        blocks, facts = self._read(data, allow_unreadable)
        self.warnings = list(dict.fromkeys(warning for fact in facts for warning in fact["warnings"]))
        self.counts = {name: sum(fact["counts"][name] for fact in facts) for name in facts[0]["counts"]}
        commitment = _tacita.Commitment()
        for fact in facts:
            commitment.add(fact["digest"])
        self.facts = _tacita.join_facts(self.spec, self.party, [fact["facts"] for fact in facts])
        # What is hidden of the number of rows does not show in this one.
        limits = json.loads(self.spec.terms).get("limits") or {}
        asked = self.asked or _tacita.usual_buckets(limits.get("pad_to") or self.counts["items"], self.pool.slots)
        return self._whole(self._with_others(commitment, asked, blocks))

    def forget(self) -> None:
        """Removes what was kept of buckets."""
        shutil.rmtree(self.part, ignore_errors=True)

    def _whole(self, drivers: _tacita.Drivers) -> dict[str, Any]:
        """Keeps that nothing more is needed of the others, and what there is to place."""
        files = None
        if self.keeps == "rows":
            files = str(self.part)
        elif self.summed is not None and (self.spec.reveal == "shares" or self.keeps == "items"):
            files = str(self.part / WHOLE)
            pathlib.Path(files).mkdir(mode=0o700, exist_ok=True)
            self.summed.save(pathlib.Path(files) / self.target.name)
        whole = {"part": str(self.part), "files": files, "rows": self.keeps == "rows", "name": self.target.name, "report": report_of(self, drivers)}
        self.work.end(json.dumps(whole))
        return whole

    def _timed(self, what: str, since: float) -> None:
        self.seconds[what] = round(self.seconds.get(what, 0.0) + time.monotonic() - since, 3)

    def _show(self, phase: str, done: int, total: int) -> None:
        if self.shown is not None:
            self.shown(self.party, phase, done, total, 0, 0)

    def all(self, phase: str, tasks: list[Task], own: Optional[Own] = None) -> None:
        """Waits for tasks that are this party's own matter, while drivers that have met talk on."""
        waiting = list(tasks)
        while waiting:
            self._show(phase, len(tasks) - len(waiting), len(tasks))
            if own is not None:
                own.busy()
            done = self.pool.done(waiting, 0.5)
            for task in done:
                if isinstance(task.error, WorkerLost):
                    raise InternalError(
                        f"{phase}: {task.error}, at each attempt; if a task runs out of memory, use smaller files or more buckets",
                        "internal",
                        70,
                    )
                if task.error is not None:
                    raise task.error
            ended = {id(task) for task in done}
            waiting = [task for task in waiting if id(task) not in ended]

    def _read(self, data: Data, allow_unreadable: bool) -> tuple[list[Block], list[dict[str, Any]]]:
        started = time.monotonic()
        pieces = pieces_of(data)
        tasks = [
            self.pool.start(_tasks.read, self.text, self.party, piece, allow_unreadable, returns=2, again=True) for piece in pieces
        ]
        self.all("reading", tasks)
        facts = [self.pool.value(task.refs[0]) for task in tasks]
        schema = together(pieces, [fact["schema"] for fact in facts])
        blocks = [
            Block(fact["counts"]["items"], task.refs[1], _tasks.Committed(fact["digest"], schema)) for fact, task in zip(facts, tasks)
        ]
        self._timed("load", started)
        return blocks, facts

    def _with_others(self, commitment: _tacita.Commitment, asked: int, blocks: list[Block]) -> _tacita.Drivers:
        """Meets the others, does the buckets that are left, and meets them again if they went away."""
        shelves: Optional[Sequence[Shelf]] = None
        away: Optional[float] = None
        drivers: Optional[_tacita.Drivers] = None

        def comes_back() -> float:
            """How long others are waited for that went away, from now on. Who knows that all have all is only waited for to be told so."""
            longest = min(self.times) if self.all_ended else self.times[1]
            return longest if away is None else away + longest - time.monotonic()

        while True:
            self._show("waiting for the others", 0, 0)
            try:
                drivers = _tacita.Drivers.meet(
                    self.spec,
                    self.party,
                    self.owner,
                    self.work,
                    self.account,
                    rows=json.dumps(self.counts),
                    commitment=commitment,
                    buckets=asked,
                    finished=[] if self.by_position else sorted(self.finished),
                    listen=self.listen,
                    timeout=self.times[0] if away is None else max(comes_back(), PAUSE),
                    patience=self.times[1],
                )
                away = None
                self._check_opened(drivers)
                own = Own(drivers, self.party, self.spec.parties, self.times[1])
                try:
                    if shelves is None and drivers.remaining:
                        shelves = self._spread(drivers, own, blocks)
                        blocks.clear()
                    self._show("waiting for the others", 0, 0)
                    own.ready()
                    self._buckets(drivers, own, shelves or [])
                except BaseException as error:
                    _stop(drivers, error, self.resumes)
                    raise
                return drivers
            except NetworkError as error:
                away = away or time.monotonic()
                # Whoever has not been there yet may never come.
                if drivers is None or error._ended_there:
                    raise
                # Who has its own alone may be needed by others.
                if comes_back() < 0:
                    if not self._has_all(drivers):
                        raise
                    _log.warning("%s; all that this party learns is there, and the others were not seen to end", error)
                    return drivers
                if self.all_ended and self._has_all(drivers):
                    # Should nobody come back and this driver be ended, too.
                    self._whole(drivers)
                _log.warning("%s; waiting for it to come back", error)
                time.sleep(PAUSE)

    def _missing(self, drivers: _tacita.Drivers) -> set[int]:
        """The buckets of which this party has not kept what it is to keep."""
        if 0 in drivers.sizes.values():
            return set()
        return set(range(drivers.buckets) if self.learns else drivers.remaining).difference(self.finished)

    def _has_all(self, drivers: _tacita.Drivers) -> bool:
        """Whether this party needs nothing more of the others."""
        return self.summed is not None if self.sums else not self._missing(drivers)

    def _check_opened(self, drivers: _tacita.Drivers) -> None:
        """What was opened is of certain runs of the buckets: another run of one would be another question."""
        if self.work.opened and drivers.remaining and not self.by_position:
            error = TermsError(
                f"the result of this run was opened, and {len(drivers.remaining)} of its buckets are to be done again: a party has lost what it kept, or asks "
                "again; all remove their work directories and start again",
                "terms",
                5,
            )
            _stop(drivers, error, self.resumes)
            raise error

    def _check_repeated(self, drivers: _tacita.Drivers, bucket: int) -> None:
        """Counts a bucket that is begun again after it was answered; refuses one too many."""
        most = default_repeats(drivers.buckets) if self.repeats is None else self.repeats
        if self.work.repeated >= most:
            raise lasting(
                NetworkError(
                    f"bucket {bucket} was answered and has to be repeated, as {self.work.repeated} before it, and repeats = {most}: find out why "
                    "machines or connections fail, and start anew",
                    "network",
                    3,
                )
            )
        _log.warning("bucket %d was answered, and is done again; so were %d before it", bucket, self.work.repeated)
        self.work.repeat()

    def _was_told(self, bucket: int) -> bool:
        """Whether a bucket that is not under way was answered. Its machine may have been stopped after that."""
        if bucket in self.told:
            return True
        place = self.part / _tasks.told_name(bucket)
        try:
            # A file system that several machines see may show what was: it answers for certain when a file is made.
            os.close(os.open(place, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            return True
        place.unlink()
        return False

    def _spread(self, drivers: _tacita.Drivers, own: Own, blocks: list[Block]) -> Sequence[Shelf]:
        """The rows of every bucket."""
        started = time.monotonic()
        shelves = (_spreading.scatter if drivers.bounds else _spreading.cut)(self, drivers, own, blocks)
        self._timed("spread", started)
        return shelves

    @property
    def by_position(self) -> bool:
        """Whether nothing is done to align rows before their items are counted."""
        return self.keeps == "items" and self.spec.aligns_by_position

    def _buckets(self, drivers: _tacita.Drivers, own: Own, shelves: Sequence[Shelf]) -> None:
        """From the meeting of the drivers to its end."""
        self.all_ended = False
        started = time.monotonic()

        def begin(bucket: int, attempt: int, at: dict[str, str]) -> Task:
            if self.keeps in ("shares", "items"):
                # What an attempt has left that failed elsewhere is of no use: shares add up only with those of the same.
                self.finished.discard(bucket)
            return self.pool.start(_tasks.bucket, self.order(drivers, bucket, attempt, at), self.pool.post, *shelves[bucket])

        def finished(bucket: int, report: dict[str, Any]) -> None:
            if self.keeps == "numbers":
                part = self._part(bucket)
                _tasks.write_whole(part, lambda path: path.write_text(json.dumps(report["report"]["result"])))
            self.finished.add(bucket)

        try:
            if self.by_position:
                orders = [(bucket, self.order(drivers, bucket, 0, {})) for bucket in _rules.with_rows(drivers)]
                tasks = [self.pool.start(_tasks.partition, order, *shelves[bucket], again=True) for bucket, order in orders]
                self.all("reading items", tasks, own)
                self.finished.update(bucket for bucket, _ in orders)
            else:
                self.round(drivers, "intersecting", drivers.remaining, begin, finished)
            self._all_kept()
            self.check_whole(self._missing(drivers), drivers.buckets)
            if self.keeps == "shares":
                self.summed = self._add_up(drivers)
            elif self.keeps == "items":
                self.summed = _rules.mine(self, drivers, own)
            elif self.counts_all:
                self.summed = _count.count(self, drivers, own)
            self.drivers_bytes = [before + now for before, now in zip(self.drivers_bytes, drivers.traffic)]
            drivers.end()
        finally:
            self._timed("protocol", started)

    def order(
        self, drivers: _tacita.Drivers, bucket: int, attempt: int, at: dict[str, str], level: Optional[_tasks.Level] = None
    ) -> _tasks.Order:
        """What is to be done with a bucket."""
        return _tasks.Order(
            job=self.text,
            party=self.party,
            identity=self.identity,
            session=drivers.session,
            number=bucket,
            of=drivers.buckets,
            attempt=attempt,
            # Of aligned rows both know how many there are.
            bounds=drivers.bounds if level is None else {},
            protocol=drivers.protocol,
            addresses=at,
            listens=self.spec.relay is None and self.party != self.spec.parties[-1],
            at=self.workers_at,
            output=str(self.part),
            keeps=self.keeps,
            timeout=self.times[0],
            patience=self.times[1],
            facts=self.facts,
            level=level,
            options=self.options,
            secrets=(self.work.secret, drivers.item_key) if self.counts_all else None,
        )

    def round(
        self,
        drivers: _tacita.Drivers,
        phase: str,
        buckets: Sequence[int],
        begin: Begin,
        finished: Callable[[int, dict[str, Any]], None],
        level: int = 0,
    ) -> None:
        """Has these buckets done with the other parties, each as often as it takes; levels are from 1 on, where a job has them."""
        left, parties, done = set(buckets), self.spec.parties, set[int]()
        if level == 0:
            self._check_done(left)
        self._show(phase, 0, len(left))
        # What tasks that were stopped have told.
        self.pool.posted()

        def begin_one(bucket: int, attempt: int, at: dict[str, str]) -> Task:
            if bucket not in left:
                raise ProtocolError(f"bucket {bucket} was started again after it was done", "protocol", 4, parties[0])
            times = self.begun[level, bucket] = self.begun.get((level, bucket), 0) + 1
            if times > self.retries + 1:
                # Who is to blame is not known: somebody between the parties may have cut each of the connections.
                failed = f"bucket {bucket} has failed {times - 1} times, here or elsewhere, and retries = {self.retries}"
                raise lasting(NetworkError(failed, "network", 3))
            # What is counted or multiplied later is in shares.
            if level == 0 and (bucket in self.told or (times > 1 or self.goes_on) and self._was_told(bucket)):
                self.told.add(bucket)
                self._check_repeated(drivers, bucket)
            return begin(bucket, attempt, at)

        def finished_one(bucket: int, report: dict[str, Any]) -> None:
            finished(bucket, report)
            self.reports[level, bucket] = report
            if report["told"]:
                self.told.add(bucket)
            done.add(bucket)
            self._show(phase, len(done), len(left))

        def failed_one(bucket: int, error: BaseException) -> None:
            if isinstance(error, Error) and error._told:
                self.told.add(bucket)

        here = Here(self.pool, begin_one, self.retries, finished_one, parties[0], failed_one)
        leader = None
        try:
            if self.party == parties[0]:
                leader = Leader(drivers, here, parties, self.spec.relay is None, self.times[1], buckets, self._all_kept)
                leader.run()
            else:
                Follower(drivers, here, parties[0], self.hosts.check, self.times[1]).run()
            self.check_whole(set(buckets) - done if self.learns else set(), len(buckets))
        except BaseException as error:
            _stop(drivers, error, self.resumes)
            here.stop_all()
            raise
        finally:
            if leader is not None and level == 0:
                self.done_by_all |= leader.done

    def _check_done(self, buckets: set[int]) -> None:
        """Nobody asks again for a bucket that it has said to have, if it was answered."""
        again = sorted(buckets & self.done_by_all & self.told)
        if again:
            others = [name for name in self.spec.parties if name != self.party]
            raise ProtocolError(
                f"bucket {again[0]} has to be repeated, which all parties have reported as done; a party has lost what it kept, or asks again: start anew at all parties",
                "protocol",
                4,
                others[0] if len(others) == 1 else None,
            )

    def check_whole(self, missing: set[int], number: int) -> None:
        """Refuses an end that comes before this party has what it is to have of every bucket."""
        if missing:
            first = self.spec.parties[0]
            raise ProtocolError(f"{first} ended the job while {len(missing)} of {number} buckets were left here", "protocol", 4, first)

    def _all_kept(self) -> None:
        """All parties have kept all buckets, and need each other for no more than what follows from them."""
        self.all_ended = not self.sums

    def _part(self, bucket: int) -> pathlib.Path:
        """What is kept of a bucket."""
        ending = {"shares": "share", "numbers": "json", "pool": "pool"}.get(self.keeps, "parquet")
        return self.part / _tasks.part_name(bucket, ending)

    def parts(self) -> list[pathlib.Path]:
        """What is kept of each bucket, in their order."""
        return [self._part(bucket) for bucket in sorted(self.finished)]

    def _add_up(self, drivers: _tacita.Drivers) -> _tacita.Outcome:
        """The sum of the shares of all buckets, opened as far as the job says."""
        return drivers.add_up(self.spec, self.work, self.parts(), "{}")


def _stop(drivers: _tacita.Drivers, error: BaseException, resumes: bool) -> None:
    """Tells the others why this party ends; or no more than that its connection is lost, where another driver may go on."""
    if isinstance(error, Error):
        # They would wait for whoever has only lost a connection.
        lasts = error._ended_there and error.kind == "network"
        drivers.stop("not-ready" if lasts else error.kind, error.peer)
    elif isinstance(error, PoolLost) and resumes:
        drivers.stop("network", None)
    else:
        drivers.stop("interrupted" if isinstance(error, KeyboardInterrupt) else "internal", None)


def default_repeats(buckets: int) -> int:
    """How many buckets may be begun again that were answered, if nothing is said: none of one or two, so that nobody has a second answer to all."""
    return max(min(buckets // 3, 10), buckets // 50)
