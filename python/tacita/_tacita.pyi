import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, final

__all__ = [
    "ArrowTable",
    "Cancel",
    "Commitment",
    "Drivers",
    "Identity",
    "Outcome",
    "RunAccount",
    "Spec",
    "Work",
    "__version__",
    "bucket_bound",
    "bucket_range",
    "buckets_for",
    "can_spread",
    "check_file",
    "count_itemsets",
    "doctor",
    "inspect",
    "join_facts",
    "ledger_entries",
    "ledger_export",
    "ledger_verify",
    "match_pool",
    "open_pool",
    "partition",
    "plan",
    "policy_check",
    "policy_explain",
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

def policy_check(
    spec: Spec,
    party: str,
    *,
    identity: Identity | None,
    policy: str | os.PathLike[str] | None,
    ledger: str | os.PathLike[str] | None,
) -> str: ...
def policy_explain(
    spec: Spec,
    party: str | None,
    *,
    identity: Identity,
    policy: str | os.PathLike[str] | None,
    ledger: str | os.PathLike[str] | None,
) -> str: ...
def ledger_entries(identity: Identity, *, directory: str | os.PathLike[str] | None) -> str: ...
def ledger_verify(identity: Identity, *, directory: str | os.PathLike[str] | None) -> str: ...
def ledger_export(identity: Identity, format: str, *, directory: str | os.PathLike[str] | None) -> str: ...
@final
class Cancel:
    def cancel(self) -> bool: ...

@final
class Spec:
    @staticmethod
    def parse(text: str, is_json: bool) -> Spec: ...
    @staticmethod
    def load(path: str | os.PathLike[str]) -> Spec: ...
    def same(self, other: Spec) -> bool: ...
    def to_toml(self) -> str: ...
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
        told: str | os.PathLike[str] | None = None,
        pooled: tuple[bytes, bytes, str | os.PathLike[str]] | None = None,
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
    def positions(self) -> tuple[bytes, int, tuple[int, int, str | None] | None] | None: ...
    @property
    def own_columns(self) -> int: ...
    def table(self, name: str) -> ArrowTable | None: ...
    def save(self, path: str | os.PathLike[str]) -> None: ...

@final
class Commitment:
    def __new__(cls) -> Commitment: ...
    def add(self, digest: bytes) -> None: ...

@final
class RunAccount:
    @staticmethod
    def open(spec: Spec, party: str, identity: Identity) -> RunAccount: ...
    def end(self, *, report: str | None = None, why: str | None = None) -> None: ...

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
    def keep_at(self, place: str) -> None: ...
    @property
    def place(self) -> str | None: ...
    @property
    def secret(self) -> bytes: ...
    @property
    def opened(self) -> int: ...
    @property
    def repeated(self) -> int: ...
    def repeat(self) -> int: ...
    @property
    def counted(self) -> int | None: ...
    def count(self, count: int) -> None: ...
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
        account: RunAccount,
        *,
        rows: str,
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
    def add_up(self, spec: Spec, work: Work, files: Sequence[str | os.PathLike[str]], report: str) -> Outcome: ...
    def has_counted(self, work: Work) -> bool: ...
    def send_pool(self, work: Work, files: Sequence[str | os.PathLike[str]]) -> None: ...
    def receive_pool(self, place: str | os.PathLike[str]) -> int: ...
    def tell_count(self, spec: Spec, count: int, report: str) -> Outcome: ...
    def hear_count(self, spec: Spec, report: str) -> Outcome: ...
    def begin_levels(self, rows: int, runs: list[str], names: list[str], counts: list[int], work: Work) -> list[str]: ...
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
def buckets_for(spec: Spec, asked: int, rows: Sequence[int]) -> int: ...
def bucket_bound(rows: int, buckets: int, parties: int) -> int: ...
def bucket_range(bucket: int, buckets: int, rows: int) -> tuple[int, int]: ...
def read_block(spec: Spec, party: str, data: Any, allow_unreadable: bool) -> tuple[ArrowTable, str, str, bytes, list[str]]: ...
def join_facts(spec: Spec, party: str, facts: list[str]) -> str: ...
def partition(spec: Spec, party: str, data: Any) -> Outcome: ...
def count_itemsets(items: Any, rows: int, wanted: bytes) -> list[int]: ...
def open_pool(bucket: Spec, party: str, place: str | os.PathLike[str], part: int) -> None: ...
def match_pool(bucket: Spec, party: str, place: str | os.PathLike[str], part: int) -> int: ...
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
    policy: str | os.PathLike[str] | None,
    ledger: str | os.PathLike[str] | None,
    receipt: str | os.PathLike[str] | None,
    allow_unreadable: bool,
    allow_insecure: bool,
    progress: Callable[[str, str, int, int, int, int], object] | None,
    cancel: Cancel | None,
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
def inspect(
    data: Any,
    *,
    question: tuple[Spec, str] | None,
    key: Sequence[tuple[str, str]],
    normalize: Sequence[str],
    columns: Sequence[str],
    nulls: Sequence[str] | None,
    decimal: str | None,
) -> str: ...
def doctor(
    job: Spec | str | os.PathLike[str],
    party: str,
    identity: Identity | str | os.PathLike[str],
    *,
    data: Any,
    listen: str | None,
    output: str | os.PathLike[str] | None,
    overwrite: bool,
    meet: bool,
    timeout: float,
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
