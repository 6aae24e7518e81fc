//! An authority that is killed, at any time: no wrong verdict, no quota lost or won, no table fetched again.

use rustix::process::Signal;

use crate::desk::fly::{Fly, LIMITS, LIST, TERMS};

#[test]
fn an_authority_that_is_killed_goes_on_where_it_was() {
    killed_as_often(&["One", "Two"]);
}

#[test]
#[ignore = "slow: killed four times"]
fn an_authority_that_is_killed_again_and_again_goes_on_where_it_was() {
    killed_as_often(&["One", "Two", "Three", "Four"]);
}

/// Kills the service after each of these names has been added.
fn killed_as_often(names: &[&str]) {
    let last = format!("Somebody {}", names.last().unwrap());
    let fly = Fly::new(TERMS, LIMITS, LIST);
    let mut authority = fly.serve();
    let desk = fly.desk("gate-1");
    fly.change("--add", "Wystan Thornquay,1982-12-25\n");
    assert!(desk.check("Wystan Thornquay", "1982-12-25", "").contains("On the list"));
    for (round, name) in (1..).zip(names) {
        assert!(desk.check("Zdeněk Estervale", "1939-03-16", "").contains("On the list"));
        fly.change("--add", &format!("Somebody {name},1982-12-25\n"));
        authority.signal(Signal::KILL);
        drop(authority);
        // The page says so, and checks nothing.
        let lost = desk.check("Zdeněk Estervale", "1939-03-16", "");
        assert!(lost.contains("Not checked") && lost.contains("did not answer"), "{lost}");
        let standing = desk.until(|standing| standing["connected"] == false);
        assert!(standing["text"].as_str().unwrap().contains("nothing can be checked now"), "{standing}");
        // It needs no table any more to go on.
        authority = fly.serve_with(&[]);
        authority.until_it_says("serving ");
        desk.until(|standing| standing["connected"] == true);
        let verdict = if round == names.len() as u64 { "On the list" } else { "Not on the list" };
        assert!(desk.check(&last, "1982-12-25", "").contains(verdict));
        assert!(desk.check("Wystan Thornquay", "1982-12-25", "").contains("On the list"));
        assert_eq!(desk.standing()["fetched"], 1);
        assert_eq!(desk.left(), 1000 - 1 - 3 * round);
    }
}

/// Killed again and again while a batch runs: what the ledger has charged is what was answered, and at most the portion
/// that was under way, which is asked again under the same mark.
#[test]
fn an_authority_that_is_killed_during_a_batch_charges_each_row_once() {
    let limits = "[limits]\npad_to = 200\ndaily_queries = 100_000\nmax_clients = 5\n";
    let fly = Fly::new(TERMS, limits, LIST);
    let mut authority = fly.serve();
    let desk = fly.desk("gate-1");
    let mut table = String::from("ref,name,dob\n");
    for row in 0..6000 {
        let name =
            if row % 1000 == 7 { "Corvin O'Tarrin,2009-09-17".into() } else { format!("Nobody x{row},1990-01-01") };
        table += &format!("r{row},{name}\n");
    }
    let answer = desk.upload(&table);
    let place = answer.headers.lines().find_map(|line| line.strip_prefix("location: ")).unwrap().to_owned();
    let mut kills = 0;
    let page = loop {
        let page = desk.get(&place).body;
        if page.contains("Done: ") {
            break page;
        }
        if kills < 3 {
            kills += 1;
            authority.signal(Signal::KILL);
            drop(authority);
            authority = fly.serve_with(&[]);
            authority.until_it_says("serving ");
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    };
    let number = |words: &str| -> u64 {
        let before = page.split("Done: ").nth(1).unwrap().split(words).next().unwrap();
        before.rsplit([' ', ':']).find(|word| !word.is_empty()).unwrap().parse().unwrap()
    };
    let (listed, clear, unchecked) = (number(" on the list"), number(" not on the list"), number(" not checked"));
    assert_eq!(listed + clear + unchecked, 6000, "{page}");
    let (_, verdicts) = ((), desk.get(&format!("{place}/verdicts.csv")).body);
    for line in verdicts.lines().skip(1) {
        let row: usize = line.split(',').next().unwrap().parse().unwrap();
        let expected = if (row - 1) % 1000 == 7 { ",on the list," } else { ",not on the list," };
        assert!(line.contains(expected) || line.contains(",not checked,"), "{line}");
    }
    // A portion whose answer never came may have been charged, if the authority was away for longer than the desk
    // waits.
    let charged = 100_000 - desk.left();
    assert!((listed + clear..=listed + clear + 128).contains(&charged), "{charged} of {}", listed + clear);
    if unchecked == 0 {
        assert_eq!(charged, 6000);
    }
}

/// To the last key, over a restart and a rotation, and for each desk on its own.
#[test]
fn quotas_are_exact() {
    let fly = Fly::new(TERMS, "[limits]\npad_to = 200\ndaily_queries = 10\nmax_queries = 10\n", LIST);
    let authority = fly.serve();
    let (one, other) = (fly.desk("gate-1"), fly.desk("gate-2"));
    for _ in 0..6 {
        assert!(one.check("Nobody", "2000-01-01", "").contains("Not on the list"));
    }
    authority.signal(Signal::KILL);
    drop(authority);
    let _authority = fly.serve();
    fly.tell(&["--rotate"]);
    for _ in 0..4 {
        assert!(one.check("Nobody", "2000-01-01", "").contains("Not on the list"));
    }
    let spent = one.check("Nobody", "2000-01-01", "");
    assert!(
        spent.contains("Not checked") && spent.contains("the quota is used up: 1 key is needed, and 0 are left"),
        "{spent}"
    );
    assert_eq!((one.left(), other.left()), (0, 10));
    // What is left is used, and no more.
    let (page, _) = other.batch(&format!("name,dob\n{}", "Nobody,2000-01-01\n".repeat(11)));
    assert!(page.contains("10 not on the list, 1 not checked") && page.contains("the quota is used up"), "{page}");
    assert_eq!(other.left(), 0);
    let (page, _) = other.batch(&format!("name,dob\n{}", "Nobody,2000-01-01\n".repeat(2)));
    assert!(page.contains("0 of 2 checked, 2 NOT checked") && page.contains("value=\"0\""), "{page}");
}
