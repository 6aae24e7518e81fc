//! Reports of real participants, counted in the open, against known truth: all of an aggregation but what is hidden.
//! Found through `TACITA_DATA`; skipped where it is not set.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use tacita_node::agreement::JobSpec;
use tacita_node::jobs::aggregate::{Aggregate, Reports, ReportsInput, ResultRow, RoundResults, Summary};
use tacita_node::table::{ReadOptions, read};

fn data(folder: &str) -> Option<PathBuf> {
    let found =
        std::env::var_os("TACITA_DATA").map(|root| PathBuf::from(root).join(folder)).filter(|path| path.is_dir());
    if found.is_none() {
        println!("skipped: TACITA_DATA does not lead to {folder}");
    }
    found
}

fn job(key: &str, round: &str) -> JobSpec {
    let text =
        format!("job = \"aggregate\"\nid = \"t\"\nreveal_to = \"participants\"\n[key]\n{key}\n[round]\n{round}\n");
    JobSpec::parse(&text, false).unwrap()
}

/// Values of each key, each with its participant.
type Rows = BTreeMap<Vec<u8>, Vec<(u32, u8)>>;

/// Returns the reports of these files, each of another participant.
fn reported(job: &JobSpec, files: &[PathBuf]) -> Rows {
    let spec = Aggregate::of(job).unwrap();
    let mut rows = Rows::new();
    for (participant, path) in (0u8..).zip(files) {
        let input = ReportsInput {
            path: path.clone(),
            options: ReadOptions::default(),
            listing: None,
            expand: None,
            allow_unreadable: false,
        };
        let mut reports = Reports::open(&spec, "somebody", &input).unwrap();
        while let Some(batch) = reports.next_batch().unwrap() {
            batch.into_iter().for_each(|report| rows.entry(report.key).or_default().push((report.value, participant)));
        }
        let counts = reports.counts();
        assert_eq!(counts.read, counts.items + counts.nulls + counts.unreadable + counts.duplicates);
    }
    rows
}

fn revealed(job: &JobSpec, files: &[PathBuf]) -> RoundResults {
    revealed_of(job, &reported(job, files))
}

/// Returns the results that the job reveals of these reports.
fn revealed_of(job: &JobSpec, rows: &Rows) -> RoundResults {
    let spec = Aggregate::of(job).unwrap();
    let domain = &spec.own.round.values;
    let passes = |reports: &Vec<(u32, u8)>| {
        let mut row = Summary::new(domain);
        reports.iter().for_each(|(place, participant)| row.add(*place, &[*participant; 32]));
        spec.own.round.reveal_when.holds(&row)
    };
    let rows = rows.iter().filter(|&(_, reports)| passes(reports)).map(|(key, reports)| ResultRow {
        key: key.clone(),
        count: reports.len() as u64,
        values: reports.iter().map(|(place, _)| *place).collect(),
        noisy_sum: None,
    });
    RoundResults::new(&spec, "r", "2026-11-30T00:00Z".parse().unwrap(), rows.collect(), None, None)
}

/// The cells of a CSV file, row by row, without its header.
fn cells(path: &Path) -> Vec<Vec<String>> {
    let table = read(path, &ReadOptions::default()).unwrap();
    let mut rows = Vec::new();
    for batch in table.batches() {
        let columns: Vec<&arrow_array::StringArray> =
            batch.columns().iter().map(|column| column.as_any().downcast_ref().unwrap()).collect();
        rows.extend(
            (0..batch.num_rows()).map(|row| columns.iter().map(|column| column.value(row).to_owned()).collect()),
        );
    }
    rows
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// Cells of the results, without what stands behind the first columns.
fn found(results: &RoundResults, columns: &[usize]) -> Vec<Vec<String>> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("r.csv");
    results.write(&path, None).unwrap();
    cells(&path).into_iter().map(|row| columns.iter().map(|&column| row[column].clone()).collect()).collect()
}

#[test]
fn addresses_on_block_lists() {
    let Some(data) = data("over_threshold_ips") else { return };
    let lists = files(&data.join("lists"));
    let at_least = |threshold: u32| {
        job("columns = [\"ip\"]\nnormalize = [\"ip\"]", &format!("reveal_when = \"distinct >= {threshold}\""))
    };
    let rows = reported(&at_least(2), &lists);
    for (threshold, keys) in [(2, 35_781), (3, 11_025), (5, 1_212)] {
        let results = revealed_of(&at_least(threshold), &rows);
        assert_eq!(results.len(), keys);
        let truth = cells(&data.join(format!("truth/over_threshold_t{threshold}.csv.gz")));
        let mut truth: Vec<_> = truth.into_iter().map(|row| row[..2].to_vec()).collect();
        truth.sort();
        assert_eq!(found(&results, &[0, 1]), truth);
    }
}

#[test]
fn visits_of_sites() {
    let Some(data) = data("web_popularity") else { return };
    let key = "columns = [\"domain\"]\nnormalize = [\"text\"]";
    let round = "reveal_when = \"distinct >= 3 and sum(value) >= 10\"\nvalues = { min = 1, max = 1000 }\nvalue = \"visits\"\nkey_bytes = 48";
    let results = revealed(&job(key, round), &files(&data.join("visits")));
    let truth = cells(&data.join("truth/visits_total.csv.gz"));
    let number = |text: &String| text.parse::<u64>().unwrap();
    let mut truth: Vec<_> = truth.into_iter().filter(|row| number(&row[2]) >= 3 && number(&row[1]) >= 10).collect();
    truth.sort();
    let truth: Vec<_> = truth.into_iter().map(|row| vec![row[0].clone(), row[2].clone(), row[1].clone()]).collect();
    assert!(truth.len() > 100);
    // The key, how many reports, and their sum.
    assert_eq!(found(&results, &[0, 1, 3]), truth);
}

#[test]
fn certificates_of_stores() {
    let Some(data) = data("certificates") else { return };
    let key = "columns = [\"sha256\"]\nnormalize = [\"text\"]";
    let results = revealed(&job(key, "reveal_when = \"distinct >= 5\"\nkey_bytes = 64"), &files(&data.join("views")));
    let hashed = revealed(&job(key, "reveal_when = \"distinct >= 5\"\nkeys = \"hashed\""), &files(&data.join("views")));
    // In all nine stores 57, and so on down to 36 in five.
    assert_eq!((results.len(), hashed.len()), (57 + 22 + 6 + 11 + 36, 57 + 22 + 6 + 11 + 36));
}
