"""Questions as values, sessions that answer them, and answers beside the own table."""

from __future__ import annotations

import copy
import dataclasses
import datetime
import inspect
import pathlib
import pickle
import re
import typing
from typing import Any

import numpy
import pandas
import polars
import pyarrow
import pytest
from conftest import EXAMPLES

import tacita
from tacita import _keys, _questions

KINDS: dict[str, Any] = _questions.KINDS
LEAST: dict[str, dict[str, Any]] = {
    "intersect": {"key": {"columns": ["id"]}},
    "union": {"key": {"columns": ["id"]}},
    "dot": {},
    "rules": {"min_support": 2, "items": "*"},
    "crosstab": {"rows": ["x"], "columns": ["y"]},
    "aggregate": {"key": {"columns": ["id"]}, "round": {"reveal_when": "count >= 3"}},
    "shares": {"operation": "sum"},
}
"""What each kind of question cannot do without."""
AMONG = {"id": "x", "reveal_to": ["a"], "parties": {"a": {}, "b": {}}}
FILES = sorted(path for path in EXAMPLES.rglob("*.toml") if re.search(r"^job\s*=", path.read_text(), re.MULTILINE))


def refusal(keys: dict[str, Any]) -> str:
    """What is said of a job with these keys; nothing if there is nothing to say."""
    try:
        tacita.Job(**keys)
    except tacita.InputError as error:
        return error.message
    return ""


def known(keys: dict[str, Any]) -> set[str]:
    """The keys that could stand in place of one that there is not, as the parser of job files lists them."""
    told = refusal(keys)
    assert "unknown key `qqqqqqqq`, expected " in told, told
    return set(re.findall(r"`(\w+)`", told)) - {"qqqqqqqq"}


def arguments(kind: type) -> dict[str, Any]:
    return {one.name: one for one in dataclasses.fields(kind) if one.init}


# What the arguments are.


def test_each_kind_of_job_has_its_class() -> None:
    listed = re.search(r"use (.*)$", refusal({"job": "qqqqqqqq", **AMONG}))
    assert listed and set(re.findall(r'"(\w+)"', listed[1])) == set(KINDS) == {kind.kind for kind in KINDS.values()}
    assert all(getattr(tacita, kind.__name__) is kind for kind in KINDS.values())


SAMPLES: dict[str, Any] = {
    "alignment": "hidden", "clients": {"allow": "list.txt"}, "gives": {"b": ["o"]}, "helper": {}, "id": "x", "key": {"columns": ["id"]}, "level": "bits128", "limits": {},
    "noise": {"epsilon": 1}, "parties": {"a": {}, "b": {}}, "protocol": "auto", "quality": "hidden", "relay": {}, "reveal": None, "reveal_to": ["a"], "scale": 2,
    "security": "semi-honest",
}  # fmt: skip
"""Of keys that several kinds of jobs have."""


@pytest.mark.parametrize("kind", KINDS)
def test_the_arguments_are_the_keys_of_the_job_file(kind: str) -> None:
    least = {"job": kind, **LEAST[kind], **AMONG}
    every = known({**least, "qqqqqqqq": 1}) - {"job"}
    # A key of one kind alone is refused by its name, whatever its value.
    of_others = {key for key in every if re.search(rf"^\[?{key}\]? is for job", refusal({**least, key: SAMPLES.get(key, 0)}))}
    assert set(SAMPLES) <= every and of_others
    assert set(arguments(KINDS[kind])) == every - of_others


def test_the_keys_of_a_job_are_those_of_the_job_file() -> None:
    assert set(tacita.JobKeys.__annotations__) == known({"job": "dot", **AMONG, "qqqqqqqq": 1})


@pytest.mark.parametrize(
    ("table", "kind", "where"),
    [
        (_keys.KeyTable, "intersect", lambda keys: {"key": keys}),
        (_keys.LimitsTable, "intersect", lambda keys: {"limits": keys}),
        (_keys.MemberTable, "intersect", lambda keys: {"relay": keys}),
        (_keys.NoiseTable, "dot", lambda keys: {"noise": keys}),
        (_keys.PartyTable, "intersect", lambda keys: {"parties": {"a": keys, "b": {}}}),
        (_keys.RoundTable, "aggregate", lambda keys: {"round": keys}),
        (_keys.ParticipantsTable, "aggregate", lambda keys: {"participants": keys}),
    ],
)
def test_the_tables_have_the_keys_of_the_job_file(table: type, kind: str, where: Any) -> None:
    assert set(typing.get_type_hints(table)) == known({"job": kind, **LEAST[kind], **AMONG, **where({"qqqqqqqq": 1})})


