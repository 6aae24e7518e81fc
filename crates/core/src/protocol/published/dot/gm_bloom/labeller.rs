//! The party that labels rows, and shuffles: P_2.

use rand_core::CryptoRng;
use zeroize::Zeroizing;

use super::labels::{self, chunks};
use super::{BITS, Execution, LABELLED, PUBLIC_KEY, holds};
use crate::channel::Channel;
use crate::error::Result;
use crate::primitive::ot::Choices;
use crate::primitive::published::goldwasser_micali::{GmCiphertexts, GmPublicKey};
use crate::primitive::shuffle::random_order;
use crate::protocol::published::intersect::bloom::BloomSender;

pub(super) fn run(
    columns: &[Choices],
    execution: &Execution<'_>,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<()> {
    let params = execution.params;
    let (size, strength) = (params.lengths().key, params.lengths().strength);
    let item_key = execution.session.derive(&format!("labels of {}", execution.purpose()));
    let bloom = params.bloom();
    let (mut intersection, mut product) = (None, 0);

    let payload = channel.receive(PUBLIC_KEY, size.modulus_bytes())?;
    let key =
        GmPublicKey::from_bytes(size, &payload).map_err(|invalid| channel.violation(holds(PUBLIC_KEY, invalid)))?;
    for column in 0..params.shape().columns(execution.counter) {
        let ciphertexts = receive(&key, execution, channel)?;
        for partner in params.partners(execution.counter, column) {
            // 1.3
            let mut labels = labels::random(params.shape().rows, strength, rng);
            // 1.4, 1.5
            answer(&key, &ciphertexts, &labels, execution, channel, rng)?;
            // 2.1
            let intersection = match &mut intersection {
                Some(intersection) => intersection,
                none => none.insert(BloomSender::setup(bloom, execution.session, execution.purpose(), channel, rng)?),
            };
            let bits = Zeroizing::new(columns[partner].iter().collect::<Vec<bool>>());
            let items = labels::items(labels::chosen(&mut labels, &bits), &item_key, product);
            intersection.intersect(&items, bloom, product as u64, channel)?;
            product += 1;
        }
    }
    Ok(())
}

/// One of the counter's columns. All of it is kept: the first row may be the last in the order in which it goes back.
fn receive(key: &GmPublicKey, execution: &Execution<'_>, channel: &mut Channel) -> Result<GmCiphertexts> {
    let (params, rows) = (execution.params, execution.params.shape().rows);
    channel.progress().start("receiving encrypted bits", rows);
    let mut ciphertexts = key.no_ciphertexts();
    for rows in chunks(rows, params.chunk()) {
        let payload = channel.receive(BITS, rows.len() * params.lengths().key.modulus_bytes())?;
        ciphertexts.append(&key.read(&payload).map_err(|invalid| channel.violation(holds(BITS, invalid)))?);
        channel.progress().advance(rows.len());
    }
    Ok(ciphertexts)
}

/// Labels and ciphertexts in random order. The counter knows the ciphertexts that it has made: they go back as others.
fn answer(
    key: &GmPublicKey,
    ciphertexts: &GmCiphertexts,
    labels: &[labels::BloomLabel],
    execution: &Execution<'_>,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<()> {
    let params = execution.params;
    channel.progress().start("shuffling", labels.len());
    let order = Zeroizing::new(random_order(labels.len(), rng));
    for order in order.chunks(params.chunk()) {
        let mut message = Vec::with_capacity(order.len() * params.labelled_bytes());
        labels::write(order.iter().map(|&row| labels[row as usize]), params.lengths().strength, &mut message);
        message.extend_from_slice(key.rerandomize(ciphertexts, order, rng).as_bytes());
        channel.send(LABELLED, message)?;
        channel.progress().advance(order.len());
    }
    Ok(())
}
