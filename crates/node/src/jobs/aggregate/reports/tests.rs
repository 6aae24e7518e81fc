//! Tables and lists as reports.

use std::path::Path;

use super::*;
use crate::agreement::JobSpec;
use crate::jobs::aggregate::Aggregate;

/// A job over the columns `ip` (addresses), or `name` and `town`, with these keys of `[round]` and of participants.
fn job(key: &str, round: &str, parties: &str) -> JobSpec {
    let text = format!(
        "job = \"aggregate\"\nid = \"t\"\nreveal_to = \"participants\"\n[key]\n{key}\n[round]\nreveal_when = \"distinct >= 3\"\n{round}\n{parties}"
    );
    JobSpec::parse(&text, false).unwrap_or_else(|error| panic!("{error}: {text}"))
}

const IP: &str = "columns = [\"ip\"]\nnormalize = [\"ip\"]";

/// A file, and the directory in which it is.
fn file(name: &str, text: &str) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(name);
    std::fs::write(&path, text).unwrap();
    (directory, path)
}

fn input(path: &Path) -> ReportsInput {
    ReportsInput {
        path: path.to_owned(),
        options: ReadOptions::default(),
        listing: None,
        expand: None,
        allow_unreadable: false,
    }
}

/// The reports of a file, as texts of the key and place of the value, and what became of the rows.
fn read(job: &JobSpec, name: &str, text: &str) -> Result<(Vec<(String, u32)>, RowCounts)> {
    let file = file(name, text);
    let spec = Aggregate::of(job).unwrap();
    let packing = KeyPacking::of(&spec);
    let mut reports = Reports::open(&spec, "a", &input(&file.1))?;
    let mut found = Vec::new();
    while let Some(batch) = reports.next_batch()? {
        found.extend(batch.into_iter().map(|report| (packing.unpack(&report.key).unwrap().join("+"), report.value)));
    }
    Ok((found, reports.counts()))
}

fn keys(job: &JobSpec, name: &str, text: &str) -> Vec<String> {
    read(job, name, text).unwrap().0.into_iter().map(|(key, _)| key).collect()
}

fn error(job: &JobSpec, name: &str, text: &str) -> String {
    read(job, name, text).map(|(found, _)| found).unwrap_err().to_string()
}

#[test]
fn addresses_come_from_tables_and_lists() {
    let job = job(IP, "", "[parties.a]\ncolumns = { ip = \"source\" }\n[parties.b]");
    let expected = ["1.2.3.4", "2001:db8::"];
    assert_eq!(keys(&job, "t.csv", "source,n\n1.2.3.4,1\n2001:DB8:0::,2\n"), expected);
    assert_eq!(keys(&job, "t.txt", "# mine\n1.2.3.4\n2001:db8::\n"), expected);
    assert_eq!(keys(&job, "t.ipset", "create x hash:ip\nadd x 1.2.3.4\nadd x 2001:db8::\n"), expected);
    assert_eq!(keys(&job, "t.netset", "1.2.3.4/32\n::ffff:1.2.3.4\n"), ["1.2.3.4", "1.2.3.4"]);
    assert_eq!(keys(&job, "t.log", "{\"source\":\"1.2.3.4\"}\n{\"source\":\"2001:db8::\"}\n"), expected);
    assert!(error(&job, "t.csv", "ip\n1.2.3.4\n").contains("no column \"source\""));
}

#[test]
fn rows_without_a_key_are_counted() {
    let job = job(IP, "values = [1, 2]\nvalue = \"n\"", "");
    let (found, counts) = read(&job, "t.csv", "ip,n\n1.1.1.1,2\n,1\nx,1\n2.2.2.2,\n::,1\n3.3.3.3, 1\n").unwrap();
    assert_eq!(found, [("1.1.1.1".to_owned(), 1), ("3.3.3.3".to_owned(), 0)]);
    assert_eq!((counts.read, counts.nulls, counts.unreadable, counts.items), (6, 3, 1, 2));
}

#[test]
fn values_beyond_the_domain_are_refused_without_being_shown() {
    let numbers = job(IP, "values = { min = 1, max = 10 }", "[parties.a]\ncolumns = { value = \"visits\" }");
    let said = error(&numbers, "t.csv", "ip,visits\n1.1.1.1,10\n2.2.2.2,4711\n");
    assert!(said.contains("t.csv, line 3, column \"visits\": its value is none of round.values"), "{said}");
    assert!(!said.contains("4711") && !said.contains("2.2.2.2"), "{said}");
    let grades = job(IP, "values = [\"A\", \"B\"]", "");
    assert_eq!(read(&grades, "t.csv", "ip,value\n1.1.1.1, B \n").unwrap().0, [("1.1.1.1".to_owned(), 1)]);
    assert!(error(&grades, "t.csv", "ip,value\n1.1.1.1,b\n").contains("line 2"));
    assert!(error(&grades, "t.txt", "1.1.1.1\n").contains("\"ip\", \"value\" are wanted"));
}

