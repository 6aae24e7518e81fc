//! Unions between two processes over TLS, against the plaintext.

mod polynomials;

use std::collections::{BTreeMap, BTreeSet};

use crate::common::dot::noise;
use crate::common::{Ended, Home, NAMES, Pair, Running, convert, data, joined_key, json, rows_of, tacita, text};
use serde_json::{Value, json};

fn simulate(home: &Home, job: &str, tables: [&str; 2]) -> Ended {
    let inputs = [("a", tables[0]), ("b", tables[1])].map(|(name, path)| format!("{name}={path}"));
    let (out, report) = (home.at("out"), home.at("report.json"));
    tacita(&[
        "simulate", job, "--input", &inputs[0], "--input", &inputs[1], "--force", "--output", &out, "--report", &report,
    ])
}

/// A job file: `terms`, what stands below `[key]`, and what stands before the parties.
fn job(home: &Home, terms: &str, key: &str) -> String {
    let text = format!("job = \"union\"\nid = \"t\"\n{terms}\n[key]\n{key}\n[parties.a]\n[parties.b]\n");
    home.file("job.toml", &text)
}

fn result(home: &Home, party: &str) -> Value {
    json(home.at("report.json"))["parties"][party]["result"].clone()
}

/// Rows with keys below a bound, some of them several times.
fn table(rows: u64, below: u64, seed: u64) -> Vec<(String, String)> {
    let numbers = noise(seed).map(|number| number >> 20);
    numbers
        .take(rows as usize)
        .enumerate()
        .map(|(row, n)| (format!("{:04}", n % below), format!("{seed}-{row}")))
        .collect()
}

fn csv(head: &str, rows: &[(String, String)]) -> String {
    let lines: Vec<_> = rows.iter().map(|(key, note)| format!("{key},{note}\n")).collect();
    format!("{head}\n{}", lines.concat())
}

/// The union as its receiver should have it: own rows by key and place, then those that it lacks.
fn truth(own: &[(String, String)], theirs: &[(String, String)], first: bool) -> String {
    let by_key = |rows: &[(String, String)]| {
        let mut keys: BTreeMap<String, Vec<String>> = BTreeMap::new();
        rows.iter().for_each(|(key, note)| keys.entry(key.clone()).or_default().push(note.clone()));
        keys
    };
    let [mut own, mut theirs] = [own, theirs].map(by_key);
    theirs.retain(|key, _| !own.contains_key(key));
    if first {
        [&mut own, &mut theirs].into_iter().flat_map(BTreeMap::values_mut).for_each(|notes| notes.truncate(1));
    }
    let own = own.iter().flat_map(|(key, notes)| notes.iter().map(move |note| format!("{key},{note},\n")));
    let theirs = theirs.iter().flat_map(|(key, notes)| notes.iter().map(move |note| format!("{key},,{note}\n")));
    own.chain(theirs).collect()
}

/// Each pair of tables with keys in several rows, or with first rows alone; counts are for one and for both by turns.
#[test]
fn random_tables_to_one_and_to_both() {
    random_tables(false);
}

#[test]
#[ignore = "slow: each pair of tables in every way"]
fn random_tables_in_every_way() {
    random_tables(true);
}

