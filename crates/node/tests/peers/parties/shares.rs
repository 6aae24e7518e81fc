//! Shares: each is opened once, with the peer's of the same run, by the party that it is of, to those who learn.

use std::path::{Path, PathBuf};

use tacita_core::Error;
use tacita_node::run::check::check_output;

use super::*;

const MADE: &str = "job = \"dot\"\nreveal = \"shares\"\nreveal_to = [\"a\", \"b\"]";

/// Returns the files with both parties' shares of the products of these numbers and ones.
fn shares(home: &Path, name: &str, terms: &str, numbers: &[i64]) -> [PathBuf; 2] {
    let job = job(terms);
    let names = vec!["x"; numbers.len()];
    let tables = [table(&names, numbers), table(&names, &vec![1; numbers.len()])];
    let parts = [0, 1].map(|place| load(&job, ["a", "b"][place], &source(&tables[place])).unwrap());
    let mut place = 0;
    run(&job, parts).map(|answer| {
        let Ok(Answer::Share { file, .. }) = answer else { panic!("no share") };
        let path = home.join(format!("{name}-{}.json", ["a", "b"][place]));
        std::fs::write(&path, file.as_bytes()).unwrap();
        place += 1;
        path
    })
}

fn opening(operation: &str, more: &str) -> JobSpec {
    job(&format!("job = \"shares\"\noperation = \"{operation}\"\nreveal_to = [\"a\"]\n{more}"))
}

fn bring(job: &JobSpec, me: &str, files: &[&PathBuf]) -> Result<Box<dyn PartyInput>> {
    load(job, me, &Source::Shares(files.iter().map(|path| (*path).clone()).collect()))
}

#[test]
fn a_share_opens_once_to_those_who_learn() {
    let home = tempfile::tempdir().unwrap();
    let [a, b] = shares(home.path(), "one", MADE, &[1, 0, 1]);
    let job = opening("open", "");
    let both = || [bring(&job, "a", &[&a]).unwrap(), bring(&job, "b", &[&b]).unwrap()];
    // Two processes have read it before one opens it.
    let (first, second) = (both(), both());
    assert_eq!(run(&job, first).map(|answer| said(&answer.unwrap())), ["value 2", "nothing"]);
    let mut ended = run(&job, second).into_iter();
    assert!(ended.next().unwrap().is_err_and(|error| is_input(&error) && error.to_string().contains("opened before")));
    for (me, path) in [("a", &a), ("b", &b)] {
        assert!(text(bring(&job, me, &[path])).contains("opened before"), "{me}");
    }
}

#[test]
fn only_shares_that_belong_together_are_brought() {
    let home = tempfile::tempdir().unwrap();
    let [a, b] = shares(home.path(), "one", MADE, &[1, 0, 1]);
    let [other, _] = shares(home.path(), "other", &format!("{MADE}\nbits = 2"), &[1, 2, 3]);
    let job = opening("sum", "");
    bring(&job, "a", &[&a]).unwrap();
    for (what, me, files) in [
        ("of \"a\", and this party is \"b\"", "b", vec![&a]),
        ("of \"b\", and this party is \"a\"", "a", vec![&b]),
        ("of another job", "a", vec![&a, &other]),
        ("given twice", "a", vec![&a, &a]),
    ] {
        assert!(text(bring(&job, me, &files)).contains(what), "{what}");
    }
    let with_c = "job = \"shares\"\nid = \"t\"\noperation = \"open\"\nreveal_to = [\"c\"]\n[parties.a]\n[parties.c]\n";
    let with_c = JobSpec::parse(with_c, false).unwrap();
    assert!(text(bring(&with_c, "a", &[&a])).contains("of a job of a and b"));
    // A digit of a share.
    let whole = std::fs::read_to_string(&a).unwrap();
    let values = whole.find("\"values\": [").unwrap();
    let opens = values + 11 + whole[values + 11..].find('"').unwrap() + 1;
    // The last digit, so that it is a share as before.
    let digit = opens + whole[opens..].find('"').unwrap() - 1;
    let changed = if &whole[digit..=digit] == "1" { "2" } else { "1" };
    std::fs::write(&a, [&whole[..digit], changed, &whole[digit + 1..]].concat()).unwrap();
    assert!(text(bring(&job, "a", &[&a])).contains("edited or damaged"));
}

/// Halves of two runs tell nothing together, and each could be opened again with its own other half.
#[test]
fn shares_of_other_runs_are_not_opened_to_a_peer() {
    let home = tempfile::tempdir().unwrap();
    let [a, _] = shares(home.path(), "one", MADE, &[1, 0, 1]);
    let [_, b] = shares(home.path(), "other", MADE, &[1, 1, 1]);
    let job = opening("open", "");
    let ended = run(&job, [bring(&job, "a", &[&a]).unwrap(), bring(&job, "b", &[&b]).unwrap()]);
    let kind = |ended: &Result<Answer>| ended.as_ref().err().map(Error::kind);
    assert!(
        ended.iter().any(|ended| kind(ended) == Some(tacita_core::ErrorKind::Terms)),
        "{:?}",
        ended.each_ref().map(kind)
    );
    // They are still there to be opened.
    bring(&job, "a", &[&a]).unwrap();
    bring(&job, "b", &[&b]).unwrap();
}

#[test]
fn one_small_number_among_several_is_held_back_with_them() {
    let home = tempfile::tempdir().unwrap();
    let (one, other) = (shares(home.path(), "one", MADE, &[1, 0, 1]), shares(home.path(), "other", MADE, &[1, 1, 1]));
    let open = |limit: u64| {
        let job = opening("open", &format!("[limits]\nmin_result = {limit}"));
        let parts = [0, 1].map(|place| bring(&job, ["a", "b"][place], &[&one[place], &other[place]]).unwrap());
        run(&job, parts).map(|answer| said(&answer.unwrap()))
    };
    assert_eq!(open(3), ["value below 3", "nothing"]);
}

/// The peer's share of a run could never be opened if this one were written over.
#[test]
fn a_share_that_was_not_opened_is_not_written_over() {
    let home = tempfile::tempdir().unwrap();
    let [a, b] = shares(home.path(), "one", MADE, &[1, 0, 1]);
    let made = job(MADE);
    assert!(text(check_output(&made, &a, false, Existing::Replaced)).contains("an unopened share"));
    let opened = opening("open", "");
    for ended in run(&opened, [bring(&opened, "a", &[&a]).unwrap(), bring(&opened, "b", &[&b]).unwrap()]) {
        ended.unwrap();
    }
    check_output(&made, &a, false, Existing::Replaced).unwrap();
    assert!(text(check_output(&made, Path::new("-"), false, Existing::Replaced)).contains("a share is a secret"));
}
