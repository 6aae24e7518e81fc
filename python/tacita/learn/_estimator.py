"""What the models have in common with scikit-learn's, whether that is installed or not."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Optional, Union

from ..errors import _input
from ._parties import Parties

if TYPE_CHECKING:
    import pandas
    from typing_extensions import Self

__all__ = ["Classifier", "Estimator", "Regressor", "labels_of"]


class Estimator:
    """A model as scikit-learn's: its parameters are those of ``__init__``, and ``sklearn.base.clone`` makes one of the same."""

    _mixin: str
    """The class of scikit-learn that says what kind of model it is."""

    @classmethod
    def _names(cls) -> list[str]:
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters, by name. None of them has parameters of its own, so that `deep` makes no difference."""
        return {name: getattr(self, name) for name in self._names()}

    def set_params(self, **params: Any) -> Self:
        """Sets parameters. What is fitted stays as it was fitted."""
        for name, value in params.items():
            if name not in self._names():
                raise _input(f"{name}: {type(self).__name__} has no such parameter: it has {', '.join(self._names())}")
            setattr(self, name, value)
        self._check_params()
        return self

    def _check_params(self) -> None:
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        from sklearn import base

        return type("_Estimator", (getattr(base, self._mixin), base.BaseEstimator), {})().__sklearn_tags__()

    def __repr__(self) -> str:
        usual = inspect.signature(type(self).__init__).parameters
        changed = [f"{name}={value!r}" for name, value in self.get_params().items() if value != usual[name].default]
        return f"{type(self).__name__}({', '.join(changed)})"


class Classifier(Estimator):
    """A model that predicts labels."""

    _estimator_type = "classifier"
    _mixin = "ClassifierMixin"

    def predict(self, rows: Any, /) -> Any:
        """The label of each row."""
        raise NotImplementedError

    def _learner(self, parties: Parties) -> str:
        """The party that gets the predictions."""
        raise NotImplementedError

    def score(self, rows: Union[pandas.DataFrame, Parties], y: Union[Sequence[object], str]) -> Optional[float]:
        """The share of rows whose label is predicted as it is: accuracy, as scikit-learn's. What is learned by it is what `predict` tells.

        `y` has the labels; of rows of two parties it may be a column, as ``"shop.buys"``, of the party that gets the predictions. Nothing comes at the other.
        """
        import numpy

        labels = self._labels_in(rows, y) if isinstance(y, str) else list(y)
        predicted = self.predict(rows)
        if predicted is None or labels is None:
            return None
        _check_as_many(labels, predicted, "labels")
        right = numpy.array([one == other for one, other in zip(predicted.tolist(), labels)], dtype=float)
        return float(right.mean())

    def _labels_in(self, rows: Any, column: str) -> Optional[list[object]]:
        """The labels in a column of one of two parties; nothing where its table is not here."""
        if not isinstance(rows, Parties):
            raise _input("y: give the labels of the rows")
        party, name = rows.column(column)
        if party != self._learner(rows):
            raise _input(f"y: {self._learner(rows)} gets the predictions, and {column} is a column of {party}")
        return rows.tables[party][name].tolist() if rows.here(party) else None


class Regressor(Estimator):
    """A model that predicts numbers."""

    _estimator_type = "regressor"
    _mixin = "RegressorMixin"

    def predict(self, rows: Any) -> Any:
        """The number of each row."""
        raise NotImplementedError

    def score(self, rows: pandas.DataFrame, y: Sequence[float]) -> float:
        """R², as scikit-learn's: 1 if each number of `y` is predicted as it is, 0 if a prediction is no better than their mean."""
        import numpy

        if isinstance(y, str):
            raise _input("y: give the numbers of the rows")
        numbers, predicted = numpy.asarray(y, dtype=float).ravel(), self.predict(rows)
        _check_as_many(numbers, predicted, "numbers")
        missed, spread = numpy.square(numbers - predicted).sum(), numpy.square(numbers - numbers.mean()).sum()
        return float(1 - missed / spread) if spread else float(missed == 0)


def _check_as_many(known: Any, predicted: Any, what: str) -> None:
    if len(known) != len(predicted):
        raise _input(f"y: there are {len(known)} {what}, and {len(predicted)} rows")


def labels_of(values: Sequence[object]) -> Any:
    """Labels as an array: of numbers where all are numbers of one type, else of objects."""
    import numpy

    one_type = len({type(value) for value in values}) == 1
    made = numpy.array(values) if one_type else None
    return made if made is not None and made.ndim == 1 and made.dtype.kind in "biuf" else numpy.array(values, dtype=object)