fn random_tables(all: bool) {
    let home = Home::new();
    for (seed, (mine, theirs, below)) in (1_u64..).zip([
        (0, 0, 9),
        (0, 1, 9),
        (1, 0, 9),
        (1, 1, 1),
        (40, 7, 30),
        (7, 90, 40),
        (300, 200, 250),
        (1, 999, 5_000),
    ]) {
        let [own, other] = [table(mine, below, 2 * seed), table(theirs, below, 2 * seed + 1)];
        let files = [home.file("a.csv", &csv("id,note", &own)), home.file("b.csv", &csv("id,note", &other))];
        for duplicates in ["all", "first"] {
            let first = duplicates == "first";
            if !all && first != seed.is_multiple_of(2) {
                continue;
            }
            let key = format!("columns = [\"id\"]\nduplicates = \"{duplicates}\"\n[limits]\nmin_rows = 0");
            let one = job(&home, "reveal_to = [\"a\"]\ngives = { b = [\"note\"] }", &key);
            simulate(&home, &one, [&files[0], &files[1]]).well();
            let expected = truth(&own, &other, first);
            assert_eq!(
                text(home.at("out/a.csv")),
                format!("id,note,b.note\n{expected}"),
                "{mine} {theirs} {duplicates}"
            );
            assert_eq!(result(&home, "a"), json!({ "rows": expected.lines().count() }));

            let gives = "gives = { a = [\"note\"], b = [\"note\"] }";
            let both = job(&home, &format!("reveal_to = [\"a\", \"b\"]\n{gives}"), &key);
            simulate(&home, &both, [&files[0], &files[1]]).well();
            assert_eq!(text(home.at("out/a.csv")), format!("id,note,b.note\n{expected}"));
            assert_eq!(text(home.at("out/b.csv")), format!("id,note,a.note\n{}", truth(&other, &own, first)));

            let keys = |rows: &[(String, String)]| rows.iter().map(|(key, _)| key.clone()).collect::<BTreeSet<_>>();
            let together = keys(&own).union(&keys(&other)).count();
            for (number, learners) in (1..).zip(["[\"b\"]", "[\"a\", \"b\"]"]) {
                if !all && number != 1 + seed / 2 % 2 {
                    continue;
                }
                let count = job(&home, &format!("reveal = \"count\"\nreveal_to = {learners}"), &key);
                simulate(&home, &count, [&files[0], &files[1]]).well();
                assert_eq!(result(&home, "b"), json!({ "count": together }));
            }
        }
        // Whoever learns pads, and nobody else.
        let padded = job(&home, "reveal_to = [\"b\"]", "columns = [\"id\"]\n[limits]\nmin_rows = 0\npad_to = 1000");
        simulate(&home, &padded, [&files[0], &files[1]]).well();
        let found = rows_of(home.at("out/b.csv")).len();
        assert_eq!(found, truth(&other, &own, false).lines().count());
    }
}

/// Keys as each party writes them, in every format; columns that only one has; a column of the key among those that are
/// given.
#[test]
fn each_writes_its_keys_in_its_own_way() {
    let home = Home::new();
    let a = home.file(
        "a.csv",
        "name,dob,flight\nAnn Lee,1980-01-02,F1\nBob Ray,1970-03-04,F2\nBob  RAY,1970-03-04,F3\nCy,,F4\n",
    );
    let b = home.file(
        "b.csv",
        "who,born,list\n\"LEE, Ann\",02.01.1980,A\n\"Ümit Öz\",05.06.1990,B\n\"OZ, UMIT\",05.06.1990,=C\n\"Dan Dare\",07.08.1999,D\n,01.01.2000,E\n",
    );
    let parties = "[parties.a]\n[parties.b]\ncolumns = { name = \"who\", dob = \"born\" }\nnormalize = [\"name\", \"date:DMY\"]\n";
    let job = home.file(
        "job.toml",
        &format!(
            "job = \"union\"\nid = \"t\"\nreveal_to = [\"a\", \"b\"]\ngives = {{ b = [\"list\", \"dob\"], a = [\"flight\"] }}\n\
             [key]\ncolumns = [\"name\", \"dob\"]\nnormalize = [\"name\", \"date\"]\n{parties}"
        ),
    );
    let of_a = "name,dob,flight,b.list,b.dob\nAnn Lee,1980-01-02,F1,,\nBob Ray,1970-03-04,F2,,\nBob  RAY,1970-03-04,F3,,\n\
                Dan Dare,07.08.1999,,D,07.08.1999\nÜmit Öz,05.06.1990,,B,05.06.1990\n\"OZ, UMIT\",05.06.1990,,=C,05.06.1990\n";
    let of_b = "who,born,list,a.flight\n\"LEE, Ann\",02.01.1980,A,\nDan Dare,07.08.1999,D,\nÜmit Öz,05.06.1990,B,\n\
                \"OZ, UMIT\",05.06.1990,=C,\nBob Ray,1970-03-04,,F2\nBob  RAY,1970-03-04,,F3\n";
    simulate(&home, &job, [&a, &b]).well();
    assert_eq!(text(home.at("out/b.csv")), of_b);
    assert_eq!(text(home.at("out/a.csv")), of_a);
    let rows = json(home.at("report.json"))["parties"]["a"]["rows"].clone();
    assert_eq!(rows, json!({ "read": 4, "nulls": 1, "unreadable": 0, "duplicates": 1, "items": 2 }));
    // The same from and to other formats.
    for ending in ["parquet", "arrow"] {
        let files = [(&a, "a"), (&b, "b")].map(|(from, name)| {
            let to = home.at(&format!("{name}.{ending}"));
            convert(from.as_ref(), &to);
            to
        });
        for format in ["csv", "parquet", "arrow", "json"] {
            let inputs = [format!("a={}", files[0]), format!("b={}", files[1])];
            let out = home.at("other");
            tacita(&[
                "simulate", &job, "--input", &inputs[0], "--input", &inputs[1], "--force", "--output", &out,
                "--format", format,
            ])
            .well();
            let file = home.at(&format!("other/a.{format}"));
            let rows = match format {
                // A value that is not there is null in JSON.
                "json" => json(file).as_array().unwrap().len(),
                _ => rows_of(file).len(),
            };
            assert_eq!(rows, 6, "{ending} {format}");
        }
        assert_eq!(text(home.at("other/a.csv")), text(home.at("out/a.csv")), "{ending}");
    }
}

