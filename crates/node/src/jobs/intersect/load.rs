//! Input that a party brings in memory: its table, its keys, and the rows or numbers that it gives.

use std::borrow::Cow;
use std::path::Path;

use tacita_core::primitive::items::items_of;
use tacita_core::protocol::intersect::tag_exchange::Payload;
use tacita_core::{Error, Item, Result};
use zeroize::Zeroizing;

use crate::agreement::{JobSpec, Reveal, Sizes, Summed};
use crate::base::hex::hex;
use crate::base::random::fill_random;
use crate::base::text;
use crate::jobs::limits::check_limits;
use crate::table::payload::{PayloadEncoder, PayloadSchema, received_name};
use crate::table::{Duplicates, KeySpec, ReadOptions, Table, TableKeys, Warning, numbers, read};
use crate::watch::Warned;

/// Length of the number of a given row.
pub const NUMBER_BYTES: usize = 16;

/// Key with which the rows of a run are numbered. By the numbers the peer sees that a row which it gets by two keys
/// is one. No two rows have the same number, and nothing else can be told from one.
pub struct NumberKey(Zeroizing<[u8; 32]>);

impl NumberKey {
    /// Generates a random number key.
    pub fn fresh() -> Result<NumberKey> {
        let mut key = Zeroizing::new([0; 32]);
        fill_random(&mut key[..])?;
        Ok(NumberKey(key))
    }

    /// The number of a row: that of two among 2^32 is the same with probability 2^-65.
    fn of(&self, row: u32) -> [u8; NUMBER_BYTES] {
        let hash = blake3::keyed_hash(&self.0, &row.to_le_bytes());
        std::array::from_fn(|index| hash.as_bytes()[index])
    }
}

/// Bytes before each given row: its number, where there are several keys.
pub fn number_bytes(job: &JobSpec) -> usize {
    if job.keys_in_all() > 1 { NUMBER_BYTES } else { 0 }
}

/// A table that has been read, with its distinct keys.
pub struct Loaded {
    pub(super) table: Table,
    pub(super) keys: TableKeys,
    given: Option<Given>,
    /// A number for each key, where this party's are added up.
    numbers: Option<Zeroizing<Vec<i128>>>,
    pub(super) sizes: Sizes,
}

/// The columns that a party gives.
pub(crate) struct Given {
    schema: PayloadSchema,
    rows: Payload,
}

/// For each row of a table the first one of its key, which may be itself; none if it has no key.
pub fn first_rows(job: &JobSpec, me: &str, table: &Table) -> Result<Vec<Option<u32>>> {
    let spec = KeySpec { duplicates: Duplicates::All, ..job.key_spec(me, true)? };
    let (keys, _) = TableKeys::build(table, &spec)?;
    let mut first = vec![None; table.rows()];
    for key in 0..keys.len() {
        let rows = keys.rows(key);
        rows.iter().for_each(|&row| first[row as usize] = rows.first().copied());
    }
    Ok(first)
}

impl Loaded {
    /// Reads a table, collects its keys, and the rows to be given.
    pub fn read(job: &JobSpec, me: &str, path: &Path, options: &ReadOptions, allow_unreadable: bool) -> Result<Loaded> {
        Loaded::of(job, me, read(path, options)?, allow_unreadable)
    }

    /// Loads the input like [`Loaded::read`], from a table that has been read.
    pub fn of(job: &JobSpec, me: &str, table: Table, allow_unreadable: bool) -> Result<Loaded> {
        Loaded::with(job, me, table, allow_unreadable, None, &mut Warned::default())
    }

    /// Loads the input like [`Loaded::of`]; rows that are given are numbered with `numbers`, if there are several keys.
    /// Earlier warnings are not repeated.
    pub fn with(
        job: &JobSpec,
        me: &str,
        table: Table,
        allow_unreadable: bool,
        numbers: Option<&NumberKey>,
        warned: &mut Warned,
    ) -> Result<Loaded> {
        check_names(job, me, &table)?;
        let spec = job.key_spec(me, allow_unreadable)?;
        let (keys, warnings) = TableKeys::build(&table, &spec)?;
        warnings.into_iter().for_each(|warning| warned.tell(warning));
        let given = match given_columns(job, me) {
            Some(columns) => Some(Given::encode(job, me, columns, (&table, &keys), numbers, warned)?),
            None => None,
        };
        let numbers = match job.summed() {
            Some((giver, summed)) if giver == me => Some(add_up(job, me, summed, &table, &keys)?),
            _ => None,
        };
        let mut sizes = Sizes { items: keys.len() as u64, ..Sizes::default() };
        if let Some(given) = &given {
            sizes.entries = given.rows.rows() as u64;
            sizes.row_bytes = given.rows.row_bytes() as u32;
            sizes.schema = hex(&given.schema.encode());
        }
        check_limits(job, me, table.source(), &mut sizes)?;
        Ok(Loaded { table, keys, given, numbers, sizes })
    }

