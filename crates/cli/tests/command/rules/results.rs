//! Results are those that are computed without the program.

use super::*;

/// The published truth of a data set at a level.
fn published(data: &Path, set: &str, support: &str, mixed_only: bool) -> Truth {
    let read = |what: &str| -> Vec<BTreeMap<String, String>> {
        let path = data.join(format!("truth/{set}.s{support}.{what}.csv"));
        let text = if path.exists() {
            text(path)
        } else {
            let mut text = String::new();
            let packed = std::fs::File::open(format!("{}.gz", path.display())).unwrap();
            flate2::read::MultiGzDecoder::new(packed).read_to_string(&mut text).unwrap();
            text
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

/// Both ways of opening counts, with all rules and with mixed ones. Without `all`, each way has one of the two.
fn real(set: &str, levels: &[(&str, &str)], all: bool) {
    let Some(data) = data("association_rules") else { return };
    let ending = if set == "groceries" { "csv" } else { "csv.gz" };
    let inputs = ["A", "B"].map(|party| data.join(format!("vertical/{set}.2party_{party}.{ending}")));
    let inputs = [inputs[0].to_str().unwrap(), inputs[1].to_str().unwrap()];
    for (support, confidence) in levels {
        for mixed_only in [false, true] {
            let truth = published(&data, set, support, mixed_only);
            for (place, (reveal, protocol)) in
                [("frequent", "auto"), ("frequent", "ot"), ("frequent", "lattice"), ("counts", "auto")]
                    .into_iter()
                    .enumerate()
            {
                if !all && mixed_only != place.is_multiple_of(2) {
                    continue;
                }
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
    real("groceries", &[("0.01", "0.5")], false);
}

#[test]
fn mushrooms_are_exact() {
    real("mushroom", &[("0.4", "0.9")], false);
}

#[test]
#[ignore = "slow"]
fn more_groceries_are_exact() {
    real("groceries", &[("0.01", "0.5"), ("0.006", "0.25")], true);
}

#[test]
#[ignore = "slow"]
fn more_mushrooms_and_retail_are_exact() {
    real("mushroom", &[("0.4", "0.9"), ("0.3", "0.95"), ("0.25", "0.99")], true);
    real("retail", &[("0.01", "0.5"), ("0.005", "0.5")], true);
}

/// Protocols that run in rules for those who name them.
const PUBLISHED: [&str; 2] = ["paillier", "gm-bloom"];

/// Each question in one or two of three ways, and each way with half of the questions.
#[test]
fn every_kind_of_question_is_answered_exactly() {
    questions_are_answered_exactly(false);
}

#[test]
#[ignore = "slow: every question in every way"]
fn every_kind_of_question_is_answered_exactly_in_every_way() {
    questions_are_answered_exactly(true);
}

fn questions_are_answered_exactly(all: bool) {
    let home = Home::new();
    let baskets = sample(60);
    let [a, b] = tables(&home, &baskets, "|", false);
    let questions = [
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
    ];
    for (place, (rest, asked)) in questions.into_iter().enumerate() {
        let truth = mined(&baskets, asked);
        assert!(asked.minimum > 60 || truth.itemsets.len() > 8, "{truth:?}");
        let protocols = if rest.contains("extension") { &["auto", "ot"][..] } else { &["auto", "lattice"] };
        let ways = [("frequent", protocols[0]), ("frequent", protocols[1]), ("counts", protocols[1])];
        for (way, (reveal, protocol)) in ways.into_iter().enumerate() {
            if !all && !(place + way).is_multiple_of(2) {
                continue;
            }
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

/// Checks that `show` affects only the own files of the party that sets it: the other's hold everything.
#[test]
fn a_party_sees_what_it_wants() {
    let home = Home::new();
    let baskets = sample(60);
    let truth = mined(&baskets, ASKED);
    let [a, b] = tables(&home, &baskets, "|", false);
    let show = "{ measures = \"all\", itemsets = \"maximal\", items_in_antecedents = [\"a1\", \"beer\"] }";
    let shown = |show: &str| {
        job("min_support = 12\nmin_confidence = 0.55").replace("[parties.a]", &format!("[parties.a]\nshow = {show}"))
    };
    let ended = attempt(&home, &shown(show), [&a, &b], "out", &[]).well();
    assert!(ended.stderr.contains("no item in the itemsets has name 2 of 2"), "{}", ended.stderr);
    check_files(&home.at("out/b.csv"), &truth);

    let of = |items: &str| -> BTreeSet<String> { items.split('|').map(str::to_owned).collect() };
    let wanted = truth.rules.iter().filter(|((from, _), _)| of(from).contains("a1"));
    let has_larger = |set: &str| truth.itemsets.keys().any(|other| set != other && of(set).is_subset(&of(other)));
    let maximal = truth.itemsets.iter().filter(|(set, _)| !has_larger(set));
    let expected = Truth {
        rows: truth.rows,
        itemsets: maximal.map(|(set, count)| (set.clone(), *count)).collect(),
        rules: wanted.map(|(rule, counts)| (rule.clone(), *counts)).collect(),
    };
    assert!(!expected.rules.is_empty() && expected.rules.len() < truth.rules.len());
    assert!(expected.itemsets.len() < truth.itemsets.len());
    check_files(&home.at("out/a.csv"), &expected);
    for row in cells(&home.at("out/a.csv")) {
        let measure = |name: &str| row[name].parse::<f64>().unwrap();
        let near = |name: &str, value: f64| assert!((measure(name) - value).abs() < 1e-9, "{name}: {row:?}");
        let (both, confidence) = (measure("support"), measure("confidence"));
        let (from, to) = (both / confidence, confidence / measure("lift"));
        near("antecedent support", from);
        near("consequent support", to);
        near("jaccard", both / (from + to - both));
        near("kulczynski", (confidence + both / to) / 2.0);
        near("certainty", (confidence - to) / (1.0 - to));
        near("zhangs_metric", measure("leverage") / (both * (1.0 - from)).max(from * (to - both)));
    }
    attempt(&home, &shown("{ itemsets = \"open\" }"), [&a, &b], "out", &[])
        .failed(2, &["itemsets = \"open\" is unknown", "maximal"]);
    attempt(&home, &shown("{ measure = \"all\" }"), [&a, &b], "out", &[]).failed(2, &["measure"]);
}
