import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, final

__all__ = [
    "ArrowTable",
    "Commitment",
    "Drivers",
    "Identity",
    "Outcome",
    "Spec",
    "Work",
    "__version__",
    "bucket_bound",
    "bucket_range",
    "can_spread",
    "check_file",
    "count_itemsets",
    "join_facts",
    "most_buckets",
    "partition",
    "plan",
    "read_block",
    "results",
    "run",
    "scatter",
    "simulate",
    "submit",
    "usual_buckets",
]
__version__: str

@final
class ArrowTable:
    @property
    def num_rows(self) -> int: ...
    @property
    def column_names(self) -> list[str]: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...

@final
class Identity:
    @staticmethod
    def create(directory: str | os.PathLike[str], name: str) -> Identity: ...
    @staticmethod
    def load(directory: str | os.PathLike[str]) -> Identity: ...
    @property
    def fingerprint(self) -> str: ...

@final
class Spec:
    @staticmethod
    def parse(text: str, is_json: bool) -> Spec: ...
    @staticmethod
    def load(path: str | os.PathLike[str]) -> Spec: ...
    @property
    def kind(self) -> str: ...
    @property
    def id(self) -> str: ...
    @property
    def protocol(self) -> str: ...
    @property
    def security(self) -> str: ...
    @property
    def level(self) -> str: ...
    @property
    def reveal(self) -> str: ...
    @property
    def reveal_to(self) -> list[str]: ...
    @property
    def parties(self) -> list[str]: ...
    @property
    def agreement(self) -> str: ...
    @property
    def terms(self) -> str: ...
    @property
    def text(self) -> tuple[str, bool]: ...
    @property
    def relay(self) -> str | None: ...
    def address(self, party: str) -> str | None: ...
    def bucket(
        self,
        *,
        session: str,
        number: int,
        of: int,
        attempt: int,
        bounds: Mapping[str, int],
        protocol: str,
        addresses: Mapping[str, str],
        facts: str,
        counts: tuple[int, int, bytes] | None,
    ) -> Spec: ...
    @property
    def aligns_by_position(self) -> bool: ...
    def learned(self, party: str) -> list[str]: ...

@final
class Outcome:
    @property
    def line(self) -> str | None: ...
    @property
    def report(self) -> str: ...
    @property
    def table_names(self) -> list[str]: ...
    def table(self, name: str) -> ArrowTable | None: ...
    def save(self, path: str | os.PathLike[str]) -> None: ...

@final
class Commitment:
    def __new__(cls) -> Commitment: ...
    def add(self, digest: bytes) -> None: ...

@final
class Work:
    @staticmethod
    def open(
        directory: str | os.PathLike[str], spec: Spec, party: str, identity: Identity, resume: bool
    ) -> Work: ...
    @property
    def has_run(self) -> bool: ...
    @property
    def name(self) -> str: ...
    def end(self, report: str) -> None: ...
    @property
    def ended(self) -> str | None: ...
    def clear(self) -> None: ...
    def close(self) -> None: ...

@final
class Drivers:
    @staticmethod
    def meet(
        spec: Spec,
        party: str,
        identity: Identity,
        work: Work,
        *,
        rows: int,
        commitment: Commitment,
        buckets: int,
        finished: list[int],
        listen: str | None,
        timeout: float,
        patience: float,
    ) -> Drivers: ...
    @property
    def buckets(self) -> int: ...
    @property
    def remaining(self) -> list[int]: ...
    @property
    def sizes(self) -> dict[str, int]: ...
    @property
    def bounds(self) -> dict[str, int]: ...
    @property
    def protocol(self) -> str: ...
    @property
    def session(self) -> str: ...
    @property
    def item_key(self) -> bytes: ...
    @property
    def leads(self) -> bool: ...
    def turn(self, words: Mapping[str, str]) -> dict[str, str]: ...
    def add_up(self, spec: Spec, files: Sequence[str | os.PathLike[str]], report: str) -> Outcome: ...
    def begin_levels(self, rows: int, runs: list[str], names: list[str], counts: list[int]) -> list[str]: ...
    def next_level(self) -> tuple[int, int, bytes] | None: ...
    def take_own(self, counts: list[int]) -> None: ...
    def take_mixed(self, files: Sequence[str | os.PathLike[str]]) -> None: ...
    def finish_levels(self, spec: Spec, report: str) -> Outcome: ...
    @property
    def traffic(self) -> tuple[int, int]: ...
    def end(self) -> None: ...
    def stop(self, kind: str, peer: str | None) -> None: ...

def can_spread(spec: Spec, party: str) -> None: ...
def usual_buckets(rows: int, slots: int) -> int: ...
def most_buckets(spec: Spec, fewest: int, most: int) -> int: ...
def bucket_bound(rows: int, buckets: int, parties: int) -> int: ...
def bucket_range(bucket: int, buckets: int, rows: int) -> tuple[int, int]: ...
def read_block(spec: Spec, party: str, data: Any, allow_unreadable: bool) -> tuple[ArrowTable, str, str, bytes]: ...
def join_facts(spec: Spec, party: str, facts: list[str]) -> str: ...
def partition(spec: Spec, party: str, data: Any) -> Outcome: ...
def count_itemsets(items: Any, rows: int, wanted: bytes) -> list[int]: ...
def check_file(path: str | os.PathLike[str]) -> None: ...
def scatter(block: Any, item_key: bytes, buckets: int) -> tuple[ArrowTable, list[int]]: ...
def run(
    spec: Spec,
    party: str,
    data: Any,
    identity: Identity,
    *,
    listen: str | None,
    announce: str | os.PathLike[str] | None,
    timeout: float,
    patience: float,
    memory: int | None,
    pool: str | os.PathLike[str] | None,
    pool_key: str | os.PathLike[str] | None,
    allow_unreadable: bool,
    allow_insecure: bool,
    progress: Callable[[str, str, int, int, int, int], object] | None,
) -> Outcome: ...
def simulate(
    spec: Spec,
    tables: Mapping[str, Any],
    *,
    latency: float,
    bandwidth: int | None,
    memory: int | None,
    allow_unreadable: bool,
    allow_insecure: bool,
    program: str | os.PathLike[str] | None,
    storage: str | None,
    progress: Callable[[str, str, int, int, int, int], object] | None,
) -> tuple[dict[str, Outcome], str]: ...
def plan(
    spec: Spec,
    *,
    rows: Mapping[str, int],
    row_bytes: Mapping[str, int],
    tables: Mapping[str, Any],
    latency: float,
    bandwidth: int | None,
) -> str: ...
def submit(
    spec: Spec,
    party: str,
    data: Any,
    identity: Identity,
    round: str,
    *,
    resume: bool,
    batch: int | None,
    timeout: float,
    patience: float,
    expand: int | None,
    allow_unreadable: bool,
    allow_insecure: bool,
    progress: Callable[[str, str, int, int, int, int], object] | None,
) -> str: ...
def results(
    spec: Spec,
    party: str,
    identity: Identity,
    round: str,
    *,
    data: Any | None,
    timeout: float,
) -> Outcome: ...
