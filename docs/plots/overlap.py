"""Overlap of computation and network in the channel, from overlap.json, which `overlap --json docs/plots/overlap.json` writes
(benches/src/measures/overlap.rs)."""

import json

import style

WAYS = [("compute", "computation alone"), ("network", "network alone"), ("channel", "both, through the channel"),
        ("alternate", "both, strictly in turns")]


def draw():
    rows = json.loads((style.HERE / "overlap.json").read_text())["overlap"]
    links = list(dict.fromkeys(row["link"] for row in rows))
    figure, axes = style.panels(len(links), len(links), 3.8)
    for axis, link in zip(axes, links):
        bars(axis, [row for row in rows if row["link"] == link])
        style.caption(axis, link, "computation of a chunk, as a multiple of its transfer", "running time (seconds)")
        style.legend(axis)
    return figure


def bars(axis, groups):
    for place, (way, label) in enumerate(WAYS):
        middles = [group + 0.2 * (place - 1.5) for group in range(len(groups))]
        drawn = axis.bar(middles, [row[way] for row in groups], 0.18, color=style.COLOURS[place], label=label)
        axis.bar_label(drawn, fmt="%.2f", padding=2.5, fontsize=7, zorder=4, bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.4})
    for group, row in enumerate(groups):
        ideal = max(row["compute"], row["network"])
        axis.plot([group - 0.42, group + 0.42], [ideal, ideal], color="black", linewidth=1, linestyle=style.DASHES,
                  label=None if group else "the longer of computation and network: perfect overlap")
    axis.set_xticks(range(len(groups)), [f"{row['ratio']:g} ×" for row in groups])
    axis.xaxis.grid(False)
    axis.margins(y=0.08)
