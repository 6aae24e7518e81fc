#!/usr/bin/env python3
"""Checks what no compiler sees: the samples are what their generator makes, JSON and TOML files parse, and every
relative link in the documentation leads somewhere; the plots are drawn from the data beside them; and that what is in
deploy/ fits the program, and workflows run targets of the Makefile."""

import filecmp
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import check_deploy
import check_workflows

try:
    import tomllib
except ImportError:  # before Python 3.11
    tomllib = None

ROOT = pathlib.Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"
PLOTS = ROOT / "docs" / "plots"

sys.path.append(str(PLOTS))
from digest import digest

# How the names of files end that the generator makes.
MADE = (".csv", ".json", ".txt", ".ipset", ".netset", ".log")


def files(*endings):
    """The project's own files with these endings."""
    for path in sorted(ROOT.rglob("*")):
        inside = path.relative_to(ROOT).parts
        if path.suffix in endings and not any(part == "target" or part.startswith(".") for part in inside):
            yield path


def check_samples():
    """One result for each table and each expected result."""
    with tempfile.TemporaryDirectory() as fresh:
        subprocess.run([sys.executable, EXAMPLES / "generate.py", "--output", fresh], check=True)
        made = {path.relative_to(fresh) for path in pathlib.Path(fresh).rglob("*") if path.is_file()}
        kept = {path.relative_to(EXAMPLES) for path in EXAMPLES.rglob("*") if path.suffix in MADE}
        for name in sorted(made | kept):
            if name not in made:
                yield f"examples/{name}: the generator does not make it"
            elif name not in kept:
                yield f"examples/{name}: missing; run `make samples`"
            elif not filecmp.cmp(pathlib.Path(fresh) / name, EXAMPLES / name, shallow=False):
                yield f"examples/{name}: differs from what the generator makes; run `make samples`"
            else:
                yield None


def check_syntax():
    """One result for each JSON and TOML file."""
    for path in files(".json", ".toml"):
        if path.suffix == ".toml" and tomllib is None:
            continue
        try:
            (json if path.suffix == ".json" else tomllib).loads(path.read_text(encoding="utf-8-sig"))
            yield None
        except ValueError as error:
            yield f"{path.relative_to(ROOT)}: {error}"


def headings(path):
    """The anchors of a page, as the forges make them."""
    text = without_code(path.read_text(encoding="utf-8"))
    titles = re.findall(r"^#+ +(.+?) *$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def without_code(text):
    return re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)


def check_links():
    """One result for each relative link."""
    for page in files(".md"):
        for link in re.findall(r"\]\(([^)\s]+)\)", without_code(page.read_text(encoding="utf-8"))):
            if re.match(r"[a-z]+:", link):
                continue
            file, _, anchor = link.partition("#")
            target = page.parent / file if file else page
            where = f"{page.relative_to(ROOT)}: the link to {link}"
            if not target.exists():
                yield f"{where} leads nowhere"
            elif anchor and anchor not in headings(target):
                yield f"{where} names no heading there"
            else:
                yield None


def check_plots():
    """One result for each picture. They are not drawn again: that needs matplotlib."""
    for picture in sorted(PLOTS.glob("*.svg")):
        drawn = f"<dc:identifier>{digest(picture.stem)}</dc:identifier>" in picture.read_text(encoding="utf-8")
        yield None if drawn else f"{picture.relative_to(ROOT)}: drawn from other data, or by another program; run `make plots`"


def main():
    results = [*check_samples(), *check_syntax(), *check_links(), *check_plots(), *check_deploy.check(), *check_workflows.check()]
    failures = [result for result in results if result]
    for failure in failures:
        print(failure, file=sys.stderr)
    print(f"{len(results) - len(failures)} passed, {len(failures)} failed")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
