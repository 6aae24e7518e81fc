"""Linear regression over features of two parties."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Optional

from ..errors import _input
from ._estimator import Regressor
from ._gram import Column, Gram, gram, scaled
from ._parties import Parties
from ._products import numbers

if TYPE_CHECKING:
    import pandas
    from typing_extensions import Self

__all__ = ["LinearRegression", "Ridge"]

Ranges = Mapping[str, tuple[float, float]]
"""By column, as ``"bank.income"``, the smallest and the largest number that there may be. Both parties know them."""

ROWS_EACH = 10
"""As many common rows are needed at least for each coefficient, the intercept included."""

OFF = 2e-9
"""What a mean of products of columns between -1 and 1, or a covariance, is off at most, where columns and products are rounded to nine digits."""

MAX_LOSS = 1e-2
"""What `OFF` may be in coefficients, as a part of their sum, before columns are taken to depend on each other."""


class LinearRegression(Regressor):
    """Least squares, as scikit-learn's ``LinearRegression``, of features that two parties have of the same rows, and a target that one of them has.

    **Fitting** tells the party with the target the numbers that least squares are made of, over common rows: how many there are, the sum of each of the
    other's features, and the sum of the products of each of these with each column, its own and the other's. Over hidden rows it learns such sums of its own
    columns, too. **These are means, variances and covariances of the other's features: more than the coefficients.** The other party learns nothing of them.

    Fewer common rows than ten for each coefficient (and the intercept), or than `min_rows`, end the fit at both before anything but their number is opened:
    of few rows, such sums tell the rows. **Of many rows they tell the rows that the learner asks for**: with a column of its own that is 0 in all rows but
    one, it reads the other's features of that row. Two fits of nearly the same rows tell the difference.

    Columns of numbers need a range, which both parties state; a column with agreed categories, or in a simulation one of text, is a column of zeros and ones
    for each of its categories, but for the first one where there is an intercept. Features that follow from each other in the common rows are refused.

    >>> import pandas as pd
    >>> from tacita import learn
    >>> rooms, age = [2 + row % 5 for row in range(40)], [row % 7 for row in range(40)]
    >>> parties = learn.Parties.simulated({
    ...     "bank": pd.DataFrame({"price": [100 * room - 5 * years for room, years in zip(rooms, age)], "rooms": rooms}),
    ...     "registry": pd.DataFrame({"age": age}),
    ... }, tell=None)
    >>> ranges = {"bank.price": (0, 1000), "bank.rooms": (1, 10), "registry.age": (0, 10)}
    >>> model = learn.LinearRegression(ranges=ranges).fit(parties, "bank.price", ["bank.rooms", "registry.age"])
    >>> model.coef_.round(4).tolist()
    [100.0, -5.0]
    >>> model.predict(pd.DataFrame({"bank.rooms": [3], "registry.age": [2]})).round(4).tolist()
    [290.0]
    """

    def __init__(
        self, *, ranges: Optional[Ranges] = None, fit_intercept: bool = True, min_rows: Optional[int] = None
    ) -> None:
        """`ranges` say which numbers a column may have, as ``{"bank.income": (0, 500_000)}``: narrow ones keep more digits. They are no affair of
        the data, whose smallest and largest number are those of a row.

        `min_rows` are needed in common: ten for each coefficient if nothing is said, and at least. Both parties give the same `ranges`, `fit_intercept`
        and `min_rows`: these are terms.
        """
        self.ranges, self.fit_intercept, self.min_rows = ranges, fit_intercept, min_rows
        self._check_params()

    def _check_params(self) -> None:
        for column, limits in (self.ranges or {}).items():
            pair = isinstance(limits, (tuple, list)) and len(limits) == 2 and all(map(_is_number, limits))
            if not pair or not limits[0] < limits[1]:
                raise _input(f"ranges: {column} = {limits!r}: give the smallest and the largest number, as (0, 100)")
        if not isinstance(self.fit_intercept, bool):
            raise _input(f"fit_intercept = {self.fit_intercept!r}: True or False")
        least = self.min_rows
        if least is not None and (isinstance(least, bool) or not isinstance(least, Integral) or least < 1):
            raise _input(f"min_rows = {least!r}: a whole number, one at least, or None")

    def fit(self, parties: Parties, target: str, features: Sequence[str]) -> Self:
        """Fits the model to rows of two parties. It is there at the party whose `target` is; the other's stays empty."""
        import numpy

        self._check_params()
        owner, _ = parties.column(target)
        peer, features = parties.peer(owner), [features] if isinstance(features, str) else list(features)
        asked = [target, *features]
        twice = next((name for name in asked if asked.count(name) > 1), None)
        if twice is not None:
            raise _input(f"{twice} is named twice, among the features and the target")
        if all(parties.column(feature)[0] == owner for feature in features):
            raise _input(f"all features are {owner}'s: no other party is needed")
        of_target, of_features = self._columns(parties, target), {name: self._columns(parties, name) for name in features}
        if of_target[0].category is not None:
            raise _input(f"{target} is the target, and has no range: numbers alone are predicted")
        alone = next((name for name, made in of_features.items() if not made), None)
        if alone is not None:
            raise _input(f"{alone} has one category: it is the same in all rows")
        columns = [column for made in of_features.values() for column in made]
        parameters = len(columns) + self.fit_intercept
        least = ROWS_EACH * parameters if self.min_rows is None else self.min_rows
        if least < ROWS_EACH * parameters:
            raise _input(f"min_rows = {least}: {ROWS_EACH * parameters} at least, {ROWS_EACH} for each of {parameters} coefficients")
        sides = {party: [column for column in columns if column.party == party] for party in parties.names}
        # What is wrong with own columns is found before anything is sent.
        given = {
            party: scaled(parties, sides[party] + (of_target if party == owner else []))
            for party in filter(parties.here, parties.names)
        }
        self.owner, self.target, self.features = owner, target, features
        self.feature_names_in_, self.n_features_in_ = numpy.array(features, dtype=object), len(features)
        self.categories_ = {
            name: parties.categories(*parties.column(name)) for name, made in of_features.items() if made[0].category is not None
        }
        self._tell(parties, {party: [_titled(column) for column in own] for party, own in sides.items()}, least)
        found = gram(parties, owner, sides, given, of_target[0], least)
        if found is not None:
            self._solve(found, columns, of_target[0])
        return self

    def _columns(self, parties: Parties, reference: str) -> list[Column]:
        """The column of numbers that a reference means, or one for each category."""
        from pandas.api import types

        party, column = parties.column(reference)
        limits = (self.ranges or {}).get(reference)
        if limits is not None:
            low, high = map(float, limits)
            # Without an intercept, zero has to stay where it is.
            return [Column(party, column, low, high, (low + high) / 2 if self.fit_intercept else 0.0)]
        if parties.agreed(party, column) is None and (
            not all(map(parties.here, parties.names)) or types.is_numeric_dtype(parties.tables[party][column])
        ):
            raise _input(f"which numbers may {reference} have? Both parties have to say: ranges={{{reference!r}: (0, 100)}}")
        categories = parties.categories(party, column)
        centre = 0.5 if self.fit_intercept else 0.0
        return [Column(party, column, 0.0, 1.0, centre, category) for category in categories[self.fit_intercept :]]

    def _tell(self, parties: Parties, titles: Mapping[str, Sequence[str]], least: int) -> None:
        owner, peer = self.owner, parties.peer(self.owner)
        theirs, own = ", ".join(titles[peer]), ", ".join([*titles[owner], self.target])
        parties.tell(
            f"{owner} learns how many rows are common and, over these, the sum of each of {theirs}.",
            f"{owner} learns the sum of the products of each of these with each other, with itself, and with each of {own}.",
            f"They are means, variances and covariances of {peer}'s columns: more than the coefficients, which follow from them.",
        )
        if parties.hidden:
            parties.tell(
                f"{owner} learns such sums of its own {own}, over common rows. "
                "A column that is 0 in all rows but one tells it whether that row is common."
            )
        parties.tell(
            f"If fewer than {least} rows are common, the fit ends at both before any of these sums is opened.",
            f"That does not hide single rows from {owner} if it chooses its columns for that: "
            f"one that is 0 in all rows but one tells it {peer}'s columns of that row.",
            f"{peer} learns nothing of {owner}'s rows by the fit.",
        )

    def _solve(self, found: Gram, columns: Sequence[Column], target: Column) -> None:
        """Coefficients from sums, and what they are off at most because columns are rounded."""
        import numpy

        # On their scales, where the range of each column is between -1 and 1.
        matrix = found.moments(columns, columns, central=self.fit_intercept)
        halves = numpy.array([column.half for column in columns])
        penalised = matrix + numpy.diag(self._penalty() / found.rows / halves**2)
        try:
            inverse = numpy.linalg.inv(penalised)
        except numpy.linalg.LinAlgError:
            inverse = numpy.full_like(matrix, numpy.inf)
        # If A w = b, and each number of A and b is off by d at most, then w is off by |1/A| 1 d (1 + |w|) / (1 - d 1 |1/A| 1) at most.
        reach = numpy.abs(inverse).sum(axis=1)
        loss = OFF * reach.sum()
        if not loss < MAX_LOSS:
            raise _input(f"{self.owner}: {self._depending(matrix, columns)}")
        scaled_coef = inverse @ found.moments(columns, [target], central=self.fit_intercept)[:, 0]
        scaled_off = OFF * reach * (1 + numpy.abs(scaled_coef).sum()) / (1 - loss)
        self.coef_names_ = numpy.array([_titled(column) for column in columns], dtype=object)
        self.coef_, self.coef_error_ = (numbers * target.half / halves for numbers in (scaled_coef, scaled_off))
        self.intercept_, self.intercept_error_ = 0.0, 0.0
        if self.fit_intercept:
            means = found.means(columns)
            centres = numpy.array([column.centre for column in columns])
            apart = float(found.means([target])[0] - scaled_coef @ means)
            self.intercept_ = target.centre + target.half * apart - float(self.coef_ @ centres)
            self.intercept_error_ = target.half * OFF * float(1 + numpy.abs(scaled_coef).sum()) + float(
                self.coef_error_ @ (halves + numpy.abs(centres))
            )
        self.n_rows_, self._design = found.rows, list(columns)

    def _penalty(self) -> float:
        """What the sum of the squares of coefficients is multiplied with."""
        return 0.0

    def _depending(self, matrix: Any, columns: Sequence[Column]) -> str:
        """Says of which columns there are no coefficients."""
        import numpy

        spread = numpy.sqrt(matrix.diagonal().clip(min=0))
        narrow = [_titled(column) for column, own in zip(columns, spread) if OFF * len(columns) >= MAX_LOSS * own**2]
        if narrow:
            return f"{', '.join(narrow)}: the same in nearly all common rows, for a range so wide: leave it out, or narrow its range"
        weights = numpy.abs(numpy.linalg.eigh(matrix / numpy.outer(spread, spread))[1][:, 0])
        together = [_titled(column) for column, weight in zip(columns, weights) if weight > weights.max() / 100]
        return f"{', '.join(together)}: each follows, or nearly, from the others in the common rows: leave one out, narrow wide ranges, or use Ridge with more alpha"

    def predict(self, rows: pandas.DataFrame) -> Any:
        """The number of each row, whose features stand in columns that are called as the features are."""
        import numpy

        self._check()
        if isinstance(rows, Parties):
            raise _input("rows of two parties are not predicted: of one feature, a number for each row would tell it")
        values = []
        for column in self._design:
            reference = f"{column.party}.{column.column}"
            if reference not in rows:
                raise _input(f"no column {reference!r}: the rows have {', '.join(map(str, rows.columns))}")
            cells = rows[reference]
            if column.category is None:
                values.append(numbers(cells, reference, "a regression", when=""))
                continue
            known = self.categories_[reference]
            strange = ~cells.isin(known).to_numpy()
            if strange.any():
                raise _input(f"{reference}: {cells.iloc[strange.argmax()]!r} is none of its {len(known)} categories")
            values.append((cells == column.category).to_numpy(dtype=float))
        return numpy.column_stack(values) @ self.coef_ + self.intercept_

    def _check(self) -> None:
        if not hasattr(self, "coef_"):
            raise _input(
                f"the model is not here: {getattr(self, 'owner', 'the party with the target')} has it, once it is fitted"
            )


class Ridge(LinearRegression):
    """Least squares with a penalty, as scikit-learn's ``Ridge``: `LinearRegression` with `alpha` times the sum of squared coefficients. Features may follow
    from each other. What is learned is the same.

    >>> from tacita import learn
    >>> learn.Ridge(0.5, ranges={"bank.price": (0, 1000)})
    Ridge(alpha=0.5, ranges={'bank.price': (0, 1000)})
    """

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        ranges: Optional[Ranges] = None,
        fit_intercept: bool = True,
        min_rows: Optional[int] = None,
    ) -> None:
        """`alpha` is an affair of the party with the target alone. The rest is as of `LinearRegression`."""
        self.alpha = alpha
        super().__init__(ranges=ranges, fit_intercept=fit_intercept, min_rows=min_rows)

    def _check_params(self) -> None:
        super()._check_params()
        if not _is_number(self.alpha) or self.alpha < 0:
            raise _input(f"alpha = {self.alpha!r}: a number, and zero at least")

    def _penalty(self) -> float:
        return float(self.alpha)


def _titled(column: Column) -> str:
    return f"{column.party}.{column.title}"


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
