#!/usr/bin/env python3
"""Makes the samples of the examples, and the results that Tacita has to give on them.

Every name is invented. Every choice is a hash of its purpose, so that each Python from 3.9 on makes the same bytes.

    python3 examples/generate.py [--output DIR]
"""

import argparse
import datetime
import fractions
import hashlib
import ipaddress
import json
import pathlib
import unicodedata

import truth

GIVEN = """Aurelin Béryn Caldor Daphné Elvaro Fiorin Gwendra Halvor Ilsabet Jorún Katelyn-Mae Lioba Marek Nadège Oswin
Perrin Quenby Rosalba Søren Tamsin Ulva Vesna Wystan Xanthe Yorick Zdeněk Anselma Brónagh Corvin Delphine""".split()
SURNAMES = """Achterdun Bellquist Çavdaroux Dunmallow Estervale Fenwright Grünholt Harrowby Inverlocke Jaskólny
Kvistholm Lanternay Mørkeby Nettlecombe O'Tarrin Pellworm Quillfeather Ravensorpe Straßbeck Thornquay Umbrecht
Vantongel Weatherlow Xylander Yarrowdale Zeltinger Aldermoor Brackwater Castellorn Dovetree Ñanduvar Skarpsund""".split()


def draw(bound, *purpose):
    """A number below `bound`, always the same for the same purpose."""
    text = "/".join(map(str, ("tacita samples 1", *purpose)))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") % bound


def pick(choices, *purpose):
    return choices[draw(len(choices), *purpose)]


def shuffled(things, *purpose):
    return sorted(things, key=lambda thing: draw(2**64, *purpose, thing))


def day(first_year, last_year, *purpose):
    first = datetime.date(first_year, 1, 1).toordinal()
    last = datetime.date(last_year, 12, 31).toordinal()
    return datetime.date.fromordinal(first + draw(last - first + 1, *purpose))


def people(number, purpose):
    """Persons (given name, surname, date of birth) with distinct keys. Every tenth shares the name and every
    fifteenth the surname and the birthday with another one, so that neither part of the key is enough alone."""
    persons = []
    for i in range(number):
        given, surname = pick(GIVEN, purpose, "given", i), pick(SURNAMES, purpose, "surname", i)
        born = day(1931, 2009, purpose, "born", i)
        if i % 10 == 9:
            given, surname, _ = persons[i - 9]
        elif i % 15 == 14:
            other, surname, born = persons[i - 14]
            given = GIVEN[GIVEN.index(other) - 1]
        persons.append((given, surname, born))
    keys = {(truth.name(f"{given} {surname}"), born) for given, surname, born in persons}
    assert len(keys) == number, "two persons have one key"
    return persons


def bare(text):
    """Without the accents that can be taken off."""
    return "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))


def careless(given, surname, *purpose):
    """A name as someone in a hurry types it."""
    case = pick([str.lower, str.upper, str], *purpose, "case")
    form = pick(["NFC", "NFD"], *purpose, "form")
    gap = pick([" ", "  ", "   "], *purpose, "gap")
    end = pick(["", "", "", " "], *purpose, "end")
    return unicodedata.normalize(form, case(f"{given}{gap}{surname}") + end)


def write_csv(path, table):
    """As Rust's `csv` writes it: quotes only where needed, a line feed at the end of each line."""
    def cell(text):
        return '"' + text.replace('"', '""') + '"' if any(c in text for c in ',"\r\n') else text

    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes("".join(",".join(map(cell, row)) + "\n" for row in table).encode())


