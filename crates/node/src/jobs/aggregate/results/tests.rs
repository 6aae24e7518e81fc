//! Results in every form, against what reads them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::*;
use crate::agreement::JobSpec;
use crate::jobs::aggregate::{Aggregate, Reports, ReportsInput, Summary};
use crate::table::ReadOptions;

fn job(key: &str, rest: &str) -> JobSpec {
    let text = format!(
        "job = \"aggregate\"\nid = \"attackers 2026/11\"\nreveal_to = [\"participants\"]\n{rest}\n[key]\n{key}\n[round]\nreveal_when = \
         \"distinct >= 2\"\nvalues = [1, 2, 5]\n"
    );
    JobSpec::parse(&text, false).unwrap_or_else(|error| panic!("{error}"))
}

const IP: &str = "columns = [\"ip\"]\nnormalize = [\"ip\"]";
const ADDRESSES: [&str; 4] = ["1.2.3.4", "10.0.0.0", "2001:db8::", "9.9.9.9"];

/// Results with these keys, each with three reports.
fn results(job: &JobSpec, keys: &[&str]) -> RoundResults {
    let spec = Aggregate::of(job).unwrap();
    let packing = KeyPacking::of(&spec);
    let row =
        |key: &&str| ResultRow { key: packing.pack(&[key]).unwrap(), count: 3, values: vec![2, 0, 0], noisy_sum: None };
    let rows = keys.iter().rev().map(row).collect();
    RoundResults::new(&spec, "r1", "2026-11-30T00:00Z".parse().unwrap(), rows, None, None)
}

/// Returns the contents written to a file of this name.
fn written(results: &RoundResults, name: &str) -> (tempfile::TempDir, std::path::PathBuf, String) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(name);
    results.write(&path, None).unwrap();
    let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
    (directory, path, text)
}

#[test]
fn tables_have_keys_counts_values_and_sums() {
    let job = job(IP, "");
    let (.., text) = written(&results(&job, &ADDRESSES[..2]), "r.csv");
    assert_eq!(text, "ip,count,values,sum\n1.2.3.4,3,1|1|5,7\n10.0.0.0,3,1|1|5,7\n");
    let only_keys = self::job(IP, "reveal = \"keys\"");
    let (.., text) = written(&results(&only_keys, &ADDRESSES[..1]), "r.csv");
    assert_eq!(text, "ip,count\n1.2.3.4,3\n");
    let found = results(&job, &[]);
    assert_eq!((found.line(), found.json().to_string()), ("keys 0".into(), "{\"keys\":0}".into()));
    assert_eq!(written(&found, "r.csv").2, "ip,count,values,sum\n");
    // A column of the key keeps its name.
    let clash = self::job("columns = [\"count\"]", "");
    assert!(written(&results(&clash, &["x"]), "r.csv").2.starts_with("count,count_,values,sum\nx,3"));
}

#[test]
fn keys_that_are_none_are_left_out_and_counted() {
    let job = job(IP, "");
    let spec = Aggregate::of(&job).unwrap();
    let rows = vec![
        ResultRow { key: vec![0; 3], count: 2, values: vec![], noisy_sum: None },
        ResultRow { key: vec![1; 16], count: 2, values: vec![9], noisy_sum: None },
    ];
    let found = RoundResults::new(&spec, "r", "2026-11-30T00:00Z".parse().unwrap(), rows, None, None);
    assert_eq!((found.len(), found.unreadable()), (1, 1));
    assert_eq!(written(&found, "r.csv").2, "ip,count,values,sum\n101:101:101:101:101:101:101:101,2,,0\n");
}

