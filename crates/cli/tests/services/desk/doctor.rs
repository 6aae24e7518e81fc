//! The doctor for a list and its desks.

use crate::common::{Ended, tacita};
use crate::desk::fly::{Fly, LIMITS, LIST, TERMS};

fn doctor(fly: &Fly, me: &str, identity: &str, more: &[&str]) -> Ended {
    let identity = fly.home.at(identity);
    tacita(&[&["doctor", &fly.job, "--as", me, "--identity", &identity], more].concat())
}

#[track_caller]
fn says(ended: &Ended, code: i32, words: &[&str]) {
    assert_eq!(ended.code, code, "{ended:?}");
    for word in words {
        assert!(ended.stdout.contains(word), "{word}: {}", ended.stdout);
    }
}

#[test]
fn a_doctor_looks_at_a_list() {
    let fly = Fly::new(TERMS, LIMITS, LIST);
    let input = fly.home.at("list.csv");
    let well = doctor(&fly, "authority", "authority", &["--input", &input]);
    says(
        &well,
        0,
        &[
            "a list that many ask; authority has the list",
            "ok    desks",
            "desks.txt: 2 desks listed",
            "can listen on 127.0.0.1",
            "list.csv: 3 rows can be found",
            "Nothing to mend.",
        ],
    );
    says(&doctor(&fly, "authority", "gate-1", &[]), 2, &["MEND  identity", "parties.authority.identity is SHA256:"]);
    let odd = fly.home.file("odd.csv", &format!("{LIST}Somebody,1950\n"));
    says(
        &doctor(&fly, "authority", "authority", &["--input", &odd]),
        2,
        &["odd.csv: 1 of 4 rows CANNOT BE FOUND", "odd.csv, line 5: cannot be read: dob"],
    );
    fly.home.file("desks.txt", "# none\n");
    says(&doctor(&fly, "authority", "authority", &[]), 2, &["MEND  desks", "no desk is listed, so no desk may ask"]);
    fly.home.file("desks.txt", "gate-1 nonsense\n");
    says(&doctor(&fly, "authority", "authority", &[]), 2, &["MEND  desks", "desks.txt, line 1"]);
}

#[test]
fn a_doctor_looks_at_a_desk() {
    let fly = Fly::new(TERMS, LIMITS, LIST);
    says(&doctor(&fly, "airline", "gate-1", &[]), 2, &["MEND  network", "authority: did not answer at"]);
    let _authority = fly.serve();
    let table = fly.home.file("flight.csv", "name,dob\nBeryn Bellquist,1948-05-21\n");
    says(
        &doctor(&fly, "airline", "gate-1", &["--input", &table]),
        0,
        &[
            "airline asks it",
            "1,000 keys, which is 1,000 rows",
            "answers at 127.0.0.1",
            "and lets this desk in",
            "as authority's (agreement ",
            "flight.csv: 1 row, of which 1 can be asked for",
        ],
    );
    let odd = fly.home.file("odd.csv", "name,dob\nBeryn Bellquist,\n");
    says(
        &doctor(&fly, "airline", "gate-1", &["--input", &odd]),
        2,
        &["1 cannot be asked for, the first in line 2: no value: dob"],
    );
    tacita(&["identity", "new", &fly.home.at("stranger")]).well();
    let own = tacita(&["identity", "show", &fly.home.at("stranger")]).well().stdout;
    let words = format!("this desk is not on the authority's list: ask authority to put its identity, {}", own.trim());
    says(&doctor(&fly, "airline", "stranger", &[]), 2, &["MEND  network", &words]);
    let other = fly.home.file("other.toml", &crate::common::text(&fly.job).replace("= 1000", "= 1001"));
    let fly = Fly { job: other, ..fly };
    says(&doctor(&fly, "airline", "gate-1", &[]), 2, &["MEND  terms", "limits.daily_queries"]);
}
