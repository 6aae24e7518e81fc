//! Products and comparisons among any number of parties: inputs, a run with every party on a thread of its own, and
//! what comes of it.

use chacha20::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use tacita_core::Result;
use tacita_core::channel::{Channel, Traffic};
use tacita_core::primitive::kernel::Block;
use tacita_core::primitive::ot::{Choices, RandomOtReceiver, RandomOtSender, ideal};
use tacita_core::protocol::dot::ot::mesh::{self, Factor, MeshProducts};
use tacita_core::protocol::dot::{Columns, Integers, Modulus, Shares};
use tacita_core::protocol::mesh::{MeshEnd, MeshOts};
use zeroize::Zeroizing;

use super::many::{Wire, link, run_parties};
use super::{rng, session};

/// The extension's parameter in these tests.
pub const K: usize = 4;

/// Shares of a party, and its traffic over each link.
pub type Ended<T> = Result<(T, Vec<Traffic>)>;

/// Columns of all parties, and the products that are wanted.
pub struct Mesh {
    pub columns: Vec<Columns>,
    pub values: Vec<Vec<Vec<i64>>>,
    pub products: Vec<Vec<Factor>>,
    pub plan: MeshProducts,
    /// Transfers.
    pub source: Source,
}

/// Source of a run's transfers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    Real,
    /// A dealer with this seed, which also draws the seeds of links.
    Dealer(u32),
    /// The same, but that links have the seeds of every other run.
    SameSeeds(u32),
    /// The same dealer, whose two blocks are equal: messages hide nothing from a chooser.
    EqualBlocks(u32),
}

/// The receiver from such a sender.
struct FirstBlocks(ideal::IdealOtReceiver);

impl RandomOtReceiver for FirstBlocks {
    fn receive(&mut self, choices: &Choices, outputs: &mut [Block], channel: &mut Channel) -> Result<()> {
        self.0.receive(&Choices::zeros(choices.len()), outputs, channel)
    }
}

/// A sender whose two blocks are equal.
struct EqualBlocks(ideal::IdealOtSender);

impl RandomOtSender for EqualBlocks {
    fn send(&mut self, outputs: &mut [[Block; 2]], channel: &mut Channel) -> Result<()> {
        self.0.send(outputs, channel)?;
        outputs.iter_mut().for_each(|pair| pair[1] = pair[0]);
        Ok(())
    }
}

/// A product of one column of each of these parties.
pub fn product(factors: &[(usize, u32)]) -> Vec<Factor> {
    factors.iter().map(|&(party, column)| Factor { party, column }).collect()
}

impl Mesh {
    pub fn new(values: Vec<Vec<Vec<i64>>>, integers: Integers, modulus: Modulus, products: Vec<Vec<Factor>>) -> Mesh {
        let rows = values.iter().flatten().next().map_or(0, Vec::len);
        let columns = values.iter().map(|of_party| {
            let mut columns = Columns::new(integers, rows);
            of_party.iter().for_each(|column| columns.push(column.iter().copied()).unwrap());
            columns
        });
        let columns = columns.collect();
        let plan = MeshProducts::new(rows, integers, modulus, &products).unwrap();
        Mesh { columns, values, products, plan, source: Source::Real }
    }

    /// Pseudorandom columns, so many of each party.
    pub fn random(
        rows: usize,
        integers: Integers,
        modulus: Modulus,
        counts: &[usize],
        products: Vec<Vec<Factor>>,
    ) -> Mesh {
        let mut rng = ChaCha20Rng::from_seed([counts.len() as u8; 32]);
        let (low, high) = integers.range();
        let mut value = || low + (rng.next_u64() % (high - low + 1) as u64) as i64;
        let values = counts.iter().map(|&count| (0..count).map(|_| (0..rows).map(|_| value()).collect()).collect());
        Mesh::new(values.collect(), integers, modulus, products)
    }

    pub fn dealt(self, seed: u32) -> Mesh {
        Mesh { source: Source::Dealer(seed), ..self }
    }

    pub fn in_blocks_of(self, rows: usize) -> Mesh {
        Mesh { plan: self.plan.clone().in_blocks_of(rows), ..self }
    }

    pub fn parties(&self) -> usize {
        self.columns.len()
    }

    /// The products, as whoever has all columns computes them.
    pub fn expected(&self) -> Vec<u128> {
        let rows = self.plan.rows();
        let of = |product: &Vec<Factor>| {
            let value = |row: usize| -> i128 {
                product.iter().map(|f| i128::from(self.values[f.party][f.column as usize][row])).product()
            };
            (0..rows).map(value).sum::<i128>().rem_euclid(self.plan.modulus().value() as i128) as u128
        };
        self.products.iter().map(of).collect()
    }

    /// Transfers of a party.
    pub fn ots(&self, me: usize, channels: &mut [Channel]) -> Result<MeshOts> {
        ots(me, self.parties(), self.source, channels)
    }

    /// Runs all parties over these wires.
    pub fn run_over(&self, wire: Wire<'_>) -> Vec<Ended<Shares>> {
        run_parties(self.parties(), wire, |me, channels| {
            let mut ots = self.ots(me, channels)?;
            mesh::run(&self.columns[me], &self.plan, &mut ots, channels)
        })
    }

    /// The sums of the shares of all.
    pub fn sums(&self, shares: &[&Shares]) -> Vec<u128> {
        let mut sums = vec![0; self.products.len()];
        for (party, shares) in shares.iter().enumerate() {
            for (product, share) in self.plan.of_party(party).zip(shares.residues()) {
                sums[product] = self.plan.modulus().add(sums[product], *share);
            }
        }
        sums
    }
}

/// Transfers of a party among so many.
pub fn ots(me: usize, parties: usize, source: Source, channels: &mut [Channel]) -> Result<MeshOts> {
    let mut links: Vec<_> = (0..parties).filter(|&peer| peer != me).map(|peer| link(me, peer)).collect();
    let seed = match source {
        Source::Real => return MeshOts::setup(me, &session(), &links, K, channels, &mut rng(me as u8 + 1)),
        Source::Dealer(seed) | Source::SameSeeds(seed) | Source::EqualBlocks(seed) => seed,
    };
    if !matches!(source, Source::SameSeeds(_)) {
        links.iter_mut().for_each(|link| link.seed = Zeroizing::new(dealt_key(seed ^ 0x5eed_0000, me, link.peer)));
    }
    let end = |peer: usize| {
        let (sender, receiver) = ideal::pair(dealt_key(seed, me, peer));
        match source {
            Source::EqualBlocks(_) if me > peer => MeshEnd::Receiver(Box::new(FirstBlocks(receiver))),
            _ if me > peer => MeshEnd::Receiver(Box::new(receiver)),
            Source::EqualBlocks(_) => MeshEnd::Sender(Box::new(EqualBlocks(sender))),
            _ => MeshEnd::Sender(Box::new(sender)),
        }
    };
    let ends = links.iter().map(|link| end(link.peer)).collect();
    MeshOts::over(me, &session(), &links, ends)
}

/// Seed of a dealer for two parties.
pub fn dealt_key(seed: u32, one: usize, other: usize) -> [u8; 32] {
    let mut key = [0; 32];
    key[..4].copy_from_slice(&seed.to_le_bytes());
    (key[4], key[5]) = (one.min(other) as u8, one.max(other) as u8);
    key
}