/// Every form that is read, too, gives the same keys again.
#[test]
fn what_is_written_is_read_again() {
    let job = job(IP, "");
    for name in ["r.csv", "r.csv.gz", "r.parquet", "r.arrow", "r.txt", "r.netset", "r.ipset"] {
        let found = results(&job, &ADDRESSES);
        let (_directory, path, _) = written(&found, name);
        // Lists have no values.
        let bare = JobSpec { job: Arc::new(Aggregate::default()), ..self::job(IP, "") };
        let spec = Aggregate::of(&bare).unwrap();
        let input = ReportsInput {
            path,
            options: ReadOptions::default(),
            listing: None,
            expand: None,
            allow_unreadable: false,
        };
        let mut reports = Reports::open(&spec, "a", &input).unwrap();
        let packing = KeyPacking::of(&spec);
        let mut keys = BTreeSet::new();
        while let Some(batch) = reports.next_batch().unwrap() {
            keys.extend(batch.iter().map(|report| packing.unpack(&report.key).unwrap().remove(0)));
        }
        assert_eq!(keys.iter().map(String::as_str).collect::<Vec<_>>(), ADDRESSES, "{name}");
    }
}

#[test]
fn sets_of_a_firewall_have_a_family_each() {
    let (.., text) = written(&results(&job(IP, ""), &ADDRESSES[1..3]), "r.ipset");
    let expected = "create attackers-2026-11-4 hash:ip family inet hashsize 1024 maxelem 65536\nadd attackers-2026-11-4 10.0.0.0\n\
                    create attackers-2026-11-6 hash:ip family inet6 hashsize 1024 maxelem 65536\nadd attackers-2026-11-6 2001:db8::\n";
    assert_eq!(text, expected);
}

/// Checks the requirements of `schema.json` of misp-warninglists for a list.
#[test]
fn warning_lists_are_as_their_schema_says() {
    for (key, keys, kind) in
        [(IP, &ADDRESSES[..], "cidr"), ("columns = [\"host\"]", &["b.example", "c.example"][..], "string")]
    {
        let list: Value = serde_json::from_str(&written(&results(&job(key, ""), keys), "r.misp.json").2).unwrap();
        let object = list.as_object().unwrap();
        let allowed = ["description", "list", "matching_attributes", "name", "type", "version"];
        assert!(object.keys().all(|key| allowed.contains(&key.as_str())), "{object:?}");
        for required in ["list", "description", "version", "name", "type"] {
            assert!(object.contains_key(required), "{required}");
        }
        assert!(object["name"].is_string() && object["description"].is_string());
        assert_eq!(object["version"].as_u64(), Some(20261130));
        assert_eq!(object["type"], kind);
        for lists in ["list", "matching_attributes"] {
            let Some(list) = object.get(lists) else { continue };
            let texts: Vec<&str> = list.as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect();
            assert_eq!(texts.iter().collect::<BTreeSet<_>>().len(), texts.len(), "unique");
        }
        assert_eq!(object["list"], serde_json::json!(keys));
    }
}

/// Checks the requirements of STIX 2.1 for a bundle and for an indicator.
#[test]
fn bundles_are_as_their_schema_says() {
    let job = job(IP, "");
    let text = written(&results(&job, &ADDRESSES), "r.stix.json").2;
    let bundle: Value = serde_json::from_str(&text).unwrap();
    let is_id = |id: &Value, of: &str| {
        let uuid = id.as_str().unwrap().strip_prefix(of).and_then(|rest| rest.strip_prefix("--")).unwrap().to_owned();
        let lengths: Vec<usize> = uuid.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12]);
        assert!(uuid.chars().all(|letter| letter == '-' || letter.is_ascii_hexdigit()));
        assert_eq!(&uuid[14..15], "5");
        assert!("89ab".contains(&uuid[19..20]));
        uuid
    };
    assert_eq!(bundle["type"], "bundle");
    is_id(&bundle["id"], "bundle");
    assert!(bundle.get("spec_version").is_none(), "that is 2.0's");
    let objects = bundle["objects"].as_array().unwrap();
    assert_eq!(objects.len(), ADDRESSES.len());
    let mut ids = BTreeSet::new();
    for (object, address) in objects.iter().zip(ADDRESSES) {
        assert_eq!(
            (&object["type"], &object["spec_version"], &object["pattern_type"]),
            (&"indicator".into(), &"2.1".into(), &"stix".into())
        );
        assert!(ids.insert(is_id(&object["id"], "indicator")));
        for time in ["created", "modified", "valid_from"] {
            assert_eq!(object[time], "2026-11-30T00:00:00.000Z");
        }
        let version = if address.contains(':') { 6 } else { 4 };
        assert_eq!(object["pattern"], format!("[ipv{version}-addr:value = '{address}']"));
        assert!(object["indicator_types"].as_array().is_some_and(|types| !types.is_empty()));
    }
    // The same results have the same ids, and others of another round.
    assert_eq!(written(&results(&job, &ADDRESSES), "r.stix.json").2, text);
    let empty: Value = serde_json::from_str(&written(&results(&job, &[]), "r.stix.json").2).unwrap();
    assert!(empty.get("objects").is_none(), "a list may not be empty");
}

