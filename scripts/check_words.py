"""Checks what a program can see of the project's English: documentation comments, length of sentences, doubled words, and spelling.

Usage: check_words.py
"""

from __future__ import annotations

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
SOURCES = ("crates", "benches", "fuzz/fuzz_targets")
TEXTS = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "RELEASING.md", "CODE_OF_CONDUCT.md", "docs", "crates", "benches", "python/tacita", "scripts", "examples")

# A documentation comment begins with a noun or a verb, not with a clause.
CLAUSES = frozenset("What Who Whose Whom Where Which Why How When As So It Its Of By Those That These This All They".split())
DOC = re.compile(r"^\s*(//[/!])(?: (.*)|$)")

# A comment of one line says more than its item's name. (Not those of options, which are their help.)
MIN_DOC_WORDS = 4
OPTIONS = "crates/cli/src/commands"

# Words of a sentence, which also ends at a semicolon.
MAX_HELP_WORDS = 25
MAX_MESSAGE_WORDS = 30
MAX_LEAKAGE_WORDS = 25
MAX_PAGE_WORDS = 30
# Characters of a paragraph: five lines of 120.
MAX_PARAGRAPH = 600
STRING = re.compile(r'"((?:\\(?:.|\n)|[^"\\])*)"')
SENTENCE_END = re.compile(r"(?<=[.;?!])\s+|\n")
# Sentences on leakage: where they are made, and as they are printed with names and numbers.
LEAKAGE = "learned"
PRINTED_LEAKAGE = "crates/cli/tests/command/goldens/sentences.txt"

# Pages whose sentences and paragraphs are short.
PAGES = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "RELEASING.md", "CODE_OF_CONDUCT.md", "docs/*.md", "docs/guides/*.md", "docs/protocols/*.md", "deploy/*.md", "examples/**/*.md")
# A definition to the byte is longer. (`docs/papers.md` is made from data, with the papers' own words.)
SPECIFICATION = "wire.md"
MAX_SPECIFICATION_WORDS = 40
# A page's sentence also ends in brackets, emphasis or quotation marks.
PAGE_END = re.compile(r"""(?<=[.;?!])[)*_"]*\s+|(?<=[.;?!][)*_"])\s+|(?<=[.;?!]\*\*)\s+""")
LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
ITEM = re.compile(r"^(?:[-*]|\d+\.)\s+")

# What is code in a text, and what is text in code.
CODE = re.compile(r"`[^`]*`|</?[A-Za-z][^>]*>|https?://\S+")
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


def short_comments(lines: list[str]):
    """Documentation comments of one line and few words, with their numbers."""
    docs = [DOC.match(line) for line in lines]
    for number, doc in enumerate(docs):
        alone = doc and not any(docs[max(number - 1, 0) : number] + docs[number + 1 : number + 2])
        if alone and "`" not in (doc[2] or "") and len((doc[2] or "").split()) < MIN_DOC_WORDS:
            yield number + 1, doc[2] or ""


def long_sentences(text: str, most: int):
    """Sentences with more words, and how many these are."""
    for sentence in SENTENCE_END.split(text):
        words = sum(any(c.isalnum() for c in word) for word in sentence.split())
        if words > most:
            yield f"{words} words, {most} at most: {sentence[:60]}..."


def help_texts(lines: list[str]):
    """Paragraphs of documentation comments, with the numbers of their first lines."""
    paragraph: list[str] = []
    for number, line in enumerate([*lines, ""], 1):
        doc = DOC.match(line)
        if doc and doc[2]:
            paragraph.append(doc[2])
        elif paragraph:
            yield number - len(paragraph), " ".join(paragraph)
            paragraph = []


def messages(lines: list[str]):
    """The strings outside of comments and tests, as they are printed, with their numbers."""
    code = "\n".join("" if line.lstrip().startswith("//") else line for line in lines).split("#[cfg(test)]")[0]
    for found in STRING.finditer(code):
        text = re.sub(r"\\\n\s*", "", found[1]).replace("\\n", "\n")
        # What is put in behind a full stop is a sentence of its own.
        text = re.sub(r"(?<=[.;?!])(\{\w*\})", r" \1", text)
        yield code.count("\n", 0, found.start()) + 1, text


def style(name: str, lines: list[str]):
    """Faults of a source file of the program in the length of its texts, with their numbers."""
    options = name.startswith(OPTIONS)
    if not options:
        for number, doc in short_comments(lines):
            yield number, f"a documentation comment of under {MIN_DOC_WORDS} words: {doc}"
    for number, text in help_texts(lines) if options else []:
        yield from ((number, fault) for fault in long_sentences(text, MAX_HELP_WORDS))
    most = MAX_LEAKAGE_WORDS if LEAKAGE in name else MAX_MESSAGE_WORDS
    for number, text in messages(lines):
        yield from ((number, fault) for fault in long_sentences(text, most))


def paragraphs(lines: list[str]):
    """Paragraphs, list items and cells of tables of a page, with the numbers of their first lines."""
    paragraph: list[str] = []
    first, fenced = 0, False
    for number, line in enumerate([*lines, ""], 1):
        text = line.strip().removeprefix(">").strip()
        fence = text.startswith("```")
        fenced ^= fence
        alone = fence or fenced or not text or text[0] in "#<|"
        if paragraph and (alone or ITEM.match(text)):
            yield first, " ".join(paragraph)
            paragraph = []
        if not fence and not fenced and text.startswith("|"):
            yield from ((number, cell.strip()) for cell in re.split(r"(?<!\\)\|", text.strip("|")))
        elif not alone:
            first = first if paragraph else number
            paragraph.append(ITEM.sub("", text, count=1) if not paragraph else text)


def page(name: str, lines: list[str]):
    """Faults of a page in the length of its sentences and paragraphs, with their numbers."""
    specifies = name == SPECIFICATION
    for number, paragraph in paragraphs(lines):
        text = LINK.sub(r"\1", paragraph)
        if len(text) > MAX_PARAGRAPH and not specifies:
            yield number, f"a paragraph of {len(text)} characters, {MAX_PARAGRAPH} at most: {text[:60]}..."
        for sentence in PAGE_END.split(CODE.sub("x", text)):
            yield from ((number, fault) for fault in long_sentences(sentence, MAX_SPECIFICATION_WORDS if specifies else MAX_PAGE_WORDS))


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

    for path in sorted(ROOT.glob("crates/*/src/**/*.rs")):
        if "test" not in path.name and "tests" not in path.parts:
            for number, fault in style(str(path.relative_to(ROOT)), path.read_text().splitlines()):
                tell(path, number, fault)

    for number, line in enumerate((ROOT / PRINTED_LEAKAGE).read_text().splitlines(), 1):
        for fault in long_sentences(line, MAX_LEAKAGE_WORDS):
            tell(ROOT / PRINTED_LEAKAGE, number, fault)

    for path in (path for place in PAGES for path in sorted(ROOT.glob(place)) if path.name != "papers.md"):
        for number, fault in page(path.name, path.read_text().splitlines()):
            tell(path, number, fault)

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