#[test]
fn keys_have_their_length() {
    let columns = "columns = [\"name\", \"town\"]\nnormalize = [\"text\", \"text\"]";
    let text = "name,town\nAda,Ulm\nGrace,Reutlingen\n";
    let short = job(columns, "key_bytes = 8", "");
    let said = error(&short, "t.csv", text);
    assert!(
        said.contains("t.csv, line 3: its key has 16 bytes, and round.key_bytes = 8: agree on round.key_bytes = 16"),
        "{said}"
    );
    assert!(!said.contains("Grace"), "{said}");
    // All rows decide, not the first one that is too long.
    let said = error(&short, "t.csv", &format!("{text}Barbara,Bad Cannstatt\nJo,Ulm\n"));
    assert!(
        said.contains("line 3: its key has 16 bytes")
            && said.contains("the longest has 21: agree on round.key_bytes = 21"),
        "{said}"
    );
    assert_eq!(keys(&job(columns, "", ""), "t.csv", text), ["ada+ulm", "grace+reutlingen"]);
    let hashed = job(columns, "keys = \"hashed\"", "");
    let hashes = keys(&hashed, "t.csv", text);
    assert!(hashes.iter().all(|hash| hash.len() == 32) && hashes[0] != hashes[1]);
    let long = "x".repeat(300);
    assert!(error(&short, "t.csv", &format!("name,town\n{long},y\n")).contains("agree on round.keys = \"hashed\""));
    assert!(error(&short, "t.csv", "name,town\na\0b,y\n").contains("zero byte"));
}

#[test]
fn repeated_keys_are_as_agreed() {
    let text = "ip\n1.1.1.1\n2.2.2.2\n::ffff:1.1.1.1\n";
    let with = |duplicates: &str| job(&format!("{IP}\nduplicates = \"{duplicates}\""), "", "");
    assert_eq!(keys(&with("all"), "t.csv", text).len(), 3);
    let (found, counts) = read(&with("first"), "t.csv", text).unwrap();
    assert_eq!((found.len(), counts.duplicates, counts.items), (2, 1, 2));
    assert!(error(&with("error"), "t.csv", text).contains("line 2 and line 4 have the same key"));
    let nulls = job(&format!("{IP}\nnulls = \"error\""), "values = [1]", "");
    assert!(error(&nulls, "t.csv", "ip,value\n1.1.1.1,\n").contains("line 2: no value in column \"value\""));
}

#[test]
fn nothing_is_reported_of_a_table_that_cannot_be_read() {
    let job = job(IP, "", "");
    let file = file("t.csv", "ip\nx\ny\n1.1.1.1\n");
    let spec = Aggregate::of(&job).unwrap();
    let mut reports = Reports::open(&spec, "a", &input(&file.1)).unwrap();
    assert!(reports.next_batch().is_err());
    let allowed = ReportsInput { allow_unreadable: true, ..input(&file.1) };
    let mut reports = Reports::open(&spec, "a", &allowed).unwrap();
    assert_eq!(reports.next_batch().unwrap().unwrap().len(), 1);
    assert!(reports.next_batch().unwrap().is_none());
    assert_eq!(reports.warnings().unwrap().len(), 1);
}

#[test]
fn networks_are_expanded_as_far_as_the_job_file_says() {
    let job = job(IP, "", "[parties.a]\nexpand = 4");
    assert_eq!(keys(&job, "t.txt", "10.0.0.0/30\n"), ["10.0.0.0", "10.0.0.1", "10.0.0.2", "10.0.0.3"]);
    assert!(error(&job, "t.txt", "10.0.0.0/29\n").contains("have 8 addresses, and 4 are allowed"));
    let listed = self::job("columns = [\"host\"]", "", "[parties.a]\nformat = \"list\"");
    assert_eq!(keys(&listed, "hosts", "a.example\nb.example # two\n"), ["a.example", "b.example"]);
}

#[test]
fn own_keys_are_known_by_their_hashes() {
    let job = job("columns = [\"host\"]\nnormalize = [\"text\"]", "keys = \"hashed\"", "");
    let spec = Aggregate::of(&job).unwrap();
    let file = file("t.csv", "host\nA.example\nb.example\n");
    let mut reports = Reports::open(&spec, "a", &input(&file.1)).unwrap();
    let batch = reports.next_batch().unwrap().unwrap();
    let hashes = [batch[0].key.clone(), vec![1; 16]].into_iter().collect();
    let resolver = Resolver::read(&spec, "a", &input(&file.1), &hashes).unwrap();
    assert_eq!(resolver.texts(&batch[0].key).unwrap(), ["a.example"]);
    assert!(resolver.texts(&batch[1].key).is_none() && resolver.texts(&[1; 16]).is_none());
}
