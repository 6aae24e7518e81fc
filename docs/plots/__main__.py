"""Draws the plots of this folder: those that are named, or all. Needs matplotlib (`make plots` brings it).

    python3 docs/plots [NAME...]
"""

import importlib
import sys

import style
from digest import digest

for name in sys.argv[1:] or sorted(path.stem for path in style.HERE.glob("*.svg")):
    figure = importlib.import_module(name).draw()
    figure.savefig(style.HERE / f"{name}.svg", metadata={"Date": None, "Identifier": digest(name)})
