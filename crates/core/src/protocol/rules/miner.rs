//! Apriori without the rows: what is to be counted next, and what follows from the counts. Whoever has the rows counts,
//! in one place or in many.

use super::association::{self, AssociationRule};
use super::frequent::{Counted, Frequent};
use super::itemsets::{Itemsets, has_part};
use super::levels::{self, Candidates, Level, count_items, first_level, one_party};
use super::params::{Params, RevealedCounts};
use super::told::{self, Telling};
use crate::channel::{Channel, conclude_all_for};
use crate::error::{Error, Result};
use crate::protocol::dot::Shares;
use crate::protocol::mesh::Heard;

/// Itemsets that are to be counted next. All parties get the same [`CountPlan::mixed`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountPlan {
    /// Itemsets of the own items, which this party counts alone.
    pub own: Vec<Itemsets>,
    /// Itemsets of several parties' items, whose counts these share.
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

/// A party's part, between one count and the next. Its channels are those to all others, in the order of their places.
pub struct Miner {
    me: u8,
    params: Params,
    /// The frequent itemsets of the length that was counted last.
    level: Level,
    frequent: Frequent,
    step: Step,
    /// Among more than two, checks that all were told the same.
    heard: Option<Heard>,
}

/// Request that was made last.
enum Step {
    /// No request is open.
    Ready,
    /// Candidates; and the counts of those of one party, once they are known.
    Level(Candidates, Option<Vec<Counted>>),
    /// Itemsets of one party that are told, with `mixed_only`, at the end.
    Telling(Telling),
    /// Everything has been told.
    Told,
}

impl Miner {
    /// Begins with the own items that are frequent: how many there are, and in how many rows each is, in the order of
    /// their numbers, which must be random. Counts of more than [`Params::max_candidates`] may be left out. More than
    /// two check with `heard` that all were told the same.
    ///
    /// Errors: those of `params`; [`Error::Input`] if items of a party are too many; the channel's; the peer's.
    pub fn begin(
        me: u8,
        items: usize,
        counts: &[u32],
        params: &Params,
        mut heard: Option<Heard>,
        channels: &mut [Channel],
    ) -> Result<Miner> {
        params.check()?;
        let items_of = count_items(me, items, params, heard.as_mut(), channels)?;
        if counts.len() != items
            || counts.iter().any(|count| !(params.minimum..=params.rows).contains(&(*count as usize)))
        {
            return Err(Error::Internal("rules: items that are not frequent".into()));
        }
        let level = first_level(me, counts, items_of, params, channels)?;
        let frequent = Frequent::new(params.rows as u32, level.one.len());
        let mut miner = Miner { me, params: *params, level, frequent, step: Step::Ready, heard };
        miner.keep_level(channels)?;
        Ok(miner)
    }

    /// Returns the itemsets to be counted next; `None` when all is known. Their counts go to [`Miner::take_own`], and
    /// then, if there are mixed itemsets, to [`Miner::take_mixed`].
    pub fn next(&mut self, channels: &mut [Channel]) -> Result<Option<CountPlan>> {
        match self.step {
            Step::Ready => (),
            Step::Told => return Ok(None),
            _ => return Err(Error::Internal("rules: counts are missing".into())),
        }
        let length = self.level.mixed.sets.length() + 1;
        if length <= self.params.max_len {
            let candidates = self.level.candidates(length, &self.params);
            let candidates = candidates.map_err(|error| conclude_all_for(channels, error))?;
            if !candidates.is_empty() {
                let starts = |channel: &Channel| channel.progress().start("counting candidates", candidates.len());
                channels.iter().for_each(starts);
                let own = vec![candidates.one[usize::from(self.me)].clone()];
                let wanted = CountPlan { own, mixed: candidates.mixed.clone() };
                self.step = Step::Level(candidates, None);
                return Ok(Some(wanted));
            }
        }
        if self.params.rules.mixed_only
            && let Some(telling) = Telling::of(self.me, self.level.one.len(), &self.frequent)
        {
            let wanted = CountPlan { own: telling.own().to_vec(), mixed: Itemsets::none(length) };
            self.step = Step::Telling(telling);
            return Ok(Some(wanted));
        }
        self.step = Step::Told;
        Ok(None)
    }

