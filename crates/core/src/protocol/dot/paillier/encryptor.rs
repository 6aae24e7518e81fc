//! The party that has the key, and reads the answers.

use rand_core::CryptoRng;
use zeroize::Zeroizing;

use super::{ANSWERS, COLUMNS, PUBLIC_KEY, Params, holds, internal};
use crate::channel::Channel;
use crate::error::Result;
use crate::primitive::paillier::{PaillierCiphertexts, PaillierPublicKey, PaillierSecretKey};
use crate::protocol::dot::{Columns, Shares};

/// Source of the encryptor's encryptions. They may be made in advance, before anybody knows the columns: as many of 0
/// and of 1 as will be needed at most.
pub trait EncryptionSource {
    /// The key that they are under.
    fn key(&self) -> &PaillierSecretKey;

    /// Encryptions of these integers, each of which has never been given to anybody: one that comes twice tells the
    /// answerer that two numbers are equal.
    ///
    /// Errors: there are not as many left; such integers are not provided for.
    fn take(&mut self, integers: &[i64]) -> Result<PaillierCiphertexts>;
}

/// Encryptions that are made when they are needed.
pub struct LiveEncryptions<'a, R> {
    key: &'a PaillierSecretKey,
    rng: R,
}

impl<'a, R: CryptoRng> LiveEncryptions<'a, R> {
    /// Encryptions under this key.
    pub fn new(key: &'a PaillierSecretKey, rng: R) -> LiveEncryptions<'a, R> {
        LiveEncryptions { key, rng }
    }
}

/// Prints the key, and nothing of the generator.
impl<R> std::fmt::Debug for LiveEncryptions<'_, R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Live").field(self.key).finish()
    }
}

impl<R: CryptoRng> EncryptionSource for LiveEncryptions<'_, R> {
    fn key(&self) -> &PaillierSecretKey {
        self.key
    }

    fn take(&mut self, integers: &[i64]) -> Result<PaillierCiphertexts> {
        let wide: Zeroizing<Vec<i128>> = Zeroizing::new(integers.iter().map(|&integer| integer.into()).collect());
        Ok(self.key.encrypt(&self.key.public().encode(&wide), &mut self.rng))
    }
}

pub(super) fn run(
    columns: &Columns,
    params: &Params,
    encryptions: &mut impl EncryptionSource,
    channel: &mut Channel,
) -> Result<Shares> {
    let public = encryptions.key().public().clone();
    if public.size() != params.key_size() {
        return Err(internal("a key of another size"));
    }
    channel.send(PUBLIC_KEY, public.to_bytes())?;
    channel.progress().start("encrypting", columns.count() * columns.rows());
    for column in 0..columns.count() {
        for rows in params.chunks() {
            let mut integers = Zeroizing::new(vec![0; rows.len()]);
            columns.copy(column, rows.start, &mut integers);
            let encrypted = encryptions.take(&integers)?;
            if encrypted.len() != rows.len() {
                return Err(internal("not as many encryptions as numbers"));
            }
            channel.send(COLUMNS, encrypted.to_bytes())?;
            channel.progress().advance(rows.len());
        }
    }
    let answers = receive_answers(&public, params, channel)?;
    let plaintexts = encryptions.key().decrypt(&answers);
    let mut shares = Zeroizing::new(vec![0; answers.len()]);
    if params.values() {
        let (low, high) = params.shape().range();
        let products = public.decode(&plaintexts);
        let products = products.filter(|products| products.iter().all(|value| (low..=high).contains(value)));
        let products =
            products.ok_or_else(|| channel.violation(format!("`{}` hold what is no product", ANSWERS.name)))?;
        for (place, product) in params.places().into_iter().zip(products.iter()) {
            shares[place] = params.modulus().residue(*product);
        }
    } else {
        let residues = public.residues(&plaintexts, params.modulus().value());
        params.places().into_iter().zip(residues.iter()).for_each(|(place, residue)| shares[place] = *residue);
    }
    Shares::new(params.modulus(), std::mem::take(&mut *shares))
}

fn receive_answers(public: &PaillierPublicKey, params: &Params, channel: &mut Channel) -> Result<PaillierCiphertexts> {
    let (mut answers, products) = (public.no_ciphertexts(), params.products());
    while answers.len() < products {
        let count = params.most_in_message().min(products - answers.len());
        let payload = channel.receive(ANSWERS, count * params.key_size().ciphertext_bytes())?;
        let some = public.read(&payload).map_err(|invalid| channel.violation(holds(ANSWERS, invalid)))?;
        answers.append(&some);
    }
    Ok(answers)
}
