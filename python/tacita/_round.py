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
    """Submits a participant's reports to a round. Returns the report that ``tacita submit --report`` writes.

    What is submitted again counts once; with `resume`, what is there is not encrypted again. `timeout`, in seconds, is how long a proxy is tried, and
    `patience`
    how long to come again where it is too busy. `expand` is into how many addresses networks are expanded at most.

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
    """Collects the result of a round, for those whom `reveal_to` names. Raises `NotReadyError` while the round is open.

    `data` is the participant's own reports, among which hashed keys are looked for. The result's `save` also writes lists: ``.txt``, ``.netset``, ``.ipset``,
    ``.misp.json`` and ``.stix.json``.

    >>> import tacita
    >>> tacita.results(job, "alice", identity="id", round="2026-11-30").to_pandas()  # doctest: +SKIP
    """
    spec, owner = _spec_of(job), _inner(identity)
    with named():
        outcome = _tacita.results(spec, party, owner, round, data=data, timeout=seconds_of("timeout", timeout))
    return Result(party, outcome)