    /// Takes the counts of [`CountPlan::own`], one after the other, and exchanges those that the peers are told.
    pub fn take_own(&mut self, counts: &[u32], channels: &mut [Channel]) -> Result<()> {
        match std::mem::replace(&mut self.step, Step::Ready) {
            Step::Level(candidates, None) if counts.len() == candidates.one[usize::from(self.me)].len() => {
                let one = one_party(self.me, counts, &self.level, &candidates, &self.params, channels)?;
                if candidates.mixed.is_empty() {
                    self.end_level(one, Counted::none(candidates.mixed.length()), channels)
                } else {
                    self.step = Step::Level(candidates, Some(one));
                    Ok(())
                }
            }
            Step::Telling(telling) if counts.len() == telling.own().iter().map(Itemsets::len).sum::<usize>() => {
                self.step = Step::Told;
                telling.exchange(counts, &self.params, &mut self.frequent, self.heard.as_mut(), channels)
            }
            _ => Err(Error::Internal("rules: other counts came than were asked for".into())),
        }
    }

    /// Takes this party's shares of the counts of those of [`CountPlan::mixed`] that have items of its own, and opens
    /// what may be opened. `reached` says which of them reach the minimum; it is asked with
    /// [`RevealedCounts::Frequent`] alone.
    pub fn take_mixed(
        &mut self,
        shares: Shares,
        reached: impl FnOnce(&Shares, &mut [Channel]) -> Result<Vec<bool>>,
        channels: &mut [Channel],
    ) -> Result<()> {
        let (candidates, one) = match std::mem::replace(&mut self.step, Step::Ready) {
            Step::Level(candidates, Some(one))
                if shares.len() == candidates.mixed.iter().filter(|set| has_part(set, self.me)).count()
                    && shares.modulus() == self.params.modulus()? =>
            {
                (candidates.mixed, one)
            }
            _ => return Err(Error::Internal("rules: other products came than were asked for".into())),
        };
        let reached = match self.params.reveal {
            RevealedCounts::Counts => None,
            RevealedCounts::Frequent => Some(reached(&shares, channels)?),
        };
        let (reached, heard) = (reached.as_deref(), self.heard.as_mut());
        let mixed = levels::mixed(self.me, &shares, reached, &self.level, &candidates, &self.params, heard, channels)?;
        self.end_level(one, mixed, channels)
    }

    fn end_level(&mut self, one: Vec<Counted>, mixed: Counted, channels: &mut [Channel]) -> Result<()> {
        (self.level.one, self.level.mixed) = (one, mixed);
        self.keep_level(channels)
    }

    /// Adds the level to the result, once all are known to have the same.
    fn keep_level(&mut self, channels: &mut [Channel]) -> Result<()> {
        if let Some(heard) = &mut self.heard {
            let (me, level, params) = (self.me, &self.level, &self.params);
            heard.check("itemsets or counts", |peer| level.statements(me, peer as u8, params), channels)?;
        }
        self.level.keep(&self.params, &mut self.frequent);
        Ok(())
    }

    /// The frequent itemsets, and the rules that follow from them; without counts and rules at a party that does not
    /// learn.
    ///
    /// Errors ([`Error::Input`]): more rules than `params` allow.
    pub fn finish(self, channels: &mut [Channel]) -> Result<(Frequent, Vec<AssociationRule>)> {
        let Miner { me, params, frequent, step: Step::Told, heard, .. } = self else {
            return Err(Error::Internal("rules: counts are missing".into()));
        };
        let progress = channels.first().map(Channel::progress).cloned().unwrap_or_default();
        let rules = if params.learners.contains(me) {
            association::rules(&frequent, &params.rules, params.max_rules, &progress)
        } else {
            Ok(Vec::new())
        };
        let fit = match heard.filter(|_| !params.learners.are_all(channels.len() + 1)) {
            // Those who do not learn hear it.
            Some(mut heard) => told::all_fit(me, rules.is_ok(), Some(&mut heard), channels)?,
            None => rules.is_ok(),
        };
        match rules {
            Ok(rules) if fit => Ok((frequent, rules)),
            _ => Err(conclude_all_for(channels, params.too_many_rules())),
        }
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
            (vec![Itemsets::singles(1, 5), Itemsets::none(2)], mixed_pairs(&[3, 4, 1], 19).unwrap()),
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
        let mut twice = mixed_pairs(&[1, 2], 2).unwrap().to_bytes();
        twice.extend_from_within(4..12);
        assert!(Itemsets::from_bytes(&twice).is_none());
    }
}
