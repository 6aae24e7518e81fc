"""The code of the guide and of the package's own page runs as it stands."""

from __future__ import annotations

import re

import pytest
from conftest import ROOT


@pytest.mark.parametrize("page", ["README.md", "docs/guides/python.md", "docs/guides/learn.md", "python/README.md"])
def test_the_code_of_a_page_runs(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPLBACKEND", "Agg")
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert blocks
    # One after the other, as a reader would type them.
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, page, "exec"), names)
