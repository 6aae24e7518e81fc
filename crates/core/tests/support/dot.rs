//! Helpers that the tests of scalar products share: two parties with columns, and the truth.

use rand_core::Rng;
use tacita_core::channel::Traffic;
use tacita_core::primitive::ot::ideal;
use tacita_core::protocol::dot::ot::{self, Extension, Params};
use tacita_core::protocol::dot::{Columns, Integers, Modulus, Shape, Shares};
use tacita_core::{Channel, Result, Side};

use super::{rng, session, two};

/// Columns of both parties: `first` and `second` hold one vector for each column.
#[derive(Debug, Clone)]
pub struct Dot {
    pub integers: Integers,
    pub rows: usize,
    pub first: Vec<Vec<i64>>,
    pub second: Vec<Vec<i64>>,
}

/// Source of OTs in a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// Trusted dealer, whose cards this number determines.
    Dealer(u32),
    /// Oblivious transfers of the whole protocol.
    Protocol,
}

/// A party's shares and its traffic after a good end.
pub type Ended = two::Ended<Shares>;

pub fn integers(bits: u32, signed: bool) -> Integers {
    Integers::new(bits, signed).unwrap()
}

/// Random integers, of which a part that `density` says is not zero.
pub fn random_column(integers: Integers, rows: usize, density: f64, seed: u8) -> Vec<i64> {
    let (low, high) = integers.range();
    let mut rng = rng(seed);
    let mut value = || {
        let dense = (rng.next_u32() as f64) < density * 4_294_967_296.0;
        let value = low + (rng.next_u64() % (high - low + 1) as u64) as i64;
        match integers.bits() {
            1 => {
                if dense {
                    low + high
                } else {
                    0
                }
            }
            _ => {
                if dense {
                    value
                } else {
                    0
                }
            }
        }
    };
    (0..rows).map(|_| value()).collect()
}

impl Dot {
    /// Draws random columns for both parties.
    pub fn random(integers: Integers, rows: usize, counts: (usize, usize), density: f64, seed: u8) -> Dot {
        let columns = |count: usize, seed: u8| {
            (0..count).map(|column| random_column(integers, rows, density, seed.wrapping_add(column as u8))).collect()
        };
        Dot { integers, rows, first: columns(counts.0, seed), second: columns(counts.1, seed.wrapping_add(100)) }
    }

    /// Columns of the same value each.
    pub fn constant(integers: Integers, rows: usize, first: i64, second: i64) -> Dot {
        Dot { integers, rows, first: vec![vec![first; rows]], second: vec![vec![second; rows]] }
    }

    pub fn shape(&self) -> Shape {
        Shape { rows: self.rows, first: self.first.len(), second: self.second.len(), integers: self.integers }
    }

    pub fn params(&self, modulus: Modulus, extension: Extension) -> Params {
        Params::new(self.shape(), modulus, extension, None).unwrap()
    }

    pub fn columns(&self, side: Side) -> Columns {
        let mut columns = Columns::new(self.integers, self.rows);
        let values = if side == Side::First { &self.first } else { &self.second };
        values.iter().for_each(|column| columns.push(column.iter().copied()).unwrap());
        columns
    }

    /// The products' residues, row by row.
    pub fn truth(&self, modulus: Modulus) -> Vec<u128> {
        let product = |a: &[i64], b: &[i64]| {
            let sum: i128 = a.iter().zip(b).map(|(&a, &b)| i128::from(a) * i128::from(b)).sum();
            // 2^127 becomes -2^127, whose remainders are the same.
            sum.rem_euclid(modulus.value() as i128) as u128
        };
        self.first.iter().flat_map(|a| self.second.iter().map(move |b| product(a, b))).collect()
    }

    /// Runs the role of one party.
    pub fn run(&self, side: Side, params: &Params, source: Source, seed: u8, channel: &mut Channel) -> Result<Shares> {
        let (columns, rng) = (self.columns(side), &mut rng(seed));
        match source {
            Source::Protocol => ot::run(side, &columns, params, &session(), channel, rng),
            Source::Dealer(cards) => {
                let mut dealt = [0; 32];
                dealt[..4].copy_from_slice(&cards.to_le_bytes());
                let (mut sender, mut receiver) = ideal::pair(dealt);
                if side == params.ot_sender() {
                    ot::send_over(&columns, params, &session(), &mut sender, channel)
                } else {
                    ot::receive_over(&columns, params, &session(), &mut receiver, channel)
                }
            }
        }
    }

    /// Runs both parties, over channels that need not be connected to each other directly.
    pub fn run_over(
        &self,
        params: &Params,
        source: Source,
        first: Channel,
        second: Channel,
        seeds: (u8, u8),
    ) -> (Ended, Ended) {
        let part = |side, seed| move |channel: &mut Channel| self.run(side, params, source, seed, channel);
        two::run_over((first, second), &part(Side::First, seeds.0), &part(Side::Second, seeds.1))
    }

    /// Runs both parties as [`Dot::run_over`] does, over the channels of the OTs' receiver and sender, who are told
    /// apart as in attacks.
    pub fn run_as(
        &self,
        params: &Params,
        source: Source,
        receiver: Channel,
        sender: Channel,
        seeds: (u8, u8),
    ) -> (Ended, Ended) {
        match params.ot_sender() {
            Side::First => {
                let (sent, received) = self.run_over(params, source, sender, receiver, (seeds.1, seeds.0));
                (received, sent)
            }
            Side::Second => self.run_over(params, source, receiver, sender, seeds),
        }
    }

    /// Runs both parties, and sees to it that they get shares of the truth.
    pub fn check(&self, params: &Params, source: Source) -> [(Shares, Traffic); 2] {
        let (first, second) = Channel::pair("first", "second");
        let (first, second) = self.run_over(params, source, first, second, (1, 2));
        let (first, second) = (first.unwrap(), second.unwrap());
        let what = format!("{params:?}");
        assert_eq!(first.0.open(&second.0), self.truth(params.modulus()), "{what}");
        assert_eq!((first.1.sent, second.1.sent), (second.1.received, first.1.received));
        [first, second]
    }
}
