//! One message: read within what there is of memory, and checked before it is decoded.

use std::io::{ErrorKind, Read};
use std::sync::Arc;

use arrow_buffer::{Buffer, MutableBuffer};
use arrow_ipc::{Block, MessageHeader, MetadataVersion, RecordBatch, root_as_message};
use arrow_schema::{DataType, Field, FieldRef, Schema};
use tacita_core::Result;

use super::views::Views;
use super::{Input, fitting};
use crate::table::budget::too_large;
use crate::table::{MAX_ROWS, too_many_rows};

/// Prefix of a message's length, in all but old files.
const CONTINUATION: [u8; 4] = [0xff; 4];

/// Bytes that are taken on a message's word alone.
const AHEAD: usize = 64 << 20;

/// A message: where its parts are, and all of its bytes.
pub(super) struct Message {
    pub block: Block,
    pub bytes: Buffer,
}

/// Properties of a message that has been checked.
pub(super) struct Checked {
    pub kind: MessageHeader,
    /// Whether it adds to a dictionary.
    pub is_delta: bool,
    /// Number of bytes that it takes in memory.
    pub bytes: u64,
}

impl Input {
    /// The message of the file form at a place that its footer names.
    pub fn message_at(&mut self, block: &Block, memory: u64) -> Result<Message> {
        let number = |number: i64| u64::try_from(number).ok();
        let (at, head, body) =
            (number(block.offset()), number(block.metaDataLength().into()), number(block.bodyLength()));
        let place = at.zip(head).zip(body).and_then(|((at, head), body)| {
            let length = head.checked_add(body)?;
            (head >= 8 && at.checked_add(length)? <= self.bytes).then_some((at, length))
        });
        let (at, length) = place.ok_or_else(|| self.failed("its footer names a block that is not in the file"))?;
        let mut bytes = zeros(self, fitting(&self.name, length, memory)?)?;
        self.read_at(at, &mut bytes)?;
        Ok(Message { block: *block, bytes: bytes.into() })
    }

    /// The next message of a stream; none at the end.
    pub fn next_message(&mut self, memory: u64) -> Result<Option<Message>> {
        let mut word = [0; 4];
        let mut head = Vec::new();
        match self.file.read_exact(&mut word) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
            read => read.map_err(|error| self.failed(error))?,
        }
        head.extend(word);
        if word == CONTINUATION {
            self.file.read_exact(&mut word).map_err(|error| self.failed(error))?;
            head.extend(word);
        }
        let length = i32::from_le_bytes(word);
        if length == 0 {
            return Ok(None);
        }
        let length = u64::try_from(length).map_err(|_| self.failed(format_args!("a message claims {length} bytes")))?;
        fitting(&self.name, length, memory)?;
        let start = head.len();
        let read = (&mut self.file).take(length).read_to_end(&mut head).map_err(|error| self.failed(error))?;
        if read as u64 != length {
            return Err(self.failed("it is cut off in the middle of a message"));
        }
        let body = root_as_message(&head[start..]).map_err(|error| self.failed(error))?.bodyLength();
        let body_bytes = u64::try_from(body).map_err(|_| self.failed(format_args!("a message claims {body} bytes")))?;
        let all = fitting(&self.name, body_bytes.saturating_add(head.len() as u64), memory)?;
        // Whoever claims much must send it, too.
        let mut bytes = zeros(self, all.min(AHEAD.max(head.len())))?;
        bytes[..head.len()].copy_from_slice(&head);
        let mut filled = head.len();
        loop {
            self.file.read_exact(&mut bytes[filled..]).map_err(|error| self.failed(error))?;
            filled = bytes.len();
            if filled == all {
                break;
            }
            let next = all.min(filled.saturating_mul(2));
            bytes.try_resize(next, 0).map_err(|_| too_large(&self.name, memory))?;
        }
        let block = Block::new(0, head.len() as i32, body);
        Ok(Some(Message { block, bytes: bytes.into() }))
    }
}

fn zeros(input: &Input, bytes: usize) -> Result<MutableBuffer> {
    MutableBuffer::try_from_len_zeroed(bytes).map_err(|_| too_large(&input.name, bytes as u64))
}

