#!/usr/bin/env python3
"""Makes the tables of docs/papers.md from docs/papers.toml, which has what the papers print, and from the measurements in docs/plots. Without
--write it checks that they are there as they would be made, and that no table, figure, row or curve is missing without a reason.

Usage: papers.py [--write]
"""

from __future__ import annotations

import json
import pathlib
import re
import statistics
import sys

try:
    import tomllib
except ImportError:  # before Python 3.11
    tomllib = None

ROOT = pathlib.Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGE = DOCS / "papers.md"
CURVES = {"ristretto255": 128, "P-384": 192, "P-521": 256}

NAME = re.compile(r"(table|figure|section) (\w+?)[a-z]?")
RESULT_KEYS = frozenset("paper name about heading x label peer words curves".split())
CURVE_KEYS = frozenset("name paper here strong why why_strong".split())


class Measurements:
    """The lines of docs/plots/FILE.jsonl, and the values that are computed of one."""

    def __init__(self) -> None:
        self.files: dict[str, list[dict]] = {}

    def lines(self, name: str) -> list[dict]:
        """All lines of a file, in the order in which they were measured."""
        if name not in self.files:
            text = (DOCS / "plots" / f"{name}.jsonl").read_text(encoding="utf-8")
            self.files[name] = [json.loads(line) for line in text.splitlines()]
        return self.files[name]

    def keys_of(self, group: str) -> float:
        """The median of key generation in a group of Kim & Kim's; on curves there is none."""
        wanted = {"mod p": lambda t: t == 1, "mod p, Fourier": lambda t: t > 1}.get(group)
        times = [s for line in self.lines("kk") if wanted and line.get("figure") == 2 and wanted(line["t"]) for s in line["seconds"]]
        return statistics.median_high(times) if times else 0.0

    def value(self, line: dict, name: str) -> float:
        """A value of a line: a field, or what is computed of some."""
        computed = {
            "mean": lambda: statistics.mean(line["seconds"]),
            "total": lambda: self.keys_of(line["group"]) + line["seconds"] + line["transfer"],
            "part": lambda: 100 * line["seconds"] / self.value(line, "total"),
            "megabytes": lambda: line["bytes"] / 1e6,
            "busiest": lambda: max(line["encryptor_cpu"]),
            "encryptor's part": lambda: 100 * max(line["encryptor_cpu"]) / line["in_turns"],
            "slowest": lambda: max(line["party_cpu"], line["helper_cpu"]),
            "percent": lambda: 100 * line["share"],
            "proxy": lambda: 1000 * line["keys"] / (line["proxy_ms"] + line["setup_ms"][0]),
            "database": lambda: 1000 * line["keys"] / line["database_ms"],
            "proxy_rate": lambda: line["proxy"],
            "database_rate": lambda: line["database"],
        }
        if name.startswith("part "):
            return line["parts"][int(name[5:])]
        return computed[name]() if name in computed else line[name]

    def chosen(self, selector: dict) -> list[dict]:
        """The lines that a selector means."""

        def means(line: dict) -> bool:
            prefix = selector.get("prefix")
            return (
                all(line.get(key) == wanted for key, wanted in selector["where"].items())
                and (not prefix or line[prefix[0]].startswith(prefix[1]))
                and (not selector.get("curves") or CURVES.get(line["group"]) == line["level"])
                and (not selector.get("whole") or line.get("stage", line["keys"]) == line["keys"])
            )

        return [line for line in self.lines(selector["file"]) if means(line)]

    def by_row(self, selector: dict, rows: list) -> dict:
        """The values of a selector by the rows that they belong to. What was measured twice counts as it was measured last."""
        found: dict = {}
        for line in self.chosen(selector):
            value = self.value(line, selector["value"])
            names = {one: row for row, all_ in selector.get("names", {}).items() for one in all_}
            for row in rows if selector.get("constant") else [names.get(line[selector["x"]], line[selector["x"]])]:
                found[row] = value + (found.get(row, 0.0) if selector.get("sum") else 0.0)
        return found


def shown(value: float) -> str:
    """A number with three digits, or with all of what stands before its point."""
    digits = f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"
    return f"{float(digits):.10f}".rstrip("0").rstrip(".") if "e" in digits else digits


def row_name(result: dict, row: object) -> str:
    if not isinstance(row, int):
        return str(row)
    return result["label"].format(row) if "label" in result else f"{row:,}"


def spans(result: dict, rows: list) -> str:
    """Rows in words, those that follow each other as one span."""
    places = [result["x"].index(row) for row in rows]
    parts: list[list[int]] = []
    for place in places:
        if parts and parts[-1][-1] == place - 1:
            parts[-1].append(place)
        else:
            parts.append([place])
    names = [row_name(result, row) for row in result["x"]]
    return ", ".join(names[part[0]] if len(part) == 1 else f"{names[part[0]]} to {names[part[-1]]}" for part in parts)


