//! The pages of a column, as the decoder gets them: each is weighed before it is unpacked, and again before its values
//! are taken out. The decoder's own reader of pages believes what a page's head says.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parquet::basic::{Compression, Encoding, Type};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::schema::types::ColumnDescriptor;

use super::head::{Head, Kind};
use super::lengths::{Lengths, claimed_deltas, made_plain, plain_lengths};
use crate::base::text;
use crate::table::read::codec::unpack;

/// Heads are looked for in so many bytes, then in more: they hold the least and the greatest value of the page.
const HEAD_BYTES: [u64; 4] = [1 << 9, 1 << 13, 1 << 18, 1 << 24];

/// Memory that a batch may still take. The pages of all columns share it.
#[derive(Default)]
pub(super) struct Allowance(AtomicU64);

impl Allowance {
    /// Begins a batch with an allowance of `bytes`.
    pub fn set(&self, bytes: u64) {
        self.0.store(bytes, Ordering::Relaxed);
    }

    fn left(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Takes memory, or says that there is not as much.
    fn take(&self, bytes: u64) -> bool {
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes)).is_ok()
    }
}

/// Properties of a column.
pub(super) struct Column {
    name: String,
    kind: Type,
    /// Bytes of a value, of those that all have the same.
    width: Option<usize>,
    repetition: i16,
    definition: i16,
}

impl Column {
    pub fn new(column: &ColumnDescriptor) -> Column {
        Column {
            name: column.path().string(),
            kind: column.physical_type(),
            width: match column.physical_type() {
                Type::BOOLEAN => Some(1),
                Type::INT32 | Type::FLOAT => Some(4),
                Type::INT64 | Type::DOUBLE => Some(8),
                Type::INT96 => Some(12),
                Type::FIXED_LEN_BYTE_ARRAY => Some(column.type_length().max(0) as usize),
                Type::BYTE_ARRAY => None,
            },
            repetition: column.max_rep_level(),
            definition: column.max_def_level(),
        }
    }

    /// Bytes of a value in memory, without those of a text.
    pub fn width(&self) -> usize {
        self.width.unwrap_or(8)
    }

    fn fault(&self, what: impl std::fmt::Display) -> ParquetError {
        ParquetError::General(format!("column {:?}: {what}", self.name))
    }

    fn corrupt(&self) -> ParquetError {
        self.fault("a page is corrupt; write the file again")
    }
}

/// The pages of one column in one row group.
pub(super) struct Pages {
    file: Arc<File>,
    column: Arc<Column>,
    codec: Compression,
    allowance: Arc<Allowance>,
    /// Rows of a batch at most.
    batch_rows: usize,
    /// The bytes that are left, from there to there.
    at: u64,
    end: u64,
    /// The head of the next page, if it has been looked at; then its content is next.
    next: Option<Head>,
    /// Lengths of the dictionary's values.
    dictionary: Option<Lengths>,
}

impl Pages {
    pub fn new(
        file: &Arc<File>,
        column: &Arc<Column>,
        chunk: &ColumnChunkMetaData,
        allowance: &Arc<Allowance>,
        batch_rows: usize,
    ) -> Pages {
        let (at, length) = chunk.byte_range();
        Pages {
            file: file.clone(),
            column: column.clone(),
            codec: chunk.compression(),
            allowance: allowance.clone(),
            batch_rows,
            at,
            end: at.saturating_add(length),
            next: None,
            dictionary: None,
        }
    }

    /// The head of the next page that holds values.
    fn head(&mut self) -> Result<Option<&Head>> {
        while self.next.is_none() && self.at < self.end {
            let head = self.read_head()?;
            self.at += head.bytes as u64;
            if head.packed as u64 > self.end - self.at {
                return Err(self.column.fault("a page is longer than its column; write the file again"));
            }
            match head.kind {
                Kind::Other => self.at += head.packed as u64,
                _ => self.next = Some(head),
            }
        }
        Ok(self.next.as_ref())
    }

