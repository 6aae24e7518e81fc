"""Questions: the kinds of jobs as values with typed arguments."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from ._arguments import check_path
from ._job import Job, json_of, write_job_file
from ._keys import Items, KeyTable, LimitsTable, MemberTable, Names, NoiseTable, ParticipantsTable, Parties, RoundTable, plain_keys
from ._reveal import Cells, Count, Counts, Frequent, Keys, Mean, Payload, Reveal, Rows, Sum, Value
from ._types import Path
from .errors import InputError, _input

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Aggregate", "Crosstab", "Dot", "Intersect", "Question", "Rules", "Shares", "Union"]

Polynomials = Literal["auto", "schoolbook", "karatsuba", "toom3", "fft", "points"]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Question:
    """A question to the tables of several parties: base class of `Intersect`, `Union`, `Dot`, `Rules`, `Crosstab`, `Aggregate` and
    `Shares`.

    The arguments are the keys of a job file. They are checked when the question is made. Questions that say the same are equal; they can be
    copied, pickled, and used as keys of a dictionary.

    Parameters
    ----------
    id : str
        The parties' name for this question.
    protocol : str
        The protocol that answers it. With ``auto``, the first party chooses by sizes and measured times.
    security : {"semi-honest", "malicious"}
        Assumed behaviour of the other parties.
    level : str
        Level of computational security.
    reveal : str or Reveal, optional
        What is revealed, as a word of the job file, or as a value that also says to whom: ``tacita.Rows(to="hospital")``.
    reveal_to : str or sequence of str, optional
        The parties that learn the result. Required, unless `reveal` says it.
    limits : mapping, optional
        Bounds that the parties agree on, as ``{"max_rows": 1_000_000}``.
    quality : {"hidden", "told"}
        Whether those who learn are told how many rows each other party could not use.
    parties : sequence of str, or mapping of str to mapping, optional
        The parties in their order, with settings of their own where there are any: ``{"a": {"columns": {"id": "ID"}}, "b": {}}``. A question
        without them is about the parties of the session that it is asked in.

    Examples
    --------
    >>> import tacita
    >>> question = tacita.Intersect(key=["name", "born"], reveal=tacita.Rows(to="hospital"), limits={"max_rows": 1000})
    >>> question
    Intersect(key=['name', 'born'], reveal=Rows(to=('hospital',)), limits={'max_rows': 1000})
    >>> tacita.Intersect(key=["name", "born"], reveal_to=["hospital"], limits={"max_rows": 1000}) == question
    True
    """

    kind: ClassVar[str] = ""
    """The value of the key ``job`` in a job file."""

    id: str = "adhoc"
    protocol: str = "auto"
    security: Literal["semi-honest", "malicious"] = "semi-honest"
    level: str = "bits128"
    reveal: str | Reveal | None = None
    reveal_to: Names | None = None
    limits: LimitsTable | None = None
    quality: Literal["hidden", "told"] = "hidden"
    parties: Parties | None = None
    _checked: Job = field(init=False)

    def __post_init__(self) -> None:
        if not self.kind:
            raise TypeError("a question is an Intersect, Union, Dot, Rules, Crosstab, Aggregate or Shares")
        for name, value in plain_keys({name: value for name, value in self._arguments().items() if name != "reveal"}).items():
            if name == "parties" and not isinstance(self.parties, (str, Mapping)):
                value = list(value)
            # Plain values of its own: what the caller changes later is not in the question.
            object.__setattr__(self, name, json.loads(json_of(name, value)))
        object.__setattr__(self, "_checked", self._check())

    def _arguments(self) -> dict[str, Any]:
        """The arguments that are not as they would be without being said."""
        own = {one.name: (getattr(self, one.name), one.default) for one in dataclasses.fields(self) if one.init}
        return {name: value for name, (value, default) in own.items() if value is not None and not (isinstance(value, str) and value == default)}

    @property
    def _wants_parties(self) -> bool:
        """Whether it names no parties, and needs some."""
        return self.parties is None and self.kind != "aggregate"

    def _keys(self) -> dict[str, Any]:
        """The keys of the job file."""
        keys = {"job": self.kind, "id": self.id, **self._arguments()}
        if isinstance(self.reveal, Reveal):
            said = {"reveal": self.reveal.word, "reveal_to": self.reveal.to, "gives": self.reveal.given}
            twice = next((name for name in ("reveal_to", "gives") if keys.get(name) is not None and said[name] is not None), None)
            if twice is not None:
                raise _input(f"{twice}: reveal = {self.reveal!r} sets it, too: leave one of them out")
            keys |= {name: value for name, value in said.items() if value is not None}
        if "key" in keys and not isinstance(keys["key"], Mapping):
            keys["key"] = {"columns": keys["key"] if not isinstance(keys["key"], str) else [keys["key"]]}
        return keys

    def _check(self) -> Job:
        """The job that this is, with parties that stand in for those that it does not name: two, or three if it cannot be about two."""
        keys = self._keys()
        if not self._wants_parties:
            return Job(**keys)
        try:
            return Job(**keys, parties=_stand_ins(keys, 2))
        except InputError as error:
            try:
                return Job(**keys, parties=_stand_ins(keys, 3))
            except InputError:
                raise error from None

    def _among(self, parties: Sequence[str]) -> Job:
        """The job that this is among these parties, unless it names its own."""
        return Job(**self._keys(), parties=list(parties)) if self._wants_parties else self._checked

    def _between(self, members: Mapping[str, Mapping[str, Any]]) -> Job:
        """The job that this is between parties with these addresses and identities. Its own names have to be theirs, in any order."""
        if self.parties is None:
            return Job(**self._keys(), parties=members)
        own: Mapping[str, Any] = self.parties if isinstance(self.parties, Mapping) else {name: {} for name in self.parties}
        if set(own) != set(members):
            raise _input(f"parties: the question is for {', '.join(own)}, and the session is one of {', '.join(members)}")
        return Job(**{**self._keys(), "parties": {name: {**settings, **members[name]} for name, settings in own.items()}})

    @property
    def job(self) -> Job:
        """The `Job` that this is, as `run`, `plan`, `rules` and `simulate` take it. The question must name its parties."""
        if self._wants_parties:
            raise _input("parties: none are named: add them, as parties=['a', 'b']")
        return self._checked

    @property
    def fingerprint(self) -> str:
        """The fingerprint of its terms, which the parties compare before data moves. The question must name its parties."""
        return self.job.agreement

    def terms(self) -> dict[str, Any]:
        """Returns its terms: everything but addresses and each party's own settings. The question must name its parties.

        Returns
        -------
        dict
            The terms, which `fingerprint` covers.
        """
        return self.job.terms

    def save(self, path: Path, *, overwrite: bool = False) -> None:
        """Writes the question as a job file: JSON where the name ends in ``.json``, else TOML.

        The file of a question without parties has none either. The command asks for them.

        Parameters
        ----------
        path : str or path
            The file.
        overwrite : bool
            Whether a file that is there is replaced.

        Raises
        ------
        InputError
            The file is there, or cannot be written.

        Examples
        --------
        >>> import tempfile, tacita
        >>> path = tempfile.mkdtemp() + "/job.toml"
        >>> question = tacita.Dot(column="visits", bits=8, reveal=tacita.Value(to="shop"), parties=["shop", "bakery"])
        >>> question.save(path)
        >>> tacita.Question.from_file(path) == question
        True
        """
        if not self._wants_parties:
            self._checked.save(path, overwrite=overwrite)
            return
        check_path("path", path)
        file = pathlib.Path(path)
        if file.suffix.lower() == ".json":
            text = json_of("question", plain_keys(self._keys()))
        else:
            text = self._checked.to_toml()
            for name in self._checked.parties:
                text = text.replace(f"\n[parties.{name}]\n", "\n")
        write_job_file(file, text.strip(), overwrite)

    @classmethod
    def from_file(cls, path: Path) -> Self:
        """Reads a question from a job file, TOML or JSON.

        Parameters
        ----------
        path : str or path
            The file.

        Returns
        -------
        Question
            Of the class that the key ``job`` names.

        Raises
        ------
        InputError
            The file is no question of this class, or arguments cannot express it.
        """
        try:
            job = Job.load(path)
        except InputError:
            keys = _without_parties(path)
            if keys is None:
                raise
            return cls._of(path, keys)
        made = cls._of(path, _keys_of(*job._spec.text))
        if made._checked.agreement != job.agreement:
            raise _input(f"{os.fspath(path)}: it has settings that arguments cannot express exactly: use tacita.Job.load")
        return made

    @classmethod
    def _of(cls, path: Path, keys: dict[str, Any]) -> Self:
        """The question with the keys of a file."""
        kind = KINDS[keys.pop("job")]
        if not issubclass(kind, cls):
            raise _input(f"{os.fspath(path)}: its job is {kind.kind!r}: use tacita.{kind.__name__}.from_file, or tacita.Question.from_file")
        for name in ("clients", "participants"):
            if "allow" in keys.get(name, {}):
                keys[name]["allow"] = os.path.join(os.path.dirname(os.fspath(path)), keys[name]["allow"])
        made: Self = kind(**keys)
        return made

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Question):
            return NotImplemented
        return (self.parties is None) == (other.parties is None) and self._checked == other._checked

    def __hash__(self) -> int:
        return hash(self._checked)

    def __repr__(self) -> str:
        # What is of this kind of question comes first, in the order in which it is documented.
        order = list(dict.fromkeys([*type(self).__annotations__, *Question.__annotations__]))
        said = sorted(self._arguments().items(), key=lambda one: order.index(one[0]))
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in said)})"


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Intersect(Question):
    """Asks which rows, or how many, have a key that all parties have.

    Parameters
    ----------
    key : str, sequence of str, or mapping
        The key columns by their agreed names, or the table of a job file with profiles and more:
        ``{"columns": ["name", "born"], "normalize": ["name", tacita.date("DMY")]}``.
    reveal : str or Reveal, optional
        ``rows`` (the default), ``payload``, ``count``, ``sum:COLUMN``, ``mean:COLUMN`` or ``counts:COLUMN``; or `Rows`, `Payload`, `Count`,
        `Sum`, `Mean` or `Counts`.
    gives : mapping of str to sequence of str, optional
        Columns that others may see or add up, by the party that gives them.
    scale : int, optional
        Decimals of numbers that are added up.
    helper : mapping, optional
        Where the helper is, in protocols through a helper.
    relay : mapping, optional
        Where parties meet that can only dial out.
    clients : mapping, optional
        Who may query a party that serves a list.
    bins : int or "auto", optional
        With protocol ``polynomial``: number of bins into which keys go.
    strategy : str, optional
        With protocol ``polynomial``: how polynomials travel and are multiplied.
    decryption : {"chain", "tree", "alone"}, optional
        With protocol ``outsourced-bloom``: order in which the parties decrypt.
    false_positives : str, optional
        With protocol ``outsourced-bloom``: rate at which a key is wrongly in the result, as ``"2^-40"``.

    See Also
    --------
    Question : The parameters that all questions have.

    Examples
    --------
    >>> import pandas as pd, tacita
    >>> question = tacita.Intersect(key=["id"], reveal=tacita.Payload(to="a", gives={"b": ["plan"]}))
    >>> a = pd.DataFrame({"id": ["k", "l", "m"], "ward": [1, 2, 3]})
    >>> b = pd.DataFrame({"id": ["m", "k"], "plan": ["gold", "basic"]})
    >>> answer = tacita.local({"a": a, "b": b}).ask(question)["a"]
    >>> answer.join(a)
      id  ward b.plan
    0  k     1  basic
    2  m     3   gold
    """

    kind: ClassVar[str] = "intersect"

    key: Names | KeyTable
    reveal: str | Rows | Payload | Count | Sum | Mean | Counts | None = None
    gives: Mapping[str, Sequence[str]] | None = None
    scale: int | None = None
    helper: MemberTable | None = None
    relay: MemberTable | None = None
    clients: Mapping[str, Any] | None = None
    bins: int | Literal["auto"] | None = None
    strategy: Polynomials | None = None
    decryption: Literal["chain", "tree", "alone"] | None = None
    false_positives: str | None = None


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Union(Question):
    """Asks for all rows that either of two parties has. Which of them both have stays hidden.

    Parameters
    ----------
    key : str, sequence of str, or mapping
        The key columns by their agreed names, or the table of a job file: see `Intersect`.
    reveal : str or Reveal, optional
        ``rows`` (the default) or ``count``; or `Rows` or `Count`.
    gives : mapping of str to sequence of str, optional
        Columns that others may see, by the party that gives them.
    relay : mapping, optional
        Where parties meet that can only dial out.
    bins : int or "auto", optional
        With protocols ``polynomial`` and ``polynomial-ot``: number of bins into which keys go.
    strategy : str, optional
        With the same protocols: how polynomials travel and are multiplied.

    See Also
    --------
    Question : The parameters that all questions have.

    Examples
    --------
    >>> import pandas as pd, tacita
    >>> tables = {"a": pd.DataFrame({"id": [1, 2]}), "b": pd.DataFrame({"id": [2, 3]})}
    >>> tacita.local(tables).ask(tacita.Union(key=["id"], reveal=tacita.Count(to="a")))["a"].value
    {'count': 3}
    """

    kind: ClassVar[str] = "union"

    key: Names | KeyTable
    reveal: str | Rows | Count | None = None
    gives: Mapping[str, Sequence[str]] | None = None
    relay: MemberTable | None = None
    bins: int | Literal["auto"] | None = None
    strategy: Polynomials | None = None


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Dot(Question):
    """Asks for the sum of the products of a column here and a column there, row by row.

    Parameters
    ----------
    reveal : str or Reveal, optional
        ``value`` (the default), or ``shares``, of which each party keeps one; or `Value`.
    column : str, sequence of str, or mapping of str to these, optional
        The columns by their agreed names, or by party; ``"value"`` by default. Several columns make a matrix.
    row_id : str or sequence of str, optional
        Columns by which rows are aligned. By default they are aligned by position.
    alignment : {"hidden", "rows"}, optional
        With `row_id`: ``hidden`` (the default), so that nobody learns which rows are common, or ``rows``, which shows both.
    key : str, sequence of str, or mapping, optional
        Profiles of the columns in `row_id`: see `Intersect`.
    bits : int, optional
        Length of the numbers; 1 by default, for zeros and ones.
    signed : bool, optional
        Whether there are negative numbers.
    scale : int, optional
        Decimals of the numbers.
    noise : mapping, optional
        Noise for differential privacy of the products, as ``{"epsilon": 0.5, "delta": 1e-9, "bounds": [0, 100]}``, of which `epsilon` is required. The
        answer has the error bar beside the value.
    modulus : str, optional
        Modulus of shares, as ``"2^64"``.
    extension : str, optional
        How oblivious transfers are made.
    chunk : int, optional
        With protocol ``paillier``: rows of a column in one message.
    density : float or str, optional
        With protocol ``gm-bloom``: share of a column's rows that may be ones.
    relay : mapping, optional
        Where parties meet that can only dial out.

    See Also
    --------
    Question : The parameters that all questions have.

    Examples
    --------
    >>> import pyarrow as pa, tacita
    >>> tables = {"shop": pa.table({"visits": [1, 2, 3]}), "bakery": pa.table({"visits": [4, 5, 6]})}
    >>> question = tacita.Dot(column="visits", bits=8, reveal=tacita.Value(to="shop"))
    >>> tacita.local(tables).ask(question)["shop"].value
    {'value': 32}
    >>> noisy = tacita.Dot(column="visits", bits=8, noise={"epsilon": 0.5, "bounds": [0, 10]}, reveal=tacita.Value(to="shop"))
    >>> tacita.local(tables).ask(noisy)["shop"].value["within"]
    599
    """

    kind: ClassVar[str] = "dot"

    reveal: str | Value | None = None
    column: Names | Mapping[str, Names] | None = None
    row_id: Names | None = None
    alignment: Literal["hidden", "rows"] | None = None
    key: Names | KeyTable | None = None
    bits: int | None = None
    signed: bool | None = None
    scale: int | None = None
    noise: NoiseTable | None = None
    modulus: str | None = None
    extension: str | None = None
    chunk: int | None = None
    density: float | str | None = None
    relay: MemberTable | None = None


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Rules(Question):
    """Asks which items of two to 16 parties are in many rows together, and which rules they make.

    Parameters
    ----------
    min_support : int, float or str
        Rows that make an itemset frequent: a number, or a share of the rows as ``0.01`` or ``"1%"``.
    reveal : str or Reveal, optional
        ``frequent`` (the default) or ``counts``; or `Frequent` or `Counts`.
    min_confidence : float or str, optional
        Share of the rows with a rule's antecedents that must have its consequents; 0.8 by default.
    items : str, sequence of str, or mapping, optional
        Source of the items: columns, ``"*"`` for all, or ``{"column": "items", "separator": "|"}``, the default.
    row_id : str or sequence of str, optional
        Columns by which rows are aligned. By default they are aligned by position.
    alignment : {"hidden", "rows"}, optional
        With `row_id`: ``hidden`` (the default between two), so that nobody learns which rows are common, or ``rows``, which shows
        all parties (the only way among three and more).
    key : str, sequence of str, or mapping, optional
        Profiles of the columns in `row_id`: see `Intersect`.
    max_len : int, optional
        Items of an itemset, at most.
    consequents : {"single", "any"}, optional
        Items of a consequent; ``single`` by default.
    mixed_only : bool, optional
        Whether only rules with items of several parties are wanted.
    max_candidates : int, optional
        Candidates of one kind and length, at most.
    max_rules : int, optional
        Rules, at most.
    bins : mapping, optional
        How columns of numbers become items: a number of bins or a list of bounds, by column.
    extension : str, optional
        How oblivious transfers are made.
    density : float or str, optional
        With protocol ``gm-bloom``: share of the rows that an item may be in.
    relay : mapping, optional
        Where parties meet that can only dial out.

    See Also
    --------
    Question : The parameters that all questions have.

    Examples
    --------
    >>> import pandas as pd, tacita
    >>> tables = {"shop": pd.DataFrame({"milk": [1, 1, 0, 1]}), "bakery": pd.DataFrame({"bread": [1, 1, 0, 0]})}
    >>> question = tacita.Rules(min_support=2, min_confidence=0.6, items="*", reveal_to=["shop", "bakery"])
    >>> answer = tacita.local(tables).ask(question)["shop"]
    >>> answer.to_pandas()[["antecedents", "consequents", "support"]]
      antecedents consequents  support
    0       bread        milk      0.5
    1        milk       bread      0.5
    """

    kind: ClassVar[str] = "rules"

    min_support: float | str
    reveal: str | Frequent | Counts | None = None
    min_confidence: float | str | None = None
    items: Items | None = None
    row_id: Names | None = None
    alignment: Literal["hidden", "rows"] | None = None
    key: Names | KeyTable | None = None
    max_len: int | None = None
    consequents: Literal["single", "any"] | None = None
    mixed_only: bool | None = None
    max_candidates: int | None = None
    max_rules: int | None = None
    bins: Mapping[str, int | Sequence[float]] | None = None
    extension: str | None = None
    density: float | str | None = None
    relay: MemberTable | None = None


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Crosstab(Question):
    """Asks how many rows are in each category here and there, or what a column adds up to in them.

    Cells in fewer than ``limits={"min_cell": 5}`` rows stay closed, and others with them, so that open cells and margins tell none of their
    counts.

    Parameters
    ----------
    rows : str or sequence of str
        Columns whose categories are the rows of the table. Each is of the party whose table has it; of two that have one of the same name, of
        the one that maps it.
    columns : str or sequence of str
        Columns whose categories are the columns of the table.
    measure : str, optional
        ``count`` (the default), ``sum:COLUMN`` or ``mean:COLUMN``. The party with this column learns counts alone. Among three parties it
        is the third; two have the categories.
    reveal : str or Reveal, optional
        ``cells``; or `Cells`.
    row_id : str or sequence of str, optional
        Columns by which rows are aligned. By default they are aligned by position.
    alignment : {"hidden", "rows"}, optional
        Whether rows with a common `row_id` are shown to both parties, or to none (among three: ``rows``, the only way).
    key : str, sequence of str, or mapping, optional
        Profiles of the columns in `row_id`: see `Intersect`.
    bins : mapping of str to sequence of float, optional
        Bounds of the bins of columns of numbers: ``{"age": [18, 40, 65]}``.
    categories : mapping of str to sequence of str, optional
        The categories of columns, where they are agreed on. By default they are those that a table has.
    noise : mapping, optional
        Noise for differential privacy of the counts, as ``{"epsilon": 0.5}``, or with `delta`. All categories have to be agreed on.
    bits : int, optional
        Length of the measure's numbers; 32 by default.
    signed : bool, optional
        Whether the measure has negative numbers; true by default.
    scale : int, optional
        Decimals of the measure.
    relay : mapping, optional
        Where parties meet that can only dial out.

    See Also
    --------
    Question : The parameters that all questions have.

    Examples
    --------
    >>> import pandas as pd, tacita
    >>> clinic = pd.DataFrame({"age": ["old"] * 11 + ["young"] * 12})
    >>> lab = pd.DataFrame({"test": (["pos"] * 5 + ["neg"] * 6) * 2 + ["neg"]})
    >>> question = tacita.Crosstab(rows=["age"], columns=["test"], reveal=tacita.Cells(to="clinic"))
    >>> answer = tacita.local({"clinic": clinic, "lab": lab}).ask(question)["clinic"]
    >>> answer.value
    {'cells': 4, 'closed': 0}
    >>> answer.to_pandas()
         age test  count
    0    old  neg      6
    1    old  pos      5
    2  young  neg      7
    3  young  pos      5
    """

    kind: ClassVar[str] = "crosstab"

    rows: Names
    columns: Names
    measure: str | None = None
    reveal: str | Cells | None = None
    row_id: Names | None = None
    alignment: Literal["hidden", "rows"] | None = None
    key: Names | KeyTable | None = None
    bins: Mapping[str, Sequence[float]] | None = None
    categories: Mapping[str, Sequence[str]] | None = None
    noise: NoiseTable | None = None
    bits: int | None = None
    signed: bool | None = None
    scale: int | None = None
    relay: MemberTable | None = None


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Aggregate(Question):
    """Asks which keys many participants report.

    Parameters
    ----------
    key : str, sequence of str, or mapping
        The columns of a key by their agreed names, or the table of a job file: see `Intersect`.
    round : mapping
        What is reported, and when a key is revealed, as ``{"reveal_when": "distinct >= 3"}``.
    reveal : str or Reveal, optional
        ``keys`` or ``keys+values`` (the default), each also with ``+histogram``; or `Keys`.
    noise : mapping, optional
        Noise for differential privacy against those who learn, as ``{"epsilon": 1, "delta": 1e-9, "unit": "report"}``. `round` then has one threshold.
    participants : mapping, optional
        Who may report.
    proxy : sequence of mapping, optional
        Where the proxies are.
    oracle : sequence of mapping, optional
        Where the oracles are.
    database : sequence of mapping, optional
        Where the databases are.

    See Also
    --------
    Question : The parameters that all questions have.

    Examples
    --------
    >>> import tacita
    >>> question = tacita.Aggregate(
    ...     key={"columns": ["address"], "normalize": ["ip"]}, round={"reveal_when": "distinct >= 3"}, reveal=tacita.Keys(to="participants")
    ... )
    >>> question.job.reveal
    'keys'
    """

    kind: ClassVar[str] = "aggregate"

    key: Names | KeyTable
    round: RoundTable
    reveal: str | Keys | None = None
    noise: NoiseTable | None = None
    participants: ParticipantsTable | None = None
    proxy: Sequence[MemberTable] | None = None
    oracle: Sequence[MemberTable] | None = None
    database: Sequence[MemberTable] | None = None


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Shares(Question):
    """Asks which numbers are in shares that a question `Dot` has left, or whether they are large.

    Parameters
    ----------
    operation : str
        ``open``, ``sum``, or ``at_least:N``.
    noise : mapping, optional
        The noise that is in the shares, as ``{"epsilon": 0.5}``, if the question that left them had some.
    reveal : str or Reveal, optional
        ``value``; or `Value`.
    relay : mapping, optional
        Where parties meet that can only dial out.

    See Also
    --------
    Question : The parameters that all questions have.

    Examples
    --------
    >>> import tacita
    >>> tacita.Shares(operation="at_least:100", reveal=tacita.Value(to=["shop", "bakery"]))
    Shares(operation='at_least:100', reveal=Value(to=('shop', 'bakery')))
    """

    kind: ClassVar[str] = "shares"

    operation: str
    noise: NoiseTable | None = None
    reveal: str | Value | None = None
    relay: MemberTable | None = None


KINDS: dict[str, Any] = {kind.kind: kind for kind in (Intersect, Union, Dot, Rules, Crosstab, Aggregate, Shares)}
"""The classes by the word for them in job files."""


def _stand_ins(keys: Mapping[str, Any], least: int) -> list[str]:
    """The parties that are named somewhere in the keys, each once, and others if those are fewer than `least`."""
    learners = keys.get("reveal_to", ())
    named = [*([learners] if isinstance(learners, str) else learners), *keys.get("gives", ())]
    named += keys["column"] if isinstance(keys.get("column"), Mapping) else []
    others = (name for name in ("party_1", "party_2", "party_3", "party_4") if name not in named)
    named = list(dict.fromkeys(named))
    return named + [next(others) for _ in range(len(named), least)]


def _keys_of(text: str, is_json: bool) -> dict[str, Any]:
    """The keys that stand in the text of a job file."""
    if is_json or text.lstrip().startswith("{"):
        keys: dict[str, Any] = json.loads(text, parse_float=_number)
        return keys
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        try:
            import tomli as tomllib
        except ImportError:
            raise _input("a question is read from TOML with Python 3.11 or later, or with the package tomli: install it, or save as .json") from None
    return tomllib.loads(text, parse_float=_number)


def _number(text: str) -> float | str:
    """A number of a job file: as text where floating-point numbers have too few digits for it."""
    number = float(text)
    return number if Decimal(repr(number)) == Decimal(text) else text


def _without_parties(path: Path) -> dict[str, Any] | None:
    """The keys of a job file that wants nothing but parties."""
    try:
        text = pathlib.Path(path).read_text(encoding="utf-8")
        keys = _keys_of(text, pathlib.Path(path).suffix.lower() == ".json")
    except (OSError, ValueError):
        return None
    return keys if keys.get("job") in KINDS and "parties" not in keys else None
