//! Parameters that both parties derive from terms and sizes, and checks of the sizes that a peer may announce.

use tacita_core::Result;
use tacita_core::channel::Channel;
use tacita_core::primitive::ot::chosen::MAX_OFFERED_BYTES;
use tacita_core::protocol::union::Params;

use super::load::COUNT_BYTES;
use crate::agreement::{Duplicates, JobSpec, Reveal, Sizes};
use crate::base::hex::unhex;
use crate::jobs::polynomials::POLYNOMIAL;
use crate::table::Profile;
use crate::table::payload::PayloadSchema;

/// Whether a party is the sender of a run: whether its peer learns.
pub(super) fn sends(job: &JobSpec, party: &str) -> bool {
    job.learns(job.peer_of(party))
}

/// Whether a party hands over rows: of the published polynomials nothing comes out but which keys are in the union.
pub(super) fn hands_over(job: &JobSpec, party: &str) -> bool {
    sends(job, party) && job.reveal == Reveal::Rows && job.protocol != POLYNOMIAL
}

/// The columns that a party gives for each row: those of the key as text, and those of `gives` that are not among them;
/// and how many the first ones are.
pub(super) fn given_columns(job: &JobSpec, party: &str) -> (Vec<String>, usize) {
    let key: Vec<String> = job.key.iter().flat_map(|key| key.columns.clone()).collect();
    let texts = key.len();
    let others = job.given_by(party).iter().filter(|column| !key.contains(column)).cloned().collect::<Vec<_>>();
    ([key, others].concat(), texts)
}

/// Bytes that a sender of such sizes gives for each key; none if that is more than a message holds.
pub(super) fn payload_bytes(job: &JobSpec, sizes: &Sizes) -> Option<usize> {
    let rows = sizes.each.as_ref().map_or(1, |each| each.rows) as usize;
    let counted = job.key.as_ref().is_some_and(|key| key.duplicates == Duplicates::All);
    let bytes = rows.checked_mul(sizes.row_bytes as usize)?.checked_add(if counted { COUNT_BYTES } else { 0 })?;
    (1..=MAX_OFFERED_BYTES).contains(&bytes).then_some(bytes)
}

/// Returns the number of rows that a sender gives for each key, if the largest key has so many. The next power of
/// two tells less than that number.
pub(super) fn rounded(most: u64) -> u64 {
    most.checked_next_power_of_two().unwrap_or(u64::MAX)
}

/// Returns the parameters that both parties derive from terms and sizes for the run in which `receiver` learns.
/// `asks` are its sizes, `has` the sender's.
pub(super) fn params(job: &JobSpec, asks: &Sizes, has: &Sizes) -> Params {
    let bytes = payload_bytes(job, has).unwrap_or(MAX_OFFERED_BYTES);
    Params::new(asks.items as usize, has.items as usize, bytes).one_of(job.reveal_to.len())
}

/// The columns that `peer` announces, which must be those that the terms have it give.
pub(super) fn peer_schema(job: &JobSpec, peer: &str, sizes: &Sizes) -> Result<PayloadSchema> {
    // What is not hexadecimal is no schema either.
    PayloadSchema::decode(&unhex(&sizes.schema).unwrap_or_default(), peer, &given_columns(job, peer).0)
}

/// Returns the profiles with which the peer reads its key columns: as many as there are columns, each of the kind
/// that was agreed on.
pub(super) fn peer_profiles(job: &JobSpec, sizes: &Sizes) -> Option<Vec<Profile>> {
    let key = job.key.as_ref()?;
    let each = sizes.each.as_ref()?;
    let profiles: Option<Vec<Profile>> = each.profiles.iter().map(|word| word.parse().ok()).collect();
    profiles.filter(|profiles| profiles.len() == key.columns.len())
}