/// Numbers as keys are text in a union, because the other party may write them otherwise; other columns keep their
/// types.
#[test]
fn keys_that_are_numbers_become_text() {
    let home = Home::new();
    let files = [("a", "id,n\n7,1\n8,2\n"), ("b", "id,n\n07,3\n009,4\n")].map(|(name, table)| {
        let (from, to) = (home.file(&format!("{name}.csv"), table), home.at(&format!("{name}.parquet")));
        convert(from.as_ref(), &to);
        to
    });
    let job =
        job(&home, "reveal_to = [\"a\"]\ngives = { b = [\"n\"] }", "columns = [\"id\"]\nnormalize = [\"integer\"]");
    simulate(&home, &job, [&files[0], &files[1]]).well();
    assert_eq!(text(home.at("out/a.csv")), "id,n,b.n\n7,1,\n8,2,\n009,,4\n");
}

/// The size of the longest text of a common key is hidden by a bound; a longer text is refused.
#[test]
fn texts_are_filled_up_to_a_bound() {
    let home = Home::new();
    let long = home.file("b.csv", &format!("id,note\n1,{}\n2,x\n", "y".repeat(40)));
    let short = home.file("short.csv", "id,note\n1,y\n2,x\n");
    let own = home.file("a.csv", "id\n1\n");
    let terms = "reveal_to = [\"a\"]\ngives = { b = [\"note\"] }";
    let sent = |table: &str, limits: &str| {
        simulate(&home, &job(&home, terms, &format!("columns = [\"id\"]\n{limits}")), [&own, table]).well();
        json(home.at("report.json"))["parties"]["b"]["bytes"]["sent"].as_u64().unwrap()
    };
    assert_ne!(sent(&long, ""), sent(&short, ""));
    let limits = "[limits]\nmax_text = 40\n";
    assert_eq!(sent(&long, limits), sent(&short, limits));
    let tight = job(&home, terms, "columns = [\"id\"]\n[limits]\nmax_text = 39\n");
    simulate(&home, &tight, [&own, &long]).failed(2, &["line 2", "40 bytes", "limits.max_text is 39"]);
}