WORDS = [
    ("intersect", "security", lambda word: {"security": word}),
    ("intersect", "quality", lambda word: {"quality": word}),
    ("intersect", "strategy", lambda word: {"strategy": word, "protocol": "polynomial"}),
    ("intersect", "decryption", lambda word: {"decryption": word, "protocol": "outsourced-bloom"}),
    ("rules", "consequents", lambda word: {"consequents": word}),
    ("rules", "alignment", lambda word: {"row_id": ["id"], "alignment": word}),
    (_keys.KeyTable, "duplicates", lambda word: {"key": {"columns": ["id"], "duplicates": word}}),
    (_keys.KeyTable, "nulls", lambda word: {"key": {"columns": ["id"], "nulls": word}}),
    (_keys.PartyTable, "role", lambda word: {"parties": {"a": {"role": word}, "b": {}}}),
    (_keys.RoundTable, "keys", lambda word: {"round": {"reveal_when": "count >= 3", "keys": word}}),
    (_keys.NoiseTable, "unit", lambda word: {"noise": {"epsilon": 1, "unit": word}}),
]


@pytest.mark.parametrize(("of", "name", "where"), WORDS, ids=[name for _, name, _ in WORDS])
def test_the_words_of_an_argument_are_those_of_the_job_file(of: Any, name: str, where: Any) -> None:
    kind = of if isinstance(of, str) else "aggregate" if name in ("keys", "unit") else "intersect"
    hint = typing.get_type_hints(KINDS[of] if isinstance(of, str) else of)[name]
    choices = next((one for one in (hint, *typing.get_args(hint)) if typing.get_origin(one) is typing.Literal), None)
    told = refusal({"job": kind, **LEAST[kind], **AMONG, **where("qqqqqqqq")})
    listed = re.split(": use | is none of ", told)
    assert "qqqqqqqq" in told and len(listed) == 2, told
    assert set(typing.get_args(choices)) == set(re.findall(r'"([\w-]+)"', listed[1]) or listed[1].split(", "))


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_every_argument_is_documented(kind: Any) -> None:
    sections = [inspect.cleandoc(one.__doc__ or "").partition("\nParameters\n----------\n")[2].partition("\n\n")[0] for one in (kind, tacita.Question)]
    documented = [re.findall(r"^(\w+) : ", section, re.MULTILINE) for section in sections]
    assert set(documented[0]) | set(documented[1]) == set(arguments(kind))
    # What is of this kind is said there, and what is of all in one place.
    assert set(documented[0]) == {name for name in kind.__annotations__ if name != "kind"}
    assert all(one.kw_only for one in arguments(kind).values()) and not inspect.signature(kind).parameters.get("args")


def test_what_is_not_said_is_what_the_job_file_says_then() -> None:
    question = tacita.Intersect(key=["id"], reveal_to=["a"], parties=["a", "b"])
    for name in ("protocol", "security", "level"):
        assert getattr(question, name) == getattr(question.job, name)
    assert "quality" not in question.terms() or question.terms()["quality"] == question.quality
    assert question == tacita.Intersect(key=["id"], reveal="rows", reveal_to="a", parties=["a", "b"], quality="hidden")
    assert question != tacita.Intersect(key=["id"], reveal_to="a", parties=["a", "b"], quality="told")


# What is wrong with one.


