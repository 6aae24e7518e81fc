//! Everyday mistakes: each is told in one line that says what to do.

use crate::common::{Ended, Home, tacita};

const KEY: &str = "[key]\ncolumns = [\"id\"]\n";

/// A simulation of a job with two small tables, whose ids are written in two ways if `alike` is not set.
fn simulate(terms: &str, alike: bool) -> Ended {
    let home = Home::new();
    let job = home.file("job.toml", &format!("id = \"t\"\n{terms}\n[parties.a]\n[parties.b]\n"));
    let a = home.file("a.csv", "id,value\n1.0,1\n2.0,0\n3.0,1\n");
    let b = home.file("b.csv", if alike { "id,value\n3.0,1\n2.0,1\n" } else { "id,value\n1,1\n2,1\n3,1\n" });
    tacita(&["simulate", &job, "--input", &format!("a={a}"), "--input", &format!("b={b}")])
}

/// Nothing in common is a result, and often a mistake: how the own keys look is said, and no value.
#[test]
fn keys_that_are_written_in_two_ways_are_hinted_at() {
    let rows = "job = \"intersect\"\nreveal_to = [\"a\", \"b\"]";
    let count = "job = \"intersect\"\nreveal = \"count\"\nreveal_to = [\"a\"]";
    let dot = "job = \"dot\"\nreveal_to = [\"a\"]\nrow_id = [\"id\"]";
    for terms in [format!("{rows}\n{KEY}"), format!("{count}\n{KEY}"), dot.to_owned()] {
        let ended = simulate(&terms, false);
        assert!(ended.stderr.contains("a: no key is common"), "{terms}: {}", ended.stderr);
        assert!(ended.stderr.contains("id (none) mostly like \"9.9\""), "{terms}: {}", ended.stderr);
        assert!(!ended.stderr.contains("1.0"), "{}", ended.stderr);
        ended.well();
        let ended = simulate(&terms, true);
        assert!(!ended.stderr.contains("no key is common"), "{terms}: {}", ended.stderr);
    }
    // Where small numbers are held back, nothing is said of them.
    let ended = simulate(&format!("{count}\n{KEY}[limits]\nmin_result = 5\n"), false);
    assert!(!ended.stderr.contains("no key"), "{}", ended.stderr);
}

/// One long text among many short ones.
#[test]
fn a_text_that_makes_all_rows_long_is_named() {
    let home = Home::new();
    let terms = "job = \"intersect\"\nreveal = \"payload\"\nreveal_to = [\"a\"]\ngives = { b = [\"note\"] }";
    let job = home.file("job.toml", &format!("id = \"t\"\n{terms}\n{KEY}[parties.a]\n[parties.b]\n"));
    let a = home.file("a.csv", "id\n1\n");
    let plan = |longest: usize| {
        let rows: String = (0..5000).map(|row| format!("{row},x\n")).collect();
        let b = home.file("b.csv", &format!("id,note\n{rows}long,{}\n", "y".repeat(longest)));
        tacita(&["plan", &job, "--input", &format!("a={a}"), "--input", &format!("b={b}")])
    };
    let ended = plan(20_000);
    for words in ["b.csv, line 5002", "\"note\"", "20,000 bytes", "100 MB more"] {
        assert!(ended.stderr.contains(words), "{words}: {}", ended.stderr);
    }
    assert!(!plan(2_000).stderr.contains("longest"));
}

#[test]
fn what_would_do_nothing_is_refused() {
    let rows = "job = \"intersect\"\nreveal_to = [\"a\"]";
    simulate(&format!("{rows}\ngives = {{ b = [\"value\"] }}\n{KEY}"), true).failed(2, &["gives", "payload"]);
    for limit in ["max_queries", "max_clients"] {
        let words = [&format!("limits.{limit}"), "tacita prepare"];
        simulate(&format!("{rows}\n{KEY}[limits]\nmax_rows = 9\n{limit} = 9\n"), true).failed(2, &words);
    }
}

#[test]
fn an_address_to_listen_on_has_a_port() {
    let home = Home::new();
    let table = home.file("a.csv", "id\n1\n");
    ["id", "peer"].into_iter().for_each(|name| drop(tacita(&["identity", "new", &home.at(name)]).well()));
    let pin = tacita(&["identity", "show", &home.at("peer")]).stdout;
    for address in ["7400", "localhost", "localhost:"] {
        let options = ["--identity", &home.at("id"), "--input", &table, "--key", "id", "--receiver", "peer"];
        tacita(&[&["intersect", "--listen", address, "--peer", pin.trim()][..], &options].concat())
            .failed(2, &[address, ":PORT"]);
    }
}

/// A hidden command is nobody's typo.
#[test]
fn a_typo_is_answered_with_a_command_for_people() {
    for typo in ["simulated", "simulat", "simulated-part"] {
        let ended = tacita(&[typo]);
        assert!(ended.stderr.contains("'simulate'") && !ended.stderr.contains("simulated-party"), "{}", ended.stderr);
        ended.failed(2, &[typo]);
    }
}

/// A warning on the own terminal shows the first value that cannot be read; a log that machines collect does not.
#[test]
fn the_log_of_a_simulation_shows_no_value() {
    let home = Home::new();
    let key = "[key]\ncolumns = [\"id\"]\nnormalize = [\"date\"]\n";
    let job = "job = \"intersect\"\nid = \"t\"\nreveal_to = [\"a\"]\n";
    let job = home.file("job.toml", &format!("{job}{key}[parties.a]\n[parties.b]\n"));
    let a = home.file("a.csv", "id\n2001-02-03\nabracadabra\n2001-02-05\n");
    let inputs = [format!("a={a}"), format!("b={a}")];
    let said = |log: &str| {
        tacita(&["simulate", &job, "--input", &inputs[0], "--input", &inputs[1], "--log", log]).well().stderr
    };
    for (log, shown) in [("text", true), ("json", false)] {
        let said = said(log);
        assert_eq!(said.contains("abracadabra"), shown, "{said}");
        assert!(said.contains("a: ") && said.contains("the first in line 3"), "{said}");
    }
    // Errors come through as they are.
    let empty = home.file("empty.csv", "");
    let ended = tacita(&["simulate", &job, "--input", &format!("a={empty}"), "--input", &inputs[1], "--log", "json"]);
    assert!(
        ended.code == 2 && ended.stderr.contains("\"level\":\"ERROR\"") && ended.stderr.contains("is empty"),
        "{ended:?}"
    );
}
