"""Random tables against a plain oracle: the same values in two parties' forms, files and libraries."""

from __future__ import annotations

import csv
import datetime
import gzip
import io
import ipaddress
import pathlib
import random
import unicodedata
import uuid
import zoneinfo
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Optional

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tacita

HIDDEN = ["\u200b", "\u200e", "\u00ad", "\ufeff", "\u2060"]
"""Characters that nobody sees, which every profile but `none` removes."""


@dataclass
class Value:
    """What a cell says: its canonical form, `None` if it says nothing, `...` if it cannot be read; and how it may be written."""

    canonical: Any
    texts: list[str]
    typed: list[Any] = field(default_factory=list)


def plain(rng: random.Random) -> Value:
    text = rng.choice(["a", "A", " a", "b c", 'x"y', "semi;colon", "com,ma", "tab\there", "two\nlines", "é", "e\u0301", "0", "00"])
    return Value(text, [text])


def whole(rng: random.Random) -> Value:
    number = rng.choice([0, 1, -1, 7, 2**31, 2**53 + 1, -(2**62)])
    return Value(str(number), [str(number)], [number])


def halves(rng: random.Random) -> Value:
    number = rng.choice([0.5, -2.25, 3.0, 1024.125, 6.5])
    text = str(int(number)) if number == int(number) else repr(number)
    return Value(text, [text], [number])


def truth(rng: random.Random) -> Value:
    value = rng.choice([True, False])
    return Value(str(value).lower(), [str(value).lower()], [value])


def unique(rng: random.Random) -> Value:
    value = uuid.UUID(int=rng.choice([1, 2**100, 3**77]))
    return Value(str(value), [str(value)], [value])


def day(rng: random.Random) -> Value:
    value = datetime.date(rng.choice([1970, 1999, 2024]), rng.choice([1, 2, 12]), rng.choice([1, 13, 28]))
    return Value(value.isoformat(), [value.isoformat()], [value])


def words(rng: random.Random) -> Value:
    text = rng.choice(["straße", "ann lee", "ﬁle", "é", "o'brien"])
    canonical = unicodedata.normalize("NFKC", text).casefold()
    forms = [text, text.upper(), f"  {text} ", text.replace(" ", "\t  "), unicodedata.normalize("NFD", text), hide(rng, text)]
    return Value(canonical, forms)


def name(rng: random.Random) -> Value:
    first, last = rng.choice(["ann", "cy", "zoë"]), rng.choice(["lee", "müller"])
    forms = [f"{first} {last}", f"{last.upper()}, {first.title()}", f" {first}  {last} ", hide(rng, f"{first} {last}")]
    canonical = "".join(c for c in unicodedata.normalize("NFKD", f"{first} {last}") if not unicodedata.combining(c))
    return Value(" ".join(sorted(canonical.split())), forms)


def email(rng: random.Random) -> Value:
    address = f"{rng.choice(['ann', 'cy.dorn', 'e+tag'])}@{rng.choice(['example.org', 'bücher.example'])}"
    return Value(address, [address, address.upper(), f" {address}", address + ".", hide(rng, address)])


def number(rng: random.Random) -> Value:
    value = rng.choice([0, 1, 7, -12, 10**18])
    forms = [f"{value}", f" {value} ", f"{value}.0", f"{'-' if value < 0 else '+'}00{abs(value)}"]
    return Value(str(value), forms, [value])


def exact(rng: random.Random) -> Value:
    value = rng.choice([Decimal("0.5"), Decimal("12"), Decimal("-3.25"), Decimal("1000.125")])
    text = format(value, "f")
    forms = [text, f"{text}{'00' if '.' in text else '.00'}", f"{value * 1000}e-3", f"{value / 100}E+2", hide(rng, text)]
    return Value(text, forms, [value, float(value)])


def date(rng: random.Random) -> Value:
    value = datetime.date(rng.choice([1970, 2024]), rng.choice([1, 11]), rng.choice([2, 30]))
    forms = [value.isoformat(), value.strftime("%Y%m%d"), value.strftime("%d.%m.%Y"), value.strftime("%-d/%-m/%Y")]
    forms += [value.strftime("%d %b %Y"), value.isoformat() + " 00:00:00", hide(rng, value.isoformat())]
    return Value(value.isoformat(), forms, [value, datetime.datetime(value.year, value.month, value.day)])