    /// The distinct keys, canonically encoded and sorted.
    pub fn keys(&self) -> &TableKeys {
        &self.keys
    }

    /// Returns the table of this party.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// Returns the sizes that are announced to the peer.
    pub fn sizes(&self) -> &Sizes {
        &self.sizes
    }

    /// The rows that this party gives.
    pub fn given_rows(&self) -> Option<&Payload> {
        self.given.as_ref().map(|given| &given.rows)
    }

    /// The numbers that this party gives to be added up.
    pub(super) fn numbers_to_send(&self) -> Result<&[i128]> {
        self.numbers.as_ref().map(|numbers| &numbers[..]).ok_or_else(|| Error::Internal("a sum of no numbers".into()))
    }

    /// The rows that this party gives as a sender of `items` items: rows of no bytes if it gives nothing, in a job in
    /// which the receiver does.
    pub(super) fn rows_to_send(&self, items: usize) -> Result<Cow<'_, Payload>> {
        match self.given_rows() {
            Some(rows) => Ok(Cow::Borrowed(rows)),
            None => empty_rows(items).map(Cow::Owned),
        }
    }

    /// The items of its keys. `key` binds them to a session or to a prepared epoch.
    pub fn items(&self, key: &[u8; 32]) -> Vec<Item> {
        items_of(key, self.keys.len(), |index| self.keys.key(index))
    }
}

impl Given {
    fn encode(
        job: &JobSpec,
        me: &str,
        columns: &[String],
        (table, keys): (&Table, &TableKeys),
        numbers: Option<&NumberKey>,
        warned: &mut Warned,
    ) -> Result<Given> {
        let headers: Vec<_> =
            columns.iter().map(|column| (column.clone(), job.header(me, column).to_owned())).collect();
        let encoder = PayloadEncoder::new(table, keys, &headers, job.limits.max_text.map(|bytes| bytes as usize))?;
        if let Some(filling) = encoder.filling() {
            warned.tell(Warning::new(filling.clone(), filling));
        }
        let mut rows = Payload::new(number_bytes(job) + encoder.schema().row_bytes());
        let mut row_bytes = Vec::new();
        for key in 0..keys.len() {
            row_bytes.clear();
            for &row in keys.rows(key) {
                row_bytes.extend(numbers.iter().flat_map(|numbers| numbers.of(row)));
                encoder.encode_row(row, &mut row_bytes);
            }
            rows.push(keys.rows(key).len(), &row_bytes)?;
        }
        Ok(Given { schema: encoder.schema().clone(), rows })
    }
}

/// The numbers of each key: of each column the sum over its rows and, for a mean, how many of them have a value.
fn add_up(job: &JobSpec, me: &str, summed: &Summed, table: &Table, keys: &TableKeys) -> Result<Zeroizing<Vec<i128>>> {
    let form = numbers::NumberForm { decimals: job.summed_decimals(), mark: job.mark(me) };
    let mut all = Zeroizing::new(vec![0; summed.numbers() * keys.len()]);
    for (place, column) in summed.columns.iter().enumerate() {
        let header = job.header(me, column);
        let sums = numbers::sums(table, &(column.to_owned(), header.to_owned()), form, keys)?;
        let first = place * summed.numbers_each();
        for (key, numbers) in all.chunks_exact_mut(summed.numbers()).enumerate() {
            let both = [sums.of_keys[key], i128::from(sums.values[key])];
            numbers[first..].iter_mut().zip(both).take(summed.numbers_each()).for_each(|(room, number)| *room = number);
        }
        if sums.absent > 0 {
            tracing::warn!(
                "{}: {} with a key {}{}, because column {header:?} is empty there",
                table.source(),
                text::counted(sums.absent as u64, "row"),
                if sums.absent == 1 { "adds nothing to the sum" } else { "add nothing to the sum" },
                if summed.mean { " nor to the number of values" } else { "" }
            );
        }
    }
    Ok(all)
}

