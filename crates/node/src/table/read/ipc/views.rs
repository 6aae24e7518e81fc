//! Columns of views: each row says where its text is, and many may show the same. The library looks at the text of
//! every row, so what they show is added up first.

use arrow_ipc::{CompressionType, MetadataVersion, RecordBatch};
use arrow_schema::{DataType, FieldRef, UnionMode};

use crate::table::read::codec::{lz4_frame, zstd};

/// Bytes of a view: the length of its text in the first four.
const VIEW_BYTES: usize = 16;

/// The buffers of a batch, in the order of its columns and their parts.
pub(super) struct Views<'a> {
    batch: &'a RecordBatch<'a>,
    body: &'a [u8],
    version: MetadataVersion,
    buffer: usize,
    column: usize,
    total: u64,
}

impl<'a> Views<'a> {
    pub fn new(batch: &'a RecordBatch<'a>, body: &'a [u8], version: MetadataVersion) -> Views<'a> {
        Views { batch, body, version, buffer: 0, column: 0, total: 0 }
    }

    /// Bytes that the views of these columns show; `None` if their buffers are not what they should be.
    pub fn weigh(mut self, fields: &[FieldRef]) -> Option<u64> {
        fields.iter().try_for_each(|field| self.walk(field.data_type()))?;
        Some(self.total)
    }

    /// Passes over the buffers of a column, as the format has them:
    /// <https://arrow.apache.org/docs/format/Columnar.html#buffer-listing-for-each-layout>.
    fn walk(&mut self, data_type: &DataType) -> Option<()> {
        match data_type {
            DataType::Utf8View | DataType::BinaryView => {
                let count = self.batch.variadicBufferCounts()?;
                let count = (self.column < count.len()).then(|| count.get(self.column))?;
                self.column += 1;
                self.total = self.total.saturating_add(self.shown(self.buffer + 1)?);
                self.skip(usize::try_from(count).ok()?.checked_add(2)?)
            }
            DataType::Utf8 | DataType::Binary | DataType::LargeUtf8 | DataType::LargeBinary => self.skip(3),
            DataType::List(inner) | DataType::LargeList(inner) | DataType::Map(inner, _) => {
                self.skip(2)?;
                self.walk(inner.data_type())
            }
            DataType::FixedSizeList(inner, _) => {
                self.skip(1)?;
                self.walk(inner.data_type())
            }
            DataType::Struct(inner) => {
                self.skip(1)?;
                inner.iter().try_for_each(|inner| self.walk(inner.data_type()))
            }
            DataType::RunEndEncoded(ends, values) => {
                self.walk(ends.data_type())?;
                self.walk(values.data_type())
            }
            DataType::Union(inner, mode) => {
                let nulls = usize::from(self.version < MetadataVersion::V5);
                self.skip(nulls + 1 + usize::from(*mode == UnionMode::Dense))?;
                inner.iter().try_for_each(|(_, inner)| self.walk(inner.data_type()))
            }
            DataType::Null => Some(()),
            _ => self.skip(2),
        }
    }

    fn skip(&mut self, buffers: usize) -> Option<()> {
        self.buffer = self.buffer.checked_add(buffers)?;
        (self.buffer <= self.batch.buffers()?.len()).then_some(())
    }

    /// Adds up the lengths in a buffer of views.
    fn shown(&self, buffer: usize) -> Option<u64> {
        let buffers = self.batch.buffers()?;
        let buffer = (buffer < buffers.len()).then(|| buffers.get(buffer))?;
        let (at, length) = (usize::try_from(buffer.offset()).ok()?, usize::try_from(buffer.length()).ok()?);
        let content = self.body.get(at..)?.get(..length)?;
        let sum = |views: &[u8]| {
            let length = |view: &[u8]| u64::from(u32::from_le_bytes([view[0], view[1], view[2], view[3]]));
            views.chunks_exact(VIEW_BYTES).map(length).fold(0, u64::saturating_add)
        };
        let Some(compression) = self.batch.compression().filter(|_| !content.is_empty()) else {
            return Some(sum(content));
        };
        let (prefix, packed) = content.split_first_chunk::<8>()?;
        match (i64::from_le_bytes(*prefix), compression.codec()) {
            (-1, _) => Some(sum(packed)),
            (0, _) => Some(0),
            (length, CompressionType::LZ4_FRAME) => lz4_frame(packed, length.try_into().ok()?).map(|views| sum(&views)),
            (length, CompressionType::ZSTD) => zstd(packed, length.try_into().ok()?).map(|views| sum(&views)),
            _ => None,
        }
    }
}