/// Checks that the peer's sizes fit the job.
pub(super) fn check_peer(job: &JobSpec, sizes: &Sizes, channel: &Channel) -> Result<()> {
    sizes.refuse(true, true, false, channel)?;
    let peer = channel.peer();
    let refuse = |check: &str| Err(channel.violation(check));
    if sizes.epoch.is_some() || sizes.tag_bytes.is_some() {
        return refuse("it announces a prepared part, which a union has none of");
    }
    if sizes.entries != 0 {
        return refuse("it announces given rows beside those of its keys");
    }
    if !hands_over(job, peer) {
        return if sizes.each.is_some() || sizes.row_bytes != 0 || !sizes.schema.is_empty() {
            refuse("it announces columns that the terms do not have it give")
        } else {
            Ok(())
        };
    }
    let Some(each) = &sizes.each else { return refuse("it does not say how many rows it gives for each key") };
    let schema = peer_schema(job, peer, sizes)?;
    if schema.row_bytes() != sizes.row_bytes as usize {
        return refuse("it announces given rows of another length than their columns have");
    }
    if let Some(limit) = job.limits.max_text
        && !schema.is_filled_up_to(limit)
    {
        return refuse("its given texts are not filled up to limits.max_text");
    }
    let texts = given_columns(job, peer).1;
    if !schema.columns()[..texts].iter().all(|column| column.is_text()) {
        return refuse("it announces key columns that are no text");
    }
    let one = job.key.as_ref().is_some_and(|key| key.duplicates != Duplicates::All);
    if !each.rows.is_power_of_two() || (one && each.rows != 1) || payload_bytes(job, sizes).is_none() {
        return refuse("it announces so many rows for each key as cannot be");
    }
    if job.limits.max_rows.is_some_and(|limit| u64::from(each.rows) > rounded(limit)) {
        return refuse("it announces a key with more rows than limits.max_rows");
    }
    match peer_profiles(job, sizes) {
        Some(_) => Ok(()),
        None => refuse("it does not say how it reads its key columns"),
    }
}

#[cfg(test)]
mod tests {
    use tacita_core::ErrorKind;

    use super::*;
    use crate::agreement::RowsPerKey;
    use crate::base::hex::hex;

    /// Returns the error for a peer that gives so many rows for each key, where `max_rows` is `limit`.
    fn refused(rows: u32, limit: u64) -> Option<ErrorKind> {
        let text = format!(
            "job = \"union\"\nid = \"t\"\nreveal_to = [\"a\"]\n[key]\ncolumns = [\"id\"]\n[limits]\nmax_rows = {limit}\n[parties.a]\n[parties.b]\n"
        );
        let job = JobSpec::parse(&text, false).unwrap();
        let schema = PayloadSchema::of_texts(&["id".into()], 32).unwrap();
        let sizes = Sizes {
            items: 1,
            row_bytes: schema.row_bytes() as u32,
            schema: hex(&schema.encode()),
            each: Some(RowsPerKey { rows, profiles: vec!["none".into()] }),
            ..Sizes::default()
        };
        let (channel, _other) = Channel::pair("a", "b");
        check_peer(&job, &sizes, &channel).err().map(|error| error.kind())
    }

    /// An honest peer rounds up what its fullest key has, which may be as many as the limit.
    #[test]
    fn rows_of_a_key_are_rounded_on_both_sides_of_the_limit() {
        for limit in 1..70 {
            let honest = rounded(limit) as u32;
            for rows in 0..=honest {
                assert_eq!(refused(rows, limit).is_none(), rows.is_power_of_two(), "{rows}, {limit}");
            }
            assert_eq!(refused(2 * honest, limit), Some(ErrorKind::Protocol), "{limit}");
        }
        assert_eq!([0, 1, 5, u64::MAX].map(rounded), [1, 1, 8, u64::MAX]);
    }

    /// Checks that a party which hands over nothing announces nothing.
    #[test]
    fn columns_are_announced_by_who_hands_them_over_alone() {
        let text = |reveal: &str, to: &str| {
            format!(
                "job = \"union\"\nid = \"t\"\nreveal = \"{reveal}\"\nreveal_to = [\"{to}\"]\n[key]\ncolumns = [\"id\"]\n[parties.a]\n[parties.b]\n"
            )
        };
        let schema = PayloadSchema::of_texts(&["id".into()], 32).unwrap();
        let full = Sizes {
            items: 1,
            row_bytes: schema.row_bytes() as u32,
            schema: hex(&schema.encode()),
            each: Some(RowsPerKey { rows: 1, profiles: vec!["none".into()] }),
            ..Sizes::default()
        };
        let (channel, _other) = Channel::pair("a", "b");
        let check = |text: &str, sizes: &Sizes| check_peer(&JobSpec::parse(text, false).unwrap(), sizes, &channel);
        check(&text("rows", "a"), &full).unwrap();
        for job in [text("rows", "b"), text("count", "a")] {
            check(&job, &Sizes { items: 1, ..Sizes::default() }).unwrap();
            for sizes in [
                full.clone(),
                Sizes { each: full.each.clone(), items: 1, ..Sizes::default() },
                Sizes { row_bytes: 1, items: 1, ..Sizes::default() },
                Sizes { schema: full.schema.clone(), items: 1, ..Sizes::default() },
            ] {
                assert_eq!(check(&job, &sizes).unwrap_err().kind(), ErrorKind::Protocol, "{sizes:?}");
            }
        }
    }
}
