"""What the package takes as data."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Protocol, TypeAlias, Union, runtime_checkable

__all__ = ["ArrowArray", "ArrowStream", "Data", "Path"]


@runtime_checkable
class ArrowStream(Protocol):
    """What hands out a table through Arrow's PyCapsule interface: of pandas, polars, pyarrow, DuckDB and others."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """A stream of record batches."""
        ...


@runtime_checkable
class ArrowArray(Protocol):
    """What hands out one record batch in this way."""

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]:
        """A schema and an array."""
        ...


Path: TypeAlias = Union[str, "os.PathLike[str]"]

Data: TypeAlias = Union[ArrowStream, ArrowArray, Path, Sequence[Path], Sequence[ArrowStream]]
"""A party's data: a table in memory, the path of one, or the paths of share files."""
