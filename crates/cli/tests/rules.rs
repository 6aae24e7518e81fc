//! Association rules by whole processes: baskets in, itemsets and rules out, against what was computed without the program.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::Path;

use common::{
    Ended, Home, NAMES, Pair, Running, convert, data, examples, files, free_port, json, rows_of, tacita, text,
};
use serde_json::{Value, json};

/// Itemsets with counts; rules with the counts of all items, antecedents and consequents.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Truth {
    rows: u64,
    itemsets: BTreeMap<String, u64>,
    rules: BTreeMap<(String, String), [u64; 3]>,
}

/// What a job asks for.
#[derive(Debug, Clone, Copy)]
struct Asked {
    minimum: u64,
    /// The least confidence in percent.
    percent: u64,
    any: bool,
    mixed_only: bool,
    max_len: usize,
}

fn joined<'a>(items: impl IntoIterator<Item = &'a String>) -> String {
    let mut items: Vec<&String> = items.into_iter().collect();
    let number = |item: &str| item.parse::<u64>().ok().filter(|_| item.bytes().all(|byte| byte.is_ascii_digit()));
    items.sort_by_key(|item| match number(item) {
        Some(number) => (0, number, String::new()),
        None => (1, 0, item.to_string()),
    });
    items.into_iter().map(String::as_str).collect::<Vec<_>>().join("|")
}

/// By trying all itemsets that can be.
fn mined(baskets: &[BTreeSet<String>], asked: Asked) -> Truth {
    let count = |set: &BTreeSet<String>| baskets.iter().filter(|basket| set.is_subset(basket)).count() as u64;
    let single: BTreeSet<String> = baskets.iter().flatten().cloned().collect();
    let mut frequent: Vec<(BTreeSet<String>, u64)> = Vec::new();
    let mut last = vec![BTreeSet::new()];
    while !last.is_empty() {
        let longer: BTreeSet<BTreeSet<String>> = last
            .iter()
            .flat_map(|set| {
                single.iter().filter(|item| !set.contains(*item)).map(|item| {
                    let mut set = set.clone();
                    set.insert(item.clone());
                    set
                })
            })
            .collect();
        let counted = longer.into_iter().map(|set| (count(&set), set));
        let kept: Vec<_> =
            counted.filter(|(count, set)| *count >= asked.minimum && set.len() <= asked.max_len).collect();
        last = kept.iter().map(|(_, set)| set.clone()).collect();
        frequent.extend(kept.into_iter().map(|(count, set)| (set, count)));
    }
    let mixed =
        |set: &BTreeSet<String>| set.iter().any(|item| is_first(item)) && !set.iter().all(|item| is_first(item));
    let mut truth = Truth { rows: baskets.len() as u64, ..Truth::default() };
    for (set, all) in frequent.iter().filter(|(set, _)| !asked.mixed_only || mixed(set)) {
        truth.itemsets.insert(joined(set), *all);
        let items: Vec<&String> = set.iter().collect();
        for mask in 1..(1usize << items.len()) - 1 {
            let (to, from): (Vec<(usize, &String)>, Vec<_>) =
                items.iter().copied().enumerate().partition(|(bit, _)| mask >> bit & 1 == 1);
            let part =
                |part: Vec<(usize, &String)>| part.into_iter().map(|(_, item)| item.clone()).collect::<BTreeSet<_>>();
            let (from, to) = (part(from), part(to));
            let (antecedents, consequents) = (count(&from), count(&to));
            if (asked.any || to.len() == 1) && 100 * all >= asked.percent * antecedents {
                truth.rules.insert((joined(&from), joined(&to)), [*all, antecedents, consequents]);
            }
        }
    }
    if asked.mixed_only {
        let parts: BTreeSet<String> = truth.rules.keys().flat_map(|(from, to)| [from.clone(), to.clone()]).collect();
        for (set, count) in frequent.iter().filter(|(set, _)| parts.contains(&joined(set))) {
            truth.itemsets.insert(joined(set), *count);
        }
    }
    truth
}

/// Checks the files of rules and itemsets against the truth.
#[track_caller]
fn check_files(rules: &str, truth: &Truth) {
    let beside = match rules.rsplit_once('.') {
        Some((stem, ending)) => format!("{stem}.itemsets.{ending}"),
        None => panic!("{rules}"),
    };
    let (rules, itemsets) = (cells(rules), cells(&beside));
    let near = |row: &BTreeMap<String, String>, column: &str, value: f64| {
        let found: f64 = row[column].parse().unwrap();
        assert!((found - value).abs() <= 1e-12 * value.abs().max(1.0), "{column}: {found} instead of {value}: {row:?}");
    };
    let n = truth.rows as f64;
    for row in &itemsets {
        assert_eq!(truth.itemsets.get(&row["items"]).map(u64::to_string).as_ref(), Some(&row["count"]), "{row:?}");
        near(row, "support", truth.itemsets[&row["items"]] as f64 / n);
    }
    assert_eq!(itemsets.len(), truth.itemsets.len());
    let key = |row: &BTreeMap<String, String>| (row["antecedents"].clone(), row["consequents"].clone());
    for row in &rules {
        let Some(counts) = truth.rules.get(&key(row)) else { panic!("no rule: {row:?}") };
        let [both, from, to] = counts.map(|count| count as f64);
        near(row, "support", both / n);
        near(row, "confidence", both / from);
        near(row, "lift", both * n / (from * to));
        near(row, "leverage", both / n - from * to / (n * n));
        match counts[0] == counts[1] {
            true => assert!(["inf", "null"].contains(&row["conviction"].as_str()), "{row:?}"),
            false => near(row, "conviction", (1.0 - to / n) / (1.0 - both / from)),
        }
    }
    assert_eq!(rules.len(), truth.rules.len());
    assert_eq!(rules.iter().map(key).collect::<BTreeSet<_>>().len(), rules.len());
}

/// A table's cells as text; JSON's too.
fn cells(path: &str) -> Vec<BTreeMap<String, String>> {
    if !path.ends_with(".json") {
        return rows_of(path);
    }
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let row = |row: &Value| row.as_object().unwrap().iter().map(|(name, value)| (name.clone(), text(value))).collect();
    json(path).as_array().unwrap().iter().map(row).collect()
}

/// A job of `a` and `b`.
fn job(rest: &str) -> String {
    format!("job = \"rules\"\nid = \"test\"\nreveal_to = [\"a\", \"b\"]\n{rest}\n[parties.a]\n[parties.b]\n")
}

/// Simulates a job of `a` and `b` on these files.
fn attempt(home: &Home, job: &str, inputs: [&str; 2], out: &str, more: &[&str]) -> Ended {
    let (job, report) = (home.file("job.toml", job), home.at("report.json"));
    let inputs = [format!("a={}", inputs[0]), format!("b={}", inputs[1])];
    let out = home.at(out);
    let fixed = ["simulate", &job, "--output", &out, "--report", &report, "--input", &inputs[0], "--input", &inputs[1]];
    tacita(&[&fixed, more].concat())
}

/// As [`attempt`], to a good end, and checks both parties' files.
#[track_caller]
fn check(home: &Home, job: &str, inputs: [&str; 2], more: &[&str], truth: &Truth) -> Value {
    let ended = attempt(home, job, inputs, "out", more).well();
    let (itemsets, rules) = (truth.itemsets.len(), truth.rules.len());
    assert_eq!(ended.stdout, format!("itemsets {itemsets}, rules {rules}\n"));
    let report = json(home.at("report.json"));
    let ending = more.iter().skip_while(|word| **word != "--format").nth(1).unwrap_or(&"csv");
    for name in ["a", "b"] {
        assert_eq!(report["parties"][name]["result"], json!({"itemsets": itemsets, "rules": rules}));
        check_files(&home.at(&format!("out/{name}.{ending}")), truth);
    }
    let file = |name: &str| std::fs::read(home.at(&format!("out/{name}.{ending}"))).unwrap();
    assert_eq!(file("a"), file("b"));
    report
}

