//! Comparisons among many tell for each number whether it reaches the threshold.

use chacha20::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use tacita_core::channel::HEADER_BYTES;
use tacita_core::protocol::dot::{Modulus, Shares};
use tacita_core::protocol::mesh::MeshOts;
use tacita_core::protocol::shares::at_least::MeshComparison;

use crate::support::many::{in_memory, run_parties};
use crate::support::mesh::{K, Source, ots};

/// Numbers with their parties, shared at random; with seed 0, the last party of each has the number, and the others
/// have zeros.
pub struct Numbers {
    pub parties: usize,
    pub comparison: MeshComparison,
    pub shares: Vec<Shares>,
    pub expected: Vec<Vec<bool>>,
}

impl Numbers {
    pub fn new(
        parties: usize,
        bits: u32,
        bound: u128,
        threshold: u128,
        numbers: &[(u128, Vec<usize>)],
        seed: u8,
    ) -> Numbers {
        let modulus = Modulus::power_of_two(bits).unwrap();
        let mut rng = ChaCha20Rng::from_seed([seed; 32]);
        let mut residues = vec![Vec::new(); parties];
        let mut expected = vec![Vec::new(); parties];
        for (value, of) in numbers {
            let mut rest = *value;
            for (place, &party) in of.iter().enumerate() {
                let random = if seed == 0 { 0 } else { Shares::random(modulus, 1, &mut rng).residues()[0] };
                let share = if place + 1 == of.len() { rest } else { random };
                rest = modulus.subtract(rest, share);
                residues[party].push(share);
                expected[party].push(*value >= threshold);
            }
        }
        let shares = residues.into_iter().map(|residues| Shares::new(modulus, residues).unwrap()).collect();
        let of = numbers.iter().map(|(_, parties)| parties.clone()).collect();
        let comparison = MeshComparison::new(modulus, bound, threshold, of).unwrap();
        Numbers { parties, comparison, shares, expected }
    }

    pub fn check(&self, source: Source, about: &str) {
        let ended = run_parties(self.parties, &in_memory, |me, channels| {
            let mut ots = ots(me, self.parties, source, channels)?;
            self.comparison.run(&self.shares[me], &mut ots, channels)
        });
        for (me, ended) in ended.into_iter().enumerate() {
            let (answers, traffic) = ended.unwrap_or_else(|error| panic!("{about}: {error}"));
            assert_eq!(answers, self.expected[me], "{me}: {about}");
            let peers = (0..self.parties).filter(|&peer| peer != me);
            for (peer, traffic) in peers.zip(traffic).filter(|_| source == Source::Real) {
                let setup = MeshOts::setup_bytes(K, me, peer).unwrap() + HEADER_BYTES as u64;
                let bytes = self.comparison.bytes_sent(K, me, peer).unwrap();
                assert_eq!(traffic.sent, setup + bytes, "from {me} to {peer}: {about}");
                assert!(traffic.rounds <= self.comparison.rounds() + 2, "{about}");
            }
        }
    }
}

#[test]
fn all_numbers_up_to_a_bound_are_compared_with_all_thresholds() {
    for parties in [2, 3, 4, 5] {
        for bound in [0u128, 1, 2, 6, 9] {
            for threshold in 0..=bound + 1 {
                let all: Vec<usize> = (0..parties).collect();
                let numbers: Vec<_> = (0..=bound).map(|value| (value, all.clone())).collect();
                for bits in [5, 20] {
                    let about = format!("{parties} parties, {bound}, {threshold}, {bits} bits");
                    Numbers::new(parties, bits, bound, threshold, &numbers, 1).check(Source::Dealer(3), &about);
                }
            }
        }
    }
}

/// Numbers of some of the parties each, in one batch, over real transfers.
#[test]
fn numbers_of_different_parties_are_compared_together() {
    let mut rng = ChaCha20Rng::from_seed([8; 32]);
    let groups = [vec![0, 1], vec![0, 2], vec![1, 3], vec![0, 1, 2], vec![1, 2, 3], vec![0, 1, 2, 3]];
    for count in [0, 1, 3, 70] {
        let numbers: Vec<_> =
            (0..count).map(|index| (u128::from(rng.next_u32() % 10_000), groups[index % 6].clone())).collect();
        Numbers::new(4, 40, 9_999, 5_000, &numbers, 2).check(Source::Real, &format!("{count} numbers"));
    }
}

#[test]
fn long_shares_and_many_parties_are_compared() {
    let all: Vec<usize> = (0..16).collect();
    let bound = (1 << 126) - 1;
    let values = [0, 1, bound, bound / 3, bound / 3 - 1, bound / 3 + 1];
    let numbers: Vec<_> = values.map(|value| (value, all.clone())).to_vec();
    Numbers::new(16, 127, bound, bound / 3, &numbers, 4).check(Source::Dealer(9), "sixteen");
}

#[test]
fn wrong_numbers_are_refused() {
    let modulus = Modulus::power_of_two(8).unwrap();
    let of = |parties: Vec<usize>| MeshComparison::new(modulus, 100, 5, vec![parties]);
    assert!(of(vec![0, 2]).is_ok());
    for parties in [vec![], vec![1], vec![2, 0], vec![1, 1]] {
        assert!(of(parties).is_err());
    }
    assert!(MeshComparison::new(modulus, 128, 5, vec![vec![0, 1]]).is_err());
    assert!(MeshComparison::new("1009".parse().unwrap(), 100, 5, vec![vec![0, 1]]).is_err());
    // Shares of other numbers.
    let mut transfers = ots(0, 3, Source::Dealer(1), &mut []).unwrap();
    for shares in [Shares::new(modulus, vec![]).unwrap(), Shares::new("2^9".parse().unwrap(), vec![1]).unwrap()] {
        let error = of(vec![0, 2]).unwrap().run(&shares, &mut transfers, &mut []).unwrap_err();
        assert!(error.to_string().contains("shares of other numbers"), "{error}");
    }
}
