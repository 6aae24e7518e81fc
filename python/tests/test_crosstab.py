"""Cross tables from Python, against pandas."""

from __future__ import annotations

import numpy
import pandas
import pytest

import tacita


def tables(rows: int = 500, seed: int = 1) -> dict[str, pandas.DataFrame]:
    random = numpy.random.default_rng(seed)
    age = random.integers(0, 90, rows)
    sick = random.choice(["asthma", "flu", "gout", "none"], rows, p=[0.3, 0.3, 0.02, 0.38])
    clinic = pandas.DataFrame({"id": numpy.arange(rows), "age": age})
    lab = pandas.DataFrame({"id": numpy.arange(rows), "sick": sick, "cost": random.integers(1, 1000, rows)})
    return {"clinic": clinic, "lab": lab}


def check(found: pandas.DataFrame, joined: pandas.DataFrame, least: int) -> int:
    """Compares the open cells with pandas, and returns how many there are."""
    bins = pandas.cut(joined["age"], [-1, 17, 64, 200], labels=["<18", "[18,65)", ">=65"]).astype(str)
    truth = joined.groupby([bins, "sick"])["cost"].agg(["count", "sum"])
    open_cells = found.dropna(subset=["count"])
    for _, cell in open_cells.iterrows():
        count, total = truth.loc[(cell["age"], cell["sick"])]
        assert (cell["count"], count >= least) == (count, True)
        if "sum" in cell:
            assert (cell["sum"], round(cell["mean"], 9)) == (total, round(total / count, 9))
    return len(open_cells)


QUESTION = {"rows": ["age"], "columns": ["sick"], "bins": {"age": [18, 65]}}


def test_open_cells_are_those_of_pandas() -> None:
    question = tacita.Crosstab(**QUESTION, measure="mean:cost", limits={"min_cell": 7}, reveal=tacita.Cells(to=["clinic", "lab"]))
    given = tables()
    joined = given["clinic"].merge(given["lab"], on="id")
    answers = tacita.local(given).ask(question)
    cells = check(answers["clinic"].to_pandas(), joined, 7)
    assert answers["clinic"].value == {"cells": cells, "closed": 12 - cells}
    assert 0 < cells < 12
    assert "sum" not in answers["lab"].to_pandas().columns
    check(answers["lab"].to_pandas(), joined, 7)


def test_a_third_party_has_the_measure() -> None:
    given = tables()
    joined = given["clinic"].merge(given["lab"], on="id")
    given["insurer"] = given["lab"][["id", "cost"]].sample(frac=1, random_state=1)
    given["lab"] = given["lab"].drop(columns="cost")
    question = tacita.Crosstab(**QUESTION, measure="mean:cost", row_id="id", reveal=tacita.Cells(to=["lab", "insurer"]))
    answers = tacita.local(given).ask(question)
    cells = check(answers["lab"].to_pandas(), joined, 5)
    assert answers["lab"].value == {"cells": cells, "closed": 12 - cells} and cells > 0
    assert check(answers["insurer"].to_pandas(), joined, 5) == cells
    assert "sum" in answers["lab"].to_pandas().columns and "sum" not in answers["insurer"].to_pandas().columns


@pytest.mark.parametrize("alignment", ["rows", "hidden"])
def test_rows_by_id(alignment: str) -> None:
    given = tables()
    given["lab"] = given["lab"].iloc[150:].sample(frac=1, random_state=1)
    joined = given["clinic"].merge(given["lab"], on="id")
    job = tacita.Job(job="crosstab", id="t", **QUESTION, row_id="id", alignment=alignment, reveal_to=["lab"], parties=["clinic", "lab"])
    result = tacita.simulate(job, given)
    assert check(result["lab"].to_pandas(), joined, 5) > 0


def test_a_question_says_what_is_wrong_with_it() -> None:
    with pytest.raises(tacita.InputError, match="measure"):
        tacita.Crosstab(rows="a", columns="b", measure="median:c", reveal_to=["x"])
    with pytest.raises(tacita.InputError, match="bins.c"):
        tacita.Crosstab(rows="a", columns="b", bins={"c": [1]}, reveal_to=["x"])
    with pytest.raises(TypeError):
        tacita.Crosstab(rows="a", reveal_to=["x"])  # type: ignore[call-arg]