def moment(rng: random.Random) -> Value:
    value = datetime.datetime(2024, rng.choice([1, 7]), 2, rng.choice([0, 13]), 30, tzinfo=datetime.timezone.utc)
    there = value.astimezone(datetime.timezone(datetime.timedelta(hours=5, minutes=30)))
    forms = [value.strftime("%Y-%m-%d %H:%M"), value.strftime("%Y-%m-%dT%H:%M:%SZ"), there.strftime("%Y-%m-%dT%H:%M:%S+05:30")]
    forms += [value.strftime("%d %b %Y %I:%M %p")]
    return Value(value.isoformat(), forms, [value])


def initials(rng: random.Random) -> Value:
    first, last = rng.choice(["ann", "arthur", "bo"]), rng.choice(["lee", "müller"])
    plain = "".join(c for c in unicodedata.normalize("NFKD", last) if not unicodedata.combining(c))
    return Value(f"{plain}, {first[0]}", [f"{first} {last}", f"{last.upper()}, {first.title()}", f"{last}/{first[0]}"])


def latin(rng: random.Random) -> Value:
    canonical, forms = rng.choice([("lukasz wojcik", ["Łukasz Wójcik", "WÓJCIK, ŁUKASZ"]), ("ivanov petr", ["Иванов Пётр", "ПЁТР ИВАНОВ"])])
    return Value(canonical, [*forms, hide(rng, forms[0])])


def year(rng: random.Random) -> Value:
    number = rng.choice([1973, 2024])
    forms = [f"{number}", f"{number}-02", f"Oct {number}", f"1.12.{number}", f"{number}-05-01T10:00:00"]
    return Value(str(number), forms, [number, datetime.date(number, 7, 1), datetime.datetime(number, 12, 31, 23, 59)])


def domain(rng: random.Random) -> Value:
    name = rng.choice(["example.org", "bücher.example"])
    ascii_form = name.encode("idna").decode()
    return Value(ascii_form, [name, name.upper(), name + ".", ascii_form.upper(), name.replace("e", "e\u00ad", 1)])


def phone(rng: random.Random) -> Value:
    line = rng.choice(["44 668 18 00", "31 300 10 20"])
    forms = [f"0{line}", f"+41 {line}", f"0041 {line.replace(' ', '-')}", f"\u202a+41 (0){line}\u202c"]
    return Value("+41" + line.replace(" ", ""), forms)


def vienna(rng: random.Random) -> Value:
    zone = zoneinfo.ZoneInfo("Europe/Vienna")
    # Hours beside those at which the clock is put on or back, too.
    value = datetime.datetime(2024, *rng.choice([(3, 31, 1), (3, 31, 3), (10, 27, 1), (10, 27, 4), (7, 1, 12)]), 30, tzinfo=zone)
    there = value.astimezone(datetime.timezone.utc)
    return Value(there.isoformat(), [value.strftime("%Y-%m-%d %H:%M"), value.strftime("%d %b %Y %I:%M:%S %p"), there.strftime("%Y-%m-%dT%H:%M:%SZ")], [there])


def address(rng: random.Random) -> Value:
    if rng.random() < 0.5:
        four = ipaddress.IPv4Address(rng.choice([1, 2**31, 2**32 - 2]))
        return Value(str(four), [str(four), f" {four}", f"::ffff:{four}", f"{four}/32"])
    six = ipaddress.IPv6Address((0x20010DB8 << 96) + rng.choice([1, 2**64]))
    return Value(str(six), [str(six), six.exploded, six.exploded.upper(), f"[{six}]", f"{six}/128"])


def hide(rng: random.Random, text: str) -> str:
    place = rng.randrange(len(text) + 1)
    return text[:place] + rng.choice(HIDDEN) + text[place:]


KINDS: list[tuple[str, Callable[[random.Random], Value], Optional[str]]] = [
    ("none", plain, None),
    ("none", whole, None),
    ("none", halves, None),
    ("none", truth, None),
    ("none", unique, None),
    ("none", day, None),
    ("text", words, None),
    ("name", name, "---"),
    ("email", email, "ann"),
    ("integer", number, "1e3"),
    ("decimal", exact, "1 5"),
    ("date:DMY", date, "31/31/2024"),
    ("timestamp", moment, "10:00"),
    ("ip", address, "192.0.2"),
    ("latin", latin, "---"),
    ("initials", initials, ", x"),
    ("year", year, "73"),
    ("domain", domain, "a..example"),
    ("phone:CH", phone, "1-800-FLOWERS"),
    ("timestamp:Europe/Vienna", vienna, "2024-10-27 02:30"),
]
"""A profile, values for it, and a text that it cannot read."""


