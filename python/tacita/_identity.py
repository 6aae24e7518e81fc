"""Key pairs."""

from __future__ import annotations

import os
from typing import Union

from . import _tacita
from ._arguments import check_path, named
from ._types import Path
from .errors import _input

__all__ = ["Identity"]


class Identity:
    """A party's key pair, kept in a directory that only its owner can read.

    >>> import tempfile, tacita
    >>> identity = tacita.Identity.create(tempfile.mkdtemp() + "/id", "hospital")
    >>> identity.fingerprint[:7]
    'SHA256:'
    """

    def __init__(self, directory: Path) -> None:
        """Reads the identity in `directory`, as ``tacita identity new`` has made it."""
        check_path("directory", directory)
        self._inner = _tacita.Identity.load(directory)

    @classmethod
    def create(cls, directory: Path, name: str = "tacita") -> Identity:
        """Makes a new identity. A key that is already there stays, and is an error.

        Parameters
        ----------
        directory : path
            Directory for the key pair, which only its owner can read.
        name : str
            Name in the certificate.

        Returns
        -------
        Identity
            The identity.

        Raises
        ------
        InputError
            There is a key already, or the directory cannot be written.
        """
        check_path("directory", directory)
        with named():
            _tacita.Identity.create(directory, name)
        return cls(directory)

    @classmethod
    def load(cls, directory: Path) -> Identity:
        """Reads an identity, as ``Identity(directory)`` does.

        Parameters
        ----------
        directory : path
            Directory of the key pair.

        Returns
        -------
        Identity
            The identity.

        Raises
        ------
        InputError
            There is none, or it cannot be read.
        """
        return cls(directory)

    @property
    def fingerprint(self) -> str:
        """The fingerprint of its public key, which the others' job file names."""
        return self._inner.fingerprint

    def __repr__(self) -> str:
        return f"Identity({self.fingerprint})"


def _inner(identity: Union[Identity, Path]) -> _tacita.Identity:
    if not isinstance(identity, (Identity, str, os.PathLike)):
        raise _input(f"identity = {identity!r}: give a tacita.Identity, or its directory")
    return (identity if isinstance(identity, Identity) else Identity(identity))._inner
