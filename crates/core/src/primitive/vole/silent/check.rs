//! The malicious form's check of all trees at once.
//!
//! After all trees' messages the receiver picks a random element chi_j for every leaf j. One further base element, with
//! value m, hides the receiver's answer: it sends x = m + sum of chi_j e_j. Now both can compute the sum of chi_j c_j
//! plus the base element's share, the sender as that of chi_j b_j plus its share plus delta x. The sender sends a hash
//! of it (*Wolverine*, consistency check; *Ferret*, where the hash goes this way too).

use rand_core::CryptoRng;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use super::keys::Keys;
use crate::channel::Channel;
use crate::error::Result;
use crate::primitive::kernel::{Aes128, Block, gf128};
use crate::primitive::vole::{ANSWER, CHALLENGE};

/// Bytes of a challenge: a seed and the receiver's masked sum.
pub(super) const CHALLENGE_BYTES: usize = 32;

/// Bytes of an answer.
pub(super) const ANSWER_BYTES: usize = 32;

/// Elements chi_j that are generated at once.
const BATCH: usize = 512;

/// The elements chi_j: AES-128 in counter mode under the receiver's seed.
struct Coefficients(Aes128);

impl Coefficients {
    /// The sum of chi_j times element j for elements from index `start` on.
    fn combine(&self, start: usize, elements: &[Block]) -> Block {
        let mut room = [Block::ZERO; BATCH];
        let mut sum = Block::ZERO;
        for (batch, elements) in elements.chunks(BATCH).enumerate() {
            let room = &mut room[..elements.len()];
            self.0.encrypt_counters((start + batch * BATCH) as u64, room);
            sum ^= gf128::inner_product(room, elements);
        }
        sum
    }
}

/// The sender's side: `leaves` are its own of all trees, `share` its share of the further base element.
pub(super) fn answer(keys: &Keys, delta: Block, share: Block, leaves: &[Block], channel: &mut Channel) -> Result<()> {
    let challenge = channel.receive(CHALLENGE, CHALLENGE_BYTES)?;
    let coefficients = Coefficients(Aes128::new(Block::from_le_slice(&challenge)));
    let value = coefficients.combine(0, leaves) ^ share ^ (delta * Block::from_le_slice(&challenge[16..]));
    channel.send(ANSWER, hash(keys, &challenge, value).to_vec())
}

/// The receiver's side, to which leaves and the values at their places are given piece by piece.
pub(super) struct Checker {
    seed: Block,
    coefficients: Coefficients,
    /// Sum of chi_j times leaf j.
    leaves: Block,
    /// Sum of chi_j times the value at leaf j.
    values: Block,
}

impl Checker {
    /// Creates the check; to be called when all messages of the trees have come.
    pub(super) fn new(rng: &mut impl CryptoRng) -> Checker {
        let seed = Block::random(rng);
        Checker { seed, coefficients: Coefficients(Aes128::new(seed)), leaves: Block::ZERO, values: Block::ZERO }
    }

    /// Leaves from index `start` on, and the values at their places.
    pub(super) fn add(&mut self, start: usize, leaves: &[Block], values: &[Block]) {
        self.leaves ^= self.coefficients.combine(start, leaves);
        self.values ^= self.coefficients.combine(start, values);
    }

    /// `mask` and `share` are the value and the receiver's share of the further base element.
    pub(super) fn finish(self, keys: &Keys, mask: Block, share: Block, channel: &mut Channel) -> Result<()> {
        let challenge = Zeroizing::new([self.seed.to_bytes(), (self.values ^ mask).to_bytes()].concat());
        channel.send(CHALLENGE, challenge.to_vec())?;
        let expected = hash(keys, &challenge, self.leaves ^ share);
        let answer = channel.receive(ANSWER, ANSWER_BYTES)?;
        if bool::from(answer.ct_eq(&expected)) {
            Ok(())
        } else {
            Err(channel.violation(format!("`{}` does not fit the trees", ANSWER.name)))
        }
    }
}