def column(rng: random.Random, kind: int, rows: int) -> list[Value]:
    _, make, bad = KINDS[kind]
    cells = []
    for _ in range(rows):
        chance = rng.random()
        if chance < 0.1:
            cells.append(Value(None, [""]))
        elif chance < 0.15 and bad is not None:
            cells.append(Value(..., [bad]))
        else:
            cells.append(make(rng))
    return cells


def texts(rng: random.Random, cells: list[Value]) -> list[Optional[str]]:
    """A column of text; an absent value is null or empty."""
    return [rng.choice(["", None, "NULL", "n/a"]) if cell.canonical is None else rng.choice(cell.texts) for cell in cells]


def typed(rng: random.Random, cells: list[Value]) -> Optional[list[Any]]:
    """A column of one type that is no text, if the values have one."""
    said = [cell for cell in cells if cell.canonical is not None]
    if not said or any(cell.canonical is ... or not cell.typed for cell in said):
        return None
    form = rng.randrange(min(len(cell.typed) for cell in said))
    return [None if cell.canonical is None else cell.typed[form] for cell in cells]


def as_arrow(rng: random.Random, values: list[Any]) -> pa.Array:
    """An array of a type that has these values."""
    said = [value for value in values if value is not None]
    if said and isinstance(said[0], uuid.UUID):
        return pa.array([None if value is None else value.bytes for value in values], pa.uuid())
    array = pa.array(values, pa.string() if not said else None)
    if not said or isinstance(said[0], str):
        array = array.cast(rng.choice([pa.string(), pa.large_string(), pa.string_view()]))
        return array.dictionary_encode() if array.type == pa.string() and rng.random() < 0.3 else array
    if isinstance(said[0], float) and rng.random() < 0.5:
        # All of them are short in binary.
        return array.cast(pa.float32())
    if pa.types.is_timestamp(array.type):
        return array.cast(pa.timestamp(rng.choice(["s", "ms", "us", "ns"]), array.type.tz))
    return array


def as_csv(
    rng: random.Random, table: dict[str, list[Optional[str]]], numbers: set[str], path: pathlib.Path
) -> tuple[pathlib.Path, dict[str, Any]]:
    """A text file in one of many forms; and what the party says of it."""
    party: dict[str, Any] = {}
    if rng.random() < 0.3:
        party["decimal"] = ","
        commas = {name: [value and value.replace(".", ",") for value in table[name]] for name in numbers}
        table = table | commas
    out, ends = io.StringIO(newline=""), rng.choice(["\n", "\r\n", "\r"])
    if rng.random() < 0.25:
        party["skip"] = rng.randrange(1, 4)
        out.write("".join(f"title {line}{ends}" for line in range(party["skip"])))
    # Python leaves a line feed without quotes where it ends no line.
    quoting = rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]) if ends != "\r" else csv.QUOTE_ALL
    writer = csv.writer(out, delimiter=rng.choice(",;\t|"), lineterminator=ends, quoting=quoting)
    if rng.random() < 0.25:
        party["header"] = False
        party["columns"] = {name: f"column_{place}" for place, name in enumerate(table, 1) if name != "row"}
    else:
        writer.writerow(table)
    writer.writerows(zip(*([value or "" for value in values] for values in table.values())))
    said = out.getvalue().encode(rng.choice(["utf-8", "utf-8-sig", "utf-16"]))
    if rng.random() < 0.2:
        path, said = path.with_suffix(".csv.gz"), gzip.compress(said)
    path.write_bytes(said)
    return path, party


def as_data(
    rng: random.Random, columns: dict[str, list[Value]], numbers: set[str], home: pathlib.Path
) -> tuple[Any, dict[str, Any]]:
    """A party's table in some form, and what it says of it. `numbers` are columns of numbers."""
    data, party = in_form(rng, columns, numbers, home)
    return data, party | {"nulls": ["NULL", "n/a"]}