/// Two receivers that differ in which of a sender's keys they have get as many bytes, whatever rows and texts those
/// have.
#[test]
fn lengths_do_not_tell_which_keys_are_common() {
    let home = Home::new();
    // Twelve keys, of which the third has three rows, and the texts differ in length.
    let rows = (0..14).map(|row| format!("{:02},{}\n", if row < 3 { 2 } else { row - 2 }, "t".repeat(row)));
    let table = home.file("b.csv", &format!("id,note\n{}", rows.collect::<String>()));
    let terms = job(&home, "reveal_to = [\"a\"]\ngives = { b = [\"note\"] }", "columns = [\"id\"]");
    let sent = |own: &str, theirs: &str| {
        let own = home.file("a.csv", own);
        simulate(&home, &terms, [&own, theirs]).well();
        json(home.at("report.json"))["parties"]["b"]["bytes"]["sent"].as_u64().unwrap()
    };
    let each: BTreeSet<_> =
        [[2, 90], [3, 91], [11, 92]].map(|[one, other]| sent(&format!("id\n{one:02}\n{other}\n"), &table)).into();
    assert_eq!(each.len(), 1);
    // What the longest text and the most rows tell is the next power of two.
    let bytes = |longest: usize, rows: usize| {
        let many = "5,y\n".repeat(rows);
        sent("id\n1\n", &home.file("c.csv", &format!("id,note\n1,{}\n{many}", "x".repeat(longest))))
    };
    assert_eq!(bytes(1, 1), bytes(32, 1));
    assert_eq!(bytes(33, 3), bytes(64, 4));
    assert_ne!(bytes(32, 1), bytes(33, 1));
    assert_ne!(bytes(32, 1), bytes(32, 2));
}

/// Checks that a party's own formulas give no warning: only the peer's cells do.
#[test]
fn only_cells_of_the_peer_are_warned_of() {
    let home = Home::new();
    let own = home.file("a.csv", "id,x\n1,=1+1\n=2,b\n");
    let [plain, formula] =
        [("b.csv", "id,y\n3,c\n"), ("f.csv", "id,y\n3,=c\n")].map(|(name, text)| home.file(name, text));
    let terms = job(&home, "reveal_to = [\"a\"]\ngives = { b = [\"y\"] }", "columns = [\"id\"]");
    assert!(!simulate(&home, &terms, [&own, &plain]).well().stderr.contains("formula"));
    let said = simulate(&home, &terms, [&own, &formula]).well().stderr;
    assert!(said.contains("1 cell of other parties (\"b.y\")"), "{said}");
}

/// Passengers and everybody on the list, who is on both only once.
#[test]
fn passengers_and_the_list() {
    let Some(data) = data("watchlist") else { return };
    let home = Home::new();
    let file = |name: &str| data.join(name).to_str().unwrap().to_owned();
    let tables = [file("passengers.csv"), file("watchlist_ofac_sdn.csv")];
    let key = "columns = [\"name\", \"dob\"]\nnormalize = [\"name\", \"date:DMY\"]";
    let run = |terms: &str| {
        simulate(&home, &job(&home, terms, key), [&tables[0], &tables[1]]).well();
        let report = json(home.at("report.json"));
        ["a", "b"].map(|name| report["parties"][name]["rows"]["items"].as_u64().unwrap())
    };
    let [own, listed] = run("reveal = \"count\"\nreveal_to = [\"a\"]");
    assert_eq!(result(&home, "a"), json!({ "count": own + listed - 120 }));
    run("reveal_to = [\"a\"]\ngives = { b = [\"uid\", \"kind\"] }");
    let rows = rows_of(home.at("out/a.csv"));
    let (theirs, passengers): (Vec<_>, Vec<_>) = rows.iter().partition(|row| row["passenger_id"].is_empty());
    assert!(passengers.iter().all(|row| row["b.uid"].is_empty()));
    // Whoever is on both is there as a passenger, once.
    let key = |row: &&BTreeMap<String, String>| joined_key(&row["name"], &row["dob"]);
    let [listed_only, carried]: [BTreeSet<_>; 2] = [&theirs, &passengers].map(|rows| rows.iter().map(key).collect());
    assert_eq!(listed_only.len() as u64, listed - 120);
    assert_eq!(listed_only.intersection(&carried).count(), 0);
}

