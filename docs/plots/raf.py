"""Figures 3a to 3c and section 5.2 of Ringberg, Applebaum, Freedman, Caesar & Rexford, from raf.jsonl, which
`paper_raf --json docs/plots/raf.jsonl` writes (benches/src/measures/published/paper_raf/). Rates are by the CPU time of the role."""

import style

# Rates that the paper's text states; nothing is read off its pictures. By keys of a batch, by participants, by cores.
PROXY_3A = {5_000: 1_000 / 7.2}
DATABASE_3A = {10: 90, 10_000: 90}
PROXY_3B = {32: 900 / 4}
DATABASE_3B = {2: 350 / 4, 32: 350 / 4}
PROXY_3C = {4: 1_159, 8: 2_319}
DATABASE_3C = {2: 173, 8: 651}

MOD_P, CURVE = "mod p, 1024/160", "ristretto255"
PROTOCOLS = {"naor-reingold": 0, "dh": 1}
GROUPS = [("mod p, 32 bits", MOD_P, 32), ("ristretto255, 32 bits", CURVE, 32), ("ristretto255, 128 bits", CURVE, 128)]
RATE = "keys a second; here of CPU"


def rate(line, role):
    setup = line["setup_ms"][["proxy", "participant"].index(role)] if role in ("proxy", "participant") else 0
    return 1_000 * line["keys"] / (line[f"{role}_ms"] + setup)


def draw():
    lines = style.rows("raf")
    figure, axes = style.panels(9, 3)

    def chosen(**wanted):
        return [line for line in lines if all(line.get(key) == value for key, value in wanted.items())]

    def measured(axis, label, points, place):
        # The last counts of what was measured twice.
        style.measured(axis, f"{label}, here", sorted(dict(points).items()), place)

    def batches(axis, label, role, group, bits, place, protocol="naor-reingold"):
        found = chosen(figure="3a", group=group, bits=bits, protocol=protocol, distinct=True)
        whole = [line for line in found if line.get("amortised", True) and line.get("stage", line["keys"]) == line["keys"]]
        measured(axis, label, [(line["keys"], rate(line, role)) for line in whole], place)

    def stages(axis, label, group, bits, place):
        found = chosen(figure="3a", group=group, bits=bits, protocol="naor-reingold", distinct=True, amortised=True)
        most = max(line["keys"] for line in found)
        measured(axis, label, [(line["stage"], rate(line, "proxy")) for line in found if line["keys"] == most], place)

    def by(axis, label, key, value, place, **wanted):
        measured(axis, label, [(line[key], line[value]) for line in chosen(**wanted)], place)

    proxy, database, in_stages, by_dh, proxy_b, database_b, proxy_c, database_c, loads = axes
    for place, (label, group, bits) in enumerate(GROUPS):
        batches(proxy, label, "proxy", group, bits, place)
        batches(database, label, "database", group, bits, place)
        stages(in_stages, label, group, bits, place)
    for place, role in enumerate(("proxy", "participant", "database")):
        batches(by_dh, role, role, CURVE, 128, place + 3, "dh")
    style.stated(proxy, "mod p, paper (section 5.1: 7.2 ms a key)", PROXY_3A.items())
    style.stated(database, "mod p, paper (section 5.1)", DATABASE_3A.items())
    for axis, title, across in [(proxy, "Figure 3a: proxy", "keys of a batch"), (database, "Figure 3a: database", "keys of a batch"),
                                (in_stages, "Figure 3a: proxy, in stages", "keys of a stage"),
                                (by_dh, "Figure 3a by dh, 128 bits", "keys of a batch")]:
        style.numbers(axis, [10, 100, 1_000, 10_000])
        style.caption(axis, title, across, RATE)

    for protocol, place in PROTOCOLS.items():
        by(proxy_b, protocol, "participants", "proxy", place, figure="3b", protocol=protocol)
        by(database_b, protocol, "participants", "database", place, figure="3b", protocol=protocol)
        by(proxy_c, protocol, "replicas", "rate", place, figure="3c", role="proxy", protocol=protocol)
    by(proxy_b, "naor-reingold, of wall time", "participants", "proxy_wall", 5, figure="3b", protocol="naor-reingold")
    by(database_c, "databases", "replicas", "rate", 0, figure="3c", role="database")
    style.stated(proxy_b, "paper (section 5.1: 900 by 4 cores)", PROXY_3B.items())
    style.stated(database_b, "paper (section 5.1: 350 by 4 cores)", DATABASE_3B.items())
    style.stated(proxy_c, "paper (section 5.1)", PROXY_3C.items())
    style.stated(database_c, "paper (section 5.1)", DATABASE_3C.items())
    for axis, title, ticks, across in [(proxy_b, "Figure 3b: proxy", [2, 4, 8, 16, 32], "participants"),
                                       (database_b, "Figure 3b: database", [2, 4, 8, 16, 32], "participants"),
                                       (proxy_c, "Figure 3c: proxies together", [1, 2, 4, 8], "cores, one a replica"),
                                       (database_c, "Figure 3c: databases together", [1, 2, 4, 8], "cores, one a replica")]:
        style.numbers(axis, ticks)
        style.caption(axis, title, across, RATE)
    applications(loads, chosen)
    for axis in axes:
        if axis is not loads:
            style.powers_of_ten(axis)
        style.legend(axis)
    return figure


def applications(axis, chosen):
    """Bars: the proxy's CPU a report, as measured and as planned."""
    for protocol, place in PROTOCOLS.items():
        found = chosen(section="5.2", protocol=protocol)
        for shift, key, said in [(0, "seconds", "measured"), (1, "planned", "planned")]:
            left = [load + 0.2 * (2 * place + shift - 1.5) for load in range(len(found))]
            axis.bar(left, [1e6 * line[key][0] for line in found], 0.18, color="white" if shift else style.COLOURS[place],
                     edgecolor=style.COLOURS[place], label=f"{protocol}, {said}")
    axis.set_xticks(range(3), ["networks", "hosts", "users"])
    style.caption(axis, "Section 5.2: proxy", "application", "CPU a report (microseconds)")
