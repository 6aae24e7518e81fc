//! Thrift's compact encoding, of which Parquet makes its footer and the heads of its pages: as much as it takes to look
//! at them before anything is made of them.
//!
//! <https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md>

/// Structures within structures at most; Parquet's own have six levels.
const MAX_DEPTH: usize = 16;

/// Types of fields and of the elements of lists.
pub(super) const TRUE: u8 = 1;
pub(super) const FALSE: u8 = 2;
const BYTE: u8 = 3;
const I16: u8 = 4;
pub(super) const I32: u8 = 5;
const I64: u8 = 6;
const DOUBLE: u8 = 7;
const BINARY: u8 = 8;
pub(super) const LIST: u8 = 9;
const SET: u8 = 10;
const MAP: u8 = 11;
pub(super) const STRUCT: u8 = 12;
const UUID: u8 = 13;

/// Reads from bytes. Everything is `None` where they end, or are no such encoding.
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { bytes, at: 0 }
    }

    /// Returns the number of bytes that have been read.
    pub fn position(&self) -> usize {
        self.at
    }

    /// Returns the number of bytes that are left.
    pub fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn advance(&mut self, bytes: u64) -> Option<()> {
        let bytes = usize::try_from(bytes).ok().filter(|bytes| *bytes <= self.left())?;
        self.at += bytes;
        Some(())
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f).checked_shl(shift)?;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn integer(&mut self) -> Option<i64> {
        let value = self.varint()?;
        Some((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// A number of 32 bits.
    pub fn i32(&mut self) -> Option<i32> {
        i32::try_from(self.integer()?).ok()
    }

    /// The next field of a structure, whose last one was `last`: its number and type. `Some(None)` at the structure's
    /// end.
    pub fn field(&mut self, last: &mut i16) -> Option<Option<(i16, u8)>> {
        let head = self.byte()?;
        if head == 0 {
            return Some(None);
        }
        *last = match head >> 4 {
            0 => i16::try_from(self.integer()?).ok()?,
            step => last.checked_add(step.into())?,
        };
        Some(Some((*last, head & 0x0f)))
    }

    /// The head of a list: how many elements, and their type.
    pub fn list(&mut self) -> Option<(usize, u8)> {
        let head = self.byte()?;
        let count = match head >> 4 {
            15 => self.varint()?,
            count => count.into(),
        };
        // Each element takes a byte at least.
        let count = usize::try_from(count).ok().filter(|count| *count <= self.left())?;
        Some((count, head & 0x0f))
    }

    /// Passes over a value.
    pub fn skip(&mut self, kind: u8) -> Option<()> {
        self.skip_within(kind, MAX_DEPTH, false)
    }

    fn skip_within(&mut self, kind: u8, depth: usize, element: bool) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        match kind {
            // A field's type says which. Whether an element takes a byte is not for every reader the same, and there is
            // no list of these where this looks.
            TRUE | FALSE => (!element).then_some(()),
            BYTE => self.byte().map(drop),
            I16 | I32 | I64 => self.varint().map(drop),
            DOUBLE => self.advance(8),
            BINARY => {
                let length = self.varint()?;
                self.advance(length)
            }
            LIST | SET => {
                let (count, kind) = self.list()?;
                (0..count).try_for_each(|_| self.skip_within(kind, depth, true))
            }
            MAP => {
                let count = self.varint()?;
                let kinds = if count == 0 { 0 } else { self.byte()? };
                (0..count).try_for_each(|_| {
                    self.skip_within(kinds >> 4, depth, true)?;
                    self.skip_within(kinds & 0x0f, depth, true)
                })
            }
            STRUCT => {
                let mut last = 0;
                while let Some((_, kind)) = self.field(&mut last)? {
                    self.skip_within(kind, depth, false)?;
                }
                Some(())
            }
            UUID => self.advance(16),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cut_off_or_too_deep_is_none() {
        // {1: -3, 2: [{1: "ab"}, {}], 7: true, 300: 5.0}
        let bytes =
            [0x15, 5, 0x19, 0x2c, 0x18, 2, b'a', b'b', 0, 0, 0x51, 0x07, 0xd8, 4, 0, 0, 0, 0, 0, 0, 0x14, 0x40, 0];
        let whole = |bytes: &[u8]| {
            let mut reader = Reader::new(bytes);
            reader.skip(STRUCT).map(|()| reader.position())
        };
        assert_eq!(whole(&bytes), Some(bytes.len()));
        for length in 0..bytes.len() {
            assert_eq!(whole(&bytes[..length]), None, "{length}");
        }
        let mut reader = Reader::new(&bytes);
        let mut last = 0;
        assert_eq!(reader.field(&mut last), Some(Some((1, I32))));
        assert_eq!(reader.i32(), Some(-3));
        assert_eq!(reader.field(&mut last), Some(Some((2, LIST))));
        assert_eq!(reader.list(), Some((2, STRUCT)));
        // A structure in a structure, and so on; a list of more elements than there are bytes; a number of 11 bytes.
        assert_eq!(whole(&[0x1c; 1000]), None);
        assert_eq!(whole(&[0x19, 0xfc, 0xff, 0xff, 0xff, 0x7f, 0, 0]), None);
        assert_eq!(whole(&[[0x15].as_slice(), &[0xff; 10], &[0, 0]].concat()), None);
    }
}
