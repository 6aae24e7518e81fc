import os
from collections.abc import Callable, Mapping
from typing import Any, final

__all__ = [
    "ArrowTable",
    "Identity",
    "Outcome",
    "Spec",
    "__version__",
    "plan",
    "results",
    "run",
    "simulate",
    "submit",
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

def run(
    spec: Spec,
    party: str,
    data: Any,
    identity: Identity,
    *,
    listen: str | None,
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
