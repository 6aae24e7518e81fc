//! Several databases that share a storage: any of them may be away, or taken for dead while it is not.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use super::stored::server::PostgresServer;
use super::world::{ROUND, World, made, over};
use crate::common::{Ended, tacita};

const DATABASES: [&str; 2] = ["database", "database-1"];

const LONG: Duration = Duration::from_secs(90);

/// A job with two databases.
struct Fronts {
    world: World,
    storage: String,
    server: PostgresServer,
}

impl Fronts {
    /// Nothing runs yet; nothing, where there is no PostgreSQL.
    fn new(names: &[&str], round: Value) -> Option<Fronts> {
        let server = PostgresServer::start()?;
        let world = World::of_several(&[("database", 2)], names, round, json!({}));
        world.home.directory("second");
        let storage = server.socket_url("");
        Some(Fronts { world, storage, server })
    }

    fn started(names: &[&str], round: Value) -> Option<Fronts> {
        let mut fronts = Fronts::new(names, round)?;
        DATABASES.iter().for_each(|role| fronts.start(role));
        // From then on either can go on without the other.
        let until = Instant::now() + LONG;
        while !DATABASES.iter().any(|role| fronts.world.role(role).said().contains("has the secret from")) {
            assert!(Instant::now() < until, "the secret is at one of them alone");
            std::thread::sleep(Duration::from_millis(30));
        }
        ["proxy", "oracle"].iter().for_each(|role| fronts.world.start(role));
        Some(fronts)
    }

    fn start(&mut self, database: &'static str) {
        self.world.start_with(database, &["--storage", &self.storage]);
    }

    fn submit(&self, place: usize, items: &[String]) {
        let items: Vec<&str> = items.iter().map(String::as_str).collect();
        self.world.submit_with(&self.world.names[place].clone(), &items, &[]).well();
    }

    /// Runs an action of the second database's operator, who reaches that database alone.
    fn operate_second(&self, action: &str, round: &str) -> Ended {
        let home = &self.world.home;
        std::fs::copy(home.at("addresses/database-2"), home.at("second/database-2")).unwrap();
        let (id, addresses) = (home.at("id-database-1"), home.at("second"));
        tacita(&[
            "round",
            action,
            &self.world.job(),
            "--identity",
            &id,
            "--announce",
            &addresses,
            "--round",
            round,
            "--json",
        ])
    }

    /// The same as JSON, without what only one of them sees: when proxies were heard of.
    fn status_of(&self, second: bool, round: &str) -> Value {
        let told = if second {
            self.operate_second("status", round)
        } else {
            self.world.operate("status", round, &["--json"])
        };
        let mut status: Value = serde_json::from_str(&told.well().stdout).unwrap();
        status.as_object_mut().unwrap().remove("waits_for");
        status
    }

    /// The round's record, whoever answers.
    fn record(&self) -> Value {
        let record = "SELECT convert_from(value, 'UTF8') FROM tacita.records WHERE name = 'round'";
        serde_json::from_str(&self.server.ask(record)).unwrap_or_default()
    }

    #[track_caller]
    fn until(&self, what: &str, holds: impl Fn(&Fronts) -> bool) {
        let until = Instant::now() + LONG;
        while !holds(self) {
            assert!(Instant::now() < until, "{what}: {}", self.record());
            std::thread::sleep(Duration::from_millis(30));
        }
    }

    #[track_caller]
    fn until_state(&self, state: &str) {
        self.until(state, |fronts| fronts.record()["state"] == state);
    }

    /// The result as it is got while the other database is away, from each.
    #[track_caller]
    fn results(&mut self) -> [BTreeMap<String, u64>; 2] {
        [DATABASES[1], DATABASES[0]].map(|away| {
            self.world.kill(away);
            let result = self.world.collected("a", ROUND);
            self.start(away);
            result
        })
    }
}

fn batches(fronts: &Fronts) -> u64 {
    fronts.server.ask("SELECT count(*) FROM tacita.batches").parse().unwrap()
}

/// The table of the only round's reports.
fn table(fronts: &Fronts) -> String {
    let named = "SELECT 'tacita.' || relname FROM pg_class WHERE relname LIKE 'reports%' AND relkind = 'p'";
    fronts.server.ask(named)
}

