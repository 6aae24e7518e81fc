//! Messages to the user about values that a profile cannot read.

use tacita_core::{Error, Result};

use super::{KeyColumn, KeySpec, RowCounts, Warning};
use crate::table::text::TextColumn;
use crate::table::{Origin, Profile};

/// Maximum number of unreadable values that are kept, to look for a profile that reads them.
const KEPT: usize = 100;

/// The longest part of a value that is shown, in characters.
const SHOWN: usize = 40;

/// Unreadable values of one key column.
#[derive(Clone, Default)]
pub(super) struct Samples {
    count: usize,
    /// The first ones, with the [`Origin::number`] of their rows.
    first: Vec<(u64, String)>,
}

impl Samples {
    pub fn add(&mut self, number: u64, value: &str) {
        self.count += 1;
        if self.first.len() < KEPT {
            self.first.push((number, value.to_string()));
        }
    }

    /// The first ones, with the [`Origin::number`] of their rows.
    pub fn first(&self) -> impl Iterator<Item = (u64, &str)> {
        self.first.iter().map(|(number, value)| (*number, value.as_str()))
    }

    /// Adds those of later rows.
    pub fn append(&mut self, later: &Samples) {
        self.count += later.count;
        let free = KEPT - self.first.len();
        self.first.extend(later.first.iter().take(free).cloned());
    }
}

/// Warns if over 1 % of the rows are unreadable; over half is an error, unless the user allowed it.
pub(super) fn report(
    origin: Origin<'_>,
    spec: &KeySpec,
    counts: RowCounts,
    samples: &[Samples],
) -> Result<Vec<Warning>> {
    if counts.unreadable * 100 <= counts.read {
        return Ok(Vec::new());
    }
    // The columns that matter by themselves, or else the worst one.
    let worst = samples.iter().map(|samples| samples.count).max().unwrap_or(0);
    let matters = |samples: &&Samples| samples.count == worst || samples.count * 100 > counts.read;
    let texts = spec.columns.iter().zip(samples).filter(|(_, samples)| samples.count > 0 && matters(samples)).map(
        |(column, samples)| {
            let text = |show| describe(origin, column, samples, counts.read, show);
            Warning { text: text(true), without_values: text(false) }
        },
    );
    if counts.unreadable * 2 > counts.read && !spec.allow_unreadable {
        let texts: Vec<_> = texts.map(|warning| warning.without_values).collect();
        return Err(Error::Input(format!(
            "{}; that is over half of the rows, so nothing was started (--allow-unreadable goes on without them)",
            texts.join("; ")
        )));
    }
    Ok(texts.collect())
}

/// `people.csv: 70 of 100 values in column "dob" cannot be read as date, the first in line 3 ("20/13/1991"); date:DMY
/// reads them`.
fn describe(origin: Origin<'_>, column: &KeyColumn, samples: &Samples, read: usize, show_value: bool) -> String {
    let (number, value) = &samples.first[0];
    let values: Vec<_> = samples.first.iter().map(|(_, value)| value.as_str()).collect();
    let shown: String = value.chars().take(SHOWN).collect();
    let more = if shown.len() < value.len() { "..." } else { "" };
    let example = if show_value { format!(" ({shown:?}{more})") } else { String::new() };
    format!(
        "{}: {} of {read} values in column {:?} cannot be read as {}, the first in {}{example}; {}",
        origin.source,
        samples.count,
        column.header,
        column.profile,
        origin.place(*number),
        advice(column, &values, origin)
    )
}

fn advice(column: &KeyColumn, values: &[&str], origin: Origin<'_>) -> String {
    let mut found = column.profile.alternatives(values);
    if found.len() > 1 {
        // 05/06/2001 does not tell them apart, but another value of the column may.
        let texts = first_values(origin, &column.header);
        let values: Vec<_> = texts.iter().flat_map(|(text, rows)| (0..*rows).filter_map(|row| text.get(row))).collect();
        let reads: Vec<_> = found.iter().map(|profile| profile.count_read(&values)).collect();
        let most = reads.iter().max().copied();
        found = found.into_iter().zip(reads).filter(|(_, n)| Some(*n) == most).map(|(profile, _)| profile).collect();
    }
    let names: Vec<_> = found.iter().map(Profile::to_string).collect();
    match (&names[..], column.profile) {
        ([], Profile::Phone(None)) => {
            "if these are numbers without their country code, name the country: phone:CC, as in phone:DE".to_string()
        }
        ([], Profile::Phone(Some(country))) => format!(
            "they are not numbers of {country}, and have no country code: if they are of another country, name that one"
        ),
        ([], Profile::Date(_)) if values.iter().filter(|value| value.contains(':')).count() * 2 > values.len() => {
            "they have a time of day, which a date has not: if only the day counts, remove the time before the job"
                .to_string()
        }
        ([], _) => "no other profile reads them: correct the values, or leave them out".to_string(),
        ([one], _) => format!("{one} reads them"),
        (several, _) => format!("{} read them: take the one that the file means", several.join(" and ")),
    }
}

/// A column's first batch, and its number of rows.
fn first_values(origin: Origin<'_>, header: &str) -> Option<(TextColumn, usize)> {
    let batch = origin.first?;
    Some((TextColumn::new(batch.column_by_name(header)?)?, batch.num_rows()))
}
