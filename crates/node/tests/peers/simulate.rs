//! Jobs between tables in memory: what parties find is what they find as processes, several jobs at once, and a job can
//! be cancelled.

#[path = "../../examples/simulate.rs"]
mod example;
#[path = "../../examples/job_file.rs"]
mod job_file;

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use tacita_core::Error;
use tacita_node::agreement::{Answer, JobSpec};
use tacita_node::base::cancel::Cancel;
use tacita_node::simulate::{Simulated, tables};
use tacita_node::table::Table;

fn table(names: &[&str], numbers: &[i64]) -> Table {
    let names: ArrayRef = Arc::new(StringArray::from(names.to_vec()));
    let numbers: ArrayRef = Arc::new(Int64Array::from(numbers.to_vec()));
    let batch = RecordBatch::try_from_iter([("name", names), ("value", numbers)]).unwrap();
    Table::new("table", batch.schema(), vec![batch]).unwrap()
}

fn job(terms: &str, parties: &str) -> JobSpec {
    JobSpec::parse(&format!("id = \"t\"\n{terms}\n{parties}"), false).unwrap()
}

const TWO: &str = "[parties.a]\n[parties.b]\n";

fn both(one: Table, other: Table) -> BTreeMap<String, Table> {
    BTreeMap::from([("a".to_owned(), one), ("b".to_owned(), other)])
}

/// The line that is printed, or how many rows there are.
fn said(found: &Simulated) -> String {
    match &found.answer {
        Answer::Nothing => "nothing".into(),
        Answer::Rows(rows) => format!("rows {}", rows.count().unwrap()),
        Answer::Numbers { line, .. } | Answer::Tables { line, .. } => line.clone(),
        Answer::Share { numbers, .. } => format!("shares {numbers}"),
    }
}

#[test]
fn jobs_of_two() {
    let brought = both(table(&["x", "y", "z", "y"], &[1, 0, 1, 1]), table(&["y", "q", "z", "r"], &[1, 1, 1, 0]));
    for (terms, expected) in [
        ("job = \"intersect\"\nreveal_to = [\"a\"]\n[key]\ncolumns = [\"name\"]", ["rows 3", "nothing"]),
        (
            "job = \"intersect\"\nprotocol = \"vole\"\nreveal_to = [\"a\", \"b\"]\n[key]\ncolumns = [\"name\"]",
            ["rows 3", "rows 2"],
        ),
        (
            "job = \"intersect\"\nreveal = \"count\"\nreveal_to = [\"b\"]\n[key]\ncolumns = [\"name\"]",
            ["nothing", "count 2"],
        ),
        ("job = \"dot\"\nreveal_to = [\"a\", \"b\"]", ["value 2", "value 2"]),
        ("job = \"dot\"\nreveal = \"shares\"\nreveal_to = [\"a\", \"b\"]", ["shares 1", "shares 1"]),
        (
            "job = \"rules\"\nmin_support = 1\nitems = [\"name\"]\nreveal_to = [\"a\", \"b\"]",
            ["itemsets 11, rules 6", "itemsets 11, rules 6"],
        ),
    ] {
        // Several in one process.
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let found = tables(&job(terms, TWO), &brought, &Cancel::default()).unwrap();
                    assert_eq!(["a", "b"].map(|name| said(&found[name])), expected.map(str::to_owned), "{terms}");
                    assert!(found["a"].traffic.sent > 0 && found["a"].traffic.sent == found["b"].traffic.received);
                    assert!(!found["b"].learned.is_empty());
                });
            }
        });
    }
}

#[test]
fn the_examples_run() {
    example::main().unwrap();
    job_file::main().unwrap();
}

#[test]
fn jobs_with_clients() {
    let parties = "[parties.s]\nrole = \"server\"\n[parties.a]\nrole = \"client\"\nslice = 1\n[parties.b]\nrole = \"client\"\nslice = 2\n";
    let job = job("job = \"dot\"\nlevel = \"paper80\"\nprotocol = \"paillier\"\nreveal_to = [\"a\", \"b\"]", parties);
    let mut brought = both(table(&["x", "y"], &[1, 1]), table(&["z"], &[1]));
    brought.insert("s".into(), table(&["x", "y", "z"], &[0, 1, 1]));
    let found = tables(&job, &brought, &Cancel::default()).unwrap();
    assert_eq!(["a", "b", "s"].map(|name| said(&found[name])), ["value 2", "value 2", "nothing"].map(str::to_owned));
}

#[test]
fn failures_name_their_cause() {
    let intersection = job("job = \"intersect\"\nreveal_to = [\"a\"]\n[key]\ncolumns = [\"name\"]", TWO);
    let missing = BTreeMap::from([("a".to_owned(), table(&["x"], &[1]))]);
    let Err(error) = tables(&intersection, &missing, &Cancel::default()) else { panic!("one party has no table") };
    assert!(matches!(&error, Error::Input(text) if text.contains("b has no table")), "{error}");
    let other = job("job = \"intersect\"\nreveal_to = [\"a\"]\n[key]\ncolumns = [\"town\"]", TWO);
    let brought = both(table(&["x"], &[1]), table(&["x"], &[1]));
    assert!(matches!(tables(&other, &brought, &Cancel::default()), Err(Error::Input(text)) if text.contains("town")));
}

#[test]
fn a_cancelled_job_ends() {
    let cancel = Cancel::default();
    let names: Vec<String> = (0..200_000).map(|number| format!("name {number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let large = table(&names, &vec![1; names.len()]);
    let job = job("job = \"intersect\"\nprotocol = \"ecdh\"\nreveal_to = [\"a\"]\n[key]\ncolumns = [\"name\"]", TWO);
    let brought = both(large.clone(), large);
    std::thread::scope(|scope| {
        let running = scope.spawn(|| tables(&job, &brought, &cancel).map(|_| ()));
        std::thread::sleep(std::time::Duration::from_millis(1500));
        cancel.cancel();
        assert!(matches!(running.join().unwrap(), Err(Error::Interrupted)));
    });
}
