"""Arguments: what is wrong with one is said with its name, and in one line."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Real
from typing import Any, Optional

from .errors import _input

__all__ = ["bits_a_second", "check_mapping", "check_path", "memory_bytes", "named", "ordered", "seconds_of", "whole"]


@contextmanager
def named() -> Iterator[None]:
    """Calls the library: what it cannot take as an argument is an `InputError` that begins with the argument's name."""
    try:
        yield
    except (TypeError, OverflowError, ValueError) as error:
        # As notes from Python 3.11 on.
        told = [*getattr(error, "__notes__", ()), str(error)]
        name = next((found[1] for text in told if (found := _NAMED.match(text))), None)
        if name is None:
            raise
        raise _input(f"{name}: {' '.join(_NAMED.sub('', str(error)).split())}") from None


_NAMED = re.compile(r"(?:argument|while processing) '(\w+)'(?:: )?")
"""How the library says which argument it is about."""


def whole(what: str, number: Any, advice: str = "give a whole number") -> int:
    """A number of things, which may be written as ``1e6``."""
    if not _is_number(number) or not (0 <= number < 2**63 and number == int(number)):
        raise _input(f"{what} = {number!r}: {advice}")
    return int(number)


def memory_bytes(memory: Any) -> Optional[int]:
    """Bytes that a job may use."""
    return None if memory is None else whole("memory", memory, "give a number of bytes, as 2e9 or 2 * 2**30")


def seconds_of(what: str, seconds: Any) -> float:
    """A time."""
    if not _is_number(seconds) or not 0 <= seconds < 1e9:
        raise _input(f"{what} = {seconds!r}: give seconds, as 60 or 0.5")
    return float(seconds)


def bits_a_second(bandwidth: Any) -> Optional[int]:
    """Of a network."""
    if bandwidth is None:
        return None
    if not _is_number(bandwidth) or not 1 <= bandwidth < 2**63:
        raise _input(f"bandwidth = {bandwidth!r}: give bits a second, as 100e6")
    return int(bandwidth)


def check_mapping(what: str, given: Any, example: str) -> None:
    """Refuses what has no names."""
    if not hasattr(given, "items") or not hasattr(given, "keys") or hasattr(given, "columns"):
        raise _input(f"{what}: a {type(given).__qualname__} has no names of parties: give {example}")


def ordered(what: str, values: Any) -> list[Any]:
    """Values in an order that counts, which a set has not."""
    if isinstance(values, (set, frozenset)):
        raise _input(f"{what}: a set has no order, and the order counts here: give a list")
    return list(values)


def check_path(what: str, path: object) -> None:
    """Refuses what is no path."""
    if not isinstance(path, (str, os.PathLike)):
        raise _input(f"{what} = {path!r}: give a path")


def _is_number(number: object) -> bool:
    return isinstance(number, Real) and not isinstance(number, bool) and math.isfinite(number)
