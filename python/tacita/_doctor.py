"""Checks of what a party needs before a run. ``tacita doctor`` at the command line."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, Optional, Union

from . import _tacita
from ._arguments import check_path, named, seconds_of
from ._html import page, table
from ._identity import Identity
from ._job import Job, _spec_of
from ._questions import Question
from ._types import Data, Path
from .errors import _input

__all__ = ["Diagnosis", "Finding", "doctor"]


@dataclass(frozen=True)
class Finding:
    """A finding of `doctor`."""

    state: Literal["ok", "note", "mend"]
    """``ok``; ``note``, which is worth knowing; or ``mend``, without which a run would fail."""

    subject: str
    """Subject of the check, as ``identity``, ``network`` or ``clock``."""

    text: str
    """What was found, and what to do about it."""

    def __str__(self) -> str:
        return f"{'MEND' if self.state == 'mend' else self.state:<4}  {self.subject:<10} {self.text}"


@dataclass(frozen=True, repr=False)
class Diagnosis:
    """Findings on what a party needs before a run: `doctor` makes one. It is true if nothing is to be mended."""

    findings: tuple[Finding, ...]
    """All findings, in the order of the checks."""

    @property
    def to_mend(self) -> list[Finding]:
        """Findings without which a run would fail."""
        return [finding for finding in self.findings if finding.state == "mend"]

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __len__(self) -> int:
        return len(self.findings)

    def __bool__(self) -> bool:
        return not self.to_mend

    def __repr__(self) -> str:
        number = len(self.to_mend)
        last = f"{number} thing{'' if number == 1 else 's'} to mend." if number else "Nothing to mend."
        return "\n".join([*map(str, self.findings), "", last])

    def _repr_html_(self) -> str:
        rows = [(finding.state, finding.subject, finding.text) for finding in self.findings]
        return page("Nothing to mend" if self else f"{len(self.to_mend)} to mend", table(("", "subject", "found"), rows))


def doctor(
    job: Union[Job, Question, Path],
    party: str,
    identity: Union[Identity, Path],
    *,
    data: Optional[Data] = None,
    listen: Optional[str] = None,
    output: Optional[Path] = None,
    overwrite: bool = False,
    meet: bool = False,
    timeout: float = 60.0,
) -> Diagnosis:
    """Checks what a party needs before a run: job, identity, addresses, clock and table. No data is sent, and Ctrl-C ends it.

    Parameters
    ----------
    job : Job, Question or path
        The job, a question that names its parties, or a job file. A file that cannot be read is a finding.
    party : str
        The party that is examined; in an aggregation a participant, or ``proxy``, ``oracle`` or ``database``.
    identity : Identity or path
        The party's identity, or its directory. One that cannot be read is a finding.
    data : table, optional
        The party's table, in memory or a file.
    listen : str, optional
        Where the party listens, in place of its address in the job.
    output : path, optional
        A file for the result: whether it can be written, and has room.
    overwrite : bool
        Whether that file may be there already.
    meet : bool
        Whether to connect to the peers, each of which does the same at the same time, and to compare clocks, versions and terms.
    timeout : float
        Seconds for which the peers are waited for, with `meet`.

    Returns
    -------
    Diagnosis
        The findings, each with its state and advice. It is true if nothing is to be mended.

    Raises
    ------
    InputError
        An argument is none of these.

    Examples
    --------
    >>> import pandas as pd, tempfile, tacita
    >>> work = tempfile.mkdtemp()
    >>> ids = {name: tacita.Identity.create(f"{work}/{name}", name) for name in ("hospital", "insurer")}
    >>> parties = {"hospital": {"address": "127.0.0.1:0"}, "insurer": {"identity": ids["insurer"].fingerprint}}
    >>> question = tacita.Intersect(key=["id"], reveal=tacita.Rows(to="hospital"), parties=parties)
    >>> found = tacita.doctor(question, "hospital", ids["hospital"], data=pd.DataFrame({"id": [1, 2]}))
    >>> bool(found), [(finding.subject, finding.text[:38]) for finding in found.to_mend]
    (False, [('identity', 'parties.hospital.identity is missing: ')])
    """
    if isinstance(job, Question):
        job = job.job
    subject = job if isinstance(job, (str, os.PathLike)) else _spec_of(job)
    if not isinstance(identity, (Identity, str, os.PathLike)):
        raise _input(f"identity = {identity!r}: give a tacita.Identity, or its directory")
    if output is not None:
        check_path("output", output)
    with named():
        found = _tacita.doctor(
            subject,
            party,
            identity._inner if isinstance(identity, Identity) else identity,
            data=data,
            listen=listen,
            output=output,
            overwrite=overwrite,
            meet=meet,
            timeout=seconds_of("timeout", timeout),
        )
    return Diagnosis(tuple(Finding(**finding) for finding in json.loads(found)))
