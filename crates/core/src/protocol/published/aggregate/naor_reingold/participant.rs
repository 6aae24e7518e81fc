//! Role of the participant.

use rand_core::CryptoRng;
use zeroize::Zeroizing;

use super::function::{input_bytes, inputs};
use super::transfer::evaluate;
use super::{BLINDS, REPORTS, Reporting};
use crate::channel::Channel;
use crate::error::Result;
use crate::primitive::group::Embedding;
use crate::primitive::ot::softspoken::RandomReceiver;
use crate::primitive::ot::{Choices, RandomOtReceiver, chosen};
use crate::protocol::aggregate::report::{check, encrypt, with_rows};
use crate::protocol::aggregate::{Entry, Params, RoundKeys};
use crate::protocol::intersect::tag_exchange::Frames;
use crate::session::Session;

/// Sets up transfers with a proxy that does [`super::proxy::connect`], for any number of reports. `session` is one of
/// this connection alone.
pub fn connect(session: &Session, channel: &mut Channel, rng: &mut impl CryptoRng) -> Result<RandomReceiver> {
    RandomReceiver::setup(&super::transfer::extension()?, session, super::transfer::PURPOSE, channel, rng)
}

/// Reports all `entries`, stage by stage. The proxy must do [`super::proxy::receive`] for as many.
///
/// Errors: [`Error::Input`](crate::Error::Input) if a key is longer than agreed, or a value is none of the domain,
/// before anything is sent; the channel fails, or the proxy breaks the protocol.
pub fn send<G: Embedding + Sync>(
    reporting: &Reporting<G>,
    entries: &[Entry],
    ot: &mut impl RandomOtReceiver,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<()> {
    let &Reporting { params, keys, participant, first, .. } = reporting;
    let (group, bytes) = (params.group(), input_bytes(params.key_bytes()));
    let padded = check(params, entries, first)?;
    channel.progress().start("reporting", entries.len());
    for places in reporting.stages(entries.len()) {
        let (count, length) = (places.len(), group.scalar_bytes());
        // 1. One of the messages for each bit, and the blinds.
        let bits = Choices::from_bytes(&inputs(params, &padded[places.clone()]), 8 * bytes * count);
        let mut messages = Zeroizing::new(vec![0; 8 * bytes * count * length]);
        chosen::receive(ot, &bits, length, &mut messages, channel)?;
        let blinds = Frames::new(count, group.point_bytes(), usize::MAX).receive(BLINDS, channel)?;
        let blinds = group.decode(&blinds).map_err(|error| channel.violation(format!("`{}` {error}", BLINDS.name)))?;

        // 2. The function's values, blinded, and with them the reports.
        let values = evaluate(group, bytes, &blinds, &messages);
        let number = first + places.start as u64;
        let reports = report(params, keys, (participant, number), &entries[places], values, rng)?;
        Frames::new(count, params.report_bytes(), usize::MAX).send(REPORTS, &reports, channel)?;
        channel.progress().advance(count);
    }
    Ok(())
}

/// The reports of `entries`, of which `values` are the function's, blinded. Otherwise as
/// [`report`](crate::protocol::aggregate::report()), with who reports and the number of the first.
pub fn report<G: Embedding + Sync>(
    params: &Params<G>,
    keys: &RoundKeys<G>,
    from: (&str, u64),
    entries: &[Entry],
    values: Vec<G::Point>,
    rng: &mut impl CryptoRng,
) -> Result<Vec<u8>> {
    assert_eq!(entries.len(), values.len(), "every key has its value");
    let padded = check(params, entries, from.1)?;
    let masks = params.group().random_scalars(entries.len(), rng);
    let rows = encrypt(params.group(), &keys.database, values, &masks);
    Ok(with_rows(params, keys, from, entries, &padded, (rows, masks), rng))
}
