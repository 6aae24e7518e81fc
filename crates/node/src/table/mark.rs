//! The mark between the whole part of a number and its fraction, where a number is written as text.

use std::borrow::Cow;
use std::str::FromStr;

use arrow_schema::DataType;
use tacita_core::{Error, Result};

/// Decimal mark of written numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum DecimalMark {
    /// `12.50`
    #[default]
    Point,
    /// `12,50`, as spreadsheets write it in many countries.
    Comma,
}

impl DecimalMark {
    /// The number with a point; none if it has one already, where the mark is a comma: what it separates cannot be
    /// known.
    pub(super) fn with_point(self, text: &str) -> Option<Cow<'_, str>> {
        match self {
            DecimalMark::Point => Some(Cow::Borrowed(text)),
            DecimalMark::Comma if text.contains('.') => None,
            DecimalMark::Comma => Some(Cow::Owned(text.replacen(',', ".", 1))),
        }
    }

    /// The mark in a column of this type: numbers that are no text are written with a point.
    pub(super) fn of_column(self, data_type: &DataType) -> DecimalMark {
        match data_type {
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => self,
            DataType::Dictionary(_, values) => self.of_column(values),
            DataType::RunEndEncoded(_, values) => self.of_column(values.data_type()),
            _ => DecimalMark::Point,
        }
    }
}

impl FromStr for DecimalMark {
    type Err = Error;

    fn from_str(word: &str) -> Result<DecimalMark> {
        match word {
            "." => Ok(DecimalMark::Point),
            "," => Ok(DecimalMark::Comma),
            _ => Err(Error::Input(format!("decimal = {word:?}: use \",\" or \".\""))),
        }
    }
}
