"""Figures 2 to 4 and tables 4 and 6 of Kim & Kim, from kk.jsonl, which `paper_kk WHAT --json FILE` writes part by part
(benches/src/measures/published/paper_kk.rs)."""

import statistics

import style

# Seconds that the paper states, by log2 of k, by Karatsuba and by the FFT: whole runs, the programs, transmission.
TABLE_3 = {
    7: (98.769, 105.105), 8: (240.920, 255.564), 9: (256.322, 366.618), 10: (317.130, 1088.117), 11: (1001.345, 1332.306),
    12: (2651.158, 2881.258), 13: (7743.503, 5786.149), 14: (23006.365, 15031.275),
}
TABLE_4 = {
    7: (3.81492, 10.10092), 8: (11.18280, 25.72680), 9: (96.11820, 206.21420), 10: (223.47640, 994.06140),
    11: (855.156, 1185.316), 12: (2551.718, 2780.214), 13: (7621.725, 5661.165), 14: (22772.382, 14790.879),
    15: (68054.006, 33634.982), 16: (203403.827, 75978.705),
}
TABLE_5 = {
    7: (0.147, 0.211), 8: (0.311, 0.430), 9: (0.581, 0.769), 10: (1.192, 1.724), 11: (2.425, 3.216), 12: (4.781, 6.119),
    13: (9.411, 12.811), 14: (17.739, 26.004),
}
# The same of table 6, by k.
TABLE_6 = {
    4096: (2581.008, 2891.355), 4106: (2600.411, 2896.564), 4116: (2623.392, 2907.618), 4126: (2651.338, 2914.117),
    4136: (2683.304, 2912.306), 4146: (2711.771, 2921.258), 4316: (2968.003, 2971.149), 4326: (3019.365, 2981.445),
    4336: (3062.805, 2998.607), 4346: (3113.920, 3011.051), 4356: (3150.717, 3010.577),
}

KARATSUBA, FFT, TOOM, POINTS = range(4)
PARTS = ("keys", "encrypted", "product", "known", "encoding", "decrypted", "evaluated", "transfer")


def draw():
    lines = style.rows("kk")
    runs = [line for line in lines if line.get("table") == 4]
    keys = [line for line in lines if line.get("figure") == 2]
    parts = [with_keys(line, keys) for line in lines if line.get("figure") == 3]
    tables_6 = {line["what"]: line["rows"] for line in lines if line.get("table") == 6}
    figure, axes = style.panels(9, 3)

    def table_4(axis, label, group, strategy, place, published=True):
        chosen = [run for run in runs if (run["group"], run["strategy"], run["published"]) == (group, strategy, published)]
        style.measured(axis, f"{label}, here", sorted((2 ** run["log2"], run["seconds"]) for run in chosen), place)

    def table_4_of_paper(axis):
        for which, label in enumerate(("Karatsuba", "FFT")):
            style.stated(axis, f"{label}, paper (table 4)", [(2**log2, seconds[which]) for log2, seconds in TABLE_4.items()], which)

    generation, modp, curves, bins, share, pieces, product, whole, cut_off = axes
    key_generation(generation, keys)

    table_4(modp, "Karatsuba", "mod p", "karatsuba", KARATSUBA)
    table_4(modp, "FFT", "mod p, Fourier", "fft", FFT)
    style.caption(modp, "Table 4: 1024 bits", "elements k", "seconds; here CPU of both")

    table_4(curves, "Karatsuba, ristretto255", "ristretto255", "karatsuba", KARATSUBA)
    table_4(curves, "Toom-3, ristretto255", "ristretto255", "toom3", TOOM)
    table_4(curves, "FFT, Pallas", "Pallas", "fft", FFT)
    style.caption(curves, "Table 4: on curves", "elements k", "seconds; here CPU of both")

    table_4(bins, "points, ristretto255", "ristretto255", "points", POINTS, published=False)
    style.caption(bins, "Table 4: in bins", "elements k", "seconds; here CPU of both")

    for axis in (modp, curves, bins):
        table_4_of_paper(axis)
        style.powers_of_two(axis, 6, 16)
        style.powers_of_ten(axis)

    shares_of_keys(share, parts)
    parts_of_runs(pieces, parts)

    for axis, rows, title in [(product, tables_6["Pallas, the server's product"], "Table 6: the server's product"),
                              (whole, tables_6["Pallas, whole runs"], "Table 6: whole runs")]:
        for which, (label, place) in enumerate([("Karatsuba", KARATSUBA), ("Toom-3", TOOM), ("FFT", FFT)]):
            style.measured(axis, f"{label}, Pallas, here", [(k, seconds[which]) for k, seconds in rows if k >= 64], place)
        style.powers_of_two(axis, 6, 9, 1)
        style.powers_of_ten(axis)
        style.caption(axis, title, "elements k", "CPU (seconds)")
    for which, label in enumerate(("Karatsuba", "FFT")):
        style.stated(cut_off, f"{label}, paper (table 6)", [(k, seconds[which]) for k, seconds in TABLE_6.items()], which)
    style.numbers(cut_off, [4096, 4216, 4326], "linear")
    cut_off.yaxis.set_major_formatter(style.plain)
    style.caption(cut_off, "Table 6: cut-off in the paper", "elements k", "running time (seconds)")
    for axis in axes:
        style.legend(axis)
    return figure


