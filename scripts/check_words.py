"""Checks what a program can see of the project's English: first words of documentation comments, words that are doubled, and spelling.

Usage: check_words.py
"""

from __future__ import annotations

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
SOURCES = ("crates", "benches", "fuzz/fuzz_targets")
TEXTS = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "docs", "crates", "benches", "python/tacita", "scripts", "examples")

# A documentation comment begins with a noun or a verb, not with a clause.
CLAUSES = frozenset("What Who Whose Whom Where Which Why How When As So It Its Of By Those That These This All They".split())
DOC = re.compile(r"^\s*(//[/!])(?: (.*)|$)")

# What is code in a text, and what is text in code.
CODE = re.compile(r"`[^`]*`|<[^>]*>|https?://\S+")
COMMENT = re.compile(r"(?://|#) (.*)")

DOUBLED = re.compile(r"\b([a-z]{2,}) \1\b")
MAY_DOUBLE = frozenset(["that", "had", "is"])

AMERICAN = re.compile(
    r"\b((?:behavi|col|fav|hon|lab|neighb|rum)or(?:s|ed|ing|able)?|center(?:s|ed)?|analyz(?:e|es|ed|ing)"
    r"|cancel(?:ed|ing)|label(?:ed|ing)|model(?:ed|ing)|travel(?:ed|ing)|fulfill|defense)\b"
)


def comments(path: pathlib.Path):
    """The first line of each documentation comment, with its number."""
    before = None
    for number, line in enumerate(path.read_text().splitlines(), 1):
        found = DOC.match(line)
        if found and found[1] != before:
            yield number, found[2] or ""
        before = found[1] if found else None


def files(place: pathlib.Path):
    """The texts at a place: itself, or those below it."""
    if place.is_file():
        return [place]
    return [path for path in sorted(place.rglob("*")) if path.suffix in (".md", ".rs", ".py", ".toml")]


def main() -> int:
    """Prints a line for each thing found; 1 if there is any."""
    found: list[str] = []

    def tell(path: pathlib.Path, number: int, what: str) -> None:
        found.append(f"{path.relative_to(ROOT)}:{number}: {what}")

    for path in (path for place in SOURCES for path in sorted((ROOT / place).rglob("*.rs"))):
        for number, line in comments(path):
            first = re.sub(r"\W", "", (line.split() or [""])[0])
            if first in CLAUSES:
                tell(path, number, f"a documentation comment that begins with {first}: begin with a noun or a verb")

    for path in (path for place in TEXTS for path in files(ROOT / place)):
        fenced = False
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if path.suffix == ".md" and line.lstrip().startswith("```"):
                fenced = not fenced
            if fenced:
                continue
            prose = line if path.suffix == ".md" else "".join(COMMENT.findall(line))
            for word in DOUBLED.findall(CODE.sub("`", prose)):
                if word not in MAY_DOUBLE:
                    tell(path, number, f"`{word} {word}`")
            for word in AMERICAN.findall(CODE.sub("`", prose)):
                tell(path, number, f"`{word}` has a British spelling")

    print("\n".join(found + [f"{len(found)} found"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
