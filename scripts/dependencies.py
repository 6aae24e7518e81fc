#!/usr/bin/env python3
"""Writes what a release says of the crates that are in its program and its module for Python: their licences, or a bill of materials.

Usage: dependencies.py licences|sbom TARGET...      (to standard output; for these platforms together)

Crates that only build or test are left out. Those are listed that some feature of the workspace asks for, which can be one or two more than a file holds. Texts of
licences are those that crates carry, those of C code in them included. $SOURCE_DATE_EPOCH is the time of the bill."""

from __future__ import annotations

import datetime
import json
import os
import pathlib
import re
import subprocess
import sys
import uuid

ROOT = pathlib.Path(__file__).resolve().parent.parent
# What is handed out is made of these.
HANDED_OUT = ("tacita", "tacita-python")
LICENCE = re.compile(r"(?:UN)?LICEN[CS]E|COPYING|COPYRIGHT|NOTICE", re.IGNORECASE)
# Licences of sources that are there to measure or test a crate.
ASIDE = frozenset(["benches", "examples", "fuzz", "tests", "contrib", "programs"])


def packages(targets: list[str]) -> tuple[dict, dict[str, list[str]]]:
    """Each crate that is handed out, by its identifier, and the crates that each stands on."""
    platforms = [word for target in targets for word in ("--filter-platform", target)]
    command = ["cargo", "metadata", "--locked", "--offline", "--format-version", "1", *platforms]
    told = json.loads(subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout)
    crates = {package["id"]: package for package in told["packages"]}
    macros = {of for of, crate in crates.items() if any("proc-macro" in part["kind"] for part in crate["targets"])}
    nodes = {
        node["id"]: [dep["pkg"] for dep in node["deps"] if dep["pkg"] not in macros and any(kind["kind"] is None for kind in dep["dep_kinds"])]
        for node in told["resolve"]["nodes"]
    }
    waiting, reached = [of for of, crate in crates.items() if crate["name"] in HANDED_OUT], set()
    while waiting:
        of = waiting.pop()
        if of not in reached:
            reached.add(of)
            waiting += nodes[of]
    order = sorted(reached, key=lambda of: (crates[of]["name"], crates[of]["version"]))
    return {of: crates[of] for of in order}, {of: sorted(nodes[of]) for of in order}


def expression(package: dict) -> str:
    """The licence of a crate as SPDX writes it; an older form has a slash for OR."""
    return re.sub(r"\s*/\s*", " OR ", package["license"] or "")


def texts(package: dict):
    """The licence files of a crate: their paths in it, and what they say."""
    folder = pathlib.Path(package["manifest_path"]).parent
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        if path.is_file() and LICENCE.match(path.name) and path.suffix not in (".rs", ".c", ".h") and not ASIDE & set(inside.parts[:-1]):
            yield str(inside), path.read_text(encoding="utf-8", errors="replace").strip()


def licences(crates: dict) -> str:
    """One text: a list of the crates, and each licence text once, with the crates that have it."""
    others = [package for package in crates.values() if package["source"]]
    having: dict[str, list[str]] = {}
    without = []
    for package in others:
        name = f"{package['name']} {package['version']}"
        found = list(texts(package))
        for inside, text in found:
            # Line ends and indentation differ, and the words do not.
            having.setdefault("\n".join(line.strip() for line in text.splitlines()), []).append(f"{name} ({inside})")
        if not found:
            without.append(f"{name} by {', '.join(package['authors']) or 'its contributors'}")
    rust = pathlib.Path(subprocess.run(["rustc", "--print", "sysroot"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip())
    for path in sorted((rust / "share" / "doc" / "rust").glob("LICENSE-*")):
        having.setdefault(path.read_text(encoding="utf-8").strip(), []).append(f"the standard library of Rust ({path.name})")
    parts = ["Licences of what Tacita's program and its module for Python are made of. Tacita itself: LICENSE-APACHE, LICENSE-MIT.", ""]
    parts += [f"{package['name']} {package['version']}: {expression(package)}" for package in others]
    parts += ["the standard library of Rust: MIT OR Apache-2.0"]
    if without:
        parts += ["", "These carry no text of their own; that of the licence named above is below, under other crates:", *without]
    for text, names in having.items():
        parts += ["", "=" * 100, *names, "=" * 100, "", text]
    return "\n".join([*parts, ""])


def checksums() -> dict[tuple[str, str], str]:
    """The checksum of each crate, as the lock file has it."""
    entry = re.compile(r'name = "(.*)"\nversion = "(.*)"\nsource = ".*"\nchecksum = "(.*)"')
    return {(name, version): digest for name, version, digest in entry.findall((ROOT / "Cargo.lock").read_text())}


def sbom(crates: dict, needs: dict[str, list[str]]) -> str:
    """The bill of materials in CycloneDX's JSON, version 1.5."""
    digests = checksums()
    reference = {of: f"pkg:cargo/{package['name']}@{package['version']}" for of, package in crates.items()}

    def component(of: str, kind: str) -> dict:
        package = crates[of]
        digest = digests.get((package["name"], package["version"]))
        return {
            "type": kind,
            "bom-ref": reference[of],
            "name": package["name"],
            "version": package["version"],
            "description": " ".join((package["description"] or "").split()),
            **({"hashes": [{"alg": "SHA-256", "content": digest}]} if digest else {}),
            **({"licenses": [{"expression": expression(package)}]} if package["license"] else {}),
            "purl": reference[of],
        }

    first = next(of for of, package in crates.items() if package["name"] == HANDED_OUT[0])
    time = datetime.datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), datetime.timezone.utc)
    components = [component(of, "library") for of in crates if of != first]
    bill = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        # The same crates have the same number.
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(components))}",
        "version": 1,
        "metadata": {"timestamp": time.isoformat().replace("+00:00", "Z"), "component": component(first, "application")},
        "components": components,
        "dependencies": [{"ref": reference[of], "dependsOn": sorted({reference[need] for need in needs[of]})} for of in crates],
    }
    return json.dumps(bill, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    what, targets = sys.argv[1], sys.argv[2:]
    found, standing_on = packages(targets)
    sys.stdout.write(licences(found) if what == "licences" else sbom(found, standing_on))
