"""Draws yws.svg from yws.jsonl, which `paper_yws full --json docs/plots/yws.jsonl` (benches/src/measures/published/paper_yws.rs) writes.

    python3 docs/plots/yws.py

The panels are figures 2 to 7 and 10 of Yang, Wright & Subramaniam. Needs nothing but Python.
"""

import json
import pathlib

from panels import draw

HERE = pathlib.Path(__file__).parent
COLUMNS = 4


def main():
    lines = [json.loads(line) for line in (HERE / "yws.jsonl").read_text().splitlines()]
    points = [line for line in lines if "way" in line and line["bits"] <= 1024]

    def curve(label, bits, way, value):
        chosen = [point for point in points if (point["bits"], point["way"]) == (bits, way)]
        return label, [(point["rows"], value(point)) for point in chosen]

    def both(way, value):
        return [curve(f"{bits} bits", bits, way, value) for bits in (512, 1024)]

    def of(name):
        return lambda point: point[name]

    def busiest(point):
        return max(point["encryptor_cpu"])

    share = both("plain", lambda point: 100 * busiest(point) / point["in_turns"])
    batches = [curve("in turns", 512, "plain", of("in_turns")),
               curve("chunks of 100, overlapped", 512, "chunks of 100", of("overlapped"))]
    clients = [curve("1 client", 1024, "plain", busiest), curve("3 clients, the busiest", 1024, "3 clients", busiest)]
    panels = [
        ("2: overall running time, seconds", "paper, 200k: 17.4 and 80.7 minutes", both("plain", of("in_turns"))),
        ("3: encryptor's part of it, per cent", "paper: 98", share),
        ("4: answerer's CPU seconds", "", both("plain", of("answerer_cpu"))),
        ("5: transfer at 100 Mbit/s, seconds", "", both("plain", of("transfer"))),
        ("6: 512 bits, overall, seconds", "paper: chunks take about 10 % less", batches),
        ("7: online with preprocessing, seconds", "paper, 200k, 1024 bits: 19.72", both("preprocessed", of("in_turns"))),
        ("10: 1024 bits, encrypting, CPU seconds", "paper: overall 2.99 times less", clients),
    ]
    marks = [(rows, f"{rows // 1000}k" if rows else "0") for rows in range(0, 500_001, 100_000)]
    draw(HERE / "yws.svg", panels, COLUMNS, marks)


if __name__ == "__main__":
    main()
