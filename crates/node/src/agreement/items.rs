//! Sources of a party's items, in association rules.

use serde::Deserialize;
use serde::de::{Deserializer, Error as _};

/// The column of baskets where a job does not say, and what stands between its items.
const USUAL_COLUMN: &str = "items";
const USUAL_SEPARATOR: &str = "|";
const USUAL_IN_LINES: &str = ",";

/// Source of a party's items.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(
    untagged,
    expecting = "`items` is \"*\", a list of columns, or a table as { column = \"items\", separator = \"|\" }"
)]
pub enum ItemsFrom {
    // Before the table, which would be read from a list too.
    /// Each of these columns holds an item, or a value that makes one.
    Columns(Vec<String>),
    /// One column holds baskets.
    Basket(Basket),
    /// Each column holds an item, or a value that makes one.
    All(Wildcard),
}

/// A column of baskets, or of their items, or baskets without columns.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Basket {
    /// Logical name of the column, if it is not the usual one.
    pub column: Option<String>,
    /// Separator between items, if it is not the usual one.
    pub separator: Option<String>,
    /// Each row has one item of a basket; rows with the same id are one basket.
    pub long: bool,
    /// The file has a basket in each line, and no header.
    pub lines: bool,
}

impl Basket {
    /// The logical name of its column.
    pub fn column(&self) -> &str {
        self.column.as_deref().unwrap_or(USUAL_COLUMN)
    }

    /// Returns the separator between items.
    pub fn separator(&self) -> &str {
        let usual = if self.lines { USUAL_IN_LINES } else { USUAL_SEPARATOR };
        self.separator.as_deref().unwrap_or(usual)
    }
}

/// Marker for the word `*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wildcard;

impl Default for ItemsFrom {
    fn default() -> ItemsFrom {
        ItemsFrom::Basket(Basket::default())
    }
}

impl ItemsFrom {
    /// The logical names of the columns that it names.
    pub fn columns(&self) -> Vec<String> {
        match self {
            ItemsFrom::Basket(basket) if basket.lines => Vec::new(),
            ItemsFrom::Basket(basket) => vec![basket.column().to_owned()],
            ItemsFrom::Columns(columns) => columns.clone(),
            ItemsFrom::All(_) => Vec::new(),
        }
    }
}

impl<'de> Deserialize<'de> for Wildcard {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Wildcard, D::Error> {
        match String::deserialize(deserializer)?.as_str() {
            "*" => Ok(Wildcard),
            _ => Err(D::Error::custom("not *")),
        }
    }
}
