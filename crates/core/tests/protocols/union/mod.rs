//! Tests of private set union.

mod hostile;
pub mod order;
mod results;
mod views;

use std::collections::HashSet;

use crate::support::two::{Ended, run_over};
use crate::support::{rng, session};
use tacita_core::protocol::union::{MemorySpace, Params, SenderItems, ShuffledItems, ecdh};
use tacita_core::{Channel, Item, Result};

/// Output of the receiver in the order in which it comes, and the number of common items.
pub type Received = (Vec<Vec<u8>>, usize);

/// Returns the payload that the sender gives for an item in these tests: `bytes` of its hash.
pub fn given_for(item: &Item, bytes: usize) -> Vec<u8> {
    blake3::hash(&item.0).as_bytes().iter().cycle().take(bytes).copied().collect()
}

fn receive(items: &[Item], params: &Params, channel: &mut Channel, seed: u8) -> Result<Received> {
    let mut received = Vec::new();
    let mut take = |payload: &[u8]| {
        received.push(payload.to_vec());
        Ok(())
    };
    let common = ecdh::receive(items, &MemorySpace, &session(), params, channel, &mut rng(seed), &mut take)?;
    Ok((received, common))
}

fn send(items: &[Item], params: &Params, channel: &mut Channel, seed: u8) -> Result<()> {
    let payload = |index: usize, out: &mut Vec<u8>| out.extend(given_for(&items[index], params.payload_bytes));
    send_given(&ShuffledItems::new(items, &payload, &mut rng(seed ^ 0x80))?, params, channel, seed)
}

fn send_given(given: &dyn SenderItems, params: &Params, channel: &mut Channel, seed: u8) -> Result<()> {
    ecdh::send(given, &MemorySpace, &session(), params, channel, &mut rng(seed))
}

/// Runs both in memory.
fn run(receiver: &[Item], sender: &[Item], params: &Params, seeds: [u8; 2]) -> (Ended<Received>, Ended<Received>) {
    let first = |channel: &mut Channel| receive(receiver, params, channel, seeds[0]);
    let second = |channel: &mut Channel| send(sender, params, channel, seeds[1]).map(|()| (Vec::new(), 0));
    run_over(Channel::pair("receiver", "sender"), &first, &second)
}

/// Returns the receiver's output, the bytes that both have sent, and the rounds of both.
pub fn ended<T>((received, sent): (Ended<T>, Ended<T>)) -> (T, ([u64; 2], [u32; 2])) {
    let ((received, receiver), (_, sender)) = (received.unwrap(), sent.unwrap());
    (received, ([receiver.sent, sender.sent], [receiver.rounds, sender.rounds]))
}

/// Checks that the receiver gets what is given for all that it lacks, and the number of items that it does not lack.
pub fn is_union((mut given, common): Received, receiver: &[Item], sender: &[Item], bytes: usize) {
    let own: HashSet<&Item> = receiver.iter().collect();
    let missing = sender.iter().filter(|item| !own.contains(item));
    let mut expected: Vec<_> = missing.map(|item| given_for(item, bytes)).collect();
    assert_eq!(common, sender.len() - expected.len());
    expected.sort_unstable();
    given.sort_unstable();
    assert_eq!(given, expected);
}
