#!/usr/bin/env python3
"""Makes the code wrong at one place after the other, and says which of these mutants the tests notice.

The places are data, in scripts/mutants/*.toml:

    [[place]]
    name = "chain-shuffle"                  # one of its kind in the file
    file = "crates/core/src/protocol/intersect/outsourced/chain.rs"
    find = "shuffle(&mut entries, rng);"    # an expression or a statement that occurs once in the file
    put = ""                                # what stands there in the mutant
    why = "the first party of a chain does not shuffle: the leader sees whose entry is whose"
    test = "core lib intersect::outsourced::views::"   # package, `lib` or a test program, and tests by a part of their names

A place that no test can notice has `survives = "the reason"` and no `test`. Where `find` occurs more than once, `from` is what
occurs once before the place that is meant, such as the head of its function.

All places of a run are compiled at once, each behind a switch that TACITA_MUTANT turns on, in a copy of the tree below
target/mutants; nothing of the checkout changes. First each test has to pass with no switch on, then it has to fail with its own.

Usage: scripts/mutants.py [--list] [PLACE | FILE.toml]...     (all places where none is named; PLACE: a part of a name)
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parent.parent
TREE = ROOT / "target" / "mutants" / "tree"
BUILD = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target" / "mutants" / "build"))
PACKAGES = {"core": "tacita-core", "node": "tacita-node", "serve": "tacita-serve", "aggregate": "tacita-aggregate", "cli": "tacita"}
QUIET = b"#![allow(unused_parens, unused_braces)]\n"
SWITCH = """
/// Which mutant this process is.
#[doc(hidden)]
#[allow(missing_docs)]
pub mod mutant {
    pub fn on(place: u32) -> bool {
        static ON: std::sync::LazyLock<u32> =
            std::sync::LazyLock::new(|| std::env::var("TACITA_MUTANT").map_or(0, |place| place.parse().expect("a number")));
        *ON == place
    }
}
"""
KEYS = {"name", "file", "find", "put", "why"}


def fail(message):
    """Ends with what is wrong with the list or the build."""
    sys.exit(f"mutants: {message}")


def places():
    """All places, in the order of their files, each with its number."""
    found = []
    for path in sorted((ROOT / "scripts" / "mutants").glob("*.toml")):
        for place in tomllib.loads(path.read_text())["place"]:
            place["list"] = path.name
            name = f"{path.stem}/{place.get('name', '?')}"
            if missing := KEYS - place.keys():
                fail(f"{name} has no {', '.join(sorted(missing))}")
            if ("test" in place) == ("survives" in place):
                fail(f"{name} needs a test or the reason why it survives, one of both")
            if place.keys() - KEYS - {"from", "list", "test", "survives"}:
                fail(f"{name}: only {', '.join(sorted(KEYS))}, from, test and survives are known")
            if "test" in place and not re.fullmatch(rf"({'|'.join(PACKAGES)}) [\w-]+ \S+( \S+)*", place["test"]):
                fail(f"{name}: a test is a package ({', '.join(PACKAGES)}), `lib` or a test program, and parts of tests' names")
            place["name"] = name
            if any(name == other["name"] for other in found):
                fail(f"{name} is listed twice")
            found.append(place | {"number": len(found) + 1})
    return found


def mutated(file, chosen):
    """The text of a file with a switch at each of its places."""
    text = (ROOT / file).read_text()
    spots = {}
    for place in chosen:
        wanted = "from" if "from" in place else "find"
        if (times := text.count(place[wanted])) != 1:
            fail(f"{place['name']}: its `{wanted}` occurs {times} times in {file}, not once")
        start = text.find(place["find"], text.index(place[wanted]))
        if start < 0:
            fail(f"{place['name']}: its `find` does not occur behind its `from` in {file}")
        # Several mutants may stand in one place.
        spots.setdefault((start, start + len(place["find"])), []).append(place)
    ordered = sorted(spots.items())
    for ((_, end), [one, *_]), ((start, _), [other, *_]) in zip(ordered, ordered[1:]):
        if start < end:
            fail(f"{one['name']} and {other['name']} overlap")
    for (start, end), places_here in reversed(ordered):
        find = places_here[0]["find"]
        mutants = "".join(f"if crate::mutant::on({place['number']}) {{ {place['put']} }} else " for place in places_here)
        choice = f"{mutants}{{ {find} }}"
        statement = find.rstrip().endswith((";", "}"))
        text = text[:start] + (choice if statement else f"({choice})") + text[end:]
    return text


def write(path, content):
    """Writes a file where it differs, so that nothing is compiled that did not change."""
    if not path.exists() or path.read_bytes() != content:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def lay(chosen):
    """Lays the copy of the tree, with the switches in it."""
    tracked = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, check=True, capture_output=True
    )
    names = [name for name in tracked.stdout.decode().split("\0") if name and (ROOT / name).is_file()]
    # Cargo's settings are found above the tree: those here as well would be flags twice, and all dependencies compiled anew.
    files = {name for name in names if not name.startswith(".cargo/")}
    for old in [path for path in TREE.rglob("*") if path.is_file() and str(path.relative_to(TREE)) not in files]:
        old.unlink()
    by_file = {}
    for place in chosen:
        by_file.setdefault(place["file"], []).append(place)
    if unknown := by_file.keys() - files:
        fail(f"no such file: {', '.join(sorted(unknown))}")
    roots = {re.match(r"crates/\w+/src/", file)[0] + "lib.rs" for file in by_file}
    for name in files:
        content = mutated(name, by_file[name]).encode() if name in by_file else (ROOT / name).read_bytes()
        if name in roots:
            content = QUIET + content + SWITCH.encode()
        write(TREE / name, content)


def build(chosen):
    """Compiles the tests that are named: (package, program) -> (the program, its crate's folder)."""
    needed = {tuple(place["test"].split()[:2]) for place in chosen if "test" in place}
    command = ["cargo", "test", "--profile=quick", "--locked", "--no-run", "--message-format=json-render-diagnostics"]
    for package in sorted({package for package, _ in needed}):
        command += ["-p", PACKAGES[package]]
    for program in sorted({program for _, program in needed}):
        command += ["--lib"] if program == "lib" else ["--test", program]
    made = subprocess.run(
        command, cwd=TREE, env=os.environ | {"CARGO_TARGET_DIR": str(BUILD)}, stdout=subprocess.PIPE, text=True
    )
    if made.returncode:
        fail("the mutants do not compile: see above")
    programs = {}
    for line in made.stdout.splitlines():
        message = json.loads(line)
        if message.get("executable") and message["profile"]["test"]:
            folder = pathlib.Path(message["manifest_path"]).parent
            package = next((short for short in PACKAGES if folder.name == short), None)
            program = "lib" if "lib" in message["target"]["kind"] else message["target"]["name"]
            programs[package, program] = (message["executable"], folder)
    return programs


def run(programs, test, number=0, limit=None):
    """How a test ends: `passes`, `fails` or `hangs`, the seconds that it took, and what it printed."""
    package, program, *names = test.split()
    if (package, program) not in programs:
        fail(f"there is no {program} in {package}")
    executable, folder = programs[package, program]
    began = time.monotonic()
    process = subprocess.Popen(
        [executable, *names], cwd=folder, env=os.environ | {"TACITA_MUTANT": str(number)},
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=limit)
        end = "fails" if process.returncode else "passes"
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        output, _ = process.communicate()
        end = "hangs"
    return end, time.monotonic() - began, output


def first_failure(output):
    """The first test that failed, by its name."""
    failed = re.search(r"^test (\S+) .*\.\.\. FAILED$|^---- (\S+) stdout", output, re.MULTILINE)
    return next(filter(None, failed.groups())) if failed else "(no test by name: the program itself ended)"


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--list", action="store_true", help="show the places, and run nothing")
    arguments.add_argument("names", nargs="*", metavar="PLACE", help="a part of a place's name, or a list's file name")
    asked = arguments.parse_args()
    chosen = [
        place for place in places()
        if not asked.names or any(name in place["name"] or name == place["list"] for name in asked.names)
    ]
    if not chosen:
        fail(f"no place is called {' or '.join(asked.names) or 'anything'}")
    if asked.list:
        for place in chosen:
            print(f"{place['name']:40} {place['file']}\n    {place['why']}\n    {place.get('test') or 'survives: ' + place['survives']}")
        return
    lay(chosen)
    programs = build(chosen)
    tests = sorted({place["test"] for place in chosen if "test" in place})
    usual = {}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for test, (end, seconds, output) in zip(tests, pool.map(lambda test: run(programs, test, limit=1800), tests)):
            if end != "passes":
                print(output[-4000:], file=sys.stderr)
                fail(f"{test}: {end} on the right code")
            if not re.search(r"^test result: ok\. [1-9]", output, re.MULTILINE):
                fail(f"{test}: there is no such test")
            usual[test] = seconds

        def judge(place):
            if "survives" in place:
                return "survives", 0, place["survives"]
            end, seconds, output = run(programs, place["test"], place["number"], limit=60 + 10 * usual[place["test"]])
            if end == "fails":
                return "noticed", seconds, first_failure(output)
            return ("MISSED" if end == "passes" else "HANGS"), seconds, place["test"]

        counts = {}
        for place, (verdict, seconds, what) in zip(chosen, pool.map(judge, chosen)):
            counts[verdict] = counts.get(verdict, 0) + 1
            print(f"{verdict:8} {place['name']:40} {seconds:4.0f} s  {what}", flush=True)
    unexplained = counts.get("MISSED", 0) + counts.get("HANGS", 0)
    print(
        f"{len(chosen)} places: {counts.get('noticed', 0)} noticed, {counts.get('survives', 0)} survive with a reason, "
        f"{unexplained} unexplained"
    )
    sys.exit(1 if unexplained else 0)


if __name__ == "__main__":
    main()
