//! Required quality of each party's rows, and who is told of it. Each party checks its own rows before any data
//! about them is sent.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::Serialize;
use serde::de::{Deserialize, Deserializer, Error as _};
use serde_json::Value;
use tacita_core::channel::labels::handshake::QUALITY;
use tacita_core::channel::{Channel, HEADER_BYTES};
use tacita_core::protocol::rules::support::Fraction;
use tacita_core::{Error, Result, RowLimit};

use super::words::{bad, unknown};
use super::{JobSpec, MAX_SPREAD_ROWS, Topology, WrittenNumber};
use crate::base::text::{count, counted, shown};
use crate::table::RowCounts;

/// Limit on the number of a party's rows of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowShare {
    /// Absolute number of rows.
    Rows(u64),
    /// Fraction of all rows that were read.
    Part(Fraction),
}

impl RowShare {
    /// Whether `rows` of `all` are no more.
    fn holds(&self, rows: u64, all: u64) -> bool {
        match self {
            RowShare::Rows(most) => rows <= *most,
            RowShare::Part(part) => rows <= part.floor(all),
        }
    }

    /// Returns the value in the form of the terms: `1%` and `0.01` are the same.
    pub(super) fn terms(&self) -> Value {
        match self {
            RowShare::Rows(most) => (*most).into(),
            RowShare::Part(part) => part.to_string().into(),
        }
    }
}

/// `20`, or `0.01 of all`.
impl fmt::Display for RowShare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RowShare::Rows(most) => f.write_str(&count(*most)),
            RowShare::Part(part) => write!(f, "{part} of all"),
        }
    }
}

/// `20` rows, or a part of all: `"1%"`, `0.01`.
impl FromStr for RowShare {
    type Err = Error;

    fn from_str(text: &str) -> Result<RowShare> {
        let digits = text.bytes().all(|byte| byte.is_ascii_digit());
        let read = if digits {
            text.parse().ok().map(RowShare::Rows)
        } else if text.parse() == Ok(1.0) {
            // 1.0 might be one row, or all of them.
            None
        } else {
            text.parse().ok().map(RowShare::Part)
        };
        read.ok_or_else(|| {
            Error::Input(format!(
                "{} is neither a number of rows (such as 20) nor a fraction of them (such as \"1%\" or 0.01)",
                shown(&format!("{text:?}"))
            ))
        })
    }
}

impl<'de> Deserialize<'de> for RowShare {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<RowShare, D::Error> {
        WrittenNumber::deserialize(deserializer)?.0.parse().map_err(D::Error::custom)
    }
}

/// Whether those who learn hear how many rows each party could not use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Quality {
    /// Nobody is told the quality.
    #[default]
    Hidden,
    /// Parties that learn are told the quality.
    Told,
}

impl Quality {
    /// The word for it in job files.
    pub fn name(self) -> &'static str {
        match self {
            Quality::Hidden => "hidden",
            Quality::Told => "told",
        }
    }
}

impl FromStr for Quality {
    type Err = Error;

    fn from_str(word: &str) -> Result<Quality> {
        match word {
            "hidden" => Ok(Quality::Hidden),
            "told" => Ok(Quality::Told),
            _ => unknown("quality", word, "\"hidden\" or \"told\""),
        }
    }
}

/// Number of a party's rows that are in nobody's answer, as the party itself reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Unusable {
    /// Rows without a key.
    pub nulls: u64,
    /// Rows whose key cannot be read.
    pub unreadable: u64,
}

/// Bytes of what one party tells another.
const UNUSABLE_BYTES: usize = 16;

impl Unusable {
    fn of(rows: &RowCounts) -> Unusable {
        Unusable { nulls: rows.nulls as u64, unreadable: rows.unreadable as u64 }
    }

    fn to_bytes(self) -> Vec<u8> {
        [self.nulls, self.unreadable].map(u64::to_le_bytes).concat()
    }

