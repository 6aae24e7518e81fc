"""Draws dc.svg from dc.jsonl, which `paper_dc full --json docs/plots/dc.jsonl` (benches/src/measures/published/paper_dc.rs) writes.

    python3 docs/plots/dc.py

The panels are figures 2 and 3 of Dong & Chen. Needs nothing but Python.
"""

import json
import pathlib

from panels import draw

HERE = pathlib.Path(__file__).parent
ROWS = 1_000_000

# What the paper's text says of a million rows: by density, seconds with one thread a party and in parallel, and megabytes.
PAPER = {0.1: (34.1, 18.9, 1.9 * 266), 1.0: (238, 57, 9.5 * 266)}


def main():
    points = [json.loads(line) for line in (HERE / "dc.jsonl").read_text().splitlines()]
    points = [point for point in points if (point["protocol"], point["level"], point["rows"]) == ("gm-bloom", "paper80", ROWS)]

    def here(label, threads, value):
        return label, sorted((point["density"], value(point)) for point in points if point["threads"] == threads)

    def paper(label, which):
        return label, [(density, numbers[which]) for density, numbers in PAPER.items()]

    def seconds(point):
        return point["seconds"]

    def megabytes(point):
        return point["bytes"] / 1e6

    panels = [
        ("2: one thread a party, seconds", "a million rows; the paper: two machines", [here("here", 1, seconds), paper("paper", 0)]),
        ("2: in parallel, seconds", "here 2 cores for both, the paper 16", [here("here", 2, seconds), paper("paper", 1)]),
        ("3: megabytes, both ways", "the paper: Paillier took 266", [here("here", 1, megabytes), paper("paper", 2)]),
    ]
    draw(HERE / "dc.svg", panels, len(panels), [(tenths / 10, f"{tenths / 10:g}") for tenths in range(0, 11, 2)])


if __name__ == "__main__":
    main()
