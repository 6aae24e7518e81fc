//! Rows for output: own rows in a given order, with other parties' columns beside them.

use std::fmt;
use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, UInt32Array};
use arrow_schema::{DataType, Field, SchemaRef};
use arrow_select::interleave::interleave_record_batch;
use arrow_select::take::take_record_batch;
use tacita_core::{Error, Result};

use super::combine::Combinations;
use super::output::Positions;
use super::{BATCH_ROWS, Table, TableKeys, named, schema_of};

/// Rows of a join at most. The other parties' part in its size is theirs to choose, so it must not be without bound.
pub const MAX_JOINED_ROWS: usize = 100_000_000;

/// Memory that one batch of a selection takes, about.
const BATCH_BYTES: usize = 64 << 20;

/// Refuses a join of too many rows.
pub(crate) fn check_joined(table: &Table, rows: usize) -> Result<()> {
    if rows > MAX_JOINED_ROWS { Err(too_many_joined(table)) } else { Ok(()) }
}

fn too_many_joined(table: &Table) -> Error {
    Error::Input(format!(
        "{}: the join has more than {MAX_JOINED_ROWS} rows, since keys occur often at several parties; agree on \
         duplicates = \"first\"",
        table.source()
    ))
}

/// Rows of other parties that belong to common keys.
#[derive(Clone)]
pub struct PeerRows {
    /// The rows, key by key; columns are named `PARTY.COLUMN`.
    pub rows: RecordBatch,
    /// Index of the first row of each common key, followed by the number of rows. There is one more entry than there
    /// are common keys.
    pub offsets: Vec<usize>,
}

/// Rows of a table in some order, with columns of other parties: a view that is made into batches when it is written.
pub struct Selection {
    table: Table,
    schema: SchemaRef,
    order: Order,
    /// Rows of other parties.
    given: Vec<RecordBatch>,
    /// Bytes of their longest rows, side by side.
    given_bytes: usize,
    own_columns: usize,
}

/// Order of the lines: the own row in each, and the row of each other party beside it.
enum Order {
    Listed(Vec<u32>, Vec<Vec<u32>>),
    Combined(Combinations),
}

impl Order {
    fn len(&self) -> usize {
        match self {
            Order::Listed(rows, _) => rows.len(),
            Order::Combined(combinations) => combinations.len(),
        }
    }

    fn lines(&self, lines: Range<usize>) -> (Vec<u32>, Vec<Vec<u32>>) {
        match self {
            Order::Listed(rows, others) => {
                let part = |places: &Vec<u32>| places[lines.clone()].to_vec();
                (part(rows), others.iter().map(part).collect())
            }
            Order::Combined(combinations) => combinations.lines(lines),
        }
    }
}

impl Selection {
    /// Rows of `table`, with all its columns, in the order of `rows`.
    ///
    /// Errors: a row number that the table does not have.
    pub fn of_rows(table: &Table, rows: Vec<u32>) -> Result<Selection> {
        check_rows(table, &rows)?;
        Ok(Selection::ordered(table, Order::Listed(rows, Vec::new())))
    }

    /// Selects all rows of `table`, in their order.
    pub fn all(table: &Table) -> Selection {
        Selection::ordered(table, Order::Listed((0..table.rows() as u32).collect(), Vec::new()))
    }

    fn ordered(table: &Table, order: Order) -> Selection {
        let (schema, own_columns) = (table.schema().clone(), table.schema().fields().len());
        Selection { table: table.clone(), schema, order, given: Vec::new(), given_bytes: 0, own_columns }
    }

    /// The inner join on keys: for every key of `common` (numbers of own keys, ascending), each own row with each
    /// combination of the other parties' rows of that key, own rows varying slowest. The columns are the own ones, then
    /// those of each [`PeerRows`].
    ///
    /// Errors: two columns of one name; more than [`MAX_JOINED_ROWS`] rows; offsets that do not fit.
    pub fn join(table: &Table, keys: &TableKeys, common: &[usize], given: &[PeerRows]) -> Result<Selection> {
        for given in given {
            let ordered = given.offsets.is_sorted() && given.offsets.first() == Some(&0);
            let fits = given.offsets.len() == common.len() + 1 && given.offsets.last() == Some(&given.rows.num_rows());
            if !ordered || !fits || common.iter().any(|&key| key >= keys.len()) {
                return Err(Error::Internal("the rows to be joined do not fit the common keys".into()));
            }
        }
        let offsets = given.iter().map(|given| given.offsets.clone()).collect();
        let combinations = Combinations::new(keys, common, offsets).filter(|lines| lines.len() <= MAX_JOINED_ROWS);
        let order = Order::Combined(combinations.ok_or_else(|| too_many_joined(table))?);
        Selection::ordered(table, order).with_given(given.iter().map(|given| given.rows.clone()).collect())
    }

