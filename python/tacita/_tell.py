"""What each party will learn by a run, told before it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Union

from ._job import Job
from ._progress import somebody_looks
from .errors import _input

__all__ = ["Confirm", "Tell", "before_run"]

Tell = Union[Callable[[str], object], bool, None]
"""A function that gets the sentences, one by one; ``True``: standard error; ``False``: nobody; ``None``: standard error, if somebody looks."""

Confirm = Union[Callable[[list[str]], object], bool, None]
"""A function that gets all sentences, and says whether to go on; ``True`` asks at the terminal."""


def before_run(job: Job, party: str, tell: Tell, confirm: Confirm) -> None:
    """Tells what each party will learn, and asks whether to go on."""
    for what, given in (("tell", tell), ("confirm", confirm)):
        if not (given is None or isinstance(given, bool) or callable(given)):
            raise _input(f"{what} = {given!r}: give a function, as {'print' if what == 'tell' else 'lambda sentences: True'}, or False")
    if tell is True:
        tell = _to_standard_error
    if job.kind == "aggregate" or party not in job.parties:
        # It is refused elsewhere, with why.
        return
    sentences = [sentence for name in job.parties for sentence in job.learned(name)]
    if tell is None and confirm is not True and somebody_looks():
        tell = _to_standard_error
    if callable(tell):
        for sentence in sentences:
            tell(sentence)
    if confirm is True:
        confirm = _ask
    if callable(confirm) and not confirm(sentences):
        raise _input("the run was not confirmed: nothing was sent")


def _to_standard_error(sentence: str) -> None:
    print(sentence, file=sys.stderr)


def _ask(sentences: list[str]) -> bool:
    for sentence in sentences:
        print(sentence)
    try:
        return input("Go on? [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        return False
