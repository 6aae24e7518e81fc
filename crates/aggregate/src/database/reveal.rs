//! Path from rows to results: all rows are counted, and the keys of those that pass are requested. Rows that the oracle
//! finds wrong are left out, and the condition is applied again.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::time::Duration;

use tacita_core::protocol::aggregate::ask;
use tacita_core::{Error, Result};
use tacita_node::base::hex::{hex, unhex};
use tacita_node::base::random::fresh_rng;
use tacita_node::base::text::{count, counted};
use tacita_node::jobs::aggregate::{Histogram, Summary};

use super::Database;
use super::condition::{Condition, Judged, Passing};
use super::progress::Mismatch;
use super::record::part;
use super::round::Round;
use crate::store::RowId;
use crate::transport::{ApiRequest, Persistence, all_silent};
use crate::wire::questions::{RowQuestion, RowReply, decode_replies, encode_questions};
use crate::wire::rounds::{ReportCounts, RoundState};
use crate::wire::rows::{RevealedKey, encode_rows};
use crate::wire::same_keys::KeysFingerprint;
use crate::wire::service::Service;

/// Bytes of questions that are sent at once: a row of more is sent alone.
const QUESTION_BYTES: usize = 1 << 19;

/// Time for which an overloaded oracle is asked again, before other rounds have their turn.
const BUSY: Duration = Duration::from_secs(2);

/// Rows that are looked at between two marks, at most.
const LOOKED_AT: usize = 1 << 16;

/// Message to others than the operator about a round of which a proxy has sent more than is there.
pub(super) const MISSING: &str =
    "reports are missing at the database: its operator finds more in the log. Submit again when another round is open";

/// The same where more is there.
const TWICE: &str =
    "reports would count twice: the database's operator finds more in the log. Submit again when another round is open";

/// Result of the examination of rows.
#[derive(Default)]
struct Looked {
    passing: Vec<Passing>,
    /// The last of them, if there was any.
    last: Option<RowId>,
    /// Number of rows that pass, and have more reports than an oracle can be asked about.
    too_long: u64,
}

impl Database {
    /// Counts the rows of a round of which all is there.
    pub(super) fn count(&self, round: &Round) -> Result<()> {
        let (own, condition) = (self.setting.own()?, self.condition(round)?);
        let proxies = self.setting.count("proxy")?;
        // What another database still takes in is in before rows are counted, or never.
        self.storage.seal(&round.name)?;
        let (mut histogram, mut rows, mut passing) = (Histogram::default(), 0, 0);
        self.storage.groups(&round.name, None, &mut |id, entries| {
            let mut row = Summary::new(&own.own.round.values);
            for entry in entries {
                let entry = entry?;
                row.add(entry.value, &entry.tag);
            }
            histogram.add(&row);
            rows += 1;
            passing += u64::from(condition.passes(id, &row));
            // It may have been removed meanwhile.
            Ok(if round.record().state == RoundState::Closed { self.go_on() } else { ControlFlow::Break(()) })
        })?;
        self.stop()?;
        let reports = self.storage.totals(&round.name)?.reports;
        let sent = self.storage.sent(&round.name)?;
        let noisy = condition.noisy(&histogram);
        let distinct = if own.tags() { histogram.distinct } else { Default::default() };
        let counts = ReportCounts { count: histogram.count, distinct, noisy };
        let mut mismatch = None;
        let is_counted = round.change(&*self.storage, |record| {
            // It may be that of a storage that has taken over meanwhile, and lacks the last commits: what a proxy has
            // not said there, it says again.
            if !record.has_all(proxies) {
                return Ok(false);
            }
            mismatch = record.mismatches(&sent).first().copied();
            if mismatch.is_some() {
                return Ok(false);
            }
            record.counts = Some(counts.clone());
            record.numbers.rows = Some(rows);
            record.numbers.passing = Some(passing);
            record.numbers.reports = reports;
            record.state = if own.own.round.tighten { RoundState::Counted } else { RoundState::Revealing };
            Ok(true)
        })?;
        if let Some(mismatch) = &mismatch {
            return self.fail_for(round, mismatch);
        }
        if !is_counted {
            return Ok(());
        }
        tracing::info!(
            "round {}: {} make {}{}",
            round.name,
            counted(reports, "report"),
            counted(rows, "row"),
            if own.own.round.tighten { "; `tacita round reveal` goes on" } else { "" }
        );
        Ok(())
    }

    /// Fails a round of which other entries are there than its proxies have sent.
    fn fail_for(&self, round: &Round, mismatch: &Mismatch) -> Result<()> {
        let told = if mismatch.here < mismatch.sent { MISSING } else { TWICE };
        self.fail_telling(round, &self.wrong_number(mismatch)?, Some(told))
    }