def in_form(
    rng: random.Random, columns: dict[str, list[Value]], numbers: set[str], home: pathlib.Path
) -> tuple[Any, dict[str, Any]]:
    """As `as_data`, without its words for no value."""
    rows = len(next(iter(columns.values())))
    form = rng.choice(["csv", "csv", "csv", "parquet", "arrow", "pyarrow", "pandas", "polars", "duckdb"])
    if form == "csv":
        table = {name: texts(rng, cells) for name, cells in columns.items()}
        return as_csv(rng, table | {"row": [str(row) for row in range(rows)]}, numbers, home / "table.csv")
    values = {
        name: (rng.random() < 0.7 and typed(rng, cells)) or texts(rng, cells) for name, cells in columns.items()
    }
    table = pa.table({name: as_arrow(rng, column) for name, column in values.items()} | {"row": list(range(rows))})
    if form == "parquet":
        pq.write_table(table, home / "t.parquet", compression=rng.choice(["none", "snappy", "zstd"]), row_group_size=rng.choice([1, 3, 100]))
        return home / "t.parquet", {}
    if form == "arrow":
        with pa.ipc.new_file(home / "t.arrow", table.schema) as file:
            file.write_table(table, max_chunksize=rng.choice([1, 100]))
        return home / "t.arrow", {}
    if form == "pyarrow":
        return table, {}
    if form == "pandas":
        backed = rng.random() < 0.5 and not any(isinstance(field.type, pa.BaseExtensionType) for field in table.schema)
        return (table.to_pandas(types_mapper=pd.ArrowDtype) if backed else pd.DataFrame(values | {"row": range(rows)})), {}
    if any(isinstance(field.type, pa.BaseExtensionType) for field in table.schema):
        return table, {}
    if form == "polars":
        return pl.from_arrow(table), {}
    return duckdb.from_arrow(table), {}


def keys(columns: dict[str, list[Value]]) -> list[Any]:
    """Of each row the key; `None` without one, `...` if it cannot be read."""
    of_rows = list(zip(*([cell.canonical for cell in cells] for cells in columns.values())))
    return [... if ... in row else None if None in row else row for row in of_rows]


def check(seed: int, home: pathlib.Path) -> None:
    """One job of random tables; both learn the rows that both have."""
    rng = random.Random(seed)
    kinds = rng.sample(range(len(KINDS)), rng.choice([1, 1, 2]))
    names = ["first", "second"][: len(kinds)]
    numbers = {name for name, kind in zip(names, kinds) if KINDS[kind][0] in ("integer", "decimal")}
    tables, parties, truths = {}, {}, {}
    for party in ("a", "b"):
        rows = rng.choice([1, 2, 5, 12])
        columns = {name: column(rng, kind, rows) for name, kind in zip(names, kinds)}
        truths[party] = keys(columns)
        (home / party).mkdir()
        tables[party], parties[party] = as_data(rng, columns, numbers, home / party)
    job = tacita.Job(
        job="intersect",
        id=f"random-{seed}",
        reveal_to=["a", "b"],
        key={"columns": names, "normalize": [KINDS[kind][0] for kind in kinds]},
        parties=parties,
    )
    results = tacita.simulate(job, tables, allow_unreadable=True)
    both = set(truths["a"]) & set(truths["b"]) - {None, ...}
    for party, of_rows in truths.items():
        table = results[party].table
        found = sorted(int(row) for row in table[table.column_names[-1]].to_pylist())
        assert found == [row for row, key in enumerate(of_rows) if key in both], party
        counted = results[party].report["rows"]
        assert (counted["nulls"], counted["unreadable"]) == (of_rows.count(None), of_rows.count(...)), party
        assert counted["items"] == len(set(of_rows) - {None, ...}), party


@pytest.mark.parametrize("part", range(4))
def test_random_tables_give_what_the_oracle_says(part: int, tmp_path: pathlib.Path) -> None:
    for seed in range(part * 40, part * 40 + 40):
        (tmp_path / str(seed)).mkdir()
        check(seed, tmp_path / str(seed))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(1, 11))
def test_a_thousand_random_tables_give_what_the_oracle_says(part: int, tmp_path: pathlib.Path) -> None:
    for seed in range(part * 100, part * 100 + 100):
        (tmp_path / str(seed)).mkdir()
        check(seed, tmp_path / str(seed))
