"""Which bucket is begun when: the leading driver, which is the first party's, says so, and every driver sees to its own party's part of it.

A bucket is begun at all parties when each has room for it, and is done when all have kept what they learn of it. Where it fails anywhere, for whatever
passes, it is stopped everywhere and begun again, under fresh keys.
"""

from __future__ import annotations

import heapq
import json
import logging
import time
from collections.abc import Callable, Sequence
from typing import Any, Optional

from .. import _tacita
from ..errors import AuthenticationError, Error, InternalError, NetworkError, ProtocolError, TermsError
from ._pools import Pool, Task, WorkerLost

_log = logging.getLogger("tacita")

POLL_INTERVAL = 0.05
"""How often drivers talk, in seconds, while nothing happens here."""

TELLS = 10.0
"""So long a party has that has ended a bucket by itself, as it has told another one, to say so to the leader, in seconds."""

AT_RELAY = 255
"""Buckets at a time where machines meet at a relay, which joins two parties so often at once, and their drivers once more."""

Begin = Callable[[int, int, dict[str, str]], Task]
"""Starts the own part of a bucket: its number, the attempt, where machines of earlier parties listen."""

Word = dict[str, Any]
Told = Callable[[int, int], None]


class Here:
    """The own party's part of the buckets."""

    def __init__(
        self,
        pool: Pool,
        begin: Begin,
        retries: int,
        finished: Callable[[int, dict[str, Any]], None],
        leader: str,
        failed: Callable[[int, BaseException], None] = lambda *_: None,
    ) -> None:
        self._told_failed = failed
        self.pool, self._begin, self._retries, self._finished, self._leader = pool, begin, retries, finished, leader
        self._tasks: dict[tuple[int, int], Task] = {}
        self._stopped: set[tuple[int, int]] = set()
        self._failed: dict[int, int] = {}

    def start(self, bucket: int, attempt: int, at: dict[str, str]) -> None:
        """Begins with a bucket."""
        if any(bucket == other for other, _ in self._tasks):
            raise ProtocolError(f"bucket {bucket} was started again while it was running", "protocol", 4, self._leader)
        self._tasks[bucket, attempt] = self._begin(bucket, attempt, at)

    @property
    def is_busy(self) -> bool:
        """Whether a bucket is under way."""
        return bool(self._tasks)

    def stop(self, bucket: int, attempt: int) -> None:
        """Ends it before its time."""
        task = self._tasks.get((bucket, attempt))
        if task is not None:
            self._stopped.add((bucket, attempt))
            self.pool.stop(task)

    def stop_all(self) -> None:
        """Ends all, and waits until all have ended."""
        for task in self._tasks.values():
            self.pool.stop(task)
        left = list(self._tasks.values())
        while left:
            ended = {id(task) for task in self.pool.done(left, 1.0)}
            left = [task for task in left if id(task) not in ended]
        self._tasks.clear()

    def words(self, timeout: float) -> list[Word]:
        """What has happened, for the leader. Waits so many seconds for something to happen.

        What cannot pass is raised: an error in the own data, or a peer that breaks the protocol.
        """
        done = {id(task) for task in self.pool.done(list(self._tasks.values()), timeout)}
        posted = self.pool.posted()
        words = [_word("stands", bucket, attempt, address=at) for bucket, attempt, at in posted if (bucket, attempt) in self._tasks]
        for (bucket, attempt), task in list(self._tasks.items()):
            if id(task) not in done:
                continue
            del self._tasks[bucket, attempt]
            if task.error is None:
                self._finished(bucket, self.pool.value(task.refs[0]))
                words.append(_word("done", bucket, attempt))
                continue
            self._told_failed(bucket, task.error)
            by = _ended_by(task.error)
            if by is not None:
                _log.warning("bucket %d: %s", bucket, task.error)
            self._passes(bucket, task.error, by is not None or (bucket, attempt) in self._stopped)
            self._stopped.discard((bucket, attempt))
            words.append(_word("failed", bucket, attempt, **({} if by is None else {"by": by})))
        return words

    def _passes(self, bucket: int, error: BaseException, elsewhere: bool) -> None:
        # Terms that differ are those of another bucket, whose machine listens where the right one did before it was lost; or it is one of another job, with
        # another identity.
        if not isinstance(error, (WorkerLost, NetworkError, TermsError, AuthenticationError, InternalError, KeyboardInterrupt)):
            raise error
        if elsewhere:
            # It failed there first, where it is counted.
            return
        times = self._failed[bucket] = self._failed.get(bucket, 0) + 1
        _log.warning("bucket %d is begun again: %s", bucket, error)
        if times > self._retries:
            raise lasting(error) if isinstance(error, Error) else InternalError(f"bucket {bucket} has failed {times} times; the last time: {error}")


