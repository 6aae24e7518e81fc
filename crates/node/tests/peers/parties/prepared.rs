//! A sender's part that was prepared: for its terms, data and epoch alone, and no more of it than its clients may ask.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tacita_node::jobs::intersect::Loaded;
use tacita_node::jobs::intersect::prepared::{PreparedPart, bound_epoch, check_job, prepare};

use super::*;

/// A job of `a`, which asks, and `b`, which answers; with who they are.
fn service(limits: &str, who: [&str; 2]) -> JobSpec {
    let who = who.map(|who| who.repeat(42));
    let text = format!(
        "job = \"intersect\"\nid = \"t\"\nreveal_to = [\"a\"]\n[key]\ncolumns = [\"name\"]\n[limits]\nmax_rows = 10\n{limits}\n\
         [parties.a]\nidentity = \"SHA256:{}A\"\n[parties.b]\nidentity = \"SHA256:{}A\"\n",
        who[0], who[1]
    );
    JobSpec::parse(&text, false).unwrap()
}

fn loaded(job: &JobSpec, names: &[&str]) -> Loaded {
    Loaded::of(job, "b", table(names, &vec![1; names.len()]), false).unwrap()
}

fn make(job: &JobSpec, directory: &Path, anew: bool) {
    prepare(job, "b", &loaded(job, &["x", "y", "z"]), directory, anew, &mut fresh_rng().unwrap()).unwrap();
}

#[test]
fn a_part_is_for_its_terms_and_data() {
    let home = tempfile::tempdir().unwrap();
    let work = home.path().join("work");
    let job = service("max_queries = 20", ["A", "B"]);
    make(&job, &work, false);
    PreparedPart::open(&work, &job, "b").unwrap();
    // Another client.
    PreparedPart::open(&work, &service("max_queries = 20", ["C", "B"]), "b").unwrap();
    for other in [service("max_queries = 21", ["A", "B"]), service("max_queries = 20", ["A", "C"])] {
        assert!(text(PreparedPart::open(&work, &other, "b")).contains("prepared for other terms"));
    }
    let part = PreparedPart::open(&work, &job, "b").unwrap();
    part.check_data(&loaded(&job, &["z", "y", "x"])).unwrap();
    assert!(text(part.check_data(&loaded(&job, &["x", "y"]))).contains("from other data"));
    for name in ["prepared.bin", "prepared.json"] {
        std::fs::set_permissions(work.join(name), Permissions::from_mode(0o640)).unwrap();
        assert!(text(PreparedPart::open(&work, &job, "b")).contains("others can read"), "{name}");
        std::fs::set_permissions(work.join(name), Permissions::from_mode(0o600)).unwrap();
    }
    // Answers of two senders are under keys that say whose they are.
    let epoch = |job: &JobSpec| bound_epoch(job, "b", &[1; 32]);
    assert_eq!(epoch(&job), epoch(&service("max_queries = 20", ["C", "B"])));
    assert_ne!(epoch(&job), epoch(&service("max_queries = 20", ["A", "C"])));
    assert_ne!(epoch(&job), bound_epoch(&job, "b", &[2; 32]));
    // Who learns would ask under its own key, too.
    let mut both = job.clone();
    both.reveal_to.push("b".into());
    assert!(text(check_job(&both, "b")).contains("b learns in this job"));
}

#[test]
fn clients_are_charged_before_they_are_answered() {
    let home = tempfile::tempdir().unwrap();
    let work = home.path().join("work");
    let job = service("max_queries = 4", ["A", "B"]);
    make(&job, &work, false);
    let prepared = || load(&job, "b", &Source::Prepared { directory: work.clone(), check: None }).unwrap();
    let ask = |names: &[&str]| {
        let asks = load(&job, "a", &source(&table(names, &vec![1; names.len()]))).unwrap();
        run(&job, [asks, prepared()])
    };
    assert_eq!(ask(&["x", "q", "z"]).map(|answer| said(&answer.unwrap())), ["rows 2", "nothing"]);
    let [_, sender] = ask(&["x", "q"]);
    assert!(text(sender).contains("has asked for 3 keys and wants 2 more"));
    assert_eq!(ask(&["y"]).map(|answer| said(&answer.unwrap())), ["rows 1", "nothing"]);
    // Without a part nobody counts.
    let unprepared = load(&job, "b", &source(&table(&["x"], &[1])));
    assert!(text(unprepared).contains("limits.max_queries"));
}

#[test]
fn a_part_that_was_replaced_is_not_gone_on_with() {
    let home = tempfile::tempdir().unwrap();
    let work = home.path().join("work");
    let job = service("", ["A", "B"]);
    make(&job, &work, false);
    let old = load(&job, "b", &Source::Prepared { directory: work.clone(), check: None }).unwrap();
    let rng = &mut fresh_rng().unwrap();
    prepare(&job, "b", &loaded(&job, &["x", "y", "z"]), &work, true, rng).unwrap();
    let asks = load(&job, "a", &source(&table(&["x"], &[1]))).unwrap();
    let [_, sender] = run(&job, [asks, old]);
    assert!(text(sender).contains("replaced during this run"));
}
