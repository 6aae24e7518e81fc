#!/usr/bin/env python3
"""Makes the table of numbering plans that the profile `phone` reads by, and the numbers that it is tested with.

    scripts/phone_plans.py PhoneNumberMetadata.xml VERSION

The source is resources/PhoneNumberMetadata.xml of https://github.com/google/libphonenumber at the tag v + VERSION. A
newer table reads some numbers differently, so it comes with another PROFILES_VERSION.
"""

import pathlib
import re
import sys
import xml.etree.ElementTree as xml

PLACE = pathlib.Path(__file__).resolve().parent.parent / "crates/node/src/table/normalize/phone"

HEAD = """\
# {what}, made by scripts/phone_plans.py from libphonenumber {version}, resources/PhoneNumberMetadata.xml.
# Copyright (C) 2009 The Libphonenumber Authors. Licensed under the Apache License, Version 2.0 (LICENSE-APACHE).
# Fields are separated by tabs; `-` is an empty one:
#   1 region: ISO 3166 letters; 001 for codes that no country has
"""

PLANS = """\
#   2 country code, with * at the region whose rules hold for all numbers that have the code in front
#   3 what is dialled before a foreign country code: a pattern
#   4 what is dialled before a number within the country: a pattern
#   5 what stands for a number that field 4 matches with its last group; else the match is dropped
#   6 the numbers of the plan: a pattern
#   7 their lengths
#   8 their lengths without pagers, voice mail, and numbers of companies
"""

EXAMPLES = """\
#   2 country code
#   3 what is dialled before a number within the country, where that is always the same digits
#   4 numbers, one of each kind
"""

# Kinds of numbers that another party may have to call: those of companies hold within a country only, some of them.
KINDS = ["fixedLine", "mobile", "tollFree", "premiumRate", "sharedCost", "personalNumber", "voip"]
ALL = KINDS + ["pager", "uan", "voicemail"]


def pattern(text):
    """A pattern without white space, and with ASCII digits only."""
    assert r"[\d" not in (text or ""), f"a class within a class: {text}"
    return re.sub(r"\s", "", text or "-").replace(r"\d", "[0-9]")


def lengths(territory, kinds):
    """The lengths that numbers of these kinds have where they are dialled from anywhere."""
    found = set()
    for kind in kinds:
        for node in territory.findall(f"{kind}/possibleLengths"):
            for low, high, single in re.findall(r"\[(\d+)-(\d+)\]|(\d+)", node.get("national")):
                found.update(range(int(low or single), int(high or single) + 1))
    return ",".join(map(str, sorted(found))) or "-"


def main():
    source, version = sys.argv[1:]
    territories = xml.parse(source).getroot().findall("territories/territory")
    codes = [territory.get("countryCode") for territory in territories]
    plans = HEAD.format(what="Numbering plans", version=version) + PLANS
    examples = HEAD.format(what="Examples of telephone numbers", version=version) + EXAMPLES
    for territory in territories:
        region, code, prefix = (territory.get(name) for name in ("id", "countryCode", "nationalPrefix"))
        is_main = territory.get("mainCountryForCode") == "true" or codes.count(code) == 1
        fields = [
            region,
            code + "*" * is_main,
            pattern(territory.get("internationalPrefix")),
            pattern(territory.get("nationalPrefixForParsing") or prefix),
            territory.get("nationalPrefixTransformRule") or "-",
            pattern(territory.find("generalDesc/nationalNumberPattern").text),
            lengths(territory, ALL),
            lengths(territory, KINDS),
        ]
        plans += "\t".join(fields) + "\n"
        numbers = [node.text for kind in KINDS for node in territory.findall(f"{kind}/exampleNumber")]
        prefix = "-" if territory.get("nationalPrefixForParsing") else prefix or "-"
        examples += "\t".join([region, code, prefix, ",".join(numbers) or "-"]) + "\n"
    (PLACE / "plans.tsv").write_text(plans)
    (PLACE / "examples.tsv").write_text(examples)


if __name__ == "__main__":
    main()
