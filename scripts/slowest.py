#!/usr/bin/env python3
"""Prints the ten tests that took longest, and those that passed only when they were tried again, from what nextest wrote."""

import pathlib
import sys
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Below the workspace, wherever what is built goes.
FILE = ROOT / "target" / "nextest" / "default" / "tests.xml"


def main():
    if not FILE.exists():
        sys.exit(f"slowest: no tests have run: {FILE} is missing")
    tests = [
        (float(test.get("time")), f"{suite.get('name')} {test.get('name')}", test)
        for suite in xml.etree.ElementTree.parse(FILE).getroot() for test in suite.iter("testcase")
    ]
    for seconds, name, _ in sorted(tests, key=lambda test: -test[0])[:10]:
        print(f"{seconds:.0f} s {name}")
    for _, name, test in tests:
        if test.find("flakyFailure") is not None:
            print(f"flaky: {name}")


if __name__ == "__main__":
    main()
