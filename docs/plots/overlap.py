"""Draws overlap.svg from overlap.json, which `overlap --json docs/plots/overlap.json` (benches/src/measures/overlap.rs) writes.

    pip install matplotlib && python docs/plots/overlap.py
"""

import json
import pathlib

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt

HERE = pathlib.Path(__file__).parent
WAYS = [
    ("compute", "computation alone", "#4477aa"),
    ("network", "network alone", "#66ccee"),
    ("channel", "both, through the channel", "#228833"),
    ("alternate", "both, strictly in turns", "#ccbb44"),
]


def main():
    # Text stays text, and two drawings of the same numbers are the same file.
    plt.rcParams.update({"font.size": 10, "svg.fonttype": "none", "svg.hashsalt": "tacita", "font.family": "sans-serif"})
    rows = json.loads((HERE / "overlap.json").read_text())["overlap"]
    links = list(dict.fromkeys(row["link"] for row in rows))
    figure, axes = plt.subplots(1, len(links), figsize=(10, 4.2), layout="constrained")
    for axis, link in zip(axes, links):
        groups = [row for row in rows if row["link"] == link]
        for i, row in enumerate(groups):
            for j, (way, label, colour) in enumerate(WAYS):
                x = i + (j - 1.5) * 0.2
                axis.bar(x, row[way], 0.19, color=colour, label=label if i == 0 else None)
                axis.text(x, row[way], f"{row[way]:.1f}", ha="center", va="bottom", fontsize=7.5, zorder=5,
                          bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6, "alpha": 0.85})
            ideal = max(row["compute"], row["network"])
            axis.plot([i - 0.42, i + 0.42], [ideal, ideal], color="black", lw=1.2, ls="--",
                      label="the longer of the two: perfect overlap" if i == 0 else None)
        axis.set_title(link)
        axis.set_xticks(range(len(groups)), [f"{row['ratio']:g} x" for row in groups])
        axis.set_xlabel("computation per chunk, as a multiple of its transfer")
        axis.set_ylabel("seconds")
        axis.spines[["top", "right"]].set_visible(False)
        axis.set_ylim(top=max(max(row[way] for way, _, _ in WAYS) for row in groups) * 1.1)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    figure.savefig(HERE / "overlap.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