def test_an_argument_that_there_is_not_is_a_type_error() -> None:
    for wrong in ({"revael": "rows"}, {"min_support": 2}):
        with pytest.raises(TypeError, match=f"unexpected keyword argument '{next(iter(wrong))}'"):
            tacita.Intersect(key=["id"], reveal_to=["a"], **wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="missing 1 required keyword-only argument: 'key'"):
        tacita.Union(reveal_to=["a"])  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="positional"):
        tacita.Dot("value")  # type: ignore[misc]
    with pytest.raises(TypeError, match="a question is an Intersect"):
        tacita.Question(reveal_to=["a"])


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("key", {"key": {"columns": 5}}),
        ("key", {"key": []}),
        ("normalize", {"key": {"columns": ["id"], "normalize": ["nmae"]}}),
        ("columns", {"key": {"colums": ["id"]}}),
        ("scale", {"scale": "two"}),
        ("id", {"id": 5}),
        ("protocol", {"protocol": "best"}),
        ("reveal", {"reveal": "row"}),
        ("reveal", {"reveal": tacita.Value(to="a"), "reveal_to": None}),
        ("limits", {"limits": {"max_rows": "many"}}),
        ("max_rows", {"limits": {"max_row": 5}}),
        ("gives", {"reveal": "payload"}),
        ("reveal_to", {"reveal": tacita.Rows(to="a")}),
        ("gives", {"reveal": tacita.Payload(to="a", gives={"b": ["o"]}), "reveal_to": None, "gives": {"b": ["o"]}}),
        ("reveal_to", {"reveal_to": None}),
        ("scale", {"scale": 1 + 2j}),
        ("parties", {"parties": {"a", "b"}}),
        ("reveal_to", {"parties": ["b", "c"]}),
        ("parties", {"parties": "ab"}),
    ],
)
def test_an_error_names_the_argument(name: str, wrong: dict[str, Any]) -> None:
    with pytest.raises(tacita.InputError, match="^to = 5: give a name"):
        tacita.Rows(to=5)  # type: ignore[arg-type]
    with pytest.raises(tacita.InputError) as raised:
        tacita.Intersect(**{"key": ["id"], "reveal_to": ["a"], **wrong})
    assert re.search(rf"\b{name}\b", raised.value.message) and not re.search(r"at line|party_\d", raised.value.message), raised.value.message


# As a value.


REVEALS = [
    (tacita.Rows(to="a"), "rows", None),
    (tacita.Count(to=["a"]), "count", None),
    (tacita.Payload(to="a", gives={"b": ["o"]}), "payload", {"b": ["o"]}),
    (tacita.Sum("o", to="a", gives={"b": ["o"]}), "sum:o", {"b": ["o"]}),
    (tacita.Sum(("o", "p"), to="a", gives={"b": ["o", "p"]}), "sum:o,p", {"b": ["o", "p"]}),
    (tacita.Mean("o", to="a", gives={"b": ["o"]}), "mean:o", {"b": ["o"]}),
]


@pytest.mark.parametrize(("value", "word", "gives"), REVEALS, ids=[word for _, word, _ in REVEALS])
def test_what_is_revealed_is_a_value_or_a_word(value: Any, word: str, gives: Any) -> None:
    plain = tacita.Intersect(key=["id"], reveal=word, reveal_to="a", gives=gives)
    assert tacita.Intersect(key=["id"], reveal=value) == plain != tacita.Intersect(key=["id"], reveal=value, id="y")
    if gives:
        assert tacita.Intersect(key=["id"], reveal=dataclasses.replace(value, gives=None), gives=gives) == plain
    assert eval(repr(value), vars(tacita)) == value == pickle.loads(pickle.dumps(value))
    assert tacita.Intersect(key=["id"], reveal=value, parties=["a", "b"]).job.reveal == word


def test_numbers_with_noise_have_their_error_bar() -> None:
    # With this epsilon, noise on a count is 0 but with a probability of 4 in 10^9.
    tables = {"a": pyarrow.table({"x": [1, 0, 1]}), "b": pyarrow.table({"x": [1, 1, 1]})}
    answer = tacita.local(tables).ask(tacita.Dot(column="x", noise={"epsilon": 20}, reveal=tacita.Value(to="a")))["a"]
    assert answer.value == {"value": 2, "within": 0}
    assert answer.report["noise"]["added_by"] == ["b"]
    assert answer.table.to_pydict() == {"value": [2], "within": [0]}


def test_other_kinds_reveal_by_values_too() -> None:
    both = ["a", "b"]
    assert tacita.Dot(reveal=tacita.Value(to="a")) == tacita.Dot(reveal_to="a")
    assert tacita.Rules(min_support=2, reveal=tacita.Frequent(to=both)) == tacita.Rules(min_support=2, reveal_to=both)
    assert tacita.Rules(min_support=2, reveal=tacita.Counts(to=both)) == tacita.Rules(min_support=2, reveal="counts", reveal_to=both)
    aggregate: dict[str, Any] = {"key": "id", "round": {"reveal_when": "count >= 3", "values": [1, 2]}}
    keys = {"keys": {}, "keys+values": {"values": True}, "keys+histogram": {"histogram": True}, "keys+values+histogram": {"values": True, "histogram": True}}
    for word, said in keys.items():
        assert tacita.Aggregate(**aggregate, reveal=tacita.Keys(to="participants", **said)).job.reveal == word
    helped: dict[str, Any] = {"key": {"columns": ["id"], "duplicates": "first"}, "protocol": "outsourced", "limits": {"pad_to": 200}}
    counts = tacita.Intersect(**helped, reveal=tacita.Counts("o", to="a", gives={"b": ["o"]}), parties=["a", "b", "c"])
    assert counts.job.reveal == "counts:o" and counts.job.reveal_to == ["a"]


