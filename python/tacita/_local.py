"""Questions to tables that are all in this process."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Any

from ._arguments import check_mapping
from ._inspect import Inspection, inspect
from ._job import Job
from ._plan import Plan, plan
from ._progress import ShowProgress
from ._questions import Question
from ._result import Simulation
from ._run import simulate
from ._types import Data
from .errors import _input

__all__ = ["Local", "local"]


class Local:
    """Parties whose tables are all in this process: `local` makes one."""

    def __init__(self, tables: Mapping[str, Data], network: Mapping[str, Any], options: Mapping[str, Any]) -> None:
        self._tables: dict[str, Data] | None = dict(tables)
        self._network, self._options = network, options

    @property
    def parties(self) -> list[str]:
        """Names of the parties, in their order."""
        return list(self._open())

    def ask(self, question: Question, *, progress: ShowProgress = None) -> Simulation:
        """Answers a question, as it would be answered if each party were on a machine of its own.

        Parameters
        ----------
        question : Question
            What is asked. If it names no parties, those of this session are meant, in their order.
        progress : bool or callable, optional
            A function that gets a `Progress` now and then, or whether a bar is shown: see `simulate`.

        Returns
        -------
        Simulation
            A mapping from the name of each party to its answer, a `Result`.

        Examples
        --------
        >>> import polars as pl, tacita
        >>> hospital = pl.DataFrame({"id": [3, 1, 2], "ward": ["A", "B", "C"]})
        >>> with tacita.local({"hospital": hospital, "insurer": pl.DataFrame({"id": [2, 3, 4]})}) as session:
        ...     answers = session.ask(tacita.Intersect(key=["id"], reveal=tacita.Rows(to="hospital")))
        >>> answers["hospital"].mask
        array([ True, False,  True])
        """
        tables = self._open()
        return simulate(self._job(question), tables, progress=progress, **self._network, **self._options)

    def check(self, question: Question) -> Plan:
        """Says what a question will cost, and what each party will learn. It counts the tables and sends nothing.

        Not of an `Aggregate`, of which ``tacita plan`` says it.

        Parameters
        ----------
        question : Question
            What would be asked.

        Returns
        -------
        Plan
            Protocol, bytes, seconds, warnings, and ``learned(party)``.

        Examples
        --------
        >>> import polars as pl, tacita
        >>> session = tacita.local({"a": pl.DataFrame({"id": [1, 2]}), "b": pl.DataFrame({"id": [2, 3]})})
        >>> session.check(tacita.Intersect(key=["id"], reveal=tacita.Rows(to="a"))).learned("a")[0]
        'a learns which of its own rows have a key that b has too.'
        """
        tables = self._open()
        return plan(self._job(question), tables=tables, **self._network)

    def inspect(self, question: Question) -> dict[str, Inspection]:
        """Examines each party's table: its columns, and its keys as a question would match them.

        Parameters
        ----------
        question : Question
            What would be asked.

        Returns
        -------
        dict of str to Inspection
            The findings by party, as data and as text: see `tacita.inspect`.

        Examples
        --------
        >>> import polars as pl, tacita
        >>> session = tacita.local({"a": pl.DataFrame({"id": [1, 2, 2]}), "b": pl.DataFrame({"id": [2, None]})})
        >>> found = session.inspect(tacita.Intersect(key=["id"], reveal=tacita.Rows(to="a")))
        >>> found["a"].counts["duplicates"], found["b"].counts["nulls"]
        (1, 1)
        """
        job = self._job(question)
        return {name: inspect(table, job, name) for name, table in self._open().items()}

    def close(self) -> None:
        """Lets go of the tables. Answers stay as they are."""
        self._tables = None

    def _open(self) -> dict[str, Data]:
        if self._tables is None:
            raise _input("this session is closed: make another one with tacita.local")
        return self._tables

    def _job(self, question: Question) -> Job:
        if not isinstance(question, Question):
            raise _input(f"question: a {type(question).__qualname__} is not a question: give a tacita.Intersect(...), or another question")
        return question._among(self.parties)

    def __enter__(self) -> Local:
        self._open()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Local({'closed' if self._tables is None else ', '.join(self._tables)})"


def local(
    tables: Mapping[str, Data],
    *,
    latency: float = 0.0,
    bandwidth: float | None = None,
    memory: float | None = None,
    allow_unreadable: bool = False,
    allow_insecure: bool = False,
    storage: str | None = None,
) -> Local:
    """Opens a session with parties whose tables are all in this process, to try questions before they are asked over a network.

    Each party runs on a thread with an identity of its own, over TLS on the loopback interface, and gets what it would get on a machine of its
    own. Any number of questions can be asked, one after the other.

    Parameters
    ----------
    tables : mapping of str to table
        The parties' tables by name, in the order of the parties.
    latency : float
        One way, in seconds.
    bandwidth : float, optional
        Bits a second.
    memory : float, optional
        Bytes that each party may use besides its table.
    allow_unreadable : bool
        Whether to go on although more than half of a party's keys cannot be read.
    allow_insecure : bool
        Whether to allow what the command asks ``--allow-insecure`` for.
    storage : str, optional
        Where several databases of an `Aggregate` keep rows.

    Returns
    -------
    Local
        The session, which is a context manager: at its end it lets go of the tables.

    Examples
    --------
    >>> import pandas as pd, tacita
    >>> hospital = pd.DataFrame({"id": [3, 1, 2], "ward": ["A", "B", "C"]})
    >>> insurer = pd.DataFrame({"id": [2, 3, 4], "cost": [20, 30, 40]})
    >>> with tacita.local({"hospital": hospital, "insurer": insurer}) as session:
    ...     rows = session.ask(tacita.Intersect(key=["id"], reveal=tacita.Rows(to="hospital")))
    ...     cost = session.ask(tacita.Intersect(key=["id"], reveal=tacita.Sum("cost", to="hospital", gives={"insurer": ["cost"]})))
    >>> hospital.assign(insured=rows["hospital"].mask)
       id ward  insured
    0   3    A     True
    1   1    B    False
    2   2    C     True
    >>> cost["hospital"].value
    {'count': 2, 'sum': 50}
    """
    check_mapping("tables", tables, "{'hospital': table, 'insurer': table}")
    network = {"latency": latency, "bandwidth": bandwidth}
    options = {"memory": memory, "allow_unreadable": allow_unreadable, "allow_insecure": allow_insecure, "storage": storage}
    return Local(tables, network, options)
