"""Draws yws.svg from yws.jsonl, which `yws full --json docs/plots/yws.jsonl` (benches/src/bin/yws.rs) writes.

    python3 docs/plots/yws.py

The panels are figures 2 to 7 and 10 of Yang, Wright & Subramaniam. Needs nothing but Python.
"""

import html
import json
import pathlib

HERE = pathlib.Path(__file__).parent
COLOURS = ["#4477aa", "#ee6677", "#228833"]
WIDTH, HEIGHT, LEFT, TOP, COLUMNS = 300, 210, 55, 60, 4
RIGHT, BOTTOM = WIDTH - 20, HEIGHT - 30


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
    rows = -(-len(panels) // COLUMNS)
    size = COLUMNS * WIDTH, rows * HEIGHT
    drawn = [f'<g transform="translate({i % COLUMNS * WIDTH} {i // COLUMNS * HEIGHT})">{panel(*each)}</g>'
             for i, each in enumerate(panels)]
    body = "\n".join(drawn)
    (HERE / "yws.svg").write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size[0]} {size[1]}" font-family="sans-serif" '
        f'font-size="10">\n<rect width="100%" height="100%" fill="white"/>\n{body}\n</svg>\n')


def panel(title, note, curves):
    """One figure: rows to the right, its values up from 0."""
    last = max(x for _, line in curves for x, _ in line)
    step = tick(max(y for _, line in curves for _, y in line))
    top = step * max(-int(-y // step) for _, line in curves for _, y in line)

    def place(x, y):
        return LEFT + (RIGHT - LEFT) * x / last, BOTTOM - (BOTTOM - TOP) * y / top

    parts = [text(LEFT, 16, title, weight="bold"), text(LEFT, 44, note, fill="#666666")]
    for i in range(round(top / step) + 1):
        y = place(0, i * step)[1]
        parts += [f'<line x1="{LEFT}" x2="{RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#dddddd"/>',
                  text(LEFT - 5, y + 3, f"{i * step:g}", anchor="end")]
    for x in range(0, last + 1, 100_000):
        parts.append(text(place(x, 0)[0], BOTTOM + 13, f"{x // 1000}k" if x else "0", anchor="middle"))
    for i, ((label, line), colour) in enumerate(zip(curves, COLOURS)):
        at = [place(*point) for point in line]
        joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in at)
        parts += [f'<polyline points="{joined}" fill="none" stroke="{colour}" stroke-width="1.5"/>']
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.2" fill="{colour}"/>' for x, y in at]
        parts.append(text(LEFT + 85 * i, 32, label, fill=colour))
    return "\n".join(parts)


def tick(most):
    """The round number of which four to ten reach `most`."""
    unit = 10.0 ** (len(str(int(most))) - 1) if most >= 1 else 0.1
    return next(unit * factor for factor in (0.1, 0.2, 0.25, 0.5, 1, 2) if most / (unit * factor) <= 6)


def text(x, y, words, anchor="start", fill="black", weight="normal"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{fill}" font-weight="{weight}">'
            f"{html.escape(words)}</text>")


if __name__ == "__main__":
    main()