    fn from_bytes(bytes: &[u8]) -> Option<Unusable> {
        let (nulls, unreadable) = bytes.split_first_chunk()?;
        let [nulls, unreadable] = [*nulls, unreadable.try_into().ok()?].map(u64::from_le_bytes);
        // No table has more rows.
        [nulls, unreadable].iter().all(|rows| *rows <= MAX_SPREAD_ROWS).then_some(Unusable { nulls, unreadable })
    }
}

impl JobSpec {
    /// The fewest distinct keys (rows, where these are aligned by position) that a party may bring, if there is a
    /// bound.
    pub fn least_rows(&self) -> Option<u64> {
        Some(self.limits.min_rows.unwrap_or_else(|| self.job.info().usual_min_rows)).filter(|least| *least > 0)
    }

    /// Refuses own rows that do not keep to the limits.
    ///
    /// Errors ([`Error::Rows`]): one of the limits, of which the others are told no more than its name.
    pub fn check_quality(&self, me: &str, rows: &RowCounts) -> Result<()> {
        let refused = |limit: RowLimit, name: &str, bound: &dyn fmt::Display, what: String, todo: &str| {
            Err(Error::Rows { limit, text: format!("{me} has {what}, and limits.{name} is {bound}: {todo}") })
        };
        let (all, [nulls, unreadable, items]) =
            (rows.read as u64, [rows.nulls, rows.unreadable, rows.items].map(|rows| rows as u64));
        let of_all = counted(all, "row");
        if let Some(most) = self.limits.max_unreadable.filter(|most| !most.holds(unreadable, all)) {
            let what = format!("{} whose key cannot be read, of {of_all}", counted(unreadable, "row"));
            let todo = "mend the values, name the profile that reads them, or agree on a higher limit";
            return refused(RowLimit::MaxUnreadable, "max_unreadable", &most, what, todo);
        }
        if let Some(most) = self.limits.max_null.filter(|most| !most.holds(nulls, all)) {
            let what = format!("{} without a key, of {of_all}", counted(nulls, "row"));
            return refused(RowLimit::MaxNull, "max_null", &most, what, "fill them in, or agree on a higher limit");
        }
        if let Some(least) = self.least_rows().filter(|least| items < *least) {
            let what = match items {
                0 => format!("no {} to bring", self.thing()),
                _ => counted(items, self.thing()),
            };
            let todo = "is it the right table? Else agree on a lower limit";
            return refused(RowLimit::MinRows, "min_rows", &count(least), what, todo);
        }
        Ok(())
    }

    /// Refuses that rows are told of in a job in which nobody could tell, or hear, it.
    pub(super) fn check_told(&self) -> Result<()> {
        if self.quality == Quality::Hidden {
            return Ok(());
        }
        match self.topology() {
            Topology::Served => bad("quality = \"told\" is not available for standing services: leave it out"),
            Topology::Helper => bad(
                "quality = \"told\" is not available through a helper, where parties send each other nothing directly: leave it \
                 out, or use limits.max_null and limits.max_unreadable",
            ),
            Topology::Pair | Topology::Mesh | Topology::Clients(_) => Ok(()),
        }
    }

    /// Whether `party` tells `peer` how many of its rows it could not use.
    fn tells(&self, peer: &str) -> bool {
        self.quality == Quality::Told && self.learns(peer)
    }

    /// Returns sentences on what `party` learns from the job and about the quality of rows.
    pub fn learned(&self, party: &str, known: super::KnownSizes<'_>) -> Vec<String> {
        let mut learned = self.job.learned(self, party, known);
        learned.extend(self.learned_of_rows(party));
        learned
    }

