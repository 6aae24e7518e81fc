"""What the machines of a party do, each task on one of them."""

from __future__ import annotations

import functools
import importlib
import json
import os
import pathlib
import random
import re
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Optional

import pyarrow
import pyarrow.compute
import pyarrow.parquet

from .. import _tacita
from .._result import Result
from ..errors import Error, InputError, InternalError, _input
from ._arguments import Place

DIALING = 60.0
"""So long a machine is dialed that stands, in seconds, at most."""

Post = Callable[[int, int, str], object]
"""Tells the driver where a bucket's machine listens: its number, the attempt, the address."""


@dataclass(frozen=True)
class Text:
    """A job as it was written."""

    text: str
    is_json: bool

    def spec(self) -> _tacita.Spec:
        """The job."""
        return _tacita.Spec.parse(self.text, self.is_json)


@dataclass(frozen=True)
class Level:
    """What is counted in a bucket, in jobs that count again and again."""

    number: int
    rows: int
    """Of the bucket."""
    all_rows: int
    sets: str
    """The file of what is to be counted."""
    items: str
    """The file of the own items that are still of interest."""


@dataclass(frozen=True)
class Order:
    """What is to be done with a bucket."""

    job: Text
    party: str
    identity: str
    session: str
    number: int
    of: int
    attempt: int
    bounds: dict[str, int]
    protocol: str
    addresses: dict[str, str]
    """Where the machines of earlier parties listen."""
    listens: bool
    """Whether later parties dial this machine."""
    at: Optional[str]
    """Where it listens: a host, and perhaps ports, as ``10.0.0.1:7500-7599``."""
    output: str
    """The directory of results."""
    keeps: str
    """What this party keeps of a bucket: ``rows``, ``items``, ``shares``, ``pool`` for a count, or ``numbers``, which its driver keeps."""
    timeout: float
    patience: float
    facts: str = "null"
    """What is known of all the party's rows."""
    level: Optional[Level] = None
    """What is to be counted, where the bucket's rows are aligned."""
    options: dict[str, Any] = field(default_factory=dict)
    secrets: Optional[tuple[bytes, bytes]] = field(default=None, repr=False)
    """Of a count: what the own exponent follows from, and the key of the rows' items."""

    def spec(self) -> _tacita.Spec:
        """The job of the bucket."""
        level = self.level
        return self.job.spec().bucket(
            session=self.session,
            number=self.number,
            of=self.of,
            attempt=self.attempt,
            bounds=self.bounds,
            protocol=self.protocol,
            addresses=self.addresses,
            facts=self.facts,
            counts=(level.rows, level.all_rows, pathlib.Path(level.sets).read_bytes()) if level else None,
            told=self.told,
            pooled=(*self.secrets, self.kept("pool")) if self.secrets else None,
        )

    @property
    def told(self) -> pathlib.Path:
        """The file that is there from when the first answer of the bucket has left this party."""
        return pathlib.Path(self.output) / told_name(self.number)

    def kept(self, ending: str) -> pathlib.Path:
        """The file of what this party keeps."""
        return pathlib.Path(self.output) / part_name(self.number, ending)


def read(job: Text, party: str, piece: Any, allow_unreadable: bool) -> tuple[dict[str, Any], pyarrow.Table]:
    """Reads a part of a party's table, a file or a table: what is known of it, and its rows with their keys."""
    try:
        block, counts, facts, digest, warnings = _tacita.read_block(job.spec(), party, piece, allow_unreadable)
    except InputError as error:
        if isinstance(piece, str) and pathlib.Path(piece).name not in error.message:
            raise _input(f"{piece}: {error.message}") from None
        raise
    table = pyarrow.table(block)
    table = table.replace_schema_metadata({**(table.schema.metadata or {}), DIGEST: digest})
    return {"digest": digest, "counts": json.loads(counts), "facts": facts, "schema": table.schema.remove_metadata(), "warnings": warnings}, table


DIGEST = b"tacita digest"
"""What stands for a block's rows, which are read again where they are lost."""


@dataclass(frozen=True)
class Committed:
    """What a party has committed to, before it was known which rows go together."""

    digest: bytes
    schema: pyarrow.Schema
    """Of all blocks."""

    def check(self, block: pyarrow.Table) -> pyarrow.Table:
        """Refuses another block; returns its rows with the columns of all."""
        metadata = dict(block.schema.metadata)
        if metadata.pop(DIGEST) != self.digest:
            raise _input("data: the input has changed since it was read: another machine has read a part of it again")
        return block.cast(self.schema).replace_schema_metadata(metadata or None)


def scatter(
    block: pyarrow.Table, committed: Committed, item_key: bytes, buckets: int, groups: Sequence[range]
) -> list[Optional[pyarrow.Table]]:
    """The rows of a block by groups of buckets, after nothing for the driver: each knows where its buckets begin."""
    scattered, starts = _tacita.scatter(committed.check(block), item_key, buckets)
    table = pyarrow.table(scattered)
    starts = [*starts, table.num_rows]
    pieces: list[Optional[pyarrow.Table]] = [None]
    for group in groups:
        first, end = starts[group.start], starts[group.stop]
        piece = table.slice(first, end - first)
        if len(groups) < buckets:
            of_buckets = [start - first for start in starts[group.start : group.stop + 1]]
            piece = piece.replace_schema_metadata({**(table.schema.metadata or {}), STARTS: json.dumps(of_buckets)})
        pieces.append(piece)
    return pieces


