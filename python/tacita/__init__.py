"""Tacita: joint answers over data that nobody shows.

Two or more parties learn an intersection, a union, a dot product or association rules of their tables, and nothing else of each other's data. A question, as
`Intersect`, says what is asked; `local` answers it in this process, and says what it will cost and reveal; `connect` answers it with parties
elsewhere. A `Job` is any question by the keys of its job file.

>>> import pandas as pd, tacita
>>> hospital, insurer = pd.DataFrame({"id": [1, 2], "x": [5, 6]}), pd.DataFrame({"id": [2, 3]})
>>> session = tacita.local({"hospital": hospital, "insurer": insurer})
>>> answers = session.ask(tacita.Intersect(key=["id"], reveal=tacita.Rows(to="hospital")))
>>> hospital[answers["hospital"].mask]
   id  x
1   2  6
"""

from . import errors, learn, ledger, plot, policy
from ._connect import Running, Session, connect
from ._doctor import Diagnosis, Finding, doctor
from ._identity import Identity
from ._inspect import ColumnFacts, Inspection, inspect
from ._job import Job
from ._keys import JobKeys
from ._local import Local, local
from ._pair import Pair, dot, intersect, union
from ._plan import Plan, plan
from ._profiles import date, phone, timestamp
from ._progress import Progress, ShowProgress
from ._questions import Aggregate, Crosstab, Dot, Intersect, Question, Rules, Shares, Union
from ._result import Result, Simulation
from ._reveal import Cells, Count, Counts, Frequent, Keys, Mean, Payload, Reveal, Rows, Sum, Value
from ._round import results, submit
from ._rules import frequent_itemsets, rules, rules_table
from ._run import run, simulate
from ._tacita import __version__
from ._types import Data
from .errors import (
    AuthenticationError,
    Error,
    InputError,
    InternalError,
    NetworkError,
    NotReadyError,
    ProtocolError,
    TermsError,
)

__all__ = [
    "Aggregate",
    "AuthenticationError",
    "Cells",
    "ColumnFacts",
    "Count",
    "Counts",
    "Crosstab",
    "Data",
    "Diagnosis",
    "Dot",
    "Error",
    "Finding",
    "Frequent",
    "Identity",
    "InputError",
    "Inspection",
    "InternalError",
    "Intersect",
    "Job",
    "JobKeys",
    "Keys",
    "Local",
    "Mean",
    "NetworkError",
    "NotReadyError",
    "Pair",
    "Payload",
    "Plan",
    "Progress",
    "ProtocolError",
    "Question",
    "Result",
    "Reveal",
    "Rows",
    "Rules",
    "Running",
    "Session",
    "Shares",
    "ShowProgress",
    "Simulation",
    "Sum",
    "TermsError",
    "Union",
    "Value",
    "__version__",
    "connect",
    "date",
    "doctor",
    "dot",
    "errors",
    "frequent_itemsets",
    "inspect",
    "intersect",
    "learn",
    "ledger",
    "local",
    "phone",
    "plan",
    "plot",
    "policy",
    "results",
    "rules",
    "rules_table",
    "run",
    "simulate",
    "submit",
    "timestamp",
    "union",
]