    /// Returns sentences on what `party` learns about the quality of the others' rows. They follow those of the job,
    /// the last of which may state that it learns nothing else.
    pub fn learned_of_rows(&self, party: &str) -> Vec<String> {
        let helper = match self.topology() {
            Topology::Served => return Vec::new(),
            Topology::Helper => ", and so does the helper",
            Topology::Pair | Topology::Mesh | Topology::Clients(_) => "",
        };
        let others = self.partners_of(party).join(", ");
        let mut learned = Vec::new();
        if self.tells(party) {
            learned.push(format!(
                "Besides, {party} learns how many rows of {others} are without a key, and how many have an unreadable one, as each says itself."
            ));
        }
        // The number of keys is told anyway, unless it is padded.
        let fewest = self.limits.min_rows.is_some() || self.limits.pad_to.is_some();
        let limits = [
            ("limits.max_null", self.limits.max_null.is_some()),
            ("limits.max_unreadable", self.limits.max_unreadable.is_some()),
            ("limits.min_rows", fewest && self.least_rows().is_some()),
        ];
        let limits: Vec<_> = limits.into_iter().filter(|(_, is_there)| *is_there).map(|(name, _)| name).collect();
        if !limits.is_empty() {
            learned.push(format!(
                "Besides, {party} learns whether the rows of {others} keep to {}{helper}.",
                limits.join(", ")
            ));
            learned.push(format!(
                "{party} learns which limit it is, and no number, if a party ends the run because its rows do not keep to one."
            ));
        }
        learned
    }
}

/// Tells those who learn how many of the own rows could not be used; and what the peers say, by name.
pub fn exchange(
    job: &JobSpec,
    me: &str,
    rows: &RowCounts,
    channels: &mut [Channel],
) -> Result<BTreeMap<String, Unusable>> {
    let own = Unusable::of(rows);
    for channel in channels.iter_mut().filter(|channel| job.tells(channel.peer())) {
        channel.send(QUALITY, own.to_bytes())?;
    }
    if !job.tells(me) {
        return Ok(BTreeMap::new());
    }
    let heard = channels.iter_mut().map(|channel| {
        let bytes = channel.receive(QUALITY, UNUSABLE_BYTES)?;
        let said = Unusable::from_bytes(&bytes);
        let said = said.ok_or_else(|| channel.violation("it claims more unusable rows than a table has"))?;
        Ok((channel.peer().to_owned(), said))
    });
    heard.collect()
}

/// Bytes that `me` sends in [`exchange`], framing included.
pub fn bytes_sent(job: &JobSpec, me: &str) -> u64 {
    let told = job.peers_of(me).into_iter().filter(|peer| job.tells(peer)).count();
    (told * (HEADER_BYTES + UNUSABLE_BYTES)) as u64
}

/// Message flights of [`exchange`].
pub fn rounds(job: &JobSpec) -> u32 {
    u32::from(job.quality == Quality::Told)
}

