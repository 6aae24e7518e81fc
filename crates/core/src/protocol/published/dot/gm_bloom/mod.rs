//! `gm-bloom`: scalar products of zeros and ones under Goldwasser and Micali's encryption, by an oblivious Bloom
//! intersection.
//!
//! Dong & Chen, "A fast secure dot product protocol with application to privacy preserving association rule mining"
//! (PAKDD
//! 2014), figure 1. P_1, here the *counter*, has the key and sends its column encrypted, bit by bit (steps 1.1, 1.2). P_2, the
//! *labeller*, gives every row a random label, and sends labels and re-randomised ciphertexts in random order (1.3 to 1.5). The
//! counter decrypts, and knows the labels of its own ones, and not which row has which (1.6). How many of them are
//! labels of the labeller's ones, too, is the product: the size of an intersection that the counter gets (2.1, 2.2).
//!
//! - Each product is an execution of its own, with labels, permutation and randomness of its own. A column of the counter's is
//!   encrypted and sent once, and answered for each of the labeller's columns that it is multiplied with.
//! - No column has more ones than a bound that both know: the filters have its size, and so hide the number of ones.
//! - The product itself comes out, at the counter. [`Params::in_parts`] is the paper's form with two outputs (section 3.3), whose
//!   parts add up to the product and are **no uniform shares**: each is about half of it.
//!
//! Semi-honest parties. `docs/protocols/gm-bloom.md` is the specification.

mod counter;
mod labeller;
mod labels;
mod params;

pub use crate::protocol::published::labels::gm_bloom::{BITS, LABELLED, PUBLIC_KEY};
pub use params::{Dense, Lengths, Params, dense};

use rand_core::CryptoRng;
use zeroize::Zeroizing;

use crate::channel::{Channel, Label};
use crate::error::{Error, Result};
use crate::primitive::ot::Choices;
use crate::primitive::published::goldwasser_micali::GmFormatError;
use crate::protocol::dot::{Columns, Shares};
use crate::role::Side;
use crate::session::Session;

/// A party's part, row by row (all columns of the second party with the first column of the first, and so on), or in
/// the order of the pairs that were chosen: at the counter the products, at the other party zeros; with
/// [`Params::in_parts`] parts of them at both.
///
/// Errors: [`Error::Input`] for a column with too many ones ([`dense`]), before anything is sent; the channel fails, or
/// the peer breaks the protocol; [`Error::NotReady`] with probability 2^-k, see
/// [`crate::primitive::published::bloom::Garbled::new`]; [`Error::Internal`] for columns that do not have the agreed
/// shape.
pub fn run(
    side: Side,
    columns: &Columns,
    params: &Params,
    session: &Session,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<Shares> {
    params.check(side, columns)?;
    let mut residues = Zeroizing::new(vec![0; params.products()]);
    if !params.is_empty() {
        let own: Vec<Choices> =
            (0..columns.count()).map(|column| columns.plane(column, 0, 0..columns.rows())).collect();
        // Figure 1 once, or twice with the roles switched and the second party's columns split.
        let (own, own_rest) = match (params.counter(), side) {
            (None, Side::Second) => split(&own, rng),
            (None, Side::First) => (own.clone(), own),
            (Some(_), _) => (own, Vec::new()),
        };
        let counters = params.counter().map_or(vec![Side::First, Side::Second], |counter| vec![counter]);
        for (counter, own) in counters.into_iter().zip([own, own_rest]) {
            let execution = Execution { params, counter, session };
            if side == counter {
                let counts = counter::run(&own, &execution, channel, rng)?;
                let places = params.places(counter);
                places
                    .zip(&*counts)
                    .for_each(|(place, &count)| residues[place] = params.modulus().residue(count.into()));
            } else {
                labeller::run(&own, &execution, channel, rng)?;
            }
        }
    }
    Shares::new(params.modulus(), std::mem::take(&mut *residues))
}

/// Step 0 of the form with two outputs: each one goes to one of two columns at random, Y_2 = Y_3 + Y_4.
fn split(columns: &[Choices], rng: &mut impl CryptoRng) -> (Vec<Choices>, Vec<Choices>) {
    let split = |column: &Choices| {
        let coins = Choices::random(column.len(), rng);
        let part = |heads: bool| column.iter().zip(coins.iter()).map(move |(bit, coin)| bit & (coin == heads));
        (Choices::from_bits(part(true)), Choices::from_bits(part(false)))
    };
    columns.iter().map(split).unzip()
}

/// Figure 1 for all products: who is P_1, and what hashes are bound to.
struct Execution<'a> {
    params: &'a Params,
    counter: Side,
    session: &'a Session,
}

impl Execution<'_> {
    /// Names this execution in a session.
    fn purpose(&self) -> &'static str {
        match self.counter {
            Side::First => "dot counted by the first party",
            Side::Second => "dot counted by the second party",
        }
    }
}

/// An error that blames this program.
fn internal(what: impl Into<String>) -> Error {
    Error::Internal(format!("gm-bloom: {}", what.into()))
}

/// Describes the fault in the contents of a message.
fn holds(label: Label, invalid: GmFormatError) -> String {
    format!("`{}` holds {invalid}", label.name)
}
