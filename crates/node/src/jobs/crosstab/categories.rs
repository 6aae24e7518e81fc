//! Categories of a party as both parties see them: numbered at random, with names that go to the other where a cell is
//! open.

use std::collections::{BTreeMap, BTreeSet};

use tacita_core::channel::Channel;
use tacita_core::primitive::ot::Choices;
use tacita_core::protocol::dot::{Columns, Integers};
use tacita_core::protocol::rules::names::{self, MAX_NAME_BYTES};
use tacita_core::{Error, Result};
use zeroize::Zeroizing;

use super::load::CategoryColumn;
use super::spec::CrosstabJob;

/// Category of a row that the party does not have.
const NONE: u32 = u32::MAX;

/// Values of the columns of one party that make a category.
pub(super) type Labels = Vec<String>;

/// A party's own categories over the rows that are counted.
pub(super) struct OwnCategories {
    /// The categories, in the order of their numbers.
    pub(super) labels: Vec<Labels>,
    /// The category of each row.
    of_row: Zeroizing<Vec<u32>>,
}

impl OwnCategories {
    /// Numbers the categories of columns over `rows` rows, of which `place` says where an own row stands. If all
    /// columns have agreed categories, there is one for each combination of these; else one for each combination that a
    /// row has.
    pub(super) fn new(
        columns: &[(&String, &CategoryColumn)],
        listed: Option<Vec<Labels>>,
        (table_rows, rows): (usize, usize),
        place: impl Fn(u32) -> Option<usize>,
        secret: &[u8; 32],
    ) -> Result<OwnCategories> {
        let mut numbers: BTreeMap<Vec<u32>, u32> = BTreeMap::new();
        let mut all: Vec<Labels> = Vec::new();
        let label = |at: usize, value: u32| columns[at].1.labels.get(value as usize).cloned().unwrap_or_default();
        if let Some(listed) = listed {
            for labels in listed {
                let value = |(at, label): (usize, &String)| columns[at].1.labels.iter().position(|one| one == label);
                let values: Option<Vec<u32>> =
                    labels.iter().enumerate().map(|one| value(one).map(|value| value as u32)).collect();
                numbers
                    .insert(values.ok_or_else(|| Error::Internal("a category that is none".into()))?, all.len() as u32);
                all.push(labels);
            }
        }
        let mut of_row = Zeroizing::new(vec![NONE; rows]);
        let mut values = Vec::with_capacity(columns.len());
        for row in 0..table_rows {
            let Some(place) = place(row as u32) else { continue };
            values.clear();
            values.extend(columns.iter().map(|(_, column)| column.of_row[row]));
            let number = match numbers.get(&values) {
                Some(&number) => number,
                None => {
                    let number = all.len() as u32;
                    numbers.insert(values.clone(), number);
                    all.push(values.iter().enumerate().map(|(at, &value)| label(at, value)).collect());
                    number
                }
            };
            of_row[place] = number;
        }
        // The number of a category tells nothing of where it stands among those with names. It decides what closes
        // besides small cells, and has to be the same in every run, whatever names and order the job has: two runs that
        // close other cells would tell those that close in both.
        let headers: Vec<&str> = columns.iter().map(|(_, column)| column.header.as_str()).collect();
        let mut order: Vec<usize> = (0..all.len()).collect();
        order.sort_by_cached_key(|&category| random_number(secret, &headers, &all[category]));
        let mut number_of = vec![0; all.len()];
        order.iter().zip(0..).for_each(|(&old, new)| number_of[old] = new);
        of_row.iter_mut().filter(|number| **number != NONE).for_each(|number| *number = number_of[*number as usize]);
        let labels = order.iter().map(|&old| std::mem::take(&mut all[old])).collect();
        Ok(OwnCategories { labels, of_row })
    }

    /// Columns that say which rows are of which category.
    pub(super) fn columns(&self, integers: Integers) -> Result<Columns> {
        let mut columns = Columns::new(integers, self.of_row.len());
        for category in 0..self.labels.len() as u32 {
            let is = self.of_row.iter().map(|&number| number == category);
            if integers == Integers::BINARY {
                columns.push_bits(Choices::from_bits(is));
            } else {
                columns.push(is.map(i64::from))?;
            }
        }
        Ok(columns)
    }

