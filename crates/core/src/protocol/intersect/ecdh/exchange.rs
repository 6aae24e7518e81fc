//! The oblivious evaluation that `rows` and `payload` share, from both sides.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use chacha20::ChaCha20Rng;
use rand_core::{CryptoRng, SeedableRng};

use super::{BLINDED, EVALUATED, Params};
use crate::channel::Channel;
use crate::error::Result;
use crate::item::Item;
use crate::primitive::oprf::{Blinds, OUTPUT_BYTES, OprfKey, Suite};
use crate::protocol::intersect::tag_exchange::items::{Padded, seed};

/// The receiver's side: blinds and sends its items, and hands the function's outputs to `take` in the items' order.
/// Dummies are sent and evaluated too, but not handed over.
///
/// Blinding runs ahead of unblinding by what travels. The blinds are not kept meanwhile but made twice from one seed,
/// a stream of the generator for each message.
pub(super) fn ask(
    items: &[Item],
    params: &Params,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
    mut take: impl FnMut(&[[u8; OUTPUT_BYTES]]),
) -> Result<()> {
    let padded = Padded::new(items, rng);
    let blinding_seed = seed(rng);
    let blinds = |range: &Range<usize>| blinds(params.suite, &blinding_seed, range);
    let element_bytes = params.suite.element_bytes();
    let frames = params.entries.frames(params.entries.receiver_items, element_bytes);
    let progress = channel.progress().clone();
    progress.start("evaluating", params.entries.receiver_items);
    channel.duplex(
        |outgoing| {
            for range in frames.clone() {
                outgoing.send(BLINDED, blinds(&range).blind(&padded.range(&range))?)?;
            }
            Ok(())
        },
        |incoming| {
            for range in frames.clone() {
                let evaluated = incoming.receive(EVALUATED, range.len() * element_bytes)?;
                let outputs = blinds(&range)
                    .finalize(&padded.range(&range), &evaluated)
                    .map_err(|error| incoming.violation(format!("`{}` {error}", EVALUATED.name)))?;
                take(&outputs[..padded.own(&range)]);
                progress.advance(range.len());
            }
            Ok(())
        },
    )?;
    Ok(())
}

/// The blinds of the items in a range: a stream of the generator for each message, the same whenever they are asked
/// for.
fn blinds(suite: Suite, seed: &[u8; 32], range: &Range<usize>) -> Blinds {
    let mut rng = ChaCha20Rng::from_seed(*seed);
    rng.set_stream(range.start as u64);
    Blinds::random(suite, range.len(), &mut rng)
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
