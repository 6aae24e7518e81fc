"""What a job has to give, computed in plain Python from the tables alone.

Written from the documentation (docs/normalization.md, docs/tables.md) and not from the Rust code, so that the two can
disagree.
"""

import datetime
import decimal
import fractions
import re
import unicodedata

NULL, UNREADABLE = "null", "unreadable"
MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()


def name(text):
    """Without accents, case and punctuation, the words in order: "LAST, First" equals "First Last"."""
    decomposed = unicodedata.normalize("NFKD", text)
    bare = "".join(c for c in decomposed if not unicodedata.category(c).startswith("M")).casefold()
    return " ".join(sorted("".join(c if c.isalnum() else " " for c in bare).split()))


def date(text):
    """ISO, YYYYMMDD or "07 Mar 1961"."""
    text = text.strip()
    if match := re.fullmatch(r"(\d{4})-(\d\d)-(\d\d)", text) or re.fullmatch(r"(\d{4})(\d\d)(\d\d)", text):
        return _calendar(*match.groups())
    if (match := re.fullmatch(r"(\d\d) (\w{3}) (\d{4})", text)) and match[2] in MONTHS:
        return _calendar(match[3], MONTHS.index(match[2]) + 1, match[1])
    return UNREADABLE


def date_dmy(text):
    """As `date`, and also with the day first: "07/03/1961"."""
    if match := re.fullmatch(r"(\d\d)[/.](\d\d)[/.](\d{4})", text.strip()):
        return _calendar(match[3], match[2], match[1])
    return date(text)


def _calendar(year, month, day):
    try:
        return datetime.date(int(year), int(month), int(day)).isoformat()
    except ValueError:
        return UNREADABLE


class Side:
    """One party's table, read by the key columns and profiles of a job."""

    def __init__(self, header, rows, columns, profiles):
        self.header, self.rows = header, rows
        places = [header.index(column) for column in columns]
        self.keys = [self._key([row[place] for place in places], profiles) for row in rows]
        self.distinct = {key for key in self.keys if isinstance(key, tuple)}

    @staticmethod
    def _key(cells, profiles):
        parts = [read(cell) if cell.strip() else NULL for cell, read in zip(cells, profiles)]
        for bad in (UNREADABLE, NULL):
            if bad in parts:
                return bad
        return tuple(part.encode() for part in parts)

    def counts(self):
        """The report's `rows`."""
        read, nulls, unreadable = len(self.rows), self.keys.count(NULL), self.keys.count(UNREADABLE)
        items = len(self.distinct)
        return {
            "read": read,
            "nulls": nulls,
            "unreadable": unreadable,
            "duplicates": read - nulls - unreadable - items,
            "items": items,
        }

    def places_in_common(self, peer):
        """Places of the rows whose key the peer has too: by key, then in the order of the input."""
        common = [place for place, key in enumerate(self.keys) if key in self.distinct & peer.distinct]
        return sorted(common, key=lambda place: (self.keys[place], place))


def rows(own, peer):
    """`reveal = "rows"`: own rows in common, all columns."""
    return [own.header] + [own.rows[place] for place in own.places_in_common(peer)]


def payload(own, peer, peer_name, given):
    """`reveal = "payload"`: one line for every pair of an own row and a row of the peer with the same key."""
    columns = [peer.header.index(column) for column in given]
    table = [own.header + [f"{peer_name}.{column}" for column in given]]
    for place in own.places_in_common(peer):
        for row, key in zip(peer.rows, peer.keys):
            if key == own.keys[place]:
                table.append(own.rows[place] + [row[column] for column in columns])
    return table


def union(own, peer, peer_name, columns, given):
    """`job = "union"`: own rows with a key, then the peer's rows that are missing. `columns` are the peer's for own key columns."""
    def in_order(side, keys):
        places = [place for place, key in enumerate(side.keys) if key in keys]
        return sorted(places, key=lambda place: (side.keys[place], place))

    table = [own.header + [f"{peer_name}.{column}" for column in given]]
    table += [own.rows[place] + [""] * len(given) for place in in_order(own, own.distinct)]
    for place in in_order(peer, peer.distinct - own.distinct):
        row = dict(zip(peer.header, peer.rows[place]))
        table.append([row[columns[name]] if name in columns else "" for name in own.header] + [row[name] for name in given])
    return table


def count(own, peer):
    """`reveal = "count"`: the distinct keys in common."""
    return len(own.distinct & peer.distinct)


def common_to_all(sides):
    """Among several parties: the distinct keys that all have."""
    return len(set.intersection(*(side.distinct for side in sides)))


def rows_of_all(own, sides):
    """`reveal = "rows"` among several parties: own rows whose key all have."""
    common = set.intersection(*(side.distinct for side in sides))
    places = [place for place, key in enumerate(own.keys) if key in common]
    return [own.header] + [own.rows[place] for place in sorted(places, key=lambda place: (own.keys[place], place))]


