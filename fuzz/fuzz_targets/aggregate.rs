//! Messages between the roles of an aggregation, and their stored secrets. Each is read or refused, and what is read
//! has the length that was agreed.

#![no_main]

use std::sync::LazyLock;

use chacha20::ChaCha20Rng;
use libfuzzer_sys::fuzz_target;
use rand_core::SeedableRng;
use tacita_core::protocol::aggregate::{
    DatabaseKey, Params, ProxyKey, RevealThreshold, RoundKeys, answer, ask, blind, open,
};
use tacita_core::protocol::published::aggregate::naor_reingold;
use tacita_core::session::{Session, Transcript};

/// A round: what was agreed on, and its keys.
struct Round {
    params: Params,
    proxy: ProxyKey,
    database: DatabaseKey,
    keys: RoundKeys,
}

static ROUNDS: LazyLock<[Round; 3]> = LazyLock::new(|| {
    [(16, 0, true), (16, 3, true), (20, 10, false)].map(|(key_bytes, values, distinct)| {
        let mut rng = ChaCha20Rng::from_seed([1; 32]);
        let params = Params::new(Session::new(Transcript::new("fuzz")), key_bytes, values, distinct).unwrap();
        let (proxy, database) = (ProxyKey::generate(&params, &mut rng), DatabaseKey::generate(&params, &mut rng));
        let public = [database.public(&params, &mut rng), proxy.public(&params, &mut rng)];
        let keys = RoundKeys::new(&params, &public[0], &public[1], &mut rng).unwrap();
        Round { params, proxy, database, keys }
    })
});

fuzz_target!(|bytes: &[u8]| {
    let Some((which, bytes)) = bytes.split_first() else { return };
    let Round { params, proxy, database, keys } = &ROUNDS[usize::from(*which) % 3];
    let mut rng = ChaCha20Rng::from_seed([2; 32]);
    if let Ok(entries) = blind(params, keys, proxy, "fuzz", 0, bytes, &mut rng) {
        assert_eq!(entries.len() / params.entry_bytes(), bytes.len() / params.report_bytes());
        open(params, database, &entries).unwrap();
    }
    if let Ok(opened) = open(params, database, bytes) {
        let sealed: Vec<&[u8]> = opened.rows.iter().map(|row| &row.sealed[..]).collect();
        ask(params, keys, &sealed, &mut rng).unwrap();
    }
    let reporters = vec![0; if params.distinct() { bytes.len() / params.sealed_bytes() } else { 0 }];
    let _ = answer(params, proxy, &[1; 32], bytes, &reporters, RevealThreshold::default());
    if let Some(key) = ProxyKey::from_bytes(params, bytes) {
        assert_eq!(&key.to_bytes(params)[..], bytes);
    }
    if let Some(key) = DatabaseKey::from_bytes(params, bytes) {
        assert_eq!(&key.to_bytes(params)[..], bytes);
    }
    if let Some(key) = naor_reingold::NaorReingoldProxyKey::from_bytes(params, bytes) {
        assert_eq!(&key.to_bytes(params)[..], bytes);
    }
    let half = bytes.len() / 2;
    let _ = RoundKeys::new(params, &bytes[..half], &bytes[half..], &mut rng);
});