STARTS = b"tacita starts"
"""Where each bucket of a group begins, and where the last one ends."""


def gather(*pieces: pyarrow.Table) -> list[Optional[pyarrow.Table]]:
    """The buckets of a group, from what each block has of it, after nothing for the driver."""
    metadata = dict(pieces[0].schema.metadata)
    starts = [json.loads(piece.schema.metadata[STARTS]) for piece in pieces]
    del metadata[STARTS]
    plain = [piece.replace_schema_metadata(metadata) for piece in pieces]
    gathered: list[Optional[pyarrow.Table]] = [None]
    for bucket in range(len(starts[0]) - 1):
        own = [piece.slice(of[bucket], of[bucket + 1] - of[bucket]) for piece, of in zip(plain, starts)]
        gathered.append(pyarrow.concat_tables(own).combine_chunks())
    return gathered


def cut(block: pyarrow.Table, committed: Committed, pieces: Sequence[tuple[int, int]]) -> list[Optional[pyarrow.Table]]:
    """Pieces of a block, each from a row to the one before another, after nothing for the driver."""
    block = committed.check(block)
    return [None, *(block.slice(start, end - start) for start, end in pieces)]


def _passing(task: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """What one machine cannot write, another may; and rows that are spoken of are those of the bucket."""

    @functools.wraps(task)
    def done(order: Order, *arguments: Any) -> dict[str, Any]:
        try:
            return task(order, *arguments)
        except OSError as error:
            # pyarrow's errors are of this kind, too.
            raise InternalError(f"bucket {order.number}: {_one_line(error)}", "internal", 70) from None
        except InputError as error:
            if "of memory besides the table" in error.message:
                # Other tasks have it now.
                raise InternalError(f"bucket {order.number}: {error.message}", "internal", 70) from None
            if not re.search(r"\brows? [0-9]", error.message):
                raise
            raise _input(f"{error.message} (rows are counted in bucket {order.number})") from None

    return done


def _telling(task: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """An error says whether the bucket was answered: it would be answered again."""

    @functools.wraps(task)
    def done(order: Order, *arguments: Any) -> dict[str, Any]:
        try:
            return task(order, *arguments)
        except Error as error:
            error._told = order.told.exists()
            raise

    return done


def _one_line(error: OSError) -> str:
    what = error.strerror or str(error).partition("\n")[0]
    return f"{error.filename}: {what}" if error.filename else what


@_telling
@_passing
def bucket(order: Order, post: Post, *pieces: pyarrow.Table) -> dict[str, Any]:
    """Does a bucket with the other parties, and keeps what this one learns of it. Returns its report."""

    if order.keeps in ("items", "shares"):
        # Of another attempt: shares add up only with those of the same, and rows stand where that one's stood.
        order.kept("share" if order.keeps == "shares" else "parquet").unlink(missing_ok=True)

    def keep(result: Result, outcome: _tacita.Outcome) -> None:
        if order.keeps == "rows":
            write_whole(order.kept("parquet"), lambda path: pyarrow.parquet.write_table(result.table, path))
        elif order.keeps == "items":
            _keep_items(order, result)
        elif order.keeps == "shares":
            write_whole(order.kept("share"), outcome.save)

    return _with_others(order, post, pyarrow.concat_tables(pieces), keep)


@_passing
def products(order: Order, post: Post) -> dict[str, Any]:
    """Makes shares of the counts of a level in a bucket with the other party, and keeps them. Returns its report."""
    table, _ = _columns(order)
    assert order.level is not None
    kept = order.kept(f"counts-{order.level.number}")
    # Shares add up only with those of the same attempt.
    kept.unlink(missing_ok=True)
    return _with_others(order, post, table, lambda _, outcome: write_whole(kept, outcome.save))


def _with_others(
    order: Order, post: Post, table: pyarrow.Table, keep: Callable[[Result, _tacita.Outcome], None]
) -> dict[str, Any]:
    started, cpu = time.monotonic(), time.process_time()
    # Whoever is waited for may have no room for this bucket yet. Where one is dialed, it stands already.
    waits = order.listens or order.spec().relay is not None
    for host, listen in _listening(order.at) if order.listens else [("", None)]:
        with tempfile.TemporaryDirectory(prefix="tacita-") as scratch:
            announced = pathlib.Path(scratch) / "address" if listen else None
            done = threading.Event()
            if announced:
                telling = threading.Thread(target=_tell, args=(announced, host, done, order, post), daemon=True)
                telling.start()
            try:
                outcome = _tacita.run(
                    order.spec(),
                    order.party,
                    table,
                    _tacita.Identity.load(order.identity),
                    listen=listen,
                    announce=announced,
                    timeout=order.patience if waits else min(order.timeout, DIALING),
                    patience=order.patience,
                    memory=None,
                    pool=None,
                    pool_key=None,
                    policy=None,
                    ledger=None,
                    receipt=None,
                    cancel=None,
                    progress=None,
                    **order.options,
                )
                break
            except InputError as error:
                # Another worker of this machine has taken the port since it was free.
                if listen is None or "cannot listen on" not in error.message:
                    raise
            finally:
                done.set()
    else:
        raise _input(f"workers_at = {order.at!r}: no port is free on this machine: give more, at least one for each of its workers")
    result = Result(order.party, outcome)
    keep(result, outcome)
    return {
        "report": result.report,
        "cpu_seconds": time.process_time() - cpu,
        "seconds": time.monotonic() - started,
        "told": order.told.exists(),
    }


def partition(order: Order, *pieces: pyarrow.Table) -> None:
    """Keeps the items of a bucket's rows, which go by their position."""
    outcome = _tacita.partition(order.spec(), order.party, pyarrow.concat_tables(pieces))
    _keep_items(order, Result(order.party, outcome))


def _keep_items(order: Order, result: Result) -> None:
    """Items with their rows, and beside them how many rows there are and what stands for the run that aligned them."""
    facts = json.dumps(result.value).encode()
    table = result.table.replace_schema_metadata({"tacita": facts})
    write_whole(order.kept("parquet"), lambda path: pyarrow.parquet.write_table(table, path))


def items(order: Order) -> tuple[dict[str, Any], pyarrow.Table]:
    """What stands beside the items of a bucket, and in how many of its rows each item is."""
    table, facts = _kept_items(order)
    counts = pyarrow.compute.list_value_length(table["rows"]).cast("uint64")
    return facts, pyarrow.table({"item": table["item"], "count": counts})


def counts(order: Order) -> pyarrow.Array:
    """In how many rows of a bucket each of the own itemsets is."""
    assert order.level is not None
    table, facts = _columns(order)
    return pyarrow.array(
        _tacita.count_itemsets(table, facts["rows"], pathlib.Path(order.level.sets).read_bytes()), pyarrow.uint32()
    )


def _kept_items(order: Order) -> tuple[pyarrow.Table, dict[str, Any]]:
    table = pyarrow.parquet.read_table(order.kept("parquet"))
    return table, json.loads(table.schema.metadata[b"tacita"])


def _columns(order: Order) -> tuple[pyarrow.Table, dict[str, Any]]:
    """The rows of the items that are still of interest, by their numbers, and what stands beside them."""
    assert order.level is not None
    table, facts = _kept_items(order)
    names = pyarrow.parquet.read_table(order.level.items)["item"]
    return table.select(["rows"]).take(pyarrow.compute.index_in(names, value_set=table["item"])), facts


def open_pool(order: Order, place: str, part: int) -> None:
    """Makes tags of the elements of a part of a pool."""
    _tacita.open_pool(order.spec(), order.party, place, part)


def match_pool(order: Order, place: str, part: int) -> int:
    """How many of the tags of a part the other party has, too."""
    return _tacita.match_pool(order.spec(), order.party, place, part)


def told_name(bucket: int) -> str:
    """The name of the file that says that a bucket was answered. Readers of datasets leave it out."""
    return f"{TOLD}{bucket:05}"


TOLD = ".told-"


def part_name(bucket: int, ending: str = "parquet") -> str:
    """The name of the file of a bucket's result."""
    return f"part-{bucket:05}.{ending}"


def write_whole(path: pathlib.Path, write: Callable[[pathlib.Path], object]) -> None:
    """Writes a file whole or not at all: no other name than its own is ever read."""
    part = path.with_name(f".{path.name}.{os.getpid()}.{random.getrandbits(32):08x}")
    try:
        write(part)
        with open(part, "rb") as written:
            os.fsync(written.fileno())
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def _listening(at: Optional[str]) -> Iterator[tuple[str, str]]:
    """The host that the others are told, and where to listen: any free port, or one after the other of those that are given and free."""
    place = Place.parse(at or _own_host())
    bound = place.bound
    if place.ports is None:
        yield place.host, f"{bound}:0"
        return
    some = list(place.ports)
    random.shuffle(some)
    for port in some:
        with socket.socket(socket.AF_INET6 if bound.startswith("[") else socket.AF_INET) as free:
            free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                free.bind((bound.strip("[]"), port))
            except OSError:
                continue
        yield place.host, f"{bound}:{port}"


def _own_host() -> str:
    """The address of this machine in its cluster."""
    ray: Any = importlib.import_module("ray")
    return str(ray.util.get_node_ip_address())


def _tell(announced: pathlib.Path, host: str, done: threading.Event, order: Order, post: Post) -> None:
    """Tells the driver where this machine listens, once it does."""
    while not done.wait(0.005):
        if announced.exists() and (address := announced.read_text()):
            post(order.number, order.attempt, f"{host}:{address.rpartition(':')[2]}")
            return
