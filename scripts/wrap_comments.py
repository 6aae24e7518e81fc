"""Wraps comments of Rust sources: a paragraph with a line that is too long is laid out anew. Lists, tables and code stay.

Usage: wrap_comments.py FILE|DIRECTORY...
"""

from __future__ import annotations

import pathlib
import re
import sys
import textwrap

WIDTH = 120
COMMENT = re.compile(r"^(\s*//[/!]?) (\S.*)$")
# Lines that mean something in Markdown, or that are laid out by hand.
MARKED = re.compile(r"^(?:[-*+>#|=]|\d+[.)]|```|\[\^|\[`?[\w:]+`?\]:|SAFETY)")
# Code is kept in one line, and so is a number with its unit.
TOGETHER = re.compile(r"`[^`]*`")
BLANK = "\x00"


def wrapped(prefix: str, paragraph: list[str]) -> list[str]:
    """The lines of a paragraph, laid out anew if one is too long, unless a line would begin with a mark then."""
    if all(len(prefix) + 1 + len(text) <= WIDTH for text in paragraph) or any(MARKED.match(text) for text in paragraph):
        return paragraph
    text = TOGETHER.sub(lambda code: code[0].replace(" ", BLANK), " ".join(paragraph))
    room = WIDTH - len(prefix) - 1
    lines = textwrap.wrap(text, room, break_long_words=False, break_on_hyphens=False)
    lines = [line.replace(BLANK, " ") for line in lines]
    return paragraph if any(MARKED.match(line) for line in lines) else lines


def laid_out(text: str) -> str:
    """The source with its comments wrapped."""
    done: list[str] = []
    prefix, paragraph, fenced = "", [], False

    def end() -> None:
        done.extend(f"{prefix} {line}" for line in wrapped(prefix, paragraph))
        paragraph.clear()

    for line in text.split("\n"):
        found = COMMENT.match(line)
        is_fence = bool(found) and found[2].startswith("```")
        if not found or found[1] != prefix or fenced or is_fence or MARKED.match(found[2]):
            end()
        fenced ^= is_fence
        if found and not fenced and not is_fence:
            prefix = found[1]
            paragraph.append(found[2])
            if MARKED.match(found[2]):
                # With what is indented below it, it is a list.
                end()
        else:
            end()
            done.append(line)
    end()
    return "\n".join(done)


def main() -> int:
    """Wraps the comments of these files."""
    for place in map(pathlib.Path, sys.argv[1:]):
        for path in sorted(place.rglob("*.rs")) if place.is_dir() else [place]:
            before = path.read_text()
            after = laid_out(before)
            if after != before:
                path.write_text(after)
    return 0


if __name__ == "__main__":
    sys.exit(main())
