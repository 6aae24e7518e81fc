//! Arrow IPC, both forms. Messages are read and checked here, and decoded by the library, which takes memory for what
//! they claim.

mod message;
mod views;

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::reader::{FileDecoder, read_footer_length};
use arrow_ipc::{Block, MessageHeader, root_as_footer};
use arrow_schema::{DataType, Field, SchemaRef};
use tacita_core::{Error, Result};

use self::message::{Checked, Message};
use super::columnar::{Batches, Columnar, check_types, guarded};
use super::unreadable;
use crate::table::budget::{Budget, MAX_COLUMNS, too_large, too_many_columns};

/// Levels of a column's type at most.
const MAX_DEPTH: usize = 32;

/// The file form ends with the length of its footer (4 bytes) and the magic.
const TAIL_BYTES: usize = 10;

/// Whoever adds to a dictionary in little steps has it copied each time: as much as the memory that there is, so many
/// times.
const COPIES: u64 = 8;

/// Opens a file: the file form begins with `ARROW1`, everything else is taken for a stream.
pub(super) fn open(mut file: File, name: &str, batch_bytes: usize, budget: &Budget) -> Result<(SchemaRef, Columnar)> {
    let mut magic = [0; 6];
    let mut begins = |file: &mut File| -> std::io::Result<usize> {
        let n = file.take(6).read(&mut magic)?;
        file.seek(SeekFrom::Start(0))?;
        Ok(n)
    };
    let n = begins(&mut file).map_err(|error| unreadable(name, error))?;
    if n == 0 {
        return Err(Error::Input(format!("{name}: is empty; an Arrow file at least names its columns")));
    }
    if magic.starts_with(b"FEA1") {
        return Err(Error::Input(format!("{name}: Feather version 1 is not read; write it as Feather version 2")));
    }
    let bytes = file.metadata().map_err(|error| unreadable(name, error))?.len();
    let mut input = Input { name: name.to_owned(), file: BufReader::with_capacity(1 << 16, file), bytes };
    let memory = budget.bytes();
    guarded(name, || {
        let (schema, messages) = match &magic {
            b"ARROW1" => open_file(input, memory)?,
            _ => {
                let schema = input.next_message(memory)?.ok_or_else(|| input.failed("it is cut off"))?;
                let (schema, version) = schema.schema(name)?;
                let schema = checked_schema(name, schema)?;
                let decoder = FileDecoder::new(schema.clone(), version);
                let dictionaries = Dictionaries::default();
                (schema.clone(), Messages { input, decoder, schema, blocks: None, dictionaries })
            }
        };
        Ok((schema, Columnar::new(name, Box::new(messages), (bytes, None), batch_bytes)))
    })
}

/// Messages of a file.
struct Messages {
    input: Input,
    decoder: FileDecoder,
    schema: SchemaRef,
    /// Blocks with rows, in the file form; messages of a stream follow each other.
    blocks: Option<std::vec::IntoIter<Block>>,
    dictionaries: Dictionaries,
}

impl Batches for Messages {
    fn next(&mut self, name: &str, memory: u64) -> Result<Option<RecordBatch>> {
        loop {
            let memory = memory.saturating_sub(self.dictionaries.bytes);
            let message = match &mut self.blocks {
                Some(blocks) => match blocks.next() {
                    Some(block) => self.input.message_at(&block, memory)?,
                    None => return Ok(None),
                },
                None => match self.input.next_message(memory)? {
                    Some(message) => message,
                    None => return Ok(None),
                },
            };
            let checked = message.check(name, &self.schema, memory)?;
            if checked.kind == MessageHeader::DictionaryBatch && self.blocks.is_none() {
                self.add_dictionary(name, &message, &checked, memory)?;
                continue;
            }
            let batch = self.decoder.read_record_batch(&message.block, &message.bytes);
            if let Some(batch) = batch.map_err(|error| unreadable(name, error))? {
                return Ok(Some(batch));
            }
        }
    }
}

impl Messages {
    fn add_dictionary(&mut self, name: &str, message: &Message, checked: &Checked, memory: u64) -> Result<()> {
        self.dictionaries.add(name, checked, memory)?;
        self.decoder.read_dictionary(&message.block, &message.bytes).map_err(|error| unreadable(name, error))
    }
}

/// Memory that dictionaries have taken so far.
#[derive(Default)]
struct Dictionaries {
    bytes: u64,
    copied: u64,
}

impl Dictionaries {
    fn add(&mut self, name: &str, checked: &Checked, memory: u64) -> Result<()> {
        self.bytes = self.bytes.saturating_add(checked.bytes);
        if checked.is_delta {
            self.copied = self.copied.saturating_add(self.bytes);
        }
        if self.copied <= memory.saturating_mul(COPIES) {
            Ok(())
        } else {
            Err(unreadable(name, "it adds to its dictionaries too often: write it in larger batches"))
        }
    }
}