class Example:
    """A directory of samples with the results expected of each of its jobs."""

    def __init__(self, directory):
        self.directory, self.summary = directory, {}

    def table(self, party, header, rows):
        write_csv(self.directory / f"{party}.csv", [header, *rows])

    def expect(self, job, sides, common, tables, **more):
        """`sides` are the parties' tables, `tables` what each party that learns something gets, `more` other numbers."""
        for party, table in tables.items():
            write_csv(self.directory / "expected" / job / f"{party}.csv", table)
        rows = {party: side.counts() for party, side in sides.items()}
        lines = {party: len(table) - 1 for party, table in tables.items()}
        self.summary[job] = {"rows": rows, "common_keys": common, "lines": lines, **more}

    def close(self):
        text = json.dumps(self.summary, indent=2) + "\n"
        (self.directory / "expected" / "summary.json").write_bytes(text.encode())


def patients(directory):
    """examples/patients: the patients of a hospital, an insurer and a fire department."""
    persons = people(300, "patients")

    def members(party, number, repeated):
        """Persons of a party, some of them twice; the first four repeated ones are repeated everywhere."""
        everywhere = shuffled(range(300), "everywhere")[:4]
        own = [i for i in shuffled(range(300), party) if i not in everywhere]
        chosen = everywhere + own[: number - repeated - 4]
        return [(place, *persons[i]) for place, i in enumerate(shuffled(chosen, party, "order"))] + [
            (number - repeated + place, *persons[i]) for place, i in enumerate(chosen[:repeated])
        ]

    conditions = ["asthma", "diabetes", "fracture", "hypertension", "migraine", "pneumonia"]
    hospital = [
        [f"H{i:04}", f"{surname.upper()}, {given}", born.isoformat(),
         day(2024, 2025, "admitted", i).isoformat(), pick(conditions, "condition", i)]
        for i, given, surname, born in members("hospital", 200, 12)
    ]
    payers = ["Norvia Mutual", "Kestrel Fund", "Landmark Care", "Tallis & Daughters, Ltd."]
    insurer = [
        [f"P{i:04}", careless(given, surname, "insurer", i), born.strftime("%Y%m%d"),
         pick(payers, "payer", i), str(80 + draw(9721, "cost", i))]
        for i, given, surname, born in members("insurer", 150, 6)
    ]
    reasons = ["burn", "fall", "road accident", "smoke"]
    fire_department = [
        [f"F{i:04}", pick([bare, str], "accents", i)(f"{given} {surname}".replace("-", " ")),
         born.strftime("%d/%m/%Y"), day(2025, 2025, "called", i).strftime("%d/%m/%Y"), pick(reasons, "reason", i)]
        for i, given, surname, born in members("fire_department", 100, 5)
    ]
    for table, empty, unreadable, written in [
        (hospital, 57, 113, "1957-02-30"), (insurer, 20, 99, "00000000"), (fire_department, 8, 61, "31/02/1971"),
    ]:
        table[empty][2], table[unreadable][2] = "", written

    example = Example(directory / "patients")
    headers = {
        "hospital": ["patient", "name", "dob", "admitted", "condition"],
        "insurer": ["policy", "insured", "birth", "payer", "cost"],
        "fire_department": ["call", "person", "born", "called", "reason"],
    }
    for party, rows in [("hospital", hospital), ("insurer", insurer), ("fire_department", fire_department)]:
        example.table(party, headers[party], rows)
    profiles = [truth.name, truth.date]
    ours = truth.Side(headers["hospital"], hospital, ["name", "dob"], profiles)
    theirs = truth.Side(headers["insurer"], insurer, ["insured", "birth"], profiles)
    calls = truth.Side(headers["fire_department"], fire_department, ["person", "born"], [truth.name, truth.date_dmy])

    sides, common = {"hospital": ours, "insurer": theirs}, truth.count(ours, theirs)
    example.expect("job", sides, common, {
        "hospital": truth.rows(ours, theirs), "insurer": truth.rows(theirs, ours),
    })
    example.expect("count", sides, common, {"insurer": [["count"], [str(common)]]})
    _, cost = truth.total(ours, theirs, "cost")
    example.expect("sum", sides, common, {"hospital": [["count", "sum"], [str(common), str(cost)]]}, sum=cost)
    example.expect("payload", sides, common, {"hospital": truth.payload(ours, theirs, "insurer", ["payer", "cost"])})
    example.expect("union", sides, common, {
        "hospital": truth.union(ours, theirs, "insurer", {"name": "insured", "dob": "birth"}, ["payer"]),
    })
    example.expect("formats", {"hospital": ours, "fire_department": calls}, truth.count(ours, calls), {
        "fire_department": truth.rows(calls, ours),
    })
    all_three = {"hospital": ours, "fire_department": calls, "insurer": theirs}
    common = truth.common_to_all(all_three.values())
    example.expect("three", all_three, common, {
        party: truth.rows_of_all(side, all_three.values()) for party, side in all_three.items()
    })
    example.expect("insurer-learns-nothing", all_three, common, {
        party: truth.rows_of_all(all_three[party], all_three.values()) for party in ("hospital", "fire_department")
    })
    example.expect("join", all_three, common, {
        "hospital": truth.join(ours, [("fire_department", calls, ["called", "reason"]), ("insurer", theirs, ["payer", "cost"])]),
    })
    clinics(example)
    example.close()