def join(own, given):
    """`reveal = "payload"` among several parties, `given` as (name, side, columns) of each that gives: one line for every choice
    of an own row and a row of each of them with a key that all have."""
    table = [own.header + [f"{name}.{column}" for name, _, columns in given for column in columns]]
    common = own.distinct.intersection(*(side.distinct for _, side, _ in given))
    places = sorted((place for place, key in enumerate(own.keys) if key in common), key=lambda place: (own.keys[place], place))
    for place in places:
        lines = [own.rows[place]]
        for _, side, columns in given:
            at = [side.header.index(column) for column in columns]
            rows = [row for row, key in zip(side.rows, side.keys) if key == own.keys[place]]
            lines = [line + [row[column] for column in at] for line in lines for row in rows]
        table += lines
    return table


def total(own, peer, column):
    """`reveal = "sum:COLUMN"`: the distinct keys in common, and the sum of the peer's column over all its rows with those."""
    place = peer.header.index(column)
    return count(own, peer), sum(int(peer.rows[row][place] or 0) for row in peer.places_in_common(own))


def product(one, other):
    """`reveal = "value"`: the sum of the products of two columns of numbers, exactly, without zeros at its end."""
    total = sum(decimal.Decimal(a) * decimal.Decimal(b) for a, b in zip(one, other))
    text = f"{total:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def aggregate(reports, passes, values=False):
    """`job = "aggregate"`: `reports` are (participant, key, value) with keys as tuples of text; `passes(count, distinct, values)` is the
    predicate. One line for each key that passes, in the order of the keys: the key, how many reports, and with `values` these, joined by
    `|` from small to large, and their sum."""
    of_key = {}
    for participant, key, value in reports:
        of_key.setdefault(key, []).append((participant, value))
    lines = []
    for key in sorted(of_key):
        reporters, held = zip(*of_key[key])
        if passes(len(held), len(set(reporters)), held):
            more = ["|".join(map(str, sorted(held))), str(sum(held))] if values else []
            lines.append([*key, str(len(held)), *more])
    return lines


def item_order(item):
    """Numbers by value, before everything else by code point."""
    return (0, int(item), item) if item.isascii() and item.isdigit() else (1, 0, item)


def written(items):
    return "|".join(sorted(items, key=item_order))


def frequent(baskets, minimum):
    """All itemsets that are in at least `minimum` of the baskets, with their counts: Apriori, level by level."""
    found, level = {}, {frozenset([item]) for basket in baskets for item in basket}
    while level:
        counts = {itemset: sum(itemset <= basket for basket in baskets) for itemset in level}
        kept = {itemset: number for itemset, number in counts.items() if number >= minimum}
        found.update(kept)
        longer = {one | other for one in kept for other in kept if len(one | other) == len(one) + 1}
        level = {itemset for itemset in longer if all(itemset - {item} in kept for item in itemset)}
    return found


def rules(baskets, minimum, confidence, owners=None):
    """The tables of a `rules` job with single consequents; with `owners` (by item), those of `mixed_only`."""
    counts, total = frequent(baskets, minimum), len(baskets)
    mixed = {itemset for itemset in counts if owners is None or len({owners[item] for item in itemset}) > 1}
    found = []
    for itemset in mixed:
        for item in itemset if len(itemset) > 1 else ():
            first, second = itemset - {item}, frozenset([item])
            if fractions.Fraction(counts[itemset], counts[first]) >= confidence:
                found.append((first, second, counts[itemset], counts[first], counts[second]))
    shown = mixed | {part for rule in found for part in rule[:2]}

    def order(items):
        return [item_order(item) for item in sorted(items, key=item_order)]

    def number(value):
        """The shortest decimal that reads back as the same number, without an exponent."""
        return "inf" if value is None else f"{decimal.Decimal(repr(float(value))):f}".removesuffix(".0")

    sets = sorted(shown, key=lambda itemset: (len(itemset), -counts[itemset], order(itemset)))
    itemsets = [["items", "count", "support"]]
    itemsets += [[written(one), str(counts[one]), number(fractions.Fraction(counts[one], total))] for one in sets]
    found.sort(key=lambda rule: (-fractions.Fraction(rule[2], rule[3]), -rule[2], order(rule[0]), order(rule[1])))
    table = [["antecedents", "consequents", "support", "confidence", "lift", "leverage", "conviction"]]
    for first, second, both, of_first, of_second in found:
        measures = [
            fractions.Fraction(both, total),
            fractions.Fraction(both, of_first),
            fractions.Fraction(both * total, of_first * of_second),
            fractions.Fraction(both * total - of_first * of_second, total * total),
            fractions.Fraction((total - of_second) * of_first, total * (of_first - both)) if both < of_first else None,
        ]
        table.append([written(first), written(second), *map(number, measures)])
    return table, itemsets
