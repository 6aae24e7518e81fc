//! `polynomial-ot`.

mod hostile;
mod results;
mod views;

use crate::support::two::{Ended, run_over};
use crate::support::{rng, session};
use crate::union::{Received, given_for};
use tacita_core::protocol::published::intersect::polynomial::{PolynomialRequest, PolynomialReveal, Strategy};
use tacita_core::protocol::published::union::polynomial_ot::{self, Params};
use tacita_core::protocol::union::{SenderItems, ShuffledItems};
use tacita_core::{Channel, Item, Level, Result};

fn wanted(strategy: Option<Strategy>, bins: Option<usize>) -> PolynomialRequest {
    PolynomialRequest { level: Level::Bits128, reveal: PolynomialReveal::Count, strategy, bins, runs: 1 }
}

fn receive(items: &[Item], params: &Params, channel: &mut Channel, seed: u8) -> Result<Received> {
    let mut received = Vec::new();
    let mut take = |payload: &[u8]| {
        received.push(payload.to_vec());
        Ok(())
    };
    let common = polynomial_ot::receive(items, &session(), params, channel, &mut rng(seed), &mut take)?;
    Ok((received, common))
}

fn send(items: &[Item], params: &Params, channel: &mut Channel, seed: u8) -> Result<()> {
    let bytes = params.payload_bytes();
    let payload = |index: usize, out: &mut Vec<u8>| out.extend(given_for(&items[index], bytes));
    send_given(&ShuffledItems::new(items, &payload, &mut rng(seed ^ 0x80))?, params, channel, seed)
}

fn send_given(given: &dyn SenderItems, params: &Params, channel: &mut Channel, seed: u8) -> Result<()> {
    polynomial_ot::send(given, &session(), params, channel, &mut rng(seed))
}

fn run(receiver: &[Item], sender: &[Item], params: &Params) -> (Ended<Received>, Ended<Received>) {
    let first = |channel: &mut Channel| receive(receiver, params, channel, 1);
    let second = |channel: &mut Channel| send(sender, params, channel, 2).map(|()| (Vec::new(), 0));
    run_over(Channel::pair("receiver", "sender"), &first, &second)
}