    fn read_head(&self) -> Result<Head> {
        for most in HEAD_BYTES {
            let mut bytes = vec![0; most.min(self.end - self.at) as usize];
            self.file.read_exact_at(&mut bytes, self.at)?;
            if let Some(head) = Head::read(&bytes) {
                return Ok(head);
            }
            if bytes.len() as u64 == self.end - self.at {
                break;
            }
        }
        Err(self.column.fault("the head of a page is corrupt; write the file again"))
    }

    /// The content of the page whose head was read, unpacked.
    fn content(&mut self, head: &Head) -> Result<Vec<u8>> {
        let claimed = head.packed.saturating_add(head.unpacked) as u64;
        if claimed > self.allowance.left() {
            return Err(self.too_large(claimed));
        }
        let mut packed = vec![0; head.packed];
        self.file.read_exact_at(&mut packed, self.at)?;
        self.at += head.packed as u64;
        if self.codec == Compression::UNCOMPRESSED {
            return Ok(packed);
        }
        let (levels, is_packed) = match head.kind {
            Kind::DataV2 { repetition_bytes, definition_bytes, is_packed, .. } => {
                (repetition_bytes.saturating_add(definition_bytes), is_packed)
            }
            _ => (0, true),
        };
        if !is_packed {
            return Ok(packed);
        }
        let values = head.unpacked.checked_sub(levels).ok_or_else(|| self.column.corrupt())?;
        let (levels, packed) = packed.split_at_checked(levels).ok_or_else(|| self.column.corrupt())?;
        let unpacked = unpack(self.codec, packed, values).map_err(|what| self.column.fault(what))?;
        Ok(if levels.is_empty() { unpacked } else { [levels, &unpacked].concat() })
    }

    fn too_large(&self, bytes: u64) -> ParquetError {
        self.column.fault(format_args!(
            "its values take {} at once, more memory than the {} that the table may still take",
            text::bytes(bytes),
            text::bytes(self.allowance.left())
        ))
    }

    /// Makes the page: checks that its values fit, and that the decoder needs to believe nothing that it says.
    fn page(&mut self, head: Head, mut content: Vec<u8>) -> Result<Page> {
        let count = head.values as usize;
        match head.kind {
            Kind::Dictionary { is_sorted } => {
                let fits = match self.column.width {
                    None => {
                        let lengths = plain_lengths(&content, count).ok_or_else(|| self.column.corrupt())?;
                        self.dictionary = Some(lengths);
                        true
                    }
                    Some(width) => count.saturating_mul(width.max(1)) <= content.len(),
                };
                if !fits {
                    return Err(self.column.corrupt());
                }
                self.charge(content.len() as u64)?;
                let buf = content.into();
                Ok(Page::DictionaryPage { buf, num_values: head.values, encoding: head.encoding, is_sorted })
            }
            Kind::Data { repetition, definition } => {
                let levels =
                    self.levels(&content, count, repetition, definition).ok_or_else(|| self.column.corrupt())?;
                let encoding = self.weigh(&head, &mut content, levels)?;
                Ok(Page::DataPage {
                    buf: content.into(),
                    num_values: head.values,
                    encoding,
                    def_level_encoding: definition,
                    rep_level_encoding: repetition,
                    statistics: None,
                })
            }
            Kind::DataV2 { nulls, rows, repetition_bytes, definition_bytes, is_packed } => {
                let levels = repetition_bytes.checked_add(definition_bytes).filter(|levels| *levels <= content.len());
                let levels = levels.ok_or_else(|| self.column.corrupt())?;
                let encoding = self.weigh(&head, &mut content, levels)?;
                Ok(Page::DataPageV2 {
                    buf: content.into(),
                    num_values: head.values,
                    encoding,
                    num_nulls: nulls,
                    num_rows: rows,
                    def_levels_byte_len: definition_bytes as u32,
                    rep_levels_byte_len: repetition_bytes as u32,
                    is_compressed: is_packed,
                    statistics: None,
                })
            }
            Kind::Other => Err(self.column.corrupt()),
        }
    }

