//! Sketches of the rows that a party brings to a run.
//!
//! Rows are compared in two ways: by each key of the job, in its canonical form, and whole, with the columns in the
//! order of their names, and their values in the canonical text. So a table is found again whether other columns of it
//! have changed, or it is matched by other ones.

use arrow_array::RecordBatch;
use arrow_schema::Schema;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use tacita_core::Result;
use zeroize::Zeroizing;

use super::sketch::{Difference, Sketch};
use crate::agreement::{JobSpec, Source};
use crate::base::files::is_read_once;
use crate::identity::Identity;
use crate::jobs::reads_lines;
use crate::table::key::build::{find_columns, read_pieces};
use crate::table::key::encode_part;
use crate::table::text::TextColumn;
use crate::table::{KeySpec, Origin, Table, read};

/// Rows that one task hashes.
const TASK_ROWS: usize = 8 << 10;

/// Bytes of a file that are read at a time, where it does not have to be in memory.
const BATCH_BYTES: usize = 16 << 20;

/// Key under which rows are hashed: one for the ledger alone.
pub struct RowKey(Zeroizing<[u8; 32]>);

impl RowKey {
    /// Derives the key of an identity's ledger.
    pub fn of(identity: &Identity) -> RowKey {
        RowKey(identity.derive("ledger rows", b""))
    }

    fn hash(&self, domain: u8, parts: &[u8]) -> u64 {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        hasher.update(&[domain]).update(parts);
        let mut hash = [0; 8];
        hasher.finalize_xof().fill(&mut hash);
        u64::from_le_bytes(hash)
    }
}

const BY_KEY: u8 = 0;
const WHOLE: u8 = 1;

/// Sketches of the rows of one table.
#[derive(Clone, Serialize, Deserialize)]
#[serde(try_from = "Encoded", into = "Encoded")]
pub struct RowSketches {
    /// Sketches of the rows' keys, by each key of the job.
    keys: Vec<Sketch>,
    whole: Sketch,
}

/// The same in hexadecimal.
#[derive(Serialize, Deserialize)]
struct Encoded {
    keys: Vec<String>,
    whole: String,
}

/// Rows of a run, as far as they can be compared.
pub enum ComparableRows {
    /// Rows that were sketched.
    Sketched(RowSketches),
    /// None: the run opens numbers of earlier ones, whose rows were compared.
    None,
    /// Reason why they cannot be compared.
    Unknown(&'static str),
}

impl RowSketches {
    /// Returns the smallest difference from earlier rows, by whatever they are compared; none if it is too large.
    pub fn since(&self, earlier: &RowSketches) -> Option<Difference> {
        let by_key = self.keys.iter().flat_map(|key| earlier.keys.iter().map(move |other| key.since(other)));
        by_key.chain([self.whole.times_since(&earlier.whole)]).flatten().min_by_key(|difference| difference.rows())
    }

    /// Sketches the rows of a table in memory. Rows without a key are there by their other columns alone.
    pub fn of_table(job: &JobSpec, me: &str, table: &Table, key: &RowKey, capacity: usize) -> RowSketches {
        let mut counting = Counting::new(job, me, (table.source(), table.schema()), key, capacity);
        table.batches().iter().for_each(|batch| counting.add(batch));
        counting.sketches
    }
}

/// Sketches the rows of a source, and returns it for the run: read, if it is a table in a file that has to be in memory
/// anyway.
///
/// Where it `has` to be, a table that is not read otherwise is, too.
///
/// Errors: it is read once, or has to be compared, and cannot be read.
pub fn sketch(
    job: &JobSpec,
    me: &str,
    source: &Source,
    key: &RowKey,
    capacity: usize,
    has: bool,
) -> Result<(Source, ComparableRows)> {
    let again = |path, options| {
        if is_read_once(path) {
            return Ok(ComparableRows::Unknown("they come from a pipe, and are read once"));
        }
        if !has {
            return Ok(ComparableRows::Unknown("they would have to be read once more, and no rule asks for it"));
        }
        of_file(job, me, path, options, key, capacity).map(ComparableRows::Sketched)
    };
    let rows = match source {
        Source::File { path, .. } if reads_lines(job, me, path) => {
            ComparableRows::Unknown("they are baskets in lines, without columns")
        }
        Source::File { path, options, allow_unreadable } => match read(path, options) {
            Ok(table) => {
                let source = Source::Table { table, allow_unreadable: *allow_unreadable };
                return sketch(job, me, &source, key, capacity, has);
            }
            Err(error) if has || is_read_once(path) => return Err(error),
            // The run reads it again, and says what is wrong.
            Err(_) => ComparableRows::Unknown("they cannot be read"),
        },
        Source::Table { table, .. } => ComparableRows::Sketched(RowSketches::of_table(job, me, table, key, capacity)),
        Source::Candidates { path, options, .. } | Source::Disk { path, options, .. } => again(path, options)?,
        Source::Prepared { check: Some((path, options)), .. } => again(path, options)?,
        Source::Prepared { check: None, .. } => {
            ComparableRows::Unknown("they are in a prepared part: give the table again, as --input")
        }
        Source::Shares(_) => ComparableRows::None,
    };
    Ok((source.clone(), rows))
}

fn of_file(
    job: &JobSpec,
    me: &str,
    path: &std::path::Path,
    options: &read::ReadOptions,
    key: &RowKey,
    capacity: usize,
) -> Result<RowSketches> {
    let mut stream = read::open(path, options, BATCH_BYTES)?;
    let (name, schema) = (stream.source().to_owned(), stream.schema().clone());
    let mut counting = Counting::new(job, me, (&name, &schema), key, capacity);
    while let Some(batch) = stream.next_batch()? {
        counting.add(&batch);
    }
    Ok(counting.sketches)
}

/// Sketches of the rows so far.
struct Counting<'a> {
    key: &'a RowKey,
    source: &'a str,
    /// Keys of the job, with the places of their columns in the table.
    by: Vec<(KeySpec, Vec<usize>)>,
    /// Places of all columns, in the order of their names.
    columns: Vec<usize>,
    sketches: RowSketches,
}

