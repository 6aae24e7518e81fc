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


def workbook(path: pathlib.Path, sheets: dict[str, list[list[tuple[str, str]]]]) -> None:
    """Writes a workbook of cells, each a kind (``t`` for text, ``n``, ``d`` for a date, ``b``, ``e``) and a value."""
    attributes = {"t": 't="inlineStr"', "n": "", "d": 's="1"', "b": 't="b"', "e": 't="e"'}
    relations = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"

    def cell(place: str, kind: str, value: str) -> str:
        inner = f"<is><t>{value}</t></is>" if kind == "t" else f"<v>{value}</v>"
        return f'<c r="{place}" {attributes[kind]}>{inner}</c>'

    def sheet(rows: list[list[tuple[str, str]]]) -> str:
        lines = (
            f'<row r="{number}">{"".join(cell(f"{chr(65 + place)}{number}", *one) for place, one in enumerate(row))}</row>'
            for number, row in enumerate(rows, 1)
        )
        return f"<worksheet><sheetData>{''.join(lines)}</sheetData></worksheet>"

    def link(number: int, kind: str, target: str) -> str:
        return f'<Relationship Id="rId{number}" Type="{relations}/{kind}" Target="{target}"/>'

    names = list(enumerate(sheets, 1))
    listed = "".join(f'<sheet name="{name}" sheetId="{number}" r:id="rId{number}"/>' for number, name in names)
    links = "".join(link(number, "worksheet", f"worksheets/sheet{number}.xml") for number, _ in names)
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("_rels/.rels", f"<Relationships>{link(1, 'officeDocument', 'xl/workbook.xml')}</Relationships>")
        file.writestr("xl/_rels/workbook.xml.rels", f"<Relationships>{links}</Relationships>")
        file.writestr("xl/workbook.xml", f'<workbook xmlns:r="{relations}"><sheets>{listed}</sheets></workbook>')
        file.writestr("xl/styles.xml", '<styleSheet><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs></styleSheet>')
        for number, name in names:
            file.writestr(f"xl/worksheets/sheet{number}.xml", sheet(sheets[name]))


def test_a_sheet_is_read_as_the_csv_that_it_would_be(tmp_path: pathlib.Path) -> None:
    header = [("t", "id"), ("t", "born"), ("t", "member"), ("t", "note")]
    rows = [
        header,
        [("t", "007"), ("d", "29251"), ("b", "1"), ("e", "#N/A")],
        [("n", "17"), ("d", "45943.5"), ("b", "0"), ("n", "0.30000000000000004")],
    ]
    workbook(tmp_path / "a.xlsx", {"Old": [header, [("t", "8"), ("d", "1")]], "Kunden": rows})
    (tmp_path / "b.csv").write_text("id,born\n007,1980-01-31\n17,2025-10-13T12:00:00\n")
    job = tacita.Job(
        job="intersect", id="s", reveal_to=["a"], key={"columns": ["id", "born"]}, parties={"a": {"sheet": "Kunden"}, "b": {}}
    )
    result = tacita.simulate(job, {"a": tmp_path / "a.xlsx", "b": tmp_path / "b.csv"})["a"]
    assert result.table.to_pylist() == [
        {"id": "007", "born": "1980-01-31", "member": "TRUE", "note": ""},
        {"id": "17", "born": "2025-10-13T12:00:00", "member": "FALSE", "note": "0.3"},
    ]
    plain = tacita.Job(job="intersect", id="s", reveal_to=["a"], key={"columns": ["id"]}, parties=["a", "b"])
    first = tacita.simulate(plain, {"a": tmp_path / "a.xlsx", "b": tmp_path / "b.csv"})["a"]
    assert first.report["result"] == {"rows": 0}
    (said,) = [warning for warning in first.warnings if 'sheet "Old" is read' in warning]
    assert 'sheet = "NAME"' in said and "--sheet" not in said
    assert any('sheet "Kunden": 1 cell with an error' in warning and "D2 (#N/A)" in warning for warning in result.warnings), result.warnings
