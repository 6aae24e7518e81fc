//! Protection of inputs: a party never writes to a file that it reads.

use tacita_node::table::ReadOptions;

use super::*;

#[test]
fn the_result_does_not_take_the_place_of_the_input() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("table.csv");
    std::fs::write(&path, "name\nx\n").unwrap();
    let job = job("job = \"intersect\"\nreveal_to = [\"a\"]\n[key]\ncolumns = [\"name\"]");
    let options = ReadOptions::default();
    let source = Source::File { path: path.clone(), options, allow_unreadable: false };
    let run = |output: &str, report: Option<&str>| {
        let mut run = party_run(job.clone(), "a", source.clone(), Vec::new());
        run.output = Some(home.path().join(output));
        run.report = report.map(|name| home.path().join(name));
        text(run.run())
    };
    assert!(run("table.csv", None).contains("this is both an input and the output"));
    assert!(run("out.csv", Some("out.csv")).contains("this is both the output and the report"));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "name\nx\n");
}
