//! PostgreSQL as a storage: on a real server, that is killed, is not there, or is somebody else's.

mod killed;

use std::cell::Cell;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use chacha20::ChaCha20Rng;
use rand_core::SeedableRng;
use tacita_core::Error;

use super::super::suite::{self, groups, rows};
use super::super::{BatchOrigin, Ingested, OpenedReport, Storage, Totals};
use super::server::PostgresServer;
use super::{Change, Fault, Postgres, create, ingest, key};

fn refused(url: &str) -> String {
    let error = Postgres::open(url).unwrap_err();
    assert!(matches!(error, Error::Input(_) | Error::Network { .. }));
    let error = error.to_string();
    assert!(!error.contains('\n') && !error.contains("secret"), "{error}");
    error
}

/// A batch that is the same for the same number.
fn batch(number: u8) -> Vec<OpenedReport> {
    rows(&mut ChaCha20Rng::seed_from_u64(u64::from(number)), 500, 200, 64)
}

#[test]
fn a_server_does_what_every_storage_does() {
    let Some(server) = PostgresServer::start() else { return };
    suite::run(&|| super::super::open(&server.url("")).unwrap());
    a_server_is_reached_by_its_socket(&server);
    // Nothing is left of what was removed.
    assert_eq!(server.ask("SELECT count(*) FROM pg_class WHERE relname LIKE 'reports%'"), "0");
    for table in ["rounds", "batches", "claims", "records"] {
        assert_eq!(server.ask(&format!("SELECT count(*) FROM tacita.{table}")), "0");
    }
    several_open_a_new_schema_at_once(&server);
    whoever_comes_second_to_make_a_round_has_it(&server);
    several_bring_the_same_batches_at_once(&server);
    several_claim_the_same_batches_at_once(&server);
    a_commit_without_an_answer_is_found_again(&server);
    a_change_without_an_answer_is_found_again(&server);
    a_lease_is_of_one_until_it_lapses(&server);
    who_stops_amid_a_batch_does_not_hold_up_the_seal_for_long(&server);
    the_seal_waits_for_batches_that_are_going_in(&server);
    tables_of_the_first_version_become_those_of_this_one(&server);
    a_round_is_in_parts_by_its_keys(&server);
    what_passes_is_tried_again(&server);
    tables_of_a_newer_version_are_refused(&server);
    a_right_that_is_missing_is_named(&server);
    rounds_are_removed_while_others_are_read(&server);
}

#[test]
#[ignore = "slow: all that storages do, once more"]
fn a_server_does_by_its_socket_what_every_storage_does() {
    let Some(server) = PostgresServer::start() else { return };
    suite::run(&|| super::super::open(&server.socket_url("schema=by_socket")).unwrap());
}

fn a_server_is_reached_by_its_socket(server: &PostgresServer) {
    let open = || super::super::open(&server.socket_url("schema=by_socket")).unwrap();
    assert_eq!(open().ingest("r", &[1; 16], &batch(1)).unwrap(), Ingested::New);
    let storage = open();
    assert_eq!(storage.ingest("r", &[1; 16], &batch(1)).unwrap(), Ingested::Known);
    assert_eq!(groups(&*storage, "r").unwrap().values().map(Vec::len).sum::<usize>(), 500);
    storage.remove("r").unwrap();
}

/// Without another try, for which there may be no time left where the first has waited long for the other's commit.
fn whoever_comes_second_to_make_a_round_has_it(server: &PostgresServer) {
    let storage = Postgres::open(&server.url("schema=second")).unwrap();
    let make = || {
        let made = storage.pool.run(async |client| Ok(create(client, "r").await));
        made.unwrap().unwrap_or_else(|fault| panic!("{fault:?}"))
    };
    assert_eq!(make(), make());
}

fn several_open_a_new_schema_at_once(server: &PostgresServer) {
    std::thread::scope(|scope| {
        let open = || Postgres::open(&server.url("schema=at_once")).map(drop);
        let all = [0; 6].map(|_| scope.spawn(open));
        all.into_iter().for_each(|one| one.join().unwrap().unwrap());
    });
    assert_eq!(server.ask("SELECT count(*) = max(version) FROM at_once.migrations"), "t");
}

