//! The party that has the key, and counts: P_1.

use rand_core::CryptoRng;
use zeroize::Zeroizing;

use super::labels::{self, chunks};
use super::{BITS, Execution, LABELLED, PUBLIC_KEY, holds};
use crate::channel::Channel;
use crate::error::Result;
use crate::primitive::ot::Choices;
use crate::primitive::published::goldwasser_micali::GmSecretKey;
use crate::protocol::published::intersect::bloom::BloomReceiver;

/// The products of each of the own columns with its partners, one after the other.
pub(super) fn run(
    columns: &[Choices],
    execution: &Execution<'_>,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<Zeroizing<Vec<u32>>> {
    let (params, rows) = (execution.params, execution.params.shape().rows);
    let item_key = execution.session.derive(&format!("labels of {}", execution.purpose()));
    let bloom = params.bloom();
    let mut intersection = None;
    let mut counts = Zeroizing::new(Vec::with_capacity(params.products()));

    // 1.1
    let key = GmSecretKey::generate(params.lengths().key, rng);
    channel.send(PUBLIC_KEY, key.public().to_bytes())?;
    for (index, column) in columns.iter().enumerate() {
        // 1.2
        channel.progress().start("encrypting", rows);
        for rows in chunks(rows, params.chunk()) {
            let bits = Zeroizing::new(column.slice(rows.clone()).iter().collect::<Vec<bool>>());
            channel.send(BITS, key.public().encrypt(&bits, rng).into_bytes())?;
            channel.progress().advance(rows.len());
        }
        let ones = column.iter().map(usize::from).sum();
        for _ in params.partners(execution.counter, index) {
            // 1.6
            let mut labelled = Labelled::receive(&key, execution, channel)?;
            let own = labels::chosen(&mut labelled.labels, &labelled.bits);
            if own.len() != ones || !labels::distinct(own) {
                let other = "are not those of the column that was sent";
                return Err(channel.violation(format!("`{}` {other}", LABELLED.name)));
            }
            // 2.1, 2.2
            let intersection = match &mut intersection {
                Some(intersection) => intersection,
                none => none.insert(BloomReceiver::setup(bloom, execution.session, execution.purpose(), channel, rng)?),
            };
            let items = labels::items(own, &item_key, counts.len());
            let common = intersection.intersect(&items, bloom, counts.len() as u64, channel)?;
            counts.push(common.len() as u32);
        }
    }
    Ok(counts)
}

/// Labels that the counter is told of the rows.
struct Labelled {
    labels: Zeroizing<Vec<labels::BloomLabel>>,
    /// For each label whether it is that of one of the own ones.
    bits: Zeroizing<Vec<bool>>,
}

impl Labelled {
    fn receive(key: &GmSecretKey, execution: &Execution<'_>, channel: &mut Channel) -> Result<Labelled> {
        let (params, rows) = (execution.params, execution.params.shape().rows);
        let strength = params.lengths().strength;
        channel.progress().start("decrypting", rows);
        let (labels, bits) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
        let mut labelled = Labelled { labels: Zeroizing::new(labels), bits: Zeroizing::new(bits) };
        for rows in chunks(rows, params.chunk()) {
            let payload = channel.receive(LABELLED, rows.len() * params.labelled_bytes())?;
            let (labels, ciphertexts) = payload.split_at(rows.len() * strength.slot_bytes());
            let bits = key.open(ciphertexts).map_err(|invalid| channel.violation(holds(LABELLED, invalid)))?;
            labelled.labels.extend(labels::read(labels, strength));
            labelled.bits.extend_from_slice(&bits);
            channel.progress().advance(rows.len());
        }
        Ok(labelled)
    }
}
