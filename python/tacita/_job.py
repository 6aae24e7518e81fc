"""Jobs: what the parties agree on."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

from . import _tacita
from ._html import page, table
from ._types import Path
from .errors import InputError, _input

__all__ = ["Job"]


class Job:
    """What the parties agree on: a job file, or the same keys as arguments.

    `parties` may be a list of names where none of them has anything to say of its own.

    >>> import tacita
    >>> job = tacita.Job(
    ...     job="intersect", id="demo", reveal_to=["a"], key={"columns": ["id"]}, parties=["a", "b"]
    ... )
    >>> job.kind, job.parties, job.reveal
    ('intersect', ['a', 'b'], 'rows')
    >>> job.learned("a")[0]
    'a learns which of its own rows have a key that b has too.'
    """

    def __init__(self, **keys: Any) -> None:
        """A job with these keys of a job file. Raises `InputError` where they make no job."""
        parties = keys.get("parties")
        if isinstance(parties, Sequence) and not isinstance(parties, str):
            keys["parties"] = {name: {} for name in parties}
        try:
            self._spec = _tacita.Spec.parse(json.dumps(keys, default=_plain, allow_nan=False), True)
        except InputError as error:
            # Arguments have no lines.
            raise _input(re.sub(r" at line \d+ column \d+$", "", error.message)) from None
        except (TypeError, ValueError) as error:
            raise _input(f"no job: {error}") from None

    @classmethod
    def load(cls, path: Path) -> Job:
        """Reads a job file, TOML or JSON. Raises `InputError`, which names the line, where it is none."""
        return cls._of(_tacita.Spec.load(path))

    @classmethod
    def parse(cls, text: str) -> Job:
        """Reads a job from the text of a job file, TOML or JSON."""
        return cls._of(_tacita.Spec.parse(text, False))

    @classmethod
    def _of(cls, spec: _tacita.Spec) -> Job:
        job = cls.__new__(cls)
        job._spec = spec
        return job

    @property
    def kind(self) -> str:
        """Which question is asked: ``intersect``, ``union``, ``dot``, ``rules``, ``shares`` or ``aggregate``."""
        return self._spec.kind

    @property
    def id(self) -> str:
        """The parties' name for it."""
        return self._spec.id

    @property
    def parties(self) -> list[str]:
        """The parties, in their order: a later one dials earlier ones."""
        return self._spec.parties

    @property
    def protocol(self) -> str:
        """Which protocol answers it, or ``auto``."""
        return self._spec.protocol

    @property
    def security(self) -> str:
        """What the others are assumed to do."""
        return self._spec.security

    @property
    def level(self) -> str:
        """Computational security."""
        return self._spec.level

    @property
    def reveal(self) -> str:
        """What those in `reveal_to` learn."""
        return self._spec.reveal

    @property
    def reveal_to(self) -> list[str]:
        """Who learns."""
        return self._spec.reveal_to

    @property
    def agreement(self) -> str:
        """The fingerprint of its terms, which the parties compare before data moves."""
        return self._spec.agreement

    @property
    def terms(self) -> dict[str, Any]:
        """Its terms: everything but addresses and each party's own mapping."""
        terms: dict[str, Any] = json.loads(self._spec.terms)
        return terms

    def learned(self, party: str) -> list[str]:
        """What a party will learn, in sentences."""
        return self._spec.learned(party)

    def __repr__(self) -> str:
        names = ", ".join(self.parties)
        return f"Job({self.kind} {self.id!r}: {self.reveal} to {', '.join(self.reveal_to)}; parties {names})"

    def _repr_html_(self) -> str:
        rows = [(name, "<br>".join(self.learned(name))) for name in self.parties]
        return page(repr(self), table(("party", "will learn"), rows, raw=1))


def _plain(value: Any) -> object:
    """What JSON has no word for: other mappings and sequences, paths, times, and what NumPy and pandas have of their own."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (Sequence, set, frozenset)):
        return list(value)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"a {type(value).__qualname__} is no value of a job file")


def _spec_of(job: object) -> _tacita.Spec:
    """What a job is inside; refuses what is none."""
    if not isinstance(job, Job):
        hint = f"tacita.Job.load({str(job)!r})" if isinstance(job, (str, os.PathLike)) else "tacita.Job.load(path), or tacita.Job(...)"
        raise _input(f"job: a {type(job).__name__} is no job: give {hint}")
    return job._spec