TOWNS = ["ashby", "brenford", "carrick", "dunwold", "elmsea"]


def clinics(example):
    """Five clinics; every patient is at one of them or two, and few at all."""
    persons = people(240, "clinics")
    everywhere, rest = persons[:11], persons[11:]
    sides = {}
    for number, town in enumerate(TOWNS):
        own = everywhere + [person for i, person in enumerate(rest) if draw(100, "clinic", town, i) < 35]
        written = [
            lambda given, surname, i: f"{surname.upper()}, {given}",
            lambda given, surname, i: careless(given, surname, "clinics", town, i),
            lambda given, surname, i: bare(f"{given} {surname}"),
        ][number % 3]
        born_as = ["%Y-%m-%d", "%Y%m%d", "%d/%m/%Y"][number % 3]
        rows = [
            [f"{town[0].upper()}{place:03}", written(given, surname, i), born.strftime(born_as),
             day(2020, 2025, "seen", town, i).isoformat()]
            for place, (i, (given, surname, born)) in enumerate(shuffled(list(enumerate(own)), "order", town))
        ]
        header = ["number", "name", "born", "last_seen"]
        example.table(town, header, rows)
        read = truth.date_dmy if number % 3 == 2 else truth.date
        sides[town] = truth.Side(header, rows, ["name", "born"], [truth.name, read])
    example.expect("clinics", sides, truth.common_to_all(sides.values()), {
        town: truth.rows_of_all(side, sides.values()) for town, side in sides.items()
    })