def test_questions_that_say_the_same_are_equal_and_travel() -> None:
    keys: dict[str, Any] = {"key": {"columns": ["id", "day"], "normalize": ["none", tacita.date("DMY")]}, "reveal_to": {"b", "a"}, "limits": {"max_rows": 5}}
    question = tacita.Intersect(**keys, parties={"a": {"columns": {"id": "Id"}}, "b": {}})
    again = [copy.copy(question), copy.deepcopy(question), pickle.loads(pickle.dumps(question)), eval(repr(question), vars(tacita)), dataclasses.replace(question)]
    assert all(one == question and hash(one) == hash(question) and one is not question for one in again)
    others = [
        tacita.Intersect(**keys),
        tacita.Intersect(**keys, parties=["a", "b"]),
        tacita.Union(**keys, parties=["a", "b"]),
        dataclasses.replace(question, id="y"),
        dataclasses.replace(question, limits={"max_rows": 6}),
    ]
    assert len({question, *again, *others}) == 1 + len(others) and question != "question"
    with pytest.raises(dataclasses.FrozenInstanceError):
        question.id = "y"  # type: ignore[misc]


def test_what_the_caller_changes_later_is_not_in_a_question() -> None:
    columns, limits = ["id"], {"max_rows": numpy.int64(5)}
    question = tacita.Intersect(key=columns, reveal_to=numpy.array(["a"]), limits=limits)
    columns.append("day")
    limits["max_rows"] = numpy.int64(6)
    assert repr(question) == "Intersect(key=['id'], reveal_to=['a'], limits={'max_rows': 5})"
    moment = datetime.datetime(2027, 1, 1, tzinfo=datetime.timezone.utc)
    aggregate = tacita.Aggregate(key="id", reveal_to="participants", round={"reveal_when": "count >= 3", "close_at": moment})
    assert aggregate == eval(repr(aggregate), vars(tacita))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(EXAMPLES)))
def test_a_question_is_read_from_a_job_file(path: pathlib.Path, tmp_path: pathlib.Path) -> None:
    job, question = tacita.Job.from_file(path), tacita.Question.from_file(path)
    assert type(question) is KINDS[job.kind] and question.job == job
    assert question.fingerprint == job.agreement and question.terms() == job.terms
    assert eval(repr(question), vars(tacita)) == question == KINDS[job.kind].from_file(path)
    assert pickle.loads(pickle.dumps(question)) == question
    for name in ("job.toml", "job.json"):
        question.save(tmp_path / name)
        assert tacita.Job.from_file(tmp_path / name).agreement == question.fingerprint
        assert tacita.Question.from_file(tmp_path / name).terms() == question.terms()
    with pytest.raises(tacita.InputError, match="already exists"):
        question.save(tmp_path / "job.toml")
    question.save(tmp_path / "job.toml", overwrite=True)
    wrong = next(kind for kind in KINDS.values() if kind is not type(question))
    with pytest.raises(tacita.InputError, match=f"its job is '{job.kind}': use tacita.{type(question).__name__}.from_file"):
        wrong.from_file(path)


def test_a_question_without_parties_is_saved_without(tmp_path: pathlib.Path) -> None:
    for question in (tacita.Intersect(key=["id"], reveal=tacita.Rows(to="hospital")), tacita.Dot(column={"a": ["x"], "b": ["y"]}, reveal_to="a", row_id="id")):
        for name in ("job.toml", "job.json"):
            question.save(tmp_path / name, overwrite=True)
            assert "parties" not in (tmp_path / name).read_text() and "party_" not in (tmp_path / name).read_text()
            again = tacita.Question.from_file(tmp_path / name)
            assert again == question and again.parties is None
            with pytest.raises(tacita.InputError, match="missing key `parties`"):
                tacita.Job.load(tmp_path / name)
        for ask in (lambda: question.job, lambda: question.fingerprint, question.terms):
            with pytest.raises(tacita.InputError, match="^parties: none are named"):
                ask()