    /// Own rows, each beside a row of each of `given`, whose places are given with it.
    ///
    /// Errors: two columns of one name; a row that is not there.
    pub fn beside(table: &Table, rows: Vec<u32>, given: Vec<(RecordBatch, Vec<u32>)>) -> Result<Selection> {
        let is_there = |batch: &RecordBatch, places: &[u32]| {
            places.len() == rows.len() && places.iter().all(|&place| (place as usize) < batch.num_rows())
        };
        if !given.iter().all(|(batch, places)| is_there(batch, places)) {
            return Err(Error::Internal("the rows to be joined are not there".into()));
        }
        check_rows(table, &rows)?;
        let (given, places) = given.into_iter().unzip();
        Selection::ordered(table, Order::Listed(rows, places)).with_given(given)
    }

    /// The same with the columns of other parties behind the own ones.
    fn with_given(self, given: Vec<RecordBatch>) -> Result<Selection> {
        if given.is_empty() {
            return Ok(self);
        }
        let table = &self.table;
        let added = given.iter().flat_map(|batch| batch.schema_ref().fields().iter());
        let fields: Vec<Field> = table.schema().fields().iter().chain(added).map(|field| (**field).clone()).collect();
        named(table.source(), fields.iter().map(|field| field.name().as_str()))?;
        let schema = schema_of(fields).as_ref().clone().with_metadata(table.schema().metadata().clone());
        let given_bytes = given.iter().map(longest_row).fold(0, usize::saturating_add);
        Ok(Selection { schema: schema.into(), given, given_bytes, ..self })
    }

    /// The same, of which all columns may hold texts of other parties.
    pub fn of_others(self) -> Selection {
        Selection { own_columns: 0, ..self }
    }

    /// Returns the number of leading columns that hold nothing of other parties.
    pub fn own_columns(&self) -> usize {
        self.own_columns
    }

    /// Returns the position in the table of the row that each row was made of. It is nothing where the table is not the
    /// party's own.
    pub fn positions(&self) -> Option<Positions> {
        let labels = self.table.range.clone();
        (self.own_columns > 0).then(|| Positions {
            rows: self.order.lines(0..self.rows()).0,
            of: self.table.rows(),
            labels,
        })
    }

    /// Names and types of the columns.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.order.len()
    }

    /// The rows, made batch by batch.
    pub fn batches(&self) -> impl Iterator<Item = Result<RecordBatch>> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let start = at;
            at = self.batch_end(start);
            (start < at).then(|| self.batch(start, at))
        })
    }

    /// The rows as a table.
    pub fn to_table(&self) -> Result<Table> {
        let batches = self.batches().collect::<Result<_>>()?;
        Table::new(self.table.source(), self.schema.clone(), batches)
    }

    /// Returns the end of the batch from row `start`: it holds a bounded number of rows and, about, of bytes.
    fn batch_end(&self, start: usize) -> usize {
        let bytes_a_row = |batch: &RecordBatch| batch.get_array_memory_size() / batch.num_rows().max(1);
        let own = self.table.batches.iter().map(bytes_a_row).max().unwrap_or(0);
        let rows = (BATCH_BYTES / own.saturating_add(self.given_bytes).max(1)).clamp(1, BATCH_ROWS);
        (start + rows).min(self.rows())
    }

    fn batch(&self, start: usize, end: usize) -> Result<RecordBatch> {
        let failed = |error| Error::Internal(format!("rows cannot be selected: {error}"));
        let batches: Vec<_> = self.table.batches.iter().collect();
        let (rows, others) = self.order.lines(start..end);
        let places: Vec<_> = rows.iter().map(|&row| self.table.locate(row as usize)).collect();
        let own = interleave_record_batch(&batches, &places).map_err(failed)?;
        let mut columns = own.columns().to_vec();
        for (batch, rows) in self.given.iter().zip(others) {
            let rows = UInt32Array::from(rows);
            columns.extend_from_slice(take_record_batch(batch, &rows).map_err(failed)?.columns());
        }
        RecordBatch::try_new(self.schema.clone(), columns).map_err(failed)
    }
}

/// Bytes of the longest row of another party, about. Which of its rows stand in many lines is that party's to choose,
/// so an average says nothing.
fn longest_row(batch: &RecordBatch) -> usize {
    let longest = |column: &ArrayRef| {
        let average = column.get_array_memory_size() / column.len().max(1);
        let texts = match column.data_type() {
            DataType::Utf8 => column.as_string::<i32>().iter().flatten().map(str::len).max(),
            DataType::LargeUtf8 => column.as_string::<i64>().iter().flatten().map(str::len).max(),
            _ => None,
        };
        average.max(texts.unwrap_or_default())
    };
    batch.columns().iter().map(longest).fold(0, usize::saturating_add)
}

fn check_rows(table: &Table, rows: &[u32]) -> Result<()> {
    if rows.iter().any(|&row| row as usize >= table.rows()) {
        Err(Error::Internal("a row to be written is not in the table".into()))
    } else {
        Ok(())
    }
}

/// Shape only: values are never printed.
impl fmt::Debug for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Selection").field("rows", &self.rows()).finish_non_exhaustive()
    }
}
