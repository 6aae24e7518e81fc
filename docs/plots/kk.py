"""Draws kk.svg from kk.jsonl, which `paper_kk WHAT --json FILE` (benches/src/measures/published/paper_kk.rs) writes part by part.

    python3 docs/plots/kk.py

The panels are figures 2 to 4 and tables 4 and 6 of Kim & Kim. Times that span five powers of ten are drawn as logarithms. Needs
nothing but Python.
"""

import json
import math
import pathlib

from panels import draw

HERE = pathlib.Path(__file__).parent
COLUMNS = 4

# The horizontal axes begin at 2^6.
FIRST = 6

# Table 4: seconds by log2 of k, by Karatsuba and by the FFT; and what tables 3 to 5 leave for keys, and all.
PAPER = {
    7: (3.81492, 10.10092), 8: (11.18280, 25.72680), 9: (96.11820, 206.21420), 10: (223.47640, 994.06140),
    11: (855.156, 1185.316), 12: (2551.718, 2780.214), 13: (7621.725, 5661.165), 14: (22772.382, 14790.879),
    15: (68054.006, 33634.982), 16: (203403.827, 75978.705),
}
TOTAL = {
    7: (98.769, 105.105), 8: (240.920, 255.564), 9: (256.322, 366.618), 10: (317.130, 1088.117), 11: (1001.345, 1332.306),
    12: (2651.158, 2881.258), 13: (7743.503, 5786.149), 14: (23006.365, 15031.275),
}


def main():
    lines = [json.loads(line) for line in (HERE / "kk.jsonl").read_text().splitlines()]
    runs = [line for line in lines if line.get("table") == 4]
    parts = [line for line in lines if line.get("figure") == 3]
    keys = [line for line in lines if line.get("figure") == 2]
    general = next(key["median"] for key in keys if key["t"] == 1)
    keys = [key for key in keys if key["t"] > 1]
    seconds = sorted(second for key in keys for second in key["seconds"])
    of_key = {"mod p": general, "mod p, Fourier": seconds[len(seconds) // 2]}
    for part in parts:
        part["keys"] = of_key.get(part["group"], 0)

    def logarithm(seconds):
        return math.log10(1000 * seconds)

    def here(label, group, strategy, published=True):
        chosen = [run for run in runs if (run["group"], run["strategy"], run["published"]) == (group, strategy, published)]
        return label, sorted((run["log2"] - FIRST, logarithm(run["seconds"])) for run in chosen)

    def paper(label, which, most=16):
        return label, [(log2 - FIRST, logarithm(times[which])) for log2, times in PAPER.items() if log2 <= most]

    def programs(label, group, strategy):
        chosen = [part for part in parts if (part["group"], part["strategy"]) == (group, strategy)]
        share = lambda part: 100 * part["keys"] / total(part)
        return label, [(part["log2"] - FIRST, share(part)) for part in chosen]

    def total(part):
        return sum(part[name] for name in ("keys", "encrypted", "product", "known", "encoding", "decrypted", "evaluated", "transfer"))

    def in_paper(label, which):
        share = lambda log2: 100 * (TOTAL[log2][which] - PAPER[log2][which]) / TOTAL[log2][which]
        return label, [(log2 - FIRST, share(log2)) for log2 in TOTAL]

    def pieces(group, strategy):
        chosen = [part for part in parts if (part["group"], part["strategy"]) == (group, strategy)]
        of = lambda name: [(part["log2"] - FIRST, 100 * part[name] / total(part)) for part in chosen]
        return [("evaluate", of("evaluated")), ("product", of("product")), ("transfer", of("transfer"))]

    def table_6(what):
        rows = next(line for line in lines if line.get("table") == 6 and line["what"] == what)["rows"]
        rows = [row for row in rows if row[0] >= 2**FIRST]
        curve = lambda which: [(math.log2(k) - FIRST, logarithm(times[which])) for k, times in rows]
        return [(name, curve(which)) for which, name in enumerate(["Karatsuba", "Toom-3", "FFT"])]

    marks = [(log2 - FIRST, f"2^{log2}") for log2 in range(FIRST, 17, 2)]
    panels = [
        ("2: key generation by t, seconds", "1024 bits; medians here", [
            ("here", [(key["t"] - FIRST, key["median"]) for key in keys]),
            ("paper", [(key["t"] - FIRST, key["paper"]) for key in keys])]),
        ("Table 4, 1024 bits: log10 of milliseconds", "published form, both parties", [
            here("Karatsuba", "mod p", "karatsuba"), here("FFT", "mod p, Fourier", "fft"),
            paper("paper: K.", 0, 14), paper("paper: FFT", 1, 14)]),
        ("Table 4 on curves: log10 of milliseconds", "published form, both parties", [
            here("Karatsuba", "ristretto255", "karatsuba"), here("Toom-3", "ristretto255", "toom3"),
            here("FFT", "Pallas", "fft"), paper("paper", 0, 14)]),
        ("Table 4 in bins: log10 of milliseconds", "ristretto255, both parties", [
            here("points", "ristretto255", "points", False), here("Karatsuba", "ristretto255", "karatsuba", False),
            paper("paper: K.", 0), paper("paper: FFT", 1)]),
        ("3, 4: keys' part of all, per cent", "1024 bits; the paper's with transfer, at most 0.4", [
            programs("Karatsuba", "mod p", "karatsuba"), programs("FFT", "mod p, Fourier", "fft"),
            in_paper("paper: K.", 0), in_paper("paper: FFT", 1)]),
        ("3: parts of a run, per cent", "ristretto255, Toom-3", pieces("ristretto255", "toom3")),
        ("Table 6, server's product: log10 of ms", "Pallas; the paper's cut-off: 4326", table_6("Pallas, the server's product")),
        ("Table 6, whole runs: log10 of ms", "Pallas; the paper's cut-off: 4326", table_6("Pallas, whole runs")),
    ]
    draw(HERE / "kk.svg", panels, COLUMNS, marks)


if __name__ == "__main__":
    main()
