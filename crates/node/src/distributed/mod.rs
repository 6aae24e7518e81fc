//! A job that is spread over many machines of each party: its rows over buckets by a seed that the parties draw
//! together, each bucket a run of its own between one machine of each.
//!
//! 1. Every machine reads a part of the table, with its keys and a digest of them ([`TableBlock`]).
//! 2. One machine of each party, the driver, meets those of the others ([`meet`]): terms, sizes and the number of buckets are settled, and when
//!    all have committed to the digest of their rows the seed is drawn, or a run that was cut off is resumed ([`DriverRun`]).
//! 3. Every machine spreads its rows over the buckets ([`TableBlock::scatter`]).
//! 4. The drivers say which bucket is begun when and where, and how it went ([`DriverMessage`]). A bucket is an ordinary run of the same job, with
//!    [`agreement::Bucket`](crate::agreement::Bucket) in its terms.
//!
//! Who schedules, and where, is not said here: the package for Python does, on Ray or on processes. Why this hides what
//! it should is in `docs/guides/ray.md`, *What it tells*.

mod block;
mod connect;
mod drivers;
mod words;
mod work;

use tacita_core::protocol::intersect::buckets::{self, MAX_BUCKETS};
use tacita_core::{Error, Result};

use crate::agreement::{JobSpec, Quality};
use crate::base::text::count;

pub use block::{BlockCommitment, TableBlock};
pub use connect::{Meet, meet};
pub use drivers::{DriverMesh, MAX_COUNTS, MAX_OPENINGS};
pub use words::{DriverMessage, MAX_WORDS, parse as parse_words};
pub use work::DriverRun;

/// The most buckets that a job is spread over.
pub const MAX_PROPOSED_BUCKETS: usize = MAX_BUCKETS;

/// The job of one bucket; or why this one runs on one machine of each party.
pub fn in_buckets(job: &JobSpec) -> Result<JobSpec> {
    if job.quality == Quality::Told {
        return Err(Error::Input(
            "quality = \"told\": this job runs on one machine of each party: leave it out to spread it".into(),
        ));
    }
    job.distributed()?.in_buckets(job)
}

/// Returns the default number of buckets. There are enough to keep a party's `slots` all busy to the end, and few
/// enough that their padding is little. None is so large that a machine could not hold it.
pub fn usual_buckets(rows: u64, slots: usize) -> usize {
    /// About so many rows in a bucket take seconds, and what fills it up is a few per cent of it.
    const ROWS: u64 = 250_000;
    /// More buckets than this are as many objects to keep track of.
    const MANY: u64 = 2000;
    /// Maximum number of rows that one machine holds.
    const MAX_ROWS: u64 = 4_000_000;
    let by_size = (rows / ROWS).clamp(1, MANY).max(rows / MAX_ROWS);
    let of_slots = if rows > ROWS { 4 * slots as u64 } else { 1 };
    by_size.max(of_slots).min(MAX_PROPOSED_BUCKETS as u64) as usize
}

/// Returns the number of buckets, given the number asked for and the parties' numbers of rows. It is no more than
/// is good for them (`most_buckets`). It is halved until the buckets have little room for more keys than a party
/// has announced (`has_little_room`).
pub fn buckets_for(job: &JobSpec, asked: usize, rows: &[u64]) -> usize {
    let [fewest, most] = [rows.iter().min(), rows.iter().max()].map(|rows| rows.copied().unwrap_or(0));
    let mut buckets = asked.min(most_buckets(job, fewest, most)).max(1);
    // Where rows go by their position, each bucket has its own and no more.
    let fits =
        |buckets| job.aligns_by_position() || rows.iter().all(|own| has_little_room(job, *own, buckets, rows.len()));
    while buckets > 1 && !fits(buckets) {
        buckets /= 2;
    }
    buckets
}

/// Whether a party that has said to have so many rows can bring few more keys: all buckets together are filled up to
/// half as many again at most and [`ROOM`], and to half as many again as the terms allow.
fn has_little_room(job: &JobSpec, rows: u64, buckets: usize, parties: usize) -> bool {
    /// For tables of which half is nothing.
    const ROOM: u64 = 4096;
    let half_again = |rows: u64| rows.saturating_add(rows / 2);
    let room = bound(rows, buckets, parties).saturating_mul(buckets as u64);
    room <= half_again(rows).saturating_add(ROOM) && job.limits.max_rows.is_none_or(|limit| room <= half_again(limit))
}

/// Into how many buckets rows go at most, where the party with the fewest has `fewest` and the one with the most
/// `most`: no party has others do as many runs as it likes; and where each bucket tells who learns the length of its
/// longest row, that is to be one of many rows.
pub(crate) fn most_buckets(job: &JobSpec, fewest: u64, most: u64) -> usize {
    /// Minimum number of rows of each party in a bucket that tells a number, if they have as many.
    const MIN_TOLD: u64 = 10_000;
    /// Minimum number of rows of some party in any bucket, if there are more than a few buckets.
    const MIN_ROWS: u64 = 1_000;
    const FEW: u64 = 64;
    let useful = (most / MIN_ROWS).clamp(FEW, MAX_PROPOSED_BUCKETS as u64) as usize;
    if job.tells_of_buckets() {
        useful.min((fewest / MIN_TOLD).clamp(1, MAX_PROPOSED_BUCKETS as u64) as usize)
    } else {
        useful
    }
}

