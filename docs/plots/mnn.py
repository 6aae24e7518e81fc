"""Figures 2 to 9 of Miyaji, Nakasho & Nishida, and figure 7 once more on a curve, from mnn.jsonl, which `paper_mnn WHAT --json FILE`
writes part by part (benches/src/measures/published/paper_mnn/)."""

import style

SIZES = [2**log2 for log2 in (6, 8, 10, 12, 14)]
LEVELS = [80, 112, 128, 192, 256]

# Seconds that the paper's tables state. Tables 3 and 4: helper and party, by n. Table 7: by cores. Table 8: Kissner & Song's
# protocol and the paper's.
TABLE_3 = {
    4: ([0.65, 2.69, 10.4, 36.7, 151], [0.82, 3.39, 13.4, 54.1, 214]),
    8: ([0.76, 2.95, 12.4, 44.4, 178], [0.90, 3.75, 15.7, 60.3, 241]),
    16: ([0.90, 3.64, 15.8, 56.4, 225], [1.30, 4.71, 19.2, 76.1, 307]),
}
TABLE_4 = ([0.61, 2.74, 8.29, 57.2, 275], [0.87, 4.28, 11.1, 85.7, 417])
TABLE_7 = {1: [1.02, 3.89, 15.0, 82.9, 297], 2: [1.49, 2.83, 8.72, 33.0, 131]}
TABLE_8 = {
    4: ([0.50, 3.06, 50.6, 1051], [1.02, 3.89, 15.0, 82.9, 297]),
    8: ([0.92, 6.41, 92.0, 1491], [1.50, 3.05, 19.4, 83.2, 355]),
    16: ([2.10, 13.9, 190, 3246], [1.98, 7.29, 28.7, 112, 450]),
}
MOD_P, CURVE = "mod p, 80 bits", "ristretto255"
ROLES = [("helper_cpu", "the helper"), ("party_cpu", "a party")]


def slowest(row):
    return max(row["party_cpu"], row["helper_cpu"])


def draw():
    rows = style.rows("mnn")
    figure, axes = style.panels(9, 3)

    def chosen(tables, **wanted):
        found = [row for row in rows if row.get("table") in tables and all(row[key] == value for key, value in wanted.items())]
        return sorted(found, key=lambda row: row["table"])

    def by_size(axis, label, place, value, tables, **wanted):
        # The last counts of what was measured twice.
        points = {2 ** row["log2"]: value(row) for row in chosen(tables, **wanted)}
        style.measured(axis, f"{label}, here", sorted(points.items()), place)

    def by_size_in_paper(axis, label, place, seconds):
        style.stated(axis, label, list(zip(SIZES, seconds)), place)

    def sizes_of_role(axis, which, figure):
        role, name = ROLES[which]
        for place, parties in enumerate(TABLE_3):
            by_size(axis, f"n = {parties}", place, lambda row: row[role], [3], group=MOD_P, parties=parties)
            by_size_in_paper(axis, f"n = {parties}, paper (table 3)", place, TABLE_3[parties][which])
        style.caption(axis, f"Figure {figure}: {name}, 80 bits", "items of a set", "seconds; here CPU")

    def levels_of_role(axis, which, figure):
        role, name = ROLES[which]
        for place, (label, on_curve) in enumerate([("mod p", False), ("curves", True)]):
            points = {row["level"]: row[role] for row in chosen([4], parties=4, log2=6) if row["group"].startswith("mod p") != on_curve}
            style.measured(axis, f"{label}, here", [(LEVELS.index(level), points[level]) for level in sorted(points)], place)
        style.stated(axis, "mod p, paper (table 4)", list(enumerate(TABLE_4[which])))
        axis.set_xticks(range(len(LEVELS)), LEVELS)
        style.caption(axis, f"Figure {figure}: {name}, n = 4, {style.power_of_two(64)} items", "security level (bits)", "seconds; here CPU")

    def beside_kissner_song(axis, parties, group, title):
        polynomials, filters = TABLE_8[parties]
        for place, (label, protocol, seconds) in enumerate([("filters", "outsourced-bloom", filters),
                                                            ("polynomials", "kissner-song schoolbook", polynomials)]):
            by_size(axis, label, place, slowest, [3, 8], protocol=protocol, parties=parties, group=group)
            by_size_in_paper(axis, f"{label}, 80 bits, paper (table 8)", place, seconds)
        style.caption(axis, title, "items of a set", "seconds; here CPU, slowest role")

    for which in range(2):
        sizes_of_role(axes[which], which, 2 + which)
        levels_of_role(axes[2 + which], which, 4 + which)

    cores = axes[4]
    by_size(cores, "2 cores for all roles", 0, lambda row: row["wall"], [7], threads=1)
    by_size(cores, "CPU of the slowest role", 2, slowest, [7], threads=1)
    for place, (number, label) in enumerate([(1, "1 core"), (2, "2 cores")]):
        by_size_in_paper(cores, f"{label} each, paper (table 7)", 1 + 2 * place, TABLE_7[number])
    style.caption(cores, "Figure 6: cores, n = 4, 80 bits", "items of a set", "running time (seconds)")

    for axis, (number, parties) in zip(axes[5:], [(7, 4), (8, 8), (9, 16)]):
        beside_kissner_song(axis, parties, MOD_P, f"Figure {number}: n = {parties}, 80 bits")
    beside_kissner_song(axes[8], 4, CURVE, "Figure 7 on ristretto255: n = 4")

    for place, axis in enumerate(axes):
        if place not in (2, 3):
            style.powers_of_two(axis, 2, 14)
        style.powers_of_ten(axis)
        style.legend(axis)
    return figure
