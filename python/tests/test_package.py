"""The package as it is built and installed."""

from __future__ import annotations

import inspect
import pathlib
import re
import shutil
import stat
import subprocess
import sys
import tarfile
import tomllib
import types
import zipfile
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from conftest import COMMAND, ROOT

import tacita
from tacita import _run

sys.path.append(str(ROOT / "scripts"))
# Behind the line that says where it is.
from add_command import add  # noqa: E402


def test_a_source_distribution_can_be_built(tmp_path: pathlib.Path) -> None:
    """As `pip install ./python` and `pip install tacita.tar.gz` read it: the manifests, and what they lock."""
    maturin = shutil.which("maturin")
    assert maturin, "scripts/need maturin installs it, and make puts it on the path"
    subprocess.run([maturin, "sdist", "--out", str(tmp_path)], cwd=ROOT / "python", check=True, capture_output=True)
    (packed,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(packed) as archive:
        archive.extractall(tmp_path, filter="data")
    whole = tmp_path / packed.name.removesuffix(".tar.gz")
    settings = tomllib.loads((whole / "pyproject.toml").read_text())
    # Nothing is taken from where a build has left it.
    assert "data" not in settings["tool"]["maturin"]
    told = ["cargo", "metadata", "--offline", "--format-version", "1", *(["--locked"] if settings["tool"]["maturin"].get("locked") else [])]
    ran = subprocess.run(told, cwd=whole, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert {"LICENSE-APACHE", "LICENSE-MIT", "PKG-INFO", "crates", "tacita"} <= {one.name for one in whole.iterdir()}
    assert not any((whole / name).exists() for name in ("tests", "tacita.data"))


def test_the_command_is_put_into_a_wheel(tmp_path: pathlib.Path) -> None:
    # Not of our own name: pip would take the package that is tested away before it installs this one.
    wheel, program = tmp_path / "sample-1.2.3-py3-none-any.whl", tmp_path / "tacita"
    program.write_text(f"#!{sys.executable}\nprint('here')\n")
    information = {
        "METADATA": "Metadata-Version: 2.1\nName: sample\nVersion: 1.2.3\n",
        "WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    with zipfile.ZipFile(wheel, "w") as made:
        for name, text in {**information, "RECORD": "sample-1.2.3.dist-info/RECORD,,\n"}.items():
            made.writestr(f"sample-1.2.3.dist-info/{name}", text)
    page = tmp_path / "prefix" / "share" / "man" / "man1" / "tacita.1"
    page.parent.mkdir(parents=True)
    page.write_text("a page")
    add(wheel, program, tmp_path / "prefix")
    add(wheel, program, tmp_path / "prefix")
    # pip compares each file with the record.
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "-q", "--no-index", "--prefix", str(tmp_path / "there"), str(wheel)], check=True, capture_output=True
    )
    installed = tmp_path / "there" / "bin" / "tacita"
    assert installed.stat().st_mode & stat.S_IXUSR
    assert subprocess.run([installed], capture_output=True, text=True, check=True).stdout == "here\n"
    with zipfile.ZipFile(wheel) as made:
        record = made.read("sample-1.2.3.dist-info/RECORD").decode()
        assert record.count("sample-1.2.3.data/scripts/tacita,sha256=") == 1 and len(made.namelist()) == len(set(made.namelist())) == 5
    assert (tmp_path / "there" / "share" / "man" / "man1" / "tacita.1").read_text() == "a page"


def test_a_command_of_another_version_is_not_run(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _run.own_command() == COMMAND
    other = tmp_path / "tacita"
    other.write_text("#!/bin/sh\necho tacita 9.9.9\n")
    other.chmod(0o755)
    monkeypatch.setattr(_run, "command", lambda: other)
    with pytest.raises(tacita.InputError, match=f"{other} is tacita 9.9.9, and this package is of version {tacita.__version__}: install it again"):
        _run.own_command()


def public_functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    """The functions that users call, and the methods of the classes that they get, by name."""
    for module in (tacita, tacita.policy, tacita.ledger, tacita.plot):
        for name in module.__all__:
            found = getattr(module, name)
            own = vars(found) if inspect.isclass(found) else {"": found}
            for method, what in own.items():
                plain = what.__func__ if isinstance(what, (classmethod, staticmethod)) else what
                if isinstance(plain, types.FunctionType) and not method.startswith("_"):
                    yield f"{module.__name__}.{name}.{method}".rstrip("."), plain


def sections(documentation: str) -> dict[str, str]:
    """The sections of a docstring in numpydoc's form, by title; what stands before them has none."""
    title, *rest = re.split(r"^(\w+)\n-{3,}\n", documentation, flags=re.MULTILINE)
    return {"": title, **dict(zip(rest[::2], rest[1::2]))}


def lacks(function: Callable[..., Any]) -> list[str]:
    """What a docstring does not say that it should: parameters in their order, what is returned, and what is raised."""
    said, signature = sections(inspect.getdoc(function) or ""), inspect.signature(function)
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    wanted = [stars.get(one.kind, "") + name for name, one in signature.parameters.items() if name not in ("self", "cls")]
    named = [name for line in re.findall(r"^(\*{0,2}\w.*)$", said.get("Parameters", ""), re.MULTILINE) for name in line.partition(" : ")[0].split(", ")]
    lacking = [] if named == wanted else [f"Parameters {wanted}, and not {named}"]
    if (signature.return_annotation not in ("None", None)) != ("Returns" in said):
        lacking.append("Returns, if anything is")
    source = inspect.getsource(function)
    if re.search(r"\braise |\bwith .*named\(\)|\bcheck_path\(|\b_spec_of\(", source) and "Raises" not in said:
        lacking.append("Raises")
    if list(said) != [title for title in ("", "Parameters", "Returns", "Raises", "Examples") if title in said]:
        lacking.append(f"the usual order of {list(said)}")
    return lacking


def test_every_public_function_documents_what_it_takes_and_gives() -> None:
    found = dict(public_functions())
    assert len(found) > 40 and "tacita.Result.join" in found and "tacita.doctor" in found
    assert {name: lacking for name, function in found.items() if (lacking := lacks(function))} == {}


def test_a_docstring_that_lacks_something_is_noticed() -> None:
    def lacking(first: int, *, second: int = 0) -> int:
        """Adds.

        Parameters
        ----------
        first : int
            A number.
        """
        if second:
            raise ValueError
        return first + second

    assert lacks(lacking) == ["Parameters ['first', 'second'], and not ['first']", "Returns, if anything is", "Raises"]
