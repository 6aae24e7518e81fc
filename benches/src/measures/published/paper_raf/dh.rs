//! A round by `dh`, which has no transfers, and what it takes.

use tacita_core::protocol::aggregate::{
    DatabaseKey, Params, ProxyKey, RevealThreshold, RoundKeys, RowAnswer, answer, ask, blind, open, report,
};

use crate::measures::published::paper_raf::VALUES;
use crate::measures::published::paper_raf::run::{Taken, entries, milliseconds, rng, session};

/// Runs all roles, with this many different keys of one participant.
pub fn run(key_bytes: usize, count: usize) -> Taken {
    let params = Params::new(session("bench"), key_bytes, VALUES, true).expect("parameters");
    let (proxy, database) = (ProxyKey::generate(&params, &mut rng(1)), DatabaseKey::generate(&params, &mut rng(2)));
    let (public, other) = (database.public(&params, &mut rng(3)), proxy.public(&params, &mut rng(4)));
    let keys = RoundKeys::new(&params, &public, &other, &mut rng(5)).expect("keys");
    let entries = entries(count, key_bytes, &mut rng(2));
    let (reports, participant) =
        milliseconds(|| report(&params, &keys, "bench", 0, &entries, &mut rng(6)).expect("pairs"));
    let (passed, proxying) =
        milliseconds(|| blind(&params, &keys, &proxy, "bench", 0, &reports, &mut rng(7)).expect("reports"));
    let (rows, opening) = milliseconds(|| open(&params, &database, &passed).expect("entries").rows);
    assert_eq!(rows.len(), count, "every key has its row");
    let sealed: Vec<&[u8]> = rows.iter().map(|row| &row.sealed[..]).collect();
    let (asked, asking) = milliseconds(|| ask(&params, &keys, &sealed, &mut rng(8)).expect("rows"));
    let told = count.min(50);
    let least = RevealThreshold { count: 1, distinct: 1 };
    let questions = || rows.iter().zip(asked.chunks(params.sealed_bytes())).zip(&entries).take(told);
    let ((), oracle) = milliseconds(|| {
        for ((row, sealed), entry) in questions() {
            let told = answer(&params, &proxy, &row.id, sealed, &[0], least).expect("a question");
            assert!(told == RowAnswer::Key(entry.key.clone()), "the oracle tells another key");
        }
    });
    Taken {
        setup: [0.0; 2],
        proxy: proxying,
        participant,
        database: opening,
        asking,
        oracle: oracle * count as f64 / told as f64,
        bytes: [0, reports.len() as u64],
    }
}
