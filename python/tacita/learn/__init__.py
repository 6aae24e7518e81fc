"""From join to model: statistics and models of two organisations' tables, of which neither is shown. Needs pandas and pyarrow.

`Parties` are the two; `Parties.align` says by which columns their rows belong together, and hides which rows both have unless they are asked for.
`contingency`, `count` and `correlation` are tables of what columns here and columns there have to do with each other; `LinearRegression`, `Ridge`, `CategoricalNB` and
`KNeighborsClassifier` are models that are fitted and predict as scikit-learn's do, whose names they have. All of them stand on private intersections,
cross tables and scalar products, and are exact, or as exact as they say: what comes out is what the joined table would give. Before each of them runs, it is
said what each party will learn by it; docs/guides/learn.md has it all in one place.

>>> import pandas as pd
>>> from tacita import learn
>>> bank = pd.DataFrame({"name": ["Ann", "Bo", "Cy", "Di"], "owns": ["house", "flat", "house", "house"]})
>>> shop = pd.DataFrame({"name": ["bo", "cy", "di", "ed"], "buys": ["no", "yes", "yes", "no"]})
>>> parties = learn.Parties.simulated({"bank": bank, "shop": shop}, tell=None)
>>> common = parties.align(["name"], normalize=["name"])
>>> learn.contingency(common, "bank.owns", "shop.buys", min_cell=0)  # doctest: +NORMALIZE_WHITESPACE
shop.buys  no  yes
bank.owns
flat        1    0
house       0    2
>>> common.common
3
"""

from ._bayes import CategoricalNB
from ._linear import LinearRegression, Ridge
from ._neighbours import KNeighborsClassifier
from ._parties import Parties
from ._statistics import contingency, correlation, count

__all__ = ["CategoricalNB", "KNeighborsClassifier", "LinearRegression", "Parties", "Ridge", "contingency", "correlation", "count"]