#[test]
fn patients_of_two_organisations() {
    let Some(data) = data("medical") else { return };
    let home = Home::new();
    let file = |name: &str| data.join("synthea").join(name).to_str().unwrap().to_owned();
    for (mine, theirs, together, missing) in [
        ("hospital.csv", "insurer.csv", 1_042 + 838 - 756, 838 - 756),
        ("insurer.csv", "hospital.csv", 1_042 + 838 - 756, 1_042 - 756),
        ("fire_department.csv", "insurer.csv", 520 + 838 - 382, 838 - 382),
    ] {
        let key = "columns = [\"name\", \"dob\"]\nnormalize = [\"name\", \"date:DMY\"]";
        let rows = job(&home, "reveal_to = [\"a\"]", key);
        simulate(&home, &rows, [&file(mine), &file(theirs)]).well();
        assert_eq!(result(&home, "a"), json!({ "rows": together }));
        let all = rows_of(home.at("out/a.csv"));
        let empty = all.iter().rev().take_while(|row| {
            row.iter().all(|(name, value)| ["name", "dob"].contains(&name.as_str()) || value.is_empty())
        });
        assert_eq!(empty.count(), missing);
    }
}

#[test]
fn what_it_does_not_do_is_refused() {
    let home = Home::new();
    let table = home.file("t.csv", "id,cost\n1,2\n");
    let (key, a) = ("columns = [\"id\"]", "reveal_to = [\"a\"]");
    let both = "reveal_to = [\"a\", \"b\"]";
    for (terms, key, words) in [
        ("security = \"malicious\"\nreveal_to = [\"a\"]", key, &["malicious", "to lack everything"][..]),
        ("level = \"bits192\"\nreveal_to = [\"a\"]", key, &["bits192", "\"bits128\""]),
        ("reveal = \"payload\"\nreveal_to = [\"a\"]", key, &["payload", "\"rows\", \"count\""]),
        ("reveal = \"count\"\nreveal_to = [\"a\"]\ngives = { b = [\"cost\"] }", key, &["gives", "\"rows\""]),
        ("reveal_to = [\"a\"]\ngives = { a = [\"cost\"] }", key, &["gives", "to a"]),
        ("protocol = \"vole\"\nreveal_to = [\"a\"]", key, &["vole", "\"ecdh\""]),
        (a, "any = [[\"id\"], [\"cost\"]]", &["key.any", "one key"]),
        (a, "columns = [\"id\"]\nduplicates = \"multiset\"", &["multiset", "\"all\" or \"first\""]),
        (both, "columns = [\"id\"]\n[limits]\npad_to = 9", &["pad_to", "both learn"]),
        ("reveal = \"count\"\nreveal_to = [\"a\"]", "columns = [\"id\"]\n[limits]\npad_to = 9", &["pad_to", "count"]),
        ("reveal = \"count\"\nreveal_to = [\"a\"]", "columns = [\"id\"]\n[limits]\nmax_text = 9", &["max_text"]),
        (a, "columns = [\"id\"]\n[limits]\nmax_queries = 9", &["max_queries", "\"intersect\""]),
    ] {
        simulate(&home, &job(&home, terms, key), [&table, &table]).failed(2, words);
    }
    let clash = home.file("clash.csv", "id,b.cost\n1,2\n");
    simulate(&home, &job(&home, "reveal_to = [\"a\"]\ngives = { b = [\"cost\"] }", key), [&clash, &table])
        .failed(2, &["\"b.cost\"", "rename it"]);
    let two = text(job(&home, "reveal_to = [\"a\"]", "columns = [\"p\", \"q\"]"));
    let two = two.replace("[parties.a]", "[parties.a]\ncolumns = { p = \"id\", q = \"id\" }");
    let two = two.replace("[parties.b]", "[parties.b]\ncolumns = { p = \"id\", q = \"cost\" }");
    simulate(&home, &home.file("two.toml", &two), [&table, &table]).failed(2, &["\"id\"", "a column for each"]);
    let many = home.file("many.csv", &format!("id\n{}", "1\n".repeat(300_000)));
    simulate(&home, &job(&home, a, key), [&table, &many])
        .failed(2, &["line 2", "300,000 rows", "duplicates = \"first\""]);
    for limit in ["max_rows", "pad_to"] {
        let tight = job(&home, a, &format!("{key}\n[limits]\n{limit} = 1"));
        let two = home.file("two.csv", "id\n1\n2\n");
        simulate(&home, &tight, [&two, &table]).failed(2, &["2 rows with a key", limit]);
    }
}

