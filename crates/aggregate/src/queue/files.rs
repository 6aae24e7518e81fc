//! The queue's files: what they are called, and how what is in them is written and read.
//!
//! | name | contents | counts while |
//! |---|---|---|
//! | `state` | how far the queue has come, marks of batches that have left | always |
//! | `in-NAME` | a participant's batch | its mark is not in `state` |
//! | `left-GENERATION` | what a random batch has left behind | the state is of its generation |
//! | `out-GENERATION-ID` | a batch that leaves | the state is of its generation, or of a later one |
//! | `bucket-N`, `*.part` | work | never after a start |

use tacita_core::{Error, Result};
use tacita_node::base::folder::Folder;
use tacita_node::base::hex::{hex, unhex};
use tacita_node::store::seal::{SealKey, SealedReader, SealedWriter, part};

use super::{QueueBatchId, Submission};

pub(super) const STATE: &str = "state";
pub(super) const IN: &str = "in-";
pub(super) const LEFT: &str = "left-";
pub(super) const OUT: &str = "out-";
pub(super) const BUCKET: &str = "bucket-";
pub(super) const PART: &str = ".part";

/// Approximate length of a sealed record of several reports, in bytes.
pub(super) const CHUNK_BYTES: usize = 1 << 14;

/// Minimum size of a file on disk in bytes; larger files take a multiple of it.
const BLOCK_BYTES: u64 = 4096;

/// Mark of a batch, by which a participant may repeat it: the same batch once more.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) digest: [u8; 32],
    pub(super) records: u64,
}

/// A participant's batch: the participant's number, and the batch's name.
pub type MarkKey = (u32, QueueBatchId);

/// Records in a row: whose they are, and how many.
pub(super) type Run = (u32, u64);

pub(super) const MARK_BYTES: usize = 4 + 16 + 32 + 8;
const SEGMENT_BYTES: usize = 4 + 8;

pub(super) fn encode_mark((participant, batch): &MarkKey, mark: &Mark) -> Vec<u8> {
    [&participant.to_le_bytes()[..], batch, &mark.digest, &mark.records.to_le_bytes()].concat()
}

pub(super) fn decode_mark(bytes: &[u8]) -> Option<(MarkKey, Mark)> {
    let (participant, rest) = bytes.split_first_chunk()?;
    let (batch, rest) = rest.split_first_chunk()?;
    let (digest, rest) = rest.split_first_chunk()?;
    let records = u64::from_le_bytes(rest.try_into().ok()?);
    Some(((u32::from_le_bytes(*participant), *batch), Mark { digest: *digest, records }))
}

/// Name of a participant's batch in files. A reader without the batch's random name does not find the participant in
/// it.
pub type BatchName = [u8; 16];

pub(super) fn batch_name((participant, batch): &MarkKey) -> BatchName {
    let hash = blake3::hash(&[&participant.to_le_bytes()[..], batch].concat());
    let mut name = BatchName::default();
    name.copy_from_slice(&hash.as_bytes()[..16]);
    name
}

pub(super) fn incoming(key: &MarkKey) -> String {
    format!("{IN}{}", hex(&batch_name(key)))
}

pub(super) fn left(generation: u64) -> String {
    format!("{LEFT}{generation:016x}")
}

pub(super) fn outgoing(generation: u64, id: &QueueBatchId) -> String {
    format!("{OUT}{generation:016x}-{}", hex(id))
}

/// Generation and name of a batch that leaves.
pub(super) fn read_outgoing(name: &str) -> Option<(u64, QueueBatchId)> {
    let (generation, id) = name.strip_prefix(OUT)?.split_once('-')?;
    let found = (u64::from_str_radix(generation, 16).ok()?, unhex(id)?.try_into().ok()?);
    (outgoing(found.0, &found.1) == name).then_some(found)
}

/// Returns the disk space that a file of this length takes.
pub(super) fn on_disk(length: u64) -> u64 {
    length.div_ceil(BLOCK_BYTES).saturating_add(1).saturating_mul(BLOCK_BYTES)
}

/// Returns the maximum disk space that a participant's batch will take.
pub(super) fn incoming_bytes(records: u64) -> u64 {
    // A chunk is at least half as long as it may be, and has a length and a tag.
    let chunks = records / (CHUNK_BYTES as u64 / 2) + 4;
    on_disk(records.saturating_add(chunks * 20 + (MARK_BYTES + SEGMENT_BYTES) as u64))
}

/// Advice if the disk is full.
fn advice(folder: &Folder) -> String {
    format!("make room for {}: nothing was taken, and nothing is lost", folder.path().display())
}

pub(super) fn create(folder: &Folder, name: &str, key: &SealKey) -> Result<SealedWriter> {
    SealedWriter::create(folder, name, key, purpose(name), advice(folder))
}