def test_a_file_is_read_to_the_last_digit_or_refused(tmp_path: pathlib.Path) -> None:
    rules = 'job = "rules"\nid = "x"\nreveal_to = ["a", "b"]\nitems = "*"\nmin_support = %s\n[parties.a]\n[parties.b]\n'
    for support in ("0.1", "0.100000000000000001", "0.10", "+1e-2", "7", '"1%"'):
        (tmp_path / "job.toml").write_text(rules % support)
        assert tacita.Rules.from_file(tmp_path / "job.toml").terms() == tacita.Job.load(tmp_path / "job.toml").terms
    (tmp_path / "job.toml").write_text(rules % "0.1" + "revael = 1\n")
    with pytest.raises(tacita.InputError, match="job.toml: line 8, column 1: .*revael"):
        tacita.Question.from_file(tmp_path / "job.toml")
    with pytest.raises(tacita.InputError, match="nowhere.toml: cannot read"):
        tacita.Question.from_file(tmp_path / "nowhere.toml")


def test_profiles_with_a_setting_are_those_of_the_job_file() -> None:
    told = refusal({"job": "intersect", **AMONG, "key": {"columns": ["id"], "normalize": ["qqqqqqqq"]}})
    with_setting = {name for name in re.findall(r"(\w+):\w+", told.partition("profiles are")[2])}
    assert with_setting == {"date", "timestamp", "phone"} <= set(tacita.__all__)
    for profile in (tacita.date(), tacita.date("MDY"), tacita.timestamp(), tacita.timestamp("Europe/Vienna"), tacita.phone(), tacita.phone("DE")):
        assert tacita.Intersect(key={"columns": ["id"], "normalize": [profile]}, reveal_to="a")


# Sessions.

MINE = pandas.DataFrame({"id": [3, 1, 2, 1], "x": [1, 2, 3, 4]})
OTHER = pandas.DataFrame({"id": [2, 1, 9], "o": [20, 10, 90]})


def test_a_session_answers_several_questions() -> None:
    with tacita.local({"a": MINE, "b": OTHER}) as session:
        assert session.parties == ["a", "b"] and repr(session) == "Local(a, b)"
        rows = session.ask(tacita.Intersect(key=["id"], reveal=tacita.Rows(to="a")))
        total = session.ask(tacita.Intersect(key=["id"], reveal=tacita.Sum("o", to="a", gives={"b": ["o"]})))
        union = session.ask(tacita.Union(key=["id"], reveal=tacita.Count(to="b")))
    assert list(rows) == ["a", "b"] and rows["a"].mask.tolist() == [False, True, True, True]
    assert rows["a"].report["id"] == "adhoc" and rows["a"].report["result"] == {"rows": 3}
    assert rows["b"].value is None and rows["b"].table_names == []
    assert total["a"].value == {"count": 2, "sum": 30} and union["b"].value == {"count": 4}
    asks = (lambda: session.ask(tacita.Dot(reveal_to="a")), lambda: session.check(tacita.Dot(reveal_to="a")), lambda: session.parties, session.__enter__)
    for ask in asks:
        with pytest.raises(tacita.InputError, match="this session is closed"):
            ask()
    assert repr(session) == "Local(closed)" and rows["a"].to_pandas()["x"].tolist() == [2, 4, 3]


def test_a_session_says_what_would_be_learned() -> None:
    session = tacita.local({"a": MINE, "b": OTHER}, latency=0.01, bandwidth=1e6)
    plan = session.check(tacita.Intersect(key=["id"], reveal=tacita.Rows(to="b")))
    assert plan.json["parties"]["a"]["items"] == 3 and "b learns which of its own rows have a key that a has too." in plan.learned("b")
    assert "b learns how many distinct keys a has (3)." in plan.learned("b") and plan.seconds > 0.01


