"""Pictures of results. They need matplotlib, which the package does not bring: ``pip install 'tacita[plot]'``.

Each function draws, and returns what it has drawn on, to be changed, shown or saved. Rules may come from `tacita.rules` or from mlxtend.

>>> import pandas as pd, tacita
>>> counts = {"ashby": 700, "carrick": 530, ("ashby", "carrick"): 120}
>>> figure = tacita.plot.upset(counts)
>>> figure.savefig("organisations.svg")  # doctest: +SKIP
"""

from ._histogram import histogram
from ._network import network
from ._scatter import scatter
from ._upset import upset

__all__ = ["histogram", "network", "scatter", "upset"]