def table(result: dict, measurements: Measurements) -> list[str]:
    """A result in Markdown: its numbers, then the reasons for those that are missing."""
    title = f"### {result['paper']}, {result['name']}"
    if "words" in result:
        return [title, "", f"*{result['about']}.* {result['words']}", ""]
    heading = result["heading"]
    lines = [title, "", f"*{result['about']}.*", "", f"| | {heading} | the paper | here | here, 128 bits |", "|---|---|---|---|---|"]
    reasons = []
    for curve in result["curves"]:
        columns = [measurements.by_row(curve[key], result["x"]) if key in curve else {} for key in ("here", "strong")]
        for place, row in enumerate(result["x"]):
            cells = [shown(column[row]) if row in column else "" for column in columns]
            name = curve["name"] if place == 0 else ""
            printed = curve["paper"][place]
            printed = printed if isinstance(printed, str) else f"{printed:,}"
            lines.append(f"| {name} | {row_name(result, row)} | {printed} | {cells[0]} | {cells[1]} |")
        for column, key, where in zip(columns, ("why", "why_strong"), ("", " at 128 bits")):
            missing = [row for row in result["x"] if row not in column]
            if missing:
                reasons.append(f"- *{curve['name']}*, {spans(result, missing)}{where}: {curve.get(key, '')}")
    return [*lines, "", *reasons, f"- *Best peer*: {result['peer']}", ""]


def wrong(statements: list[dict]) -> list[str]:
    lines = ["| paper | statement | why we believe that it is wrong | shown by |", "|---|---|---|---|"]
    for one in statements:
        if "test" in one:
            path, test = one["test"].split("::")
            by = f"[`{test}`](../{path})"
        else:
            by = f"[{one['data']}](#{one['data'].lower().replace(' ', '-')})"
        lines.append(f"| {one['paper']} | {one['statement']} | {one['because']} | {by} |")
    return lines


def blocks(data: dict, measurements: Measurements) -> dict[str, str]:
    """What stands between the markers of the page, by their names."""
    made = {"wrong": "\n".join(wrong(data["wrong"])) + "\n"}
    for paper, about in data["papers"].items():
        lines = [f"{about['title']}. [More]({about['more']}).", ""]
        for result in data["results"]:
            if result["paper"] == paper:
                lines += table(result, measurements)
        made[paper] = "\n".join(lines).rstrip() + "\n"
    return made


def faults(data: dict, measurements: Measurements):
    """What is missing without a word, or names something that is not there."""
    have = {(result["paper"], result["name"]) for result in data["results"]}
    if len(have) < len(data["results"]):
        yield "a result is there twice"
    numbers = {(paper, *NAME.fullmatch(name).groups()) for paper, name in have}
    for paper, about in data["papers"].items():
        for kind in ("table", "figure"):
            for number in range(1, about[f"{kind}s"] + 1):
                if (paper, kind, str(number)) not in numbers:
                    yield f"{paper}, {kind} {number}: missing"
    for result in data["results"]:
        of = f"{result['paper']}, {result['name']}"
        if extra := result.keys() - RESULT_KEYS:
            yield f"{of}: {', '.join(sorted(extra))} mean nothing"
        if "words" in result:
            continue
        if not result.get("curves") or not result.get("peer"):
            yield f"{of}: no curves, or no word on a peer"
        for curve in result.get("curves", []):
            yield from faults_of_curve(f"{of}, {curve['name']}", result, curve, measurements)
    for one in data["wrong"]:
        if "data" in one:
            if tuple(one["data"].split(" ", 1)) not in have:
                yield f"{one['statement']}: {one['data']} is no result"
            continue
        path, test = one["test"].split("::")
        if not (ROOT / path).exists() or f"fn {test}(" not in (ROOT / path).read_text(encoding="utf-8"):
            yield f"{one['statement']}: there is no test {one['test']}"


def faults_of_curve(of: str, result: dict, curve: dict, measurements: Measurements):
    if extra := curve.keys() - CURVE_KEYS:
        yield f"{of}: {', '.join(sorted(extra))} mean nothing"
    if len(curve["paper"]) != len(result["x"]):
        yield f"{of}: {len(curve['paper'])} numbers for {len(result['x'])} rows"
    for key, why in (("here", "why"), ("strong", "why_strong")):
        found = measurements.by_row(curve[key], result["x"]) if key in curve else {}
        if key in curve and not any(row in found for row in result["x"]):
            yield f"{of}: no measurement is `{key}`"
        missing = [row for row in result["x"] if row not in found]
        if missing and not curve.get(why):
            yield f"{of}, {spans(result, missing)}: no number, and no `{why}`"
        if not missing and curve.get(why):
            yield f"{of}: `{why}` excuses nothing"


def main() -> int:
    """Writes the page's tables, or says what is wrong with them."""
    if tomllib is None:
        print("papers.py needs Python 3.11")
        return 0
    data = tomllib.loads((DOCS / "papers.toml").read_text(encoding="utf-8"))
    measurements = Measurements()
    found = list(faults(data, measurements))
    page = PAGE.read_text(encoding="utf-8")
    for name, made in blocks(data, measurements).items():
        begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
        if page.count(begin) != 1 or page.count(end) != 1:
            found.append(f"docs/papers.md: there are no markers of {name}")
            continue
        before, rest = page.split(begin)
        old, after = rest.split(end)
        if "--write" in sys.argv[1:]:
            page = f"{before}{begin}{made}{end}{after}"
        elif old != made:
            found.append(f"docs/papers.md: what stands under {name} is not what the data say; run `scripts/papers.py --write`")
    if "--write" in sys.argv[1:]:
        PAGE.write_text(page, encoding="utf-8")
    print("\n".join([*found, f"{len(found)} found"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
