#!/usr/bin/env python3
"""Checks the workflows of the public forge: each step is `make` with targets that the Makefile has, or an action by its commit, and may only read the sources.

Whoever has the Makefile can then do all that a workflow does. Usage: check_workflows.py"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORKFLOWS = ROOT / ".github" / "workflows"

STEP = re.compile(r"^ *(?:- )?(run|uses): *(.*)$", re.MULTILINE)
MAKE = re.compile(r"make((?: [a-z][a-z-]*)+)")
ACTION = re.compile(r"[\w-]+/[\w./-]+@[0-9a-f]{40} # v[\d.]+")


def targets():
    """What the Makefile can be asked for."""
    return set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


def check_text(name, text, known):
    """One result for each step of a workflow, and one for its rights."""
    for kind, value in STEP.findall(text):
        if kind == "uses":
            yield None if ACTION.fullmatch(value) else f"{name}: {value}: name an action by its commit, and its version behind it"
            continue
        asked = MAKE.fullmatch(value)
        unknown = [target for target in asked[1].split() if target not in known] if asked else []
        yield f"{name}: {value}: a step runs make and nothing else" if not asked else None
        yield f"{name}: {value}: the Makefile has no {', '.join(unknown)}" if unknown else None
    rights = re.findall(r"^ *permissions: *(.*(?:\n +.*)*)", text, re.MULTILINE)
    yield None if [right.split() for right in rights] == [["contents:", "read"]] else f"{name}: a workflow has `permissions: contents: read`, once"


def check():
    """One result for each thing that is checked: what is wrong, or nothing."""
    known = targets()
    return [result for path in sorted(WORKFLOWS.glob("*.y*ml")) for result in check_text(path.name, path.read_text(encoding="utf-8"), known)]


if __name__ == "__main__":
    found = check()
    failures = [result for result in found if result]
    for failure in failures:
        print(failure, file=sys.stderr)
    print(f"{len(found) - len(failures)} passed, {len(failures)} failed")
    sys.exit(1 if failures or not found else 0)