/// The published truth of a data set at a level.
fn published(data: &Path, set: &str, support: &str, mixed_only: bool) -> Truth {
    let read = |what: &str| -> Vec<BTreeMap<String, String>> {
        let path = data.join(format!("truth/{set}.s{support}.{what}.csv"));
        let text = match path.exists() {
            true => text(path),
            false => {
                let mut text = String::new();
                let packed = std::fs::File::open(format!("{}.gz", path.display())).unwrap();
                flate2::read::MultiGzDecoder::new(packed).read_to_string(&mut text).unwrap();
                text
            }
        };
        csv::Reader::from_reader(text.as_bytes()).deserialize().map(Result::unwrap).collect()
    };
    let summary = json(data.join("truth/summary.json"));
    let level =
        summary.as_array().unwrap().iter().find(|one| one["dataset"] == set && one["minsup"] == support).unwrap();
    let mut truth = Truth { rows: level["transactions"].as_u64().unwrap(), ..Truth::default() };
    let wanted = |row: &&BTreeMap<String, String>| !mixed_only || row["parties2"] == "2";
    for row in read("rules").iter().filter(wanted) {
        let counts = ["count", "antecedent_count", "consequent_count"].map(|column| row[column].parse().unwrap());
        truth.rules.insert((row["antecedent"].clone(), row["consequent"].clone()), counts);
    }
    let parts: BTreeSet<String> = truth.rules.keys().flat_map(|(from, to)| [from.clone(), to.clone()]).collect();
    for row in read("itemsets").iter().filter(|row| wanted(row) || parts.contains(&row["itemset"])) {
        truth.itemsets.insert(row["itemset"].clone(), row["count"].parse().unwrap());
    }
    truth
}

/// Both ways of opening counts, with all rules and with mixed ones.
fn real(set: &str, levels: &[(&str, &str)]) {
    let Some(data) = data("association_rules") else { return };
    let ending = if set == "groceries" { "csv" } else { "csv.gz" };
    let inputs = ["A", "B"].map(|party| data.join(format!("vertical/{set}.2party_{party}.{ending}")));
    let inputs = [inputs[0].to_str().unwrap(), inputs[1].to_str().unwrap()];
    for (support, confidence) in levels {
        for mixed_only in [false, true] {
            let truth = published(&data, set, support, mixed_only);
            for (reveal, protocol) in
                [("frequent", "auto"), ("frequent", "ot"), ("frequent", "lattice"), ("counts", "auto")]
            {
                let job = job(&format!(
                    "min_support = {support}\nmin_confidence = {confidence}\nreveal = \"{reveal}\"\n\
                     mixed_only = {mixed_only}\nprotocol = \"{protocol}\""
                ));
                let home = Home::new();
                let report = check(&home, &job, inputs, &[], &truth);
                let of = |party: &str| report["parties"][party].clone();
                println!(
                    "{set} {support} {reveal} {protocol} mixed_only={mixed_only}: {} s, {} and {} bytes",
                    of("a")["seconds"]["total"],
                    of("a")["bytes"]["sent"],
                    of("b")["bytes"]["sent"]
                );
            }
        }
    }
}

#[test]
fn groceries_are_exact() {
    real("groceries", &[("0.01", "0.5"), ("0.006", "0.25")]);
}

#[test]
fn mushrooms_are_exact() {
    real("mushroom", &[("0.4", "0.9")]);
}

#[test]
#[ignore = "slow"]
fn more_mushrooms_and_retail_are_exact() {
    real("mushroom", &[("0.3", "0.95"), ("0.25", "0.99")]);
    real("retail", &[("0.01", "0.5"), ("0.005", "0.5")]);
}

/// Protocols that run in rules for those who name them.
const PUBLISHED: [&str; 2] = ["paillier", "gm-bloom"];

/// Small baskets in which things go together: of items a1, a2, ... and of numbers.
fn sample(rows: usize) -> Vec<BTreeSet<String>> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut draw = |bound: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % bound
    };
    let mut baskets = Vec::new();
    for _ in 0..rows {
        let mut basket = BTreeSet::new();
        let kind = draw(3);
        for item in 0..5 {
            for name in [format!("a{item}"), format!("{}", 7 + item)] {
                if draw(10) < if item % 3 == kind { 8 } else { 3 } {
                    basket.insert(name);
                }
            }
        }
        baskets.push(if draw(12) == 0 { BTreeSet::new() } else { basket });
    }
    baskets
}

fn is_first(item: &str) -> bool {
    item.starts_with('a')
}

const ASKED: Asked = Asked { minimum: 12, percent: 55, any: false, mixed_only: false, max_len: 9 };

/// The sample's baskets as two tables with ids, those of `b` in another order if they are to be aligned by them.
fn tables(home: &Home, baskets: &[BTreeSet<String>], separator: &str, shuffled: bool) -> [String; 2] {
    ["a", "b"].map(|party| {
        let mut lines: Vec<String> = baskets
            .iter()
            .enumerate()
            .map(|(row, basket)| {
                let held: Vec<&str> =
                    basket.iter().filter(|item| is_first(item) == (party == "a")).map(String::as_str).collect();
                format!("{row},{}\n", held.join(separator))
            })
            .collect();
        if shuffled && party == "b" {
            lines.reverse();
            // Rows that the other party does not have.
            lines.insert(3, format!("x1,7{separator}8\n"));
            lines.push(format!(",9{separator}8\n"));
        }
        home.file(&format!("{party}.csv"), &format!("tid,items\n{}", lines.concat()))
    })
}

#[test]
fn every_kind_of_question_is_answered_exactly() {
    let home = Home::new();
    let baskets = sample(60);
    let [a, b] = tables(&home, &baskets, "|", false);
    for (rest, asked) in [
        ("min_support = 12\nmin_confidence = 0.55", ASKED),
        ("min_support = 0.2\nmin_confidence = \"55%\"\nconsequents = \"any\"", Asked { any: true, ..ASKED }),
        ("min_support = \"20%\"\nmin_confidence = 0.55\nmax_len = 2", Asked { max_len: 2, ..ASKED }),
        ("min_support = 12\nmin_confidence = 0.55\nmax_len = 1", Asked { max_len: 1, ..ASKED }),
        (
            "min_support = 9\nmin_confidence = 0.3\nconsequents = \"any\"\nmixed_only = true",
            Asked { minimum: 9, percent: 30, any: true, mixed_only: true, ..ASKED },
        ),
        ("min_support = 61", Asked { minimum: 61, ..ASKED }),
        ("min_support = 0.151\nmin_confidence = 0", Asked { minimum: 10, percent: 0, ..ASKED }),
        ("min_support = 12\nmin_confidence = 1.0\nextension = \"softspoken-8\"", Asked { percent: 100, ..ASKED }),
    ] {
        let truth = mined(&baskets, asked);
        assert!(asked.minimum > 60 || truth.itemsets.len() > 8, "{truth:?}");
        let protocols = if rest.contains("extension") { &["auto", "ot"][..] } else { &["auto", "lattice"] };
        for (reveal, protocol) in [("frequent", protocols[0]), ("frequent", protocols[1]), ("counts", protocols[1])] {
            let job = job(&format!("{rest}\nreveal = \"{reveal}\"\nprotocol = \"{protocol}\""));
            check(&home, &job, [&a, &b], &[], &truth);
        }
    }
}

