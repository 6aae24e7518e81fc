//! Role of the receiver.

use rand_core::CryptoRng;
use rayon::prelude::*;
use zeroize::Zeroizing;

use super::{BATCH, EvaluateOprf, MaskHash, PROGRAMMED, Params, Planes, STORE_SEED};
use crate::channel::Channel;
use crate::error::{Error, Result};
use crate::item::Item;
use crate::primitive::kernel::Block;
use crate::primitive::kernel::block::{self, BLOCK_BYTES};
use crate::primitive::kernel::memory::Secrets;
use crate::primitive::okvs::{EncodeError, Grouped, Okvs};
use crate::primitive::vole::VoleReceiver;
use crate::protocol::intersect::tag_exchange::items::Padded;
use crate::protocol::intersect::vole::function::{MASKED_BLOCKS, SEED_BYTES, group, runs, store_seed};
use crate::protocol::intersect::vole::{MASKED, SEED, correlation};
use crate::session::Session;

/// The store of the items at which a receiver asks. It may serve many links: what leaves on each is the store plus that
/// link's own fresh, uniformly random vector, so that senders who compare what they got have sums of one unknown with
/// as many.
pub struct QueryStore {
    items: Zeroizing<Vec<Item>>,
    own: usize,
    seed: [u8; SEED_BYTES],
    okvs: Okvs,
    grouped: Grouped,
    /// H(x) of each, as the store groups them.
    values: Zeroizing<Vec<Block>>,
    store: Zeroizing<Vec<Block>>,
}

impl QueryStore {
    /// The store of these distinct items, filled up with random ones to the agreed number. Its seed is drawn now that
    /// they are fixed; `session` is that of all links together.
    pub fn new(items: &[Item], params: &Params, session: &Session, rng: &mut impl CryptoRng) -> Result<QueryStore> {
        if items.len() > params.asked {
            return Err(Error::Internal(format!("{} items where {} were agreed on", items.len(), params.asked)));
        }
        let mut seed = [0; SEED_BYTES];
        rng.fill_bytes(&mut seed);
        let okvs = Okvs::new(params.asked_store()?, &store_seed(session, &seed));
        let all = Zeroizing::new(Padded::new(items, rng).range(&(0..params.asked)).into_owned());
        let (grouped, values) = group(&okvs, &all);
        let store = Zeroizing::new(okvs.encode(&grouped, &values).map_err(unlucky)?);
        Ok(QueryStore { own: items.len(), items: all, seed, okvs, grouped, values, store })
    }

    /// The items at which it asks, without those that fill them up.
    pub(super) fn items(&self) -> &[Item] {
        &self.items[..self.own]
    }
}

/// The items do not fit a store.
pub(super) fn unlucky(error: EncodeError) -> Error {
    match error {
        EncodeError::Duplicate(one, other) => Error::Internal(format!("opprf: items {one} and {other} are equal")),
        EncodeError::Unlucky => Error::NotReady(
            "the items do not fit their store under this run's seed, which happens less than once in 2^40 runs: run the job again".into(),
        ),
    }
}

/// The receiver's end of one link.
pub struct OpprfReceiver<'a> {
    /// Session of the link.
    pub session: &'a Session,
}

impl EvaluateOprf for OpprfReceiver<'_> {
    fn evaluate(
        self,
        asked: &QueryStore,
        params: &Params,
        channel: &mut Channel,
        rng: &mut impl CryptoRng,
    ) -> Result<Planes> {
        let mut vole = correlation::receiver(&params.correlation()?, self.session, channel, rng)?;
        self.evaluate_over(asked, params, &mut vole, channel)
    }
}

impl OpprfReceiver<'_> {
    /// Evaluates as [`EvaluateOprf::evaluate`] does, with a correlation from elsewhere, which must be fresh.
    pub fn evaluate_over(
        self,
        asked: &QueryStore,
        params: &Params,
        vole: &mut impl VoleReceiver,
        channel: &mut Channel,
    ) -> Result<Planes> {
        let progress = channel.progress().clone();
        // 1. The function: Raghuraman & Rindal 2022, figure 4, as in `vole::function`.
        channel.send(SEED, asked.seed.to_vec())?;
        let columns = asked.store.len();
        progress.start("correlating", columns);
        let room = || {
            let no_room =
                || Error::Input(format!("this machine has no memory for {} items: bring fewer", params.asked));
            Secrets::with_room(columns).ok_or_else(no_room)
        };
        let (mut a, mut c) = (room()?, room()?);
        for run in runs(columns) {
            vole.extend(a.grow(run), c.grow(run), channel)?;
        }
        for (store, a) in asked.store.chunks(MASKED_BLOCKS).zip(a.chunks_mut(MASKED_BLOCKS)) {
            block::xor_into(store, a);
            channel.send(MASKED, block::as_bytes(a).to_vec())?;
            progress.advance(store.len());
        }
        drop(a);

        // 2. F at the own items, dummies aside, in their order.
        let inner = Zeroizing::new(asked.okvs.decode(&asked.grouped, &c));
        drop(c);
        let hash = MaskHash::new(self.session);
        let places = inner.par_chunks(BATCH).zip(asked.grouped.keys().par_chunks(BATCH));
        let places = places.zip(asked.values.par_chunks(BATCH));
        let mut masks = Zeroizing::new(vec![Block::ZERO; inner.len() * params.width()]);
        masks.par_chunks_mut(BATCH * params.width()).zip(places).for_each(|(masks, ((inner, keys), values))| {
            hash.blocks([inner, keys, values], params.width(), masks);
        });
        drop(inner);
        let own = asked.items().len();
        let mut values: Planes = (0..params.width()).map(|_| Zeroizing::new(vec![Block::ZERO; own])).collect();
        for (masks, &item) in masks.chunks(params.width()).zip(asked.grouped.order()) {
            if (item as usize) < own {
                values.iter_mut().zip(masks).for_each(|(plane, mask)| plane[item as usize] = *mask);
            }
        }
        drop(masks);

        // 3. The hint, which turns it into what was programmed.
        let seed = channel.receive(STORE_SEED, SEED_BYTES)?;
        let okvs = Okvs::new(params.programmed_store()?, &store_seed(self.session, &seed));
        let (grouped, _) = group(&okvs, asked.items());
        let columns = okvs.params().columns();
        progress.start("receiving values", columns * params.planes);
        for plane in values.iter_mut().take(params.planes) {
            let mut store = Vec::new();
            while store.len() < columns {
                let length = MASKED_BLOCKS.min(columns - store.len());
                let bytes = channel.receive(PROGRAMMED, length * BLOCK_BYTES)?;
                let blocks = block::from_bytes(&bytes).ok_or_else(|| Error::Internal("a length was checked".into()))?;
                store.extend_from_slice(&blocks);
                progress.advance(length);
            }
            let decoded = Zeroizing::new(okvs.decode(&grouped, &store));
            for (value, &item) in decoded.iter().zip(grouped.order()) {
                plane[item as usize] ^= *value;
            }
        }
        Ok(values)
    }
}
