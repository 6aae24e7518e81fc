//! Role of the sender.

use rand_core::CryptoRng;
use rayon::prelude::*;
use zeroize::Zeroizing;

use super::receiver::unlucky;
use super::{BATCH, Function, MaskHash, PROGRAMMED, Params, Planes, ProgramOprf, STORE_SEED};
use crate::channel::Channel;
use crate::error::{Error, Result};
use crate::item::Item;
use crate::primitive::kernel::block::{self, BLOCK_BYTES};
use crate::primitive::kernel::memory::Secrets;
use crate::primitive::kernel::{Block, gf128};
use crate::primitive::okvs::{Grouped, Okvs};
use crate::primitive::vole::VoleSender;
use crate::protocol::intersect::tag_exchange::items::check_count;
use crate::protocol::intersect::vole::function::{MASKED_BLOCKS, SEED_BYTES, group, runs, store_seed};
use crate::protocol::intersect::vole::{MASKED, SEED, correlation};
use crate::session::Session;

/// The sender's end of one link.
pub struct OpprfSender<'a> {
    /// Session of the link.
    pub session: &'a Session,
    /// The session of all links together, to which the receiver's store is bound.
    pub whole: &'a Session,
}

/// The function of one link, once the receiver has sent its masked store.
pub struct LinkFunction {
    okvs: Okvs,
    /// Store K of the correlation.
    store: Secrets,
    delta: Zeroizing<Block>,
    hash: MaskHash,
    width: usize,
}

impl ProgramOprf for OpprfSender<'_> {
    type Function = LinkFunction;

    fn program(
        self,
        items: &[Item],
        values: &Planes,
        params: &Params,
        channel: &mut Channel,
        rng: &mut impl CryptoRng,
    ) -> Result<LinkFunction> {
        let mut vole = correlation::sender(&params.correlation()?, self.session, channel, rng)?;
        self.program_over(items, values, params, &mut vole, channel, rng)
    }
}

impl OpprfSender<'_> {
    /// Programs as [`ProgramOprf::program`] does, with a correlation from elsewhere, which must be fresh.
    pub fn program_over(
        self,
        items: &[Item],
        values: &Planes,
        params: &Params,
        vole: &mut impl VoleSender,
        channel: &mut Channel,
        rng: &mut impl CryptoRng,
    ) -> Result<LinkFunction> {
        check_count(items, params.programmed)?;
        if values.len() != params.planes || values.iter().any(|plane| plane.len() != items.len()) {
            return Err(Error::Internal("opprf: not a value of each plane for each item".into()));
        }
        let progress = channel.progress().clone();

        // 1. The function's key: Raghuraman & Rindal 2022, figure 4, as in `vole::function`.
        let seed = channel.receive(SEED, SEED_BYTES)?;
        let asked = params.asked_store()?;
        progress.start("correlating", asked.columns());
        let delta = Zeroizing::new(vole.delta());
        let mut key = Secrets::with_room(asked.columns()).ok_or_else(|| {
            let (peer, items) = (channel.peer(), params.asked);
            Error::Terms(format!("this machine has no memory for the {items} items of {peer}: agree on fewer"))
        })?;
        for run in runs(asked.columns()) {
            vole.extend(key.grow(run), channel)?;
        }
        for key in key.chunks_mut(MASKED_BLOCKS) {
            let masked = channel.receive(MASKED, key.len() * BLOCK_BYTES)?;
            let masked = block::from_bytes(&masked).ok_or_else(|| Error::Internal("a length was checked".into()))?;
            gf128::scale_add(&masked, *delta, key);
            progress.advance(key.len());
        }

        let okvs = Okvs::new(asked, &store_seed(self.whole, &seed));
        let key = LinkFunction { okvs, store: key, delta, hash: MaskHash::new(self.session), width: params.width() };

        // 2. F at the own items, in their order.
        let (grouped, masks) = key.masks(items);
        let mut hidden: Planes = values.to_vec();
        for (masks, &item) in masks.chunks(params.width()).zip(grouped.order()) {
            hidden.iter_mut().zip(masks).for_each(|(plane, mask)| plane[item as usize] ^= *mask);
        }
        drop(masks);

        // 3. The hint. Its seed is drawn now that the items are fixed; columns that nothing determines are random.
        let mut seed = [0; SEED_BYTES];
        rng.fill_bytes(&mut seed);
        channel.send(STORE_SEED, seed.to_vec())?;
        let okvs = Okvs::new(params.programmed_store()?, &store_seed(self.session, &seed));
        let (grouped, _) = group(&okvs, items);
        progress.start("sending values", okvs.params().columns() * params.planes);
        for plane in hidden {
            let ordered: Vec<Block> = grouped.order().iter().map(|&item| plane[item as usize]).collect();
            let store = okvs.encode_random(&grouped, &ordered, rng).map_err(unlucky)?;
            for store in store.chunks(MASKED_BLOCKS) {
                channel.send(PROGRAMMED, block::as_bytes(store).to_vec())?;
                progress.advance(store.len());
            }
        }
        Ok(key)
    }
}

impl LinkFunction {
    /// F at any items: all blocks of the first, then those of the next, in the order of their places.
    fn masks(&self, items: &[Item]) -> (Grouped, Zeroizing<Vec<Block>>) {
        let (grouped, hashes) = group(&self.okvs, items);
        let mut inner = Zeroizing::new(self.okvs.decode(&grouped, &self.store));
        let mut masks = Zeroizing::new(vec![Block::ZERO; items.len() * self.width]);
        let places = inner.par_chunks_mut(BATCH).zip(grouped.keys().par_chunks(BATCH)).zip(hashes.par_chunks(BATCH));
        masks.par_chunks_mut(BATCH * self.width).zip(places).for_each(|(masks, ((inner, keys), hashes))| {
            gf128::scale_add(hashes, *self.delta, inner);
            self.hash.blocks([inner, keys, hashes], self.width, masks);
        });
        (grouped, masks)
    }
}

impl Function for LinkFunction {
    fn free(&self, items: &[Item]) -> Zeroizing<Vec<Block>> {
        let (grouped, masks) = self.masks(items);
        let mut free = Zeroizing::new(vec![Block::ZERO; items.len()]);
        for (masks, &item) in masks.chunks(self.width).zip(grouped.order()) {
            free[item as usize] = masks[self.width - 1];
        }
        free
    }
}
