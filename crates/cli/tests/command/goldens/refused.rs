//! Messages on job files that make no sense.

use std::fmt::Write as _;

use tacita_core::Error;
use tacita_node::agreement::JobSpec;
use toml::{Table, Value};

use crate::goldens::{compare, jobs};

/// Names of jobs of every kind: each key is tried in each of them.
const BASES: [&str; 6] = ["rows", "dot", "shares opened", "rules", "dot with clients", "keys of many"];

/// Every key there is, and some that there are not.
const KEYS: [&str; 68] = [
    "job",
    "id",
    "protocol",
    "security",
    "level",
    "reveal",
    "reveal_to",
    "gives",
    "gives.a",
    "gives.c",
    "key",
    "key.columns",
    "key.normalize",
    "key.duplicates",
    "key.nulls",
    "key.salt",
    "limits",
    "limits.max_rows",
    "limits.pad_to",
    "limits.min_rows",
    "limits.min_result",
    "limits.max_queries",
    "limits.max_clients",
    "limits.most",
    "column",
    "row_id",
    "alignment",
    "limits.blur",
    "noise.epsilon",
    "bits",
    "signed",
    "scale",
    "modulus",
    "extension",
    "chunk",
    "density",
    "operation",
    "min_support",
    "min_confidence",
    "max_len",
    "consequents",
    "items",
    "mixed_only",
    "max_candidates",
    "max_rules",
    "bins",
    "helper",
    "relay",
    "parties.a",
    "parties.a.identity",
    "parties.a.role",
    "parties.a.columns",
    "parties.d",
    "parties.a.format",
    "parties.a.expand",
    "round",
    "round.reveal_when",
    "round.values",
    "round.value",
    "round.key_bytes",
    "round.keys",
    "round.min_participants",
    "round.max_share",
    "round.batch_size",
    "round.close_at",
    "round.tighten",
    "participants",
    "proxy",
];

/// Values that each key is tried with.
const VALUES: [&str; 4] = ["true", "0", "\"word\"", "[\"x\", \"x\"]"];

