"""Draws raf.svg from raf.jsonl, which `paper_raf --json docs/plots/raf.jsonl` (benches/src/measures/published/paper_raf/) writes.

    python3 docs/plots/raf.py

The panels are figures 3a to 3c of Ringberg, Applebaum, Freedman, Caesar & Rexford, and what section 5.2 asks for. Rates are keys a second of one
core's CPU, drawn as logarithms, as are the numbers of keys and of cores. Needs nothing but Python.
"""

import json
import math
import pathlib

from panels import draw

HERE = pathlib.Path(__file__).parent
COLUMNS = 3

# What the paper's text states; nothing is read off its pictures. Keys of a batch and its rates; cores and rates.
PROXY_3A = {5_000: 1_000 / 7.2}
DATABASE_3A = {10: 90, 10_000: 90}
PROXY_3B = {32: 900 / 4}
DATABASE_3B = {2: 350 / 4, 32: 350 / 4}
PROXY_3C = {4: 1_159, 8: 2_319}
DATABASE_3C = {2: 173, 8: 651}

MOD_P, CURVE = "mod p, 1024/160", "ristretto255"
PROTOCOLS = {"naor-reingold": "published", "dh": "dh"}


def main():
    lines = [json.loads(line) for line in (HERE / "raf.jsonl").read_text().splitlines()]

    def chosen(**wanted):
        return [line for line in lines if all(line.get(key) == value for key, value in wanted.items())]

    def curve(label, points, scale, first):
        """Points by what they stand over, with the last of those that were measured twice."""
        return label, sorted((scale(x / first), math.log10(y)) for x, y in dict(points).items())

    def rate(line, role):
        setup = line["setup_ms"][["proxy", "participant"].index(role)] if role in ("proxy", "participant") else 0
        return 1_000 * line["keys"] / (line[f"{role}_ms"] + setup)

    def batches(label, role, group, bits, protocol="naor-reingold", **more):
        found = chosen(figure="3a", group=group, bits=bits, protocol=protocol, distinct=True, **more)
        whole = [line for line in found if line.get("amortised", True) and line.get("stage", line["keys"]) == line["keys"]]
        return curve(label, [(line["keys"], rate(line, role)) for line in whole], math.log10, 10)

    def stages(label, group, bits):
        found = chosen(figure="3a", group=group, bits=bits, protocol="naor-reingold", distinct=True, amortised=True)
        most = max(line["keys"] for line in found)
        return curve(label, [(line["stage"], rate(line, "proxy")) for line in found if line["keys"] == most], math.log10, 10)

    def clients(label, protocol, what):
        return curve(label, [(line["participants"], line[what]) for line in chosen(figure="3b", protocol=protocol)], math.log2, 2)

    def replicas(label, role, **more):
        return curve(label, [(line["replicas"], line["rate"]) for line in chosen(figure="3c", role=role, **more)], math.log2, 1)

    def paper(points, scale, first):
        return curve("paper", points.items(), scale, first)

    def load(label, protocol, value):
        found = chosen(section="5.2", protocol=protocol)
        return label, [(place, math.log10(1e6 * value(line))) for place, line in enumerate(found)]

    def proxy(line):
        return line["seconds"][0]

    def planned(line):
        return line["planned"][0]

    settings = [("mod p", MOD_P, 32), ("curve, 32", CURVE, 32), ("128 bits", CURVE, 128)]
    keys = [(math.log10(keys / 10), f"{keys:,}") for keys in (10, 100, 1_000, 10_000)]
    participants = [(math.log2(number / 2), str(number)) for number in (2, 4, 8, 16, 32, 64)]
    cores = [(math.log2(number), str(number)) for number in (1, 2, 4, 8)]
    loads = [(0, "networks"), (1, "hosts"), (2, "users")]
    panels = [
        ("3a: proxy, by keys of a batch: log10 keys/s", "published protocol, amortised", [
            *(batches(label, "proxy", group, bits) for label, group, bits in settings), paper(PROXY_3A, math.log10, 10)]),
        ("3a: database: log10 keys/s", "after the published protocol", [
            *(batches(label, "database", group, bits) for label, group, bits in settings), paper(DATABASE_3A, math.log10, 10)]),
        ("3a: 5,000 keys in stages: log10 keys/s", "proxy, by keys of a stage", [stages(*setting) for setting in settings]),
        ("3a: by dh, 128 bits: log10 keys/s", "the same work without transfers",
         [batches(role, role, CURVE, 128, "dh") for role in ("proxy", "participant", "database")]),
        ("3b: proxy, by participants: log10 keys/s", "over the service, 32 bits; the paper's by 4 cores", [
            *(clients(label, protocol, "proxy") for protocol, label in PROTOCOLS.items()),
            clients("p., by clock", "naor-reingold", "proxy_wall"), paper(PROXY_3B, math.log2, 2)], participants),
        ("3b: database: log10 keys/s", "over the service, 32 bits; the paper's by 4 cores", [
            *(clients(label, protocol, "database") for protocol, label in PROTOCOLS.items()), paper(DATABASE_3B, math.log2, 2)], participants),
        ("3c: proxies together: log10 keys/s", "by cores, one a replica", [
            *(replicas(label, "proxy", protocol=protocol) for protocol, label in PROTOCOLS.items()), paper(PROXY_3C, math.log2, 1)], cores),
        ("3c: databases together: log10 keys/s", "by cores, one a replica",
         [replicas("here", "database"), paper(DATABASE_3C, math.log2, 1)], cores),
        ("5.2: proxy, log10 us of CPU a report", "measured, and by tacita plan --load", [
            load("published", "naor-reingold", proxy), load("planned", "naor-reingold", planned),
            load("dh", "dh", proxy), load("planned", "dh", planned)], loads),
    ]
    draw(HERE / "raf.svg", panels, COLUMNS, keys)


if __name__ == "__main__":
    main()
