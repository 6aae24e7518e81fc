"""Jobs: what the parties agree on."""

from __future__ import annotations

import json
import os
import pathlib
import re
from typing import TYPE_CHECKING, Any

from . import _tacita
from ._arguments import check_path, named
from ._html import page, table
from ._keys import JobKeys, plain_keys
from ._types import Path
from .errors import InputError, _input

if TYPE_CHECKING:
    # Nothing imports it when the package runs.
    from typing_extensions import Unpack

__all__ = ["Job", "json_of", "write_job_file"]


class Job:
    """What the parties agree on: a job file, or the same keys as arguments.

    `parties` may be a list of names where none of them has anything to say of its own. Jobs that say the same are equal; they can be pickled, copied and sent
    to other processes.

    >>> import tacita
    >>> job = tacita.Job(
    ...     job="intersect", id="demo", reveal_to=["a"], key={"columns": ["id"]}, parties=["a", "b"]
    ... )
    >>> job.kind, job.parties, job.reveal
    ('intersect', ['a', 'b'], 'rows')
    >>> job.learned("a")[0]
    'a learns which of its own rows have a key that b has too.'
    >>> print(job.to_toml())  # doctest: +NORMALIZE_WHITESPACE
    job = "intersect"
    id = "demo"
    reveal_to = ["a"]
    [key]
    columns = ["id"]
    [parties.a]
    [parties.b]
    >>> tacita.Job.parse(job.to_toml()) == job
    True
    """

    def __init__(self, **keys: Unpack[JobKeys]) -> None:
        """A job with these keys of a job file. Raises `InputError` where they make no job."""
        # Each key stands on a line of its own, so that the line of an error tells which argument it is about.
        plain = {name: json_of(name, value) for name, value in plain_keys(keys).items()}
        text = "{" + " ,\n".join(f"{json.dumps(name)}: {value}" for name, value in plain.items()) + " \n}"
        try:
            self._spec = _tacita.Spec.parse(text, True)
        except InputError as error:
            raise _input(_with_argument(error.message, list(plain))) from None

    @classmethod
    def load(cls, path: Path) -> Job:
        """Reads a job file, TOML or JSON.

        Parameters
        ----------
        path : path
            The file.

        Returns
        -------
        Job
            The job.

        Raises
        ------
        InputError
            The file is no job; the message names the line.
        """
        check_path("path", path)
        return cls._of(_tacita.Spec.load(path))

    @classmethod
    def from_file(cls, path: Path) -> Job:
        """Reads a job file: `load` by another name.

        Parameters
        ----------
        path : path
            The file.

        Returns
        -------
        Job
            The job.
        """
        return cls.load(path)

    @classmethod
    def parse(cls, text: str) -> Job:
        """Reads a job from the text of a job file.

        Parameters
        ----------
        text : str
            TOML or JSON.

        Returns
        -------
        Job
            The job.

        Raises
        ------
        InputError
            The text is no job; the message names the line.
        """
        with named():
            return cls._of(_tacita.Spec.parse(text, False))

    def to_toml(self) -> str:
        """Returns the job as the text of a job file.

        Returns
        -------
        str
            The text as it was written; of arguments and JSON the same in TOML.
        """
        return self._spec.to_toml()

    def save(self, path: Path, *, overwrite: bool = False) -> None:
        """Writes a job file.

        Parameters
        ----------
        path : path
            The file: JSON where its name ends in ``.json`` and the job is of arguments or JSON, else TOML.
        overwrite : bool
            Whether a file that is there is replaced.

        Raises
        ------
        InputError
            The file is there, or cannot be written; or the job was read from TOML, and the name ends in ``.json``.
        """
        check_path("path", path)
        file = pathlib.Path(path)
        text, is_json = self._spec.text
        wants_json = file.suffix.lower() == ".json"
        if wants_json and not (is_json or text.lstrip().startswith("{")):
            raise _input(f"{file}: this job was read from TOML: give a name that ends in .toml")
        write_job_file(file, text if wants_json else self.to_toml(), overwrite)

    def __eq__(self, other: object) -> bool:
        return self._spec.same(other._spec) if isinstance(other, Job) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.agreement)

    def __reduce__(self) -> tuple[Any, tuple[str, bool]]:
        return _unpickled, self._spec.text

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
        """Says what a party will learn.

        Parameters
        ----------
        party : str
            The party.

        Returns
        -------
        list of str
            Sentences.
        """
        return self._spec.learned(party)

    def __repr__(self) -> str:
        names = ", ".join(self.parties)
        return f"Job({self.kind} {self.id!r}: {self.reveal} to {', '.join(self.reveal_to)}; parties {names})"

    def _repr_html_(self) -> str:
        rows = [(name, "<br>".join(self.learned(name))) for name in self.parties]
        return page(repr(self), table(("party", "will learn"), rows, raw=1))


def write_job_file(file: pathlib.Path, text: str, overwrite: bool) -> None:
    """Writes the text of a job file. A file that is there stays, unless `overwrite`."""
    try:
        with open(file, "w" if overwrite else "x", encoding="utf-8", newline="\n") as written:
            written.write(text if text.endswith("\n") else f"{text}\n")
    except FileExistsError:
        raise _input(f"{file}: already exists: give another name, or overwrite=True") from None
    except OSError as error:
        raise _input(f"{file}: cannot be written: {(error.strerror or str(error)).lower()}") from None


def json_of(name: str, value: Any) -> str:
    """An argument as JSON. Raises `InputError`, which names it, where JSON has no word for it."""
    try:
        return json.dumps(value, default=_plain, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise _input(f"{name}: {error}") from None


def _with_argument(message: str, names: list[str]) -> str:
    """An error of the parser with the name of the argument in place of the line."""
    place = re.search(r",? at line (\d+) column \d+$", message)
    if place is None:
        return message
    told, line = message[: place.start()], int(place[1])
    if line > len(names):
        # A key is missing, which no argument stands for.
        return told
    name = names[line - 1]
    return told if re.search(rf"\b{name}\b", told) else f"{name}: {told}"


def _unpickled(text: str, is_json: bool) -> Job:
    """The job of a text that was one."""
    return Job._of(_tacita.Spec.parse(text, is_json))


def _plain(value: Any) -> object:
    """What JSON has no word for: paths, times, and what NumPy and pandas have of their own."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"a {type(value).__qualname__} cannot be a value of a job file")


def _spec_of(job: object) -> _tacita.Spec:
    """What a job is inside; refuses what is none."""
    if not isinstance(job, Job):
        hint = f"tacita.Job.load({str(job)!r})" if isinstance(job, (str, os.PathLike)) else "tacita.Job.load(path), or tacita.Job(...)"
        raise _input(f"job: a {type(job).__name__} is not a job: give {hint}")
    return job._spec