/// Protocols that make each count by itself, and open them all, as algorithm 1 of Dong and Chen has it.
#[test]
fn protocols_that_a_job_names_find_the_same() {
    let home = Home::new();
    let baskets = sample(60);
    let [a, b] = tables(&home, &baskets, "|", false);
    for protocol in PUBLISHED {
        for (rest, asked) in [
            ("min_support = 12\nmin_confidence = 0.55", ASKED),
            (
                "min_support = 15\nmin_confidence = 0.3\nconsequents = \"any\"\nmixed_only = true",
                Asked { minimum: 15, percent: 30, any: true, mixed_only: true, ..ASKED },
            ),
        ] {
            let truth = mined(&baskets, asked);
            let named = format!("reveal = \"counts\"\nprotocol = \"{protocol}\"\nlevel = \"paper80\"");
            let report = check(&home, &job(&format!("{rest}\n{named}")), [&a, &b], &["--allow-insecure"], &truth);
            for party in ["a", "b"] {
                let levels = report["parties"][party]["levels"].as_array().unwrap();
                assert!(levels.len() > 1 && levels.iter().all(|level| level["protocol"] == protocol), "{levels:?}");
                assert_eq!(report["parties"][party]["choice"], protocol);
            }
        }
        let ended = attempt(&home, &job(&format!("min_support = 12\nprotocol = \"{protocol}\"")), [&a, &b], "out", &[]);
        ended.failed(2, &["reveal = \"frequent\" those of frequent ones alone: use protocol = \"ot\" or \"lattice\""]);
    }
}

/// Said by the party whose item it is, before anything is counted. The bound is a part of the terms.
#[test]
fn an_item_in_more_rows_than_the_density_allows_is_refused() {
    let home = Home::new();
    let baskets = sample(60);
    let [a, b] = tables(&home, &baskets, "|", false);
    let count = |item: &String| baskets.iter().filter(|basket| basket.contains(item)).count();
    let most = baskets.iter().flatten().map(count).max().unwrap();
    let named = |density: String, rest: &str| {
        let terms = "min_support = 20\nmin_confidence = 0.55\nlevel = \"paper80\"\nprotocol = \"gm-bloom\"";
        job(&format!("{terms}\n{rest}\ndensity = \"{density}\""))
    };
    let density = |rows: usize| format!("{}e-4", rows * 10_000 / 60);
    let truth = mined(&baskets, Asked { minimum: 20, ..ASKED });
    let good = named(density(most), "reveal = \"counts\"");
    let report = check(&home, &good, [&a, &b], &["--allow-insecure"], &truth);
    assert!(report["parties"]["a"]["learned"].to_string().contains("the agreed density"), "{report}");
    let bad = named(density(most - 1), "reveal = \"counts\"");
    let ended = attempt(&home, &bad, [&a, &b], "bad", &["--allow-insecure"]);
    ended.failed(2, &[&format!("in {most} of 60 rows"), &format!("allows {}", most - 1), "higher density"]);
    assert!(!Path::new(&home.at("bad/a.csv")).exists());
    let other = job("min_support = 20\nprotocol = \"paillier\"\nreveal = \"counts\"\ndensity = 0.5");
    attempt(&home, &other, [&a, &b], "bad", &[]).failed(2, &["density", "gm-bloom"]);
    attempt(&home, &named("1".into(), "reveal = \"frequent\""), [&a, &b], "bad", &["--allow-insecure"])
        .failed(2, &["gm-bloom", "reveal = \"counts\""]);
}

/// The report says what each level took; only what was chosen for all of them, or what is cheaper, makes products.
#[test]
fn levels_are_reported() {
    let home = Home::new();
    let [a, b] = tables(&home, &sample(60), "|", false);
    for (protocol, choice) in [("ot", "ot softspoken-"), ("lattice", "lattice"), ("auto", "lattice or ot softspoken-")]
    {
        let job = job(&format!("min_support = 6\nprotocol = \"{protocol}\""));
        attempt(&home, &job, [&a, &b], "out", &[]).well();
        let report = json(home.at("report.json"));
        let (of_a, of_b) = (&report["parties"]["a"], &report["parties"]["b"]);
        assert!(of_a["choice"].as_str().unwrap().starts_with(choice), "{of_a}");
        assert_eq!(choice == "lattice", of_a["choice"] == "lattice");
        let levels = of_a["levels"].as_array().unwrap();
        assert!(levels.len() >= 2, "{of_a}");
        let mut sums = [0, 0];
        for (index, (level, theirs)) in levels.iter().zip(of_b["levels"].as_array().unwrap()).enumerate() {
            assert_eq!(level["length"], index + 2);
            assert_eq!([&level["products"], &level["protocol"]], [&theirs["products"], &theirs["protocol"]]);
            assert!(protocol == "auto" || level["protocol"] == protocol, "{level}");
            assert!(level["products"].as_u64().unwrap() > 0 && level["seconds"].as_f64().unwrap() >= 0.0);
            assert!(level["sent"].as_u64().unwrap() > 0 && level["received"].as_u64().unwrap() > 0);
            sums[0] += level["sent"].as_u64().unwrap();
            sums[1] += level["received"].as_u64().unwrap();
        }
        let all = ["sent", "received"].map(|way| of_a["bytes"][way].as_u64().unwrap());
        assert!(sums[0] < all[0] && sums[1] < all[1], "{sums:?} of {all:?}");
        assert!(protocol == "auto" || of_a["protocol"] == protocol, "{of_a}");
    }
}