#[test]
fn each_of_two_databases_is_killed_in_turn_and_the_result_is_whole() {
    let names = ["a", "b", "c"];
    let Some(mut fronts) =
        Fronts::started(&names, json!({ "min_participants": 2, "batch_size": 20, "max_share": 0.9 }))
    else {
        return;
    };
    let (items, counts) = made(names.len(), 200);
    // Entries come while one is away, then the other, in batches that leave while the round is open.
    for (place, away) in [(0, DATABASES[1]), (1, DATABASES[0]), (2, DATABASES[1])] {
        fronts.world.kill(away);
        let before = batches(&fronts);
        fronts.submit(place, &items[place]);
        // Those of the last one alone cannot be shuffled before the close.
        if place == 1 {
            fronts.until("batches", |fronts| batches(fronts) > before);
        }
        fronts.start(away);
    }
    // The oracle answers nothing for the time being: the reveal does not end.
    fronts.world.role("oracle").signal(Signal::STOP);
    // Neither does the count, as long as this holds the table.
    let mut held = fronts.server.session(&format!("BEGIN; LOCK TABLE {} IN ACCESS SHARE MODE", table(&fronts)));
    fronts.world.operate("close", ROUND, &[]).well();
    for away in DATABASES {
        let waiting = "SELECT count(*) FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND NOT granted";
        fronts.until("the count", |fronts| fronts.server.ask(waiting) != "0");
        fronts.world.kill(away);
        if away == DATABASES[0] {
            fronts.start(away);
        }
    }
    // One is left, and counts, whichever had begun to.
    held.end();
    fronts.until_state("revealing");
    fronts.start(DATABASES[1]);
    fronts.world.kill(DATABASES[0]);
    assert_eq!(fronts.record()["state"], "revealing");
    fronts.world.role("oracle").signal(Signal::CONT);
    fronts.until_state("revealed");
    fronts.start(DATABASES[0]);
    let expected = over(&counts, 2);
    assert_eq!(fronts.results(), [expected.clone(), expected]);
    assert_eq!(fronts.status_of(false, ROUND), fronts.status_of(true, ROUND));
}

#[test]
fn a_database_that_was_taken_for_dead_changes_nothing_when_it_wakes() {
    let names = ["a", "b"];
    let Some(mut fronts) = Fronts::new(&names, json!({ "min_participants": 2 })) else { return };
    fronts.start("database");
    ["proxy", "oracle"].iter().for_each(|role| fronts.world.start(role));
    let (items, counts) = made(names.len(), 100);
    (0..2).for_each(|place| fronts.submit(place, &items[place]));
    fronts.world.role("oracle").signal(Signal::STOP);
    fronts.world.operate("close", ROUND, &[]).well();
    fronts.until_state("revealing");
    // The first one waits for the oracle's answer. It sleeps, and the second one has the secret from it before.
    fronts.start("database-1");
    fronts.world.role("database-1").until_it_says("has the secret from");
    fronts.world.role("database").signal(Signal::STOP);
    fronts.world.role("oracle").signal(Signal::CONT);
    fronts.until_state("revealed");
    let all = "SELECT md5(string_agg(md5(value) || name::text, '' ORDER BY name)) FROM tacita.records";
    let before = fronts.server.ask(all);
    fronts.world.role("database").signal(Signal::CONT);
    // It answers again, and so has done what it was at.
    assert_eq!(fronts.world.status(ROUND)["state"], "revealed");
    assert_eq!(fronts.server.ask(all), before);
    let expected = over(&counts, 2);
    assert_eq!(fronts.results(), [expected.clone(), expected]);
}

#[test]
fn two_operators_open_one_round_at_once() {
    let names = ["a", "b"];
    let Some(mut fronts) = Fronts::started(&names, json!({ "min_participants": 2 })) else { return };
    for number in 0..4 {
        let round = format!("round-{number}");
        let ended = std::thread::scope(|scope| {
            let second = scope.spawn(|| fronts.operate_second("open", &round));
            [fronts.world.operate("open", &round, &[]), second.join().unwrap()]
        });
        ended.into_iter().for_each(|one| drop(one.well()));
        let [one, other] = [false, true].map(|second| fronts.status_of(second, &round)["database"].clone());
        assert!(one["public"].is_string() && one == other, "{one} {other}");
    }
    // Whichever key it is, both open what is encrypted under it.
    let round = "round-3";
    fronts.world.role("proxy").until_it_says("round round-3 takes reports");
    for name in names {
        let input = fronts.world.home.file(&format!("{name}.csv"), "item\nx\n");
        fronts.world.as_participant("submit", name, &["--round", round, "--input", &input]).end().well();
    }
    fronts.operate_second("close", round).well();
    fronts.world.until(round, &["revealed"]);
    assert_eq!(fronts.world.collected("a", round), BTreeMap::from([("x".into(), 2)]));
    // Each has the secret of its own; a round that is removed at one is removed at the other.
    let key = |database: &str| {
        let name: String = round.bytes().map(|byte| format!("{byte:02x}")).collect();
        std::path::PathBuf::from(fronts.world.home.at(&format!("state-{database}/database-{name}.key")))
    };
    fronts.until("keys", |_| DATABASES.iter().all(|database| key(database).exists()));
    fronts.operate_second("remove", round).well();
    assert_eq!(fronts.world.status(round)["state"], "removed");
    fronts.until("keys go", |_| DATABASES.iter().all(|database| !key(database).exists()));
    fronts.world.role("database").until_it_says("is open");
}

