//! `paillier`: scalar products under Paillier's encryption.
//!
//! Yang, Wright & Subramaniam, "Experimental analysis of a privacy-preserving scalar product protocol" (2006), figure
//! 1; it is proved in Goethals, Laur, Lipmaa & Mielikäinen, "On private scalar product computation for
//! privacy-preserving data mining" (2004). One party, the *encryptor*, has the key, and sends its column encrypted,
//! number by number. The other one, the
//! *answerer*, multiplies those ciphertexts where its own column has a one, and answers with one ciphertext: that of the
//! product plus a random R. The encryptor is Bob in the paper's figure 1 and Alice in its section 3, which swaps the
//! two; the answerer is Alice in the figure and Bob afterwards.
//!
//! - Columns travel in chunks (section 3.2): the encryptor works on one while the answerer multiplies the one before, and no
//!   memory grows with the number of rows.
//! - Encryptions come from wherever the encryptor has them from (section 3.3): see [`EncryptionSource`] and [`Stock`].
//! - Several encryptors may share one column, of which each has some rows (section 3.4): see [`clients`].
//! - Not all products need be wanted: see [`Params::of_pairs`].
//! - An integer of the answerer's is cut into bits. Each bit has a product of its own, and the products are put together by
//!   squarings; that of a sign is inverted.
//!
//! R is uniformly random among the plaintexts with a residue that the answerer draws: minus its share. The answer is
//! re-randomised so that it is uniformly random among the ciphertexts of its plaintext. Semi-honest parties.
//! `docs/protocols/paillier.md` is the specification.

mod answerer;
pub mod clients;
mod encryptor;
mod params;
mod stock;

pub use crate::channel::labels::paillier::{ANSWERS, COLUMNS, PUBLIC_KEY};
pub use encryptor::{EncryptionSource, LiveEncryptions};
pub use params::{Params, max_chunk};
pub use stock::{Stock, Store, Taken, Used};

use rand_core::CryptoRng;

use super::{Columns, Shares};
use crate::channel::{Channel, Label};
use crate::error::{Error, Result};
use crate::primitive::paillier::{PaillierFormatError, PaillierSecretKey};
use crate::role::Side;

/// A party's part: its shares of the products, row by row (all columns of the second party with the first column of
/// the first, and so on), or in the order of the pairs that were chosen. The encryptor makes a fresh key.
///
/// Where outputs are values ([`Params::values`]), the encryptor's shares are the products and the other party's are
/// zero.
///
/// Errors: the channel fails, or the peer breaks the protocol; [`Error::Internal`] for columns that do not have the
/// agreed shape.
pub fn run(
    side: Side,
    columns: &Columns,
    params: &Params,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<Shares> {
    params.check(side, columns)?;
    if side == params.encryptor() {
        if params.is_empty() {
            return zeros(params);
        }
        let key = PaillierSecretKey::generate(params.key_size(), rng);
        encrypt_over(columns, params, &mut LiveEncryptions::new(&key, rng), channel)
    } else if params.values() {
        answer_with(columns, params, &zeros(params)?, channel, rng)
    } else {
        let shares = Shares::random(params.modulus(), params.products(), rng);
        answer_with(columns, params, &shares, channel, rng)
    }
}

/// The part of the party that is [`Params::encryptor`], with encryptions from elsewhere.
///
/// Errors: as those of [`run`], and those of the encryptions.
pub fn encrypt_over(
    columns: &Columns,
    params: &Params,
    encryptions: &mut impl EncryptionSource,
    channel: &mut Channel,
) -> Result<Shares> {
    params.check(params.encryptor(), columns)?;
    if params.is_empty() { zeros(params) } else { encryptor::run(columns, params, encryptions, channel) }
}

/// The part of the other party, with the shares that it wants to have. What the encryptor gets is uniformly random only
/// if these are; zeros open the products to it.
///
/// Returns the same shares.
///
/// Errors: as those of [`run`]; [`Error::Internal`] for shares of another number or modulus, or that are not zero where
/// outputs are values.
pub fn answer_with(
    columns: &Columns,
    params: &Params,
    shares: &Shares,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<Shares> {
    params.check(params.encryptor().other(), columns)?;
    let zero = shares.residues().iter().fold(0, |all, share| all | share) == 0;
    if (shares.modulus(), shares.len()) != (params.modulus(), params.products()) || params.values() && !zero {
        return Err(internal("shares that were not agreed on"));
    }
    if params.is_empty() {
        zeros(params)
    } else {
        answerer::run(columns, params, shares, channel, rng)?;
        Shares::new(params.modulus(), shares.residues().to_vec())
    }
}

/// Returns shares of zero for every product.
fn zeros(params: &Params) -> Result<Shares> {
    Shares::new(params.modulus(), vec![0; params.products()])
}

/// An error that blames this program.
fn internal(what: impl Into<String>) -> Error {
    Error::Internal(format!("paillier: {}", what.into()))
}

/// Describes the fault in the contents of a message.
fn holds(label: Label, invalid: PaillierFormatError) -> String {
    format!("`{}` holds {invalid}", label.name)
}
