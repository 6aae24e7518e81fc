//! A Parquet file's footer, before the decoder sees it: a decoder that makes a tree of the schema by calling itself
//! overflows its stack if the tree is too deep, and takes memory for as many children as an element claims.

use super::thrift::{FALSE, I32, LIST, Reader, STRUCT, TRUE};
use crate::table::budget::MAX_COLUMNS;

/// Levels of the schema at most. A list takes two of them.
const MAX_DEPTH: usize = 32;

/// Maximum ratio of a footer's decoded size to its own length: the lists in it hold elements of one byte that become
/// structures.
const TIMES_DECODED: u64 = 128;

/// A footer of this length is decoded however little memory there is.
const SMALL_BYTES: u64 = 1 << 20;

/// Description of a fault in a footer, for the message.
pub(super) type Fault = String;

/// Checks how long a footer is, of a file of `file_bytes` that may take `memory`.
pub(super) fn check_length(footer_bytes: u64, file_bytes: u64, memory: u64) -> Result<(), Fault> {
    if footer_bytes > file_bytes {
        return Err(format!("its footer claims {footer_bytes} bytes, more than the file has"));
    }
    if footer_bytes > SMALL_BYTES && footer_bytes.saturating_mul(TIMES_DECODED) > memory {
        return Err(format!("its footer takes {footer_bytes} bytes, too many for the memory that there is"));
    }
    Ok(())
}

/// Checks the schema in a footer: its depth, its number of columns, and that each element has the children that it
/// claims.
pub(super) fn check_schema(footer: &[u8]) -> Result<(), Fault> {
    let mut reader = Reader::new(footer);
    let elements = elements(&mut reader).ok_or("its footer is corrupt; write it again")?;
    // For each element that is open, how many of its children are still to come.
    let mut open: Vec<usize> = Vec::new();
    let mut columns = 0;
    for element in 0..elements {
        let children = element_children(&mut reader).ok_or("its schema is corrupt; write it again")?;
        if let Some(due) = open.last_mut() {
            *due -= 1;
        }
        match usize::try_from(children) {
            Ok(0) => columns += 1,
            Ok(children) if children < elements - element => open.push(children),
            _ => return Err(format!("its schema claims a column with {children} parts, and does not have them")),
        }
        if open.len() > MAX_DEPTH {
            return Err(format!("its schema is more than {MAX_DEPTH} levels deep; write a flatter table"));
        }
        if columns > MAX_COLUMNS {
            return Err(format!("more than {MAX_COLUMNS} columns; leave some out"));
        }
        while open.last() == Some(&0) {
            open.pop();
        }
    }
    Ok(())
}

/// Returns the number of elements in the schema, and leaves the reader at the first one. Fields stand in their order,
/// as every program writes them: only the version is before the schema.
fn elements(reader: &mut Reader<'_>) -> Option<usize> {
    let mut last = 0;
    loop {
        match reader.field(&mut last)?? {
            (1, I32) => drop(reader.i32()?),
            (2, LIST) => return reader.list().filter(|(_, kind)| *kind == STRUCT).map(|(count, _)| count),
            _ => return None,
        }
    }
}

/// Whether columns of the file are encrypted: a footer that is not says by which algorithm (field 8 of `FileMetaData`).
pub(super) fn names_encryption(footer: &[u8]) -> bool {
    let mut reader = Reader::new(footer);
    let mut last = 0;
    while let Some(Some((field, kind))) = reader.field(&mut last) {
        if field == 8 {
            return true;
        }
        if reader.skip(kind).is_none() {
            return false;
        }
    }
    false
}

/// Reads an element of the schema: how many children it claims.
fn element_children(reader: &mut Reader<'_>) -> Option<i32> {
    let (mut last, mut children) = (0, 0);
    while let Some((field, kind)) = reader.field(&mut last)? {
        match (field, kind) {
            (5, I32) => children = reader.i32()?,
            _ => Shape::Element.pass(reader, field, kind)?,
        }
    }
    Some(children)
}

/// Structures in an element of the schema. The decoder goes by a field's number and does not look at its type, so a
/// field of another type than its own would make it read on at another byte than this check.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    Element,
    LogicalType,
    Decimal,
    Time,
    TimeUnit,
    Integer,
    Variant,
    Geometry,
    Geography,
    /// Structure with unknown fields.
    Other,
}

impl Shape {
    /// Passes over a field that must have the type of its number.
    fn pass(self, reader: &mut Reader<'_>, field: i16, kind: u8) -> Option<()> {
        const BYTE: u8 = 3;
        const BINARY: u8 = 8;
        let inner = match (self, field) {
            (Shape::Element, 1..=3 | 5..=9) => return reader.skip(kind).filter(|()| kind == I32),
            (Shape::Element, 4) => return reader.skip(kind).filter(|()| kind == BINARY),
            (Shape::Element, 10) => Shape::LogicalType,
            (Shape::LogicalType, 5) => Shape::Decimal,
            (Shape::LogicalType, 7 | 8) => Shape::Time,
            (Shape::LogicalType, 10) => Shape::Integer,
            (Shape::LogicalType, 16) => Shape::Variant,
            (Shape::LogicalType, 17) => Shape::Geometry,
            (Shape::LogicalType, 18) => Shape::Geography,
            (Shape::LogicalType, 1..=32) | (Shape::TimeUnit, _) => Shape::Other,
            (Shape::Time, 2) => Shape::TimeUnit,
            (Shape::Decimal, 1 | 2) | (Shape::Geography, 2) => return reader.skip(kind).filter(|()| kind == I32),
            (Shape::Time, 1) | (Shape::Integer, 2) => {
                return reader.skip(kind).filter(|()| matches!(kind, TRUE | FALSE));
            }
            (Shape::Integer | Shape::Variant, 1) => return reader.skip(kind).filter(|()| kind == BYTE),
            (Shape::Geometry | Shape::Geography, 1) => return reader.skip(kind).filter(|()| kind == BINARY),
            _ => return reader.skip(kind),
        };
        if kind != STRUCT {
            return None;
        }
        let mut last = 0;
        while let Some((field, kind)) = reader.field(&mut last)? {
            inner.pass(reader, field, kind)?;
        }
        Some(())
    }
}
