//! Noise on the number of common rows: two pools of agreed dummies, `limits.blur` of each.
//!
//! The first party brings all of the first pool, and the second each with probability 1/2; of the second pool it is
//! the other way round. In the place of a dummy that a party leaves out it brings a private one, so that sizes do not
//! change. Each party knows its own coins, and so learns the number of common rows with the other's coins added: a
//! binomial number.

use rand_core::CryptoRng;
use tacita_core::primitive::noise::{PrivacyLoss, binomial};
use tacita_core::{Item, Session, Side};

use crate::agreement::words::bad;

/// The fewest dummies of a pool, and the most.
const MIN_DUMMIES: u64 = 32;
const MAX_DUMMIES: u64 = 1 << 20;

/// Noise of so many coins of each party.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Blur(u64);

impl Blur {
    /// Noise of so many dummies in each pool.
    pub fn new(dummies: u64) -> tacita_core::Result<Blur> {
        if (MIN_DUMMIES..=MAX_DUMMIES).contains(&dummies) && dummies.is_multiple_of(2) {
            Ok(Blur(dummies))
        } else {
            bad(format!("limits.blur = {dummies}: use an even number from {MIN_DUMMIES} to {MAX_DUMMIES}, as 128"))
        }
    }

    /// Number of dummies in each pool.
    pub fn dummies(&self) -> u64 {
        self.0
    }

    /// Number of items that each party adds to its own.
    pub(super) fn items(&self) -> u64 {
        2 * self.0
    }

    /// A party's dummies, and how many of the other's pool it brings.
    pub(super) fn dummies_of(&self, side: Side, session: &Session, rng: &mut impl CryptoRng) -> (Vec<Item>, u64) {
        let key = session.derive("align dummy");
        let agreed = |pool: Side, number: u64| Item::new(&key, &[&[pool as u8], &number.to_le_bytes()[..]].concat());
        let mut items: Vec<Item> = (0..self.0).map(|number| agreed(side, number)).collect();
        let mut brought = 0;
        for number in 0..self.0 {
            let mut fresh = Item([0; 32]);
            rng.fill_bytes(&mut fresh.0);
            let mut coin = [0];
            rng.fill_bytes(&mut coin);
            let coin = coin[0] & 1;
            brought += u64::from(coin);
            items.push(if coin == 1 { agreed(side.other(), number) } else { fresh });
        }
        (items, brought)
    }

    /// The number of common rows, as a party that brought so many of the other's pool knows it.
    pub(super) fn estimate(&self, common: usize, brought: u64) -> usize {
        (common as u64).saturating_sub(brought + self.0 / 2) as usize
    }

    /// Returns the privacy loss that the number of common rows is, against the other party.
    pub fn loss(&self) -> PrivacyLoss {
        binomial::of_coins(self.0)
    }
}

#[cfg(test)]
mod tests {
    use chacha20::ChaCha20Rng;
    use rand_core::SeedableRng;
    use tacita_core::session::Transcript;

    use super::*;

    #[test]
    fn numbers_of_dummies_are_even_and_bounded() {
        for wrong in [0, 1, 31, 33, (1 << 20) + 2, u64::MAX] {
            assert!(Blur::new(wrong).is_err());
        }
        assert!(Blur::new(1 << 20).is_ok());
    }

    /// Checks that both have as many of the pools in common as they say they brought of the other's.
    #[test]
    fn dummies_meet_as_often_as_coins_say() {
        let session = Session::new(Transcript::new("test"));
        let blur = Blur::new(64).unwrap();
        let dummies = |side: Side, seed: u8| blur.dummies_of(side, &session, &mut ChaCha20Rng::from_seed([seed; 32]));
        let ((first, of_first), (second, of_second)) = (dummies(Side::First, 1), dummies(Side::Second, 2));
        assert_eq!((first.len(), second.len()), (128, 128));
        let common = first.iter().filter(|item| second.contains(item)).count();
        assert_eq!(common as u64, of_first + of_second);
        assert!(of_first > 10 && of_first < 54 && of_first != of_second);
        let (again, _) = dummies(Side::First, 3);
        assert!(again[..64] == first[..64] && again[64..] != first[64..]);
        assert_eq!(blur.estimate(100 + common, of_first), (100 + common) - of_first as usize - 32);
    }

    /// The attack by two counts, on the number of common rows: whoever brings one row more learns by exact numbers
    /// whether it is common. By blurred ones it guesses right as often as epsilon allows at most.
    #[test]
    fn guesses_from_two_numbers_are_bounded_by_epsilon() {
        let (persons, times) = (40, 60);
        let common = |person: u8| person.is_multiple_of(3);
        let item = |person: u8| Item([person; 32]);
        let theirs: Vec<Item> = (0..persons).filter(|person| common(*person)).map(item).collect();
        let guesses = f64::from(persons) * f64::from(times);
        let right = |blur: Option<Blur>| {
            let mut rng = ChaCha20Rng::from_seed([7; 32]);
            let mut number = |own: &[Item]| {
                let session = Session::new(Transcript::new("attack"));
                let dummies =
                    blur.map(|blur| [Side::First, Side::Second].map(|side| blur.dummies_of(side, &session, &mut rng)));
                let (own_dummies, their_dummies, brought) = match &dummies {
                    Some([(own, brought), (theirs, _)]) => (own.as_slice(), theirs.as_slice(), *brought),
                    None => (&[][..], &[][..], 0),
                };
                let brings: std::collections::HashSet<&Item> = theirs.iter().chain(their_dummies).collect();
                own.iter().chain(own_dummies).filter(|item| brings.contains(item)).count() as i64 - brought as i64
            };
            let mut right = 0;
            for _ in 0..times {
                for person in 0..persons {
                    let others: Vec<Item> = (0..persons).filter(|other| *other != person).map(item).collect();
                    let more = number(&[&others[..], &[item(person)]].concat()) - number(&others);
                    right += u32::from((more > 0) == common(person));
                }
            }
            f64::from(right) / guesses
        };
        assert_eq!(right(None), 1.0);
        let blur = Blur::new(128).unwrap();
        // Two numbers together.
        let epsilon = 2.0 * blur.loss().epsilon as f64 / 1e6;
        let found = right(Some(blur));
        assert!(found < epsilon.exp() / (1.0 + epsilon.exp()) && found < 0.6, "{found}");
    }
}
