//! Oblivious evaluation of the function by oblivious transfers, one for each bit of an input (Ringberg, Applebaum,
//! Freedman, Caesar & Rexford, section 3.3.1, after Freedman, Ishai, Pinkas & Reingold, TCC 2005).
//!
//! For each input the proxy draws u_1, ..., u_m and r, and offers u_i or s_i u_i for bit i. The product of what the
//! participant chooses times the blind, r a / (u_1 ... u_m) G, is r F(x). Every choice of bits is an input, all u and r
//! are fresh for each, and what is chosen for one says nothing of another: so a participant that deviates in its
//! choices has one value of one input of its choice, blinded by an r that it does not know.

use chacha20::ChaCha20Rng;
use rand_core::{CryptoRng, SeedableRng};
use rayon::prelude::*;
use zeroize::Zeroizing;

use super::function::PseudorandomFunction;
use crate::error::Result;
use crate::primitive::group::Group;
use crate::primitive::ot::softspoken;
use crate::protocol::intersect::tag_exchange::items;
use crate::security::Security;

/// Purpose for which transfers are set up.
pub(super) const PURPOSE: &str = "naor-reingold";

/// k of the extension: the one that takes the least time.
const EXTENSION: usize = 4;

/// The extension of transfers, secure against participants that do anything.
pub(super) fn extension() -> Result<softspoken::Params> {
    softspoken::Params::new(Security::Malicious, EXTENSION)
}

/// Inputs that one thread works on at once.
const BATCH: usize = 32;

/// Values that the proxy draws for some inputs.
pub struct Offer<G: Group> {
    /// For each input and each of its bits the message for 0 and the one for 1, one after the other: encoded scalars.
    pub pairs: Zeroizing<Vec<u8>>,
    /// The encoded blinds, for the participant.
    pub blinds: Vec<u8>,
    /// 1 / r for each input, with which the proxy turns r F(x) into F(x).
    pub unblind: Vec<G::Scalar>,
}

/// Function of an input that the participant gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransferForm {
    /// r F(x), of which the proxy makes F(x) under encryption: the extended protocol.
    Blinded,
    /// F(x) itself, r being 1: the basic protocol.
    Plain,
}

/// Draws the proxy's offer for `count` inputs.
pub fn offer<G: Group + Sync>(
    group: &G,
    function: &PseudorandomFunction<G>,
    count: usize,
    form: TransferForm,
    rng: &mut impl CryptoRng,
) -> Offer<G> {
    let (whole, factors) = function.scalars();
    let (bits, length) = (factors.len(), group.scalar_bytes());
    let mut pairs = Zeroizing::new(vec![0; 2 * length * bits * count]);
    let seeds: Vec<_> = (0..count.div_ceil(BATCH)).map(|_| items::seed(rng)).collect();
    let size = (2 * length * bits * BATCH).max(1);
    // The product of all u of each input.
    let products = pairs.par_chunks_mut(size).zip(seeds).flat_map_iter(|(pairs, seed)| {
        let mut rng = ChaCha20Rng::from_seed(*seed);
        let of_one = |pairs: &mut [u8]| {
            let mut product = group.scalar(1);
            for ((pair, factor), u) in
                pairs.chunks_mut(2 * length).zip(factors).zip(group.random_scalars(bits, &mut rng))
            {
                let (zero, one) = pair.split_at_mut(length);
                zero.copy_from_slice(&group.encode_scalar(&u));
                one.copy_from_slice(&group.encode_scalar(&group.times(&u, factor)));
                product = group.times(&product, &u);
            }
            product
        };
        pairs.chunks_mut(2 * length * bits).map(of_one).collect::<Vec<_>>()
    });
    let products: Vec<G::Scalar> = products.collect();
    let unblind = match form {
        TransferForm::Blinded => group.random_scalars(count, rng),
        TransferForm::Plain => vec![group.scalar(1); count],
    };
    // The blind is of a / (u_1 ... u_m / r).
    let inverse: Vec<G::Scalar> = products.iter().zip(&unblind).map(|(product, r)| group.times(product, r)).collect();
    let exponents: Vec<_> = group.invert(&inverse).iter().map(|inverse| group.times(whole, inverse)).collect();
    let blinds = group.encode(&group.multiply_generator(&exponents));
    Offer { pairs, blinds, unblind }
}

/// r F(x) for each input, from the blinds and from what its bits have chosen, or F(x) in the basic protocol.
///
/// What is no scalar counts as 1: a proxy that sends such a thing, in place of one message of a pair, must not see
/// whether it was chosen.
pub fn evaluate<G: Group + Sync>(group: &G, input_bytes: usize, blinds: &[G::Point], chosen: &[u8]) -> Vec<G::Point> {
    let length = group.scalar_bytes();
    let product = |chosen: &[u8]| {
        chosen.chunks(length).fold(group.scalar(1), |product, scalar| {
            group.times(&product, &group.decode_scalar(scalar).unwrap_or_else(|| group.scalar(1)))
        })
    };
    let products: Vec<G::Scalar> =
        chosen.par_chunks((8 * input_bytes * length).max(1)).with_min_len(BATCH).map(product).collect();
    group.multiply_each(blinds, &products)
}