    /// Returns the number of bytes that the levels before the values take.
    fn levels(&self, content: &[u8], count: usize, repetition: Encoding, definition: Encoding) -> Option<usize> {
        let mut at = 0;
        for (most, encoding) in [(self.column.repetition, repetition), (self.column.definition, definition)] {
            if most == 0 {
                continue;
            }
            let rest = content.get(at..)?;
            at += match encoding {
                Encoding::RLE => {
                    let (length, rest) = rest.split_first_chunk::<4>()?;
                    4 + usize::try_from(i32::from_le_bytes(*length)).ok().filter(|length| *length <= rest.len())?
                }
                // The first version's own encoding of levels.
                _ => {
                    let bits = (u16::BITS - (most as u16).leading_zeros()) as usize;
                    let length = count.checked_mul(bits)?.div_ceil(8);
                    (length <= rest.len()).then_some(length)?
                }
            };
        }
        Some(at)
    }

    /// Takes the memory that a page's values need in a batch. Returns their encoding, which may become another one.
    fn weigh(&mut self, head: &Head, content: &mut Vec<u8>, levels: usize) -> Result<Encoding> {
        let count = head.values as usize;
        let column = self.column.clone();
        // The values of a row that holds lists come all at once; of others, no more than a batch has rows.
        let (window, each) = match column.repetition {
            0 => (self.batch_rows, 0),
            _ => (count, 4),
        };
        let fixed = (count.min(window) as u64).saturating_mul((column.width() + each) as u64);
        let mut bytes = fixed.saturating_add(content.len() as u64);
        let mut encoding = head.encoding;
        match head.encoding {
            Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY => {
                if let Some(lengths) = &self.dictionary {
                    let most = lengths.most().saturating_mul(count.min(window) as u64);
                    let room = self.allowance.left().saturating_sub(bytes);
                    let dense = if most > room { lengths.densest(&content[levels..], count, window) } else { most };
                    bytes = bytes.saturating_add(dense);
                }
            }
            Encoding::DELTA_BYTE_ARRAY => {
                let limit = self.allowance.left().saturating_sub(bytes);
                // Both lengths of each value.
                let listed = (count as u64).saturating_mul(8);
                if listed > limit {
                    return Err(self.too_large(listed));
                }
                let width = column.width.filter(|_| column.kind == Type::FIXED_LEN_BYTE_ARRAY);
                let start = content[..levels].to_vec();
                let plain = made_plain(&content[levels..], count, width, limit - listed, start);
                *content = plain.ok_or_else(|| column.corrupt())?.ok_or_else(|| self.too_large(limit))?;
                bytes = bytes.saturating_add(content.len() as u64);
                encoding = Encoding::PLAIN;
            }
            Encoding::DELTA_LENGTH_BYTE_ARRAY => {
                let claimed = claimed_deltas(&content[levels..]).unwrap_or(0);
                if claimed > count as u64 {
                    return Err(column.corrupt());
                }
                bytes = bytes.saturating_add(claimed * 4);
            }
            _ => {}
        }
        self.charge(bytes)?;
        Ok(encoding)
    }

    fn charge(&self, bytes: u64) -> Result<()> {
        if self.allowance.take(bytes) { Ok(()) } else { Err(self.too_large(bytes)) }
    }
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        self.head()?;
        let Some(head) = self.next.take() else { return Ok(None) };
        let content = self.content(&head)?;
        self.page(head, content).map(Some)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        let head = self.head()?;
        Ok(head.map(|head| match head.kind {
            Kind::DataV2 { rows, .. } => {
                PageMetadata { num_rows: Some(rows as usize), num_levels: Some(head.values as usize), is_dict: false }
            }
            Kind::Dictionary { .. } => PageMetadata { num_rows: None, num_levels: None, is_dict: true },
            _ => PageMetadata { num_rows: None, num_levels: Some(head.values as usize), is_dict: false },
        }))
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.head()?;
        if let Some(head) = self.next.take() {
            self.at += head.packed as u64;
        }
        Ok(())
    }
}

impl Iterator for Pages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Result<Page>> {
        self.get_next_page().transpose()
    }
}