/// Writes a file that is whole, but goes by another name until it is named by [`name_whole`].
pub(super) fn write_part(
    folder: &Folder,
    name: &str,
    key: &SealKey,
    fill: impl FnOnce(&mut SealedWriter) -> Result<()>,
) -> Result<u64> {
    let mut writer = SealedWriter::create(folder, &part(name), key, purpose(name), advice(folder))?;
    fill(&mut writer)?;
    Ok(writer.finish()?.1)
}

/// Gives it its name, durably; all other files made before are in the directory durably, too.
pub(super) fn name_whole(folder: &Folder, name: &str) -> Result<()> {
    folder.rename(&part(name), name).map_err(|error| cannot_write(folder, name, &error))
}

pub(super) fn open(folder: &Folder, name: &str, key: &SealKey) -> Result<SealedReader> {
    SealedReader::open(folder, name, key, purpose(name)).map_err(|error| unreadable(folder, name, &error))
}

pub(super) fn next(reader: &mut SealedReader, folder: &Folder, name: &str) -> Result<Vec<u8>> {
    let record = reader.read_next().map_err(|error| unreadable(folder, name, &error))?;
    record.map(|record| record.to_vec()).ok_or_else(|| damaged(folder, name))
}

/// Sees to it that nothing follows: a file that was cut off, or has grown, is not whole.
pub(super) fn end(reader: &mut SealedReader, folder: &Folder, name: &str) -> Result<()> {
    match reader.read_next().map_err(|error| unreadable(folder, name, &error))? {
        None => Ok(()),
        Some(_) => Err(damaged(folder, name)),
    }
}

/// A file of one kind does not pass for one of another.
fn purpose(name: &str) -> &'static str {
    [(IN, "queue in"), (LEFT, "queue left"), (OUT, "queue out"), (BUCKET, "queue bucket")]
        .into_iter()
        .find_map(|(prefix, purpose)| name.starts_with(prefix).then_some(purpose))
        .unwrap_or("queue state")
}

/// Writes a participant's batch.
pub(super) fn write_incoming(
    writer: &mut SealedWriter,
    submission: &Submission<'_>,
    record_bytes: usize,
) -> Result<()> {
    let records = (submission.records.len() / record_bytes) as u64;
    let mark = Mark { digest: submission.digest, records };
    writer.write(encode_mark(&(submission.participant, submission.batch), &mark))?;
    // Files hold no segment without a record.
    if records > 0 {
        begin_segment(writer, submission.participant, records)?;
    }
    for chunk in submission.records.chunks(chunk(record_bytes)) {
        writer.write(chunk.to_vec())?;
    }
    Ok(())
}

/// Bytes of as many reports as are sealed together.
pub(super) fn chunk(record_bytes: usize) -> usize {
    (CHUNK_BYTES / record_bytes).max(1) * record_bytes
}

/// Begins a participant's reports within a file.
pub(super) fn begin_segment(writer: &mut SealedWriter, participant: u32, records: u64) -> Result<()> {
    writer.write([&participant.to_le_bytes()[..], &records.to_le_bytes()].concat()).map(drop)
}

/// Reads the owners of the records in a file without a mark, in their order; all of the file is read.
pub(super) fn read_runs(folder: &Folder, key: &SealKey, name: &str, record_bytes: u64) -> Result<Vec<Run>> {
    let damaged = || damaged(folder, name);
    let mut reader = open(folder, name, key)?;
    let mut runs = Vec::new();
    while let Some(segment) = reader.read_next().map_err(|error| unreadable(folder, name, &error))? {
        let (participant, records) = read_segment(&segment).ok_or_else(damaged)?;
        let chunk = next(&mut reader, folder, name)?;
        if records.checked_mul(record_bytes) != Some(chunk.len() as u64) {
            return Err(damaged());
        }
        extend_runs(&mut runs, participant, records);
    }
    Ok(runs)
}

/// Adds records behind others.
pub(super) fn extend_runs(runs: &mut Vec<Run>, participant: u32, records: u64) {
    match runs.last_mut() {
        Some((last, count)) if *last == participant => *count += records,
        _ => runs.push((participant, records)),
    }
}

/// Parses the output of [`begin_segment`].
pub(super) fn read_segment(bytes: &[u8]) -> Option<(u32, u64)> {
    let (participant, records) = bytes.split_first_chunk()?;
    Some((u32::from_le_bytes(*participant), u64::from_le_bytes(records.try_into().ok()?)))
}

pub(super) fn damaged(folder: &Folder, name: &str) -> Error {
    Error::Input(format!(
        "{}: damaged, or of another key: put the directory back as it was, or discard the round",
        folder.at(name).display()
    ))
}

fn unreadable(folder: &Folder, name: &str, error: &Error) -> Error {
    if error.to_string().contains("cannot be read") { error.clone() } else { damaged(folder, name) }
}

pub(super) fn cannot_read(folder: &Folder, name: &str, error: &std::io::Error) -> Error {
    Error::Input(format!("{}: cannot be read: {error}", folder.at(name).display()))
}

pub(super) fn cannot_write(folder: &Folder, name: &str, error: &std::io::Error) -> Error {
    tacita_node::store::seal::cannot_write(&folder.at(name), error, &advice(folder))
}
