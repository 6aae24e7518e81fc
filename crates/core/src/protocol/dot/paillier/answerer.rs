//! The party that multiplies what it receives, and answers.

use rand_core::CryptoRng;

use super::{ANSWERS, COLUMNS, PUBLIC_KEY, Params, holds};
use crate::channel::Channel;
use crate::error::Result;
use crate::primitive::ot::Choices;
use crate::primitive::paillier::{CiphertextProducts, PaillierCiphertexts, PaillierPublicKey};
use crate::protocol::dot::{Columns, Shares};

pub(super) fn run(
    columns: &Columns,
    params: &Params,
    shares: &Shares,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<()> {
    let size = params.key_size();
    let payload = channel.receive(PUBLIC_KEY, size.public_key_bytes())?;
    let key = PaillierPublicKey::from_bytes(size, &payload)
        .map_err(|invalid| channel.violation(holds(PUBLIC_KEY, invalid)))?;
    let encrypted = params.shape().columns(params.encryptor());
    channel.progress().start("multiplying", encrypted * columns.rows());
    let mut products = key.no_ciphertexts();
    for column in 0..encrypted {
        products.append(&receive_and_multiply(columns, &params.partners(column), params, &key, channel)?);
    }
    let answers = if params.values() {
        products
    } else {
        let modulus = params.modulus();
        let negative: Vec<u128> =
            params.places().into_iter().map(|place| modulus.subtract(0, shares.residues()[place])).collect();
        key.add_plain(&products, &key.random_with_residues(&zeroize::Zeroizing::new(negative), modulus.value(), rng))
    };
    // The encryptor knows all that its ciphertexts were made of: without this, which of them were multiplied would
    // show. It is slow, and what is ready is sent, so that nobody takes this party for dead.
    let most = params.most_in_message();
    (0..answers.len()).step_by(most).try_for_each(|start| {
        let some = answers.select(start..(start + most).min(answers.len()));
        channel.send(ANSWERS, key.rerandomize(&some, rng).to_bytes())
    })
}

/// Receives one of the encryptor's columns, and multiplies it with its partners among these columns as it comes.
fn receive_and_multiply(
    columns: &Columns,
    partners: &[usize],
    params: &Params,
    key: &PaillierPublicKey,
    channel: &mut Channel,
) -> Result<PaillierCiphertexts> {
    let bits = columns.integers().bits();
    let mut products = CiphertextProducts::new(key, partners.len() * bits as usize);
    for rows in params.chunks() {
        let payload = channel.receive(COLUMNS, rows.len() * params.key_size().ciphertext_bytes())?;
        let encrypted = key.read(&payload).map_err(|invalid| channel.violation(holds(COLUMNS, invalid)))?;
        let planes = partners.iter().flat_map(|&column| (0..bits).map(move |bit| (column, bit)));
        let choices: Vec<Choices> = planes.map(|(column, bit)| columns.plane(column, bit, rows.clone())).collect();
        products.multiply(&encrypted, &choices);
        channel.progress().advance(rows.len());
    }
    // Partner by partner its planes, the lowest bit first. Twice what there is, and the next lower plane.
    let planes = products.finish();
    let plane = |bit: u32| planes.select((0..partners.len()).map(|partner| partner * bits as usize + bit as usize));
    let top = plane(bits - 1);
    let top = if columns.integers().signed() { key.negate(&top) } else { top };
    Ok((0..bits - 1).rev().fold(top, |sum, bit| key.add(&key.add(&sum, &sum), &plane(bit))))
}
