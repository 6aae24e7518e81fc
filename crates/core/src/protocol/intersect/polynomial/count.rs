//! How many items are common.

use chacha20::ChaCha20Rng;
use rand_core::CryptoRng;
use rayon::prelude::*;

use super::bins::Bins;
use super::form::Form;
use super::group::with;
use super::messages;
use super::params::frames;
use super::{ANSWERS, POLYNOMIALS, PUBLIC_KEY, Params, Reveal};
use crate::channel::Channel;
use crate::error::Result;
use crate::item::Item;
use crate::primitive::elgamal::{self, Ciphertext, Encrypted, SecretKey};
use crate::primitive::group::Group;
use crate::primitive::polynomial::Module;
use crate::primitive::shuffle::random_order;
use crate::protocol::intersect::entries::items::fork;
use crate::role::Role;

/// The receiver's role: returns how many items are common. Items must be distinct, and made with a key of this session.
///
/// Errors: [`Error::NotReady`](crate::Error::NotReady) if the items do not fit their bins, before anything is sent; the channel
/// fails, or the peer breaks the protocol.
pub fn receive(items: &[Item], params: &Params, channel: &mut Channel, rng: &mut impl CryptoRng) -> Result<usize> {
    params.check(Role::Receiver, items, Reveal::Count)?;
    receive_by(items, params, channel, fork(rng))
}

/// The sender's role. Items must be distinct, and made with a key of this session. Nothing is learned.
///
/// Errors: those of [`receive`].
pub fn send(items: &[Item], params: &Params, channel: &mut Channel, rng: &mut impl CryptoRng) -> Result<()> {
    params.check(Role::Sender, items, Reveal::Count)?;
    send_by(items, params, channel, fork(rng))
}

// Without type parameters: see `rows`.
fn receive_by(items: &[Item], params: &Params, channel: &mut Channel, rng: ChaCha20Rng) -> Result<usize> {
    with!(params.curve(), |group| receive_in(group, items, params, channel, rng))
}

fn send_by(items: &[Item], params: &Params, channel: &mut Channel, rng: ChaCha20Rng) -> Result<()> {
    with!(params.curve(), |group| send_in(group, items, params, channel, rng))
}

fn receive_in<G: Group + Sync>(
    group: &G,
    items: &[Item],
    params: &Params,
    channel: &mut Channel,
    mut rng: ChaCha20Rng,
) -> Result<usize> {
    if params.is_empty() {
        return Ok(0);
    }
    let bins = Bins::new(items, Role::Receiver, params, &mut rng)?;
    let form = Form::new(group, params);
    let progress = channel.progress().clone();
    let (outgoing, incoming) = channel.halves();

    // 1. to 4. A key, and φ of each bin, encrypted.
    progress.start("encrypting polynomials", params.bins());
    let secret = SecretKey::generate(group, &mut rng);
    outgoing.send(PUBLIC_KEY, secret.public(group).to_bytes(group))?;
    for portion in params.portions() {
        let polynomials = form.of_bins(group, &bins.roots(group, &portion, &mut rng));
        messages::send(group, POLYNOMIALS, &secret.encrypt(group, &polynomials, &mut rng), outgoing)?;
        progress.advance(portion.len());
    }

    // 7. As many are common as answers are encryptions of 0.
    progress.start("counting", params.items(Role::Sender));
    let mut count = 0;
    for range in frames(params.items(Role::Sender), 2 * group.point_bytes()) {
        let answers = messages::receive(group, ANSWERS, range.len(), incoming)?;
        count += secret.are_zero(group, &answers).into_iter().filter(|is_zero| *is_zero).count();
        progress.advance(range.len());
    }
    Ok(count)
}

fn send_in<G: Group + Sync>(
    group: &G,
    items: &[Item],
    params: &Params,
    channel: &mut Channel,
    mut rng: ChaCha20Rng,
) -> Result<()> {
    if params.is_empty() {
        return Ok(());
    }
    let bins = Bins::new(items, Role::Sender, params, &mut rng)?;
    let form = Form::new(group, params);
    let module = Encrypted(group);
    let progress = channel.progress().clone();
    let (outgoing, incoming) = channel.halves();

    // 5. φ at the own items, each value times a random number, with a fresh [0].
    let evaluated = params.items_of_portion(Role::Sender);
    progress.start("evaluating polynomials", params.portions().len() * evaluated);
    let done = |values| progress.advance(values);
    let key = messages::receive_key(group, PUBLIC_KEY, incoming)?;
    let (length, mut answers) = (2 * group.point_bytes(), Vec::new());
    for portion in params.portions() {
        let each = params.ciphertexts_of_bin();
        let polynomials = messages::receive(group, POLYNOMIALS, portion.len() * each, incoming)?;
        let values = |(bin, polynomial): (usize, &[Ciphertext<G>])| {
            let points = bins.roots_of(group, bins.items(bin));
            form.evaluate(&module, &form.whole(group, polynomial), &points, &done)
        };
        let values: Vec<_> = portion.clone().into_par_iter().zip(polynomials.par_chunks(each)).map(values).collect();
        let mut values = values.concat();
        // Others are made in the same way and left out, so that time does not tell how many there are in this portion.
        let there = values.len();
        let missing = bins.missing(group, &portion, evaluated, &mut rng);
        values.extend(form.evaluate(&module, &form.whole(group, &polynomials[..each]), &missing, &done));
        let blinds = group.random_scalars(values.len(), &mut rng);
        let blinded = module.multiply_each(&values, &blinds);
        let encoded = elgamal::encode(group, &key.rerandomize(group, &blinded, &mut rng));
        answers.extend_from_slice(&encoded[..there * length]);
    }
    // 6.
    let order = random_order(params.items(Role::Sender), &mut rng);
    for range in frames(order.len(), length) {
        let of_place = |&place: &u32| &answers[place as usize * length..][..length];
        outgoing.send(ANSWERS, order[range].iter().flat_map(of_place).copied().collect())?;
    }
    Ok(())
}
