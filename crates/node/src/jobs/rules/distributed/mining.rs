//! A driver's part: what is counted next, and what follows from the counts.

use std::slice::from_mut;

use chacha20::ChaCha20Rng;
use tacita_core::channel::Channel;
use tacita_core::channel::labels::handshake::DRIVERS;
use tacita_core::primitive::shuffle::random_order;
use tacita_core::protocol::rules::{self as mining, Comparisons, CountPlan, Mined, Miner, Params};
use tacita_core::{Error, Result, Session, Side};
use zeroize::Zeroizing;

use super::shares::LevelShares;
use crate::agreement::{Answer, Gathered, JobSpec, Levels};
use crate::base::random::fresh_rng;
use crate::base::text;
use crate::jobs::rules::spec::{Rules, RulesJob};
use crate::jobs::rules::{RulesResult, output, side, warn_of_common_rows, warn_of_minimum};

/// A party's mining, between one level and the next.
pub struct Mining {
    job: JobSpec,
    own: Rules,
    side: Side,
    params: Params,
    /// The frequent items, by their numbers.
    names: Vec<String>,
    /// Candidates that were asked for last.
    mixed: usize,
    miner: Miner,
    session: Session,
    comparing: Option<Comparisons>,
    rng: ChaCha20Rng,
}

impl Mining {
    /// Begins, when both have gathered the items of all buckets.
    ///
    /// Errors ([`Error::Terms`]): the parties have aligned rows of different attempts at a bucket. [`Error::Input`]:
    /// fewer rows than `limits.min_rows`; too many items.
    pub fn begin(job: &RulesJob<'_>, me: &str, gathered: Gathered, channel: &mut Channel) -> Result<Mining> {
        let Gathered { rows, runs, items, session } = gathered;
        warn_of_common_rows(job, channel.peer());
        check_same(rows, &runs, channel)?;
        if let Some(least) = job.limits.min_rows.filter(|least| *least > rows) {
            return Err(channel.conclude_for(Error::Input(format!(
                "both parties have {} in common, and limits.min_rows is {}: nothing was counted",
                text::counted(rows, "row"),
                text::count(least)
            ))));
        }
        let too_many = |_| Error::Input(format!("{} are more than can be counted", text::counted(rows, "row")));
        let params = job.mining(u32::try_from(rows).map_err(too_many)? as usize, None)?;
        warn_of_minimum(&params);
        let mut rng = fresh_rng()?;
        let frequent = |(_, count): &(String, u64)| (params.minimum as u64..=rows).contains(count);
        let mut frequent: Vec<(String, u64)> = items.into_iter().filter(frequent).collect();
        let all = frequent.len();
        if all > params.max_candidates {
            // Such a run ends.
            frequent.clear();
        }
        // Numbers are seen by the peer, and must not tell where among the named items a nameless one stands.
        let order = random_order(frequent.len(), &mut rng);
        let shuffled = |place: u32| std::mem::take(&mut frequent[place as usize]);
        let (names, counts): (Vec<String>, Vec<u32>) =
            order.into_iter().map(shuffled).map(|(name, count)| (name, count as u32)).unzip();
        let side = side(job, me);
        let session = session.child("rules of many machines", 0);
        let miner = Miner::begin(side as u8, all, &counts, &params, None, from_mut(channel))?;
        Ok(Mining {
            job: job.spec.clone(),
            own: job.own.clone(),
            side,
            params,
            names,
            mixed: 0,
            miner,
            session,
            comparing: None,
            rng,
        })
    }
}

/// Shares of rows that were aligned in different attempts add up to nothing: both have to have kept the same, and as
/// many.
fn check_same(rows: u64, runs: &[String], channel: &mut Channel) -> Result<()> {
    let mut hasher = blake3::Hasher::new_derive_key("tacita 1 runs of partitions");
    hasher.update(&rows.to_le_bytes());
    for run in runs {
        hasher.update(&(run.len() as u64).to_le_bytes()).update(run.as_bytes());
    }
    agree(hasher.finalize().as_bytes(), "aligned rows", channel)
}

