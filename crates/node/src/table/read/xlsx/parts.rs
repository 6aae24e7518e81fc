//! The parts of a workbook, which are weighed before any of them is read: a few bytes may claim to be a whole sheet.

use std::io::{Read, Seek};

use memchr::memmem;
use tacita_core::{Error, Result};
use zip::ZipArchive;

use super::super::unreadable;
use crate::table::budget::too_large;

/// Maximum size of all parts together once unpacked, in bytes.
const MAX_BYTES: u64 = 4 << 30;

/// Between two tags, and in one: far more than a cell holds.
const MAX_RUN: u64 = 1 << 20;

/// Bytes that the reader keeps for an element of the shared texts, beside its bytes.
const ELEMENT_BYTES: u64 = 24;

/// Attribute that holds the number of shared texts. If it is present, it is in the first tag.
const COUNT: &[u8] = b" uniqueCount=\"";

/// Facts about the parts.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Parts {
    /// Memory that the texts, styles and names of the workbook take at most.
    pub memory: u64,
    /// Cells are merged in some sheet.
    pub merged: bool,
    /// There are formulas in some sheet.
    pub formulas: bool,
}

impl Parts {
    /// Unpacks each part once, and keeps nothing of it.
    ///
    /// Errors: the file is no archive, or corrupt; it takes more than so much memory, or is larger than any sheet.
    pub fn weigh(file: impl Read + Seek, name: &str, memory: u64) -> Result<Parts> {
        let mut archive = ZipArchive::new(file).map_err(|error| unreadable(name, error))?;
        let (mut parts, mut left) = (Parts::default(), MAX_BYTES);
        for index in 0..archive.len() {
            let packed = archive.by_index(index).map_err(|error| unreadable(name, error))?;
            let mut part = Part::new(&String::from_utf8_lossy(packed.name_raw()).to_lowercase());
            part.look(&mut packed.take(left + 1), name)?;
            left = left.checked_sub(part.bytes).ok_or_else(|| {
                Error::Input(format!(
                    "{name}: unpacks to more than {} GiB, and is no sheet: save it as CSV",
                    MAX_BYTES >> 30
                ))
            })?;
            if part.is_kept {
                parts.memory = parts.memory.saturating_add(part.bytes + ELEMENT_BYTES * part.tags);
            }
            if parts.memory > memory || part.claimed > part.bytes {
                return Err(too_large(name, memory));
            }
            parts.merged |= part.merged;
            parts.formulas |= part.formulas;
        }
        Ok(parts)
    }
}

/// A part as it goes by.
struct Part {
    is_xml: bool,
    /// Kept whole by the reader, as all but sheets are, of which a cell at a time is in memory.
    is_kept: bool,
    has_count: bool,
    bytes: u64,
    tags: u64,
    /// Number of shared texts that the part claims to hold, each of which takes a byte at least.
    claimed: u64,
    merged: bool,
    formulas: bool,
}

impl Part {
    fn new(name: &str) -> Part {
        let is_xml = name.ends_with(".xml") || name.ends_with(".rels");
        Part {
            is_xml,
            is_kept: is_xml && !name.contains("worksheets/"),
            has_count: name.ends_with("sharedstrings.xml"),
            bytes: 0,
            tags: 0,
            claimed: 0,
            merged: false,
            formulas: false,
        }
    }

    fn look(&mut self, input: &mut impl Read, name: &str) -> Result<()> {
        // In front of each piece stands the end of the one before, for words across both.
        const KEPT: usize = 64;
        let mut piece = vec![0; KEPT + (1 << 16)];
        let (mut run, mut kept) = (0, 0);
        loop {
            let n = match input.read(&mut piece[kept..]) {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                n => n.map_err(|error| unreadable(name, error))?,
            };
            if n == 0 {
                return Ok(());
            }
            self.bytes += n as u64;
            let end = kept + n;
            if self.is_xml {
                let fresh = &piece[kept..end];
                let mut at = 0;
                for tag in memchr::memchr_iter(b'<', fresh) {
                    (run, at) = (0, tag);
                    self.tags += 1;
                }
                run += (fresh.len() - at) as u64;
                if run > MAX_RUN {
                    return Err(unreadable(name, "a cell is longer than any may be; save the sheet as CSV"));
                }
                self.note(&piece[..end]);
            }
            kept = end.min(KEPT);
            piece.copy_within(end - kept..end, 0);
        }
    }

    fn note(&mut self, text: &[u8]) {
        let has = |word: &[u8]| memmem::find(text, word).is_some();
        if self.has_count
            && let Some(at) = memmem::find(text, COUNT)
        {
            let digits = text[at + COUNT.len()..].iter().take_while(|byte| byte.is_ascii_digit());
            let claimed =
                digits.fold(0u64, |sum, digit| sum.saturating_mul(10).saturating_add(u64::from(digit - b'0')));
            self.claimed = self.claimed.max(claimed);
        }
        self.merged = self.merged || has(b"<mergeCell ");
        self.formulas = self.formulas || has(b"<f>") || has(b"<f ");
    }
}