#[test]
fn keys_that_no_indicator_is_for_are_left_out_of_a_bundle_and_counted() {
    let job = job("columns = [\"host\"]", "");
    let results = results(&job, &["a.example", "b\u{202e}\".x", "c.example", "word", "x y", "z"]);
    let bundle: Value = serde_json::from_str(&written(&results, "r.stix.json").2).unwrap();
    let names: Vec<_> =
        bundle["objects"].as_array().unwrap().iter().map(|object| object["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["a.example", "c.example"]);
    let warning = results.left_out("r.stix.json".as_ref(), None).unwrap().unwrap();
    let text = warning.text_for_own_user();
    assert!(text.contains(r#"no indicator for 4 keys ("b\u{202e}\".x", "word", "x y", ...)"#), "{text}");
    assert!(warning.text_without_values().contains("for 4 keys: they"), "{}", warning.text_without_values());
    assert_eq!(results.left_out("r.csv".as_ref(), None).unwrap(), None);
}

#[test]
fn lists_of_what_they_are_not_are_refused() {
    let texts = job("columns = [\"host\"]", "");
    let several = job("columns = [\"host\", \"town\"]", "");
    let directory = tempfile::tempdir().unwrap();
    let error =
        |results: &RoundResults, name: &str| results.write(&directory.path().join(name), None).unwrap_err().to_string();
    for (name, words) in [("r.netset", "addresses"), ("r.ipset", "addresses"), ("r.xyz", ".misp.json")] {
        let said = error(&results(&texts, &["word"]), name);
        assert!(said.contains(words) && !said.contains('\n'), "{said}");
    }
    for odd in ["#x", " x", "x\ny", "x #y"] {
        assert!(error(&results(&texts, &[odd]), "r.txt").contains("a list cannot hold"));
    }
    assert!(error(&results(&several, &[]), "r.txt").contains("2 columns (host, town)"));
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "nothing is left behind");
}

#[test]
fn a_histogram_stands_beside() {
    let job = job(IP, "reveal = \"keys+histogram\"");
    let spec = Aggregate::of(&job).unwrap();
    let mut row = Summary::new(&spec.own.round.values);
    row.add(0, &[1; 32]);
    row.add(1, &[1; 32]);
    let mut histogram = Histogram::default();
    histogram.add(&row);
    assert_eq!(histogram.count, BTreeMap::from([(2, 1)]));
    let found = RoundResults::new(&spec, "r", "2026-11-30T00:00Z".parse().unwrap(), vec![], Some(histogram), None);
    let Answer::Tables { line, beside, .. } = found.answer().unwrap() else { panic!("no tables") };
    assert_eq!(line, "keys 0");
    let (what, table) = beside.into_iter().next().unwrap();
    let table = table().unwrap();
    assert_eq!((what, table.rows(), table.schema().field(1).name().as_str()), ("histogram", 2, "size"));
}
