#!/usr/bin/env python3
"""Checks that every link within a built site leads to a page, a file or a heading that is there. Usage: site_links.py DIRECTORY"""

from __future__ import annotations

import pathlib
import sys
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """What a page links to, and what can be linked to in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.names: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if value and (name, tag) in (("href", "a"), ("href", "link"), ("src", "img"), ("src", "script")):
                self.links.append(value)
            elif value and name in ("id", "name"):
                self.names.add(value)


def main(site: pathlib.Path) -> None:
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    wrong = []
    for path, page in pages.items():
        # The page for what is not there is shown anywhere: its links start at the root.
        for link in page.links if path.name != "404.html" else []:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            if not target.is_file():
                wrong.append(f"{path.relative_to(site)}: {link} is not there")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].names:
                wrong.append(f"{path.relative_to(site)}: {link} has no such heading")
    print(
        *wrong,
        f"{len(pages)} pages, {sum(len(page.links) for page in pages.values())} links, {len(wrong)} of them wrong",
        sep="\n",
        file=sys.stderr,
    )
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]).resolve())