def do_not_fly(directory):
    """examples/do-not-fly: an authority's list with aliases, and an airline's passengers."""
    persons = people(270, "watchlist")
    listed, others = persons[:60], persons[60:]

    entries = []
    for i, (given, surname, born) in enumerate(listed):
        names = [("primary", given, surname)]
        for alias in range(draw(3, "aliases", i)):
            names.append(("alias", pick(GIVEN, "alias given", i, alias), pick(SURNAMES, "alias surname", i, alias)))
        for kind, first, last in names:
            listed_on = day(2015, 2025, "listed", i).isoformat()
            entries.append((f"N{i:03}", kind, first, last, born, listed_on))
    # One person has a second entry under the same name: a list is merged from several.
    _, kind, first, last, born, _ = entries[0]
    entries.append(("N060", kind, first, last, born, "2025-06-01"))
    authority = [
        [entry, kind, f"{last.upper()}, {first}", born.isoformat(), listed_on]
        for entry, kind, first, last, born, listed_on in entries
    ]

    # Who flies: some that are listed (under any of their names), some that share a name or a birthday with one who is.
    primaries, aliases = ([place for place, entry in enumerate(entries) if entry[1] == kind]
                          for kind in ("primary", "alias"))
    flying = [0] + shuffled(primaries[1:-1], "flying")[:7] + shuffled(aliases, "flying")[:6]
    passengers = [entries[place][2:5] for place in flying]
    passengers += [entries[flying[1]][2:5]]
    passengers += [(*entries[place][2:4], day(1931, 2009, "decoy", place)) for place in shuffled(aliases, "decoy")[:10]]
    passengers += [(*others[200 + i][:2], listed[i][2]) for i in range(10)]
    passengers += others[: 180 - len(passengers)]
    dates = [datetime.date.isoformat, lambda born: born.strftime("%Y%m%d"),
             lambda born: f"{born.day:02} {truth.MONTHS[born.month - 1]} {born.year}"]
    names = [
        lambda i, given, surname: bare(f"{surname}/{given}").upper(),
        lambda i, given, surname: f"{given} {surname}",
        lambda i, given, surname: careless(given, surname, "passenger", i),
    ]
    airline, boarding = [], shuffled(range(len(passengers)), "boarding")
    for place, i in enumerate(boarding):
        given, surname, born = passengers[i]
        airline.append([
            f"B{place:04}", pick(names, "name", i)(i, given, surname), pick(dates, "date", i)(born),
            f"TC{100 + draw(12, 'flight', i)}", f"{1 + draw(30, 'row', i)}{pick('ABCDEF', 'seat', i)}",
        ])
    airline[boarding.index(60)][2], airline[boarding.index(90)][2] = "", "unknown"

    example = Example(directory / "do-not-fly")
    headers = {
        "authority": ["entry", "kind", "name", "dob", "listed"],
        "airline": ["booking", "passenger", "born", "flight", "seat"],
    }
    example.table("authority", headers["authority"], authority)
    example.table("airline", headers["airline"], airline)
    profiles = [truth.name, truth.date]
    ours = truth.Side(headers["authority"], authority, ["name", "dob"], profiles)
    theirs = truth.Side(headers["airline"], airline, ["passenger", "born"], profiles)

    sides, common = {"authority": ours, "airline": theirs}, truth.count(ours, theirs)
    example.expect("job", sides, common, {"authority": truth.rows(ours, theirs)})
    example.expect("count", sides, common, {"airline": [["count"], [str(common)]]})
    example.expect("payload", sides, common, {
        "authority": truth.payload(ours, theirs, "airline", ["booking", "flight", "seat"]),
    })
    example.close()


def loyalty(directory):
    """examples/dot: customers of a loyalty scheme, of whom a shop and its partner each know other things."""
    customers = 400
    cards = [f"C{1000 + place}" for place in shuffled(range(customers), "cards")]
    buys = lambda share, *purpose: str(int(draw(100, *purpose) < share))  # noqa: E731

    def cents(amount):
        return f"{amount // 100}.{amount % 100:02}"

    shop = []
    for i, card in enumerate(cards):
        coffee = buys(55, "coffee", i)
        spent = 500 + draw(24_500, "spent", i)
        shop.append([card, coffee, buys(30, "tea", i), cents(spent)])
    # Who buys coffee likes cake.
    partner = [[card, buys(60 if row[1] == "1" else 20, "cake", i), buys(35, "flowers", i)]
               for i, (card, row) in enumerate(zip(cards, shop))]
    known = shuffled(cards, "agency")[:260] + [f"C{5000 + place}" for place in range(40)]
    agency = [[card, buys(50, "reached", card)] for card in shuffled(known, "agency order")]

    example = Example(directory / "dot")
    headers = {"shop": ["card", "coffee", "tea", "spent"], "partner": ["card", "cake", "flowers"],
               "agency": ["card", "reached"]}
    tables = {"shop": shop, "partner": partner, "agency": agency}
    for party, rows in tables.items():
        example.table(party, headers[party], rows)

    def column(party, name):
        return [row[headers[party].index(name)] for row in tables[party]]

    def expect(job, parties, learners, table):
        for party in learners:
            write_csv(example.directory / "expected" / job / f"{party}.csv", table)
        example.summary[job] = {"parties": parties, "value": table[-1][-1]}

    both = truth.product(column("shop", "coffee"), column("partner", "cake"))
    expect("job", ["shop", "partner"], ["shop", "partner"], [["value"], [both]])
    matrix = [[one, other, truth.product(column("shop", one), column("partner", other))]
              for one in ("coffee", "tea") for other in ("cake", "flowers")]
    expect("matrix", ["shop", "partner"], ["shop"], [["shop", "partner", "value"], *matrix])
    reached = dict(agency)
    spent = truth.product(column("shop", "spent"), [reached.get(card, "0") for card in cards])
    expect("campaign", ["shop", "agency"], ["agency"], [["value"], [spent]])
    example.close()


