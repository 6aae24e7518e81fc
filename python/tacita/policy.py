"""The policy of a party: whether it allows a job, and by which line. ``tacita policy`` at the command line."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Optional, Union

from . import _tacita
from ._arguments import check_path, named
from ._identity import Identity, _inner
from ._job import Job, _spec_of
from ._questions import Question
from ._types import Path

__all__ = ["Check", "Explanation", "Key", "Rule", "check", "explain"]


@dataclass(frozen=True)
class Check:
    """That a policy allows a job."""

    rule: str
    """The rule that allows it: file and line."""

    remaining: tuple[str, ...]
    """What was not counted, and can refuse a run yet."""


@dataclass(frozen=True)
class Key:
    """A key of a rule, tried on a job."""

    line: int
    """Line of the file."""

    text: str
    """Text of that line."""

    refusal: Optional[str]
    """Why it refuses the job; None if it does not."""


@dataclass(frozen=True)
class Rule:
    """A rule of a policy, tried on a job."""

    line: int
    """Line at which its peers stand."""

    allows: bool
    """Whether it allows the job."""

    keys: tuple[Key, ...]
    """Its keys, in the order in which they are tried."""


@dataclass(frozen=True)
class Explanation:
    """What each line of a policy says to a job."""

    allowed_by: Optional[int]
    """Line of the rule that allows the job; None if none does."""

    rules: tuple[Rule, ...]
    """All rules, in the order of the file."""

    remaining: tuple[str, ...]
    """What was not counted, and can refuse a run yet."""


def check(
    job: Union[Job, Question],
    party: str,
    *,
    identity: Union[Identity, Path, None] = None,
    policy: Optional[Path] = None,
    ledger: Optional[Path] = None,
) -> Check:
    r"""Returns the rule of a policy that allows a job. Nothing is sent or entered in the ledger.

    Parameters
    ----------
    job : Job or Question
        The job, or a question that names its parties.
    party : str
        The party whose policy it is.
    identity : Identity or path, optional
        The party's identity. With it, earlier runs and approvals count as they would in a run.
    policy : path, optional
        The policy, in place of ``policy.toml`` in the identity's directory.
    ledger : path, optional
        Directory of the ledger, in place of the identity's.

    Returns
    -------
    Check
        The rule that allows the job, and what was not counted.

    Raises
    ------
    InputError
        No rule allows the job: the message names the nearest one with its line. Or there is no policy.

    Examples
    --------
    >>> import pathlib, tempfile, tacita
    >>> peer = "SHA256:" + "A" * 43
    >>> job = tacita.Intersect(key=["id"], reveal=tacita.Count(to="a"), parties={"a": {}, "b": {"identity": peer}})
    >>> policy = pathlib.Path(tempfile.mkdtemp(), "policy.toml")
    >>> _ = policy.write_text(f'[[allow]]\npeers = ["{peer}"]\nreveal = ["count"]\n')
    >>> allowed = tacita.policy.check(job, "a", policy=policy)
    >>> allowed.rule.endswith("policy.toml, line 2"), len(allowed.remaining)
    (True, 1)
    """
    places = _places(policy, ledger)
    with named():
        found = json.loads(_tacita.policy_check(_spec(job), party, identity=None if identity is None else _inner(identity), **places))
    return Check(rule=found["rule"], remaining=tuple(found["remaining"]))


def explain(
    job: Union[Job, Question],
    party: Optional[str] = None,
    *,
    identity: Union[Identity, Path],
    policy: Optional[Path] = None,
    ledger: Optional[Path] = None,
) -> Explanation:
    """Returns what each line of a policy says to a job. Nothing is sent or entered in the ledger.

    Parameters
    ----------
    job : Job or Question
        The job, or a question that names its parties.
    party : str, optional
        The party whose policy it is; by default the one with this identity.
    identity : Identity or path
        The party's identity, with its policy, earlier runs and approvals.
    policy : path, optional
        The policy, in place of ``policy.toml`` in the identity's directory.
    ledger : path, optional
        Directory of the ledger, in place of the identity's.

    Returns
    -------
    Explanation
        All rules with their keys, and the line of the one that allows the job.

    Raises
    ------
    InputError
        There is no policy, or it cannot be read.

    Examples
    --------
    >>> import tacita
    >>> tacita.policy.explain(job, identity="id/hospital").allowed_by  # doctest: +SKIP
    2
    """
    places = _places(policy, ledger)
    with named():
        found = json.loads(_tacita.policy_explain(_spec(job), party, identity=_inner(identity), **places))
    rules = tuple(Rule(line=rule["line"], allows=rule["allows"], keys=tuple(Key(**key) for key in rule["keys"])) for rule in found["rules"])
    return Explanation(allowed_by=found["allowed_by"], rules=rules, remaining=tuple(found["remaining"]))


def _spec(job: Union[Job, Question]) -> _tacita.Spec:
    return _spec_of(job.job if isinstance(job, Question) else job)


def _places(policy: Optional[Path], ledger: Optional[Path]) -> dict[str, Any]:
    for what, path in (("policy", policy), ("ledger", ledger)):
        if path is not None:
            check_path(what, path)
    return {"policy": policy, "ledger": ledger}
