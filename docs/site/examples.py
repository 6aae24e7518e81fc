"""The examples in docstrings are code, for the site as for doctest."""

from __future__ import annotations

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"^>>> .*?(?=\n\s*\n|\Z)", re.MULTILINE | re.DOTALL)


class Examples(griffe.Extension):
    """Puts each example into a block of code, without what is meant for doctest alone."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring:
            text = re.sub(r" *# doctest: \+\w+", "", obj.docstring.value)
            obj.docstring.value = EXAMPLE.sub(lambda example: f"```pycon\n{example[0]}\n```", text)
