"""The notebooks run from beginning to end, and hold nothing of a run: what they show is what the reader's own run gives."""

from __future__ import annotations

import pathlib

import nbclient
import nbformat
import pytest
from conftest import ROOT

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: pathlib.Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in notebook.cells)
    # An error of a cell ends it; of what is only said, nothing may be wrong either.
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(path.parent)}}).execute()
    said = [
        output.text for cell in notebook.cells for output in cell.get("outputs", []) if output.get("name") == "stderr"
    ]
    assert not said, said


def test_there_are_four() -> None:
    assert {path.stem for path in NOTEBOOKS} >= {"patients", "retailers", "attackers", "which-protocol"}