/// The columns that `giver` gives, if somebody else is to learn them.
pub(crate) fn given_columns<'a>(job: &'a JobSpec, giver: &str) -> Option<&'a [String]> {
    let columns = job.given_by(giver);
    let learns = job.reveal_to.iter().any(|learner| learner != giver);
    let wanted = job.reveal == Reveal::Payload && !columns.is_empty() && learns;
    wanted.then_some(columns)
}

/// Refuses a table with a column that is called as one that this party will get: both would stand in its result.
fn check_names(job: &JobSpec, me: &str, table: &Table) -> Result<()> {
    if job.reveal != Reveal::Payload || !job.learns(me) {
        return Ok(());
    }
    for peer in job.others(me) {
        let got: Vec<_> = job.given_by(peer).iter().map(|column| received_name(peer, column)).collect();
        if let Some(field) = table.schema().fields().iter().find(|field| got.contains(field.name())) {
            return Err(Error::Input(format!(
                "{}: a column is called {:?}, as the one that {peer} gives will be in the result: rename it, or leave it out",
                table.source(),
                field.name()
            )));
        }
    }
    Ok(())
}

/// One row of no bytes for each item: a sender that gives nothing in a job in which the receiver does.
pub fn empty_rows(items: usize) -> Result<Payload> {
    let mut rows = Payload::new(0);
    (0..items).try_for_each(|_| rows.push(1, &[]))?;
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, RecordBatch, StringArray};

    use super::*;

    fn job(keys: &str, limits: &str) -> JobSpec {
        let text = format!(
            "job = \"intersect\"\nid = \"t\"\n{keys}\n[key]\ncolumns = [\"x\"]\n[limits]\n{limits}\n[parties.a]\n[parties.b]\n"
        );
        JobSpec::parse(&text, false).unwrap()
    }

    fn loaded(job: &JobSpec, me: &str, keys: &[&str]) -> Result<Loaded> {
        let keys: ArrayRef = Arc::new(StringArray::from(keys.to_vec()));
        let batch = RecordBatch::try_from_iter([("x", keys.clone()), ("z", keys)]).unwrap();
        Loaded::of(job, me, Table::new("table", batch.schema(), vec![batch]).unwrap(), false)
    }

    /// Checks that a party announces the agreed bound as its size, if there is one, and never more than the limit.
    #[test]
    fn sizes_are_those_that_were_agreed_on() {
        let (rows, gives) =
            ("reveal_to = [\"a\"]", "reveal = \"payload\"\ngives = { b = [\"z\"] }\nreveal_to = [\"a\"]");
        let sizes = |keys, limits, me| {
            let loaded = loaded(&job(keys, limits), me, &["p", "q", "q"]).map(|loaded| loaded.sizes().clone());
            loaded.map(|sizes| (sizes.items, sizes.entries))
        };
        assert_eq!(sizes(rows, "", "b"), Ok((2, 0)));
        assert_eq!(sizes(gives, "", "b"), Ok((2, 3)));
        assert_eq!(sizes(rows, "pad_to = 5", "b"), Ok((5, 0)));
        assert_eq!(sizes(gives, "pad_to = 5", "b"), Ok((5, 5)));
        assert_eq!(sizes(gives, "pad_to = 5", "a"), Ok((5, 0)));
        for (limits, words) in
            [("max_rows = 2", "limits.max_rows is 2"), ("pad_to = 2", "do not fit limits.pad_to = 2")]
        {
            let refused = sizes(gives, limits, "b");
            assert!(matches!(&refused, Err(Error::Input(text)) if text.contains(words)), "{refused:?}");
        }
        assert_eq!(sizes(rows, "max_rows = 2", "b"), Ok((2, 0)));
    }

    /// Columns are given to those who learn alone, and announced to nobody else.
    #[test]
    fn nothing_is_given_to_who_learns_nothing() {
        let keys = "reveal = \"payload\"\ngives = { a = [\"z\"], b = [\"z\"] }\nreveal_to = [\"a\"]";
        let job = job(keys, "");
        let given = |me| loaded(&job, me, &["p"]).unwrap().sizes().schema.clone();
        assert_eq!(given("a"), "");
        assert_ne!(given("b"), "");
    }

    /// The number of a row says nothing but whether two rows are one.
    #[test]
    fn numbers_of_rows_are_of_one_run() {
        let [one, other] = [0, 1].map(|_| NumberKey::fresh().unwrap());
        assert_eq!(one.of(3), one.of(3));
        assert!(one.of(3) != one.of(4) && one.of(3) != other.of(3));
    }
}
