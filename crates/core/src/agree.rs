//! Agreement of two programs on a fresh [`Session`], where they have no handshake of their own.
//!
//! The handshake of job files is in `tacita-node`, and binds its session to TLS as well. This one is for a program that
//! calls a protocol of this crate over a connection of its own.

use rand_core::CryptoRng;

use crate::channel::Channel;
use crate::channel::labels::agree::CLAIM;
use crate::error::{Error, Result};
use crate::session::{Session, Transcript};

const NONCE_BYTES: usize = 32;
const TERMS_BYTES: usize = 32;
const CLAIM_BYTES: usize = NONCE_BYTES + TERMS_BYTES + size_of::<u64>();

/// Agrees with the peer on a session, and returns it with the number of the peer's items. Both parties call this at
/// once, before anything else on the channel; it takes one round.
///
/// `terms` are bytes that both have to have alike: the protocol, who receives, the job's name. They should hold what
/// binds the session to its connection, such as TLS's exported keying material. Each party tells the other their hash,
/// a fresh nonce, and the number of its items.
///
/// Errors: [`Error::Terms`] if the terms differ, or if the peer has more than `max_items`; [`Error::Protocol`] if its
/// message is none, or is this party's own.
///
/// ```
/// use tacita_core::agree::agree;
/// use tacita_core::random::fresh_rng;
/// use tacita_core::{Channel, ErrorKind, Result, Session};
///
/// let meet = |terms: &str, items, mut channel: Channel| -> Result<(Session, usize)> {
///     agree(terms.as_bytes(), items, 1000, &mut channel, &mut fresh_rng()?)
/// };
/// let both = |terms: [&'static str; 2]| {
///     let (one, other) = Channel::pair("hospital", "insurer");
///     std::thread::scope(|scope| {
///         let far = scope.spawn(move || meet(terms[1], 7, other));
///         (meet(terms[0], 5, one), far.join().unwrap())
///     })
/// };
/// let (here, there) = both(["job 7, ecdh"; 2]);
/// let (here, there) = (here?, there?);
/// assert!(here.0 == there.0 && (here.1, there.1) == (7, 5));
/// // Another run has another session.
/// assert!(here.0 != both(["job 7, ecdh"; 2]).0?.0);
/// let (here, there) = both(["job 7, ecdh", "job 8, ecdh"]);
/// assert!(here.unwrap_err().kind() == ErrorKind::Terms && there.unwrap_err().kind() == ErrorKind::Terms);
/// # tacita_core::Result::Ok(())
/// ```
pub fn agree(
    terms: &[u8],
    items: usize,
    max_items: usize,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<(Session, usize)> {
    let mut nonce = [0; NONCE_BYTES];
    rng.fill_bytes(&mut nonce);
    let terms = Transcript::new("agree terms").append("terms", terms).challenge("terms");
    let own = [&nonce[..], &terms, &(items as u64).to_le_bytes()].concat();
    let theirs = channel.exchange(CLAIM, own.clone(), CLAIM_BYTES)?;
    let name = CLAIM.name;
    if theirs.len() != CLAIM_BYTES {
        return Err(channel.violation(format!("`{name}` has {} bytes instead of {CLAIM_BYTES}", theirs.len())));
    }
    let (their_nonce, rest) = theirs.split_at(NONCE_BYTES);
    // Whoever sends a message back would have both parties in one role.
    if their_nonce == nonce {
        return Err(channel.violation(format!("`{name}` has this party's own nonce")));
    }
    let (their_terms, their_items) = rest.split_at(TERMS_BYTES);
    let peer = channel.peer().to_owned();
    if their_terms != terms {
        return Err(channel.conclude_for(Error::Terms(format!("the terms of {peer} differ: compare them"))));
    }
    let claimed = their_items.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte));
    let their_items = usize::try_from(claimed).ok().filter(|items| *items <= max_items).ok_or_else(|| {
        Error::Terms(format!("{peer} has {claimed} items, and {max_items} are allowed: agree on a higher bound"))
    })?;
    // In an order that both parties have alike.
    let mut claims = [own, theirs];
    claims.sort_unstable();
    let mut transcript = Transcript::new("agree");
    for claim in &claims {
        transcript.append("claim", claim);
    }
    Ok((Session::new(transcript), their_items))
}
