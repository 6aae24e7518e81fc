//! A server that is killed, or away for a while.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use chacha20::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

use super::super::super::suite::groups;
use super::super::super::{Storage, Totals};
use super::super::Postgres;
use super::super::server::PostgresServer;
use super::{batch, refused};

#[test]
fn a_server_that_is_killed_has_every_batch_once() {
    killed(60, 2);
}

#[test]
#[ignore = "slow: more batches, and six times killed"]
fn a_server_that_is_killed_often_has_every_batch_once() {
    killed(200, 6);
}

/// Puts in so many batches while their server is ended and started again.
fn killed(batches: u8, most: u32) {
    let Some(mut server) = PostgresServer::start() else { return };
    let url = server.url("");
    let fronts = [0; 2].map(|_| Postgres::open(&url).unwrap());
    let mut seed = [0; 8];
    getrandom::fill(&mut seed).unwrap();
    println!("seed {seed:?}");
    let mut rng = ChaCha20Rng::seed_from_u64(u64::from_le_bytes(seed));
    let failures = std::thread::scope(|scope| {
        let bring = |front: &Postgres| {
            let mut failures = 0;
            for number in 0..batches {
                // As a proxy does, which sends a batch until it is told that it is there.
                while let Err(error) = front.ingest("r", &[number; 16], &batch(number)) {
                    failures += 1;
                    assert!(error.to_string().contains("does not answer"), "{error}");
                    std::thread::sleep(Duration::from_millis(20));
                }
            }
            failures
        };
        let all = fronts.each_ref().map(|front| scope.spawn(move || bring(front)));
        let mut kills = 0;
        while !all.iter().all(|one| one.is_finished()) {
            std::thread::sleep(Duration::from_millis(u64::from(rng.next_u32() % 400)));
            if kills < most {
                match kills % 2 {
                    0 => server.end_at_once(),
                    _ => server.kill(),
                }
                kills += 1;
                server.start_again();
            }
        }
        println!("{kills} kills");
        assert!(kills > 0);
        all.into_iter().map(|one| one.join().unwrap()).sum::<u32>()
    });
    println!("{failures} calls failed");
    let reports = 500 * u64::from(batches);
    assert_eq!(fronts[0].totals("r").unwrap(), Totals { batches: u64::from(batches), reports, dropped: 0 });
    let found = groups(&fronts[1], "r").unwrap();
    let tags = found.values().flatten().map(|stored| stored.tag).collect::<BTreeSet<_>>();
    assert_eq!([found.values().map(Vec::len).sum::<usize>(), tags.len()], [reports as usize; 2]);
    a_server_that_is_away_is_waited_for(&mut server, &fronts[0], reports as usize);
}

fn a_server_that_is_away_is_waited_for(server: &mut PostgresServer, storage: &Postgres, reports: usize) {
    server.end_at_once();
    let failed = |storage: &Postgres| {
        let begun = Instant::now();
        let error = storage.put("r", "state", b"x").unwrap_err().to_string();
        assert!(error.contains("PostgreSQL at 127.0.0.1:") && error.contains("does not answer"), "{error}");
        begun.elapsed().as_secs()
    };
    assert!((3..15).contains(&failed(storage)));
    // Others are not kept waiting.
    assert!(failed(storage) < 3);
    assert!(refused(&server.url("")).contains("does not answer"));
    server.start_again();
    storage.put("r", "state", b"x").unwrap();
    assert_eq!(storage.get("r", "state").unwrap().unwrap(), b"x");
    // One that is read when the server ends: an error, and no fewer reports.
    let mut read = 0;
    let broken = storage.groups("r", None, &mut |_, entries| {
        if read == 0 {
            server.end_at_once();
        }
        for entry in entries {
            entry?;
            read += 1;
        }
        Ok(std::ops::ControlFlow::Continue(()))
    });
    assert!(read < reports && broken.unwrap_err().to_string().contains("does not answer"));
    server.start_again();
    assert_eq!(groups(storage, "r").unwrap().values().map(Vec::len).sum::<usize>(), reports);
}
