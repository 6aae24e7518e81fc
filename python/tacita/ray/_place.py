"""Results where the user wants them: what is kept of each bucket, until all of it is placed."""

from __future__ import annotations

import contextlib
import pathlib
import shutil
from typing import Any, Optional

from ..errors import _input
from . import _tasks

__all__ = ["number_of", "place", "remove_empty", "rows_of"]


def place(whole: dict[str, Any], target: pathlib.Path) -> Optional[pathlib.Path]:
    """Puts what a party learns where the user wants it, if that is not a number."""
    part = pathlib.Path(whole["part"])
    files = None if whole["files"] is None else pathlib.Path(whole["files"])
    if files is None:
        shutil.rmtree(part, ignore_errors=True)
        return None
    try:
        if whole["rows"]:
            for left in [*part.glob(".part-*"), *part.glob(f"{_tasks.TOLD}*")]:
                # Of a worker that was killed while it wrote; and what says which buckets were answered.
                left.unlink(missing_ok=True)
            _check_free(target)
            shutil.move(files, target)
            return target
        # The file that is asked for is the last one: where it is, all are.
        named = sorted(files.iterdir(), key=lambda file: file.name == whole["name"])
        places = [(file, target if file.name == whole["name"] else target.with_name(file.name)) for file in named]
        for _, path in places:
            _check_free(path)
        for file, path in places:
            shutil.move(file, path)
    except OSError as error:
        what = error.strerror or str(error)
        raise _input(f"output: {target} cannot be written now ({what.lower()}): the whole result is in {files}") from None
    shutil.rmtree(part, ignore_errors=True)
    return target


def _check_free(path: pathlib.Path) -> None:
    if path.exists():
        raise FileExistsError(17, "it already exists")


def remove_empty(made: list[pathlib.Path]) -> None:
    """Directories that were made for what has not come."""
    for directory in made:
        with contextlib.suppress(OSError):
            directory.rmdir()


def number_of(name: str) -> Optional[int]:
    """The bucket of a file of results that is whole."""
    stem, _, ending = name.partition(".")
    digits = stem.removeprefix("part-")
    return int(digits) if stem != digits and digits.isdigit() and ending in ("parquet", "share", "json", "pool") else None


def rows_of(path: pathlib.Path) -> int:
    """How many rows a file of Parquet has."""
    import pyarrow.parquet

    rows: int = pyarrow.parquet.read_metadata(path).num_rows
    return rows