    /// Returns the reason why a round has no result if a proxy has sent another number of reports than are there.
    fn wrong_number(&self, mismatch: &Mismatch) -> Result<Error> {
        let peer = self.setting.name(Service::Proxy(mismatch.proxy))?;
        let (sent, here) = (counted(mismatch.sent, "report"), count(mismatch.here));
        let what = if mismatch.here < mismatch.sent {
            let missing = counted(mismatch.sent - mismatch.here, "report");
            format!(
                "it lacks {missing}: {peer} has sent {sent}, and {here} are there. The storage was put back to an earlier state, or its last commits are lost"
            )
        } else {
            let more = counted(mismatch.here - mismatch.sent, "report");
            format!(
                "{more} would count twice: {peer} has sent {sent}, and {here} are there. A copy of its state directory has sent some as well"
            )
        };
        Ok(Error::Terms(format!("{what}: open another round, and have reports submitted again")))
    }

    /// Asks for the keys of all rows that pass, from where it was left.
    pub(super) fn reveal(&self, round: &Round) -> Result<()> {
        let condition = self.condition(round)?;
        // What was counted may have been read from a storage before another one took over that lacks some of it. One
        // that has the round counted has all that it had then.
        if let Some(mismatch) = round.record().mismatches(&self.storage.sent(&round.name)?).first() {
            return self.fail_for(round, mismatch);
        }
        loop {
            let before = round.record();
            if before.state != RoundState::Revealing {
                return Ok(());
            }
            let mut revealed = before.revealed.clone();
            let after = match &revealed.after {
                None => None,
                Some(text) => Some(
                    unhex(text)
                        .and_then(|id| RowId::try_from(id).ok())
                        .ok_or_else(|| Error::Internal(format!("round {}: a mark that is none", round.name)))?,
                ),
            };
            let Looked { passing, last, too_long } = self.passing(round, &condition, after.as_ref())?;
            let Some(last) = last else { break };
            let (found, inconsistent) = self.ask_all(round, &condition, passing)?;
            let (name, rows) = (part(revealed.parts), encode_rows(&found));
            let beside: &[(&str, &[u8])] = if found.is_empty() { &[] } else { &[(&name, &rows)] };
            revealed.parts += u64::from(!found.is_empty());
            revealed.keys += found.len() as u64;
            revealed.after = Some(hex(&last));
            let went_on = round.change_with(&*self.storage, beside, |record| {
                // Another database may have gone on from there, if this one was taken for dead.
                if record.state != RoundState::Revealing || record.revealed != before.revealed {
                    return Ok(false);
                }
                record.revealed = revealed.clone();
                record.numbers.inconsistent += inconsistent;
                record.numbers.too_long += too_long;
                Ok(true)
            })?;
            if !went_on {
                tracing::info!("round {}: another database has taken it over", round.name);
                return Ok(());
            }
            self.stop()?;
        }
        let is_revealed = round.change(&*self.storage, |record| {
            let is_ours = record.state == RoundState::Revealing;
            if is_ours {
                record.state = RoundState::Revealed;
                record.numbers.keys = Some(record.revealed.keys);
            }
            Ok(is_ours)
        })?;
        if is_revealed {
            let numbers = &round.record().numbers;
            tracing::info!("round {}: revealed {}", round.name, counted(numbers.keys.unwrap_or_default(), "key"));
            if numbers.inconsistent > 0 {
                tracing::warn!(
                    "round {}: {} of rows that passed were inconsistent, and count for nothing: a participant can make such reports",
                    round.name,
                    counted(numbers.inconsistent, "report")
                );
            }
        }
        Ok(())
    }

