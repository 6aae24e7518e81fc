//! Addresses that a partner has seen and we have not, with what it says about them. We learn these, and how many both
//! have; the partner learns nothing.
//!
//! `cargo run --release -p tacita-core --example union`

use tacita_core::Result;
use tacita_core::prelude::*;
use union::{MemorySpace, Params, ShuffledItems};

const OURS: [&str; 3] = ["192.0.2.1", "192.0.2.7", "198.51.100.4"];
/// Addresses of the partner, and how often it has seen each.
const THEIRS: [(&str, u32); 4] = [("192.0.2.7", 12), ("203.0.113.9", 4), ("198.51.100.4", 1), ("203.0.113.50", 31)];

/// Bytes that the sender gives for an item: an address of at most 12 characters, filled up with blanks, and a number.
const GIVEN_BYTES: usize = 16;

fn items(session: &Session, addresses: &[&str]) -> Vec<Item> {
    let key = session.derive("item");
    addresses.iter().map(|address| Item::new(&key, address.as_bytes())).collect()
}

/// The receiver's part. Returns what the sender gives for each address that is not here, and how many both have.
fn receive(channel: &mut Channel) -> Result<(Vec<(String, u32)>, usize)> {
    let mut rng = fresh_rng()?;
    let (session, theirs) = agree(b"addresses, union by ecdh", OURS.len(), 1000, channel, &mut rng)?;
    let (items, params) = (items(&session, &OURS), Params::new(OURS.len(), theirs, GIVEN_BYTES));
    let mut missing = Vec::new();
    let mut take = |given: &[u8]| {
        let (address, times) = given.split_at(GIVEN_BYTES - 4);
        let times = times.iter().fold(0, |times, byte| times << 8 | u32::from(*byte));
        missing.push((String::from_utf8_lossy(address).trim_end().to_owned(), times));
        Ok(())
    };
    let common = union::ecdh::receive(&items[..], &MemorySpace, &session, &params, channel, &mut rng, &mut take)?;
    missing.sort_unstable();
    Ok((missing, common))
}

/// The sender's part: it gives the address and the number.
fn send(channel: &mut Channel) -> Result<()> {
    let mut rng = fresh_rng()?;
    let (session, theirs) = agree(b"addresses, union by ecdh", THEIRS.len(), 1000, channel, &mut rng)?;
    let (items, params) =
        (items(&session, &THEIRS.map(|(address, _)| address)), Params::new(theirs, THEIRS.len(), GIVEN_BYTES));
    let give = |index: usize, out: &mut Vec<u8>| {
        let (address, times) = THEIRS[index];
        out.extend_from_slice(format!("{address:12}").as_bytes());
        out.extend_from_slice(&times.to_be_bytes());
    };
    let given = ShuffledItems::new(&items, &give, &mut rng)?;
    union::ecdh::send(&given, &MemorySpace, &session, &params, channel, &mut rng)
}

/// Runs both parties, and prints what the receiver gets.
pub fn main() -> Result<()> {
    let (mut to_partner, mut to_us) = Channel::pair("us", "partner");
    let (received, sent) = std::thread::scope(|scope| {
        let partner = scope.spawn(|| {
            let outcome = send(&mut to_us);
            to_us.end(outcome)
        });
        let outcome = receive(&mut to_partner);
        (to_partner.end(outcome), partner.join().expect("a thread that does not panic"))
    });
    let ((missing, common), _) = received?;
    sent?;
    assert_eq!((missing.len(), common), (2, 2));
    println!("{common} in common, missing here: {missing:?}");
    Ok(())
}
