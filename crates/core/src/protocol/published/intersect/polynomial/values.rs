//! Test which of the sender's items are roots of the receiver's polynomials, in an order that the sender chooses. The
//! sender's items themselves, and which of the receiver's they are, stay hidden. A count has a random order. In a union
//! ([`crate::protocol::union`]) the order is the one in which the items then go.

use chacha20::ChaCha20Rng;
use rayon::prelude::*;
use zeroize::Zeroizing;

use super::bins::Bins;
use super::form::{Form, bin_by_bin};
use super::group::with;
use super::messages;
use super::params::frames;
use super::{ANSWERS, POLYNOMIALS, PUBLIC_KEY, Params};
use crate::channel::Channel;
use crate::error::Result;
use crate::item::Item;
use crate::primitive::elgamal::{self, Ciphertext, ElGamalSecretKey};
use crate::primitive::group::Group;
use crate::primitive::published::polynomial::EncryptedModule;
use crate::primitive::published::polynomial::Module;
use crate::role::Role;

/// Order in which the answers go: for each place, the index of its answer among those made bin by bin.
pub(in crate::protocol) type Order<'a> = &'a (dyn Fn(&Bins<'_>, &mut ChaCha20Rng) -> Vec<u32> + Sync);

/// The receiver's role: whether each answer stands for one of its items, as they come.
///
/// Errors: those of [`super::count::receive`].
pub(in crate::protocol) fn receive(
    items: &[Item],
    params: &Params,
    channel: &mut Channel,
    rng: ChaCha20Rng,
) -> Result<Zeroizing<Vec<bool>>> {
    with!(params.curve(), |group| receive_in(group, items, params, channel, rng))
}

/// The sender's role. The order must be one that the receiver does not know, and independent of the bins.
///
/// Errors: those of [`super::count::receive`].
pub(in crate::protocol) fn send(
    items: &[Item],
    params: &Params,
    channel: &mut Channel,
    rng: ChaCha20Rng,
    order: Order<'_>,
) -> Result<()> {
    with!(params.curve(), |group| send_in(group, items, params, channel, rng, order))
}

fn receive_in<G: Group + Sync>(
    group: &G,
    items: &[Item],
    params: &Params,
    channel: &mut Channel,
    mut rng: ChaCha20Rng,
) -> Result<Zeroizing<Vec<bool>>> {
    let bins = Bins::new(items, Role::Receiver, params, &mut rng)?;
    let form = Form::new(group, params);
    let progress = channel.progress().clone();
    let (outgoing, incoming) = channel.halves();

    // 1. to 4. A key, and φ of each bin, encrypted.
    progress.start("encrypting polynomials", params.bins());
    let secret = ElGamalSecretKey::generate(group, &mut rng);
    outgoing.send(PUBLIC_KEY, secret.public(group).to_bytes(group))?;
    for portion in params.portions() {
        let polynomials = form.of_bins(group, &bins.roots(group, &portion, &mut rng));
        messages::send(group, POLYNOMIALS, &secret.encrypt(group, &polynomials, &mut rng), outgoing)?;
        progress.advance(portion.len());
    }

    // 7. Answers for its items are encryptions of 0.
    progress.start("decrypting answers", params.items(Role::Sender));
    let mut zeros = Zeroizing::new(Vec::with_capacity(params.items(Role::Sender)));
    for range in frames(params.items(Role::Sender), 2 * group.point_bytes()) {
        let answers = messages::receive(group, ANSWERS, range.len(), incoming)?;
        zeros.extend(secret.are_zero(group, &answers));
        progress.advance(range.len());
    }
    Ok(zeros)
}

/// Runs the sender's role as [`send`] does, in any group instead of that of the parameters.
pub(super) fn send_in<G: Group + Sync>(
    group: &G,
    items: &[Item],
    params: &Params,
    channel: &mut Channel,
    mut rng: ChaCha20Rng,
    order: Order<'_>,
) -> Result<()> {
    let bins = Bins::new(items, Role::Sender, params, &mut rng)?;
    let form = Form::new(group, params);
    let module = EncryptedModule(group);
    let progress = channel.progress().clone();
    let (outgoing, incoming) = channel.halves();

    // 5. φ at the own items, each value times a random number, with a fresh [0].
    let evaluated = params.points_of_portion(bins.count());
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
        let values: Vec<_> =
            portion.clone().into_par_iter().zip(bin_by_bin(&polynomials, portion.len())).map(values).collect();
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
    let order = order(&bins, &mut rng);
    for range in frames(order.len(), length) {
        let of_place = |&place: &u32| &answers[place as usize * length..][..length];
        outgoing.send(ANSWERS, order[range].iter().flat_map(of_place).copied().collect())?;
    }
    Ok(())
}
