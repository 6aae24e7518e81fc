"""The notebooks run from beginning to end, and hold nothing of a run: what they show is what the reader's own run gives."""

from __future__ import annotations

import json
import os
import pathlib
import signal
import subprocess
import sys

import nbformat
import pytest
from conftest import ROOT

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))

# An error of a cell ends it.
RUN = """
import json, pathlib, sys
import nbclient, nbformat
path = pathlib.Path(sys.argv[1])
notebook = nbformat.read(path, as_version=4)
nbclient.NotebookClient(notebook, timeout=90, resources={"metadata": {"path": str(path.parent)}}).execute()
print(json.dumps([output.text for cell in notebook.cells for output in cell.get("outputs", []) if output.get("name") == "stderr"]))
"""


def said_by(path: pathlib.Path) -> list[str]:
    """What a notebook's cells say on the error stream. Raises `TimeoutExpired` if it does not end, and takes its kernel along."""
    running = subprocess.Popen([sys.executable, "-c", RUN, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        told, errors = running.communicate(timeout=100)
    except subprocess.TimeoutExpired:
        os.killpg(running.pid, signal.SIGKILL)
        running.communicate()
        raise
    assert running.returncode == 0, errors
    said: list[str] = json.loads(told.splitlines()[-1])
    return said


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: pathlib.Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in notebook.cells)
    try:
        said = said_by(path)
    except subprocess.TimeoutExpired:
        # A client and a kernel that miss each other at the start wait for ever, now and then. A notebook that does not end does not end again.
        said = said_by(path)
    # Of what is only said, nothing may be wrong either.
    assert not said, said


def test_there_are_four() -> None:
    assert {path.stem for path in NOTEBOOKS} >= {"patients", "retailers", "attackers", "which-protocol"}
