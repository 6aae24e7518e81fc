//! The text format of Prometheus, read as strictly as its description allows (version 0.0.4), and by the format's own
//! reader where that is there.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::process::{Command, Stdio};

/// A sample: labels in order, and the value.
pub type Sample = (BTreeMap<String, String>, f64);

/// Samples by name, of a page that is as it has to be.
#[track_caller]
pub fn read(page: &str) -> BTreeMap<String, Vec<Sample>> {
    let mut all = BTreeMap::<String, Vec<Sample>>::new();
    let (mut families, mut family) = (BTreeSet::new(), (String::new(), String::new()));
    assert!(page.ends_with('\n'), "the last line ends");
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if let Some(head) = line.strip_prefix("# HELP ") {
            let (name, help) = head.split_once(' ').unwrap();
            assert!(!help.is_empty() && families.insert(name.to_owned()), "{name} is told twice");
            let kind = lines.next().and_then(|line| line.strip_prefix("# TYPE ")).and_then(|line| line.split_once(' '));
            let (typed, kind) = kind.unwrap_or_else(|| panic!("{name} has no type"));
            assert!(typed == name && ["counter", "gauge", "histogram"].contains(&kind), "{name}: {kind}");
            assert_eq!(name.ends_with("_total"), kind == "counter", "{name} is a {kind}");
            assert!(name.starts_with("tacita_") || name.starts_with("process_"), "{name}");
            family = (name.to_owned(), kind.to_owned());
            continue;
        }
        let (name, labels, value) = sample(line);
        let own = match (family.1.as_str(), name.strip_prefix(&family.0)) {
            ("histogram", Some(end)) => ["_bucket", "_sum", "_count"].contains(&end),
            (_, end) => end == Some(""),
        };
        assert!(own, "{line} stands behind {family:?}");
        let samples = all.entry(name).or_default();
        assert!(samples.iter().all(|(known, _)| *known != labels), "{line} comes twice");
        samples.push((labels, value));
    }
    check_histograms(&all);
    by_reader(page);
    all
}

/// `name{label="value",...} number`
fn sample(line: &str) -> (String, BTreeMap<String, String>, f64) {
    let word = |text: &str| text.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    let (name, rest) = line.split_at(line.find(['{', ' ']).unwrap_or_else(|| panic!("{line}")));
    assert!(!name.is_empty() && word(name), "{line}");
    let mut labels = BTreeMap::new();
    let value = match rest.strip_prefix('{') {
        None => rest,
        Some(mut rest) => loop {
            let (label, quoted) = rest.split_once("=\"").unwrap_or_else(|| panic!("{line}"));
            assert!(!label.is_empty() && word(label), "{line}");
            let (mut value, mut letters) = (String::new(), quoted.char_indices());
            let end = loop {
                match letters.next().unwrap_or_else(|| panic!("{line}")) {
                    (at, '"') => break at,
                    (_, '\\') => match letters.next().unwrap().1 {
                        'n' => value.push('\n'),
                        letter @ ('\\' | '"') => value.push(letter),
                        letter => panic!("\\{letter} in {line}"),
                    },
                    (_, letter) => value.push(letter),
                }
            };
            assert!(labels.insert(label.to_owned(), value).is_none(), "{line}");
            rest = &quoted[end + 1..];
            match rest.strip_prefix('}') {
                Some(value) => break value,
                None => rest = rest.strip_prefix(',').unwrap_or_else(|| panic!("{line}")),
            }
        },
    };
    let value = value.strip_prefix(' ').unwrap_or_else(|| panic!("{line}"));
    (name.to_owned(), labels, value.parse().unwrap_or_else(|_| panic!("{line}")))
}

/// Buckets grow, and the last one holds all.
fn check_histograms(all: &BTreeMap<String, Vec<Sample>>) {
    for (name, counts) in all.iter().filter(|(name, _)| all.contains_key(&name.replace("_count", "_bucket"))) {
        let Some(stem) = name.strip_suffix("_count") else { continue };
        for (labels, count) in counts {
            let mut buckets = Vec::new();
            for (with, value) in &all[&format!("{stem}_bucket")] {
                let mut own = with.clone();
                let bound = own.remove("le").unwrap();
                if own == *labels {
                    buckets.push((bound.parse::<f64>().unwrap(), *value));
                }
            }
            assert!(buckets.is_sorted_by(|one, other| one.0 < other.0 && one.1 <= other.1), "{name}: {buckets:?}");
            assert_eq!(buckets.last(), Some(&(f64::INFINITY, *count)), "{name}");
            assert!(all[&format!("{stem}_sum")].iter().any(|(of, sum)| of == labels && *sum >= 0.0));
        }
    }
}

/// Parses the page with the reader of Prometheus' own client, if Python has it.
fn by_reader(page: &str) {
    let program = "import sys\ntry:\n from prometheus_client.parser import text_string_to_metric_families as read\n\
                   except ImportError:\n sys.exit(77)\nassert sum(len(one.samples) for one in read(sys.stdin.read()))";
    let child = Command::new("python3").args(["-c", program]).stdin(Stdio::piped()).spawn();
    let Ok(mut child) = child else { return eprintln!("skipped: there is no Python") };
    child.stdin.take().unwrap().write_all(page.as_bytes()).unwrap_or_default();
    match child.wait().unwrap().code() {
        Some(77) => eprintln!("skipped: Python has no prometheus_client"),
        code => assert_eq!(code, Some(0), "{page}"),
    }
}

#[test]
fn pages_that_are_wrong_are_refused() {
    let good = "# HELP tacita_a_total A.\n# TYPE tacita_a_total counter\ntacita_a_total{of=\"x\\\"\\\\\\n\"} 1\n";
    let read_one = read(good);
    assert_eq!(read_one["tacita_a_total"], [([("of".to_owned(), "x\"\\\n".to_owned())].into(), 1.0)]);
    for (from, to) in [
        ("counter", "gauge"),
        ("} 1\n", "} 1"),
        ("} 1", "} one"),
        ("# TYPE tacita_a_total counter\n", ""),
        ("tacita_a_total{of", "tacita_b_total{of"),
        ("of=\"", "of="),
        ("} 1", "} 1\ntacita_a_total{of=\"x\\\"\\\\\\n\"} 2"),
    ] {
        let wrong = good.replace(from, to);
        assert!(wrong != good && std::panic::catch_unwind(|| read(&wrong)).is_err(), "{wrong}");
    }
}
