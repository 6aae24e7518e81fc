#!/usr/bin/env python3
"""Checks results against what the publishers of their formats ask: MISP's schema of warning lists (as PyMISPWarningLists brings it), and
OASIS's of STIX 2.1 (as stix2-validator does). `scripts/need schemas` makes an environment that has both."""

import json
import pathlib
import sys

import jsonschema
import pymispwarninglists
import stix2validator


def faults(path):
    """What is wrong with a file."""
    if path.name.endswith(".misp.json"):
        lists = pathlib.Path(pymispwarninglists.__file__).parent / "data" / "misp-warninglists"
        schema = json.loads((lists / "schema.json").read_text())
        checker = jsonschema.validators.validator_for(schema)(schema)
        return [error.message for error in checker.iter_errors(json.loads(path.read_text()))]
    if path.name.endswith(".stix.json"):
        checked = stix2validator.validate_file(str(path), stix2validator.ValidationOptions(version="2.1"))
        if checked.is_valid:
            return []
        errors = [str(error) for result in checked.object_results for error in result.errors]
        return errors or [str(checked.fatal or "is not valid")]
    return ["is in no format that is known here"]


def main():
    found = False
    for path in map(pathlib.Path, sys.argv[1:]):
        for fault in faults(path):
            print(f"{path}: {fault}")
            found = True
    sys.exit(1 if found else 0)


main()