fn several_bring_the_same_batches_at_once(server: &PostgresServer) {
    let fronts = [0; 3].map(|_| Postgres::open(&server.url("schema=fronts")).unwrap());
    let bring = |front: &Postgres, number: u8| front.ingest("r", &[number; 16], &batch(number)).unwrap();
    let new = std::thread::scope(|scope| {
        let all = fronts
            .iter()
            .flat_map(|front| [front, front])
            .map(|front| scope.spawn(move || (0..8).filter(|number| bring(front, *number) == Ingested::New).count()));
        all.collect::<Vec<_>>().into_iter().map(|one| one.join().unwrap()).sum::<usize>()
    });
    assert_eq!(new, 8);
    assert_eq!(fronts[0].totals("r").unwrap(), Totals { batches: 8, reports: 4000, dropped: 0 });
    assert_eq!(groups(&fronts[1], "r").unwrap().values().map(Vec::len).sum::<usize>(), 4000);
    // Two orders of rows are made at once.
    fronts[0].ingest("s", &[1; 16], &batch(1)).unwrap();
    std::thread::scope(|scope| {
        let read = |front| groups(front, "s").unwrap().values().map(Vec::len).sum::<usize>();
        let all = fronts.each_ref().map(|front| scope.spawn(move || read(front)));
        all.into_iter().for_each(|one| assert_eq!(one.join().unwrap(), 500));
    });
}

fn several_claim_the_same_batches_at_once(server: &PostgresServer) {
    let fronts = [0; 3].map(|_| Postgres::open(&server.url("schema=claims")).unwrap());
    let claims: Vec<[u8; 16]> = (0..200).map(|number| [number; 16]).collect();
    let backwards: Vec<[u8; 16]> = claims.iter().rev().copied().collect();
    let mut own = std::thread::scope(|scope| {
        let claim = |place: usize| {
            fronts[place].claim("r", place as u32, &[], [&claims, &backwards][place % 2]).unwrap().unwrap()
        };
        let all = [0, 1, 2].map(|place| scope.spawn(move || claim(place)));
        all.map(|one| one.join().unwrap())
    });
    own[1].reverse();
    for place in 0..claims.len() {
        assert_eq!(own.iter().filter(|one| one[place]).count(), 1, "{place}");
    }
}

fn a_commit_without_an_answer_is_found_again(server: &PostgresServer) {
    let storage = Postgres::open(&server.url("schema=answers")).unwrap();
    let (rows, other) = (batch(1), batch(2));
    storage.put("r", "state", b"open").unwrap();
    let first = ingest::Batch::new(BatchOrigin::default(), &[1; 16], &rows).unwrap();
    let again = |batch: &ingest::Batch<'_>| {
        let taken = storage.pool.run(async |client| batch.ingest(client, &key("r")).await);
        taken.unwrap().unwrap()
    };
    // The same attempt, which does not know that it was made.
    assert_eq!([again(&first), again(&first)], [Ingested::New; 2]);
    assert_eq!(again(&ingest::Batch::new(BatchOrigin::default(), &[1; 16], &rows).unwrap()), Ingested::Known);
    assert_eq!(again(&ingest::Batch::new(BatchOrigin::default(), &[1; 16], &other).unwrap()), Ingested::Conflict);
    assert_eq!(groups(&storage, "r").unwrap().values().map(Vec::len).sum::<usize>(), 500);
}

fn a_change_without_an_answer_is_found_again(server: &PostgresServer) {
    let storage = Postgres::open(&server.url("schema=changes")).unwrap();
    let change = |expected, new| Change { round: "r", name: "state", expected, new, beside: &[] };
    let open = change(None, b"open");
    assert!(storage.change_as(b"one", &open).unwrap() && storage.change_as(b"one", &open).unwrap());
    // Another one's, that has the same outcome.
    assert!(!storage.change_as(b"other", &open).unwrap());
    let close = change(Some(b"open"), b"closed");
    assert!(storage.change_as(b"two", &close).unwrap() && storage.change_as(b"two", &close).unwrap());
    assert!(!storage.change_as(b"other", &close).unwrap());
    storage.put("r", "state", b"closed").unwrap();
    assert!(!storage.change_as(b"two", &close).unwrap());
}

