//! `polynomial`.

mod hostile;
mod results;
mod views;

use crate::support::rng;
use crate::support::two::{Ended, run_over};
use tacita_core::protocol::published::intersect::polynomial::{PolynomialRequest, PolynomialReveal, Strategy};
use tacita_core::protocol::published::union::polynomial::{self, Params};
use tacita_core::{Channel, Item, Level, Result};

fn wanted(strategy: Option<Strategy>, bins: Option<usize>) -> PolynomialRequest {
    PolynomialRequest { level: Level::Bits128, reveal: PolynomialReveal::Rows, strategy, bins, runs: 1 }
}

fn receive(
    items: &[Item],
    candidates: &[Item],
    params: &Params,
    channel: &mut Channel,
    seed: u8,
) -> Result<Vec<usize>> {
    polynomial::receive(items, candidates, params, channel, &mut rng(seed))
}

fn send(items: &[Item], params: &Params, channel: &mut Channel, seed: u8) -> Result<()> {
    polynomial::send(items, params, channel, &mut rng(seed))
}

fn run(mine: &[Item], candidates: &[Item], theirs: &[Item], params: &Params) -> (Ended<Vec<usize>>, Ended<Vec<usize>>) {
    let first = |channel: &mut Channel| receive(mine, candidates, params, channel, 1);
    let second = |channel: &mut Channel| send(theirs, params, channel, 2).map(|()| Vec::new());
    run_over(Channel::pair("receiver", "sender"), &first, &second)
}
