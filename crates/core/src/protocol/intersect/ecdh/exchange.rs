//! The oblivious evaluation that `rows` and `payload` share, from both sides.
//!
//! The sender's public key K comes first. The receiver blinds by adding multiples of the generator and unblinds by
//! taking off multiples of K, both of which are faster than products of any point. A sender that answers with another
//! key than that of K gets an output that it can compute for one guess of the item. So tags and seals are bound to K,
//! and items travel in a random order: see [`crate::primitive::oprf`].

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use chacha20::ChaCha20Rng;
use rand_core::{CryptoRng, SeedableRng};
use zeroize::Zeroizing;

use super::{BLINDED, EVALUATED, PUBLIC_KEY, Params, TagDomain};
use crate::channel::Channel;
use crate::error::Result;
use crate::item::Item;
use crate::primitive::oprf::{AdditiveBlinds, OUTPUT_BYTES, OprfKey, OprfPublicKey, Suite};
use crate::primitive::shuffle::random_order;
use crate::protocol::intersect::tag_exchange::items::{Padded, seed};

/// The receiver's side of the first message. Returns the sender's key, and the domain of tags by it.
pub(super) fn receive_key(
    domain: &TagDomain,
    params: &Params,
    channel: &mut Channel,
) -> Result<(OprfPublicKey, TagDomain)> {
    let bytes = channel.receive(PUBLIC_KEY, params.suite.element_bytes())?;
    let key = OprfPublicKey::from_bytes(params.suite, &bytes)
        .map_err(|error| channel.violation(format!("`{}` {error}", PUBLIC_KEY.name)))?;
    Ok((key, domain.of_key(&bytes)))
}

/// The sender's side of the first message. Returns the domain of tags by its key.
pub(super) fn send_key(key: &OprfKey, domain: &TagDomain, channel: &mut Channel) -> Result<TagDomain> {
    let bytes = key.public();
    let domain = domain.of_key(&bytes);
    channel.send(PUBLIC_KEY, bytes)?;
    Ok(domain)
}

/// The receiver's side: blinds and sends its items in a random order, which it returns. The function's outputs are
/// handed to `take` in that order, each time with the indices of their items. Dummies are sent and evaluated too, but
/// not handed over.
///
/// Blinding runs ahead of unblinding by what travels. The blinds are not kept meanwhile but made twice from one seed,
/// a stream of the generator for each message.
pub(super) fn ask(
    items: &[Item],
    key: &OprfPublicKey,
    params: &Params,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
    mut take: impl FnMut(&[u32], &[[u8; OUTPUT_BYTES]]),
) -> Result<Vec<u32>> {
    let asked = Asked { items, order: random_order(items.len(), rng), padded: Padded::new(items, rng) };
    let blinding_seed = seed(rng);
    let blinds = |range: &Range<usize>| blinds(params.suite, &blinding_seed, range);
    let element_bytes = params.suite.element_bytes();
    let frames = params.entries.frames(params.entries.receiver_items, element_bytes);
    let progress = channel.progress().clone();
    progress.start("evaluating", params.entries.receiver_items);
    channel.duplex(
        |outgoing| {
            for range in frames.clone() {
                outgoing.send(BLINDED, blinds(&range).blind(&asked.range(&range))?)?;
            }
            Ok(())
        },
        |incoming| {
            for range in frames.clone() {
                let evaluated = incoming.receive(EVALUATED, range.len() * element_bytes)?;
                let outputs = blinds(&range)
                    .finalize(&asked.range(&range), &evaluated, key)
                    .map_err(|error| incoming.violation(format!("`{}` {error}", EVALUATED.name)))?;
                let own = asked.own(&range);
                take(own, &outputs[..own.len()]);
                progress.advance(range.len());
            }
            Ok(())
        },
    )?;
    Ok(asked.order)
}

/// Items in the order in which they travel, and behind them the dummies.
struct Asked<'a> {
    items: &'a [Item],
    /// Indices of the items.
    order: Vec<u32>,
    padded: Padded<'a>,
}

impl Asked<'_> {
    /// Indices of the items at the places of a range, where no dummies are.
    fn own(&self, range: &Range<usize>) -> &[u32] {
        &self.order[range.start.min(self.order.len())..range.end.min(self.order.len())]
    }

    /// The items at the places of a range, the same whenever they are asked for.
    fn range(&self, range: &Range<usize>) -> Zeroizing<Vec<Item>> {
        let own = self.own(range).iter().map(|&index| self.items[index as usize]);
        let dummies = self.padded.range(&(range.start.max(self.items.len())..range.end.max(self.items.len())));
        Zeroizing::new(own.chain(dummies.iter().copied()).collect())
    }
}

/// The blinds of the items in a range: a stream of the generator for each message, the same whenever they are asked
/// for.
fn blinds(suite: Suite, seed: &[u8; 32], range: &Range<usize>) -> AdditiveBlinds {
    let mut rng = ChaCha20Rng::from_seed(*seed);
    rng.set_stream(range.start as u64);
    AdditiveBlinds::random(suite, range.len(), &mut rng)
}

/// The sender's side: evaluates what the receiver sends, in order.
pub(super) fn answer(key: &OprfKey, params: &Params, channel: &mut Channel) -> Result<()> {
    let progress = channel.progress().clone();
    let element_bytes = params.suite.element_bytes();
    for range in params.entries.frames(params.entries.receiver_items, element_bytes) {
        let blinded = channel.receive(BLINDED, range.len() * element_bytes)?;
        let evaluated =
            key.blind_evaluate(&blinded).map_err(|error| channel.violation(format!("`{}` {error}", BLINDED.name)))?;
        channel.send(EVALUATED, evaluated)?;
        progress.advance(range.len());
    }
    Ok(())
}

/// Runs `answer` on this thread and `work` on another. `work` should stop early once its flag is set, which means
/// that answering has failed.
pub(super) fn answer_while<A, W: Send>(
    answer: impl FnOnce() -> Result<A>,
    work: impl FnOnce(&AtomicBool) -> Result<W> + Send,
) -> Result<(A, W)> {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| work(&stop));
        let answered = answer();
        stop.store(answered.is_err(), Ordering::Relaxed);
        let worked = worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Ok((answered?, worked?))
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::item::ITEM_BYTES;

    #[test]
    fn no_blind_is_used_twice() {
        for suite in Suite::ALL {
            let item = Item([7; ITEM_BYTES]);
            let blinded =
                |range: Range<usize>| blinds(suite, &[1; 32], &range).blind(&vec![item; range.len()]).unwrap();
            let messages = [blinded(0..100), blinded(100..200), blinded(200..250)];
            let elements = messages.iter().flat_map(|message| message.chunks(suite.element_bytes()));
            assert_eq!(elements.collect::<HashSet<&[u8]>>().len(), 250, "one item, blinded 250 times");
            assert_eq!(blinded(100..200), messages[1], "unblinding needs the same again");
        }
    }
}
