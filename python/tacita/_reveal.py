"""What a question reveals, and to whom, as values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ._arguments import ordered
from ._keys import Names
from .errors import _input

__all__ = ["Cells", "Count", "Counts", "Frequent", "Keys", "Mean", "Payload", "Reveal", "Rows", "Sum", "Value"]


@dataclass(frozen=True)
class Reveal:
    """What a question reveals, and to whom: base class of `Rows`, `Count` and the others.

    Parameters
    ----------
    to : str or sequence of str
        Names of the parties that learn the result: the key ``reveal_to`` of a job file.
    """

    to: Names = field(kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "to", _names("to", self.to, is_ordered=False))

    @property
    def word(self) -> str:
        """The value of the key ``reveal`` in a job file."""
        return type(self).__name__.lower()

    @property
    def given(self) -> Mapping[str, Sequence[str]] | None:
        """The value of the key ``gives``, where it stands here."""
        return None


@dataclass(frozen=True)
class Rows(Reveal):
    """Own rows: of `Intersect` those with a common key, of `Union` also the other party's remaining rows.

    Parameters
    ----------
    to : str or sequence of str
        Names of the parties that learn the rows.

    Examples
    --------
    >>> import tacita
    >>> tacita.Rows(to="hospital")
    Rows(to=('hospital',))
    """


@dataclass(frozen=True)
class Count(Reveal):
    """The number of distinct keys that are common, or of a union.

    Parameters
    ----------
    to : str or sequence of str
        Names of the parties that learn the number.

    Examples
    --------
    >>> import tacita
    >>> tacita.Count(to=["hospital", "insurer"]).word
    'count'
    """


@dataclass(frozen=True)
class _Given(Reveal):
    """Results that are made of given columns."""

    gives: Mapping[str, Sequence[str]] | None = field(default=None, kw_only=True)

    @property
    def given(self) -> Mapping[str, Sequence[str]] | None:
        return self.gives


@dataclass(frozen=True)
class Payload(_Given):
    """Own common rows, with the columns that others give for them.

    Parameters
    ----------
    to : str or sequence of str
        Names of the parties that learn the rows and the columns.
    gives : mapping of str to sequence of str, optional
        Columns that are given, by the party that gives them. May be an argument of the question instead.

    Examples
    --------
    >>> import tacita
    >>> tacita.Payload(to="hospital", gives={"insurer": ["payer"]})
    Payload(to=('hospital',), gives={'insurer': ['payer']})
    """


@dataclass(frozen=True)
class _OfColumns(_Given):
    """Numbers that are made of columns."""

    columns: Names = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "columns", _names("columns", self.columns))

    @property
    def word(self) -> str:
        return f"{super().word}:{','.join(self.columns)}"


@dataclass(frozen=True)
class Sum(_OfColumns):
    """The number of common keys, and the sums of given columns over the rows with those keys.

    Parameters
    ----------
    columns : str or sequence of str
        Columns that are added up.
    to : str or sequence of str
        Names of the parties that learn the numbers.
    gives : mapping of str to sequence of str, optional
        Columns that are given, by the party that gives them. May be an argument of the question instead.

    Examples
    --------
    >>> import tacita
    >>> tacita.Sum(["cost", "days"], to="hospital").word
    'sum:cost,days'
    """


@dataclass(frozen=True)
class Mean(_OfColumns):
    """As `Sum`, with the number of values and their mean.

    Parameters
    ----------
    columns : str or sequence of str
        Columns of which means are taken.
    to : str or sequence of str
        Names of the parties that learn the numbers.
    gives : mapping of str to sequence of str, optional
        Columns that are given, by the party that gives them. May be an argument of the question instead.

    Examples
    --------
    >>> import tacita
    >>> tacita.Mean("cost", to="hospital", gives={"insurer": ["cost"]}).word
    'mean:cost'
    """


@dataclass(frozen=True)
class Counts(_Given):
    """Counts: of `Intersect`, common keys by the categories of a given column; of `Rules`, also those of candidates that are not frequent.

    Parameters
    ----------
    column : str, optional
        Column with the categories, of `Intersect` alone.
    to : str or sequence of str
        Names of the parties that learn the numbers.
    gives : mapping of str to sequence of str, optional
        Columns that are given, by the party that gives them. May be an argument of the question instead.

    Examples
    --------
    >>> import tacita
    >>> tacita.Counts("payer", to="hospital").word, tacita.Counts(to=["shop", "bakery"]).word
    ('counts:payer', 'counts')
    """

    column: str | None = None

    @property
    def word(self) -> str:
        return super().word if self.column is None else f"{super().word}:{self.column}"


@dataclass(frozen=True)
class Value(Reveal):
    """The scalar product of `Dot`, or the result of `Shares`.

    Parameters
    ----------
    to : str or sequence of str
        Names of the parties that learn the value.

    Examples
    --------
    >>> import tacita
    >>> tacita.Value(to="shop").word
    'value'
    """


@dataclass(frozen=True)
class Frequent(Reveal):
    """Frequent itemsets with their counts, and rules.

    Parameters
    ----------
    to : str or sequence of str
        Names of both parties; of three and more, of any: the others learn which itemsets are frequent, by numbers of items.

    Examples
    --------
    >>> import tacita
    >>> tacita.Frequent(to=["shop", "bakery"]).word
    'frequent'
    """


@dataclass(frozen=True)
class Cells(Reveal):
    """The open cells of a `Crosstab`.

    Parameters
    ----------
    to : str or sequence of str
        Names of the parties that learn the cells.

    Examples
    --------
    >>> import tacita
    >>> tacita.Cells(to="clinic").word
    'cells'
    """


@dataclass(frozen=True)
class Keys(Reveal):
    """Keys that enough participants of `Aggregate` have reported, with their counts.

    Parameters
    ----------
    values : bool
        Whether values are revealed, too.
    histogram : bool
        Whether the number of keys with each count is revealed, too.
    to : str or sequence of str
        Names of those who get results; ``"participants"`` for all who may report.

    Examples
    --------
    >>> import tacita
    >>> tacita.Keys(to="participants", histogram=True).word
    'keys+histogram'
    """

    values: bool = field(default=False, kw_only=True)
    histogram: bool = field(default=False, kw_only=True)

    @property
    def word(self) -> str:
        return "keys" + "+values" * self.values + "+histogram" * self.histogram


def _names(what: str, names: Names, is_ordered: bool = True) -> tuple[str, ...]:
    """One name, or several, as several."""
    if isinstance(names, str):
        return (names,)
    if not isinstance(names, Iterable):
        raise _input(f"{what} = {names!r}: give a name, or a list of names")
    return tuple(ordered(what, names) if is_ordered else sorted(names) if isinstance(names, (set, frozenset)) else names)