def test_a_session_knows_the_parties_and_a_question_may_name_its_own() -> None:
    tables = {"b": OTHER.rename(columns={"id": "number"}), "a": MINE}
    question = tacita.Intersect(key=["id"], reveal=tacita.Rows(to="a"), parties={"a": {}, "b": {"columns": {"id": "number"}}})
    assert tacita.local(tables).ask(question)["a"].value == {"rows": 3}
    with pytest.raises(tacita.InputError, match='b: no column "id"'):
        tacita.local(tables).ask(dataclasses.replace(question, parties=None))
    with pytest.raises(tacita.InputError, match="reveal_to.*\"hospital\""):
        tacita.local(tables).ask(tacita.Intersect(key=["number"], reveal_to=["hospital"]))
    with pytest.raises(tacita.InputError, match="^question: a Job is not a question"):
        tacita.local(tables).ask(question.job)  # type: ignore[arg-type]
    with pytest.raises(tacita.InputError, match="^tables: a DataFrame has no names of parties"):
        tacita.local(MINE)  # type: ignore[arg-type]


def test_a_question_without_parties_is_for_those_that_are_there() -> None:
    three = tacita.local({name: MINE for name in "abc"})
    assert three.ask(tacita.Intersect(key=["id"], reveal_to="a"))["a"].value == {"rows": 4}
    with pytest.raises(tacita.InputError, match='"vole" is not for .* with 3 parties'):
        three.ask(tacita.Intersect(key=["id"], reveal_to="a", protocol="vole"))
    both = [{"x": [1, 1, 0]}, {"y": [1, 1, 1]}, {"x": [1, 0, 1]}]
    shop = tacita.local(dict(zip("abc", map(pandas.DataFrame, both))))
    rules = shop.ask(tacita.Rules(items="*", min_support=1, min_confidence=1, reveal_to=list("abc")))
    assert rules["a"].value == rules["c"].value == {"itemsets": 7, "rules": 3}
    assert set(rules["b"].itemsets.to_pandas()["items"]) >= {"a.x|c.x|y", "y"}
    some = shop.ask(tacita.Rules(items="*", min_support=1, min_confidence=1, reveal=tacita.Frequent(to=["b", "c"])))
    assert some["b"].value == {"itemsets": 7, "rules": 3} and some["a"].value is None
    # Names that stand in for parties are no others'.
    for learners in (["party_1"], ["party_2", "party_1"], list("abc")):
        assert tacita.Intersect(key=["id"], reveal_to=learners).parties is None
    # Of two, both would learn.
    one = tacita.Rules(items="*", min_support=1, min_confidence=1, reveal=tacita.Frequent(to="c"))
    assert shop.ask(one)["c"].value == {"itemsets": 7, "rules": 3}
    with pytest.raises(tacita.InputError, match="^reveal_to: both parties learn the rules"):
        tacita.local({"a": {"x": [1]}, "b": {"y": [1]}}).ask(dataclasses.replace(one, reveal=tacita.Frequent(to="a")))


def test_a_reader_answers_one_question() -> None:
    session = tacita.local({"a": pyarrow.Table.from_pandas(MINE).to_reader(), "b": OTHER})
    question = tacita.Intersect(key=["id"], reveal=tacita.Rows(to="a"))
    assert session.ask(question)["a"].value == {"rows": 3}
    with pytest.raises(tacita.InputError, match="used up"):
        session.ask(question)


def test_all_kinds_of_questions_are_answered(tmp_path: pathlib.Path) -> None:
    left, right = pandas.DataFrame({"n": [1, 2, 3]}), pandas.DataFrame({"n": [4, 5, 6]})
    session = tacita.local({"a": left, "b": right})
    dot = tacita.Dot(column="n", bits=8, reveal="shares", reveal_to=["a", "b"])
    halves = session.ask(dot)
    for name, half in halves.items():
        half.save(tmp_path / f"{name}.json")
    shares = tacita.local({name: tmp_path / f"{name}.json" for name in "ab"})
    assert shares.ask(tacita.Shares(operation="sum", reveal=tacita.Value(to="b")))["b"].value == {"value": 32}
    baskets = tacita.local({"a": pandas.DataFrame({"milk": [1, 1, 0, 1]}), "b": pandas.DataFrame({"bread": [1, 1, 0, 0]})})
    rules = baskets.ask(tacita.Rules(min_support=2, min_confidence=0.6, items="*", reveal=tacita.Frequent(to=["a", "b"])))
    assert {tuple(rule) for rule in rules["b"].to_pandas()[["antecedents", "consequents"]].to_numpy()} == {("milk", "bread"), ("bread", "milk")}


