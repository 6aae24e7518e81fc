"""What the tests share: the command of the same wheel, the samples, identities and free ports."""

from __future__ import annotations

import contextlib
import os
import pathlib
import random
import socket
import subprocess
import sysconfig
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

import tacita
from tacita import learn

if TYPE_CHECKING:
    import pandas

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
COMMAND = pathlib.Path(sysconfig.get_path("scripts")) / "tacita"

assert ROOT not in pathlib.Path(tacita.__file__).parents or "site-packages" in tacita.__file__, (
    "the source tree is tested, not the wheel"
)


def command(*arguments: object, **options: object) -> subprocess.CompletedProcess[str]:
    """Runs the command that came with the wheel."""
    told = [str(COMMAND), *map(str, arguments)]
    return subprocess.run(told, capture_output=True, text=True, timeout=300, **options)  # type: ignore[call-overload]


PORTS = range(20_000, 32_000)
"""Below those that the system gives to whoever asks for any: another process would have one before it is listened at."""


def free_address() -> str:
    """An address of this machine at which nobody listens."""
    while True:
        port = random.choice(PORTS)
        with socket.socket() as free, contextlib.suppress(OSError):
            free.bind(("127.0.0.1", port))
            return f"127.0.0.1:{port}"


def connected(
    work: Callable[[learn.Parties], object], tables: dict[str, pandas.DataFrame], categories: object, path: object
) -> dict[str, object]:
    """What comes of the same work at both parties, each on its own as on a machine of its own."""
    ids = {name: tacita.Identity.create(f"{path}/{name}", name) for name in tables}
    parties = {name: {"identity": identity.fingerprint} for name, identity in ids.items()}
    parties[next(iter(parties))]["address"] = free_address()

    def one(name: str) -> object:
        return work(learn.Parties.connected(name, tables[name], ids[name], parties, categories=categories, tell=None))  # type: ignore[arg-type]

    with ThreadPoolExecutor(2) as pool:
        return dict(zip(tables, pool.map(one, tables)))


@pytest.fixture
def pair(tmp_path: pathlib.Path) -> tuple[dict[str, tacita.Identity], dict[str, dict[str, str]]]:
    """Two identities, and the parties of a job who have them."""
    ids = {name: tacita.Identity.create(tmp_path / name, name) for name in ("hospital", "insurer")}
    parties = {name: {"identity": identity.fingerprint} for name, identity in ids.items()}
    parties["hospital"]["address"] = free_address()
    return ids, parties


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test stands in the source tree."""
    monkeypatch.chdir(tmp_path)
    os.environ.pop("PYTHONPATH", None)
