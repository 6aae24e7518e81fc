"""The common look of the plots in this folder, and the loading of their data.

Series that are measured here are solid lines with full markers. Numbers that a paper states are dashed lines with hollow markers, in the
colour of the series that they compare with.
"""

import json
import math
import pathlib

import matplotlib
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator
from matplotlib.transforms import ScaledTranslation

HERE = pathlib.Path(__file__).parent
COLOURS = ["#4477aa", "#ee6677", "#228833", "#aa3377", "#b8860b", "#666666"]
MARKERS = "osD^vP"
DASHES = (0, (3, 2))
SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")

# Text stays text. DejaVu Sans comes with matplotlib, so that the layout does not depend on the machine's fonts.
matplotlib.rcParams.update({
    "font.family": "sans-serif", "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial", "sans-serif"],
    "font.size": 8.5, "axes.titlesize": 9, "axes.titleweight": "bold", "axes.titlelocation": "left",
    "axes.labelsize": 8.5, "xtick.labelsize": 8, "ytick.labelsize": 8, "legend.fontsize": 7.5, "axes.spines.top": False,
    "axes.spines.right": False, "axes.grid": True, "axes.axisbelow": True, "grid.color": "#dddddd", "grid.linewidth": 0.6,
    "lines.linewidth": 1.4, "lines.markersize": 4, "legend.frameon": False,
    "legend.handlelength": 2.4, "legend.borderpad": 0.2, "legend.labelspacing": 0.3, "figure.facecolor": "white",
    "svg.fonttype": "none", "svg.hashsalt": "tacita",
})


def rows(name):
    """Returns the objects of NAME.jsonl."""
    return [json.loads(line) for line in (HERE / f"{name}.jsonl").read_text().splitlines()]


def panels(count, columns, height=3):
    """Returns a figure as wide as a page, and its axes in reading order."""
    lines = math.ceil(count / columns)
    figure = Figure(figsize=(9.6, height * lines), layout="constrained")
    axes = figure.subplots(lines, columns, squeeze=False).flatten()
    for spare in axes[count:]:
        spare.remove()
    figure.get_layout_engine().set(hspace=0.06, wspace=0.04)
    return figure, axes[:count]


def caption(axis, title, x, y):
    """Names a panel and its axes."""
    axis.set_title(title)
    axis.set_xlabel(x)
    axis.set_ylabel(y)


def measured(axis, label, points, place=0):
    """Draws numbers that are measured here. `place` is that of the colour and the marker."""
    xs, ys = zip(*points)
    axis.plot(xs, ys, label=label, color=COLOURS[place], marker=MARKERS[place], zorder=3)


def stated(axis, label, points, place=0):
    """Draws numbers that a paper states. Fewer than four are not joined: nothing is known of what lies between."""
    xs, ys = zip(*points)
    axis.plot(xs, ys, label=label, color=COLOURS[place], marker=MARKERS[place], markerfacecolor="white", markersize=5,
              linestyle=DASHES if len(xs) > 3 else "none", linewidth=1)


def stated_level(axis, label, y, place=0):
    """Draws a number that a paper states for all of the horizontal axis."""
    axis.axhline(y, label=label, color=COLOURS[place], linestyle=DASHES, linewidth=1)


def measured_level(axis, label, y, place=0):
    """Draws a number that is measured here for all of the horizontal axis."""
    axis.axhline(y, label=label, color=COLOURS[place], linewidth=1)


def note(axis, text):
    """Writes into the lower right corner."""
    axis.text(0.97, 0.05, text, transform=axis.transAxes, ha="right", va="bottom", color="#555555", fontsize=7.5)


def legend(axis):
    """Puts the legend below the axis and its name."""
    below = axis.transAxes + ScaledTranslation(-12 / 72, -30 / 72, axis.figure.dpi_scale_trans)
    axis.legend(loc="upper left", bbox_to_anchor=(0, 0), bbox_transform=below, borderaxespad=0)


def plain(number, _place=None):
    return f"{number:,.10g}"


def power_of_two(number, _place=None):
    return "2" + f"{round(math.log2(number))}".translate(SUPERSCRIPTS)


def powers_of_two(axis, first, last, step=2):
    """Puts powers of two, written as powers, on the horizontal axis."""
    axis.set_xscale("log", base=2)
    axis.xaxis.set_major_locator(FixedLocator([2**log2 for log2 in range(first, last + 1, step)]))
    axis.xaxis.set_major_formatter(FuncFormatter(power_of_two))
    axis.xaxis.set_minor_locator(NullLocator())


def numbers(axis, values, scale="log"):
    """Puts these plain numbers on the horizontal axis."""
    axis.set_xscale(scale)
    axis.xaxis.set_major_locator(FixedLocator(values))
    axis.xaxis.set_major_formatter(FuncFormatter(plain))
    axis.xaxis.set_minor_locator(NullLocator())


def powers_of_ten(axis):
    """Makes the vertical axis logarithmic, with plain numbers: 2 and 5 too where powers of ten would be few."""
    axis.set_yscale("log")
    low, high = axis.get_ylim()
    axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high / low < 100 else (1,), numticks=20))
    axis.yaxis.set_major_formatter(FuncFormatter(plain))
    axis.yaxis.set_minor_locator(NullLocator())