fn a_lease_is_of_one_until_it_lapses(server: &PostgresServer) {
    let fronts = [0; 2].map(|_| Postgres::open(&server.url("schema=leases")).unwrap());
    let lease = |front: usize, name: &str, seconds| {
        fronts[front].lease(name, &[front as u8; 16], Duration::from_secs(seconds)).unwrap()
    };
    assert!(lease(0, "work", 600) && !lease(1, "work", 600));
    assert!(lease(1, "other work", 600) && lease(0, "work", 0));
    let begun = Instant::now();
    while !lease(1, "work", 600) {
        assert!(begun.elapsed() < Duration::from_secs(60));
    }
    assert!(!lease(0, "work", 600) && lease(1, "work", 600));
    // Of several who come at once, one has it.
    let had = std::thread::scope(|scope| {
        let all = [0, 1, 0, 1].map(|front| (front, scope.spawn(move || lease(front, "new", 600))));
        let had = all.into_iter().filter_map(|(front, one)| one.join().unwrap().then_some(front));
        had.collect::<BTreeSet<_>>()
    });
    assert_eq!(had.len(), 1);
}

fn who_stops_amid_a_batch_does_not_hold_up_the_seal_for_long(server: &PostgresServer) {
    let storage = Postgres::open(&server.url("schema=stopped")).unwrap();
    storage.ingest("r", &[1; 16], &batch(1)).unwrap();
    let mut lease = storage.pool.wait(storage.pool.lease()).unwrap();
    let transaction = storage.pool.wait(lease.client.transaction()).unwrap();
    let hold = "SELECT FROM rounds WHERE key = $1 FOR SHARE";
    storage.pool.wait(transaction.query_typed(hold, &[(&key("r"), tokio_postgres::types::Type::BYTEA)])).unwrap();
    // The server ends it.
    storage.seal("r").unwrap();
    assert_eq!(storage.ingest("r", &[2; 16], &batch(2)).unwrap(), Ingested::Sealed);
    storage.pool.wait(transaction.rollback()).unwrap_err();
}

fn the_seal_waits_for_batches_that_are_going_in(server: &PostgresServer) {
    let storage = Postgres::open(&server.url("schema=waits")).unwrap();
    storage.ingest("r", &[1; 16], &batch(1)).unwrap();
    let mut going_in = server.session("BEGIN; SELECT FROM waits.rounds FOR SHARE");
    std::thread::scope(|scope| {
        let seal = scope.spawn(|| storage.seal("r"));
        let waiting =
            "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%sealed = true%'";
        while server.ask(waiting) == "0" {
            assert!(!seal.is_finished());
        }
        going_in.end();
        seal.join().unwrap().unwrap();
    });
}

fn what_passes_is_tried_again(server: &PostgresServer) {
    let storage = Postgres::open(&server.url("schema=again")).unwrap();
    for (condition, helps) in [
        ("serialization_failure", true),
        ("deadlock_detected", true),
        ("lock_not_available", true),
        ("admin_shutdown", true),
        ("disk_full", false),
        ("raise_exception", false),
    ] {
        let calls = Cell::new(0);
        let done = storage.pool.run(async |client| {
            calls.set(calls.get() + 1);
            if calls.get() <= 2 {
                client.batch_execute(&format!("DO $$BEGIN RAISE {condition}; END$$")).await?;
            }
            Ok(())
        });
        assert_eq!((done.is_ok(), calls.get()), if helps { (true, 3) } else { (false, 1) }, "{condition}: {done:?}");
    }
    // Not without end.
    let begun = Instant::now();
    let never = storage.pool.run::<()>(async |_| Err(Fault::Again("in the way".into())));
    assert!(never.unwrap_err().to_string().contains("in the way"));
    assert!((4..8).contains(&begun.elapsed().as_secs()), "{:?}", begun.elapsed());
}

