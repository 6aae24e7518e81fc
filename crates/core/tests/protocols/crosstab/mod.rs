//! Cross tables: which cells close, and that nothing which is open tells of one that is closed.

mod determined;
mod hostile;
mod mesh;
mod plain;
mod results;
mod views;

use crate::support::two::{self, Ended};
use crate::support::{rng, session};
use rand_core::Rng;
use tacita_core::primitive::ot::ideal;
use tacita_core::protocol::crosstab::{self, Params};
use tacita_core::protocol::dot::Shares;
use tacita_core::{Channel, Result, Side};

/// A table of counts, row by row.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    pub(crate) counts: Vec<u64>,
    pub(crate) params: Params,
}

impl Table {
    fn new(counts: Vec<u64>, [first, second]: [usize; 2], minimum: u64) -> Table {
        let rows = counts.iter().sum::<u64>() as usize;
        Table { counts, params: Params { rows, first, second, minimum, tail: 0 } }
    }

    /// A random table: of many rows or few, with many empty cells or none.
    fn random(seed: u64, most_lines: usize, minimum: u64) -> Table {
        let mut draw = <chacha20::ChaCha20Rng as rand_core::SeedableRng>::seed_from_u64(seed);
        let mut below = |bound: u64| draw.next_u64() % bound;
        let shape = [0, 1].map(|_| 1 + below(most_lines as u64) as usize);
        let (full, large) = (below(11), 1 + below(4 * minimum.max(1)));
        let counts = (0..shape[0] * shape[1]).map(|_| if below(10) < full { below(large + minimum) } else { 0 });
        Table::new(counts.collect(), shape, minimum)
    }

    fn at(&self, row: usize, column: usize) -> u64 {
        self.counts[row * self.params.second + column]
    }

    fn shares(&self, seed: u8) -> [Shares; 2] {
        let modulus = self.params.modulus().unwrap();
        let first = Shares::random(modulus, self.counts.len(), &mut rng(seed));
        let second = self.counts.iter().zip(first.residues());
        let second = second.map(|(&count, &share)| modulus.subtract(count.into(), share)).collect();
        [first, Shares::new(modulus, second).unwrap()]
    }

    /// A party's role, over the dealer's OTs or real ones: whether cells are closed, and the counts of the others.
    fn role(&self, party: usize, dealt: bool, channel: &mut Channel) -> Result<(Vec<bool>, Vec<Option<u128>>)> {
        let shares = &self.shares(1)[party];
        let ((mut sender, mut receiver), rng) = (ideal::pair([5; 32]), &mut rng(party as u8));
        let closed = match (party, dealt) {
            (0, true) => crosstab::first_over(shares, &self.params, &mut sender, channel, rng),
            (_, true) => crosstab::second_over(shares, &self.params, &mut receiver, channel, rng),
            (0, false) => crosstab::closed(Side::First, shares, &self.params, &session(), channel, rng),
            (_, false) => crosstab::closed(Side::Second, shares, &self.params, &session(), channel, rng),
        }?;
        let counts = crosstab::open(shares, &closed, true, true, channel)?.unwrap();
        Ok((closed, counts))
    }

    #[allow(clippy::type_complexity, reason = "what both parties end with")]
    fn run(&self, dealt: bool) -> [Ended<(Vec<bool>, Vec<Option<u128>>)>; 2] {
        let (one, other) = two::run(&|channel| self.role(0, dealt, channel), &|channel| self.role(1, dealt, channel));
        [one, other]
    }
}
