"""How far a run is, for whoever waits."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Iterator, NamedTuple, Optional, Union

__all__ = ["Progress", "ShowProgress"]


class Progress(NamedTuple):
    """How far a party has come.

    >>> import tacita
    >>> tacita.Progress("a", "transferring", 50, 100, 2048, 4096).done
    50
    """

    party: str
    """Whose it is."""
    phase: str
    """What is being done."""
    done: int
    """How much of it is done."""
    total: int
    """How much there is to do; 0 if that is not known."""
    sent: int
    """Bytes sent."""
    received: int
    """Bytes received."""


ShowProgress = Union[bool, Callable[[Progress], object], None]
"""A function that gets a `Progress` now and then; ``True`` for a bar; ``False`` for none; ``None``: a bar if somebody looks."""

_Raw = Callable[[str, str, int, int, int, int], object]


def watching(progress: ShowProgress) -> AbstractContextManager[Optional[_Raw]]:
    """What the library calls while it works."""
    if callable(progress):
        told = progress
        return nullcontext(lambda *now: told(Progress(*now)))
    if progress is False or (progress is None and not somebody_looks()):
        return nullcontext(None)
    # In a notebook, bars are widgets, and without those rich says so with every run.
    plain = not _in_notebook() or _there("ipywidgets")
    if _there("rich") and plain:
        return _rich()
    if _there("tqdm") and plain:
        return _tqdm()
    return nullcontext(None)


def _there(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def _in_notebook() -> bool:
    return "ipykernel" in sys.modules


def somebody_looks() -> bool:
    return sys.stderr is not None and sys.stderr.isatty() or _in_notebook()


@contextmanager
def _rich() -> Iterator[_Raw]:
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeElapsedColumn(),
    )
    tasks: dict[str, Any] = {}
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:

        def show(party: str, phase: str, done: int, total: int, sent: int, received: int) -> None:
            task = tasks.setdefault(party, None)
            if task is None:
                task = tasks[party] = bars.add_task(party)
            bars.update(task, description=f"{party}: {phase}", completed=done, total=total or None)

        yield show


@contextmanager
def _tqdm() -> Iterator[_Raw]:
    from tqdm.auto import tqdm

    bars: dict[str, Any] = {}

    def show(party: str, phase: str, done: int, total: int, sent: int, received: int) -> None:
        if party not in bars:
            bars[party] = tqdm(desc=party, leave=False)
        bar = bars[party]
        bar.total, bar.n = total or None, done
        bar.set_description(f"{party}: {phase}")

    try:
        yield show
    finally:
        for bar in bars.values():
            bar.close()