/// Conflicts between keys: a job, and the keys written into it.
const TOGETHER: &[(&str, &[(&str, &str)])] = &[
    ("rows", &[("protocol", "\"vole\""), ("reveal", "\"count\"")]),
    ("rows", &[("protocol", "\"ot\"")]),
    ("rows", &[("protocol", "\"star\"")]),
    ("rows", &[("protocol", "\"ecdh\""), ("security", "\"malicious\"")]),
    ("rows", &[("security", "\"malicious\""), ("reveal", "\"count\"")]),
    ("rows to both", &[("security", "\"malicious\"")]),
    ("rows", &[("protocol", "\"vole\""), ("level", "\"bits256\"")]),
    ("rows", &[("protocol", "\"ecdh\""), ("level", "\"bits112\"")]),
    ("rows by polynomial", &[("security", "\"malicious\"")]),
    ("rows by polynomial", &[("bins", "0")]),
    ("rows by polynomial", &[("protocol", "\"vole\"")]),
    ("rows by polynomial", &[("strategy", "\"fft\""), ("level", "\"bits192\"")]),
    ("rows by bloom", &[("level", "\"bits256\"")]),
    ("rows by bloom", &[("security", "\"malicious\"")]),
    ("rows by bloom", &[("reveal", "\"payload\""), ("gives", "{ b = [\"x\"] }")]),
    ("rows by bloom", &[("reveal", "\"count\"")]),
    ("rows by bloom", &[("reveal_to", "[\"a\", \"b\"]")]),
    ("rows", &[("scale", "2")]),
    ("sum", &[("scale", "19")]),
    ("sum", &[("gives", "{}")]),
    ("sum", &[("gives", "{ a = [\"cost\"] }")]),
    ("sum", &[("gives", "{ a = [\"cost\"], b = [\"cost\"] }")]),
    ("payload", &[("gives", "{ a = [\"ward\"] }")]),
    ("payload", &[("key.duplicates", "\"multiset\"")]),
    ("sum", &[("key.duplicates", "\"multiset\"")]),
    ("rows", &[("key", "{ any = [[\"name\"], [\"born\"]], duplicates = \"multiset\" }")]),
    ("rows by ecdh", &[("key.duplicates", "\"multiset\"")]),
    ("payload", &[("gives", "{ b = [\"ward\", \"ward\"] }")]),
    ("rows", &[("reveal", "\"counts:x\"")]),
    ("rows", &[("reveal", "\"sum:\"")]),
    ("rows", &[("reveal_to", "[]")]),
    ("rows", &[("reveal_to", "[\"c\"]")]),
    ("rows", &[("reveal_to", "[\"a\", \"a\"]")]),
    ("rows", &[("key.columns", "[]")]),
    ("rows", &[("key.columns", "[\"\"]")]),
    ("rows", &[("key.normalize", "[\"name\", \"name\"]")]),
    ("rows", &[("key.normalize", "[\"phone:XX\"]")]),
    ("rows", &[("key.normalize", "[\"name\"]"), ("parties.b.normalize", "[\"email\"]")]),
    ("rows", &[("parties.b.normalize", "[\"email\", \"name\"]")]),
    ("rows", &[("parties.b.columns", "{ town = \"Ort\" }")]),
    ("rows", &[("parties.b.address", "7000")]),
    ("rows", &[("parties.b.slice", "1")]),
    ("rows", &[("parties.b.items", "\"*\"")]),
    ("rows", &[("parties.c", "{}")]),
    ("rows", &[("parties", "{ a = {} }")]),
    ("rows", &[("parties", "{ a = {}, \"b c\" = {} }")]),
    ("rows", &[("parties", "{}")]),
    (
        "rows",
        &[
            ("parties.a.identity", "\"SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\""),
            ("parties.b.identity", "\"SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\""),
        ],
    ),
    ("rows", &[("id", "\"\"")]),
    ("rows", &[("id", "\"two\\nlines\"")]),
    ("rows", &[("limits.max_rows", "-1")]),
    ("rows", &[("limits.max_rows", "4294967296")]),
    ("rows", &[("limits.max_rows", "10"), ("limits.pad_to", "11")]),
    ("rules", &[("limits.max_rows", "10"), ("limits.min_rows", "11")]),
    ("dot", &[("bits", "0")]),
    ("dot", &[("bits", "33")]),
    ("dot", &[("scale", "19")]),
    ("dot", &[("reveal", "\"rows\"")]),
    ("dot", &[("security", "\"malicious\"")]),
    ("dot", &[("protocol", "\"open\"")]),
    ("dot", &[("protocol", "\"lattice\""), ("extension", "\"silent\"")]),
    ("dot", &[("protocol", "\"gm-bloom\""), ("extension", "\"silent\"")]),
    ("dot", &[("protocol", "\"gm-bloom\""), ("bits", "2")]),
    ("dot", &[("protocol", "\"gm-bloom\""), ("density", "0.0")]),
    ("dot", &[("protocol", "\"gm-bloom\""), ("density", "\"150%\"")]),
    ("dot", &[("protocol", "\"gm-bloom\""), ("level", "\"bits256\"")]),
    ("dot", &[("chunk", "1")]),
    ("dot", &[("density", "0.5")]),
    ("dot by paillier", &[("chunk", "0")]),
    ("dot by paillier", &[("chunk", "100000000")]),
    ("dot by paillier", &[("row_id", "\"id\"")]),
    ("dot", &[("level", "\"bits192\"")]),
    ("dot", &[("extension", "\"softspoken-9\"")]),
    ("dot", &[("modulus", "\"10\"")]),
    ("dot", &[("modulus", "\"2^200\"")]),
    ("dot", &[("column", "{ a = \"x\" }")]),
    ("dot", &[("column", "{ a = \"x\", b = [] }")]),
    ("dot", &[("column", "{ a = \"x\", c = \"y\" }")]),
    ("dot", &[("key", "{ columns = [\"id\"] }")]),
    ("dot", &[("row_id", "\"id\""), ("key", "{ columns = [\"other\"] }")]),
    ("dot", &[("row_id", "\"id\""), ("key", "{ columns = [\"id\"], duplicates = \"first\" }")]),
    ("dot", &[("row_id", "\"id\""), ("key", "{ columns = [\"id\"], duplicates = \"multiset\" }")]),
    ("rules", &[("row_id", "\"id\""), ("key", "{ columns = [\"id\"], duplicates = \"multiset\" }")]),
    ("dot", &[("row_id", "[]")]),
    ("dot", &[("alignment", "\"rows\"")]),
    ("dot", &[("row_id", "\"id\""), ("alignment", "\"shown\"")]),
    ("dot", &[("row_id", "\"id\""), ("limits.blur", "33")]),
    ("cross table", &[("row_id", "\"id\""), ("limits.blur", "128")]),
    ("rules", &[("row_id", "\"id\""), ("protocol", "\"gm-bloom\""), ("reveal", "\"counts\""), ("density", "0.2")]),
    ("dot", &[("row_id", "\"id\""), ("alignment", "\"rows\""), ("limits.blur", "128")]),
    ("rules", &[("row_id", "\"id\""), ("bins", "{ age = 4 }")]),
    ("dot with noise", &[("protocol", "\"lattice\"")]),
    ("dot with noise", &[("limits.max_null", "0")]),
    ("dot with noise", &[("quality", "\"told\"")]),
    ("dot with noise", &[("row_id", "\"id\""), ("alignment", "\"rows\""), ("limits.blur", "128")]),
    ("dot with noise", &[("parties.c", "{}")]),
    ("dot with noise", &[("bits", "32"), ("noise.epsilon", "21")]),
    ("dot with noise", &[("noise.delta", "0.5")]),
    ("dot with noise", &[("noise.bounds", "[0, 2]")]),
    ("dot with noise", &[("noise.bounds", "[1, 0]")]),
    ("dot with noise", &[("noise.bounds", "{ c = [0, 1] }")]),
    ("dot with noise", &[("noise.bounds", "[1]")]),
    ("dot with noise", &[("modulus", "\"10\"")]),
    ("dot with clients", &[("noise", "{ epsilon = 1 }")]),
    ("rules", &[("noise", "{ epsilon = 1 }")]),
    ("shares opened", &[("noise", "{ epsilon = 0 }")]),
    ("shares opened", &[("noise", "{ epsilon = 1, bounds = [0, 1] }")]),
    ("dot", &[("limits.pad_to", "10")]),
    ("dot in shares", &[("limits.min_result", "10")]),
    ("dot", &[("parties", "{ value = {}, b = {} }"), ("reveal_to", "[\"b\"]")]),
    ("dot", &[("parties.a.normalize", "[\"none\"]")]),
    ("dot with clients", &[("reveal_to", "[\"a\"]")]),
    ("dot with clients", &[("reveal_to", "[\"a\", \"b\", \"c\"]")]),
    ("dot with clients", &[("reveal", "\"shares\"")]),
    ("dot with clients", &[("protocol", "\"ot\"")]),
    ("dot with clients", &[("protocol", "\"paillier\""), ("extension", "\"silent\"")]),
    ("dot with clients", &[("row_id", "\"id\"")]),
    ("dot with clients", &[("column", "{ a = \"x\", b = [\"x\", \"u\"], c = \"y\" }")]),
    ("dot with clients", &[("parties.c.slice", "3")]),
    ("dot with clients", &[("parties.a.slice", "1")]),
    ("dot with clients", &[("parties.a.role", "\"server\"")]),
    ("dot with clients", &[("parties.d", "{}")]),
    ("dot with clients", &[("parties.d", "{ role = \"peer\" }")]),
    (
        "dot with clients",
        &[("parties.clients", "{ role = \"server\" }"), ("parties.c", "{ role = \"client\", slice = 3 }")],
    ),
    ("shares opened", &[("reveal", "\"shares\"")]),
    ("shares opened", &[("security", "\"malicious\"")]),
    ("shares opened", &[("protocol", "\"ot\"")]),
    ("shares opened", &[("operation", "\"at_least:x\"")]),
    ("shares compared", &[("reveal_to", "[\"a\"]")]),
    ("shares compared", &[("limits.min_result", "3")]),
    ("shares compared", &[("protocol", "\"open\"")]),
    ("rules", &[("reveal_to", "[\"a\"]")]),
    ("rules", &[("security", "\"malicious\"")]),
    ("rules", &[("protocol", "\"paillier\"")]),
    ("rules", &[("extension", "\"silent\"")]),
    ("rules", &[("min_support", "0")]),
    ("rules", &[("min_support", "\"200%\"")]),
    ("rules", &[("min_support", "-1.5")]),
    ("rules", &[("min_confidence", "1.5")]),
    ("rules", &[("max_len", "0")]),
    ("rules", &[("max_candidates", "0")]),
    ("rules", &[("max_rules", "1000000000")]),
    ("rules", &[("items", "[]")]),
    ("rules", &[("items", "{ separator = \"\" }")]),
    ("rules", &[("items", "[\"id\"]"), ("row_id", "\"id\"")]),
    ("rules", &[("bins", "{ age = 1 }")]),
    ("rules", &[("bins", "{ age = [2, 1] }")]),
    ("rules", &[("parties.a.columns", "{ x = \"y\" }")]),
    ("keys of many", &[("security", "\"malicious\"")]),
    ("keys of many", &[("protocol", "\"ecdh\"")]),
    ("keys of many", &[("reveal", "\"rows\"")]),
    ("keys of many", &[("reveal", "\"keys+values\""), ("round.values", "[1, 2]")]),
    ("keys of many", &[("reveal", "\"keys+values+histogram\"")]),
    ("keys of many", &[("reveal_to", "[\"c\"]")]),
    ("keys of many", &[("parties.proxy", "{}")]),
    ("keys of many", &[("relay", "{ address = \"r:1\" }")]),
    ("keys of many", &[("limits.max_rows", "10")]),
    ("keys of many", &[("key.any", "[[\"x\"], [\"y\"]]"), ("key.columns", "[]")]),
    ("keys of many", &[("key", "{ any = [[\"x\"], [\"y\"]] }")]),
    ("keys of many", &[("key.duplicates", "\"multiset\"")]),
    ("keys of many", &[("round.reveal_when", "\"count => 3\"")]),
    ("keys of many", &[("round.reveal_when", "\"sum(value) >= 3\"")]),
    ("keys of many", &[("round.reveal_when", "\"count >= 5000000000\"")]),
    ("keys of many", &[("round.reveal_when", "\"sum(value) >= 3\""), ("round.values", "[\"A\"]")]),
    ("keys of many", &[("round.values", "[]")]),
    ("keys of many", &[("round.values", "[1, \"A\"]")]),
    ("keys of many", &[("round.values", "{ min = 0, max = 1048576 }")]),
    ("keys of many", &[("round.values", "[1]"), ("round.value", "\"ip\"")]),
    ("keys of many", &[("round.key_bytes", "257")]),
    ("keys of many", &[("round.key_bytes", "8")]),
    ("keys of many", &[("round.keys", "\"hashed\""), ("round.key_bytes", "32")]),
    ("keys of many", &[("round.min_participants", "1")]),
    ("keys of many", &[("round.max_share", "0.0")]),
    ("keys of many", &[("round.max_share", "1.5")]),
    ("keys of many", &[("round.batch_size", "4")]),
    ("keys of many", &[("round.max_share", "0.01"), ("round.batch_size", "99")]),
    ("keys of many", &[("round.close_at", "\"tomorrow\"")]),
    ("keys of many", &[("round.tighten", "true"), ("round.reveal_when", "\"count = 3\"")]),
    ("keys of many", &[("round.max_reports", "0")]),
    ("keys of many", &[("round.threshold", "3")]),
    ("keys of many", &[("participants.ca", "\"SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\"")]),
    ("keys of many", &[("database", "[{ identity = \"SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\" }]")]),
    ("keys of many", &[("parties.a.identity", "\"SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\"")]),
    ("keys of many", &[("proxy", "[{ address = \"p:1\" }, { address = \"p:1\" }]")]),
    ("keys of many", &[("parties.a.columns", "{ value = \"n\" }")]),
    ("keys of many", &[("noise", "{ epsilon = 1, delta = 1e-6 }")]),
    ("keys of many", &[("noise", "{ epsilon = 1, delta = 1e-6, unit = \"row\" }")]),
    ("keys of many", &[("noise", "{ epsilon = 1, unit = \"report\" }")]),
    ("keys of many", &[("noise", "{ epsilon = 1, delta = 1e-6, unit = \"report\" }")]),
    ("keys of many", &[("noise", "{ epsilon = 1, delta = 1e-6, unit = \"participant\" }")]),
    ("keys of many", &[("noise", "{ epsilon = 1, delta = 1e-6, unit = \"report\", bounds = [1, 20] }")]),
    ("keys of many, with noise", &[("round.reveal_when", "\"count > 27\"")]),
    ("keys of many, with noise", &[("round.reveal_when", "\"count >= 29 and distinct >= 3\"")]),
    ("keys of many, with noise", &[("round.reveal_when", "\"not count < 29\"")]),
    ("keys of many, with noise", &[("round.tighten", "true")]),
    (
        "keys of many, with noise",
        &[
            ("round.values", "[\"A\", \"B\"]"),
            ("reveal", "\"keys+values+histogram\""),
            ("round.reveal_when", "\"count >= 99\""),
        ],
    ),
    ("keys of many, with noise", &[("round.values", "[1, 2]"), ("reveal", "\"keys+values+histogram\"")]),
    ("keys of many, with noise", &[("reveal_to", "[\"database\"]")]),
    ("keys of many, with noise", &[("noise.bounds", "[0, 20]")]),
    ("keys of many, with noise", &[("noise.bounds", "[1, 100000]")]),
    ("keys of many, with noise", &[("noise.bounds", "{ a = [1, 20] }")]),
    (
        "keys of many, with noise",
        &[("noise", "{ epsilon = 0.001, delta = 1e-6, bounds = [1, 50], unit = \"participant\" }")],
    ),
    ("dot", &[("noise", "{ epsilon = 1, unit = \"report\" }")]),
    ("rows", &[("parties.a.format", "\"list\"")]),
];

