"""Results as spreadsheets: what is in the file, as the programs that open it read it."""

from __future__ import annotations

import pathlib
import re
import zipfile

import pyarrow as pa

import tacita


def test_text_stays_text_and_numbers_are_numbers(tmp_path: pathlib.Path) -> None:
    job = tacita.Job(job="intersect", id="s", reveal_to=["a"], key={"columns": ["id"]}, parties=["a", "b"])
    table = pa.table({"id": ["=1+1", "08010"], "n": [2**60 + 1, 7], "x": [2 / 3, 0.5], "f": [True, None]})
    tacita.simulate(job, {"a": table, "b": pa.table({"id": ["=1+1", "08010"]})})["a"].save(tmp_path / "a.xlsx")
    with zipfile.ZipFile(tmp_path / "a.xlsx") as file:
        sheet = file.read("xl/worksheets/sheet1.xml").decode()
        texts = re.findall(r"<t[^>]*>([^<]*)</t>", file.read("xl/sharedStrings.xml").decode())
    cells = {place: (kind, value) for place, kind, value in re.findall(r'<c r="(\w+)"[^>]*?(?: t="(\w)")?><v>([^<]*)</v>', sheet)}
    read = {place: texts[int(value)] if kind == "s" else float(value) for place, (kind, value) in cells.items()}
    # Sorted by key; nothing is a formula.
    assert [read[place] for place in ("A1", "B1", "C1", "D1")] == ["id", "n", "x", "f"] and "<f>" not in sheet
    assert (read["A2"], read["B2"], read["C2"]) == ("08010", 7.0, 0.5) and "D2" not in read
    assert (read["A3"], read["B3"], read["C3"], read["D3"]) == ("=1+1", str(2**60 + 1), 2 / 3, 1.0)