impl Message {
    /// The message itself, as the decoder reads it.
    fn read(&self) -> std::result::Result<arrow_ipc::Message<'_>, String> {
        let start = if self.bytes.starts_with(&CONTINUATION) { 8 } else { 4 };
        let bytes = self.bytes.get(start..).ok_or("a message is cut off")?;
        root_as_message(bytes).map_err(|error| error.to_string())
    }

    /// The schema that a stream begins with, and the version of its messages.
    pub fn schema(&self, name: &str) -> Result<(arrow_ipc::Schema<'_>, MetadataVersion)> {
        let message = self.read().map_err(|what| super::unreadable(name, what))?;
        let schema = message.header_as_schema();
        let schema = schema.ok_or_else(|| super::unreadable(name, "it is no Arrow file: it begins with no schema"))?;
        Ok((schema, message.version()))
    }

    /// Checks what the message claims: rows, values and bytes, packed and unpacked.
    pub fn check(&self, name: &str, schema: &Schema, memory: u64) -> Result<Checked> {
        let bad = |what: String| super::unreadable(name, what);
        let message = self.read().map_err(bad)?;
        let dictionary = message.header_as_dictionary_batch();
        let is_delta = dictionary.is_some_and(|dictionary| dictionary.isDelta());
        let batch = match message.header_type() {
            MessageHeader::RecordBatch => message.header_as_record_batch(),
            MessageHeader::DictionaryBatch => dictionary.and_then(|dictionary| dictionary.data()),
            kind => return Ok(Checked { kind, is_delta: false, bytes: 0 }),
        };
        let batch = batch.ok_or_else(|| bad("a message has no values".into()))?;
        let body = usize::try_from(self.block.metaDataLength()).ok().and_then(|head| self.bytes.get(head..));
        let body = body.ok_or_else(|| bad("a message is cut off".into()))?;
        if !(0..=MAX_ROWS as i64).contains(&batch.length()) {
            return Err(too_many_rows(name));
        }
        let unpacked = weigh(&batch, body).map_err(bad)?;
        let bytes = unpacked.saturating_add(body.len() as u64);
        if bytes > memory {
            return Err(too_large(name, memory));
        }
        let fields = match dictionary {
            Some(dictionary) => fields_of_dictionary(schema, dictionary.id()),
            None => schema.fields().iter().cloned().collect(),
        };
        let viewed = Views::new(&batch, body, message.version()).weigh(&fields);
        if viewed.ok_or_else(|| bad("a column of views is corrupt".into()))? > memory {
            return Err(too_large(name, memory));
        }
        Ok(Checked { kind: message.header_type(), is_delta, bytes })
    }
}

/// The columns whose values a dictionary holds; the decoder goes by the first.
fn fields_of_dictionary(schema: &Schema, id: i64) -> Vec<FieldRef> {
    #[expect(deprecated, reason = "this is where the decoder has it from")]
    let fields = schema.fields_with_dict_id(id);
    let values = fields.first().and_then(|field| match field.data_type() {
        DataType::Dictionary(_, values) => Some(Arc::new(Field::new("", values.as_ref().clone(), true))),
        _ => None,
    });
    values.into_iter().collect()
}

/// Estimates the memory of a batch's columns besides the message itself. Values that take nothing, such as absent
/// ones, count as a bit.
fn weigh(batch: &RecordBatch<'_>, body: &[u8]) -> std::result::Result<u64, String> {
    let mut values = 0u64;
    for node in batch.nodes().iter().flatten() {
        let length = u64::try_from(node.length()).ok().filter(|_| node.null_count() >= 0);
        values = values.saturating_add(length.ok_or("a column has fewer than no values")?);
    }
    let mut bytes = values / 8;
    for buffer in batch.buffers().iter().flatten() {
        let place = usize::try_from(buffer.offset()).ok().zip(usize::try_from(buffer.length()).ok());
        let content = place.and_then(|(at, length)| body.get(at..)?.get(..length));
        let content = content.ok_or("the values of a column are not in their message")?;
        if batch.compression().is_none() || content.is_empty() {
            continue;
        }
        // Each packed buffer begins with its unpacked length; -1 says that it is not packed after all.
        let prefix = content.first_chunk::<8>().ok_or("a packed column is cut off")?;
        match u64::try_from(i64::from_le_bytes(*prefix)) {
            Ok(length) => bytes = bytes.saturating_add(length),
            Err(_) if prefix == &[0xff; 8] => {}
            Err(_) => return Err("a packed column has fewer than no bytes".into()),
        }
    }
    Ok(bytes)
}