/// Files that are no job file.
const TEXTS: [&str; 14] = [
    "",
    "job",
    "job = ",
    "job = \"intersect\"\njob = \"dot\"\n",
    "job = \"intersect\"\nid = \"x\"\nreveal_to = [\"a\"\n",
    "job = \"union\"\n",
    "job = \"aggregate\"\n",
    "job = \"sort\"\n",
    "job = 3\n",
    "id = \"x\"\n",
    "{",
    "{\"job\": \"intersect\",}",
    "{\"job\": \"dot\", \"job\": \"dot\"}",
    "{\"job\": \"dot\", \"parties\": {\"a\": {}, \"a\": {}}}",
];

/// Writes `value` into the table at a dotted path; what stands in its way goes.
fn put(table: &mut Table, path: &str, value: Value) {
    let Some((first, rest)) = path.split_once('.') else {
        table.insert(path.to_owned(), value);
        return;
    };
    let inner = table.entry(first).or_insert_with(|| Table::new().into());
    if !inner.is_table() {
        *inner = Table::new().into();
    }
    put(inner.as_table_mut().unwrap(), rest, value);
}

fn value(text: &str) -> Value {
    toml::from_str::<Table>(&format!("value = {text}")).unwrap().remove("value").unwrap()
}

fn said(text: &str, is_json: bool) -> String {
    match JobSpec::parse(text, is_json) {
        Ok(_) => "is read".into(),
        Err(Error::Input(text)) => {
            assert!(!text.contains('\n'), "{text}");
            text
        }
        Err(other) => panic!("{other:?}"),
    }
}

