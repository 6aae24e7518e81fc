//! Measurements of this machine's speed.

use chacha20::ChaCha20Rng;
use rand_core::{CryptoRng, SeedableRng};
use tacita_core::channel::Channel;
use tacita_core::primitive::group::{Group, P384, ScalarField};
use tacita_core::primitive::oprf::Suite;
use tacita_core::primitive::paillier::{KeySize, PaillierPublicKey};
use tacita_core::protocol::dot::{Columns, Integers, Shape as DotShape, ot};
use tacita_core::protocol::intersect::tag_exchange::{Params, TagDomain};
use tacita_core::protocol::intersect::{ecdh, vole};
use tacita_core::session::Transcript;
use tacita_core::{Error, Item, Level, Result, Security, Session, Side};

use crate::agreement::cost::{Calibration, MEASURED, P384_PASSES};
use crate::base::usage;

impl Calibration {
    /// Runs small intersections and products in memory, for about a tenth of a second on a fast processor.
    pub fn measure(rng: &mut impl CryptoRng) -> Result<Calibration> {
        // Four passes over the items: blind, evaluate, unblind, and the sender's own.
        let ecdh_pass = cpu_of_ecdh(1 << 10, 2, rng)? / f64::from(4 << 10);
        // The first run pays for what is set up once in a process.
        cpu_of_vole(1 << 8, 1, rng)?;
        let small = cpu_of_vole(1 << 8, 2, rng)?;
        let large = cpu_of_vole(1 << 15, 1, rng)?;
        let few = cpu_of_products(1 << 8, 2, rng)?;
        let many = cpu_of_products(1 << 17, 1, rng)?;
        Ok(Calibration {
            ecdh_pass,
            single_pass: cpu_of_p384(1 << 4, rng) / P384_PASSES,
            vole_start: small / 2.0,
            vole_item: (large - small).max(0.0) / f64::from(1 << 15),
            ot_start: few / 2.0,
            ot_transfer: (many - few).max(0.0) / f64::from(1 << 17),
            paillier_power: cpu_of_power(1 << 3, rng)?,
            threads: rayon::current_num_threads(),
        })
    }
}

/// Two equal sets of `count` items, and the session that they are bound to.
fn set(count: usize) -> (Session, Vec<Item>) {
    let session = Session::new(Transcript::new("calibration"));
    let item_key = session.derive("item");
    let items = (0..count).map(|i| Item::new(&item_key, &i.to_le_bytes())).collect();
    (session, items)
}

/// CPU seconds that both parties need to intersect two sets of `count` items by `ecdh`, the mean of some runs.
fn cpu_of_ecdh(count: usize, runs: u32, rng: &mut impl CryptoRng) -> Result<f64> {
    let (session, items) = set(count);
    let (domain, params) =
        (TagDomain::of_session(&session), ecdh::Params::new(Params::rows(count, count), Suite::Ristretto255));
    cpu_of_both(
        runs,
        rng,
        |channel, rng| ecdh::rows::send(&items, &domain, &params, channel, rng).map(drop),
        |channel, rng| ecdh::rows::receive(&items, &domain, &params, channel, rng).map(drop),
    )
}

/// CPU seconds that a pass over an element of P-384 takes, the mean of `count`.
fn cpu_of_p384(count: usize, rng: &mut impl CryptoRng) -> f64 {
    let group = P384::new();
    let scalar = group.random_scalars(1, rng).swap_remove(0);
    let started = usage::cpu_time();
    let points = group.random_points(count, rng);
    group.multiply_encode(&points, &scalar);
    (usage::cpu_time() - started).as_secs_f64() / count as f64
}

/// The same by `vole`.
fn cpu_of_vole(count: usize, runs: u32, rng: &mut impl CryptoRng) -> Result<f64> {
    let (session, items) = set(count);
    let params = vole::Params::new(Params::rows(count, count), Security::SemiHonest)?;
    cpu_of_both(
        runs,
        rng,
        |channel, rng| vole::rows::send(&items, &session, &params, channel, rng).map(drop),
        |channel, rng| vole::rows::receive(&items, &session, &params, channel, rng).map(drop),
    )
}

/// CPU seconds that it takes to re-randomise a ciphertext, the mean of `count` under a modulus whose factors nobody
/// knows.
fn cpu_of_power(count: usize, rng: &mut impl CryptoRng) -> Result<f64> {
    let size = KeySize::of(Level::Paper80);
    let modulus_bytes = size.public_key_bytes() - size.ciphertext_bytes();
    let mut bytes = vec![0; size.public_key_bytes()];
    rng.fill_bytes(&mut bytes[..modulus_bytes]);
    bytes[0] |= 1;
    bytes[modulus_bytes - 1] |= 0x80;
    bytes[modulus_bytes] = 2;
    let two = bytes[modulus_bytes..].to_vec();
    let failed = |invalid| Error::Internal(format!("calibration holds {invalid}"));
    let key = PaillierPublicKey::from_bytes(size, &bytes).map_err(failed)?;
    let ciphertexts = key.read(&two.repeat(count)).map_err(failed)?;
    let started = usage::cpu_time();
    key.rerandomize(&ciphertexts, rng);
    Ok((usage::cpu_time() - started).as_secs_f64() / count as f64)
}

/// CPU seconds that both parties need to multiply two columns of `rows` bits, the mean of some runs.
fn cpu_of_products(rows: usize, runs: u32, rng: &mut impl CryptoRng) -> Result<f64> {
    let session = Session::new(Transcript::new("calibration"));
    let mut columns = Columns::new(Integers::BINARY, rows);
    columns.push((0..rows as i64).map(|row| row & 1))?;
    let shape = DotShape { rows, first: 1, second: 1, integers: Integers::BINARY };
    let params = ot::Params::new(shape, shape.value_modulus()?, MEASURED, None)?;
    cpu_of_both(
        runs,
        rng,
        |channel, rng| ot::run(Side::First, &columns, &params, &session, channel, rng).map(drop),
        |channel, rng| ot::run(Side::Second, &columns, &params, &session, channel, rng).map(drop),
    )
}

/// CPU seconds of two roles that talk to each other, the mean of some runs.
fn cpu_of_both(
    runs: u32,
    rng: &mut impl CryptoRng,
    one: impl Fn(&mut Channel, &mut ChaCha20Rng) -> Result<()> + Sync,
    other: impl Fn(&mut Channel, &mut ChaCha20Rng) -> Result<()>,
) -> Result<f64> {
    let mut seeds = [[0; 32]; 2];
    seeds.iter_mut().for_each(|seed| rng.fill_bytes(seed));
    let started = usage::cpu_time();
    for _ in 0..runs {
        let (mut one_end, mut other_end) = Channel::pair("one", "other");
        let [mut one_rng, mut other_rng] = seeds.map(ChaCha20Rng::from_seed);
        std::thread::scope(|scope| {
            let running = scope.spawn(|| one(&mut one_end, &mut one_rng));
            let ended = other(&mut other_end, &mut other_rng);
            ended.and(running.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        })?;
    }
    Ok((usage::cpu_time() - started).as_secs_f64() / f64::from(runs))
}
