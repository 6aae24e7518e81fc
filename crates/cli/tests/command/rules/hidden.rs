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
    let one_of_many: String =
        ["tid,items\n".into()].into_iter().chain((0..1000).map(|id| format!("{id},p\n"))).collect();
    for (a, b, itemsets) in [
        ("tid,items\n", "tid,items\n", 0),
        ("tid,items\n1,x|y\n2,x\n", "tid,items\n3,p\n4,p|q\n", 0),
        ("tid,items\n1,x|y\n2,x\n", "tid,items\n2,p\n4,p|q\n", 3),
        ("tid,items\n1,x\n", "tid,items\n1,p\n", 3),
        ("tid,items\n700,x\n", &one_of_many, 3),
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

/// Baskets of a public data set, of which each party lacks a fifth of the rows, at random, and the other has the rest
/// in an order of its own.
fn with_rows_left_out(home: &Home, set: &str) -> Option<([String; 2], Vec<BTreeSet<String>>)> {
    let data = data("association_rules")?;
    let mut kept: [BTreeMap<String, String>; 2] = Default::default();
    for (kept, (party, seed)) in kept.iter_mut().zip([("A", 1), ("B", 2)]) {
        let path = ["csv", "csv.gz"].map(|ending| data.join(format!("vertical/{set}.2party_{party}.{ending}")));
        let mut text = String::new();
        match path.each_ref().map(std::fs::File::open) {
            [Ok(mut plain), _] => plain.read_to_string(&mut text).unwrap(),
            [_, packed] => flate2::read::MultiGzDecoder::new(packed.unwrap()).read_to_string(&mut text).unwrap(),
        };
        let rows = text.lines().skip(1).map(|line| line.split_once(',').unwrap()).zip(noise(seed));
        let rows = rows.filter(|(_, random)| random % 5 > 0).map(|((tid, items), _)| (tid.into(), items.into()));
        kept.extend(rows);
    }
    let common = kept[0].iter().filter_map(|(tid, items)| Some((items, kept[1].get(tid)?)));
    let items = |items: &String| {
        items.trim_matches('"').split('|').filter(|item| !item.is_empty()).map(str::to_owned).collect::<Vec<_>>()
    };
    let baskets = common.map(|(a, b)| items(a).into_iter().chain(items(b)).collect()).collect();
    let file = |name: &str, rows: &BTreeMap<String, String>, seed: u64| {
        let mut lines: Vec<_> = rows.iter().zip(noise(seed)).map(|((tid, items), at)| (at, tid, items)).collect();
        lines.sort_unstable();
        let lines = lines.into_iter().map(|(_, tid, items)| format!("{tid},{items}\n"));
        home.file(name, &["tid,items\n".to_owned()].into_iter().chain(lines).collect::<String>())
    };
    Some(([file("a.csv", &kept[0], 3), file("b.csv", &kept[1], 4)], baskets))
}

/// Rules over hidden rows are those of the join, with a support that is a part of the common rows.
fn real(set: &str, (support, one_in): (&str, u64), percent: u64) {
    let home = Home::new();
    let Some(([a, b], baskets)) = with_rows_left_out(&home, set) else { return };
    let rows = baskets.len() as u64;
    let asked = Asked { minimum: rows.div_ceil(one_in), percent, max_len: usize::MAX, ..ASKED };
    let truth = mined(&baskets, asked);
    assert!(truth.itemsets.len() > 50 && truth.rules.len() > 5, "{} {}", truth.itemsets.len(), truth.rules.len());
    let terms = format!(
        "min_support = {support}\nmin_confidence = \"{percent}%\"\nrow_id = \"tid\"\nalignment = \"hidden\"\n\
         items = {{ column = \"items\", separator = \"|\" }}"
    );
    let report = check(&home, &job(&terms), [&a, &b], &[], &truth);
    assert_eq!(report["parties"]["a"]["rows"]["common"], rows);
    assert!(report["parties"]["b"]["choice"].as_str().unwrap().ends_with(" after align"));
}

#[test]
fn groceries_with_rows_left_out_are_exact() {
    real("groceries", ("0.01", 100), 40);
}

#[test]
#[ignore = "slow: thousands of candidates over whole baskets"]
fn retail_with_rows_left_out_is_exact() {
    real("retail", ("0.01", 100), 50);
    real("groceries", ("0.005", 200), 25);
}
