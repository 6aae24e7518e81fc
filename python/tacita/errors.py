"""What can end a job, told apart by whose doing it is: the errors of the command line, with the same fields."""

from __future__ import annotations

__all__ = [
    "AuthenticationError",
    "Error",
    "InputError",
    "InternalError",
    "NetworkError",
    "NotReadyError",
    "ProtocolError",
    "TermsError",
]


class Error(Exception):
    """Why a job has ended. An interruption is a ``KeyboardInterrupt``, and none of these.

    >>> import tacita
    >>> try:
    ...     tacita.Job(job="intersect")
    ... except tacita.Error as error:
    ...     print(error.kind, error.code, error)
    input 2 missing key `id`
    """

    kind: str
    """``input``, ``terms``, ``network``, ``protocol``, ``authentication``, ``not-ready`` or ``internal``."""

    code: int
    """The exit code of the command in this case."""

    message: str
    """What happened, where, and what to do, in one line."""

    peer: str | None
    """The party at the other end that it is about, if it is about one."""

    party: str | None
    """The party at which it began, in a simulation."""

    _ended_there = False
    """Whether the peer has ended it for a reason of its own, or it failed too often: nobody waits for it to pass."""

    _told = False
    """Whether a bucket in which it was raised had been answered."""

    def __init__(
        self, message: str, kind: str = "internal", code: int = 70, peer: str | None = None, party: str | None = None
    ) -> None:
        super().__init__(message)
        self.message, self.kind, self.code, self.peer, self.party = message, kind, code, peer, party

    def __reduce__(self) -> tuple[type[Error], tuple[str, str, int, str | None, str | None], dict[str, bool]]:
        told = (self.message, self.kind, self.code, self.peer, self.party)
        return type(self), told, {"_ended_there": self._ended_there, "_told": self._told}


class InputError(Error):
    """This party's own data, job or arguments are at fault."""


class TermsError(Error):
    """The parties did not agree on the terms of the job."""


class NetworkError(Error):
    """The network failed, or the peer went away."""


class ProtocolError(Error):
    """The peer broke the protocol."""


class AuthenticationError(ProtocolError):
    """The peer did not prove that it is who the job says it is."""


class NotReadyError(Error):
    """The answer is not there yet: ask again later."""


class InternalError(Error):
    """A fault of Tacita's own."""


_KINDS: dict[str, type[Error]] = {
    "input": InputError,
    "terms": TermsError,
    "network": NetworkError,
    "protocol": ProtocolError,
    "authentication": AuthenticationError,
    "not-ready": NotReadyError,
}


def _made(kind: str, code: int, message: str, peer: str | None, party: str | None) -> Error:
    """The exception for an error of the library."""
    return _KINDS.get(kind, InternalError)(message, kind, code, peer, party)


def _input(message: str) -> InputError:
    """An error in the user's own arguments."""
    return InputError(message, "input", 2)
