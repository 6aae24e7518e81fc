"""Naive Bayes over features of two parties."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any, Union

from ..errors import _input
from ._estimator import Classifier, labels_of
from ._parties import NOTHING_COMMON, Parties
from ._products import indicators, products
from ._statistics import counts

if TYPE_CHECKING:
    import pandas

__all__ = ["CategoricalNB"]

SCALE = 10**6
"""Logarithms of probabilities are counted in millionths where two parties add them up."""

MIN_ALPHA = 1e-10
"""As scikit-learn's: with it, and with as many rows as there can be, a logarithm is above -46."""

BITS = 27
"""Of such a logarithm in millionths, with its sign."""


class CategoricalNB(Classifier):
    """Naive Bayes for categories, as scikit-learn's ``CategoricalNB``, of features that two parties have of the same rows, and labels that one of them has.

    **Fitting** takes one table of counts: of the labels with the other's features. The party with the labels learns it, and with it the model; the other
    learns nothing. Where it is hidden which rows are common, it takes another one, of the labels with its own features. The model's probabilities tell these counts, and these counts its probabilities, so that the fit reveals what the model holds. That is
    not little: whoever gets the model gets, of each label, how often each value of the other's features comes with it.

    **Predicting** in the clear is the affair of whoever has the model and all features of a row. With features at both parties, the party with the model
    learns of each row how the other's features weigh, in sum, for each label: **with few features that says which values they have**, in general. The other
    learns nothing.

    >>> import pandas as pd
    >>> from tacita import learn
    >>> bank = pd.DataFrame({"owns": ["house", "flat", "house", "house", "flat"]})
    >>> shop = pd.DataFrame({"town": ["A", "B", "A", "A", "B"], "buys": ["yes", "no", "yes", "no", "no"]})
    >>> parties = learn.Parties.simulated({"bank": bank, "shop": shop}, tell=None)
    >>> model = learn.CategoricalNB().fit(parties, "shop.buys", ["bank.owns", "shop.town"])
    >>> model.predict(pd.DataFrame({"bank.owns": ["house", "flat"], "shop.town": ["A", "B"]})).tolist()
    ['yes', 'no']
    >>> model.predict(parties).tolist()
    ['yes', 'no', 'yes', 'yes', 'no']
    """

    def __init__(self, *, alpha: float = 1.0) -> None:
        """`alpha` is what is added to each count (Laplace, Lidstone)."""
        self.alpha = alpha
        self._check_params()

    def _check_params(self) -> None:
        if isinstance(self.alpha, bool) or not isinstance(self.alpha, Real) or not MIN_ALPHA <= self.alpha < math.inf:
            raise _input(f"alpha = {self.alpha!r}: at least {MIN_ALPHA}, so that no probability is zero")

    def fit(self, parties: Parties, target: str, features: Sequence[str]) -> CategoricalNB:
        """Fits the model to rows of two parties. It is there at the party whose `target` is; the other's stays empty."""
        import numpy

        self._check_params()
        owner, label = parties.column(target)
        peer, features = parties.peer(owner), [features] if isinstance(features, str) else list(features)
        columns = [parties.column(feature) for feature in features]
        if all(party == owner for party, _ in columns):
            raise _input(f"all features are {owner}'s: no other party is needed")
        # What is wrong with own columns is found before anything is sent.
        categories = [parties.categories(*column) for column in columns]
        own = indicators(parties, owner, [label, *(column for party, column in columns if party == owner)])[1]
        labels = [own[f"{label}={value}"] for value in parties.categories(owner, label) if own]
        if not all(column.any() for column in labels):
            raise _input(f"{owner}: no row has one of the categories of {label}: leave it out of the categories")
        self.owner, self.target, self.features = owner, target, features
        self.feature_names_in_, self.n_features_in_ = numpy.array(features, dtype=object), len(features)
        theirs = self._of(peer)
        parties.tell(
            f"{owner} learns, of each value of {target}, with how many rows each value of "
            f"{', '.join(theirs)} comes; that is what the model is made of.",
            f"{peer} learns nothing of {owner}'s rows by the fit.",
        )
        table = counts(parties, target, theirs, reveal_to=[owner])
        alone = self._own_counts(parties, own, label)
        self.categories_ = [numpy.array(values, dtype=object) for values in categories]
        self.classes_ = labels_of(parties.categories(owner, label))
        if table is None:
            return self
        shared = {theirs[0]: table} if len(theirs) == 1 else {feature: table[feature] for feature in theirs}
        counted = {feature: of.to_numpy(dtype=float) for feature, of in shared.items()} | alone
        # Each row has one value of each feature.
        self.class_count_ = counted[theirs[0]].sum(axis=1)
        if not self.class_count_.all():
            missing = self.classes_[self.class_count_ == 0].tolist()
            raise _input(
                NOTHING_COMMON
                if len(missing) == len(self.classes_)
                else f"{owner}: no common row has {label} = {missing[0]!r}: leave its rows out, and the category"
            )
        self.category_count_ = [counted[feature] for feature in features]
        self._smooth()
        return self

    def _own_counts(self, parties: Parties, own: Mapping[str, Any], label: str) -> dict[str, Any]:
        """By feature of the party with the labels: in how many rows each label comes with each value. Nothing where the labels are not."""
        import numpy

        features = [feature for feature in self.features if feature.startswith(f"{self.owner}.")]
        pairs = {
            feature: [
                (f"{label}={one}", f"{column}={value}")
                for one in parties.categories(self.owner, label)
                for value in parties.categories(self.owner, column)
            ]
            for feature, column in ((feature, parties.column(feature)[1]) for feature in features)
        }
        if not pairs:
            return {}
        both = {" and ".join(pair): pair for of in pairs.values() for pair in of}
        ones = {name: own[one] & own[value] for name, (one, value) in both.items() if own}
        if parties.hidden:
            numbers = self._in_common(parties, list(both), ones)
        else:
            numbers = {name: int(column.sum()) for name, column in ones.items()}
        labels = len(parties.categories(self.owner, label))
        return {
            feature: numpy.array([numbers[" and ".join(pair)] for pair in of], dtype=float).reshape(labels, -1)
            for feature, of in pairs.items()
            if numbers
        }

    def _in_common(self, parties: Parties, names: list[str], ones: Mapping[str, Any]) -> dict[str, int]:
        """In how many common rows the columns of the party with the labels are one, where it is hidden which are common."""
        import numpy

        owner, peer = self.owner, parties.peer(self.owner)
        parties.tell(
            f"{owner} learns, of each value of {self.target}, with how many common rows each value of its own {', '.join(self._of(owner))} comes. "
            "If none or all of its rows with both are common, that tells it so: of a single row, whether it is common.",
        )
        given = {owner: ones} if parties.here(owner) else {}
        if parties.here(peer):
            given[peer] = {"rows": numpy.ones(len(parties.tables[peer]), dtype=bool)}
        matrix = products(parties, "own features", {owner: names, peer: ["rows"]}, given, [owner])
        if matrix is None:
            return {}
        numbers = matrix[0] if parties.names[0] == peer else [line[0] for line in matrix]
        return dict(zip(names, numbers))

    def _learner(self, parties: Parties) -> str:
        if not hasattr(self, "owner"):
            self._check()
        return self.owner

    def _of(self, party: str) -> list[str]:
        return [feature for feature in self.features if feature.startswith(f"{party}.")]

    def _smooth(self) -> None:
        import numpy

        self.class_log_prior_ = numpy.log(self.class_count_) - numpy.log(self.class_count_.sum())
        smoothed = [counts + self.alpha for counts in self.category_count_]
        self.feature_log_prob_ = [
            numpy.log(counts) - numpy.log(counts.sum(axis=1, keepdims=True)) for counts in smoothed
        ]

    def joint_log_proba(self, rows: pandas.DataFrame) -> Any:
        """The logarithm of how likely each label is together with a row's features, which stand in columns that are called as the features are."""
        self._check()
        if isinstance(rows, Parties):
            raise _input("rows of two parties get labels, by predict, and no probabilities")
        total = self.class_log_prior_[None, :]
        for feature, categories, log in zip(self.features, self.categories_, self.feature_log_prob_):
            if feature not in rows:
                raise _input(f"no column {feature!r}: the rows have {', '.join(map(str, rows.columns))}")
            places = {value: place for place, value in enumerate(categories)}
            unknown = [value for value in rows[feature] if value not in places]
            if unknown:
                raise _input(f"{feature}: {unknown[0]!r} is none of its {len(categories)} categories")
            total = total + log[:, [places[value] for value in rows[feature]]].T
        return total

    def predict_proba(self, rows: pandas.DataFrame) -> Any:
        """How probable each label is for a row whose features are all here."""
        import numpy

        joint = self.joint_log_proba(rows)
        likely = numpy.exp(joint - joint.max(axis=1, keepdims=True))
        return likely / likely.sum(axis=1, keepdims=True)

    def predict(self, rows: Union[pandas.DataFrame, Parties]) -> Any:
        """The most probable label of each row: of rows all of whose features are here, or of rows whose features two parties have.

        Two parties add up logarithms in whole millionths: labels within some millionths of each other may change places. Only the party with the model
        gets them. Each label is that of a row, so that it cannot be hidden which rows are common.
        """
        if not isinstance(rows, Parties):
            joint = self.joint_log_proba(rows)
            return self.classes_[joint.argmax(axis=1)]
        rows.need_rows("a prediction of rows that two parties have")
        scores = self._scores(rows)
        return None if scores is None else self.classes_[scores.argmax(axis=1)]

    def _scores(self, parties: Parties) -> Any:
        """In whole millionths, the logarithm of how likely each label is together with a row's features; nothing where the model is not."""
        import numpy

        if not hasattr(self, "owner") or parties.here(self.owner):
            self._check()
        owner, peer = self.owner, parties.peer(self.owner)
        given = {party: self._ones(parties, party) for party in filter(parties.here, parties.names)}
        parties.tell(
            f"{owner} learns, of each row, how {', '.join(self._of(peer))} weigh in sum for each value of "
            f"{self.target}: in general, that says which values they have.",
            f"{peer} learns nothing of {owner}'s rows, but how many values {self.target} has.",
        )
        # Turned round: a row of the tables is a column here, which has a row for each value of each of the peer's features.
        names = {
            peer: [f"row {row}" for row in range(parties.rows())],
            owner: [f"{self.target}={label}" for label in self.classes_],
        }
        columns = {}
        if peer in given:
            columns[peer] = dict(zip(names[peer], numpy.concatenate(given[peer], axis=1)))
        if owner in given:
            logs = [log for feature, log in zip(self.features, self.feature_log_prob_) if feature in self._of(peer)]
            columns[owner] = dict(zip(names[owner], _millionths(numpy.concatenate(logs, axis=1))))
        matrix = products(parties, "predict", names, columns, [owner], bits=BITS, signed=True)
        if matrix is None:
            return None
        scores = numpy.array(matrix if parties.names[0] == peer else list(zip(*matrix)), dtype=numpy.int64)
        scores += _millionths(self.class_log_prior_)
        logs = [log for feature, log in zip(self.features, self.feature_log_prob_) if feature in self._of(owner)]
        for ones, log in zip(given[owner], logs):
            scores += ones @ _millionths(log).T
        return scores

    def _ones(self, parties: Parties, party: str) -> list[Any]:
        """For each feature of a party, a column of zeros and ones for each category that it had in the fit."""
        import numpy

        known: dict[str, dict[str, Any]] = {name: {} for name in parties.names}
        for feature, categories in zip(self.features, self.categories_):
            owner, column = parties.column(feature)
            known[owner][column] = categories.tolist()
        fitted = parties.with_tables(parties.tables, known)
        made = [indicators(fitted, party, [column])[1] for column in known[party]]
        return [numpy.column_stack(list(columns.values())).astype(numpy.int64) for columns in made]

    def _check(self) -> None:
        if not hasattr(self, "feature_log_prob_"):
            raise _input(
                f"the model is not here: {getattr(self, 'owner', 'the party with the labels')} has it, once it is fitted"
            )


def _millionths(numbers: Any) -> Any:
    import numpy

    return numpy.rint(numbers * SCALE).astype(numpy.int64)