/// Returns lines that tell a learner's user about the others' rows; none if all rows could be used.
pub fn told(heard: &BTreeMap<String, Unusable>) -> Vec<String> {
    let said = |(name, said): (&String, &Unusable)| {
        format!(
            "{name} left out {} without a key and {} whose key it could not read, by its own word",
            counted(said.nulls, "row"),
            counted(said.unreadable, "row")
        )
    };
    heard.iter().filter(|(_, said)| said.nulls + said.unreadable > 0).map(said).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn job(limits: &str) -> JobSpec {
        let text = format!(
            "job = \"intersect\"\nid = \"t\"\nreveal_to = [\"a\"]\n[key]\ncolumns = [\"x\"]\n[limits]\n{limits}\n[parties.a]\n[parties.b]\n"
        );
        JobSpec::parse(&text, false).unwrap()
    }

    fn limit(limits: &str, [read, nulls, unreadable, items]: [usize; 4]) -> Option<RowLimit> {
        let rows =
            RowCounts { read, nulls, unreadable, items, duplicates: read - nulls - unreadable - items, common: None };
        match job(limits).check_quality("b", &rows) {
            Ok(()) => None,
            Err(Error::Rows { limit, text }) => {
                assert!(text.starts_with("b has ") && text.contains("limits."), "{text}");
                Some(limit)
            }
            Err(other) => panic!("{other}"),
        }
    }

    #[test]
    fn rows_keep_to_a_number_or_to_a_part_of_all() {
        use RowLimit::{MaxNull, MaxUnreadable, MinRows};
        for (limits, rows, expected) in [
            ("", [1000, 400, 300, 1], None),
            ("max_unreadable = 3", [1000, 4, 3, 900], None),
            ("max_unreadable = 3", [1000, 0, 4, 900], Some(MaxUnreadable)),
            ("max_unreadable = \"1%\"", [1000, 400, 10, 1], None),
            ("max_unreadable = \"1%\"", [1000, 0, 11, 900], Some(MaxUnreadable)),
            ("max_unreadable = 0.01", [1099, 0, 11, 900], Some(MaxUnreadable)),
            ("max_unreadable = 0.01", [1100, 0, 11, 900], None),
            ("max_null = 0", [10, 0, 5, 5], None),
            ("max_null = 0", [10, 1, 0, 9], Some(MaxNull)),
            ("max_null = \"0%\"", [10, 1, 0, 9], Some(MaxNull)),
            ("max_null = \"100%\"", [10, 10, 0, 0], None),
            ("max_null = \"12.5%\"", [8, 1, 0, 7], None),
            ("max_null = \"12.5%\"", [7, 1, 0, 6], Some(MaxNull)),
            // Keys count, not rows.
            ("min_rows = 5", [100, 0, 0, 5], None),
            ("min_rows = 5", [100, 0, 0, 4], Some(MinRows)),
            ("min_rows = 1", [0, 0, 0, 0], Some(MinRows)),
            ("min_rows = 0", [0, 0, 0, 0], None),
            // What is said first is what is to be mended first.
            ("max_null = 1\nmax_unreadable = 1\nmin_rows = 9", [9, 3, 3, 3], Some(MaxUnreadable)),
        ] {
            assert_eq!(limit(limits, rows), expected, "{limits}, {rows:?}");
        }
    }

    #[test]
    fn shares_have_one_form_and_what_may_be_read_two_ways_is_refused() {
        let terms = |text: &str| text.parse::<RowShare>().map(|share| share.terms().to_string());
        for (text, expected) in [("20", "20"), ("1%", "\"0.01\""), ("0.010", "\"0.01\""), ("100%", "\"1\"")] {
            assert_eq!(terms(text).as_deref(), Ok(expected), "{text}");
        }
        for text in ["1.0", "", "-1", "101%", "1.5", "many", "1 %%"] {
            assert!(terms(text).is_err_and(|error| error.to_string().contains("nor a fraction")), "{text:?}");
        }
        assert_eq!(Quality::from_str("told"), Ok(Quality::Told));
        assert!(Quality::from_str("loud").is_err());
    }

    /// Checks that only learners are told the quality, and that counts which no table can have are refused.
    #[test]
    fn learners_hear_how_many_rows_could_not_be_used() {
        let job = JobSpec { quality: Quality::Told, ..job("") };
        let (to_b, to_a) = Channel::pair("a", "b");
        let [mut at_a, mut at_b] = [[to_b], [to_a]];
        for ends in [&mut at_a, &mut at_b] {
            ends[0].set_patience(Duration::from_secs(10));
        }
        let rows = |nulls, unreadable| RowCounts { read: 50, nulls, unreadable, ..RowCounts::default() };
        assert_eq!(exchange(&job, "b", &rows(7, 9), &mut at_b).unwrap(), BTreeMap::new());
        let heard = exchange(&job, "a", &rows(1, 2), &mut at_a).unwrap();
        assert_eq!(heard, BTreeMap::from([("b".to_owned(), Unusable { nulls: 7, unreadable: 9 })]));
        assert_eq!([at_a[0].traffic().sent, at_b[0].traffic().sent], ["a", "b"].map(|me| bytes_sent(&job, me)));
        assert!(told(&heard)[0].starts_with("b left out 7 rows without a key and 9 rows"), "{heard:?}");
        at_b[0].send(QUALITY, vec![255; UNUSABLE_BYTES]).unwrap();
        assert!(matches!(exchange(&job, "a", &rows(0, 0), &mut at_a), Err(Error::Protocol { .. })));
    }
}