def _ended_by(error: BaseException) -> Optional[str]:
    """The party that has ended a bucket by itself, if its machine has told so. (Whose terms differ may be another bucket's.)"""
    return error.peer if isinstance(error, NetworkError) and error._ended_there else None


def lasting(error: Error) -> Error:
    """The same, as one that does not pass when drivers meet again."""
    error._ended_there = True
    return error


def _word(what: str, bucket: int, attempt: int, **more: Any) -> Word:
    return {"what": what, "bucket": bucket, "attempt": attempt, **more}


class Own:
    """What the own machines do while the others do theirs: drivers say so all the while, so that none is taken for one that is gone, and go on together."""

    def __init__(self, drivers: _tacita.Drivers, me: str, parties: Sequence[str], patience: float = 1800.0) -> None:
        self._drivers, self._leads, self._patience = drivers, me == parties[0], patience
        self._others = list(parties[1:]) if self._leads else [parties[0]]
        self._ready: set[str] = set()
        self._spoke = time.monotonic()

    def _say(self, words: list[Word]) -> None:
        heard = self._drivers.turn({name: json.dumps(words) for name in self._others})
        for name, text in heard.items():
            for word in json.loads(text):
                if word["what"] != "ready":
                    raise ProtocolError(f"{name} says {word['what']} before all are ready", "protocol", 4, name)
                self._ready.add(name)

    def busy(self) -> None:
        """Says now and then that this party is not ready."""
        if time.monotonic() - self._spoke < 1.0:
            return
        self._say([])
        self._spoke = time.monotonic()
        if not self._leads and self._ready:
            raise ProtocolError(f"{self._others[0]} says that all are ready, and this party is not", "protocol", 4, self._others[0])

    def ready(self) -> None:
        """Waits until all are, however long they say that they are at it."""
        said = time.monotonic()
        while len(self._ready) < len(self._others):
            # Followers wait for the leader's turn.
            self._say([] if self._leads else [{"what": "ready"}])
            if self._leads:
                time.sleep(POLL_INTERVAL)
            if time.monotonic() - said > self._patience:
                said = time.monotonic()
                _log.warning("%s: at work on its own, and waited for", ", ".join(name for name in self._others if name not in self._ready))
        if self._leads:
            self._say([{"what": "ready"}])
        self._ready.clear()
        self._spoke = time.monotonic()


class _Active:
    """A bucket under way."""

    def __init__(self, attempt: int) -> None:
        self.attempt = attempt
        self.addresses: dict[str, str] = {}
        self.started: list[str] = []
        self.ended: set[str] = set()
        self.done: set[str] = set()
        self.failed = False
        self.ended_by: Optional[str] = None
        self.heard = time.monotonic()


