"""Nearest neighbours of one party's rows among another's."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any, Optional

from ..errors import _input
from ._estimator import Classifier, labels_of
from ._parties import Parties, sorted_values
from ._products import indicators, products

__all__ = ["KNeighborsClassifier"]


class KNeighborsClassifier(Classifier):
    """k nearest neighbours, as scikit-learn's ``KNeighborsClassifier`` with ``metric="hamming"``: one party has rows with labels, the other has rows of the
    same features without. Rows are the nearer, the more features have the same value, which is a scalar product of zeros and ones for each pair of rows.

    **Fitting** reveals nothing: the party with the labels keeps its rows. **Predicting** tells the party with the labels, of each row of the other, with
    how many of its
    features each of its own rows agrees. **Whoever has rows of many kinds can work out from that what the other's row is.** The other party learns
    the label of each of its rows, and no row or distance; labels tell of the rows that they come from, too, the more the fewer neighbours vote.

    >>> import pandas as pd
    >>> from tacita import learn
    >>> clinic = pd.DataFrame({"smokes": ["no", "yes", "yes", "no"], "age": ["old", "old", "young", "young"], "ill": ["no", "yes", "yes", "no"]})
    >>> doctor = pd.DataFrame({"smokes": ["yes", "no"], "age": ["old", "young"]})
    >>> parties = learn.Parties.simulated({"clinic": clinic, "doctor": doctor}, tell=None)
    >>> learn.KNeighborsClassifier(n_neighbors=1).fit(parties, "clinic.ill", ["smokes", "age"]).predict(parties).tolist()
    ['yes', 'no']
    """

    def __init__(self, n_neighbors: int = 5) -> None:
        """`n_neighbors` vote. Of equally near rows, the first in the table vote; of equally many votes, the label that sorts first wins."""
        self.n_neighbors = n_neighbors
        self._check_params()

    def _check_params(self) -> None:
        if isinstance(self.n_neighbors, bool) or not isinstance(self.n_neighbors, Integral) or self.n_neighbors < 1:
            raise _input(f"n_neighbors = {self.n_neighbors!r}: a whole number, one at least")

    def fit(self, parties: Parties, target: str, features: Sequence[str]) -> KNeighborsClassifier:
        """Says whose rows have labels, and which features, columns of the same names at both, are compared. Nothing is sent."""
        self._check_params()
        _check_different(parties)
        self.owner, column = parties.column(target)
        self.target = f"{self.owner}.{column}"
        self.features = [features] if isinstance(features, str) else list(features)
        if parties.here(self.owner):
            self._labels(parties)
        for party in filter(parties.here, parties.names):
            for feature in self.features:
                parties.column(f"{party}.{feature}")
        parties.tell("Nothing is learned by the fit: rows stay where they are.")
        return self

    def _learner(self, parties: Parties) -> str:
        self._check_fitted()
        return parties.peer(self.owner)

    def _check_fitted(self) -> None:
        if not hasattr(self, "owner"):
            raise _input("the model was not fitted")

    def predict(self, parties: Parties) -> Optional[Any]:
        """The labels of the other party's rows, which that party gets."""
        import numpy

        self._check_fitted()
        _check_different(parties)
        owner, peer = self.owner, parties.peer(self.owner)
        # What is wrong with own columns is found before anything is sent.
        ones = {party: self._indicators(parties, party) for party in filter(parties.here, parties.names)}
        own = self._labels(parties) if parties.here(owner) else None
        parties.tell(
            f"{owner} learns, of each row of {peer}, with how many of its {len(self.features)} features each of {owner}'s "
            "own rows agrees: with rows of many kinds, that says which values they have.",
            f"{peer} learns a label for each of its rows, and how many rows {owner} has.",
        )
        sizes = _exchanged(parties)
        if self.n_neighbors > sizes[owner]:
            raise _input(f"n_neighbors = {self.n_neighbors}, and {owner} has {sizes[owner]} rows")
        names = {party: [f"{party} {row}" for row in range(sizes[party])] for party in parties.names}
        given = {
            party: dict(zip(names[party], numpy.column_stack(list(columns.values()))))
            for party, columns in ones.items()
        }
        matrix = products(parties, "neighbours", names, given, [owner])
        labels = None
        if matrix is not None:
            agree = numpy.array(matrix if parties.names[0] == owner else list(zip(*matrix)))
            labels = self._vote(agree, own)
        return self._hand_over(parties, labels)

    def _labels(self, parties: Parties) -> Any:
        """The labels of the party that has them, which can be told apart and sorted."""
        owner, target = parties.column(self.target)
        labels: Any = parties.tables[owner][target]
        if labels.isna().any():
            raise _input(f"{owner}: {target} has empty cells: leave their rows out")
        sorted_values(owner, target, labels)
        return labels.to_numpy()

    def _indicators(self, parties: Parties, party: str) -> dict[str, Any]:
        """A column of zeros and ones for each value that a feature has at either party."""
        every = {
            feature: sorted(
                {*parties.categories(self.owner, feature), *parties.categories(parties.peer(self.owner), feature)},
                key=str,
            )
            for feature in self.features
        }
        both = parties.with_tables(parties.tables, {party: every for party in parties.names})
        return indicators(both, party, self.features)[1]

    def _vote(self, agree: Any, labels: Any) -> list[object]:
        """The label of each of the other's rows."""
        # Stable: of equally near ones the first.
        nearest = (-agree).argsort(axis=0, kind="stable")[: self.n_neighbors]
        chosen = []
        for column in nearest.T:
            votes = labels[column].tolist()
            chosen.append(min(set(votes), key=lambda label: (-votes.count(label), label)))
        return chosen

    def _hand_over(self, parties: Parties, labels: Optional[list[object]]) -> Optional[Any]:
        """Gives the other party its labels: by an intersection of the rows' numbers, to which they are the payload."""
        import pandas

        owner, peer = self.owner, parties.peer(self.owner)
        tables = {}
        if labels is not None:
            tables[owner] = pandas.DataFrame({"row": range(len(labels)), "label": labels})
        if parties.here(peer):
            tables[peer] = pandas.DataFrame({"row": range(len(parties.tables[peer]))})
        keys = {
            "job": "intersect",
            "reveal": "payload",
            "reveal_to": [peer],
            "gives": {owner: ["label"]},
            "key": {"columns": ["row"], "normalize": ["integer"]},
        }
        results = parties.run("labels", keys, tables)
        if peer not in results:
            return None
        told = results[peer].to_pandas().sort_values("row")
        return labels_of(told[f"{owner}.label"].tolist())


def _check_different(parties: Parties) -> None:
    """Refuses rows that are aligned and hidden: neighbours are looked for among all rows."""
    if parties.hidden:
        raise _input("neighbours are rows of different people: give the parties as they were before align")


def _exchanged(parties: Parties) -> dict[str, int]:
    """How many rows each party has, which both learn: as products with one."""
    first, second = parties.names
    given = {party: {"rows": [len(table)], "one": [1]} for party, table in parties.tables.items()}
    matrix = products(
        parties, "sizes", {first: ["rows", "one"], second: ["rows", "one"]}, given, parties.names, bits=32
    )
    assert matrix is not None, "both learn it"
    return {first: matrix[0][1], second: matrix[1][0]}