def baskets(directory):
    """examples/rules: what customers of a shop and of the bakery next door bought on the same receipts, and how the shop's orders
    were paid and delivered."""
    receipts = 500
    goods = {"shop": {"butter": 30, "jam": 22, "milk": 45, "coffee": 40, "cheese": 25, "tea": 12, "soap": 4},
             "bakery": {"bread": 42, "croissant": 24, "cake": 18, "pretzel": 15, "pie": 5}}
    # Who comes for breakfast takes more of these.
    breakfast = {"butter": 75, "jam": 70, "coffee": 65, "bread": 70, "croissant": 60}
    rows = {party: [] for party in goods}
    # How orders are paid, and how they are delivered: another way for breakfast.
    terms = {"card": {"credit": (60, 20), "debit": (25, 75), "instalments": (8, 2), "voucher": (6, 15)},
             "delivery": {"home": (60, 15), "locker": (15, 70), "evening": (50, 5), "morning": (8, 80), "returned": (7, 4)}}
    agreed = {party: [] for party in terms}
    for i in range(receipts):
        early = draw(100, "breakfast", i) < 35
        for party, shares in goods.items():
            shares = {item: breakfast.get(item, share) if early else share // 2 for item, share in shares.items()}
            held = [item for item, share in shares.items() if draw(100, "basket", i, item) < share]
            rows[party].append([f"R{i:03}", "|".join(shuffled(held, "order", i))])
        for party, shares in terms.items():
            held = [item for item, share in shares.items() if draw(100, party, i, item) < share[early]]
            agreed[party].append([f"R{i:03}", "|".join(held)])

    example = Example(directory / "rules")
    for party, lines in (rows | agreed).items():
        example.table(party, ["receipt", "items"], lines)
    held = {party: [set(filter(None, items.split("|"))) for _, items in lines] for party, lines in rows.items()}
    owners = {item: party for party, items in goods.items() for item in items}
    both = [one | other for one, other in zip(held["shop"], held["bakery"])]
    for job, minimum, confidence, mixed in [("job", 50, "0.6", None), ("mixed", 40, "0.5", owners)]:
        rules, itemsets = truth.rules(both, minimum, fractions.Fraction(confidence), mixed)
        for name, table in [("shop", rules), ("shop.itemsets", itemsets)]:
            write_csv(example.directory / "expected" / job / f"{name}.csv", table)
        example.summary[job] = {"itemsets": len(itemsets) - 1, "rules": len(rules) - 1}
    parts = [rows["shop"], agreed["card"], agreed["delivery"]]
    orders = [set().union(*(filter(None, items.split("|")) for _, items in lines)) for lines in zip(*parts)]
    rules, itemsets = truth.rules(orders, 50, fractions.Fraction("0.75"))
    for name, table in [("shop", rules), ("shop.itemsets", itemsets)]:
        write_csv(example.directory / "expected" / "three" / f"{name}.csv", table)
    example.summary["three"] = {"itemsets": len(itemsets) - 1, "rules": len(rules) - 1}
    example.close()


def wards(directory):
    """examples/crosstab: patients of a clinic, and a laboratory's diagnoses of them and of others."""
    patients = [f"P{place + 10_000}" for place in shuffled(range(1_200), "wards")]
    common = {"influenza": 30, "asthma": 22, "hypertension": 26, "diabetes": 14, "anaemia": 6, "gout": 2}

    def diagnosis(patient, age):
        # Old people have high blood pressure, and children have not.
        weights = {name: share * (age // 20 if name in ("hypertension", "diabetes", "gout") else 2) for name, share in common.items()}
        place = draw(max(sum(weights.values()), 1), "diagnosis", patient)
        for name, weight in weights.items():
            if place < weight:
                return name
            place -= weight
        return "influenza"

    ages = {patient: draw(90, "age", patient) for patient in patients}
    clinic = [[patient, str(ages[patient]), pick(["north", "south", "west"], "ward", patient)] for patient in patients[:900]]
    laboratory = [[patient, diagnosis(patient, ages[patient]), f"{20 + draw(180, 'euros', patient)}.{draw(100, 'cents', patient):02}"]
                  for patient in shuffled(patients[200:], "laboratory")]

    insurer = [[patient, str(40 + 3 * ages[patient] + draw(300, "paid", patient))] for patient in shuffled(patients[250:1_150], "insurer")]

    example = Example(directory / "crosstab")
    example.table("clinic", ["patient", "age", "ward"], clinic)
    example.table("laboratory", ["patient", "diagnosis", "cost"], laboratory)
    example.table("insurer", ["patient", "paid"], insurer)
    found = {patient: (name, cost) for patient, name, cost in laboratory}
    joined = [(int(age), ward, *found[patient]) for patient, age, ward in clinic if patient in found]
    bins = [("<18", 0, 18), ("[18,40)", 18, 40), ("[40,65)", 40, 65), (">=65", 65, 999)]
    cells = [["age", "diagnosis", "count"]]
    for label, start, end in bins:
        for name in sorted(common):
            cells.append([label, name, str(sum(start <= age < end and has == name for age, _, has, _ in joined))])
    write_csv(example.directory / "expected" / "job" / "cells.csv", cells)
    costs = [["ward", "diagnosis", "count", "sum"]]
    for ward in ("north", "south", "west"):
        for name in sorted(common):
            own = [fractions.Fraction(cost) for _, at, has, cost in joined if (at, has) == (ward, name)]
            cents = int(sum(own) * 100)
            costs.append([ward, name, str(len(own)), f"{cents // 100}.{cents % 100:02}".rstrip("0").rstrip(".")])
    write_csv(example.directory / "expected" / "costs" / "cells.csv", costs)
    paid = dict(insurer)
    of_three = [(int(age), found[patient][0], int(paid[patient])) for patient, age, _ in clinic if patient in found and patient in paid]
    sums = [["age", "diagnosis", "count", "sum"]]
    for label, start, end in bins:
        for name in sorted(common):
            own = [paid for age, has, paid in of_three if start <= age < end and has == name]
            sums.append([label, name, str(len(own)), str(sum(own))])
    write_csv(example.directory / "expected" / "three" / "cells.csv", sums)
    example.summary = {job: {"common_keys": len(joined)} for job in ("job", "costs")}
    example.summary["three"] = {"common_keys": len(of_three)}
    example.close()


NETWORKS = """alder birch cedar dogwood elder fir gorse hazel ivy juniper kauri larch maple nutmeg oak pine quince rowan spruce teak
upland vine willow xylem yew zelkova""".split()


def addresses(number, purpose):
    """Distinct addresses of the ranges that are set aside for examples and tests (RFC 2544, 3849, 5737), so that nobody's is among them."""
    found = []
    for i in range(number):
        if i % 12 == 11:
            found.append(ipaddress.ip_address(f"2001:db8:{draw(2**16, purpose, 'net', i):x}::{1 + draw(2**12, purpose, 'host', i):x}"))
        else:
            found.append(ipaddress.ip_address("198.18.0.0") + 140 * i + draw(140, purpose, "address", i))
    assert len(set(found)) == number, "two addresses are one"
    return found


def attackers(directory):
    """examples/attackers: block lists of 26 networks, each written as that network's tools write it."""
    known = addresses(900, "attackers")
    # The first attack nearly everybody, the last hardly anybody.
    lists = {network: [address for i, address in enumerate(known) if draw(1000, "attacks", network, i) < max(30, 420 - 8 * i)]
             for network in NETWORKS}
    kept = directory / "attackers" / "lists"

    def write(name, lines):
        kept.mkdir(parents=True, exist_ok=True)
        (kept / name).write_bytes("".join(f"{line}\n" for line in lines).encode())

    for network, listed in lists.items():
        listed = shuffled(listed, "listed", network)
        if network == "birch":
            write("birch.ipset", ["create blocked hash:ip family inet hashsize 1024 maxelem 65536",
                                  "create blocked6 hash:ip family inet6 hashsize 1024 maxelem 65536",
                                  *(f"add blocked{'6' if one.version == 6 else ''} {one}" for one in listed)])
        elif network == "cedar":
            fields = "ts uid id.orig_h id.orig_p id.resp_h id.resp_p proto service duration orig_bytes".split()
            types = "time string addr port addr port enum string interval count".split()
            lines = [f"{1764547200 + 7 * i}.{draw(10**6, 'ts', i):06}\tC{draw(10**12, 'uid', i)}\t{one}\t{1024 + draw(60000, 'port', i)}\t"
                     f"203.0.113.7\t22\ttcp\tssh\t0.{draw(10**6, 'duration', i):06}\t{draw(2000, 'bytes', i)}"
                     for i, one in enumerate(listed)]
            write("cedar.log", ["#separator \\x09", "#set_separator\t,", "#empty_field\t(empty)", "#unset_field\t-", "#path\tconn",
                                "#open\t2025-12-01-00-00-00", "\t".join(["#fields", *fields]), "\t".join(["#types", *types]), *lines,
                                "#close\t2025-12-02-00-00-00"])
        elif network == "dogwood":
            write("dogwood.netset", ["# collapsed to the fewest networks",
                                     *map(str, ipaddress.collapse_addresses(one for one in listed if one.version == 4)),
                                     *map(str, ipaddress.collapse_addresses(one for one in listed if one.version == 6))])
        elif network == "elder":
            write_csv(kept / "elder.csv", [["seen", "source"], *([str(day(2025, 2025, "seen", i)), str(one)] for i, one in enumerate(listed))])
        else:
            write(f"{network}.txt", [f"# {network}: addresses that were blocked", *listed])

    example = Example(directory / "attackers")
    reports = [(network, (str(one),), 1) for network, listed in lists.items() for one in listed]
    for job, least in (("job", 5), ("three", 3)):
        lines = truth.aggregate(reports, lambda count, distinct, _: distinct >= least)
        table = [["address", "count"], *lines]
        write_csv(example.directory / "expected" / job / "results.csv", table)
        example.summary[job] = {"networks": len(lists), "reports": len(reports), "addresses": len({key for _, key, _ in reports}),
                                "keys": len(lines)}
    example.close()


def certificates(directory):
    """examples/certificates: what certificate seven observers saw of the same hosts, of whom some were lied to."""
    example = Example(directory / "certificates")
    hosts = sorted({f"{pick(SURNAMES, 'host', i).lower()}-{i}.example" for i in range(80)})
    hosts = [bare(host).replace("ø", "o").replace("ß", "ss").replace("'", "") for host in hosts]

    def fingerprint(*purpose):
        return hashlib.sha256("/".join(map(str, ("certificate", *purpose))).encode()).hexdigest()

    reports, seen = [], {}
    for place in range(1, 8):
        observer = f"observer_{place}"
        rows = []
        for i, host in enumerate(hosts):
            if draw(100, "sees", place, i) < 75:
                lied = draw(100, "lied to", place, i) < 3
                rows.append([host, fingerprint(host, place) if lied else fingerprint(host)])
        example.table(observer, ["host", "sha256"], rows)
        reports += [(observer, tuple(row), 1) for row in rows]
        seen[observer] = len(rows)
    lines = truth.aggregate(reports, lambda count, distinct, _: distinct >= 4)
    write_csv(example.directory / "expected" / "job" / "results.csv", [["host", "sha256", "count"], *lines])
    example.summary["job"] = {"observers": seen, "keys": len(lines)}
    example.close()


def popular_sites(directory):
    """examples/popular-sites: how often eight networks' users visited which sites."""
    example = Example(directory / "popular-sites")
    sites = [f"{bare(pick(GIVEN, 'site', i)).lower().replace('ø', 'o')}{i}.example" for i in range(150)]
    reports, rows_of = [], {}
    for place in range(1, 9):
        network = f"network_{place}"
        rows = []
        for rank, site in enumerate(sites, start=1):
            visits = 900 // rank + draw(1 + 900 // rank, "visits", place, rank) if draw(100, "visited", place, rank) < 70 else 0
            if visits:
                rows.append([site, str(min(visits, 1000))])
        # What only one network's users visit is nobody's business.
        rows += [[f"intranet-{place}-{i}.example", str(200 + draw(800, "intranet", place, i))] for i in range(5)]
        rows = shuffled(map(tuple, rows), "rows", place)
        example.table(network, ["site", "visits"], [list(row) for row in rows])
        reports += [(network, (site,), int(visits)) for site, visits in rows]
        rows_of[network] = len(rows)
    lines = truth.aggregate(reports, lambda count, distinct, held: distinct >= 3 and sum(held) >= 100, values=True)
    write_csv(example.directory / "expected" / "job" / "results.csv", [["site", "count", "values", "sum"], *lines])
    example.summary["job"] = {"networks": rows_of, "keys": len(lines)}
    example.close()


def office(directory):
    """examples/office: files as offices have them, in which everything is as it stands here."""
    place = directory / "office"
    place.mkdir(parents=True, exist_ok=True)
    members = """Mitgliederliste;;;
Stand: 01.11.2026;;;
Name;Geburtsdatum;PLZ;Beitrag
Müller, Jörg;03.02.1971;08010;12,50
Gruber, Elfi;17.11.1984;1010;12,50
Žižka, Jan;29.02.1988;4020;25,00
Weiß, Anna;01.07.1990;5020;12,50
Huber, Karl;;6020;8,75
Øster, Liv;24.12.1969;9020;25,00
"""
    insured = """policy,insured,born
A-17,JOERG MUELLER,1971-02-03
A-18,elfi gruber,1984-11-17
B-02,Jan Zizka,1988-02-29
B-07,Anna Weiss,1990-07-01
C-11,Liv Øster,1969-12-24
C-12,Peter Pan,1904-12-27
"""
    blocked = """# Addresses that attacked us
192.0.2.0/30 ; a scanner
198.51.100.7 - 198.51.100.9
203.0.113.5\t17
2001:db8::1
"""
    seen = "192.0.2.2\n198.51.100.8\n::ffff:203.0.113.5\n203.0.113.77\n2001:0db8:0:0::1\n"
    (place / "members.csv").write_bytes(members.replace("\n", "\r\n").encode("windows-1252"))
    (place / "insured.csv").write_bytes(insured.encode())
    (place / "blocked.netset").write_bytes(blocked.encode())
    (place / "seen.txt").write_bytes(seen.replace("\n", "\r\n").encode())


def main():
    here = pathlib.Path(__file__).resolve().parent
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=pathlib.Path, default=here, help="where to write (default: beside this file)")
    directory = parser.parse_args().output
    patients(directory)
    do_not_fly(directory)
    loyalty(directory)
    baskets(directory)
    wards(directory)
    attackers(directory)
    certificates(directory)
    popular_sites(directory)
    office(directory)


if __name__ == "__main__":
    main()
