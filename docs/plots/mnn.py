"""Draws mnn.svg from mnn.jsonl, which `paper_mnn WHAT --json FILE` (benches/src/measures/published/paper_mnn/) writes part by part.

    python3 docs/plots/mnn.py

The panels are figures 2 to 9 of Miyaji, Nakasho & Nishida, and figure 7 once more on a curve. Times are drawn as logarithms. Needs nothing but Python.
"""

import json
import math
import pathlib

from panels import draw

HERE = pathlib.Path(__file__).parent
COLUMNS = 3

# The horizontal axes begin at 2^2 items.
FIRST = 2
SIZES = [6, 8, 10, 12, 14]
LEVELS = [80, 112, 128, 192, 256]

# Tables 3 and 4: helper and party, by n. Table 7: by cores. Table 8: Kissner & Song's protocol and the paper's, by n.
TABLE_3 = {
    4: ([0.65, 2.69, 10.4, 36.7, 151], [0.82, 3.39, 13.4, 54.1, 214]),
    16: ([0.90, 3.64, 15.8, 56.4, 225], [1.30, 4.71, 19.2, 76.1, 307]),
}
TABLE_4 = ([0.61, 2.74, 8.29, 57.2, 275], [0.87, 4.28, 11.1, 85.7, 417])
TABLE_7 = {1: [1.02, 3.89, 15.0, 82.9, 297], 2: [1.49, 2.83, 8.72, 33.0, 131]}
TABLE_8 = {
    4: ([0.50, 3.06, 50.6, 1051], [1.02, 3.89, 15.0, 82.9, 297]),
    8: ([0.92, 6.41, 92.0, 1491], [1.50, 3.05, 19.4, 83.2, 355]),
    16: ([2.10, 13.9, 190, 3246], [1.98, 7.29, 28.7, 112, 450]),
}


def logarithm(seconds):
    return math.log10(1000 * seconds)


def main():
    rows = [json.loads(line) for line in (HERE / "mnn.jsonl").read_text().splitlines()]

    def chosen(table, **wanted):
        return [row for row in rows if row.get("table") == table and all(row[key] == value for key, value in wanted.items())]

    def sizes(label, value, table, **wanted):
        points = {row["log2"]: value(row) for row in chosen(table, **wanted)}
        return label, [(log2 - FIRST, logarithm(points[log2])) for log2 in sorted(points)]

    def paper(label, seconds):
        return label, [(log2 - FIRST, logarithm(second)) for log2, second in zip(SIZES, seconds)]

    def levels(label, name, on_curve):
        points = {}
        for row in chosen(4, parties=4, log2=6):
            if row["group"].startswith("mod p") != on_curve:
                points[row["level"]] = row[name]
        return label, [(LEVELS.index(level), logarithm(points[level])) for level in sorted(points)]

    def levels_of_paper(seconds):
        return "paper", [(place, logarithm(second)) for place, second in enumerate(seconds)]

    party, helper = (lambda row: row["party_cpu"]), (lambda row: row["helper_cpu"])
    slowest = lambda row: max(row["party_cpu"], row["helper_cpu"])
    modp, curve = "mod p, 80 bits", "ristretto255"

    def by_size(value, which):
        return [sizes("n = 4", value, 3, group=modp, parties=4), sizes("n = 16", value, 3, group=modp, parties=16),
                paper("paper, 4", TABLE_3[4][which]), paper("paper, 16", TABLE_3[16][which])]

    def beside(parties, group):
        measured = [("filters", "outsourced-bloom"), ("polynomials", "kissner-song schoolbook")]
        here = [sizes(label, slowest, 8, protocol=name, parties=parties, group=group) for label, name in measured]
        known = TABLE_8[parties]
        return here + [paper("paper: f.", known[1]), paper("paper: p.", known[0])]

    marks = [(log2 - FIRST, f"2^{log2}") for log2 in range(FIRST, 15, 2)]
    of_levels = [(place, str(level)) for place, level in enumerate(LEVELS)]
    panels = [
        ("2: helper, 80 bits: log10 of ms", "CPU", by_size(helper, 0)),
        ("3: party, 80 bits: log10 of ms", "CPU", by_size(party, 1)),
        ("4: helper, 2^6 items: log10 of ms", "n = 4, by level", [
            levels("mod p", "helper_cpu", False), levels("curves", "helper_cpu", True), levels_of_paper(TABLE_4[0])], of_levels),
        ("5: party, 2^6 items: log10 of ms", "n = 4, by level", [
            levels("mod p", "party_cpu", False), levels("curves", "party_cpu", True), levels_of_paper(TABLE_4[1])], of_levels),
        ("6: cores, n = 4, 80 bits: log10 of ms", "here: all roles on 2 cores; slowest role's CPU", [
            sizes("here", lambda row: row["wall"], 7, threads=1), sizes("slowest", slowest, 7, threads=1),
            paper("paper, 1", TABLE_7[1]), paper("paper, 2", TABLE_7[2])]),
        *((f"{figure}: n = {parties}, 80 bits: log10 of ms", "slowest role's CPU; paper: wall", beside(parties, modp))
          for figure, parties in [(7, 4), (8, 8), (9, 16)]),
        ("7 on ristretto255: log10 of ms", "slowest role's CPU; paper: wall, 80 bits", beside(4, curve)),
    ]
    draw(HERE / "mnn.svg", panels, COLUMNS, marks)


if __name__ == "__main__":
    main()