    /// The same with a number in the place of each one.
    pub(super) fn weighted(&self, numbers: &[i64], integers: Integers) -> Result<Columns> {
        let mut columns = Columns::new(integers, self.of_row.len());
        for category in 0..self.labels.len() as u32 {
            let rows = self.of_row.iter().zip(numbers);
            columns.push(rows.map(|(&number, value)| value * i64::from(number == category)))?;
        }
        Ok(columns)
    }
}

/// A number by which a category of columns with these headers stands among others, random to all who do not have the
/// secret.
fn random_number(secret: &[u8; 32], headers: &[&str], labels: &Labels) -> [u8; 32] {
    let mut parts: Vec<(&str, &str)> = headers.iter().copied().zip(labels.iter().map(String::as_str)).collect();
    parts.sort_unstable();
    let mut hasher = blake3::Hasher::new_derive_key("tacita 1 crosstab category");
    hasher.update(secret);
    for text in parts.into_iter().flat_map(|(header, label)| [header, label]) {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    }
    hasher.finalize().into()
}

/// Combinations of the agreed categories of columns, if all have them.
pub(super) fn listed(job: &CrosstabJob<'_>, columns: &[&String]) -> Option<Vec<Labels>> {
    let lists: Option<Vec<&Vec<String>>> = columns.iter().map(|name| job.own.categories.get(*name)).collect();
    let start = vec![Vec::new()];
    let combine = |all: Vec<Labels>, list: &Vec<String>| -> Vec<Labels> {
        all.iter()
            .flat_map(|one| list.iter().map(move |label| [&one[..], std::slice::from_ref(label)].concat()))
            .collect()
    };
    lists.filter(|lists| !lists.is_empty()).map(|lists| lists.into_iter().fold(start, combine))
}

/// Text by which a category goes to the peer: a list in JSON, without characters that names cannot have.
fn name_of(labels: &[String]) -> String {
    let text = serde_json::Value::from(labels).to_string();
    let mut name = String::with_capacity(text.len());
    for c in text.chars() {
        let plain = c != '|' && !c.is_control() && (c.is_ascii() || c.is_alphanumeric());
        if plain {
            name.push(c);
        } else {
            c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| name.push_str(&format!("\\u{unit:04x}")));
        }
    }
    name
}

/// Refuses categories whose names are too long to be told.
pub(super) fn check_names<'a>(mut categories: impl Iterator<Item = &'a [String]>) -> Result<()> {
    if categories.any(|labels| name_of(labels).len() > MAX_NAME_BYTES) {
        return Err(Error::Input(format!(
            "a category of this party has a name of more than {MAX_NAME_BYTES} bytes: is it a column of free text? Name another, or \
             shorten its values"
        )));
    }
    Ok(())
}

/// Tells the peer the names of these own categories, and returns the `count` that it tells, each with as many labels as
/// it has `columns`.
///
/// Errors: the channel's; names of the peer that no category can have, or that are there twice.
pub(super) fn exchange_names(
    own: &[&Labels],
    count: usize,
    columns: &[&String],
    job: &CrosstabJob<'_>,
    channel: &mut Channel,
) -> Result<Vec<Labels>> {
    let own: Vec<String> = own.iter().map(|labels| name_of(labels)).collect();
    let theirs = names::exchange(&own, count, channel)?;
    let read = |name: &String| -> Option<Labels> {
        let labels: Labels = serde_json::from_str(name).ok()?;
        let listed = |(label, column): (&String, &&String)| {
            job.own.categories.get(*column).is_none_or(|listed| listed.contains(label))
        };
        (labels.len() == columns.len() && labels.iter().zip(columns).all(listed)).then_some(labels)
    };
    let theirs: Option<Vec<Labels>> = theirs.iter().map(read).collect();
    let theirs = theirs.filter(|labels| labels.iter().collect::<BTreeSet<_>>().len() == labels.len());
    theirs.ok_or_else(|| channel.violation("a name of a category is none, or there twice"))
}