class Leader:
    """The first party's driver."""

    def __init__(
        self,
        drivers: _tacita.Drivers,
        here: Here,
        parties: Sequence[str],
        direct: bool,
        patience: float,
        buckets: Sequence[int],
        all_kept: Callable[[], None],
    ) -> None:
        self._drivers, self._here, self._parties, self._direct = drivers, here, list(parties), direct
        self._patience, self._all_kept = patience, all_kept
        self.me = parties[0]
        self._pending = sorted(buckets)
        self._attempts = dict.fromkeys(self._pending, 0)
        self._active: dict[int, _Active] = {}
        self._slots = {self.me: here.pool.slots}
        self._began = time.monotonic()
        self._out: dict[str, list[Word]] = {name: [] for name in self._parties[1:]}
        self.done: set[int] = set()
        """The buckets that all have said to be done."""

    def run(self) -> None:
        """Has all buckets done."""
        while self._pending or self._active:
            room = min(self._slots.values()) if len(self._slots) == len(self._parties) else 0
            if not self._direct:
                room = min(room, AT_RELAY)
            elif room:
                # One stands ready, so that no machine waits for what drivers have to say. Through a relay a party could have another one running than the rest.
                room += 1
            while self._pending and len(self._active) < room:
                bucket = heapq.heappop(self._pending)
                self._active[bucket] = _Active(self._attempts[bucket])
                self._go_on(bucket)
            for word in self._here.words(POLL_INTERVAL):
                self._hear(self.me, word)
            for name, words in self._turn().items():
                for word in words:
                    self._hear(name, word)
            self._check_heard()
        self._all_kept()
        self._out = {name: [{"what": "end"}] for name in self._parties[1:]}
        self._turn()

    def _check_heard(self) -> None:
        """Nobody keeps a bucket open that this party is done with, or has none begun, though its driver answers."""
        late = time.monotonic() - self._began > self._patience
        silent = [name for name in self._parties if name not in self._slots]
        if late and silent:
            raise lasting(NetworkError(f"{', '.join(silent)} did not say within {self._patience:g} s how many buckets it runs at a time", "network", 3, silent[0]))
        for bucket, active in self._active.items():
            if active.ended_by is not None and active.ended_by not in active.ended and time.monotonic() - active.heard > TELLS:
                self._stop(bucket, active.attempt, active.ended_by)
                active.ended_by = None
            if self.me in active.ended and time.monotonic() - active.heard > self._patience:
                open_at = ", ".join(name for name in active.started if name not in active.ended)
                raise lasting(NetworkError(f"{open_at} did not end bucket {bucket} within {self._patience:g} s", "network", 3, open_at))

    def _turn(self) -> dict[str, list[Word]]:
        heard = self._drivers.turn({name: json.dumps(words) for name, words in self._out.items()})
        self._out = {name: [] for name in self._parties[1:]}
        return {name: json.loads(words) for name, words in heard.items()}

    def _go_on(self, bucket: int) -> None:
        """Starts a bucket at the next party, which dials those that were started before: once they listen."""
        active = self._active[bucket]
        while not active.failed and len(active.started) < len(self._parties):
            if self._direct and not all(name in active.addresses for name in active.started):
                return
            name = self._parties[len(active.started)]
            active.started.append(name)
            if name == self.me:
                self._here.start(bucket, active.attempt, {})
            else:
                self._out[name].append(_word("start", bucket, active.attempt, at=active.addresses))

    def _hear(self, name: str, word: Word) -> None:
        if word["what"] == "slots":
            self._slots[name] = word["slots"]
            return
        bucket = word.get("bucket", -1)
        active = self._active.get(bucket)
        if active is None or active.attempt != word.get("attempt") or name not in active.started or name in active.ended:
            raise ProtocolError(f"{name} says {word['what']} of bucket {bucket}, which is not running there", "protocol", 4, name)
        if word["what"] == "stands":
            active.addresses.setdefault(name, word["address"])
            self._go_on(bucket)
            return
        active.ended.add(name)
        active.heard = time.monotonic()
        if word["what"] == "done":
            active.done.add(name)
        elif not active.failed:
            active.failed = True
            active.ended_by = word.get("by")
            for other in active.started:
                # Who has ended it knows why, and would have no time to say so.
                if other not in active.ended and other != active.ended_by:
                    self._stop(bucket, active.attempt, other)
        if active.failed and active.ended >= set(active.started):
            del self._active[bucket]
            self._attempts[bucket] += 1
            heapq.heappush(self._pending, bucket)
        elif len(active.done) == len(self._parties):
            del self._active[bucket]
            self.done.add(bucket)

    def _stop(self, bucket: int, attempt: int, name: str) -> None:
        if name == self.me:
            self._here.stop(bucket, attempt)
        else:
            self._out[name].append(_word("stop", bucket, attempt))


class Follower:
    """Another party's driver."""

    def __init__(self, drivers: _tacita.Drivers, here: Here, leader: str, may_dial: Callable[[str, str], None], patience: float) -> None:
        self._drivers, self._here, self._leader, self._may_dial = drivers, here, leader, may_dial
        self._patience = patience

    def run(self) -> None:
        """Does what the leader says, to the end."""
        out: list[Word] = [{"what": "slots", "slots": self._here.pool.slots}]
        busy = time.monotonic()
        while True:
            if self._here.is_busy:
                busy = time.monotonic()
            elif time.monotonic() - busy > self._patience:
                raise lasting(NetworkError(f"{self._leader} started no bucket within {self._patience:g} s", "network", 3, self._leader))
            heard = self._drivers.turn({self._leader: json.dumps(out)})
            out = []
            for word in json.loads(heard[self._leader]):
                if word["what"] == "end":
                    return
                if word["what"] == "start":
                    for name, address in word["at"].items():
                        self._may_dial(name, address)
                    self._here.start(word["bucket"], word["attempt"], word["at"])
                elif word["what"] == "stop":
                    self._here.stop(word["bucket"], word["attempt"])
                else:
                    raise ProtocolError(f"{self._leader} says {word['what']} after its buckets are done", "protocol", 4, self._leader)
            out = self._here.words(0.0)
