"""Runs of a job: one party of it, or all of them in this process."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path as FilePath
from typing import Optional, Union

from . import _tacita
from ._arguments import bits_a_second, memory_bytes, named, seconds_of
from ._identity import Identity, _inner
from ._job import Job, _spec_of
from ._progress import ShowProgress, watching
from ._result import Result, Simulation
from ._tell import Confirm, Tell, before_run
from ._types import Data, Path
from .errors import _input

__all__ = ["command", "run", "simulate"]


def simulate(
    job: Job,
    tables: Mapping[str, Data],
    *,
    latency: float = 0.0,
    bandwidth: Optional[float] = None,
    memory: Optional[float] = None,
    allow_unreadable: bool = False,
    allow_insecure: bool = False,
    storage: Optional[str] = None,
    progress: ShowProgress = None,
) -> Simulation:
    """Runs every party of a job in this process, each on a thread and with an identity of its own, over TLS on the loopback interface.

    What each gets is what it would get on a machine of its own. Of a job ``aggregate``, roles and participants are processes of the `tacita` command.

    Parameters
    ----------
    job : Job
        The job.
    tables : mapping of str to table
        The tables of all parties, by name.
    latency : float
        One way, in seconds.
    bandwidth : float, optional
        Bits a second.
    memory : float, optional
        Bytes that each party may use besides its table.
    allow_unreadable : bool
        Whether to go on although more than half of a party's keys cannot be read.
    allow_insecure : bool
        Whether to allow what the command asks ``--allow-insecure`` for.
    storage : str, optional
        Where several databases of a job ``aggregate`` keep rows.
    progress : bool or callable, optional
        A function that gets a `Progress` now and then, or whether a bar is shown.

    Returns
    -------
    Simulation
        A mapping from the name of each party to its `Result`.

    Raises
    ------
    Error
        The first failure: its ``party`` is where it began.

    Examples
    --------
    >>> import pandas as pd, tacita
    >>> job = tacita.Job(
    ...     job="intersect", id="demo", reveal_to=["hospital"], parties=["hospital", "insurer"],
    ...     key={"columns": ["name", "born"], "normalize": ["name", "date:DMY"]},
    ... )
    >>> hospital = pd.DataFrame({"name": ["Ann Bell", "Cy Dorn"], "born": ["1.2.1990", "3.4.1985"], "ward": ["A", "C"]})
    >>> insurer = pd.DataFrame({"name": ["bell, ann", "Eve Fitz"], "born": ["1990-02-01", "1970-01-01"]})
    >>> tacita.simulate(job, {"hospital": hospital, "insurer": insurer})["hospital"].to_pandas()
           name      born ward
    0  Ann Bell  1.2.1990    A
    """
    if not isinstance(tables, Mapping):
        raise _input("tables: give the tables of all parties by name, as {'hospital': ..., 'insurer': ...}")
    spec = _spec_of(job)
    with watching(progress) as raw, named():
        outcomes, report = _tacita.simulate(
            spec,
            dict(tables),
            latency=seconds_of("latency", latency),
            bandwidth=bits_a_second(bandwidth),
            memory=memory_bytes(memory),
            allow_unreadable=allow_unreadable,
            allow_insecure=allow_insecure,
            program=own_command() if job.kind == "aggregate" else None,
            storage=storage,
            progress=raw,
        )
    return Simulation(spec, outcomes, report)


def run(
    job: Job,
    party: str,
    data: Data,
    identity: Union[Identity, Path],
    *,
    listen: Optional[str] = None,
    timeout: float = 60.0,
    patience: float = 1800.0,
    memory: Optional[float] = None,
    pool: Optional[Path] = None,
    pool_key: Optional[Path] = None,
    policy: Optional[Path] = None,
    ledger: Optional[Path] = None,
    receipt: Optional[Path] = None,
    allow_unreadable: bool = False,
    allow_insecure: bool = False,
    tell: Tell = None,
    confirm: Confirm = None,
    progress: ShowProgress = None,
) -> Result:
    """Runs one party of a job, with the other parties elsewhere: each runs this, or ``tacita run``. Ctrl-C ends it within a second, and the peers are told.

    Parameters
    ----------
    job : Job
        The job, the same for all parties.
    party : str
        This party's name.
    data : table
        This party's table.
    identity : Identity or path
        This party's key pair.
    listen : str, optional
        Where this party listens, in place of its address in the job.
    timeout : float
        Seconds for which the peers are waited for.
    patience : float
        Seconds for which they may be connected and neither send nor read anything.
    memory : float, optional
        Bytes that the job may use besides the table.
    pool : path, optional
        Directory of encryptions made in advance.
    pool_key : path, optional
        File of the key of those.
    policy : path, optional
        File that has to allow the run, in place of ``policy.toml`` in the identity's directory.
    ledger : path, optional
        Directory of the ledger in which the run is entered, in place of the identity's.
    receipt : path, optional
        File for the receipts that the parties sign for each other.
    allow_unreadable : bool
        Whether to go on although more than half of the own keys cannot be read.
    allow_insecure : bool
        Whether to allow what the command asks ``--allow-insecure`` for.
    tell : callable or bool, optional
        What gets to know what each party will learn, before anything is sent: a function that gets the sentences one by one (``print``). Without it,
        they go to standard error where somebody looks; with ``False`` to nobody but the log.
    confirm : callable or bool, optional
        What has the last word: a function that gets all sentences in a list. Where what it gives back is false, nobody has heard of the run.
        ``True`` asks whoever sits there.
    progress : bool or callable, optional
        A function that gets a `Progress` now and then, or whether a bar is shown.

    Returns
    -------
    Result
        What this party learns.

    Raises
    ------
    Error
        There is no result; the kind says whose doing that is. A run that is not confirmed is an `InputError`.

    Examples
    --------
    >>> import socket, tempfile, threading, pandas as pd, tacita
    >>> work = tempfile.mkdtemp()
    >>> ids = {name: tacita.Identity.create(f"{work}/{name}", name) for name in ("a", "b")}
    >>> with socket.socket() as free:
    ...     free.bind(("127.0.0.1", 0))
    ...     address = "127.0.0.1:%d" % free.getsockname()[1]
    >>> parties = {"a": {"address": address, "identity": ids["a"].fingerprint}, "b": {"identity": ids["b"].fingerprint}}
    >>> job = tacita.Job(job="intersect", id="demo", reveal_to=["a", "b"], key={"columns": ["id"]}, parties=parties)
    >>> table = pd.DataFrame({"id": [1, 2, 3]})
    >>> other = threading.Thread(target=tacita.run, args=(job, "b", table, ids["b"]))
    >>> other.start()
    >>> tacita.run(job, "a", table, ids["a"])
    Result(a: rows 3)
    >>> other.join()
    """
    return run_party(
        job,
        party,
        data,
        identity,
        listen=listen,
        timeout=timeout,
        patience=patience,
        memory=memory,
        pool=pool,
        pool_key=pool_key,
        policy=policy,
        ledger=ledger,
        receipt=receipt,
        allow_unreadable=allow_unreadable,
        allow_insecure=allow_insecure,
        tell=tell,
        confirm=confirm,
        progress=progress,
    )


def run_party(
    job: Job,
    party: str,
    data: Data,
    identity: Union[Identity, Path],
    *,
    listen: Optional[str] = None,
    timeout: float,
    patience: float,
    memory: Optional[float],
    pool: Optional[Path] = None,
    pool_key: Optional[Path] = None,
    policy: Optional[Path] = None,
    ledger: Optional[Path] = None,
    receipt: Optional[Path] = None,
    allow_unreadable: bool,
    allow_insecure: bool,
    tell: Tell,
    confirm: Confirm,
    progress: ShowProgress,
    cancel: Optional[_tacita.Cancel] = None,
) -> Result:
    """The same, which `cancel` ends from another thread."""
    spec, owner = _spec_of(job), _inner(identity)
    times = {"timeout": seconds_of("timeout", timeout), "patience": seconds_of("patience", patience)}
    before_run(job, party, tell, confirm)
    with watching(progress) as raw, named():
        outcome = _tacita.run(
            spec,
            party,
            data,
            owner,
            listen=listen,
            announce=None,
            **times,
            memory=memory_bytes(memory),
            pool=pool,
            pool_key=pool_key,
            policy=policy,
            ledger=ledger,
            receipt=receipt,
            allow_unreadable=allow_unreadable,
            allow_insecure=allow_insecure,
            progress=raw,
            cancel=cancel,
        )
    return Result(party, outcome)


def command() -> Optional[FilePath]:
    """Where the `tacita` command of this package is, if it is there."""
    places = [FilePath(sysconfig.get_path("scripts")), FilePath(sys.executable).parent]
    # A package of a user's own, beside the system's.
    places.append(FilePath(sysconfig.get_path("scripts", "posix_user")))
    return next((place / "tacita" for place in places if (place / "tacita").is_file()), None)


def own_command() -> Optional[FilePath]:
    """The same, if it is of the version that this package is: another one might not know what it is asked."""
    program = command()
    if program is None:
        return None
    told = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout.strip()
    if told != f"tacita {_tacita.__version__}":
        raise _input(f"{program} is {told or 'no command of this package'}, and this package is of version {_tacita.__version__}: install it again")
    return program
