//! A trusted dealer in the place of the protocol, for tests of what is built on it: the sender hands it the values, the
//! receiver gets them at its items, and elsewhere uniformly random ones.

use std::collections::BTreeMap;
use std::sync::mpsc;

use rand_core::CryptoRng;
use zeroize::Zeroizing;

use super::{EvaluateOprf, Function, Params, Planes, ProgramOprf, QueryStore};
use crate::channel::Channel;
use crate::error::{Error, Result};
use crate::item::Item;
use crate::primitive::kernel::Block;

/// Values of the programmed items, which the dealer is told.
type Programmed = BTreeMap<Item, Vec<Block>>;

/// The dealer's end for a sender.
pub struct IdealOpprfSender(mpsc::Sender<(Programmed, Random)>);

/// The dealer's end for a receiver.
pub struct IdealOpprfReceiver(mpsc::Receiver<(Programmed, Random)>);

/// Random function, given by its key.
#[derive(Clone, Copy)]
pub struct Random([u8; 32]);

/// The dealer's two ends, in one process.
pub fn pair() -> (IdealOpprfSender, IdealOpprfReceiver) {
    let (sender, receiver) = mpsc::channel();
    (IdealOpprfSender(sender), IdealOpprfReceiver(receiver))
}

impl Function for Random {
    fn free(&self, items: &[Item]) -> Zeroizing<Vec<Block>> {
        let block = |item: &Item| Block::from_le_slice(&blake3::keyed_hash(&self.0, &item.0).as_bytes()[..16]);
        Zeroizing::new(items.iter().map(block).collect())
    }
}

impl ProgramOprf for IdealOpprfSender {
    type Function = Random;

    fn program(
        self,
        items: &[Item],
        values: &Planes,
        _params: &Params,
        _channel: &mut Channel,
        rng: &mut impl CryptoRng,
    ) -> Result<Random> {
        let value = |place: usize| values.iter().map(|plane| plane[place]).collect();
        let all = items.iter().enumerate().map(|(place, item)| (*item, value(place))).collect();
        let mut key = [0; 32];
        rng.fill_bytes(&mut key);
        self.0.send((all, Random(key))).map_err(|_| Error::Internal("the dealer's other end is gone".into()))?;
        Ok(Random(key))
    }
}

impl EvaluateOprf for IdealOpprfReceiver {
    fn evaluate(
        self,
        asked: &QueryStore,
        params: &Params,
        _channel: &mut Channel,
        rng: &mut impl CryptoRng,
    ) -> Result<Planes> {
        let (programmed, function) =
            self.0.recv().map_err(|_| Error::Internal("the dealer's other end is gone".into()))?;
        let mut planes: Planes = (0..params.planes).map(|_| Zeroizing::new(Vec::new())).collect();
        for item in asked.items() {
            let random = || (0..params.planes).map(|_| Block::random(rng)).collect();
            let value = programmed.get(item).cloned().unwrap_or_else(random);
            planes.iter_mut().zip(value).for_each(|(plane, value)| plane.push(value));
        }
        if params.free {
            planes.push(function.free(asked.items()));
        }
        Ok(planes)
    }
}
