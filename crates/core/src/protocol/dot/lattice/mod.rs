//! `lattice`: scalar products of columns under RLWE encryption.
//!
//! One party, the encryptor, sends its columns encrypted, once. The other one, the answerer, multiplies them with any
//! number of its own columns, and returns an answer for each of them, or for several at once. A column of the encryptor
//! is cut into blocks, and a block is the polynomial x(X) = sum of x_r X^r; one of the answerer is y(X^-1). Coefficient
//! 0 of x(X) y(X^-1) is the scalar product of the blocks, and the blocks' ciphertexts are added up.
//!
//! The answer is a fresh encryption of zero added under the encryptor's public key, with an error that is flooded: the
//! encryptor knows its own ciphertexts, and would otherwise read y from what they were multiplied with. Then the share
//! is added, then the modulus is switched, and only those coefficients travel that are outputs. Semi-honest parties.
//! Noise, parameters, and what each role learns are in `docs/protocols/lattice.md`.

mod answerer;
mod blocks;
mod encryptor;
mod layout;
mod noise;
mod params;
mod plaintext;
mod search;
#[cfg(test)]
mod tests;

pub use crate::channel::labels::lattice::{ANSWERS, COLUMNS, PUBLIC_KEY, SEED};
pub use answerer::Answerer;
pub use encryptor::Encryptor;
pub use params::{BATCHES, Params};
pub use search::WORK_SECONDS;

use rand_core::CryptoRng;
use zeroize::Zeroizing;

use super::{Columns, Shares};
use crate::channel::Channel;
use crate::error::{Error, Result};
use crate::role::Side;
use crate::session::Session;

/// A party's part: shares of all products, row by row, or of the [chosen ones](Params::of_pairs) in their order.
///
/// Where outputs are values ([`Params::values`]), the encryptor's shares are the products and the other party's are
/// zero.
///
/// Errors: the columns are not those that were agreed on; the channel fails; the peer breaks the protocol.
pub fn run(
    side: Side,
    columns: &Columns,
    params: &Params,
    session: &Session,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<Shares> {
    params.check(side, columns)?;
    if params.products() == 0 {
        return Shares::new(params.modulus(), Vec::new());
    }
    let mut shares = Zeroizing::new(vec![0; params.products()]);
    channel.progress().start("multiplying", params.blocks());
    let groups = (0..params.groups().len()).map(|group| (group, params.answers(group)));
    let groups = groups.filter(|(_, answers)| !answers.is_empty());
    if side == params.encryptor() {
        let mut encryptor = Encryptor::new(params, session, rng);
        encryptor.send_keys(channel)?;
        let groups: Vec<_> = groups.collect();
        encryptor.send_all(columns, &groups, channel, rng, |answer, values| {
            params.place(answer, values, &mut shares);
        })?;
    } else {
        let mut answerer = Answerer::receive_keys(params, session, channel)?;
        for (group, answers) in groups {
            let products = answerer.receive_and_multiply(columns, group, &answers, channel)?;
            answerer.send_answers(&answers, &products, channel, rng, |answer, values| {
                params.place(answer, values, &mut shares);
            })?;
        }
    }
    Shares::new(params.modulus(), std::mem::take(&mut *shares))
}

/// An error that blames this program.
fn internal(what: impl Into<String>) -> Error {
    Error::Internal(format!("lattice: {}", what.into()))
}
