"""Figures 2 and 3 and table 2 of Dong & Chen, from dc.jsonl, which `paper_dc full --json docs/plots/dc.jsonl` writes
(benches/src/measures/published/paper_dc.rs)."""

import style

ROWS = 1_000_000

# Numbers that the paper's text and table 2 state. Seconds by density; by rows; the traffic as a multiple of Paillier's.
ONE_THREAD, PARALLEL = {0.1: 34.1, 1: 238}, {0.1: 18.9, 1: 57}
TABLE_2 = {"gm-bloom": {1_000: 0.27, 10_000: 2.25, 100_000: 22.01, 1_000_000: 238.37},
           "paillier": {1_000: 5.06, 10_000: 49.58, 100_000: 509, 1_000_000: 5039}}
PAILLIER_MEGABYTES = 266
MULTIPLES = {0.1: 1.9, 1: 9.5}


def draw():
    points = [point for point in style.rows("dc") if point.get("level") == "paper80"]
    figure, (table_2, one, parallel, traffic) = style.panels(4, 2)

    for place, (protocol, seconds) in enumerate(TABLE_2.items()):
        runs = [(p["rows"], p["seconds"]) for p in points if (p["protocol"], p["density"], p["threads"]) == (protocol, 1, 1)]
        style.measured(table_2, f"{protocol}, here", sorted(runs), place)
        style.stated(table_2, f"{protocol}, paper (table 2)", seconds.items(), place)
    style.numbers(table_2, list(TABLE_2["paillier"]))
    style.powers_of_ten(table_2)
    style.caption(table_2, "Table 2: density 1, one thread a party", "rows", "running time (seconds)")

    def by_density(threads, value):
        chosen = [p for p in points if (p["protocol"], p["rows"], p["threads"]) == ("gm-bloom", ROWS, threads)]
        return sorted((p["density"], value(p)) for p in chosen)

    style.measured(one, "gm-bloom, here", by_density(1, lambda p: p["seconds"]))
    style.stated(one, "gm-bloom, paper (section 4)", ONE_THREAD.items())
    style.caption(one, "Figure 2: a million rows, one thread a party", "density", "running time (seconds)")
    style.measured(parallel, "gm-bloom, here, 2 cores for both parties", by_density(2, lambda p: p["seconds"]))
    style.stated(parallel, "gm-bloom, paper (section 4), 16 cores", PARALLEL.items())
    style.caption(parallel, "Figure 2: a million rows, in parallel", "density", "running time (seconds)")
    for axis in (one, parallel):
        # The paper's figure has two lines of the other protocol, which density does not change.
        for place, rows in [(1, 5_000), (2, 50_000)]:
            seconds = next(p["seconds"] for p in points if (p["protocol"], p["rows"]) == ("paillier", rows))
            style.measured_level(axis, f"paillier, {rows:,} rows, here", seconds, place)
        style.powers_of_ten(axis)
        axis.set_ylim(0.1, 1000)

    style.measured(traffic, "gm-bloom, here", by_density(1, lambda p: p["bytes"] / 1e6))
    style.stated(traffic, "gm-bloom, paper (section 4)",
                 [(density, times * PAILLIER_MEGABYTES) for density, times in MULTIPLES.items()])
    style.stated_level(traffic, "paillier, paper (section 4)", PAILLIER_MEGABYTES, 1)
    traffic.set_ylim(bottom=0)
    traffic.yaxis.set_major_formatter(style.plain)
    style.caption(traffic, "Figure 3: a million rows, both directions", "density", "traffic (MB)")
    for axis in (table_2, one, parallel, traffic):
        style.legend(axis)
    return figure