def with_keys(part, keys):
    """Returns a run's parts with the median time of key generation for its group; on curves there is none."""
    general = [second for key in keys if key["t"] == 1 for second in key["seconds"]]
    fourier = [second for key in keys if key["t"] > 1 for second in key["seconds"]]
    seconds = {"mod p": statistics.median_high(general), "mod p, Fourier": statistics.median_high(fourier)}
    return {**part, "keys": seconds.get(part["group"], 0)}


def key_generation(axis, keys):
    """Any prime stands to the left of those that have a t."""
    keys = sorted(keys, key=lambda key: key["t"])
    for place, key in enumerate(keys):
        axis.plot([place] * len(key["seconds"]), key["seconds"], color=style.COLOURS[0], marker=".", alpha=0.4, linestyle="none",
                  label=None if place else "single keys, here")
    axis.plot(range(len(keys)), [key["median"] for key in keys], color=style.COLOURS[0], marker="o", linestyle="none", label="median, here")
    axis.plot(range(len(keys)), [key["paper"] for key in keys], color=style.COLOURS[1], marker="s", markerfacecolor="white", markersize=5,
              linestyle="none", label="mean, paper (table 1, section 4)")
    axis.set_xticks(range(len(keys)), ["any q" if key["t"] == 1 else f"t = {key['t']}" for key in keys])
    style.powers_of_ten(axis)
    style.caption(axis, "Figure 2: keys of 1024 bits", "form of the prime", "key generation (seconds)")


def total(part):
    return sum(part[name] for name in PARTS)


def shares_of_keys(axis, parts):
    for place, (label, group, strategy) in enumerate([("Karatsuba", "mod p", "karatsuba"), ("FFT", "mod p, Fourier", "fft")]):
        chosen = [part for part in parts if (part["group"], part["strategy"]) == (group, strategy)]
        style.measured(axis, f"{label}, here", [(part["k"], 100 * part["keys"] / total(part)) for part in chosen], place)
        rest = {log2: TABLE_4[log2][place] + TABLE_5[log2][place] for log2 in TABLE_3}
        of_paper = [(2**log2, 100 * (1 - rest[log2] / seconds[place])) for log2, seconds in TABLE_3.items()]
        style.stated(axis, f"{label}, paper (tables 3 to 5)", of_paper, place)
    style.powers_of_two(axis, 6, 14)
    axis.set_ylim(0, 100)
    style.caption(axis, "Figures 3, 4: share of key generation", "elements k", "part of the run (%)")


def parts_of_runs(axis, parts):
    chosen = [part for part in parts if (part["group"], part["strategy"]) == ("ristretto255", "toom3")]
    places = range(len(chosen))
    below = [0] * len(chosen)
    for colour, label, names in [(0, "the receiver's evaluation", ["evaluated"]), (1, "the server's product", ["product"]),
                                 (5, "all else, transfer included", [name for name in PARTS if name not in ("evaluated", "product")])]:
        heights = [100 * sum(part[name] for name in names) / total(part) for part in chosen]
        axis.bar(places, heights, 0.7, below, color=style.COLOURS[colour], label=label)
        below = [low + height for low, height in zip(below, heights)]
    axis.set_xticks(places, [style.power_of_two(part["k"]) for part in chosen])
    style.caption(axis, "Figure 3: Toom-3 on ristretto255", "elements k", "part of the run (%)")