#[test]
fn a_round_that_is_removed_while_entries_come_stays_removed() {
    let names = ["a", "b", "c"];
    let Some(fronts) = Fronts::started(&names, json!({ "min_participants": 2, "batch_size": 20, "max_share": 0.9 }))
    else {
        return;
    };
    let (items, _) = made(names.len(), 2000);
    std::thread::scope(|scope| {
        for place in 0..names.len() {
            let (fronts, items) = (&fronts, &items[place]);
            // It may be told that the round is gone.
            scope.spawn(move || {
                let items: Vec<&str> = items.iter().map(String::as_str).collect();
                fronts.world.submit_with(&fronts.world.names[place].clone(), &items, &[])
            });
        }
        fronts.until("entries", |fronts| batches(fronts) > 3);
        fronts.operate_second("remove", ROUND).well();
    });
    assert_eq!(fronts.status_of(false, ROUND), fronts.status_of(true, ROUND));
    assert_eq!(fronts.world.status(ROUND)["state"], "removed");
    assert_eq!(batches(&fronts), 0);
    assert_eq!(fronts.server.ask(&format!("SELECT count(*) FROM {}", table(&fronts))), "0");
}

#[test]
fn several_databases_without_a_storage_that_they_can_share_are_refused() {
    let world = World::of_several(&[("database", 2)], &["a", "b"], json!({}), json!({}));
    let (job, id, state) = (world.job(), world.home.at("id-database"), world.home.at("state"));
    let embedded = format!("embedded:{}", world.home.at("rows"));
    let arguments = ["database", &job, "--identity", &id, "--state", &state, "--listen", "127.0.0.1:0"];
    for more in [&[][..], &["--storage", &embedded]] {
        tacita(&[&arguments[..], more].concat()).failed(2, &["2 [[database]]", "--storage postgresql://"]);
        let file = world.home.file("saved", "");
        let restore =
            ["round", "restore", &job, "--round", ROUND, "--identity", &id, "--state", &state, "--file", &file];
        tacita(&[&restore[..], more].concat()).failed(2, &["2 [[database]]", "--storage postgresql://"]);
    }
    // Nothing was made for it.
    assert!(![state.as_str(), &world.home.at("rows")].iter().any(|made| std::path::Path::new(made).exists()));
    let other = world.home.directory("state-of-a-proxy");
    std::fs::write(world.home.at("state-of-a-proxy/role"), "proxy").unwrap();
    let shared = ["--storage", "postgresql://me@127.0.0.1/rounds"];
    let arguments = ["database", &job, "--identity", &id, "--state", &other, "--listen", "127.0.0.1:0"];
    tacita(&[&arguments[..], &shared].concat()).failed(2, &["is the state directory of a service `proxy`"]);
    let input = world.home.file("a.csv", "item\nx\n");
    let [a, b] = ["a", "b"].map(|name| format!("{name}={input}"));
    tacita(&["simulate", &job, "--input", &a, "--input", &b]).failed(2, &["2 [[database]]", "--storage postgresql://"]);
}

#[test]
fn a_simulation_has_several_databases_and_leaves_nothing_in_their_storage() {
    simulated_with_several_databases(1);
}

#[test]
#[ignore = "slow: waits for three databases twice"]
fn a_second_simulation_in_the_same_storage_leaves_nothing_there_either() {
    simulated_with_several_databases(2);
}

fn simulated_with_several_databases(times: usize) {
    let Some(server) = PostgresServer::start() else { return };
    let world = World::of_several(&[("database", 3)], &["a", "b"], json!({}), json!({}));
    let input = world.home.file("a.csv", "item\nx\n");
    let [a, b] = ["a", "b"].map(|name| format!("{name}={input}"));
    let report = world.home.at("report.json");
    for _ in 0..times {
        let ended = tacita(&[
            "simulate",
            &world.job(),
            "--input",
            &a,
            "--input",
            &b,
            "--storage",
            &server.socket_url(""),
            "--force",
            "--output",
            &world.home.at("out"),
            "--report",
            &report,
        ]);
        ended.well();
        assert_eq!(super::world::rows(&world.home.at("out/a.csv"))[0][..2], ["x", "2"]);
        let roles: Value = crate::common::json(&report);
        assert_eq!(roles["roles"].as_object().unwrap().keys().filter(|role| role.starts_with("database")).count(), 3);
        assert_eq!(server.ask("SELECT count(*) FROM tacita.rounds"), "0");
    }
}