/// Whether both parties' buckets have left what is of the same attempts.
fn agree(own: &[u8; 32], what: &str, channel: &mut Channel) -> Result<()> {
    let theirs = channel.exchange(DRIVERS, own.to_vec(), own.len())?;
    if theirs == own {
        Ok(())
    } else {
        Err(channel.conclude_for(Error::Terms(format!(
            "the parties have kept {what} of different attempts at a bucket: all remove their work directories and start again"
        ))))
    }
}

impl Levels for Mining {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn next(&mut self, channel: &mut Channel) -> Result<Option<CountPlan>> {
        let wanted = self.miner.next(from_mut(channel))?;
        self.mixed = wanted.as_ref().map_or(0, |wanted| wanted.mixed.len());
        Ok(wanted)
    }

    fn take_own(&mut self, counts: &[u32], channel: &mut Channel) -> Result<()> {
        self.miner.take_own(counts, from_mut(channel))
    }

    fn take_mixed(&mut self, shares: &[Zeroizing<String>], channel: &mut Channel) -> Result<()> {
        let (sum, runs) = LevelShares::sum(shares, self.mixed, self.params.modulus()?)?;
        agree(&runs, "shares", channel)?;
        let Mining { miner, comparing, rng, side, params, session, .. } = self;
        let comparing = comparing.get_or_insert_with(|| Comparisons::new(*side, params, session.clone()));
        // The parties are two, with one channel.
        let reached = |shares: &_, channels: &mut [Channel]| comparing.reached(shares, &mut channels[0], rng);
        miner.take_mixed(sum, reached, from_mut(channel))
    }

    fn finish(self: Box<Self>, channel: &mut Channel) -> Result<Answer> {
        let Mining { job, own, side, names, miner, .. } = *self;
        let job = &RulesJob { spec: &job, own: &own };
        let (frequent, rules) = miner.finish(from_mut(channel))?;
        let shown = frequent.shown(side as u8).into_iter().map(|number| names.get(number as usize).cloned());
        let shown = shown.collect::<Option<Vec<_>>>();
        let shown = shown.ok_or_else(|| Error::Internal("an item that is not there".into()))?;
        let theirs = mining::names::exchange(&shown, frequent.shown(side.other() as u8).len(), channel)?;
        let (first, second) = if side == Side::First { (shown, theirs) } else { (theirs, shown) };
        let parties = job.parties.names();
        let mined = Mined { frequent, rules, items: Vec::new() };
        let named = RulesResult::new(mined, &[(parties[0], first), (parties[1], second)])?;
        let me = parties[usize::from(side == Side::Second)];
        Ok(output::answer(&named, &job.show(me)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tacita_core::session::Transcript;

    use crate::agreement::WrittenNumber;

    const JOB: &str =
        "job = \"rules\"\nid = \"t\"\nmin_support = 2\nreveal_to = [\"a\", \"b\"]\n[parties.a]\n[parties.b]\n";

    /// Returns the initial states of both drivers that have gathered buckets of these runs, and so many rows.
    fn begun(runs: [&[&str]; 2], rows: [u64; 2]) -> [Result<Mining>; 2] {
        let spec = JobSpec::parse(JOB, false).unwrap();
        let own = Rules { min_support: Some(WrittenNumber("2".into())), ..Rules::default() };
        let job = RulesJob { spec: &spec, own: &own };
        let gathered = |side: usize| Gathered {
            rows: rows[side],
            runs: runs[side].iter().map(|run| run.to_string()).collect(),
            items: vec![("tea".into(), 3), ("rare".into(), 1)],
            session: Session::new(Transcript::new("drivers")),
        };
        let (mut to_b, mut to_a) = Channel::pair("a", "b");
        std::thread::scope(|scope| {
            let other = scope.spawn(|| Mining::begin(&job, "b", gathered(1), &mut to_a));
            [Mining::begin(&job, "a", gathered(0), &mut to_b), other.join().unwrap()]
        })
    }

    #[test]
    fn rows_of_different_attempts_are_not_mined() {
        for mining in begun([&["x", "y"]; 2], [5; 2]) {
            assert_eq!(mining.unwrap().names(), ["tea"]);
        }
        for (runs, rows) in [([&["x", "y"][..], &["x", "z"]], [5, 5]), ([&["x", "y"], &["x", "y"]], [5, 6])] {
            for mining in begun(runs, rows) {
                assert!(matches!(mining, Err(Error::Terms(_))));
            }
        }
    }
}