/// Writes the messages on both forms of a job, in one line if they are the same.
fn write(found: &mut String, what: &str, table: &Table) {
    let text = toml::to_string(table).unwrap();
    let (toml, json) = (said(&text, false), said(&jobs::twin(table), true));
    writeln!(found, "{what}\n  {toml}").unwrap();
    if json != toml {
        writeln!(found, "  JSON: {json}").unwrap();
    }
}

#[test]
fn error_lines() {
    let base = |name: &str| -> Table {
        let (.., json) = jobs::texts().find(|(known, ..)| *known == name).unwrap();
        serde_json::from_str(&json).unwrap()
    };
    let mut found = String::new();
    for name in BASES {
        let unchanged = base(name);
        for key in KEYS {
            for text in VALUES {
                let mut table = unchanged.clone();
                put(&mut table, key, value(text));
                write(&mut found, &format!("{name}: {key} = {text}"), &table);
            }
            let mut table = unchanged.clone();
            if table.remove(key).is_some() {
                write(&mut found, &format!("{name}: no {key}"), &table);
            }
        }
    }
    for (name, changes) in TOGETHER {
        let mut table = base(name);
        changes.iter().for_each(|(key, text)| put(&mut table, key, value(text)));
        let changes: Vec<_> = changes.iter().map(|(key, text)| format!("{key} = {text}")).collect();
        write(&mut found, &format!("{name}: {}", changes.join(", ")), &table);
    }
    for text in TEXTS {
        writeln!(found, "{text:?}\n  {}", said(text, false)).unwrap();
    }
    compare("refused.txt", &found);
}
