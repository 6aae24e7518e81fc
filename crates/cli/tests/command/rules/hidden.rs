//! Rules over rows in a hidden common order: exactly those of the join.

use super::*;

/// The sample's baskets by id, in tables that have many rows of one party alone besides.
fn with_own_rows(home: &Home, baskets: &[BTreeSet<String>]) -> [String; 2] {
    tables(home, baskets, "|", true).map(|path| {
        let (name, whole) = (Path::new(&path).file_stem().unwrap().to_str().unwrap(), text(&path));
        let own = whole.lines().skip(1).filter_map(|line| line.split_once(',')).enumerate();
        let own: String = own.map(|(row, (_, items))| format!("{name}{row},{items}\n")).collect();
        home.file(&format!("{name}-more.csv"), &format!("{whole}{own}"))
    })
}

#[test]
fn rules_over_hidden_rows_are_those_of_the_join() {
    let baskets = sample(60);
    for (rest, asked) in [
        ("", ASKED),
        ("protocol = \"ot\"", ASKED),
        ("protocol = \"lattice\"\nconsequents = \"any\"", Asked { any: true, ..ASKED }),
        ("mixed_only = true", Asked { mixed_only: true, ..ASKED }),
        ("mixed_only = true\nconsequents = \"any\"", Asked { mixed_only: true, any: true, ..ASKED }),
        ("max_len = 1", Asked { max_len: 1, ..ASKED }),
        ("max_len = 2\nreveal = \"counts\"", Asked { max_len: 2, ..ASKED }),
        ("mixed_only = true\nreveal = \"counts\"", Asked { mixed_only: true, ..ASKED }),
    ] {
        let home = Home::new();
        let [a, b] = with_own_rows(&home, &baskets);
        // A part of the rows is one of the common rows.
        let terms =
            format!("min_support = 0.2\nmin_confidence = 0.55\nrow_id = \"tid\"\nalignment = \"hidden\"\n{rest}");
        let report = check(&home, &job(&terms), [&a, &b], &[], &mined(&baskets, asked));
        for name in ["a", "b"] {
            let report = &report["parties"][name];
            assert_eq!(report["rows"]["common"], 60);
            assert!(report["choice"].as_str().unwrap().ends_with(" after align"), "{report}");
            assert!(!report["learned"].to_string().contains("which of its own rows have an id"), "{report}");
        }
    }
}

#[test]
fn few_common_rows_or_none_make_few_rules() {
    for (a, b, itemsets) in [
        ("tid,items\n", "tid,items\n", 0),
        ("tid,items\n1,x|y\n2,x\n", "tid,items\n3,p\n4,p|q\n", 0),
        ("tid,items\n1,x|y\n2,x\n", "tid,items\n2,p\n4,p|q\n", 3),
        ("tid,items\n1,x\n", "tid,items\n1,p\n", 3),
    ] {
        let home = Home::new();
        let inputs = [home.file("a.csv", a), home.file("b.csv", b)];
        let terms = "min_support = 1\nmin_confidence = 0.5\nrow_id = \"tid\"\nalignment = \"hidden\"";
        attempt(&home, &job(terms), [&inputs[0], &inputs[1]], "out", &[]).well();
        assert_eq!(json(home.at("report.json"))["parties"]["a"]["result"]["itemsets"], itemsets, "{a} {b}");
    }
}

/// Bins by quantiles and rows on many machines need to know which rows are common.
#[test]
fn what_needs_common_rows_is_refused_with_what_to_do() {
    let home = Home::new();
    let input = home.file("a.csv", "tid,items\n1,x\n");
    for (rest, words) in [
        ("bins = { age = 4 }", &["bins.age", "[18, 40, 65]", "alignment = \"rows\""][..]),
        ("limits = { blur = 128 }", &["limits.blur", "rules"]),
    ] {
        let terms = job(&format!("min_support = 1\nrow_id = \"tid\"\nalignment = \"hidden\"\n{rest}"));
        attempt(&home, &terms, [&input, &input], "no", &[]).failed(2, words);
    }
}
