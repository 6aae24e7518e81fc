"""A party's table as it is given: its parts, in their order, and the columns that all of them have."""

from __future__ import annotations

import os
import pathlib
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Union

import pyarrow

from .._types import Path
from ..errors import _input
from ._arguments import refuse_url

if TYPE_CHECKING:
    import ray.data

__all__ = ["Data", "pieces_of", "together"]

KEY = "tacita: key"
"""The column of keys, which is no column of the user's."""

ENDINGS = (".parquet", ".arrow", ".ipc", ".feather", ".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz")
"""Of files in a directory, those that are tables."""

Data = Union[Path, Sequence[Any], "ray.data.Dataset"]
"""A directory of tables, a file, a list of files or tables, or a Ray dataset."""


def pieces_of(data: Data) -> list[Any]:
    """The parts in which a table is read, in an order that is always the same."""
    for one in [data] if isinstance(data, str) else data if isinstance(data, (list, tuple)) else ():
        refuse_url("data", one, "give a Ray dataset of it, as ray.data.read_parquet reads it")
    if isinstance(data, (str, os.PathLike)):
        return _files_of(pathlib.Path(data).absolute())
    if hasattr(data, "to_arrow_refs"):
        pieces = _blocks_of(data)
    elif isinstance(data, Iterable) and not hasattr(data, "__arrow_c_stream__"):
        pieces = [str(pathlib.Path(one).absolute()) if isinstance(one, (str, os.PathLike)) else one for one in data]
    else:
        pieces = [data]
    if not pieces:
        raise _input("data: no file and no table was given")
    # What can be read once alone does not travel.
    return [piece.read_all() if isinstance(piece, pyarrow.RecordBatchReader) else piece for piece in pieces]


def _files_of(path: pathlib.Path) -> list[str]:
    if not path.is_dir():
        return [str(path)]
    files = sorted((file for file in path.rglob("*") if file.is_file() and not _hidden(file.relative_to(path))), key=_by_name)
    found = [file for file in files if file.name.lower().endswith(ENDINGS)]
    if not found:
        raise _input(f"data: {path} has no file that ends with {', '.join(ENDINGS)}")
    if len(found) < len(files):
        # Without it, rows may be missing and nobody would know.
        first = next(file for file in files if file not in found)
        raise _input(f"data: {first} does not have the ending of a table ({', '.join(ENDINGS)}): move it elsewhere, or list the files that are tables")
    return [str(file) for file in found]


def _by_name(file: pathlib.Path) -> list[tuple[int, str]]:
    """Numbers in names are in the order of numbers: part-2 comes before part-10."""
    return [(int(one), one) if one.isascii() and one.isdigit() else (-1, one) for one in re.split(r"([0-9]+)", str(file))]


def _hidden(path: pathlib.Path) -> bool:
    """What other programs leave beside tables."""
    return any(part.startswith((".", "_")) for part in path.parts) or path.suffix == ".crc"


def _blocks_of(dataset: Any) -> list[Any]:
    """The blocks of a Ray dataset, in its own order and not in that in which they are ready."""
    options = dataset.context.execution_options
    before = options.preserve_order
    options.preserve_order = True
    try:
        return list(dataset.to_arrow_refs())
    finally:
        options.preserve_order = before


def together(pieces: Sequence[Any], schemas: Sequence[pyarrow.Schema]) -> pyarrow.Schema:
    """The columns of all parts of a table: where one has only nulls, or shorter numbers, they are as those of the others. Refuses parts that do not go together."""
    name = [str(piece) if isinstance(piece, str) else f"part {place} of the data" for place, piece in enumerate(pieces, 1)]
    whole = schemas[0]
    for place, own in enumerate(schemas):
        if own.names != whole.names:
            raise _input(f"data: {name[0]} and {name[place]} do not have the same columns: {_first_that_differs(whole, own)}; write them alike")
        for column, (one, other) in enumerate(zip(whole.types, own.types)):
            if one == other:
                continue
            wider = _wider(one, other)
            if wider is None:
                what = f"{own.names[column]} ({one}) and {own.names[column]} ({other})"
                raise _input(f"data: {name[0]} and {name[place]} do not have the same columns: {what}; write them alike")
            # What the field says besides stays: whether the column is one of the job's.
            whole = whole.set(column, whole.field(column).with_type(wider).with_nullable(True))
    return whole


def _first_that_differs(one: pyarrow.Schema, other: pyarrow.Schema) -> str:
    pairs = zip(*([*(name for name in schema.names if name != KEY), None] for schema in (one, other)))
    first, second = next((pair for pair in pairs if pair[0] != pair[1]), (None, None))
    return f"{first or 'nothing'} and {second or 'nothing'} at the same place"


def _wider(one: pyarrow.DataType, other: pyarrow.DataType) -> pyarrow.DataType | None:
    """The type that holds both without changing a value."""
    types = pyarrow.types
    if types.is_null(one) or types.is_null(other):
        return other if types.is_null(one) else one
    for small, large in ((types.is_string, types.is_large_string), (types.is_binary, types.is_large_binary)):
        if small(one) and large(other) or large(one) and small(other):
            return other if large(other) else one
    for kind in (types.is_signed_integer, types.is_unsigned_integer):
        if kind(one) and kind(other):
            return one if one.bit_width > other.bit_width else other
    return None
