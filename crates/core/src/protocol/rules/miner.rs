//! Apriori without the rows: what is to be counted next, and what follows from the counts. Whoever has the rows counts,
//! in one place or in many.

use super::association::{self, AssociationRule, TooManyRules};
use super::frequent::{Counted, Frequent};
use super::itemsets::Itemsets;
use super::levels::{Candidates, Level, count_items, every_count, first_level, frequent_counts, one_party};
use super::params::{Params, RevealedCounts};
use super::told::Telling;
use crate::channel::Channel;
use crate::error::{Error, Result};
use crate::protocol::dot::Shares;
use crate::role::Side;

/// Itemsets that are to be counted next. Both parties get the same [`CountPlan::mixed`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountPlan {
    /// Itemsets of the own items, which this party counts alone.
    pub own: Vec<Itemsets>,
    /// Itemsets of both parties' items, whose counts they share.
    pub mixed: Itemsets,
}

impl CountPlan {
    /// Encodes the request, for counting elsewhere.
    pub fn to_bytes(&self) -> Vec<u8> {
        let all = self.own.iter().chain([&self.mixed]).map(Itemsets::to_bytes);
        all.flat_map(|sets| [(sets.len() as u64).to_le_bytes().to_vec(), sets].concat()).collect()
    }

    /// The other way; `None` if it is not what [`CountPlan::to_bytes`] can have written.
    pub fn from_bytes(mut bytes: &[u8]) -> Option<CountPlan> {
        let mut own = Vec::new();
        while !bytes.is_empty() {
            let (length, rest) = bytes.split_first_chunk()?;
            let (sets, rest) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
            own.push(Itemsets::from_bytes(sets)?);
            bytes = rest;
        }
        let mixed = own.pop()?;
        Some(CountPlan { own, mixed })
    }
}

/// A party's part, between one count and the next.
pub struct Miner {
    side: Side,
    params: Params,
    /// The frequent itemsets of the length that was counted last.
    level: Level,
    frequent: Frequent,
    step: Step,
}

/// Request that was made last.
enum Step {
    /// No request is open.
    Ready,
    /// Candidates; and the counts of those of one party, once they are known.
    Level(Candidates, Option<[Counted; 2]>),
    /// Itemsets of one party that are told, with `mixed_only`, at the end.
    Telling(Telling),
    /// Everything has been told.
    Told,
}

impl Miner {
    /// Begins with the own items that are frequent: how many there are, and in how many rows each is, in the order of
    /// their numbers, which must be random. Counts of more than [`Params::max_candidates`] may be left out.
    ///
    /// Errors: those of `params`; [`Error::Input`] if items of a party are too many; the channel's; the peer's.
    pub fn begin(side: Side, items: usize, counts: &[u32], params: &Params, channel: &mut Channel) -> Result<Miner> {
        params.check()?;
        let items_of = count_items(side, items, params, channel)?;
        if counts.len() != items
            || counts.iter().any(|count| !(params.minimum..=params.rows).contains(&(*count as usize)))
        {
            return Err(Error::Internal("rules: items that are not frequent".into()));
        }
        let level = first_level(side, counts, items_of, params, channel)?;
        let mut frequent = Frequent::new(params.rows as u32);
        level.keep(params, &mut frequent);
        Ok(Miner { side, params: *params, level, frequent, step: Step::Ready })
    }

    /// Returns the itemsets to be counted next; `None` when all is known. Their counts go to [`Miner::take_own`], and
    /// then, if there are mixed itemsets, to [`Miner::take_mixed`].
    pub fn next(&mut self, channel: &mut Channel) -> Result<Option<CountPlan>> {
        match self.step {
            Step::Ready => (),
            Step::Told => return Ok(None),
            _ => return Err(Error::Internal("rules: counts are missing".into())),
        }
        let length = self.level.mixed.sets.length() + 1;
        if length <= self.params.max_len {
            let candidates = self.level.candidates(length, &self.params);
            let candidates = candidates.map_err(|error| channel.conclude_for(error))?;
            if !candidates.is_empty() {
                channel.progress().start("counting candidates", candidates.len());
                let own = vec![candidates.one[self.side as usize].clone()];
                let wanted = CountPlan { own, mixed: candidates.mixed.clone() };
                self.step = Step::Level(candidates, None);
                return Ok(Some(wanted));
            }
        }
        if self.params.rules.mixed_only
            && let Some(telling) = Telling::of(self.side, &self.frequent)
        {
            let wanted = CountPlan { own: telling.own().to_vec(), mixed: Itemsets::none(length) };
            self.step = Step::Telling(telling);
            return Ok(Some(wanted));
        }
        self.step = Step::Told;
        Ok(None)
    }

