//! Where a party's items come from, in association rules.

use serde::Deserialize;
use serde::de::{Deserializer, Error as _};

/// The column of baskets where a job does not say, and what stands between its items.
const USUAL_COLUMN: &str = "items";
const USUAL_SEPARATOR: &str = "|";

/// Where a party's items come from.
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
    /// Each column does.
    All(Star),
}

/// A column of baskets.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Basket {
    /// Its logical name.
    #[serde(default = "usual_column")]
    pub column: String,
    /// What stands between items.
    #[serde(default = "usual_separator")]
    pub separator: String,
}

/// The word `*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Star;

impl Default for ItemsFrom {
    fn default() -> ItemsFrom {
        ItemsFrom::Basket(Basket { column: usual_column(), separator: usual_separator() })
    }
}

impl ItemsFrom {
    /// The logical names of the columns that it names.
    pub fn columns(&self) -> &[String] {
        match self {
            ItemsFrom::Basket(basket) => std::slice::from_ref(&basket.column),
            ItemsFrom::Columns(columns) => columns,
            ItemsFrom::All(_) => &[],
        }
    }
}

fn usual_column() -> String {
    USUAL_COLUMN.into()
}

fn usual_separator() -> String {
    USUAL_SEPARATOR.into()
}

impl<'de> Deserialize<'de> for Star {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Star, D::Error> {
        match String::deserialize(deserializer)?.as_str() {
            "*" => Ok(Star),
            _ => Err(D::Error::custom("not *")),
        }
    }
}