fn tables_of_the_first_version_become_those_of_this_one(server: &PostgresServer) {
    let storage = Postgres::open(&server.url("schema=old")).unwrap();
    storage.ingest("r", &[1; 16], &batch(1)).unwrap();
    storage.put("r", "state", b"open").unwrap();
    drop(storage);
    server.ask(
        "ALTER TABLE old.rounds DROP COLUMN sealed, DROP COLUMN parts; ALTER TABLE old.records DROP COLUMN attempt; \
         ALTER TABLE old.batches DROP COLUMN dropped, DROP COLUMN proxy; \
         DROP TABLE old.leases, old.claims; DELETE FROM old.migrations WHERE version > 1; \
         CREATE TABLE old.whole (LIKE old.reports_1); INSERT INTO old.whole SELECT * FROM old.reports_1; \
         DROP TABLE old.reports_1; ALTER TABLE old.whole RENAME TO reports_1",
    );
    let storage = Postgres::open(&server.url("schema=old")).unwrap();
    assert!(storage.change("r", "state", Some(b"open"), b"closed", &[]).unwrap());
    storage.seal("r").unwrap();
    assert_eq!(storage.ingest("r", &[1; 16], &batch(1)).unwrap(), Ingested::Known);
    assert_eq!(storage.ingest("r", &[2; 16], &batch(2)).unwrap(), Ingested::Sealed);
    assert_eq!(groups(&storage, "r").unwrap().values().map(Vec::len).sum::<usize>(), 500);
    storage.clear("r", "state", b"removed").unwrap();
    assert!(groups(&storage, "r").unwrap().is_empty());
}

fn a_round_is_in_parts_by_its_keys(server: &PostgresServer) {
    let storage = Postgres::open(&server.url("schema=parts")).unwrap();
    for number in 0..8 {
        let rows = rows(&mut ChaCha20Rng::seed_from_u64(u64::from(number)), 500, u32::MAX, 64);
        storage.ingest("r", &[number; 16], &rows).unwrap();
    }
    let sizes = server
        .ask("SELECT string_agg(n::text, ' ') FROM (SELECT count(*) AS n FROM parts.reports_1 GROUP BY tableoid) AS s");
    let sizes: Vec<u32> = sizes.split(' ').map(|size| size.parse().unwrap()).collect();
    assert_eq!((sizes.len(), sizes.iter().sum::<u32>()), (16, 4000), "{sizes:?}");
    assert!(sizes.iter().all(|size| (50..500).contains(size)), "{sizes:?}");
    // They are read one after the other: nothing is sorted, and nothing merged.
    assert_eq!(groups(&storage, "r").unwrap().values().map(Vec::len).sum::<usize>(), 4000);
    let plan = server.ask(
        "SET search_path = parts; SET enable_seqscan = off; SET enable_sort = off; \
         EXPLAIN SELECT row_id, tag FROM reports_1 WHERE row_id > '\\x1234' ORDER BY row_id, batch, place",
    );
    assert_eq!(plan.matches("Index Scan").count(), 15, "{plan}");
    assert!(!plan.contains("Merge") && !plan.contains("Sort"), "{plan}");
}

fn tables_of_a_newer_version_are_refused(server: &PostgresServer) {
    drop(Postgres::open(&server.url("schema=newer")).unwrap());
    server.ask("INSERT INTO newer.migrations (version) VALUES (1000)");
    let error = refused(&server.url("schema=newer"));
    assert!(error.contains("of version 1000") && error.contains("newer program"), "{error}");
}

fn a_right_that_is_missing_is_named(server: &PostgresServer) {
    server.ask("CREATE ROLE guest LOGIN");
    let url = |schema: &str| server.url(&format!("schema={schema}")).replace("tester", "guest");
    let error = refused(&url("guests"));
    assert!(error.contains("lacks a right") && error.contains("CREATE"), "{error}");
    // Its own schema is enough.
    server.ask("CREATE SCHEMA guests AUTHORIZATION guest");
    let storage = Postgres::open(&url("guests")).unwrap();
    assert_eq!(storage.ingest("r", &[1; 16], &batch(1)).unwrap(), Ingested::New);
    assert_eq!(groups(&storage, "r").unwrap().values().map(Vec::len).sum::<usize>(), 500);
}

