#!/usr/bin/env python3
"""Checks names and layout of the Rust sources: one meaning for a public type's name, MAX_ and MIN_, `if` for conditions, line length.

Usage: check_names.py
"""

from __future__ import annotations

import collections
import pathlib
import re
import sys

from wrap_comments import WIDTH, laid_out

ROOT = pathlib.Path(__file__).resolve().parents[1]
SOURCES = ("crates", "benches", "fuzz/fuzz_targets")

# Names that many modules have, each of its own.
EVERYWHERE = frozenset(["Params", "Error", "Result"])

# Types of this indentation at most are items of a module, or of one within a file.
TYPE = re.compile(r"^(?: {4})?pub (?:unsafe )?(?:struct|enum|trait|type|union) (\w+)")
# What a trait leaves to its implementations; those may be called like it.
ASSOCIATED = re.compile(r"^ {4}type (\w+)(?:;|:| where)")

STRINGS = re.compile(r'\b[bc]?r(#*)"(?:.|\n)*?"\1|\b[bc]?"(?:\\(?:.|\n)|[^"\\])*"|"(?:\\(?:.|\n)|[^"\\])*"|\'(?:\\.|[^\'\\\n])\'|//[^\n]*')
CONSTANT = re.compile(r"\b(?:MOST|LEAST)(?:_\w+)?\b")
CONDITION = re.compile(r"\bmatch\b[^{};]*\{\s*(?:true|false)\s*(?:=>|if\b)")


def sources(*folders: str):
    """Each source file below these folders, by its path from the root, with its text."""
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.rs")):
            if "target" not in path.relative_to(ROOT).parts:
                yield str(path.relative_to(ROOT)), path.read_text()


def code(text: str) -> str:
    """The text with strings, characters and comments emptied, line by line as before."""
    return STRINGS.sub(lambda found: ("" if found[0].startswith("//") else '""') + "\n" * found[0].count("\n"), text)


def twice_defined(files: dict[str, str]) -> list[str]:
    """Public type names that stand for more than one type in the sources of the crates.

    Names of associated types aside, and classes of the Python module, which are called like the types that they wrap.
    """
    places, associated = collections.defaultdict(list), set()
    for path, text in files.items():
        if not re.match(r"crates/\w+/src/", path):
            continue
        associated.update(found[1] for line in text.split("\n") if (found := ASSOCIATED.match(line)))
        attributes = ""
        for number, line in enumerate(text.split("\n"), 1):
            if found := TYPE.match(line):
                if "pyclass" not in attributes:
                    places[found[1]].append(f"{path}:{number}")
            attributes = attributes + line if line.lstrip().startswith("#[") else ""
    return [
        f"{name} is defined {len(of)} times: {', '.join(of)}"
        for name, of in sorted(places.items())
        if len(of) > 1 and name not in EVERYWHERE | associated
    ]


def at(text: str, place: int) -> int:
    """The number of the line of a place in a text."""
    return text.count("\n", 0, place) + 1


def in_file(path: str, text: str) -> list[str]:
    """The faults of one file."""
    bare = code(text)
    found = [f"{path}:{at(bare, m.start())}: {m[0]}: MAX_ or MIN_" for m in CONSTANT.finditer(bare)]
    found += [f"{path}:{at(bare, m.start())}: `match` of a condition: `if`" for m in CONDITION.finditer(bare)]
    if laid_out(text) != text:
        found.append(f"{path}: comments of more than {WIDTH} characters: python3 scripts/wrap_comments.py {path}")
    # Strings cannot be broken.
    for number, (line, plain) in enumerate(zip(text.split("\n"), bare.split("\n")), 1):
        if len(line) > WIDTH and len(plain.rstrip()) > WIDTH:
            found.append(f"{path}:{number}: {len(line)} characters: {WIDTH} at most")
    return found


def main() -> int:
    """Prints what is wrong; 1 if anything is."""
    files = dict(sources(*SOURCES))
    faults = twice_defined(files)
    for path, text in files.items():
        faults += in_file(path, text)
    print("\n".join(faults) or "names: nothing to object to")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