#[test]
fn every_form_of_input_and_output() {
    let baskets = sample(60);
    let truth = mined(&baskets, ASKED);
    let thresholds = "min_support = 12\nmin_confidence = 0.55";
    let home = Home::new();
    let [a, b] = tables(&home, &baskets, "|", false);
    for format in ["csv", "parquet", "arrow", "json"] {
        let report = check(&home, &job(thresholds), [&a, &b], &["--format", format], &truth);
        assert_eq!(files(&home.at("out")).len() % 4, 0);
        assert_eq!(
            report["parties"]["a"]["rows"],
            json!({"read": 60, "nulls": 0, "unreadable": 0, "duplicates": 0, "items": 60})
        );
    }
    let packed = home.at("b.parquet");
    convert(Path::new(&b), &packed);
    check(&home, &job(thresholds), [&a, &packed], &[], &truth);

    // Lines of items, packed or not.
    let line = |first: bool| -> String {
        let line = |basket: &BTreeSet<String>| {
            basket.iter().filter(|item| is_first(item) == first).cloned().collect::<Vec<_>>().join(" ") + "\n"
        };
        baskets.iter().map(line).collect()
    };
    let (dat, packed) = (home.file("a.dat", &line(true)), home.at("b.dat.gz"));
    let mut gz = flate2::write::GzEncoder::new(std::fs::File::create(&packed).unwrap(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gz, line(false).as_bytes()).unwrap();
    gz.finish().unwrap();
    check(&home, &job(thresholds), [&dat, &packed], &[], &truth);

    // A column an item, under other headers; all columns of a table; another separator.
    let column = |names: &[&str], headers: &str| -> String {
        let cell = |basket: &BTreeSet<String>, name: &&str| if basket.contains(*name) { "1" } else { "0" };
        let line = |basket: &BTreeSet<String>| {
            names.iter().map(|name| cell(basket, name)).collect::<Vec<_>>().join(",") + "\n"
        };
        format!("{headers}\n{}", baskets.iter().map(line).collect::<String>())
    };
    let wide_a = home.file("wide.csv", &column(&["a0", "a1", "a2", "a3", "a4"], "a0,one,a2,a3,a4"));
    let wide_b = home.file("all.csv", &column(&["7", "8", "9", "10", "11"], "7,8,9,10,11"));
    let text = format!(
        "job = \"rules\"\nid = \"test\"\nreveal_to = [\"b\", \"a\"]\n{thresholds}\nitems = \"*\"\n[parties.a]\n\
         items = [\"a0\", \"a1\", \"a2\", \"a3\", \"a4\"]\ncolumns = {{ a1 = \"one\" }}\n[parties.b]\n"
    );
    check(&home, &text, [&wide_a, &wide_b], &[], &truth);
    let [a, b] = tables(&home, &baskets, " & ", false);
    let items = "items = { column = \"bought\", separator = \"&\" }";
    let text = format!("{}columns = {{ bought = \"items\" }}\n", job(&format!("{thresholds}\n{items}")))
        .replace("[parties.a]\n", "[parties.a]\ncolumns = { bought = \"items\" }\n");
    check(&home, &text, [&a, &b], &[], &truth);
    let json = "{\"job\":\"rules\",\"id\":\"test\",\"reveal_to\":[\"a\",\"b\"],\"min_support\":0.2,\"min_confidence\":0.550000000000000000,\
         \"items\":{\"separator\":\"&\"},\"parties\":{\"a\":{},\"b\":{}}}";
    check(&home, json, [&a, &b], &[], &truth);
}

#[test]
fn rows_are_aligned_by_ids() {
    let home = Home::new();
    let baskets = sample(60);
    let truth = mined(&baskets, ASKED);
    let [a, b] = tables(&home, &baskets, "|", true);
    let thresholds = "min_support = 0.2\nmin_confidence = 0.55\nrow_id = \"tid\"";
    let report = check(&home, &job(thresholds), [&a, &b], &[], &truth);
    let of_b = &report["parties"]["b"];
    assert_eq!(of_b["rows"], json!({"read": 62, "nulls": 1, "unreadable": 0, "duplicates": 0, "items": 61}));
    assert!(of_b["choice"].as_str().unwrap().contains(" after "), "{of_b}");
    assert!(of_b["learned"].to_string().contains("has too (60)"), "{of_b}");
    // With ids that are written in two ways, and all other columns as items.
    let upper = |path: &str| text(path).replace("tid,", "ID,").replace('\n', " \n");
    let text = format!(
        "{}columns = {{ tid = \"ID\" }}\n",
        job(&format!("{thresholds}\n[key]\ncolumns = [\"tid\"]\nnormalize = [\"integer\"]"))
    );
    let other = home.file("upper.csv", &upper(&b).replacen(" \n", "\n", 1));
    check(&home, &text, [&a, &other], &[], &truth);
    let twice = home.file("twice.csv", "tid,items\n1,7\n1,8\n");
    attempt(&home, &job(thresholds), [&a, &twice], "no", &[]).failed(2, &["twice.csv", "same key"]);
    let dat = home.file("b.dat", "7 8\n");
    attempt(&home, &job(thresholds), [&a, &dat], "no", &[]).failed(2, &["b.dat", "row_id"]);
}

/// Who brings one id and no item would learn all that the other has in that row, if a part of the rows is enough.
#[test]
fn a_part_of_few_common_rows_is_warned_of_and_can_be_refused() {
    let shop = "tid,items\n1,bread|tea|wine\n2,bread\n3,tea\n4,bread|tea\n";
    let bait = "tid,items\n1,\n77,x\n";
    let part = "min_support = \"30%\"\nrow_id = \"tid\"";
    for ended in errors(&format!("{part}\nlimits = {{ min_rows = 2 }}"), [shop, bait], &[]) {
        let line = ended.failed(2, &["1 row in common", "limits.min_rows is 2", "nothing was counted"]);
        assert!(!line.contains("stopped") && !ended.stderr.contains("warning"), "{}", ended.stderr);
    }
    // As before without the limit, with a warning; none where a number of rows is asked for.
    let home = Home::new();
    let inputs = [home.file("a.csv", shop), home.file("b.csv", bait)];
    let inputs = [inputs[0].as_str(), inputs[1].as_str()];
    let ended = attempt(&home, &job(part), inputs, "out", &[]).well();
    assert!(ended.stderr.contains("warning: b: min_support is a part of the rows that both have"), "{}", ended.stderr);
    let learned = json(home.at("report.json"))["parties"]["b"]["learned"].to_string();
    assert!(learned.contains("at least 0.3 of the rows that both have") && !learned.contains("all rows"), "{learned}");
    assert!(learned.contains("it would learn all that a has in it"), "{learned}");
    let rows = "min_support = 2\nrow_id = \"tid\"\nlimits = { min_rows = 1 }";
    let ended = attempt(&home, &job(rows), inputs, "out", &[]).well();
    assert!(!ended.stderr.contains("a part of the rows"), "{}", ended.stderr);
    let learned = json(home.at("report.json"))["parties"]["b"]["learned"].to_string();
    assert!(learned.contains("fewer than 1 row in common, the run ends"), "{learned}");
    let planned = tacita(&["plan", &home.file("job.toml", &job(part)), "--rows", "a=90", "--rows", "b=90"]).well();
    assert!(planned.stdout.contains("in fewer, if they have fewer"), "{}", planned.stdout);
    let odd = job("min_support = 2\nlimits = { min_rows = 3, max_rows = 2 }");
    attempt(&home, &odd, inputs, "no", &[]).failed(2, &["min_rows = 3", "max_rows = 2"]);
}

/// `mixed_only` withholds the other's itemsets, but not from who brings an item that all rows hold; and counts of two items that
/// differ in one row tell of that row.
#[test]
fn an_item_in_all_rows_or_two_that_differ_in_one_tell_what_the_sentences_say() {
    let home = Home::new();
    let a = home.file("a.csv", "items\nbread|tea\nbread\nbread|tea\nwine\n");
    let b = home.file("b.csv", "items\nall|but\nall|but\nall\nall|but\n");
    attempt(&home, &job("min_support = 2\nmixed_only = true"), [&a, &b], "out", &[]).well();
    let rows = rows_of(home.at("out/b.itemsets.csv"));
    let count = |items: &str| rows.iter().find(|row| row["items"] == items).map(|row| row["count"].clone());
    assert_eq!(count("all|bread|tea").as_deref(), Some("2"), "bread and tea are a's alone: {rows:?}");
    // The third row holds bread.
    assert_eq!((count("all|bread").as_deref(), count("bread|but").as_deref()), (Some("3"), Some("2")));
    let learned = json(home.at("report.json"))["parties"]["b"]["learned"].to_string();
    for words in [
        "If all rows hold some item of b's, that is all of a's frequent itemsets",
        "two items of b's that differ in one row",
    ] {
        assert!(learned.contains(words), "{learned}");
    }
}

#[test]
fn what_looks_like_a_slip_is_warned_of() {
    let home = Home::new();
    let commas = home.file("a.csv", "items\n\"bread,tea\"\n\"tea,wine\"\nbread\n");
    let bars = home.file("b.csv", "items\nx|y\ny\n\"x,y\"\n");
    let ended = attempt(&home, &job("min_support = 1\nbins = { zzz = 4 }"), [&commas, &bars], "out", &[]).well();
    for words in
        ["a: ", "a.csv", "no basket has more than one item, and names hold `,`", "bins.zzz: no item column of b"]
    {
        assert!(ended.stderr.contains(words), "{}", ended.stderr);
    }
    assert!(!ended.stderr.contains("b.csv, column"), "{}", ended.stderr);
    let refused = tacita(&["rules", "--items", "x", "--separator", ","]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("--separator") && refused.stderr.contains("--items"), "{}", refused.stderr);
}

#[test]
fn nobody_poses_as_the_other_party() {
    let home = Home::new();
    let a = home.file("a.csv", "items\nb.cheese\nb.cheese\n");
    let b = home.file("b.csv", "items\nrum\nrum\n");
    attempt(&home, &job("min_support = 2"), [&a, &b], "out", &[]).well();
    let names: Vec<String> = rows_of(home.at("out/b.itemsets.csv")).iter().map(|row| row["items"].clone()).collect();
    assert_eq!(names, ["a.b.cheese", "b.rum", "a.b.cheese|b.rum"]);
    let turned = home.file("turned.csv", "items\nx\nx\u{202e}y\n");
    attempt(&home, &job("min_support = 1"), [&turned, &b], "no", &[]).failed(2, &["turned.csv, line 3", "direction"]);
}

#[test]
fn items_of_one_name_keep_their_owners() {
    let home = Home::new();
    let a = home.file("a.csv", "items\nmilk|tea\nmilk\nmilk|tea\n");
    let b = home.file("b.csv", "items\nmilk|rum\nrum\nmilk|rum\n");
    attempt(&home, &job("min_support = 2\nmin_confidence = 0.9"), [&a, &b], "out", &[]).well();
    let rows = rows_of(home.at("out/a.itemsets.csv"));
    let names: Vec<&str> = rows.iter().map(|row| row["items"].as_str()).collect();
    assert_eq!(&names[..4], ["a.milk", "rum", "b.milk", "tea"]);
    assert!(names.contains(&"a.milk|b.milk|rum|tea") && rows[0]["count"] == "3");
}

#[test]
fn categories_and_bins() {
    let home = Home::new();
    let ages = [17, 18, 30, 40, 66, 70, 19, 20];
    let kinds = ["red", "red", "", "blue", "blue", "red", "red", "red"];
    let lines: String = ages.iter().zip(kinds).map(|(age, kind)| format!("{age},{kind},true\n")).collect();
    let a = home.file("a.csv", &format!("age,kind,member\n{lines}"));
    let b = home.file("b.csv", "items\nx\nx\n\"\"\nx\nx\nx\nx\nx\n");
    let job = job("min_support = 2\nbins = { age = [18, 65] }\n").replace("[parties.a]", "[parties.a]\nitems = \"*\"");
    attempt(&home, &job, [&a, &b], "out", &["--format", "json"]).well();
    let rows = cells(&home.at("out/b.itemsets.json"));
    let count = |items: &str| rows.iter().find(|row| row["items"] == items).map(|row| row["count"].clone());
    for (items, expected) in [
        ("member", Some("8")),
        ("x", Some("7")),
        ("age=[18,65)", Some("5")),
        ("age>=65", Some("2")),
        ("age<18", None),
        ("kind=blue", Some("2")),
        ("kind=red|member|x", Some("5")),
        ("age=[18,65)|kind=red|member|x", Some("3")),
    ] {
        assert_eq!(count(items).as_deref(), expected, "{items}");
    }
    // What never fails has no bound: null, because JSON has no infinity.
    assert!(cells(&home.at("out/b.json")).iter().any(|row| row["conviction"] == "null"));
}

/// The bounds of a bin are numbers of single rows. `b` has few of `a`'s rows, and would learn numbers of the others.
#[test]
fn bins_of_equal_size_show_no_number_of_a_single_row() {
    let salary = |row: u32| 30_011 + 37 * row;
    let home = Home::new();
    // In twelve of the rows that both have the salary is the same, and in the middle.
    let same = |row: u32| row % 50 == 7;
    let of = |row: u32| if same(row) { salary(500) } else { salary(row) };
    let lines: String = (0..1000).map(|row| format!("{row},{},{}\n", of(row), row % 3)).collect();
    let a = home.file("a.csv", &format!("id,salary,kind\n{lines}"));
    let mine = |row: &u32| (200..800).contains(row) && row % 2 == 1;
    let mut rows: Vec<u32> = (0..1000).filter(mine).collect();
    rows.extend(5000..5100);
    let b =
        home.file("b.csv", &format!("id,items\n{}", rows.iter().map(|row| format!("{row},x\n")).collect::<String>()));
    let by_id = job("min_support = 12\nrow_id = \"id\"\nbins = { salary = 20 }\n")
        .replace("[parties.a]", "[parties.a]\nitems = [\"salary\"]");
    // The same rows in the same order, and nothing to align.
    let by_position = by_id.replace("row_id = \"id\"\n", "");
    let common: String = (0..1000).filter(mine).map(|row| format!("{},x\n", of(row))).collect();
    let both = [
        home.file("a-common.csv", &format!("salary,items\n{common}")),
        home.file("b-common.csv", &format!("salary,items\n{common}")),
    ];

    let mut seen = Vec::new();
    for (job, inputs, rows) in
        [(&by_id, [&a, &b], "the rows that both have"), (&by_position, [&both[0], &both[1]], "all rows")]
    {
        attempt(&home, job, inputs.map(String::as_str), "out", &[]).well();
        let itemsets = rows_of(home.at("out/b.itemsets.csv"));
        let names: BTreeSet<String> =
            itemsets.iter().flat_map(|row| row["items"].split('|').map(str::to_owned).collect::<Vec<_>>()).collect();
        let once = (0..1000).filter(|row| !same(*row) && *row != 500).map(|row| salary(row).to_string());
        for number in once {
            assert!(names.iter().all(|name| !name.contains(&number)), "{number} is one row's: {names:?}");
        }
        let bins: Vec<&String> = names.iter().filter(|name| name.starts_with("salary")).collect();
        assert!(bins.contains(&&"salary=bin 01 of 20".to_owned()) && bins.len() > 15, "{bins:?}");
        let counts = itemsets.iter().filter(|row| row["items"].starts_with("salary") && !row["items"].contains('|'));
        assert_eq!(
            counts.map(|row| row["count"].parse::<u32>().unwrap()).sum::<u32>(),
            291,
            "nine are in a bin of fewer than 12"
        );
        let learned = json(home.at("report.json"))["parties"]["b"]["learned"].to_string();
        assert!(learned.contains(rows) && learned.contains("at least 12 rows hold exactly that number"), "{learned}");
        seen.push(itemsets);
    }
    assert_eq!(seen[0], seen[1]);
    // What twelve rows have is shown, as an item of its own would be.
    let few = by_id.replace("salary = 20", "salary = 2");
    attempt(&home, &few, [&a, &b], "out", &[]).well();
    let names: Vec<String> = rows_of(home.at("out/b.itemsets.csv")).iter().map(|row| row["items"].clone()).collect();
    assert_eq!(names, ["x", "salary>=48511", "salary<48511", "salary>=48511|x", "salary<48511|x"]);

    // A part of the common rows is one row if `b` brings few, and every bound then a number that enough rows hold.
    let ten =
        home.file("ten.csv", &format!("id,items\n{}", (10..20).map(|row| format!("{row},x\n")).collect::<String>()));
    let part = by_id.replace("min_support = 12", "min_support = 0.05").replace("salary = 20", "salary = 10");
    let names = |job: &str| -> Vec<String> {
        attempt(&home, job, [&a, &ten], "out", &[]).well();
        rows_of(home.at("out/b.itemsets.csv")).iter().map(|row| row["items"].clone()).collect()
    };
    let ranks = names(&part);
    let shows = |name: &String| (10..20).any(|row| name.contains(&salary(row).to_string()));
    assert!(ranks.contains(&"salary=bin 05 of 10".to_owned()) && !ranks.iter().any(shows), "{ranks:?}");
    let learned = json(home.at("report.json"))["parties"]["b"]["learned"].to_string();
    assert!(learned.contains("have ranks and no bounds"), "{learned}");
    // Who agrees to as few as ten has agreed to what they show.
    let agreed = format!("{}[limits]\nmin_rows = 10\n", part);
    assert!(names(&agreed).contains(&format!("salary=[{},{})", salary(14), salary(15))));
}

#[test]
fn an_explosion_ends_with_its_numbers_and_a_suggestion() {
    let home = Home::new();
    let baskets = sample(60);
    let [a, b] = tables(&home, &baskets, "|", false);
    for (limit, words) in [
        (24, ["25 mixed candidates of 2 items", "max_candidates is 24", "higher min_support"]),
        (4, ["5 own items are frequent", "max_candidates is 4", "higher max_candidates"]),
    ] {
        let job = job(&format!("min_support = 1\nmax_candidates = {limit}"));
        attempt(&home, &job, [&a, &b], "no", &[]).failed(2, &words);
        assert_eq!(files(&home.at("no")), [""; 0]);
    }
    attempt(&home, &job("min_support = 1"), [&a, &b], "no", &["--memory", "100MiB"]).failed(2, &["memory"]);
}

/// The two parties' errors: of a job with these lines, on these tables.
fn errors(lines: &str, tables: [&str; 2], more: &[&str]) -> [Ended; 2] {
    let pair = Pair::new(&format!("job = \"rules\"\nid = \"test\"\nreveal_to = [\"hospital\", \"insurer\"]\n{lines}"));
    NAMES.iter().zip(tables).for_each(|(name, table)| pair.table(name, table));
    let ended = NAMES.map(|name| pair.start(name, more)).map(Running::end);
    for name in NAMES {
        assert!(!files(&pair.home.at(&format!("{name}.out"))).iter().any(|file| file.contains("rows")));
    }
    ended
}

/// Fourteen items that are in every row make 4.8 million rules.
#[test]
fn too_many_rules_end_the_run_at_both_parties() {
    let baskets = |letter: &str| {
        let basket: Vec<String> = (0..7).map(|item| format!("{letter}{item}")).collect();
        format!("items\n{}", format!("{}\n", basket.join("|")).repeat(20))
    };
    let tables = [baskets("a"), baskets("b")];
    let tables = [tables[0].as_str(), tables[1].as_str()];
    for mixed_only in [false, true] {
        let lines = format!("min_support = 2\nconsequents = \"any\"\nmixed_only = {mixed_only}");
        for ended in errors(&lines, tables, &[]) {
            ended.failed(2, &["more than 250000 rules", "max_rules is 250000", "higher min_confidence", "\"single\""]);
        }
        for ended in errors(&format!("{lines}\nmax_rules = 10\nmax_len = 3"), tables, &[]) {
            ended.failed(2, &["more than 10 rules", "max_rules is 10", "lower max_len"]);
        }
    }
    for ended in errors("min_support = 2\nmax_candidates = 6\nmax_len = 1", tables, &[]) {
        ended.failed(2, &["7 own items are frequent", "max_candidates is 6"]);
    }
    // So many rules are allowed for.
    let home = Home::new();
    let inputs = [home.file("a.csv", tables[0]), home.file("b.csv", tables[1])];
    let many = job("min_support = 2\nmax_rules = 100_000_000");
    attempt(&home, &many, [&inputs[0], &inputs[1]], "no", &["--memory", "8GiB"])
        .failed(2, &["GB of memory", "--memory allows 8.6 GB"]);
}

/// A customer's number in each basket: as bit sets, all of them would take gigabytes.
#[test]
fn many_items_take_no_memory_before_they_are_counted() {
    let rows = 60_000;
    let wide: String = (0..rows).map(|row| format!("customer {row}|all\n")).collect();
    let tables = [format!("items\n{wide}"), format!("items\n{}", "x\n".repeat(rows))];
    let tables = [tables[0].as_str(), tables[1].as_str()];
    let [one, other] = errors("min_support = 1\nmax_candidates = 50_000", tables, &[]);
    one.failed(2, &["60001 own items are frequent", "max_candidates is 50000", "higher min_support"]);
    other.failed(2, &["more than 50000 items of hospital are frequent", "max_candidates is 50000"]);
    let [one, other] = errors("min_support = 1", tables, &["--memory", "1000MB"]);
    one.failed(2, &["60,001 items of this party are in at least 1 row", "450 MB", "--memory allows 1.0 GB"]);
    assert_eq!(other.code, 3, "{}", other.stderr);
    // Rare ones cost nothing.
    let home = Home::new();
    let inputs = [home.file("a.csv", tables[0]), home.file("b.csv", tables[1])];
    let job = job("min_support = 2");
    attempt(&home, &job, [&inputs[0], &inputs[1]], "out", &["--memory", "1000MB"]).well();
    let peak = json(home.at("report.json"))["parties"]["a"]["peak_memory"].as_u64().unwrap();
    assert!(peak < 200 << 20, "{peak}");
}

#[test]
fn jobs_that_make_no_sense_are_refused_with_what_would() {
    let home = Home::new();
    let a = home.file("a.csv", "items\nx\n");
    let support = "min_support = 2";
    for (rest, words) in [
        ("", ["min_support", "missing"]),
        ("min_support = 1.0", ["min_support = 1.0", "one row, or all of them"]),
        ("min_support = 1.5", ["min_support = 1.5", "0.01"]),
        ("min_support = 0", ["min_support = 0", "rows"]),
        ("min_support = \"a few\"", ["a few", "1%"]),
        ("min_support = [1]", ["line 4", "a number"]),
        (&format!("{support}\nmin_confidence = 2"), ["min_confidence = 2", "0 to 1"]),
        (&format!("{support}\nmax_len = 0"), ["max_len = 0", "1 or more"]),
        (&format!("{support}\nmax_candidates = 0"), ["max_candidates", "1 to"]),
        (&format!("{support}\nmax_rules = 0"), ["max_rules", "1 to"]),
        (&format!("{support}\nconsequents = \"many\""), ["many", "\"any\""]),
        (&format!("{support}\nitems = \"bought\""), ["items", "a list of columns"]),
        (&format!("{support}\nitems = []"), ["items", "\"*\""]),
        (&format!("{support}\nitems = [\"x\", \"x\"]"), ["items", "twice"]),
        (&format!("{support}\nitems = {{ column = \"x\", separator = \"\" }}"), ["separator", "empty"]),
        (&format!("{support}\nitems = [\"x\"]\nrow_id = \"x\""), ["items", "row_id"]),
        (&format!("{support}\nbins = {{ x = 1 }}"), ["bins.x", "ascending"]),
        (&format!("{support}\nbins = {{ x = [2, 1] }}"), ["bins.x", "ascending"]),
        (&format!("{support}\nsecurity = \"malicious\""), ["malicious", "semi-honest"]),
        (&format!("{support}\nprotocol = \"ecdh\""), ["\"ecdh\"", "\"ot\""]),
        (
            &format!("{support}\nprotocol = \"lattice\"\nextension = \"softspoken-4\""),
            ["extension", "no oblivious transfers"],
        ),
        (&format!("{support}\nreveal = \"value\""), ["\"value\"", "\"frequent\""]),
        (&format!("{support}\nextension = \"silent\""), ["silent", "softspoken-8"]),
        (&format!("{support}\nlimits = {{ min_result = 5 }}"), ["min_result", "\"dot\""]),
        (&format!("{support}\nlimits = {{ pad_to = 5 }}"), ["pad_to", "position"]),
        (&format!("{support}\nbits = 2"), ["bits", "\"dot\""]),
        (&format!("{support}\ngives = {{ a = [\"x\"] }}"), ["gives", "\"intersect\""]),
    ] {
        let ended = attempt(&home, &job(rest), [&a, &a], "no", &[]);
        assert_eq!(ended.code, 2, "{rest}");
        ended.failed(2, &words);
    }
    let one = job(support).replace("[\"a\", \"b\"]", "[\"a\"]");
    attempt(&home, &one, [&a, &a], "no", &[]).failed(2, &["reveal_to", "name both"]);
    let mapped = format!("{}columns = {{ y = \"z\" }}\n", job(support));
    attempt(&home, &mapped, [&a, &a], "no", &[]).failed(2, &["parties.b.columns", "in items"]);
    let other = "job = \"dot\"\nid = \"t\"\nreveal_to = [\"a\"]\nmin_support = 2\n[parties.a]\n[parties.b]\n";
    attempt(&home, other, [&a, &a], "no", &[]).failed(2, &["min_support", "\"rules\""]);
}

#[test]
fn bad_baskets_end_in_one_line_that_says_where() {
    let home = Home::new();
    let good = home.file("good.csv", "items\nx\nx\nx\n");
    let run =
        |rest: &str, bad: &str| attempt(&home, &job(&format!("min_support = 1\n{rest}")), [&good, bad], "no", &[]);
    run("", &home.file("short.csv", "items\nx\nx\n")).failed(5, &["3", "2", "row_id"]);
    run("", &home.file("none.csv", "basket\nx\nx\nx\n")).failed(2, &["no column \"items\"", "basket"]);
    run("", &home.file("blank.csv", "items\nx\n\nx\nx\n")).failed(2, &["blank.csv", "line 3", "empty basket"]);
    run("items = { separator = \",\" }", &home.file("bar.csv", "items\nx\n\"a,b|c\"\nx\n"))
        .failed(2, &["bar.csv", "line 3", "\"items\"", "`|`"]);
    run("", &home.file("long.csv", &format!("items\nx\nx\n{}\n", "y".repeat(2000)))).failed(2, &["line 4", "1024"]);
    run("", &home.file("bad.dat", "1\n2\n3|4\n")).failed(2, &["bad.dat", "line 3", "`|`"]);
    run("", &home.directory("directory.dat")).failed(2, &["directory.dat", "directory"]);
    run("limits = { max_rows = 2 }", &good).failed(2, &["3 rows, and limits.max_rows"]);
    let many: String = (0..30).map(|number| format!("{number}\n")).collect();
    let numbers = home.file("numbers.csv", &format!("n\n{many}"));
    run("items = \"*\"", &numbers).failed(2, &["numbers.csv", "30 different numbers", "bins"]);
    let empty = home.file("empty.csv", "items\n");
    let ended = attempt(&home, &job("min_support = 1"), [&empty, &empty], "out", &[]).well();
    assert_eq!(ended.stdout, "itemsets 0, rules 0\n");
    assert_eq!(text(home.at("out/a.itemsets.csv")), "items,count,support\n");
    run("", &home.file("dat.csv", "1 2 3\n2\n3 1\n2\n")).failed(2, &["no column \"items\"", ".dat"]);
    let inputs = [format!("a={good}"), format!("b={good}")];
    let file = home.file("job.toml", &job("min_support = 1"));
    tacita(&["simulate", &file, "--input", &inputs[0], "--input", &inputs[1], "--output", "-"])
        .failed(2, &["--output -", "name a directory"]);
    // Results do not replace inputs, itemsets either.
    let beside = home.file("out/b.itemsets.csv", "items\nx\n");
    attempt(&home, &job("min_support = 1"), [&beside, &beside], "out", &[]).failed(2, &["b.itemsets.csv", "an output"]);
}

const TERMS: &str = "job = \"rules\"\nid = \"test\"\nreveal_to = [\"hospital\", \"insurer\"]\nmin_support = 0.5\nmin_confidence = 0.6\n";

#[test]
fn two_parties_run_a_job() {
    let pair = Pair::new(TERMS);
    pair.table("hospital", "items\nx|y\nx\nx|y\ny\n");
    pair.table("insurer", "items\np\np|q\np\nq\n");
    let running = NAMES.map(|name| pair.start(name, &[]));
    for ended in running.map(|party| party.end().well()) {
        assert_eq!(ended.stdout, "itemsets 8, rules 9\n");
    }
    for name in NAMES {
        assert_eq!(
            text(pair.out(name, "rows.itemsets.csv")),
            "items,count,support\np,3,0.75\nx,3,0.75\ny,3,0.75\nq,2,0.5\np|x,3,0.75\np|y,2,0.5\nx|y,2,0.5\np|x|y,2,0.5\n"
        );
        assert_eq!(json(pair.out(name, "report.json"))["result"], json!({"itemsets": 8, "rules": 9}));
    }
}

#[test]
fn thresholds_are_compared_as_numbers_and_differences_are_named() {
    let run = |theirs: &str| {
        let pair = Pair::new(TERMS);
        pair.home.file("insurer.toml", &pair.job(&TERMS.replace("0.5", theirs)));
        NAMES.iter().for_each(|name| pair.table(name, &format!("items\n{name}\n\"\"\n")));
        NAMES.map(|name| pair.start(name, &[])).map(Running::end)
    };
    run("\"50%\"").into_iter().for_each(|ended| drop(ended.well()));
    for ended in run("0.51") {
        ended.failed(5, &["min_support", "0.5", "0.51"]);
    }
}

#[test]
fn files_that_cannot_be_written_leave_nothing_and_the_numbers_are_printed() {
    let pair = Pair::new(TERMS);
    NAMES.iter().for_each(|name| pair.table(name, &format!("items\n{name}\n\"\"\n")));
    std::os::unix::fs::symlink("/dev/full", pair.out("hospital", "rows.csv")).unwrap();
    let running = NAMES.map(|name| pair.start(name, &[]));
    let [one, other] = running.map(Running::end);
    one.failed(2, &["rows.csv", "cannot be written"]);
    assert!(!one.stderr.contains("not kept"), "{}", one.stderr);
    let other = other.well();
    assert_eq!(one.stdout, other.stdout);
    // Before anything is sent, it says what each party learns; and in the end, all that it wrote.
    let (said, agreed) = other.stderr.split_once("agreed with").unwrap();
    for name in NAMES {
        assert!(said.contains(&format!("{name} learns all itemsets that are in at least 0.5 of all rows")), "{said}");
    }
    assert!(agreed.contains("rows.csv, ") && agreed.contains("rows.itemsets.csv"), "{agreed}");
    assert!(!files(&pair.home.at("hospital.out")).iter().any(|file| file.contains("itemsets")));
    // Itemsets of an earlier run stay if the rules cannot be written.
    pair.home.file("hospital.out/rows.itemsets.csv", "of an earlier run");
    let running = NAMES.map(|name| pair.start(name, &[]));
    running.map(Running::end)[0].failed(2, &["rows.csv", "cannot be written"]);
    assert_eq!(text(pair.out("hospital", "rows.itemsets.csv")), "of an earlier run");
    assert_eq!(files(&pair.home.at("hospital.out")), ["report.json", "rows.csv", "rows.itemsets.csv"]);
    let nameless = pair.out("hospital", ".csv");
    let running = pair.start_on(
        "hospital",
        &["--input", &pair.home.at("hospital.csv"), "--output", &nameless],
        &["--timeout", "1s"],
    );
    running.end().failed(2, &[".csv: a name and an ending are needed", "rules.itemsets.csv"]);
    let running = Running::start(&[
        "run",
        &pair.home.at("hospital.toml"),
        "--as",
        "hospital",
        "--identity",
        &pair.home.at("hospital"),
        "--input",
        &pair.home.file("x.itemsets.csv", "items\na\n"),
        "--output",
        &pair.home.at("x.csv"),
        "--timeout",
        "1s",
    ]);
    running.end().failed(2, &["x.itemsets.csv", "the itemsets"]);
}

#[test]
fn two_parties_without_a_job_file() {
    let pair = Pair::new(TERMS);
    let wide = pair.home.file("wide.csv", "card,x,age\n1,1,20\n2,1,70\n3,0,30\n4,1,80\n");
    let baskets = pair.home.file("baskets.csv", "id;bought\n4;p,q\n1;p\n2;p\n9;q\n");
    let address = format!("127.0.0.1:{}", free_port());
    let start = |me: &str, peer: &str, how: &str, own: &[&str]| {
        let fixed = [
            "rules",
            how,
            &address,
            "--peer",
            pair.fingerprint(peer),
            "--identity",
            &pair.home.at(me),
            "--min-support",
            "2",
            "--min-confidence",
            "50%",
            "--consequents",
            "any",
            "--max-len",
            "3",
            "--bins",
            "age=65:",
            "--output",
            &pair.out(me, "rules.csv"),
        ]
        .map(str::to_owned);
        let all: Vec<&str> = fixed.iter().map(String::as_str).chain(own.iter().copied()).collect();
        Running::start(&all)
    };
    let own = ["--input", &wide, "--items", "x,age", "--row-id", "card"];
    let other = ["--input", &baskets, "--basket", "bought", "--separator", ",", "--row-id", "card=id"];
    let one = start("hospital", "insurer", "--listen", &own);
    let other = start("insurer", "hospital", "--connect", &other);
    for ended in [one.end().well(), other.end().well()] {
        assert!(ended.stdout.starts_with("itemsets "), "{}", ended.stdout);
    }
    assert_eq!(text(pair.out("hospital", "rules.csv")), text(pair.out("insurer", "rules.csv")));
}

#[test]
fn the_plan_says_what_is_known_and_what_is_not() {
    let home = Home::new();
    let job = home.file("job.toml", &job("min_support = 0.01\nreveal = \"counts\"\nmixed_only = true"));
    let said = tacita(&["plan", &job, "--rows", "a=100000", "--rows", "b=100000"]).well().stdout;
    for words in [
        "depends on what is frequent",
        "at least",
        "100 pairs",
        "10,000 pairs",
        "by lattice",
        "1,000 rows",
        "1,048,576 candidates",
        "250,000 rules",
        "how many of b's items are frequent",
        "those in fewer rows too",
    ] {
        assert!(said.contains(words), "`{said}` lacks `{words}`");
    }
    let planned = tacita(&["plan", &job, "--json", "--rows", "a=9", "--rows", "b=9"]).well().stdout;
    let planned: Value = serde_json::from_str(&planned).unwrap();
    // What a run does that finds nothing.
    let nothing = home.file("nothing.csv", &format!("items\n{}", "\"\"\n".repeat(9)));
    let inputs = [format!("a={nothing}"), format!("b={nothing}")];
    let report = home.at("report.json");
    tacita(&["simulate", &job, "--input", &inputs[0], "--input", &inputs[1], "--report", &report]).well();
    let ran = json(report);
    for name in ["a", "b"] {
        assert_eq!(planned["parties"][name]["bytes_sent"], ran["parties"][name]["bytes"]["sent"]);
        assert_eq!(planned["parties"][name]["learned"], ran["parties"][name]["learned"]);
        assert_eq!(planned["rounds"], ran["parties"][name]["rounds"]);
    }
    tacita(&["plan", &job, "--rows", "a=9", "--rows", "b=8"]).failed(2, &["by position", "9", "8"]);
    assert!(!said.contains("which of their rows are common"), "{said}");
    let aligned = text(&job).replace("min_support", "row_id = \"id\"\nmin_support");
    let aligned = home.file("aligned.toml", &aligned);
    let said = tacita(&["plan", &aligned, "--rows", "a=9", "--rows", "b=8"]).well().stdout;
    assert!(said.contains("which of their rows are common; a form that hides it is not in this version"), "{said}");
}

#[test]
fn the_example_gives_the_expected_files_byte_for_byte() {
    let set = examples().join("rules");
    let summary = json(set.join("expected/summary.json"));
    for (name, expected) in summary.as_object().unwrap() {
        let home = Home::new();
        let input = |party: &str| format!("{party}={}", set.join(format!("{party}.csv")).display());
        let (job, out) = (set.join(format!("{name}.toml")), home.at("out"));
        let (shop, bakery) = (input("shop"), input("bakery"));
        let ended =
            tacita(&["simulate", job.to_str().unwrap(), "--input", &shop, "--input", &bakery, "--output", &out]).well();
        assert_eq!(ended.stdout, format!("itemsets {}, rules {}\n", expected["itemsets"], expected["rules"]));
        let wanted = set.join("expected").join(name);
        assert_eq!(files(&out).len(), 4);
        for file in files(&out) {
            let file = file.replace("bakery", "shop");
            assert_eq!(text(home.at(&format!("out/{file}"))), text(wanted.join(&file)), "{name}/{file}");
        }
    }
}

#[test]
fn the_page_for_readers_is_whole_and_the_same_every_time() {
    let home = Home::new();
    let set = examples().join("rules");
    let inputs = ["shop", "bakery"].map(|party| format!("{party}={}", set.join(format!("{party}.csv")).display()));
    // What is chosen by the network stands on the page.
    let fixed = text(set.join("job.toml")).replace("min_confidence", "extension = \"softspoken-4\"\nmin_confidence");
    let job = home.file("job.toml", &fixed);
    let pages = ["one.html", "two.html"].map(|name| {
        let page = home.at(name);
        tacita(&["simulate", &job, "--input", &inputs[0], "--input", &inputs[1], "--html", &page]).well();
        text(page)
    });
    assert_eq!(pages[0], pages[1]);
    let page = &pages[0];
    assert!(page.starts_with("<!DOCTYPE html>") && page.trim_end().ends_with("</html>"));
    for part in ["Content-Security-Policy", "default-src 'none'", "breakfast", "shop", "bakery", "<svg", "<table"] {
        assert!(page.contains(part), "{part}");
    }
    assert!(page.contains("<dt>Minimum confidence</dt><dd>0.6</dd>"));
    let usual = home.file("usual.toml", &text(&job).replace("min_confidence", "# min_confidence"));
    let usual_page = home.at("usual.html");
    let ended =
        tacita(&["simulate", &usual, "--input", &inputs[0], "--input", &inputs[1], "--html", &usual_page]).well();
    assert!(text(usual_page).contains("<dt>Minimum confidence</dt><dd>0.8</dd>"));
    assert!(ended.stderr.contains("wrote ") && ended.stderr.contains("usual.html"), "{}", ended.stderr);
    // What each party learned stands there too.
    assert!(page.contains("semi-honest") || page.contains("follow the protocol"), "{page}");

    let other = examples().join("dot/job.toml").display().to_string();
    let inputs = ["shop", "partner"].map(|party| {
        let file = examples().join(format!("dot/{party}.csv"));
        format!("{party}={}", file.display())
    });
    let refused = home.at("no.html");
    let ended = tacita(&["simulate", &other, "--input", &inputs[0], "--input", &inputs[1], "--html", &refused]);
    ended.failed(2, &["--html", "\"rules\"", "\"dot\""]);
    assert!(!Path::new(&refused).exists());
}