    /// Takes the counts of [`CountPlan::own`], one after the other, and exchanges those that the peer is told.
    pub fn take_own(&mut self, counts: &[u32], channel: &mut Channel) -> Result<()> {
        match std::mem::replace(&mut self.step, Step::Ready) {
            Step::Level(candidates, None) if counts.len() == candidates.one[self.side as usize].len() => {
                let one = one_party(self.side, counts, &self.level, &candidates, &self.params, channel)?;
                if candidates.mixed.is_empty() {
                    self.end_level(one, Counted::none(candidates.mixed.length()))
                } else {
                    self.step = Step::Level(candidates, Some(one))
                }
                Ok(())
            }
            Step::Telling(telling) if counts.len() == telling.own().iter().map(Itemsets::len).sum::<usize>() => {
                self.step = Step::Told;
                telling.exchange(counts, &self.params, &mut self.frequent, channel)
            }
            _ => Err(Error::Internal("rules: other counts came than were asked for".into())),
        }
    }

    /// Takes this party's shares of the counts of [`CountPlan::mixed`], and opens what may be opened. `reached` says
    /// which of them reach the minimum; it is asked with [`RevealedCounts::Frequent`] alone.
    pub fn take_mixed(
        &mut self,
        shares: Shares,
        reached: impl FnOnce(&Shares, &mut Channel) -> Result<Vec<bool>>,
        channel: &mut Channel,
    ) -> Result<()> {
        let (candidates, one) = match std::mem::replace(&mut self.step, Step::Ready) {
            Step::Level(candidates, Some(one))
                if shares.len() == candidates.mixed.len() && shares.modulus() == self.params.modulus()? =>
            {
                (candidates.mixed, one)
            }
            _ => return Err(Error::Internal("rules: other products came than were asked for".into())),
        };
        let mixed = match self.params.reveal {
            RevealedCounts::Counts => every_count(shares, &self.level, &candidates, &self.params, channel)?,
            RevealedCounts::Frequent => {
                let reached = reached(&shares, channel)?;
                frequent_counts(shares, &reached, &self.level, &candidates, &self.params, channel)?
            }
        };
        self.end_level(one, mixed);
        Ok(())
    }

    fn end_level(&mut self, one: [Counted; 2], mixed: Counted) {
        (self.level.one, self.level.mixed) = (one, mixed);
        self.level.keep(&self.params, &mut self.frequent);
    }

    /// The frequent itemsets, and the rules that follow from them.
    ///
    /// Errors ([`Error::Input`]): more rules than `params` allow.
    pub fn finish(self, channel: &mut Channel) -> Result<(Frequent, Vec<AssociationRule>)> {
        let Miner { params, frequent, step: Step::Told, .. } = self else {
            return Err(Error::Internal("rules: counts are missing".into()));
        };
        let rules = association::rules(&frequent, &params.rules, params.max_rules, channel.progress());
        let rules = rules.map_err(|TooManyRules| channel.conclude_for(params.too_many_rules()))?;
        Ok((frequent, rules))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::rules::itemsets::mixed_pairs;

    #[test]
    fn what_is_wanted_survives_bytes_and_garbage_is_refused() {
        for (own, mixed) in [
            (vec![], Itemsets::none(3)),
            (vec![Itemsets::singles(Side::Second, 5), Itemsets::none(2)], mixed_pairs(3, 4, 12).unwrap()),
        ] {
            let wanted = CountPlan { own, mixed };
            let bytes = wanted.to_bytes();
            assert_eq!(CountPlan::from_bytes(&bytes), Some(wanted));
            assert!((1..bytes.len()).all(|left| CountPlan::from_bytes(&bytes[..bytes.len() - left]).is_none_or(
                |cut| {
                    // Whole itemsets may be missing.
                    cut.to_bytes().len() == bytes.len() - left
                }
            )));
            assert!(CountPlan::from_bytes(&[&bytes[..], &[0]].concat()).is_none());
        }
        assert!(CountPlan::from_bytes(&[]).is_none());
        let mut twice = mixed_pairs(1, 2, 2).unwrap().to_bytes();
        twice.extend_from_within(4..12);
        assert!(Itemsets::from_bytes(&twice).is_none());
    }
}
