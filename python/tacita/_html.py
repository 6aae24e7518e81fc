"""Pieces of HTML for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

__all__ = ["bytes_text", "page", "seconds_text", "table"]


def page(title: str, *parts: str) -> str:
    """A block with a title."""
    return f"<div><p><b>{escape(title)}</b></p>{''.join(parts)}</div>"


def table(heads: Sequence[str], rows: Iterable[Sequence[object]], raw: int | None = None) -> str:
    """A table of texts, which are escaped; in the column `raw` they are lines of text with `<br>` between."""

    def cell(place: int, value: object) -> str:
        if place != raw:
            return f"<td>{escape(str(value))}</td>"
        lines = str(value).split("<br>")
        return f'<td style="text-align:left">{"<br>".join(map(escape, lines))}</td>'

    head = "".join(f"<th>{escape(one)}</th>" for one in heads)
    body = "".join(f"<tr>{''.join(cell(*one) for one in enumerate(row))}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def bytes_text(number: float) -> str:
    """A number of bytes, in the unit that suits it."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if number < 1024 or unit == "GiB":
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1024
    raise AssertionError


def seconds_text(seconds: float) -> str:
    """A time, in the unit that suits it."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
