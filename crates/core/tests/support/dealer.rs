//! Scalar products without a protocol: a trusted dealer's, for tests of what is built on them.
//!
//! Each end shows the other its columns, and both expand one seed. What it sends has a label of its own, which tests of
//! views leave out.

use chacha20::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use tacita_core::channel::Label;
use tacita_core::protocol::dot::Shares;
use tacita_core::protocol::rules::{ProductBatch, ScalarProducts};
use tacita_core::{Channel, Result, Side};

/// Label of the messages between the dealer's ends.
pub const DEALT: Label = Label::new(250, "dealt columns");

/// One end of the dealer.
pub struct Dealer {
    rng: ChaCha20Rng,
    /// Numbers of products that were asked for, level by level.
    pub asked: Vec<usize>,
    /// Whether shares are no shares: one party has all, the other nothing.
    bare: bool,
}

impl Dealer {
    pub fn new(seed: u8) -> Dealer {
        Dealer { rng: ChaCha20Rng::from_seed([seed; 32]), asked: Vec::new(), bare: false }
    }

    pub fn bare(self, bare: bool) -> Dealer {
        Dealer { bare, ..self }
    }
}

impl ScalarProducts for Dealer {
    fn products(&mut self, batch: &ProductBatch<'_>, channel: &mut Channel) -> Result<Shares> {
        self.asked.push(batch.pairs().len());
        let mut own: Vec<Vec<u64>> = Vec::new();
        batch.for_each_column(|index, rows| {
            assert_eq!(index, own.len());
            assert_eq!(rows, &batch.column(index));
            own.push(rows.words().to_vec());
            Ok(())
        })?;
        assert_eq!(own.len(), batch.columns(batch.side()));
        let due = batch.columns(batch.side().other());
        let bytes = batch.rows().div_ceil(64) * 8;
        let mut theirs: Vec<Vec<u64>> = Vec::new();
        for index in 0..own.len().max(due) {
            let message = own.get(index).into_iter().flatten().flat_map(|word| word.to_le_bytes()).collect();
            let received = channel.exchange(DEALT, message, bytes)?;
            if index < due {
                if received.len() != bytes {
                    return Err(channel.violation("a dealt column is too short"));
                }
                let words = received.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap()));
                theirs.push(words.collect());
            }
        }
        let (first, second) = match batch.side() {
            Side::First => (&own, &theirs),
            Side::Second => (&theirs, &own),
        };
        let modulus = batch.modulus();
        let share = |&(one, other): &(u32, u32)| {
            let both = first[one as usize].iter().zip(&second[other as usize]);
            let product: u32 = both.map(|(one, other)| (one & other).count_ones()).sum();
            let random = if self.bare { 0 } else { u128::from(self.rng.next_u64()) & (modulus.value() - 1) };
            match batch.side() {
                Side::First => random,
                Side::Second => modulus.subtract(product.into(), random),
            }
        };
        Shares::new(modulus, batch.pairs().iter().map(share).collect())
    }
}