impl<'a> Counting<'a> {
    fn new(
        job: &JobSpec,
        me: &str,
        (source, schema): (&'a str, &Schema),
        key: &'a RowKey,
        capacity: usize,
    ) -> Counting<'a> {
        // A key that the table has not ends the run when it is read.
        let found = |spec: KeySpec| find_columns(source, schema, &spec).ok().map(|columns| (spec, columns));
        let by: Vec<_> = keys(job, me).into_iter().filter_map(found).collect();
        let mut columns: Vec<_> = (0..schema.fields().len()).collect();
        columns.sort_by_key(|&column| schema.field(column).name());
        let whole = Sketch::new(capacity);
        Counting { key, source, columns, sketches: RowSketches { keys: vec![whole.clone(); by.len()], whole }, by }
    }

    fn add(&mut self, batch: &RecordBatch) {
        let origin = Origin { source: self.source, lines: None, first: None };
        for ((spec, columns), sketch) in self.by.iter().zip(&mut self.sketches.keys) {
            let pieces = read_pieces(batch, 0, spec, columns, origin);
            let hashes = |piece: &_| -> Vec<u64> {
                crate::table::key::build::Piece::keys(piece).map(|(parts, _)| self.key.hash(BY_KEY, parts)).collect()
            };
            sketch.extend(&pieces.par_iter().flat_map_iter(hashes).collect::<Vec<_>>());
        }
        let starts: Vec<_> = (0..batch.num_rows()).step_by(TASK_ROWS).collect();
        let hashes = |start: usize| {
            let part = batch.slice(start, TASK_ROWS.min(batch.num_rows() - start));
            whole_rows(&part, &self.columns, self.key)
        };
        let hashes: Vec<_> = starts.into_par_iter().flat_map_iter(hashes).collect();
        self.sketches.whole.extend(&hashes);
    }
}

/// Hashes of rows with all their columns. A column that has no text, such as one of lists, is left out.
fn whole_rows(part: &RecordBatch, columns: &[usize], key: &RowKey) -> Vec<u64> {
    let texts: Vec<_> = columns.iter().filter_map(|&column| TextColumn::new(part.column(column))).collect();
    let mut parts = Zeroizing::new(Vec::new());
    let mut hash = |row: usize| {
        parts.clear();
        texts.iter().for_each(|text| encode_part(text.get(row).unwrap_or_default(), &mut parts));
        key.hash(WHOLE, &parts)
    };
    (0..part.num_rows()).map(&mut hash).collect()
}

/// The keys by which a job matches or aligns the rows of a party: one, several of which one is enough, or none.
fn keys(job: &JobSpec, me: &str) -> Vec<KeySpec> {
    let alternatives = job.alternatives();
    let alignment = job.job.alignment(job);
    let jobs: Vec<_> = if alternatives.is_empty() {
        [job].into_iter().chain(&alignment).collect()
    } else {
        alternatives.iter().collect()
    };
    jobs.into_iter().filter(|job| job.key.is_some()).filter_map(|job| job.key_spec(me, true).ok()).collect()
}

impl From<RowSketches> for Encoded {
    fn from(sketches: RowSketches) -> Encoded {
        Encoded { keys: sketches.keys.iter().map(Sketch::encode).collect(), whole: sketches.whole.encode() }
    }
}

impl TryFrom<Encoded> for RowSketches {
    type Error = &'static str;

    fn try_from(encoded: Encoded) -> std::result::Result<RowSketches, &'static str> {
        let keys: Option<_> = encoded.keys.iter().map(|sketch| Sketch::decode(sketch)).collect();
        let sketches = keys.zip(Sketch::decode(&encoded.whole));
        sketches.map(|(keys, whole)| RowSketches { keys, whole }).ok_or("a sketch cannot be read")
    }
}

/// Says nothing about the rows.
impl std::fmt::Debug for RowSketches {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RowSketches(..)")
    }
}
