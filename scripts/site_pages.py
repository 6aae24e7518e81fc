#!/usr/bin/env python3
"""Puts the pages of the documentation's site into a directory, in the places that they have in the project, so that links between them hold: Markdown as it
stands, notebooks run and turned into Markdown, and whatever else a page links to; and mkdocs.yml beside the directory. Usage: site_pages.py DIRECTORY"""

from __future__ import annotations

import pathlib
import re
import shutil
import sys
from collections.abc import Iterator

ROOT = pathlib.Path(__file__).resolve().parent.parent
NOTEBOOKS = ROOT / "docs" / "notebooks"

LINK = re.compile(r"(?<=\]\()([^)\s#]+)")
FENCE = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)


def pages(start: list[pathlib.Path]) -> Iterator[pathlib.Path]:
    """Pages, and the files and directories that they link to."""
    waiting, seen = list(start), set()
    while waiting:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        yield path
        if path.suffix == ".md":
            text = FENCE.sub("", path.read_text(encoding="utf-8"))
            linked = [(path.parent / link).resolve() for link in LINK.findall(text) if ":" not in link]
            waiting += [one for one in linked if one.is_relative_to(ROOT) and one.exists()]
        elif path.is_dir():
            waiting += [path / "README.md"] if (path / "README.md").exists() else []
            waiting += [one / "README.md" for one in path.iterdir() if (one / "README.md").exists()]
            waiting += [one for one in path.iterdir() if one.is_file()]


def listing(directory: pathlib.Path) -> str:
    """A page for a directory that has none."""
    lines = [f"# {directory.relative_to(ROOT)}", ""]
    for path in sorted(directory.iterdir()):
        if path.is_file():
            lines.append(f"- [{path.name}]({path.name})")
        elif (path / "README.md").exists():
            lines.append(f"- [{path.name}]({path.name}/README.md)")
    return "\n".join(lines) + "\n"


def for_mkdocs(text: str, page: pathlib.Path) -> str:
    """Markdown as mkdocs reads it: lists stand after a blank line, and links to a directory or a notebook lead to its page."""
    blocks = re.split(r"(^ *```.*?^ *```$)", text, flags=re.MULTILINE | re.DOTALL)
    for place in range(0, len(blocks), 2):
        block = re.sub(r"(?<=\S)\n(?=(?:[-*]|\d+\.) )(?<!^)", _blank_before, blocks[place])
        blocks[place] = LINK.sub(lambda link: _to_page(link[0], page), block)
    return "".join(blocks)


def _blank_before(at: re.Match[str]) -> str:
    """A blank line where a list begins; between its items there is none."""
    before = at.string[: at.start()].rsplit("\n", 1)[-1]
    inside = re.match(r"(?:[-*]|\d+\.) |  ", before)
    return "\n" if inside else "\n\n"


def _to_page(link: str, page: pathlib.Path) -> str:
    if link.endswith(".ipynb"):
        return link.removesuffix(".ipynb") + ".md"
    if ":" in link or not (page.parent / link).is_dir():
        return link
    return f"{link.rstrip('/')}/README.md"


def run(notebook: pathlib.Path) -> tuple[str, dict[str, bytes]]:
    """A notebook as a page, with the pictures that it draws."""
    import nbclient
    import nbconvert
    import nbformat
    from jupyter_client import AsyncKernelManager

    read = nbformat.read(notebook, as_version=4)
    nbclient.NotebookClient(
        read, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(notebook.parent)}}
    ).execute()
    resources = {"unique_key": notebook.stem, "output_files_dir": f"{notebook.stem}_files"}
    text, resources = nbconvert.MarkdownExporter().from_notebook_node(read, resources)
    # The site has its own look for tables.
    text = re.sub(r"<style scoped>.*?</style>\n*", "", text, flags=re.DOTALL).replace(' border="1" class="dataframe"', "")
    return text, resources["outputs"]


def navigation() -> dict[str, list[str]]:
    """The pages by section, in the order in which docs/README.md lists them."""
    listed = LINK.findall((ROOT / "docs" / "README.md").read_text(encoding="utf-8"))
    pages = [f"docs/{link}" for link in dict.fromkeys(listed) if link.endswith(".md") and not link.startswith("..")]
    python = ["docs/guides/python.md", "docs/guides/learn.md", "docs/guides/ray.md"]
    notebooks = [f"docs/notebooks/{path.stem}.md" for path in sorted(NOTEBOOKS.glob("*.ipynb"))]
    return {
        "Guides": ["docs/README.md", "docs/start.md", *(page for page in pages if "/guides/" in page and page not in python)],
        "Python": [*python, "docs/python/api.md"],
        "Notebooks": notebooks,
        "Protocols": [page for page in pages if "/protocols/" in page],
        "Reference": [page for page in pages if page.count("/") == 1 and page != "docs/start.md"],
        "Examples": [str(path.relative_to(ROOT)) for path in sorted((ROOT / "examples").glob("*/README.md"))],
        "Project": [name for name in ("CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md") if (ROOT / name).exists()],
    }


def configuration() -> str:
    """The site's configuration, with what it has to show and where it goes."""
    lines = [f"INHERIT: {ROOT}/docs/site/mkdocs.yml", "nav:", "  - Tacita: README.md"]
    for section, pages in navigation().items():
        lines += [f"  - {section}:", *(f"    - {page}" for page in pages)]
    return "\n".join(lines) + "\n"


def main(target: pathlib.Path) -> None:
    start = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), ROOT / "CHANGELOG.md"]
    for path in pages([one for one in start if one.parent != ROOT / "docs" / "site"]):
        place = target / path.relative_to(ROOT)
        if path.is_dir():
            if not (path / "README.md").exists():
                place.mkdir(parents=True, exist_ok=True)
                (place / "README.md").write_text(listing(path), encoding="utf-8")
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".md":
            place.write_text(for_mkdocs(path.read_text(encoding="utf-8"), path), encoding="utf-8")
        elif path.suffix != ".ipynb":
            shutil.copyfile(path, place)
    (target / "docs" / "python").mkdir(parents=True)
    shutil.copyfile(ROOT / "docs" / "site" / "api.md", target / "docs" / "python" / "api.md")
    (target.parent / "mkdocs.yml").write_text(configuration(), encoding="utf-8")
    for notebook in sorted(NOTEBOOKS.glob("*.ipynb")):
        text, pictures = run(notebook)
        place = target / "docs" / "notebooks" / f"{notebook.stem}.md"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
        for name, picture in pictures.items():
            (place.parent / name).parent.mkdir(exist_ok=True)
            (place.parent / name).write_bytes(picture)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
