//! Verdicts, while the list and its key change.

use std::path::PathBuf;

use crate::common::{examples, text};
use crate::desk::fly::{Fly, LIMITS, LIST, TERMS};

#[test]
fn a_list_is_asked_while_it_changes() {
    let fly = Fly::new(TERMS, LIMITS, LIST);
    let _authority = fly.serve();
    let (one, other) = (fly.desk("gate-1"), fly.desk("gate-2"));
    assert!(one.check("beryn bellquist", "21 May 1948", "r1").contains("On the list"));
    assert!(one.check("Beryn Bellquist", "1948-05-22", "r2").contains("Not on the list"));
    let unread = one.check("Beryn Bellquist", "21 Mai 48", "r3");
    assert!(unread.contains("Not checked") && unread.contains("cannot be read: dob"), "{unread}");
    assert!(one.check("", "1948-05-21", "r4").contains("Not checked"));

    // An addition is found at once, by every desk, though none fetches the table again.
    assert!(one.check("Wystan Thornquay", "1982-12-25", "r5").contains("Not on the list"));
    assert!(
        fly.change("--add", "\"THORNQUAY, Wystan\",1982-12-25\n\"O'Tarrin, Corvin\",17 Sep 2009\n")
            .contains("added 1 row; 1 there already; 4 on the list")
    );
    assert!(one.check("Wystan Thornquay", "1982-12-25", "r6").contains("On the list"));
    assert!(other.check("THORNQUAY/WYSTAN", "19821225", "r7").contains("On the list"));
    // So is a removal; what is not there is left out.
    assert!(
        fly.change("--remove", "\"Thornquay, Wystan\",1982-12-25\nnobody,2000-01-01\n")
            .contains("removed 1 row; 1 not there; 3 on the list")
    );
    assert!(one.check("Wystan Thornquay", "1982-12-25", "r8").contains("Not on the list"));
    assert_eq!((one.standing()["fetched"].as_u64(), other.standing()["fetched"].as_u64()), (Some(1), Some(1)));
    let next_key = || fly.tell(&["--status"]).split("the next key at ").nth(1).unwrap()[..20].to_owned();
    let due = next_key();

    // A change of the key: the table is fetched again, and the quota is what it was.
    let left = one.left();
    assert_eq!(left, 1000 - 5);
    fly.tell(&["--rotate"]);
    assert!(one.check("Béryn BELLQUIST", "1948-05-21", "r9").contains("On the list"));
    assert_eq!((one.standing()["fetched"].as_u64(), one.left()), (Some(2), left - 1));
    assert_eq!(next_key(), due);

    // What is kept: each verdict, and nobody's name or date.
    let kept = text(fly.home.at("gate-1.jsonl"));
    assert_eq!(kept.lines().count(), 8);
    let first: serde_json::Value = serde_json::from_str(kept.lines().next().unwrap()).unwrap();
    assert_eq!(
        (&first["verdict"], &first["reference"], &first["by"][0]),
        (&"on the list".into(), &"r1".into(), &"name + dob".into())
    );
    let (desk, authority) = (one.running.stop().well(), _authority.stop().well());
    for said in [kept, desk.stdout, desk.stderr, authority.stdout, authority.stderr] {
        for secret in ["ellquist", "ELLQUIST", "hornquay", "HORNQUAY", "1948", "1982"] {
            assert!(!said.contains(secret), "{secret} in {said}");
        }
    }
    for file in ["state/list.sealed", "state/quotas.sealed"] {
        let bytes = std::fs::read(fly.home.at(file)).unwrap();
        assert!(!bytes.windows(9).any(|part| part == b"bellquist" || part == b"thornquay"), "{file}");
    }
}

/// Several keys for one row, in a batch, against what plain code finds.
#[test]
fn a_batch_of_the_example_finds_what_plain_code_does() {
    let set: PathBuf = examples().join("do-not-fly");
    let job = text(set.join("desk.toml"));
    let (terms, rest) = job.split_once("[limits]").unwrap();
    let (limits, _) = rest.split_once("[parties.authority]").unwrap();
    let fly = Fly::new(terms, &format!("[limits]{limits}"), &text(set.join("authority.csv")));
    let file = text(&fly.job).replace("[parties.airline]\n", "columns = { initials = \"name\" }\n[parties.airline]\ncolumns = { name = \"passenger\", initials = \"passenger\", dob = \"born\" }\n");
    std::fs::write(&fly.job, file).unwrap();
    let _authority = fly.serve();
    let desk = fly.desk("gate-1");
    let (page, verdicts) = desk.batch(&text(set.join("airline.csv")).replace("booking,", "ref,"));
    // expected/job holds the authority's entries that have booked: those, and their bookings by the names as they are
    // written.
    let expected = text(set.join("expected/payload/authority.csv"));
    let bookings: std::collections::BTreeSet<&str> = expected
        .lines()
        .skip(1)
        .filter_map(|line| line.split(',').find(|cell| cell.starts_with('B') && cell.len() == 5))
        .collect();
    assert!(!bookings.is_empty());
    let by_name: std::collections::BTreeSet<&str> = verdicts
        .lines()
        .skip(1)
        .filter(|line| line.contains(",on the list,") && line.contains("name + dob"))
        .map(|line| line.split(',').nth(1).unwrap())
        .collect();
    assert_eq!(by_name, bookings);
    assert_eq!(verdicts.lines().filter(|line| line.contains(",not checked,")).count(), 2);
    assert!(page.contains("178 of 180 checked, 2 NOT checked") && page.contains("2 not checked"), "{page}");
    // Two keys a row, of those that could be asked.
    assert_eq!(desk.left(), 20_000 - 2 * 178);
}

/// The key changes at its time though nothing was removed, or changed at all; the list goes on.
#[test]
fn the_key_changes_on_its_schedule_though_nothing_is_removed() {
    let fly = Fly::new(TERMS, &format!("{LIMITS}rotate_within = \"10s\"\n"), LIST);
    let _authority = fly.serve();
    let desk = fly.desk("gate-1");
    desk.until(|standing| standing["fetched"] == 2);
    assert!(desk.check("Zdenek Estervale", "1939-03-16", "").contains("On the list"));
    fly.change("--remove", "\"O'Tarrin, Corvin\",2009-09-17\n");
    assert!(desk.check("Corvin O'Tarrin", "2009-09-17", "").contains("Not on the list"));
}