def test_participants_are_asked_for_what_many_report() -> None:
    tables = {name: pandas.DataFrame({"address": ["192.0.2.7", f"192.0.2.{number}"]}) for number, name in enumerate(("x", "y", "z"), 20)}
    question = tacita.Aggregate(
        key={"columns": ["address"], "normalize": ["ip"]}, round={"reveal_when": "distinct >= 3"}, reveal=tacita.Keys(to="participants")
    )
    session = tacita.local(tables)
    # `tacita plan` says it, from numbers of reports.
    with pytest.raises(tacita.InputError, match="no party is called"):
        session.check(question)
    answers = session.ask(question)
    assert {name: answer.table.to_pylist() for name, answer in answers.items()} == dict.fromkeys("xyz", [{"address": "192.0.2.7", "count": 3}])


# Answers beside the own table.


def tables_of(seed: int) -> tuple[pandas.DataFrame, pandas.DataFrame]:
    """Two tables whose keys overlap, with keys that are missing, or there several times, and labels that are no numbers of rows."""
    rng = numpy.random.default_rng(seed)
    numbers = [pandas.array(rng.integers(0, 40, size), dtype="Int64") for size in (30, 25)]
    for column in numbers:
        column[rng.random(len(column)) < 0.1] = pandas.NA
    made = [lambda ids: ids, lambda ids: ids.astype("string"), lambda ids: pandas.Series(pandas.to_datetime("2026-01-01") + pandas.to_timedelta(ids, unit="D"))]
    ids = [pandas.Series(made[seed % 3](pandas.Series(column))) for column in numbers]
    mine = pandas.DataFrame({"id": ids[0], "x": numpy.arange(30)}).set_axis(rng.permutation(30) + 100 if seed % 2 else range(100, 130))
    other = pandas.DataFrame({"id": ids[1], "o": pandas.array([None if one % 7 == 0 else 2**53 + one for one in range(25)], dtype="Int64")})
    return mine, other


def plain(values: Any) -> list[Any]:
    return [None if value is None or value is pandas.NA else int(value) for value in values]


@pytest.mark.parametrize("seed", range(9))
def test_answers_are_those_of_a_plain_merge(seed: int) -> None:
    mine, other = tables_of(seed)
    tables = {
        "pandas": (mine, other),
        "polars": (polars.from_pandas(mine), polars.from_pandas(other)),
        "pyarrow": (pyarrow.Table.from_pandas(mine, preserve_index=False), pyarrow.Table.from_pandas(other, preserve_index=False)),
    }
    merged = mine.assign(label=mine.index)[mine["id"].notna()].merge(other[other["id"].notna()], on="id")
    expected = sorted(zip(plain(merged["x"]), plain(merged["o"])), key=str)
    common = (mine["id"].isin(other["id"].dropna()) & mine["id"].notna()).tolist()
    # What the parties use need not be the same.
    kinds = list(tables)
    for place, kind in enumerate(kinds):
        own, others = tables[kind][0], tables[kinds[(place + seed) % 3]][1]
        session = tacita.local({"a": own, "b": others})
        rows = session.ask(tacita.Intersect(key=["id"], reveal=tacita.Rows(to="a")))["a"]
        assert rows.mask.dtype == bool and rows.mask.tolist() == common and any(common) and not all(common)
        assert mine["x"].iloc[rows.positions].tolist() == rows.table["x"].to_pylist() and sorted(rows.positions) == numpy.flatnonzero(common).tolist()
        answer = session.ask(tacita.Intersect(key=["id"], reveal=tacita.Payload(to="a", gives={"b": ["o"]})))["a"]
        joined = answer.join(own)
        assert type(joined) is type(own)
        x, o = (joined[name].to_pylist() if kind == "pyarrow" else joined[name].to_list() for name in ("x", "b.o"))
        assert sorted(zip(plain(x), plain(o)), key=str) == expected
        if kind == "pandas":
            assert joined.index.tolist() == [mine.index[row] for row in x] and sorted(joined.index) == sorted(merged["label"])
            assert answer.to_pandas().index.tolist() == joined.index.tolist()
        assert sorted(zip(plain(answer.table["x"].to_pylist()), plain(answer.table["b.o"].to_pylist())), key=str) == expected
        assert answer.to_polars()["x"].to_list() == answer.to_pandas(dtype_backend="pyarrow")["x"].tolist() == answer.table["x"].to_pylist()
        assert answer.report["rows"]["nulls"] == int(mine["id"].isna().sum())
