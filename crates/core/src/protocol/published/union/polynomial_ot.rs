//! `polynomial-ot`: the membership test from values of encrypted polynomials, then one OT for each of the sender's
//! items.
//!
//! 1. The receiver makes the polynomial φ whose roots its items are, and sends it encrypted.
//! 2. The sender evaluates φ at each of its items, multiplies the value by a random number and adds a fresh encryption of 0. The
//!    receiver decrypts it and sees for each whether it is zero: whether it has the item. (Freedman, Nissim & Pinkas, "Efficient private
//!    matching and set intersection", EUROCRYPT 2004, section 4.3, where zeros are counted.)
//! 3. One transfer for each of the sender's items: see [`transfer`].
//!
//! Frikken, "Privacy-preserving set union" (ACNS 2007), has the same first step for two parties; there the sender
//! answers encryptions of φ(x) and x φ(x), each times one random number, and the receiver divides what it decrypts,
//! which takes a cryptosystem that decrypts numbers. Exponential ElGamal shows zeros alone, so here an OT hands the
//! item over, as Kolesnikov, Rosulek, Trieu & Wang (ASIACRYPT 2019) and Zhang, Chen, Liu, Zhang & Lin, "Linear private
//! set union from multi-query reverse private membership test" (USENIX Security 2023) do. The latter's test by
//! re-randomisable encryption is this one with a store in the place of φ that holds one message under all of the
//! receiver's items; that makes work linear, and this, in bins, nearly so.
//!
//! Answers and transfers go in the sender's random order, and not bin by bin, which would show in which bins the common
//! items are, and so nearly which they are.

use chacha20::ChaCha20Rng;
use rand_core::CryptoRng;

use crate::channel::{Channel, HEADER_BYTES};
use crate::error::{Error, Result};
use crate::item::Item;
use crate::primitive::ot::Choices;
use crate::protocol::intersect::tag_exchange::items::fork;
use crate::protocol::published::intersect::polynomial::bins::Bins;
use crate::protocol::published::intersect::polynomial::{
    self, PolynomialCost, PolynomialRequest, PolynomialReveal, values,
};
use crate::protocol::union::params::check_payload;
use crate::protocol::union::{SenderItems, transfer};
use crate::role::Role;
use crate::security::Level;
use crate::session::Session;

/// Agreed public values of one run. Both parties must use equal ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Params {
    polynomials: polynomial::Params,
    payload_bytes: usize,
}

impl Params {
    /// For sets of so many items, and `payload_bytes` given for each of the sender's. Polynomials are those of an
    /// intersection that reveals a count; what `wanted` says of that is of no account.
    ///
    /// Errors ([`Error::Input`]): those of [`polynomial::Params::new`]; a level other than [`Level::Bits128`], since OT
    /// is there only; more than 1 MiB given for an item.
    pub fn new(
        wanted: PolynomialRequest,
        receiver_items: usize,
        sender_items: usize,
        payload_bytes: usize,
    ) -> Result<Params> {
        if wanted.level != Level::Bits128 {
            return Err(Error::Input(format!(
                "level = \"{}\" is not available with protocol = \"polynomial-ot\", which rests on oblivious transfer: use \"bits128\"",
                wanted.level
            )));
        }
        check_payload(payload_bytes)?;
        let wanted = PolynomialRequest { reveal: PolynomialReveal::Count, ..wanted };
        Ok(Params { polynomials: polynomial::Params::new(wanted, receiver_items, sender_items)?, payload_bytes })
    }

    /// Strategy, group and bins.
    pub fn polynomials(&self) -> &polynomial::Params {
        &self.polynomials
    }

    /// Length of what the sender gives for each item.
    pub fn payload_bytes(&self) -> usize {
        self.payload_bytes
    }

    fn sender_items(&self) -> usize {
        self.polynomials.items(Role::Sender)
    }

    /// Bytes that a party sends in all, frame headers included and heartbeats not.
    pub fn bytes_sent_by(&self, role: Role) -> u64 {
        let items = self.sender_items();
        let sent = match items {
            0 => 0,
            _ => self.polynomials.bytes_of_messages(role) + transfer::bytes_sent_by(role, items, self.payload_bytes),
        };
        sent + HEADER_BYTES as u64
    }

    /// Message flights in sequence, as [`crate::channel::Traffic`] counts them.
    pub fn rounds(&self) -> u32 {
        match self.sender_items() {
            0 => 0,
            _ => 1 + transfer::ROUNDS,
        }
    }

    /// Returns the cost of a run, in operations of the group. Transfers take far less.
    pub fn cost(&self) -> PolynomialCost {
        self.polynomials.cost()
    }

    /// Memory of the party with this role besides its items and what it gives, in bytes, an estimate from above for two
    /// threads.
    pub fn memory(&self, role: Role) -> u64 {
        // Whether each answer is zero; or the items once more, in their order, with their places.
        let of_answers = match role {
            Role::Receiver => 2,
            Role::Sender => 40,
        };
        self.polynomials.memory(role) + of_answers * self.sender_items() as u64 + transfer::MEMORY
    }
}

/// The receiver's role. What the sender gives for each of its items that the receiver lacks is handed to `take`, in the
/// sender's order. Returns how many items both have. Items must be distinct, and made with a key of this session.
///
/// Errors: [`Error::NotReady`] if the items do not fit their bins, before anything is sent; the channel fails, the peer
/// breaks the protocol, or `take` fails.
pub fn receive(
    items: &[Item],
    session: &Session,
    params: &Params,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
    take: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<usize> {
    params.polynomials.check(Role::Receiver, items, PolynomialReveal::Count)?;
    if params.sender_items() == 0 {
        return Ok(0);
    }
    let has = Choices::from_bits(values::receive(items, &params.polynomials, channel, fork(rng))?.iter().copied());
    transfer::receive(&has, params.payload_bytes, session, channel, rng, take)?;
    Ok(has.iter().filter(|has| *has).count())
}

/// The sender's role, which learns nothing. All of its items, and what it gives, must fit into memory.
///
/// Errors: those of [`receive`].
pub fn send(
    given: &dyn SenderItems,
    session: &Session,
    params: &Params,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<()> {
    // All of them are its own: bits and items that the receiver gets tell it how many there are.
    if given.count() != params.sender_items() {
        return Err(Error::Internal(format!(
            "union: {} items where {} were agreed on",
            given.count(),
            params.sender_items()
        )));
    }
    if params.sender_items() == 0 {
        return Ok(());
    }
    let items = given.items(0..given.count())?;
    params.polynomials.check(Role::Sender, &items, PolynomialReveal::Count)?;
    values::send(&items, &params.polynomials, channel, fork(rng), &as_given)?;
    transfer::send(given, params.payload_bytes, session, channel, rng)
}

/// The order in which the items are given, in which the transfers go too.
fn as_given(bins: &Bins<'_>, _: &mut ChaCha20Rng) -> Vec<u32> {
    bins.places()
}
