"""A participant of a job ``aggregate``."""

from __future__ import annotations

import json
from typing import Any, Optional, Union

from . import _tacita
from ._arguments import named, seconds_of, whole
from ._identity import Identity, _inner
from ._job import Job, _spec_of
from ._progress import ShowProgress, watching
from ._result import Result
from ._types import Data, Path

__all__ = ["results", "submit"]


def submit(
    job: Job,
    party: str,
    data: Data,
    identity: Union[Identity, Path],
    round: str,
    *,
    resume: bool = False,
    batch: Optional[int] = None,
    timeout: float = 60.0,
    patience: float = 600.0,
    expand: Optional[int] = None,
    allow_unreadable: bool = False,
    allow_insecure: bool = False,
    progress: ShowProgress = None,
) -> dict[str, Any]:
    """Submits a participant's reports to a round. What is submitted again counts once.

    Parameters
    ----------
    job : Job
        A job ``aggregate``.
    party : str
        The participant's name.
    data : table
        The reports.
    identity : Identity or path
        The participant's key pair.
    round : str
        Name of the round.
    resume : bool
        Whether to go on: what is there is not encrypted again.
    batch : int, optional
        Reports in a batch.
    timeout : float
        Seconds for which a proxy is tried.
    patience : float
        Seconds for which to come again where a proxy is too busy.
    expand : int, optional
        Addresses into which networks are expanded, at most.
    allow_unreadable : bool
        Whether to go on although more than half of the keys cannot be read.
    allow_insecure : bool
        Whether to allow what the command asks ``--allow-insecure`` for.
    progress : bool or callable, optional
        A function that gets a `Progress` now and then, or whether a bar is shown.

    Returns
    -------
    dict
        The report that ``tacita submit --report`` writes.

    Raises
    ------
    Error
        The reports were not taken; the kind says whose doing that is.

    Examples
    --------
    >>> import tacita
    >>> tacita.submit(job, "alice", reports, identity="id", round="2026-11-30")  # doctest: +SKIP
    {'job': 'aggregate', ...}
    """
    spec, owner = _spec_of(job), _inner(identity)
    with watching(progress) as raw, named():
        report: dict[str, Any] = json.loads(
            _tacita.submit(
                spec,
                party,
                data,
                owner,
                round,
                resume=resume,
                batch=None if batch is None else whole("batch", batch),
                timeout=seconds_of("timeout", timeout),
                patience=seconds_of("patience", patience),
                expand=None if expand is None else whole("expand", expand),
                allow_unreadable=allow_unreadable,
                allow_insecure=allow_insecure,
                progress=raw,
            )
        )
    return report


def results(
    job: Job,
    party: str,
    identity: Union[Identity, Path],
    round: str,
    *,
    data: Optional[Data] = None,
    timeout: float = 60.0,
) -> Result:
    """Collects the result of a round, for those whom `reveal_to` names.

    Parameters
    ----------
    job : Job
        A job ``aggregate``.
    party : str
        The participant's name.
    identity : Identity or path
        The participant's key pair.
    round : str
        Name of the round.
    data : table, optional
        The participant's own reports, among which hashed keys are looked for.
    timeout : float
        Seconds for which the database is tried.

    Returns
    -------
    Result
        The keys. Its `save` also writes lists: ``.txt``, ``.netset``, ``.ipset``, ``.misp.json`` and ``.stix.json``.

    Raises
    ------
    NotReadyError
        The round is open.
    Error
        There is no result; the kind says whose doing that is.

    Examples
    --------
    >>> import tacita
    >>> tacita.results(job, "alice", identity="id", round="2026-11-30").to_pandas()  # doctest: +SKIP
    """
    spec, owner = _spec_of(job), _inner(identity)
    with named():
        outcome = _tacita.results(spec, party, owner, round, data=data, timeout=seconds_of("timeout", timeout))
    return Result(party, outcome)
