//! Role of the proxy.

use rand_core::CryptoRng;

use super::transfer::{Offer, TransferForm, offer};
use super::{BLINDS, NaorReingoldProxyKey, REPORTS, Reporting};
use crate::channel::Channel;
use crate::error::Result;
use crate::primitive::group::Embedding;
use crate::primitive::ot::softspoken::RandomSender;
use crate::primitive::ot::{RandomOtSender, chosen};
use crate::protocol::aggregate::blind::{Checked, check, entries};
use crate::protocol::aggregate::{Params, Refused, RoundKeys};
use crate::protocol::intersect::tag_exchange::Frames;
use crate::session::Session;

/// The other side of [`super::participant::connect`].
pub fn connect(session: &Session, channel: &mut Channel, rng: &mut impl CryptoRng) -> Result<RandomSender> {
    RandomSender::setup(&super::transfer::extension()?, session, super::transfer::PURPOSE, channel, rng)
}

/// Receives so many reports, and gives the entries that become of a stage's to `take`, in order: see
/// [`blind`](crate::protocol::aggregate::blind()). What a participant says of its number takes no memory.
///
/// Errors: the channel fails, or the participant breaks the protocol, as with a report whose proof does not hold; those
/// of earlier stages have been taken then.
pub fn receive<G: Embedding + Sync>(
    reporting: &Reporting<G>,
    key: &NaorReingoldProxyKey<G>,
    count: usize,
    ot: &mut impl RandomOtSender,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
    mut take: impl FnMut(Vec<u8>) -> Result<()>,
) -> Result<()> {
    let &Reporting { params, keys, participant, first, .. } = reporting;
    let group = params.group();
    for places in reporting.stages(count) {
        let count = places.len();
        let Offer { pairs, blinds, unblind: inverses } = offer(group, &key.function, count, TransferForm::Blinded, rng);
        chosen::send(ot, group.scalar_bytes(), &pairs, channel)?;
        Frames::new(count, group.point_bytes(), usize::MAX).send(BLINDS, &blinds, channel)?;
        let reports = Frames::new(count, params.report_bytes(), usize::MAX).receive(REPORTS, channel)?;
        let number = first + places.start as u64;
        let entries = unblind((params, keys, key), (participant, number), &reports, &inverses, rng)
            .map_err(|refused| channel.violation(format!("`{}`: {refused}", REPORTS.name)))?;
        take(entries)?;
    }
    Ok(())
}

/// Checks the reports of one participant, of which the first has this number, and makes an entry of each, as
/// [`blind`](crate::protocol::aggregate::blind()) does in `dh`: with the inverses that were drawn for these reports.
pub fn unblind<G: Embedding + Sync>(
    (params, keys, key): (&Params<G>, &RoundKeys<G>, &NaorReingoldProxyKey<G>),
    (participant, first): (&str, u64),
    reports: &[u8],
    inverses: &[G::Scalar],
    rng: &mut impl CryptoRng,
) -> std::result::Result<Vec<u8>, Refused> {
    let Checked { rows, values, sealed } = check(params, keys, participant, first, reports, rng)?;
    let rows = rows.map(|column| params.group().multiply_each(&column, inverses));
    Ok(entries(params, keys, &key.shared, participant, Checked { rows, values, sealed }, rng))
}