    /// The condition of a round as it stands.
    fn condition(&self, round: &Round) -> Result<Condition<'_>> {
        Condition::new(self.setting.own()?, round.predicate(&self.setting)?, &round.record())
    }

    /// Rows that pass behind one, as many as are asked for at once.
    fn passing(&self, round: &Round, condition: &Condition<'_>, after: Option<&RowId>) -> Result<Looked> {
        let each = round.params.sealed_bytes() + 4;
        let most = self.question_bytes.saturating_sub(64) / each;
        let (mut found, mut bytes, mut looked) = (Looked::default(), 0, 0);
        self.storage.groups(&round.name, after, &mut |id, entries| {
            let judged = condition.judge(id, entries, most)?;
            found.last = Some(*id);
            looked += 1;
            match judged {
                Judged::Fails => (),
                // Whoever reports a key without end takes it out of the result, and no other.
                Judged::TooLong(number) => {
                    tracing::warn!(
                        "round {}: a row of {} is left out: an oracle takes at most {}",
                        round.name,
                        counted(number, "report"),
                        count(most as u64)
                    );
                    found.too_long += 1;
                }
                Judged::Passes(row) => {
                    bytes += condition.asked(&row) * each;
                    found.passing.push(row);
                }
            }
            // Parts of a result end where questions do. With noise, that must not tell how many rows there are.
            let enough = bytes >= QUESTION_BYTES || (looked >= LOOKED_AT && !condition.has_noise());
            Ok(if enough { ControlFlow::Break(()) } else { self.go_on() })
        })?;
        self.stop()?;
        Ok(found)
    }

    /// Asks for the keys of these rows until each is told or does not pass any more.
    fn ask_all(
        &self,
        round: &Round,
        condition: &Condition<'_>,
        mut rows: Vec<Passing>,
    ) -> Result<(Vec<RevealedKey>, u64)> {
        let (mut found, mut dropped) = (Vec::new(), 0);
        while !rows.is_empty() {
            let mut rng = fresh_rng()?;
            // In an order that says nothing of when they came.
            rows.iter_mut().for_each(|row| row.shuffle(&mut rng));
            let (replies, oracle) = self.ask(round, condition, &rows)?;
            let mut again = Vec::new();
            for (mut row, reply) in rows.into_iter().zip(replies) {
                match reply {
                    RowReply::Key(key) => found.push(condition.revealed(key, &row)),
                    RowReply::TooFew => {
                        let check = "it withholds the key of a row that has as many reports as agreed".to_owned();
                        return Err(Error::Protocol { peer: oracle.to_owned(), check });
                    }
                    RowReply::Inconsistent(places) => {
                        dropped += row.remove(&places);
                        if condition.still_holds(&row) {
                            again.push(row);
                        }
                    }
                }
            }
            rows = again;
        }
        Ok((found, dropped))
    }

    /// One question about each row, of which the first oracle that answers is asked; and who that is. Places in its
    /// answers are those of the rows' entries.
    fn ask(&self, round: &Round, condition: &Condition<'_>, rows: &[Passing]) -> Result<(Vec<RowReply>, &str)> {
        let keys = round.keys().ok_or_else(|| Error::NotReady("the proxies' key is not there yet".into()))?;
        let mut rng = fresh_rng()?;
        let places: Vec<Vec<usize>> = rows.iter().map(|row| condition.places(row, &mut rng)).collect();
        let mut all: Vec<&[u8]> = Vec::new();
        for (row, places) in rows.iter().zip(&places) {
            all.extend(places.iter().map(|place| &row.entries[*place].sealed[..]));
        }
        let fresh = ask(&round.params, keys, &all, &mut rng).map_err(|error| {
            Error::Input(format!("the storage is damaged: a report of round {}: {error}", round.name))
        })?;
        let mut sealed = fresh.chunks(round.params.sealed_bytes());
        let questions = rows.iter().zip(&places).map(|(row, places)| RowQuestion {
            row: row.id,
            sealed: sealed.by_ref().take(places.len()).collect::<Vec<_>>().concat(),
            reporters: if round.params.distinct() { condition.classes(row, places) } else { Vec::new() },
        });
        let questions: Vec<RowQuestion> = questions.collect();
        let most = 16 + questions.iter().map(|one| 64 + round.params.key_bytes() + 4 * one.sealed.len()).sum::<usize>();
        let path = KeysFingerprint::of(&round.params, keys).on(&format!("/v1/rounds/{}/answers", round.name));
        let asked = ApiRequest::post(path, encode_questions(&questions), most);
        let persistence = Persistence { silence: Duration::ZERO, busy: BUSY };
        let mut silent = Vec::new();
        for oracle in &self.oracles {
            let peer = oracle.name().to_owned();
            let answer = match oracle.ask(&asked, persistence) {
                Ok(answer) => answer,
                // Nothing that it says of itself: the next one may be there.
                Err(Error::Network { peer, what } | Error::Authentication { peer, what }) => {
                    silent.push((peer, what));
                    continue;
                }
                Err(error) => return Err(error),
            };
            if answer.is_ok() {
                let replies = decode_replies(&answer.body, &questions, &round.params);
                return replies
                    .map(|replies| (replies.into_iter().zip(&places).map(of_entries).collect(), oracle.name()))
                    .map_err(|check| Error::Protocol { peer, check });
            }
            let what = format!("did not answer: {}", answer.told().message);
            match answer.again {
                Some(_) => silent.push((peer, what)),
                None => return Err(Error::Protocol { peer, check: what }),
            }
        }
        Err(all_silent(silent))
    }

    pub(super) fn go_on(&self) -> ControlFlow<()> {
        if self.cancel.is_cancelled() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    pub(super) fn stop(&self) -> Result<()> {
        if self.cancel.is_cancelled() { Err(Error::Interrupted) } else { Ok(()) }
    }
}

/// The same reply, with places among a row's entries, ascending and each once, instead of places in the question.
fn of_entries((reply, places): (RowReply, &Vec<usize>)) -> RowReply {
    let RowReply::Inconsistent(asked) = reply else { return reply };
    let entries: BTreeSet<u32> = asked.iter().filter_map(|at| Some(*places.get(*at as usize)? as u32)).collect();
    RowReply::Inconsistent(entries.into_iter().collect())
}
