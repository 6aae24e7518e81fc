//! Steps 1 to 4: the sum of all products, encrypted.

use std::slice;

use rand_core::CryptoRng;

use super::keys::Keys;
use super::{KissnerSongParty, POLYNOMIAL, SUM, WHOLE};
use crate::channel::{Channel, Label, each};
use crate::error::{Error, Result};
use crate::primitive::elgamal::Ciphertext;
use crate::primitive::group::Group;
use crate::primitive::published::polynomial::EncryptedModule;
use crate::primitive::published::polynomial::Module;
use crate::protocol::published::intersect::polynomial::messages;

/// p, of which each party adds for everybody's polynomial its product with a factor of the party's own.
pub(super) fn of_all<G: Group + Sync>(
    group: &G,
    party: &KissnerSongParty<'_>,
    keys: &Keys<G>,
    roots: &[G::Scalar],
    factors: &[Vec<G::Scalar>],
    channels: &mut [Channel],
    rng: &mut impl CryptoRng,
) -> Result<Vec<Ciphertext<G>>> {
    let (me, last) = (party.me, party.params.parties - 1);
    let own = products(group, party, keys, roots, factors, channels, rng)?;
    // 2. and 3. The sum so far, from one party to the next.
    let before = party.of_others(|place| place + 1 == me);
    let received = each(channels, before, |is_before, channel| receive_if(is_before, group, party, SUM, channel))?;
    let sum = match received.into_iter().flatten().next() {
        Some(sum) => EncryptedModule(group).add(&sum, &own),
        None => own,
    };
    // 4. The last party has all of it, and tells the others. (In the paper it tells the first, which does that.)
    if me == last {
        let send = |(), channel: &mut Channel| messages::send(group, WHOLE, &sum, channel.halves().0);
        each(channels, party.of_others(|_| ()), send)?;
        return Ok(sum);
    }
    let roles = party.of_others(|place| (place == me + 1, place == last));
    let whole = each(channels, roles, |(is_next, is_last), channel| {
        if is_next {
            messages::send(group, SUM, &sum, channel.halves().0)?;
        }
        receive_if(is_last, group, party, WHOLE, channel)
    })?;
    let whole = whole.into_iter().flatten().next();
    whole.ok_or_else(|| Error::Internal("kissner-song: nobody tells the sum".into()))
}

/// Step 1: what this party adds. That of its own polynomial is encrypted afresh, and with it all.
fn products<G: Group + Sync>(
    group: &G,
    party: &KissnerSongParty<'_>,
    keys: &Keys<G>,
    roots: &[G::Scalar],
    factors: &[Vec<G::Scalar>],
    channels: &mut [Channel],
    rng: &mut impl CryptoRng,
) -> Result<Vec<Ciphertext<G>>> {
    let form = party.form(group);
    channels.iter().for_each(|channel| channel.progress().start("multiplying polynomials", 1));
    // 1a. and 1b. With n - 1 colluders all others are told.
    let own = keys.joint.encrypt(group, &form.of_roots(group, roots), rng);
    let of_others = party.of_others(|place| &factors[place]);
    let products = each(channels, of_others, |factor, channel| {
        let (send, receive) = (
            |outgoing: &mut _| messages::send(group, POLYNOMIAL, &own, outgoing),
            |incoming: &mut _| messages::receive(group, POLYNOMIAL, party.params.told(), incoming),
        );
        let ((), theirs) = channel.duplex_of(POLYNOMIAL, send, receive)?;
        // 1d.
        let product = form.multiply(group, &theirs, slice::from_ref(factor));
        channel.progress().advance(1);
        Ok(product)
    })?;
    let known = form.multiply_known(group, roots, &factors[party.me]);
    let known = keys.joint.encrypt(group, &known, rng);
    Ok(products.iter().fold(known, |sum, product| EncryptedModule(group).add(&sum, product)))
}

/// The sum that comes over a channel, if one does.
fn receive_if<G: Group>(
    comes: bool,
    group: &G,
    party: &KissnerSongParty<'_>,
    label: Label,
    channel: &mut Channel,
) -> Result<Option<Vec<Ciphertext<G>>>> {
    if comes { messages::receive(group, label, party.params.opened(), channel.halves().1).map(Some) } else { Ok(None) }
}
