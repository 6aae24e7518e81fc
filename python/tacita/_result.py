"""What comes of a run."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from . import _tacita
from ._arguments import check_path
from ._frames import DtypeBackend, Origins, join, to_pandas
from ._html import bytes_text, page, seconds_text, table
from ._types import Path
from .errors import _input

if TYPE_CHECKING:
    import numpy
    import pandas
    import polars
    import pyarrow

__all__ = ["Result", "Simulation"]

SHOWN = 10
"""Rows, and columns, that a notebook shows of a table."""

LINE = 200
"""Signs that are shown of a line, and of a cell in a notebook: a matrix can have thousands of numbers."""


class Result:
    """What a party has learned, and the report of its run.

    It is an Arrow stream itself: ``polars.DataFrame(result)`` and ``pyarrow.table(result)`` read it without a copy.

    >>> import pandas as pd, tacita
    >>> job = tacita.Job(job="intersect", id="demo", reveal_to=["a"], key={"columns": ["id"]}, parties=["a", "b"])
    >>> a = pd.DataFrame({"id": [1, 2, 3], "ward": ["A", "B", "C"]})
    >>> result = tacita.simulate(job, {"a": a, "b": pd.DataFrame({"id": [2, 3, 4]})})["a"]
    >>> result.value
    {'rows': 2}
    >>> result.to_pandas()
       id ward
    1   2    B
    2   3    C
    >>> a.assign(common=result.mask)
       id ward  common
    0   1    A   False
    1   2    B    True
    2   3    C    True
    >>> result.report["protocol"], result.learned[0]
    ('ecdh', 'a learns which of its own rows have a key that b has too.')
    """

    def __init__(self, party: str, outcome: _tacita.Outcome) -> None:
        self.party = party
        """Whose it is."""
        self._outcome = outcome
        self.report: dict[str, Any] = json.loads(outcome.report) or {}
        """The report, with the keys that ``--report`` writes. CPU time and memory are of the whole process."""
        self._made: dict[str, _tacita.ArrowTable] = {}

    @property
    def value(self) -> dict[str, Any] | None:
        """What was learned as numbers, as ``{"rows": 756}`` or ``{"count": 756, "sum": 22766}``; nothing where nothing was."""
        value: dict[str, Any] | None = self.report.get("result")
        return value

    @property
    def learned(self) -> list[str]:
        """What this party has learned, in sentences."""
        learned: list[str] = self.report.get("learned", [])
        return learned

    @property
    def warnings(self) -> list[str]:
        """What this party was warned of, as how many of its keys could not be read: ``report["warnings"]``, which has no values of tables."""
        warnings: list[str] = self.report.get("warnings", [])
        return warnings

    @property
    def table_names(self) -> list[str]:
        """The tables that there are: ``result``, with rules ``itemsets``, and of a round ``histogram`` where it is revealed. None where the party learns
        nothing."""
        return self._outcome.table_names

    @property
    def table(self) -> pyarrow.Table:
        """The rows, the rules, or the numbers as one row: a ``pyarrow.Table``. Needs pyarrow."""
        import pyarrow

        return pyarrow.table(self._stream("result"))

    @property
    def itemsets(self) -> pyarrow.Table:
        """The frequent itemsets that stand beside rules. Needs pyarrow."""
        import pyarrow

        return pyarrow.table(self._stream("itemsets"))

    @property
    def histogram(self) -> pyarrow.Table:
        """How many keys of a round were reported how often, where the job reveals it: ``measure``, ``size``, ``rows``. Needs pyarrow."""
        import pyarrow

        # In a simulation it comes from a file of text.
        types = {"measure": pyarrow.string(), "size": pyarrow.int64(), "rows": pyarrow.int64()}
        return pyarrow.table(self._stream("histogram")).cast(pyarrow.schema(types))

    def to_pandas(self, dtype_backend: DtypeBackend | None = None) -> pandas.DataFrame:
        """Returns the table for pandas. Needs pyarrow.

        Rows have the labels that they had in the frame that was given, so that what is assigned to that frame goes to the right rows. Integers stay
        integers where some are missing (``Int64``).

        Parameters
        ----------
        dtype_backend : {"numpy_nullable", "pyarrow"}, optional
            Types that know of missing values, for all columns, as of pandas' readers.

        Returns
        -------
        pandas.DataFrame
            The rows, the rules, or the numbers as one row.
        """
        origins = self._origins()
        return to_pandas(self.table, origins, dtype_backend)

    def to_polars(self) -> polars.DataFrame:
        """Returns the table for polars, without an index of pandas to which nobody gave a name. Does not need pyarrow.

        Returns
        -------
        polars.DataFrame
            The rows, the rules, or the numbers as one row.
        """
        import polars

        frame = polars.DataFrame(self._stream("result"))
        return frame.drop([name for name in frame.columns if re.fullmatch(r"__index_level_\d+__", name)])

    @property
    def positions(self) -> numpy.ndarray[Any, Any]:
        """Which own row each row of the result was made of, from 0 on: ``frame.iloc[result.positions]``. Needs NumPy.

        Raises `InputError` where the result has no own rows, or others' beside them, as that of a job ``union``.
        """
        positions: numpy.ndarray[Any, Any] = self._origin_rows().positions
        return positions

    @property
    def mask(self) -> numpy.ndarray[Any, Any]:
        """Of each own row, in the order in which they were given, whether it is in the result: ``frame[result.mask]``. Needs NumPy."""
        import numpy

        origins = self._origin_rows()
        found = numpy.zeros(origins.rows, dtype=bool)
        found[origins.positions] = True
        return found

    def join(self, frame: Any) -> Any:
        """Returns the rows of a table that are in the result, with the columns that others gave beside them. Needs NumPy, and pyarrow where others gave
        columns.

        Parameters
        ----------
        frame : table
            The table that was given to the run, or one with its rows in their order and other columns: of pandas, polars or pyarrow.

        Returns
        -------
        table
            A table of the same library, in the result's order; of pandas with its labels.

        Raises
        ------
        InputError
            The result has rows of others, as that of a job ``union``; or the table has another number of rows.

        Examples
        --------
        >>> import pandas as pd, tacita
        >>> job = tacita.Job(
        ...     job="intersect", id="demo", reveal="payload", reveal_to=["a"], gives={"b": ["x"]}, key={"columns": ["id"]}, parties=["a", "b"]
        ... )
        >>> a = pd.DataFrame({"id": ["k", "l", "m"], "note": ["one", "two", "three"]}, index=[10, 11, 12])
        >>> b = pd.DataFrame({"id": ["m", "k"], "x": [7, 8]})
        >>> tacita.simulate(job, {"a": a[["id"]], "b": b})["a"].join(a)
           id   note  b.x
        10  k    one    8
        12  m  three    7
        """
        origins = self._origin_rows()
        table = None
        own = self._outcome.own_columns
        if len(self._stream("result").column_names) > own:
            table = self.table.select(self._stream("result").column_names[own:]).replace_schema_metadata()
        return join(frame, origins, table)

    def _origins(self) -> Origins | None:
        found = self._outcome.positions()
        if found is None:
            return None
        import numpy

        numbers, rows, labels = found
        return Origins(numpy.frombuffer(numbers, dtype=numpy.uint32).astype(numpy.int64), rows, labels)

    def _origin_rows(self) -> Origins:
        origins = self._origins()
        if origins is None:
            raise _input(f"{self.party}: this result has rows of other parties, too, and so no positions among own rows")
        return origins

    def save(self, path: Path) -> None:
        """Writes the result as ``--output`` does. Itemsets stand beside rules, and a share is for its owner's eyes only.

        Parameters
        ----------
        path : path
            The file: CSV, Parquet, Arrow or JSON by its ending.

        Raises
        ------
        InputError
            The file cannot be written, or its ending is not known.
        """
        check_path("path", path)
        self._outcome.save(path)

    def _stream(self, name: str) -> _tacita.ArrowTable:
        if name not in self._made:
            made = self._outcome.table(name)
            if made is None:
                has = ", ".join(self.table_names) or "none: it learns nothing, or has a share, which save() writes"
                raise _input(f"{self.party} has no table called {name!r}; it has {has}")
            self._made[name] = made
        return self._made[name]

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._stream("result").__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        line = self._outcome.line or "learns nothing"
        return f"Result({self.party}: {line if len(line) <= LINE else line[: LINE - 3] + '...'})"

    def _repr_html_(self) -> str:
        bytes_, seconds = self.report.get("bytes", {}), self.report.get("seconds", {})
        facts = [
            ("protocol", self.report.get("choice", self.report.get("protocol", ""))),
            ("sent, received", f"{bytes_text(bytes_.get('sent', 0))}, {bytes_text(bytes_.get('received', 0))}"),
            ("time", seconds_text(seconds.get("total", 0))),
            ("learned", "<br>".join(self.learned)),
        ]
        shown = ""
        if "result" in self.table_names:
            try:
                head = self.table.slice(0, SHOWN).to_pandas()
                shown = head.map(_short).to_html(index=False, max_cols=SHOWN)
            except ImportError:
                shown = ""
        return page(repr(self), shown, table(("", ""), facts, raw=1))


def _short(cell: object) -> object:
    return cell[: LINE - 3] + "..." if isinstance(cell, str) and len(cell) > LINE else cell


class Simulation(Mapping[str, Result]):
    """What came of a simulation, by party.

    >>> import pyarrow as pa, tacita
    >>> job = tacita.Job(job="dot", id="demo", reveal_to=["a", "b"], column="value", bits=8, parties=["a", "b"])
    >>> result = tacita.simulate(job, {"a": pa.table({"value": [1, 2, 3]}), "b": pa.table({"value": [4, 5, 6]})})
    >>> result["a"].value, list(result)
    ({'value': 32}, ['a', 'b'])
    >>> result.report["job"]
    'dot'
    """

    def __init__(self, job: _tacita.Spec, outcomes: dict[str, _tacita.Outcome], report: str) -> None:
        order = [name for name in job.parties if name in outcomes]
        order += [name for name in outcomes if name not in order]
        self._results = {name: Result(name, outcomes[name]) for name in order}
        self.report: dict[str, Any] = json.loads(report)
        """The reports of all, with the keys that ``tacita simulate --report`` writes."""

    def __getitem__(self, party: str) -> Result:
        return self._results[party]

    def __iter__(self) -> Iterator[str]:
        return iter(self._results)

    def __len__(self) -> int:
        return len(self._results)

    def __repr__(self) -> str:
        return f"Simulation({', '.join(repr(result)[7:-1] for result in self.values())})"

    def _repr_html_(self) -> str:
        return "".join(result._repr_html_() for result in self.values())