fn rounds_are_removed_while_others_are_read(server: &PostgresServer) {
    let storage = Postgres::open(&server.url("schema=removal")).unwrap();
    storage.ingest("read", &[1; 16], &batch(1)).unwrap();
    storage.ingest("gone", &[1; 16], &batch(1)).unwrap();
    let mut rows = 0;
    storage
        .groups("read", None, &mut |_, _| {
            if rows == 0 {
                storage.remove("gone")?;
            }
            rows += 1;
            Ok(std::ops::ControlFlow::Continue(()))
        })
        .unwrap();
    assert!(rows > 100);
    assert_eq!(storage.rounds().unwrap(), ["read"]);
}

#[test]
fn only_the_server_of_that_name_gets_a_password_and_only_who_has_it_gets_in() {
    let Some(mut server) = PostgresServer::start() else { return };
    server.ask("CREATE ROLE me LOGIN PASSWORD 'a secret'");
    server.ask("CREATE SCHEMA tacita AUTHORIZATION me");
    let made =
        ["localhost", "elsewhere.example"].map(|name| rcgen::generate_simple_self_signed([name.to_owned()]).unwrap());
    let home = tempfile::tempdir().unwrap();
    let [own, other] = ["own.pem", "other.pem"].map(|name| home.path().join(name));
    std::fs::write(&own, made[0].cert.pem()).unwrap();
    std::fs::write(&other, made[1].cert.pem()).unwrap();
    let port = server.port();
    let mut serve = |place: usize| {
        server.end_at_once();
        server.file("server.crt", &made[place].cert.pem());
        server.file("server.key", &made[place].signing_key.serialize_pem());
        server.file("pg_hba.conf", "hostssl all me all scram-sha-256\nhost all tester all trust\n");
        server.file("postgresql.auto.conf", "ssl = on\n");
        server.start_again();
    };
    serve(0);
    let url = |password: &str, root: &std::path::Path| {
        format!("postgresql://me:{password}@localhost:{port}/postgres?sslrootcert={}", root.display())
    };
    let storage = Postgres::open(&url("a%20secret", &own)).unwrap();
    assert_eq!(storage.ingest("r", &[1; 16], &batch(1)).unwrap(), Ingested::New);
    assert!(!format!("{storage:?}").contains("secret"));
    for (url, part) in [
        (url("no%20secret", &own), "does not let this user in"),
        (url("a%20secret", &other), "TLS"),
        (format!("postgresql://me:a%20secret@localhost:{port}/postgres"), "does not let this user in"),
        (format!("postgresql://me:a%20secret@localhost:{port}/none?sslrootcert={}", own.display()), "does not exist"),
        (format!("postgresql://me@localhost:{port}/postgres?sslrootcert={}", own.display()), "password missing"),
    ] {
        let error = refused(&url);
        assert!(error.contains(part), "{error}");
    }
    // A certificate of an issuer that is trusted, for another name.
    drop(storage);
    serve(1);
    let error = refused(&url("a%20secret", &other));
    assert!(error.contains("TLS"), "{error}");
}

/// Batches that the standby lacks are new to it, and the others known.
#[test]
fn a_standby_that_takes_over_has_what_had_come_to_it() {
    let Some(mut primary) = PostgresServer::start() else { return };
    let storage = Postgres::open(&primary.url("")).unwrap();
    let bring = |number: u8| storage.ingest("r", &[number; 16], &batch(number)).unwrap();
    assert_eq!(bring(1), Ingested::New);
    let mut standby = primary.standby();
    standby.end_at_once();
    assert_eq!(bring(2), Ingested::New);
    primary.end_at_once();
    standby.take_over(&primary);
    assert_eq!(storage.totals("r").unwrap(), Totals { batches: 1, reports: 500, dropped: 0 });
    assert_eq!([bring(1), bring(2)], [Ingested::Known, Ingested::New]);
}