/// Reads the footer of the file form, and the dictionaries.
fn open_file(mut input: Input, memory: u64) -> Result<(SchemaRef, Messages)> {
    let mut tail = [0; TAIL_BYTES];
    let end = input.bytes.checked_sub(TAIL_BYTES as u64).ok_or_else(|| input.failed("it is cut off"))?;
    input.read_at(end, &mut tail)?;
    let length = read_footer_length(tail).map_err(|error| input.failed(error))? as u64;
    let start = end.checked_sub(length).ok_or_else(|| input.failed("its footer claims more bytes than it has"))?;
    let mut footer = vec![0; fitting(&input.name, length, memory)?];
    input.read_at(start, &mut footer)?;
    let footer = root_as_footer(&footer).map_err(|error| input.failed(error))?;
    let schema = footer.schema().ok_or_else(|| input.failed("its footer has no schema"))?;
    let schema = checked_schema(&input.name, schema)?;
    let decoder = FileDecoder::new(schema.clone(), footer.version());
    let blocks: Vec<Block> = footer.recordBatches().iter().flatten().copied().collect();
    let dictionaries = Dictionaries::default();
    let blocks = Some(blocks.into_iter());
    let mut messages = Messages { input, decoder, schema: schema.clone(), blocks, dictionaries };
    for block in footer.dictionaries().iter().flatten() {
        let left = memory.saturating_sub(messages.dictionaries.bytes);
        let message = messages.input.message_at(block, left)?;
        let name = messages.input.name.clone();
        let checked = message.check(&name, &schema, left)?;
        messages.add_dictionary(&name, &message, &checked, memory)?;
    }
    Ok((schema, messages))
}

/// The file that messages are read from.
struct Input {
    name: String,
    file: BufReader<File>,
    bytes: u64,
}

impl Input {
    fn failed(&self, what: impl std::fmt::Display) -> Error {
        unreadable(&self.name, what)
    }

    fn read_at(&mut self, at: u64, bytes: &mut [u8]) -> Result<()> {
        let read = self.file.seek(SeekFrom::Start(at)).and_then(|_| self.file.read_exact(bytes));
        read.map_err(|error| self.failed(error))
    }
}

/// A length that is to be taken at once.
fn fitting(name: &str, bytes: u64, memory: u64) -> Result<usize> {
    usize::try_from(bytes).ok().filter(|_| bytes <= memory).ok_or_else(|| too_large(name, memory))
}

/// The schema of a file, whose columns must not be too many, too deep, or of a kind in which little stands for much.
fn checked_schema(name: &str, schema: arrow_ipc::Schema<'_>) -> Result<SchemaRef> {
    if !schema.endianness().equals_to_target_endianness() {
        return Err(unreadable(name, "its numbers have the other byte order; write it on a little-endian machine"));
    }
    let schema = try_fb_to_schema(schema).map_err(|error| unreadable(name, error))?;
    let mut left: Vec<(&Field, &Field, usize)> =
        schema.fields().iter().map(|field| (field.as_ref(), field.as_ref(), 1)).collect();
    let mut seen = 0;
    while let Some((column, field, depth)) = left.pop() {
        seen += 1;
        if seen > MAX_COLUMNS {
            return Err(too_many_columns(name));
        }
        let bad = |what: &str| Error::Input(format!("{name}: column {:?} {what}", column.name()));
        if depth > MAX_DEPTH {
            return Err(bad(&format!("is more than {MAX_DEPTH} levels deep; write a flatter table")));
        }
        let mut data_type = field.data_type();
        while let DataType::Dictionary(_, values) = data_type {
            data_type = values;
        }
        match data_type {
            // Its rows may overlap, so that each has all values.
            DataType::ListView(_) | DataType::LargeListView(_) => {
                return Err(bad("is a list view, which is not read; write it as a list"));
            }
            DataType::List(inner)
            | DataType::LargeList(inner)
            | DataType::FixedSizeList(inner, _)
            | DataType::Map(inner, _)
            | DataType::RunEndEncoded(_, inner) => left.push((column, inner, depth + 1)),
            DataType::Struct(inner) => left.extend(inner.iter().map(|inner| (column, inner.as_ref(), depth + 1))),
            DataType::Union(inner, _) => {
                left.extend(inner.iter().map(|(_, inner)| (column, inner.as_ref(), depth + 1)));
            }
            _ => {}
        }
    }
    check_types(&schema);
    Ok(Arc::new(schema))
}
