"""Results beside the tables that they are of: own labels, own rows, digits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Optional

from .errors import _input

if TYPE_CHECKING:
    import pandas
    import pyarrow

__all__ = ["DtypeBackend", "Origins", "join", "to_pandas"]

DtypeBackend = Literal["numpy_nullable", "pyarrow"]
"""As pandas' readers have it."""


class Origins(NamedTuple):
    """Which own row each row of a result was made of."""

    positions: Any
    """Of each row of the result, an array of NumPy: from 0 on."""
    rows: int
    """How many own rows there are."""
    labels: Optional[tuple[int, int, Optional[str]]]
    """The first label, the step and the name of a range of numbers that labels the own rows."""

    def frame_index(self) -> Optional[pandas.Index]:
        """Their labels, where those are a range of numbers: other ones stand in columns."""
        if self.labels is None:
            return None
        import pandas

        start, step, name = self.labels
        return pandas.Index(start + step * self.positions, name=name)


def to_pandas(table: pyarrow.Table, origins: Optional[Origins], backend: Optional[DtypeBackend]) -> pandas.DataFrame:
    """The table as a frame, with the labels that its rows have in the frame that they are of."""
    import pandas

    if backend not in (None, "numpy_nullable", "pyarrow"):
        raise _input(f"dtype_backend = {backend!r}: use 'numpy_nullable' or 'pyarrow', or leave it out")
    if backend == "pyarrow":
        frame = table.to_pandas(types_mapper=pandas.ArrowDtype)
    elif backend == "numpy_nullable":
        frame = table.to_pandas(types_mapper=_nullable().get)
    else:
        frame = _exact(table)
    index = None if origins is None else origins.frame_index()
    return frame if index is None else frame.set_axis(index)


def _exact(table: pyarrow.Table) -> pandas.DataFrame:
    """As pyarrow has it, but that integers stay integers where some are missing: floating-point numbers have too few digits for them."""
    import pyarrow

    frame = table.to_pandas()
    nullable = _nullable()
    names = [str(name) for name in frame.columns]
    for place, field in enumerate(table.schema):
        column = table.column(place)
        if not pyarrow.types.is_integer(field.type) or column.null_count == 0 or names.count(field.name) != 1:
            continue
        at = names.index(field.name)
        if frame.dtypes.iloc[at].kind == "f":
            values = column.to_pandas(types_mapper=nullable.get)
            frame.isetitem(at, values.set_axis(frame.index))
    return frame


def _nullable() -> dict[Any, Any]:
    """The types of pandas that know of missing values, by those of Arrow."""
    import pandas
    import pyarrow

    whole = {getattr(pyarrow, name.lower())(): getattr(pandas, f"{name}Dtype")() for name in _WHOLE}
    return whole | {
        pyarrow.float32(): pandas.Float32Dtype(),
        pyarrow.float64(): pandas.Float64Dtype(),
        pyarrow.bool_(): pandas.BooleanDtype(),
        pyarrow.string(): pandas.StringDtype(),
        pyarrow.large_string(): pandas.StringDtype(),
        pyarrow.string_view(): pandas.StringDtype(),
    }


_WHOLE = ("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64")


def join(frame: Any, origins: Origins, given: pyarrow.Table | None) -> Any:
    """The rows of `frame`, of pandas, polars or pyarrow, that a result is of, with the columns that others gave beside them."""
    kind = type(frame).__module__.partition(".")[0]
    if kind not in ("pandas", "polars", "pyarrow") or not hasattr(frame, "columns"):
        raise _input(f"frame: a {type(frame).__qualname__} is not a table: give the one that was given to the run, of pandas, polars or pyarrow")
    if len(frame) != origins.rows:
        raise _input(f"frame: it has {len(frame):,} rows, and the table of the run had {origins.rows:,}: give that table, or one with its rows in their order")
    _check_names([str(name) for name in (frame.column_names if kind == "pyarrow" else frame.columns)], given)
    if kind == "pandas":
        mine = frame.iloc[origins.positions]
        return mine if given is None else mine.assign(**{name: column.array for name, column in _exact(given).items()})
    if kind == "polars":
        import polars

        mine = frame[origins.positions]
        return mine if given is None else mine.hstack(polars.DataFrame(given))
    import pyarrow

    mine = frame.take(pyarrow.array(origins.positions))
    if given is not None:
        for field, column in zip(given.schema, given.columns):
            mine = mine.append_column(field, column)
    return mine


def _check_names(own: Sequence[str], given: pyarrow.Table | None) -> None:
    twice = next((name for name in (given.column_names if given is not None else ()) if name in own), None)
    if twice is not None:
        raise _input(f"frame: it has a column {twice!r}, as the one that was given: rename it, or leave it out")
