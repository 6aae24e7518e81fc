//! Roles that reveal which items are common.

use crate::parallel;
use std::slice;

use chacha20::ChaCha20Rng;
use rand_core::CryptoRng;
use rayon::prelude::*;

use super::bins::Bins;
use super::form::Form;
use super::group::with;
use super::messages;
use super::{ANSWERS, POLYNOMIALS, PUBLIC_KEY, Params, PolynomialReveal};
use crate::channel::Channel;
use crate::error::Result;
use crate::item::Item;
use crate::primitive::elgamal::ElGamalSecretKey;
use crate::primitive::group::Group;
use crate::primitive::published::polynomial::EncryptedModule;
use crate::primitive::published::polynomial::{Module, Points};
use crate::protocol::intersect::tag_exchange::items::fork;
use crate::role::Role;

/// The receiver's role (KK's client): returns the indices of the items that are common, ascending. Items must be
/// distinct, and made with a key of this session.
///
/// Errors: [`Error::NotReady`](crate::Error::NotReady) if the items do not fit their bins, before anything is sent; the
/// channel fails, or the peer breaks the protocol.
pub fn receive(items: &[Item], params: &Params, channel: &mut Channel, rng: &mut impl CryptoRng) -> Result<Vec<usize>> {
    params.check(Role::Receiver, items, PolynomialReveal::Rows)?;
    receive_by(items, params, channel, fork(rng))
}

/// The sender's role (the server). Items must be distinct, and made with a key of this session. Nothing is learned.
///
/// Errors: those of [`receive`].
pub fn send(items: &[Item], params: &Params, channel: &mut Channel, rng: &mut impl CryptoRng) -> Result<()> {
    params.check(Role::Sender, items, PolynomialReveal::Rows)?;
    send_by(items, params, channel, fork(rng))
}

// Without type parameters, so that curves are compiled here and not in other crates, which do not inline so far.
fn receive_by(items: &[Item], params: &Params, channel: &mut Channel, rng: ChaCha20Rng) -> Result<Vec<usize>> {
    with!(params.curve(), |group| receive_in(group, items, params, channel, rng))
}

fn send_by(items: &[Item], params: &Params, channel: &mut Channel, rng: ChaCha20Rng) -> Result<()> {
    with!(params.curve(), |group| send_in(group, items, params, channel, rng))
}

/// Runs the receiver's role as [`receive`] does, in any group instead of that of the parameters.
pub fn receive_in<G: Group + Sync>(
    group: &G,
    items: &[Item],
    params: &Params,
    channel: &mut Channel,
    mut rng: ChaCha20Rng,
) -> Result<Vec<usize>> {
    if params.is_empty() {
        return Ok(Vec::new());
    }
    let bins = Bins::new(items, Role::Receiver, params, &mut rng)?;
    roots_in(group, &bins, &bins, params, channel, rng)
}

/// Steps 1 to 8 with the items `own`: returns the indices of the items `tested` that are roots of what the sender
/// answers, ascending.
pub(in crate::protocol) fn roots_in<G: Group + Sync>(
    group: &G,
    own: &Bins<'_>,
    tested: &Bins<'_>,
    params: &Params,
    channel: &mut Channel,
    mut rng: ChaCha20Rng,
) -> Result<Vec<usize>> {
    let form = Form::new(group, params);
    let progress = channel.progress().clone();
    let evaluated = params.points_of_portion(tested.count());
    progress.start("evaluating polynomials", params.portions().len() * evaluated);
    let done = |values| progress.advance(values);

    // 1. A key.
    let secret = ElGamalSecretKey::generate(group, &mut rng);
    let mut others = fork(&mut rng);
    channel.send(PUBLIC_KEY, secret.public(group).to_bytes(group))?;
    let mut found = Vec::new();
    channel.duplex(
        |outgoing| {
            for portion in params.portions() {
                // 2. to 4. φ of each bin, encrypted.
                let polynomials = form.of_bins(group, &own.roots(group, &portion, &mut rng));
                messages::send(group, POLYNOMIALS, &secret.encrypt(group, &polynomials, &mut rng), outgoing)?;
            }
            Ok(())
        },
        |incoming| {
            let each = params.answers_of_bin();
            for portion in params.portions() {
                let answers = messages::receive(group, ANSWERS, portion.len() * each, incoming)?;
                // 7. h of each bin: its coefficients, or values, times the generator.
                let opened = secret.decrypt(group, &answers);
                // 8. The items that are its roots.
                let of_bin = |(bin, opened): (usize, &[G::Point])| {
                    let items = tested.items(bin);
                    let values = form.evaluate(&Points(group), opened, &tested.roots_of(group, items), &done);
                    let roots =
                        items.iter().zip(values).filter(|(_, value)| group.any_identity(slice::from_ref(value)));
                    roots.map(|(&item, _)| item as usize).filter(|&item| tested.is_own(item)).collect::<Vec<_>>()
                };
                // Time tells nothing of how many of them there are.
                form.evaluate(
                    &Points(group),
                    &opened[..each],
                    &tested.missing(group, &portion, evaluated, &mut others),
                    &done,
                );
                found.par_extend(portion.clone().into_par_iter().zip(opened.par_chunks(each)).flat_map_iter(of_bin));
            }
            Ok(())
        },
    )?;
    found.sort_unstable();
    Ok(found)
}

/// Runs the sender's role as [`send`] does, in any group instead of that of the parameters.
pub fn send_in<G: Group + Sync>(
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
    let progress = channel.progress().clone();
    progress.start("multiplying polynomials", params.bins());

    let (outgoing, incoming) = channel.halves();
    let key = messages::receive_key(group, PUBLIC_KEY, incoming)?;
    for portion in params.portions() {
        let count = portion.len() * params.ciphertexts_of_bin();
        let polynomials = messages::receive(group, POLYNOMIALS, count, incoming)?;
        // 5. ψ of each bin, γ1 of its degree and γ2 of that of φ; h = γ1 φ + γ2 ψ.
        let roots = bins.roots(group, &portion, &mut rng);
        let mut random = |role| -> Vec<Vec<G::Scalar>> {
            portion.clone().map(|_| group.random_scalars(params.bound(role) + 1, &mut rng)).collect()
        };
        let (first, second) = (random(Role::Sender), random(Role::Receiver));
        let hidden = form.multiply(group, &polynomials, &first);
        let known: Vec<_> = parallel::numbers(roots.len(), 1, |i| form.multiply_known(group, &roots[i], &second[i]));
        // γ2 ψ is added as fresh ciphertexts, and with it a fresh [0] to everything: see the module's documentation.
        let answers = EncryptedModule(group).add(&hidden, &key.encrypt(group, &known.concat(), &mut rng));
        // 6.
        messages::send(group, ANSWERS, &answers, outgoing)?;
        progress.advance(portion.len());
    }
    Ok(())
}
