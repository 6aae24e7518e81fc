"""Two organisations, and the jobs that they run together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Optional, Union

from .._arguments import ordered
from .._identity import Identity
from .._job import Job
from .._result import Result
from .._run import run, simulate
from .._types import Path
from ..errors import _input

if TYPE_CHECKING:
    import pandas
    import pyarrow

__all__ = ["Alignment", "Parties", "Tell"]

Alignment = Literal["hidden", "rows"]
"""Whether common rows are hidden from both parties, or shown to both: as the key of job files."""

Tell = Optional[Callable[[str], object]]
"""Who is told what will be learned, a sentence at a time: `print`, unless another function is given; nobody, if ``None``."""

Categories = Mapping[str, Mapping[str, Sequence[object]]]
"""By party and column, the values that there may be. Both parties know them."""


NOTHING_COMMON = "no row is common: compare how keys are written, and see normalize"


class Parties:
    """Two organisations with a table each: both in this process, or one here and one elsewhere.

    A column is named with its party in front: ``bank.owns``. Both parties of a real run call the same functions in the same order, each on its own machine;
    who does not learn an answer gets ``None``.
    """

    def __init__(
        self,
        tables: Mapping[str, pandas.DataFrame],
        parties: Mapping[str, Mapping[str, Any]],
        *,
        identity: Optional[Union[Identity, Path]] = None,
        categories: Optional[Categories] = None,
        tell: Tell = print,
        options: Optional[Mapping[str, Any]] = None,
    ) -> None:
        """Use `simulated` or `connected`."""
        if len(parties) != 2:
            raise _input(f"there are two parties, and not {len(parties)}")
        for name, table in tables.items():
            if not hasattr(table, "iloc") or not hasattr(table, "columns"):
                raise _input(f"{name}: a {type(table).__module__}.{type(table).__qualname__} is no pandas.DataFrame")
            if not table.columns.is_unique:
                twice = table.columns[table.columns.duplicated()][0]
                raise _input(f"{name}: two columns are called {twice!r}: give one of them another name")
        self.tables = dict(tables)
        """The tables that are here, by party."""
        self.names = list(parties)
        """The two, in their order."""
        self._parties, self._identity = {name: dict(own) for name, own in parties.items()}, identity
        self._categories: Categories = categories or {}
        self._tell, self._options, self._runs = tell, dict(options or {}), 0
        # Keys of jobs that align rows and hide which are common.
        self._alignment: dict[str, Any] = {}
        self.common: Optional[int] = None
        """Where common rows are hidden: how many there are, as the last run has told."""

    @classmethod
    def simulated(
        cls,
        tables: Mapping[str, pandas.DataFrame],
        *,
        parties: Optional[Mapping[str, Mapping[str, Any]]] = None,
        categories: Optional[Categories] = None,
        tell: Tell = print,
        **options: Any,
    ) -> Parties:
        """Both parties in this process, as `tacita.simulate` runs them, whose `options` there are.

        `parties` says what a party's own key columns are called and how they are normalised, as in a job file. `categories` are the values that columns may
        have; of columns that are not there, they are those that they have.
        """
        return cls(
            tables,
            {name: (parties or {}).get(name, {}) for name in tables},
            categories=categories,
            tell=tell,
            options=options,
        )

    @classmethod
    def connected(
        cls,
        me: str,
        table: pandas.DataFrame,
        identity: Union[Identity, Path],
        parties: Mapping[str, Mapping[str, Any]],
        *,
        categories: Categories,
        tell: Tell = print,
        **options: Any,
    ) -> Parties:
        """One of the parties, with the other elsewhere, as `tacita.run` runs it, whose `options` there are.

        `parties` are both, with `address` and `identity` as in a job file; `categories` are the values that columns may have, of both parties.

        >>> parties = learn.Parties.connected(  # doctest: +SKIP
        ...     "bank", table, "id/bank",
        ...     {"bank": {"address": "bank.example:7400", "identity": "SHA256:..."}, "shop": {"identity": "SHA256:..."}},
        ...     categories={"bank": {"owns": ["flat", "house"]}, "shop": {"buys": ["no", "yes"]}},
        ... )
        """
        if me not in parties:
            raise _input(f"{me!r} is none of the parties: {', '.join(parties)}")
        return cls({me: table}, parties, identity=identity, categories=categories, tell=tell, options=options)

    def align(
        self, key: Sequence[str], *, normalize: Optional[Sequence[str]] = None, alignment: Alignment = "hidden"
    ) -> Parties:
        """The parties with their rows aligned by key columns, so that what follows is of the rows that both have. Each row needs a key of its own.

        Common rows are **hidden** if nothing is said: nothing runs yet, and each call that follows aligns the rows anew. Both learn how many rows are
        common, and not which.

        With ``alignment="rows"``, a private intersection finds the common rows once, and **both learn which of their rows the other has too**. Nothing of
        the other rows is learned, but how many there are. What works on single rows needs it: `correlation`, and `CategoricalNB.predict` of both parties'
        rows.
        """
        if alignment not in ("hidden", "rows"):
            raise _input(f"alignment = {alignment!r}: use 'hidden' or 'rows'")
        columns = ordered("key", [key] if isinstance(key, str) else key)
        job: dict[str, Any] = {"columns": columns}
        if normalize is not None:
            job["normalize"] = ordered("normalize", [normalize] if isinstance(normalize, str) else normalize)
        if alignment == "hidden":
            for party, table in self.tables.items():
                self._key_columns(party, table, columns)
            made = self.with_tables(self.tables)
            made._alignment = {"alignment": "hidden", "row_id": columns, "key": job}
            return made
        keys = {"job": "intersect", "key": {**job, "duplicates": "error"}, "reveal": "rows", "reveal_to": self.names}
        results = self.run("align", keys, self.tables, mapped=True)
        tables = {name: result.to_pandas().reset_index(drop=True) for name, result in results.items()}
        if not all(map(len, tables.values())):
            raise _input(NOTHING_COMMON)
        made = self.with_tables(tables)
        made._alignment = {}
        return made

    @property
    def hidden(self) -> bool:
        """Whether it is hidden which rows are common."""
        return bool(self._alignment)

    def need_rows(self, what: str) -> None:
        """Refuses what works on common rows, where these are hidden."""
        if self.hidden:
            raise _input(
                f'{what} needs the common rows, and they are hidden: align with alignment="rows", which shows both parties which they are'
            )

    def given(self, party: str, columns: Mapping[str, Any]) -> pyarrow.Table:
        """Returns the table that a party gives to a job: columns, and those by which rows are aligned."""
        import pyarrow

        given = pyarrow.table(dict(columns))
        for name, own in zip(names := self._alignment.get("row_id", []), self._key_columns(party, self.tables[party], names)):
            if name in columns:
                raise _input(f"{party}: a column of the key cannot be called {name!r} here: give it another name")
            try:
                given = given.append_column(name, pyarrow.array(self.tables[party][own], from_pandas=True))
            except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError):
                raise _input(f"{party}: {own} has values of several types: make them all text") from None
        return given

    def _key_columns(self, party: str, table: pandas.DataFrame, key: Sequence[str]) -> list[str]:
        """Returns the names of the key columns in a party's own table."""
        called = self._parties[party].get("columns", {})
        own = [called.get(name, name) for name in key]
        missing = next((name for name in own if name not in table), None)
        if missing is not None:
            raise _input(f"{party} has no column {missing!r}: it has {', '.join(map(str, table.columns))}")
        return own

    def with_tables(self, tables: Mapping[str, pandas.DataFrame], categories: Optional[Categories] = None) -> Parties:
        """The same parties with other tables; and with other `categories`, if there are any."""
        made = Parties(
            tables,
            self._parties,
            identity=self._identity,
            categories=self._categories if categories is None else categories,
            tell=self._tell,
            options=self._options,
        )
        made._runs, made._alignment = self._runs, self._alignment
        return made

    def here(self, party: str) -> bool:
        """Whether a party's table is here."""
        return party in self.tables

    def peer(self, party: str) -> str:
        """The other one."""
        return self.names[1 - self.names.index(party)]

    def rows(self) -> int:
        """How many rows the tables have that are here."""
        return len(next(iter(self.tables.values())))

    def column(self, reference: str) -> tuple[str, str]:
        """The party and the column that are meant by ``bank.owns``."""
        party, _, column = reference.partition(".")
        if party not in self.names or not column:
            raise _input(
                f"{reference!r}: name a column with its party in front, as {self.names[0]}.COLUMN; the parties are {' and '.join(self.names)}"
            )
        if self.here(party) and column not in self.tables[party]:
            raise _input(f"{party} has no column {column!r}: it has {', '.join(map(str, self.tables[party].columns))}")
        return party, column

    def categories(self, party: str, column: str) -> list[object]:
        """The values that a column may have: as agreed, or else, in a simulation, those that it has."""
        agreed = self.agreed(party, column)
        if agreed is not None:
            return list(agreed)
        if not all(map(self.here, self.names)):
            raise _input(
                f"which values may {party}.{column} have? Both parties have to say: categories={{{party!r}: {{{column!r}: [...]}}}}"
            )
        return sorted_values(party, column, self.tables[party][column])

    def agreed(self, party: str, column: str) -> Optional[Sequence[object]]:
        """The values that a column may have, if that was said."""
        return self._categories.get(party, {}).get(column)

    def tell(self, *sentences: str) -> None:
        """Says what a party will learn, before it does."""
        for sentence in sentences if self._tell else ():
            assert self._tell is not None
            self._tell(sentence)

    def run(
        self, what: str, keys: Mapping[str, Any], tables: Mapping[str, Any], *, mapped: bool = False, more: bool = False
    ) -> dict[str, Result]:
        """Runs a job, and says before what each learns by it, unless it is `more` of the job before. The results of the parties that are here."""
        self._runs += 1
        # What a party's own table calls a column is no matter of jobs over columns that are made here.
        kept = ("address", "identity", *(["columns"] if mapped else []), *(["normalize"] if mapped or self.hidden else []))
        parties = {
            name: {key: value for key, value in own.items() if key in kept} for name, own in self._parties.items()
        }
        job = Job(id=f"learn-{what}-{self._runs}", parties=parties, **keys)
        if not more:
            self.tell(*(sentence for name in self.names for sentence in job.learned(name)))
        if self._identity is None:
            return dict(simulate(job, tables, **self._options))
        me = next(iter(self.tables))
        return {me: run(job, me, tables[me], self._identity, **{"tell": False, **self._options})}

    def run_on_rows(
        self, what: str, keys: Mapping[str, Any], columns: Mapping[str, Mapping[str, Any]], *, more: bool = False
    ) -> dict[str, Result]:
        """Runs a job over rows that both parties have, on columns by party and name."""
        tables = {party: self.given(party, own) for party, own in columns.items()}
        results = self.run(what, {**keys, **self._alignment}, tables, more=more)
        if self.hidden:
            self.common = next(iter(results.values())).report["rows"]["common"]
        return results


def sorted_values(party: str, column: str, cells: Any) -> list[object]:
    """The values of a column."""
    try:
        return sorted(cells.dropna().unique().tolist())
    except TypeError:
        raise _input(
            f"{party}: {column} has values that cannot be sorted: make them all text, or say which there may be, in categories"
        ) from None
