"""The ledger of a party: every run that it began. ``tacita ledger`` at the command line."""

from __future__ import annotations

import builtins
import json
from typing import Any, Literal, Optional, Union

from . import _tacita
from ._arguments import check_path, named, whole
from ._identity import Identity, _inner
from ._types import Path
from .errors import _input

__all__ = ["export", "list", "show", "verify"]

_FORMATS = ("json", "csv", "html")


def list(identity: Union[Identity, Path], *, directory: Optional[Path] = None) -> builtins.list[dict[str, Any]]:
    """Returns all entries of the ledger, in the order in which the runs began.

    Parameters
    ----------
    identity : Identity or path
        The party's identity, which the ledger is sealed under.
    directory : path, optional
        Directory of the ledger, in place of the identity's.

    Returns
    -------
    list of dict
        The entries, with the keys that ``tacita ledger show`` prints. ``entry["ended"]`` is None while a run is under way, or if its process was killed.

    Raises
    ------
    InputError
        There is no ledger, or an entry was changed, cut or moved.

    Examples
    --------
    >>> import pandas as pd, tacita
    >>> entries = pd.DataFrame(tacita.ledger.list("id/hospital"))  # doctest: +SKIP
    """
    entries: builtins.list[dict[str, Any]] = json.loads(_entries(identity, directory))
    return entries


def show(identity: Union[Identity, Path], entry: int, *, directory: Optional[Path] = None) -> dict[str, Any]:
    """Returns one entry of the ledger.

    Parameters
    ----------
    identity : Identity or path
        The party's identity, which the ledger is sealed under.
    entry : int
        Number of the entry, from 1 on.
    directory : path, optional
        Directory of the ledger, in place of the identity's.

    Returns
    -------
    dict
        The entry, with the keys that ``tacita ledger show`` prints.

    Raises
    ------
    InputError
        There is no such entry, there is no ledger, or an entry was changed, cut or moved.
    """
    number, entries = whole("entry", entry), list(identity, directory=directory)
    if not 1 <= number <= len(entries):
        raise _input(f"entry = {number}: the ledger holds {len(entries)}")
    return entries[number - 1]


def verify(identity: Union[Identity, Path], *, directory: Optional[Path] = None) -> str:
    """Checks that no entry was changed, cut or moved. Returns how much the ledger holds, in words.

    Parameters
    ----------
    identity : Identity or path
        The party's identity, which the ledger is sealed under.
    directory : path, optional
        Directory of the ledger, in place of the identity's.

    Returns
    -------
    str
        How much the ledger holds, in words.

    Raises
    ------
    InputError
        It is not whole; the message says where.
    """
    inner, directory = _place(identity, directory)
    with named():
        return _tacita.ledger_verify(inner, directory=directory)


def export(identity: Union[Identity, Path], format: Literal["json", "csv", "html"] = "json", *, directory: Optional[Path] = None) -> str:
    """Returns all entries as text for officers and other programs.

    Parameters
    ----------
    identity : Identity or path
        The party's identity, which the ledger is sealed under.
    format : {"json", "csv", "html"}
        Format of the text. ``html`` is a page without scripts.
    directory : path, optional
        Directory of the ledger, in place of the identity's.

    Returns
    -------
    str
        The text.

    Raises
    ------
    InputError
        There is no ledger, or an entry was changed, cut or moved.
    """
    if format not in _FORMATS:
        raise _input(f"format = {format!r}: use one of {', '.join(_FORMATS)}")
    inner, directory = _place(identity, directory)
    with named():
        return _tacita.ledger_export(inner, format, directory=directory)


def _entries(identity: Union[Identity, Path], directory: Optional[Path]) -> str:
    inner, directory = _place(identity, directory)
    with named():
        return _tacita.ledger_entries(inner, directory=directory)


def _place(identity: Union[Identity, Path], directory: Optional[Path]) -> tuple[_tacita.Identity, Optional[Path]]:
    if directory is not None:
        check_path("directory", directory)
    return _inner(identity), directory