#[test]
fn small_counts_are_held_back_and_larger_levels_count() {
    let home = Home::new();
    let [a, b] = [("a.csv", "id\n1\n2\n"), ("b.csv", "id\n2\n3\n")].map(|(name, table)| home.file(name, table));
    for (limit, expected) in [(3, json!({ "count": 3 })), (4, json!({ "below": 4 }))] {
        for level in ["bits128", "bits192", "bits256"] {
            let terms = format!("reveal = \"count\"\nreveal_to = [\"a\"]\nlevel = \"{level}\"");
            let job = job(&home, &terms, &format!("columns = [\"id\"]\n[limits]\nmin_result = {limit}"));
            simulate(&home, &job, [&a, &b]).well();
            assert_eq!(result(&home, "a"), expected);
        }
    }
}

#[test]
fn without_a_job_file() {
    let pair = Pair::new("");
    pair.table(NAMES[0], "id,x\n1,a\n2,b\n");
    pair.table(NAMES[1], "nr,y\n2,c\n3,d\n3,e\n");
    let start = |name: &str, peer: &str, rest: &[&str]| {
        let (identity, input) = (pair.home.at(name), pair.home.at(&format!("{name}.csv")));
        let fixed = ["union", "--identity", &identity, "--input", &input, "--peer", pair.fingerprint(peer)];
        Running::start(&[&fixed[..], rest].concat())
    };
    let out = pair.home.at("all.csv");
    let terms = ["--listen", &pair.address, "--key", "id", "--receiver", "me", "--peer-gives", "y"];
    let listening = start("hospital", "insurer", &[&terms[..], &["--force", "--output", &out]].concat());
    let connect = ["--connect", &pair.address, "--key", "id=nr", "--receiver", "peer", "--gives", "y"];
    start("insurer", "hospital", &connect).end().well();
    let said = listening.end().well();
    assert_eq!(said.stdout, "rows 4\n");
    assert_eq!(text(out), "id,x,dialer.y\n1,a,\n2,b,\n3,,d\n3,,e\n");
    start("hospital", "insurer", &["--listen", &pair.address, "--key", "id"]).end().failed(2, &["--output"]);
}

/// Checks that the planned traffic is the actual traffic, and that the statements beforehand are those afterwards.
#[test]
fn plans_are_kept() {
    let home = Home::new();
    let sets = [table(300, 900, 1), table(250, 900, 2)];
    let files = [home.file("a.csv", &csv("id,note", &sets[0])), home.file("b.csv", &csv("id,note", &sets[1]))];
    let inputs = [format!("a={}", files[0]), format!("b={}", files[1])];
    let inputs = ["--input", &inputs[0], "--input", &inputs[1]];
    for (terms, limits) in [
        ("reveal_to = [\"a\"]\ngives = { b = [\"note\"] }", ""),
        ("reveal_to = [\"a\", \"b\"]", ""),
        ("reveal_to = [\"b\"]", "[limits]\npad_to = 700\nmax_text = 30"),
        ("reveal = \"count\"\nreveal_to = [\"a\", \"b\"]", ""),
    ] {
        let job = job(&home, terms, &format!("columns = [\"id\"]\n{limits}"));
        let planned = tacita(&[&["plan", &job, "--json"], &inputs[..]].concat()).well();
        let planned: Value = serde_json::from_str(&planned.stdout).unwrap();
        let file = home.at("report.json");
        tacita(&[&["simulate", &job, "--report", &file], &inputs[..]].concat()).well();
        let report = json(&file);
        for name in ["a", "b"] {
            let (share, ran) = (&planned["parties"][name], &report["parties"][name]);
            assert_eq!(share["bytes_sent"], ran["bytes"]["sent"], "{terms}: {name}");
            assert_eq!(planned["rounds"], ran["rounds"], "{terms}");
            assert_eq!(share["learned"], ran["learned"], "{terms}: {name}");
        }
    }
}
