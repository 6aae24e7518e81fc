//! `polynomial`.

mod hostile;
mod results;
mod views;

use crate::support::rng;
use crate::support::two::{Ended, run_over};
use tacita_core::channel::Channel;
use tacita_core::protocol::published::intersect::polynomial::{
    Params, PolynomialRequest, PolynomialReveal, Strategy, count, rows,
};
use tacita_core::{Item, Level, Result};

/// Requirements on a run of both parties, at 128 bits.
fn wanted(reveal: PolynomialReveal, strategy: Option<Strategy>, bins: Option<usize>) -> PolynomialRequest {
    PolynomialRequest { level: Level::Bits128, reveal, strategy, bins, runs: 1 }
}

/// Returns what the receiver learns: its common items, or as many zeros as there are.
fn receive(items: &[Item], params: &Params, channel: &mut Channel, seed: u8) -> Result<Vec<usize>> {
    match params.reveal() {
        PolynomialReveal::Rows => rows::receive(items, params, channel, &mut rng(seed)),
        PolynomialReveal::Count => count::receive(items, params, channel, &mut rng(seed)).map(|count| vec![0; count]),
    }
}

fn send(items: &[Item], params: &Params, channel: &mut Channel, seed: u8) -> Result<Vec<usize>> {
    match params.reveal() {
        PolynomialReveal::Rows => rows::send(items, params, channel, &mut rng(seed)),
        PolynomialReveal::Count => count::send(items, params, channel, &mut rng(seed)),
    }?;
    Ok(Vec::new())
}

fn run(mine: &[Item], theirs: &[Item], params: &Params) -> (Ended<Vec<usize>>, Ended<Vec<usize>>) {
    run_over(Channel::pair("receiver", "sender"), &|channel| receive(mine, params, channel, 1), &|channel| {
        send(theirs, params, channel, 2)
    })
}