/// The hash that the sender answers with, bound to session, run and challenge.
fn hash(keys: &Keys, challenge: &[u8], value: Block) -> [u8; ANSWER_BYTES] {
    let mut hasher = blake3::Hasher::new_keyed(&keys.answer);
    hasher.update(&keys.runs.to_le_bytes()).update(challenge).update(&value.to_bytes());
    *hasher.finalize().as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::primitive::kernel::block;
    use crate::primitive::vole::params::VoleKind;
    use crate::session::{Session, Transcript};
    use chacha20::ChaCha20Rng;
    use rand_core::SeedableRng;

    /// The masked sum of a challenge for these values, whose seed is always the same.
    fn challenged(values: &[Block], mask: Block) -> Block {
        let keys = Keys::new(&Session::new(Transcript::new("test")), VoleKind::Field, "test");
        let mut checker = Checker::new(&mut ChaCha20Rng::from_seed([1; 32]));
        checker.add(0, values, values);
        let (mut sender, mut receiver) = Channel::pair("sender", "receiver");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let _ = checker.finish(&keys, mask, Block::ZERO, &mut receiver);
            });
            let challenge = sender.receive(CHALLENGE, CHALLENGE_BYTES).unwrap();
            drop(sender);
            Block::from_le_slice(&challenge[16..])
        })
    }

    /// A uniform mask makes the challenge uniform whatever the values: for each value and each challenge there is
    /// exactly one mask. Without it, the challenge tells values apart.
    #[test]
    fn the_challenge_says_nothing_of_the_values() {
        let mut rng = ChaCha20Rng::from_seed([2; 32]);
        let values = [block::random(700, &mut rng), block::random(700, &mut rng)];
        let bare = values.each_ref().map(|values| challenged(values, Block::ZERO));
        assert!(bare[0] != bare[1]);
        let masks = [Block::random(&mut rng), Block::random(&mut rng)];
        let masked = [challenged(&values[0], masks[0]), challenged(&values[1], masks[1])];
        assert!(masked[0] == bare[0] ^ masks[0] && masked[1] == bare[1] ^ masks[1]);
        assert!(challenged(&values[1], masks[0] ^ bare[0] ^ bare[1]) == masked[0]);
    }

    #[test]
    fn the_answer_is_bound_to_session_run_and_challenge() {
        let keys = |domain: &str, runs: u64| {
            let mut keys = Keys::new(&Session::new(Transcript::new(domain)), VoleKind::Field, "test");
            keys.runs = runs;
            keys
        };
        let answers = [
            hash(&keys("test", 1), &[1; CHALLENGE_BYTES], Block::ONE),
            hash(&keys("test", 2), &[1; CHALLENGE_BYTES], Block::ONE),
            hash(&keys("other", 1), &[1; CHALLENGE_BYTES], Block::ONE),
            hash(&keys("test", 1), &[2; CHALLENGE_BYTES], Block::ONE),
            hash(&keys("test", 1), &[1; CHALLENGE_BYTES], Block::ZERO),
        ];
        assert_eq!(std::collections::HashSet::from(answers).len(), answers.len());
    }

    /// Errors of two leaves would cancel under one coefficient: each leaf has its own, wherever the pieces begin in
    /// which it is added.
    #[test]
    fn every_leaf_has_a_coefficient_of_its_own() {
        let coefficients = Coefficients(Aes128::new(Block(5)));
        let mut seen = std::collections::HashSet::new();
        for at in (0..4 * BATCH).step_by(7).chain(BATCH - 1..=BATCH + 1) {
            let alone = coefficients.combine(at, &[Block::ONE]);
            let mut all = vec![Block::ZERO; at + 1];
            all[at] = Block::ONE;
            assert!(alone == coefficients.combine(0, &all), "{at}");
            seen.insert((alone.0, at));
        }
        let different: std::collections::HashSet<u128> = seen.iter().map(|(coefficient, _)| *coefficient).collect();
        assert_eq!(different.len(), seen.len());
    }
}
