"""Sessions with parties elsewhere: answers, futures, and how they end."""

from __future__ import annotations

import asyncio
import concurrent.futures
import pathlib

import pandas
import pytest
from conftest import free_address

import tacita

MINE = pandas.DataFrame({"id": [3, 1, 2, 1], "x": [1, 2, 3, 4]})
OTHER = pandas.DataFrame({"id": [2, 1, 9], "o": [20, 10, 90]})

Sessions = tuple[tacita.Session, tacita.Session]


@pytest.fixture
def sessions(tmp_path: pathlib.Path) -> Sessions:
    """A session at `a`, which dials, and one at `b`, which listens."""
    ids = {name: tacita.Identity.create(tmp_path / name, name) for name in "ab"}
    address = free_address()
    here = tacita.connect("a", ids["a"], {"b": {"address": address, "identity": ids["b"].fingerprint}})
    there = tacita.connect("b", tmp_path / "b", {"a": {"identity": ids["a"].fingerprint}}, listen=address)
    return here, there


def test_a_session_answers_several_questions(sessions: Sessions) -> None:
    questions = [
        tacita.Intersect(key=["id"], reveal=tacita.Rows(to="a")),
        tacita.Intersect(key=["id"], reveal=tacita.Sum("o", to="a", gives={"b": ["o"]})),
        tacita.Union(key=["id"], reveal=tacita.Count(to="a"), parties={"b": {}, "a": {}}),
    ]
    here, there = sessions
    with here, there:
        assert here.parties == there.parties == ["b", "a"] and repr(here) == "Session(a of b, a)"
        waiting = [there.start(question, OTHER) for question in questions]
        rows, total, union = (here.ask(question, MINE) for question in questions)
        assert rows.mask.tolist() == [False, True, True, True]
        assert total.value == {"count": 2, "sum": 30} and union.value == {"count": 4}
        assert [one.result(60).value for one in waiting] == [None] * 3 and all(one.done() and not one.cancelled() for one in waiting)
        assert waiting[0].cancel() is False
        last = waiting[1].progress
        assert last is not None and last.party == "b" and last.received > 0
    for session in (here, there):
        asks = (lambda s=session: s.ask(questions[0], MINE), lambda s=session: s.start(questions[0], MINE), session.__enter__)
        for ask in asks:
            with pytest.raises(tacita.InputError, match="this session is closed"):
                ask()
        assert repr(session) == "Session(closed)"


def test_an_answer_is_awaited(sessions: Sessions) -> None:
    question = tacita.Intersect(key=["id"], reveal=tacita.Rows(to=["a", "b"]))

    async def both() -> list[tacita.Result]:
        return await asyncio.gather(sessions[0].start(question, MINE), sessions[1].start(question, OTHER))

    answers = asyncio.run(both())
    assert [answer.mask.tolist() for answer in answers] == [[False, True, True, True], [True, True, False]]
    for session in sessions:
        session.close()


def test_what_is_cancelled_ends_and_the_next_question_is_answered(sessions: Sessions) -> None:
    question = tacita.Intersect(key=["id"], reveal=tacita.Rows(to="a"))
    here, there = sessions
    # The second waits for the first, which waits for a peer that does not ask.
    waiting, behind = there.start(question, OTHER), there.start(question, OTHER)
    assert not waiting.done() and behind.cancel() and behind.cancelled()
    assert waiting.cancel()
    with pytest.raises(concurrent.futures.CancelledError):
        waiting.result(60)
    assert waiting.cancelled() and waiting.done() and waiting.cancel()
    answered = there.start(question, OTHER)
    assert here.ask(question, MINE).value == {"rows": 3} and answered.result(60).value is None
    left = there.start(question, OTHER)
    there.close()
    assert left.cancelled()
    here.close()


def test_terms_are_compared_and_errors_are_the_future_s(sessions: Sessions) -> None:
    here, there = sessions
    with here, there:
        other = there.start(tacita.Intersect(key=["id"], reveal=tacita.Rows(to="b")), OTHER)
        with pytest.raises(tacita.TermsError, match="reveal_to"):
            here.ask(tacita.Intersect(key=["id"], reveal=tacita.Rows(to="a")), MINE)
        assert isinstance(other.exception(60), tacita.TermsError) and not other.cancelled()


def test_a_session_says_what_would_be_learned(sessions: Sessions) -> None:
    plan = sessions[0].check(tacita.Intersect(key=["id"], reveal=tacita.Rows(to="b")), MINE, {"b": 1000})
    assert plan.json["parties"]["a"]["items"] == 3 and "b learns how many distinct keys a has (3)." in plan.learned("b")
    for session in sessions:
        session.close()


def test_confirmation_has_the_last_word(sessions: Sessions, tmp_path: pathlib.Path) -> None:
    told: list[list[str]] = []
    peers = {"b": {"address": free_address(), "identity": "SHA256:" + "A" * 43}}
    with tacita.connect("a", tmp_path / "a", peers, confirm=told.append) as session:  # type: ignore[arg-type]
        with pytest.raises(tacita.InputError, match="not confirmed: nothing was sent"):
            session.ask(tacita.Intersect(key=["id"], reveal=tacita.Rows(to="b")), MINE)
    assert any(sentence.startswith("b learns which of its own rows") for sentence in told[0])
    for one in sessions:
        one.close()


def test_what_is_wrong_is_told_before_anything_is_asked(sessions: Sessions, tmp_path: pathlib.Path) -> None:
    session, _ = sessions
    question = tacita.Intersect(key=["id"], reveal=tacita.Rows(to="a"))
    wrong = [
        (lambda: session.ask(question.terms, MINE), "^question: a method is not a question"),  # type: ignore[arg-type]
        (lambda: session.ask(tacita.Intersect(key=["id"], reveal_to="a", parties=["a", "c"]), MINE), "^parties: the question is for a, c, and the session"),
        (lambda: session.ask(tacita.Intersect(key=["id"], reveal_to="c"), MINE), 'reveal_to.*"c"'),
        (lambda: tacita.connect("a", tmp_path / "a", ["b"]), "^peers: a list has no names"),  # type: ignore[arg-type]
        (lambda: tacita.connect("a", tmp_path / "a", {"b": "b.example:7400"}), "^peers: b = 'b.example:7400': give"),  # type: ignore[dict-item]
        (lambda: tacita.connect("a", tmp_path / "a", {"b": {"adress": "b:1"}}), "^peers: b has no 'adress'"),  # type: ignore[typeddict-unknown-key]
        (lambda: tacita.connect("a", tmp_path / "a", {"a": {}}), "^peers: a is this party"),
    ]
    for ask, message in wrong:
        with pytest.raises(tacita.InputError, match=message):
            ask()
    for one in sessions:
        one.close()
