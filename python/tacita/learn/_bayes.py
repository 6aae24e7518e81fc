"""Naive Bayes over features of two parties."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Union

from ..errors import _input
from ._parties import Parties
from ._products import indicators, products
from ._statistics import contingency

if TYPE_CHECKING:
    import pandas

__all__ = ["CategoricalNB"]

SCALE = 10**6
"""Logarithms of probabilities are counted in millionths where two parties add them up."""


class CategoricalNB:
    """Naive Bayes for categories, as scikit-learn's ``CategoricalNB``, of features that two parties have of the same rows, and labels that one of them has.

    **Fitting** takes one contingency table: of the labels with the other's features. The party with the labels learns it, and with it the model; the other
    learns nothing. The model's probabilities tell these counts, and these counts its probabilities, so that the fit reveals what the model holds. That is
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

    def fit(self, parties: Parties, target: str, features: Sequence[str]) -> CategoricalNB:
        """Fits the model to rows of two parties. It is there at the party whose `target` is; the other's stays empty."""
        import numpy

        owner, label = parties.column(target)
        of = {
            name: [column for party, column in map(parties.column, features) if party == name] for name in parties.names
        }
        if not of[parties.peer(owner)]:
            raise _input(f"all features are {owner}'s: it needs nobody for that")
        self.owner, self.target, self.features = owner, target, list(features)
        parties.tell(
            f"{owner} learns, of each value of {target}, with how many rows each value of "
            f"{', '.join(self._of(parties.peer(owner)))} comes; that is what the model is made of.",
            f"{parties.peer(owner)} learns nothing of {owner}'s rows by the fit.",
        )
        peer = parties.peer(owner)
        theirs = contingency(parties, target, [f"{peer}.{column}" for column in of[peer]], reveal_to=[owner])
        self.categories_ = [
            numpy.array(parties.categories(*parties.column(feature)), dtype=object) for feature in features
        ]
        self.classes_ = numpy.array(parties.categories(owner, label), dtype=object)
        if theirs is None:
            return self
        labels = indicators(parties, owner, [label])[1]
        own = {column: indicators(parties, owner, [column])[1] for column in of[owner]}
        self.class_count_ = numpy.array([column.sum() for column in labels.values()], dtype=float)
        if not self.class_count_.all():
            raise _input(f"{owner}: a value of {label} is in no row: leave it out of the categories")
        self.category_count_ = []
        for feature, categories in zip(features, self.categories_):
            party, column = parties.column(feature)
            if party == owner:
                counts = [[int((one & other).sum()) for other in own[column].values()] for one in labels.values()]
            else:
                table = theirs if len(of[peer]) == 1 else theirs[feature]
                counts = table[list(categories)].to_numpy().tolist()
            self.category_count_.append(numpy.array(counts, dtype=float))
        self._smooth()
        return self

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
        gets them.
        """
        if not isinstance(rows, Parties):
            self._check()
            return self.classes_[self.joint_log_proba(rows).argmax(axis=1)]
        scores = self._scores(rows)
        return None if scores is None else self.classes_[scores.argmax(axis=1)]

    def _scores(self, parties: Parties) -> Any:
        """In whole millionths, the logarithm of how likely each label is together with a row's features; nothing where the model is not."""
        import numpy

        owner, peer = self.owner, parties.peer(self.owner)
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
        given = {}
        if parties.here(peer):
            ones = indicators(parties, peer, [feature.partition(".")[2] for feature in self._of(peer)])[1]
            given[peer] = dict(zip(names[peer], numpy.column_stack(list(ones.values()))))
        if parties.here(owner):
            self._check()
            logs = [log for feature, log in zip(self.features, self.feature_log_prob_) if feature in self._of(peer)]
            given[owner] = dict(zip(names[owner], _millionths(numpy.concatenate(logs, axis=1))))
        matrix = products(parties, "predict", names, given, [owner], bits=26, signed=True)
        if matrix is None:
            return None
        theirs = numpy.array(matrix if parties.names[0] == peer else list(zip(*matrix)), dtype=numpy.int64)
        return theirs + self._own_scores(parties)

    def _own_scores(self, parties: Parties) -> Any:
        """What of it the party with the model has itself."""
        import numpy

        scores = _millionths(self.class_log_prior_)[None, :]
        for feature, log in zip(self.features, self.feature_log_prob_):
            if feature in self._of(self.owner):
                ones = indicators(parties, self.owner, [parties.column(feature)[1]])[1]
                places = numpy.column_stack(list(ones.values())).argmax(axis=1)
                scores = scores + _millionths(log)[:, places].T
        return scores

    def _check(self) -> None:
        if not hasattr(self, "feature_log_prob_"):
            raise _input(
                f"the model is not here: {getattr(self, 'owner', 'the party with the labels')} has it, once it is fitted"
            )


def _millionths(numbers: Any) -> Any:
    import numpy

    return numpy.rint(numbers * SCALE).astype(numpy.int64)