/// Returns the number of rows to which a party pads each of so many buckets, in a job of so many parties; see
/// [`buckets::bound`].
pub fn bound(rows: u64, buckets: usize, parties: usize) -> u64 {
    buckets::bound(rows as usize, buckets, parties) as u64
}

/// Refuses more rows than the terms allow.
pub(crate) fn check_rows(job: &JobSpec, me: &str, rows: u64) -> Result<u64> {
    let limits = [("max_rows", job.limits.max_rows), ("pad_to", job.padded_to(me))];
    for (name, limit) in limits {
        if let Some(limit) = limit
            && rows > limit
        {
            return Err(Error::Input(format!(
                "{me} has {} rows with a key, and limits.{name} is {}: agree on a higher limit",
                count(rows),
                count(limit)
            )));
        }
    }
    Ok(job.padded_to(me).unwrap_or(rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_bucket_tells_a_number_of_few_rows() {
        let job = |more: &str| {
            let text = "job = \"intersect\"\nid = \"t\"\nreveal_to = [\"a\"]\n[key]\ncolumns = [\"x\"]\n[parties.a]\n[parties.b]\n";
            JobSpec::parse(&format!("{more}{text}"), false).unwrap()
        };
        let told = job("reveal = \"payload\"\ngives.b = [\"y\"]\n");
        for (rows, buckets) in [(0, 1), (9_999, 1), (20_000, 2), (10_u64.pow(9), MAX_PROPOSED_BUCKETS)] {
            assert_eq!(most_buckets(&told, rows, 10_u64.pow(9)), buckets, "{rows}");
        }
        for (most, buckets) in [(0, 64), (64_999, 64), (65_000, 65), (10_u64.pow(9), MAX_PROPOSED_BUCKETS)] {
            assert_eq!(most_buckets(&job(""), 1, most), buckets, "{most}");
            // Of a count no bucket tells anything.
            assert_eq!(most_buckets(&job("reveal = \"count\"\n"), 1, most), buckets, "{most}");
        }
    }

    /// Whoever asks for many buckets, or has a partner with many rows, has no room in them for many more keys than it
    /// has said.
    #[test]
    fn buckets_have_little_room() {
        let job = |more: &str| {
            let text = "job = \"intersect\"\nid = \"t\"\nreveal_to = [\"a\"]\n[key]\ncolumns = [\"x\"]\n[parties.a]\n[parties.b]\n";
            JobSpec::parse(&format!("{text}{more}"), false).unwrap()
        };
        let limited = |limit: u64| job(&format!("[limits]\nmax_rows = {limit}\n"));
        let room = |rows: u64, buckets: usize| bound(rows, buckets, 2) * buckets as u64;
        let any = job("");
        for rows in [[1000, 64_000_000], [1, 1 << 40], [0, 1 << 40], [100_000, 1_000_000_000], [64, 64]] {
            for asked in [1, 64, 2000, MAX_PROPOSED_BUCKETS] {
                let buckets = buckets_for(&any, asked, &rows);
                assert!((1..=asked).contains(&buckets));
                for own in rows {
                    assert!(room(own, buckets) <= own + own / 2 + 4096, "{own} of {rows:?}: {buckets} buckets");
                }
                // A run that is resumed has as many as it had.
                assert_eq!(buckets_for(&any, buckets, &rows), buckets);
            }
        }
        assert!((100..140).contains(&buckets_for(&any, 64_000, &[1000, 64_000_000])));
        assert!(room(1000, 64_000) > 500_000);
        for (limit, most) in [(1000, 1500), (10_000, 15_000)] {
            let buckets = buckets_for(&limited(limit), 64, &[limit, limit / 2]);
            assert!(buckets > 1 && room(limit, buckets) <= most, "{limit}: {buckets}");
        }
        // Usual jobs keep what they have asked for.
        for (rows, asked) in [(1350, 60), (20_000, 64), (1_000_000, 32), (10_000_000, 10_000), (10_u64.pow(9), 2000)] {
            assert_eq!(buckets_for(&any, asked, &[rows; 2]), asked, "{rows}");
            assert_eq!(buckets_for(&any, asked, &[rows; 3]), asked, "{rows}");
        }
        assert_eq!(buckets_for(&limited(10_000_000), 40, &[10_000_000; 2]), 40);
        // Where all are padded to as many, that is what each has said.
        assert_eq!(buckets_for(&job("[limits]\npad_to = 4000000\nmax_rows = 4000000\n"), 64, &[4_000_000; 2]), 64);
    }

    #[test]
    fn buckets_are_of_a_good_size() {
        for (rows, slots, buckets) in [
            (0, 8, 1),
            (1000, 8, 1),
            (10_000_000, 2, 40),
            (1_000_000, 8, 32),
            (10_u64.pow(9), 64, 2000),
            (1 << 40, 64, 1 << 16),
        ] {
            assert_eq!(usual_buckets(rows, slots), buckets, "{rows}, {slots}");
        }
    }
}
