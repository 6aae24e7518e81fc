//! Lists of keys that are no tables: addresses line by line, sets of the firewall, logs of Zeek.

use std::str::FromStr;

use tacita_core::Error;

/// What a file of keys is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listing {
    /// A table with a header.
    Table,
    /// A key on each line, as it is; what follows `#` is left out.
    List,
    /// Addresses, and networks of them, one on each line.
    Netset,
    /// What `ipset save` writes.
    Ipset,
    /// A log of Zeek, as `conn.log`: tab-separated or JSON.
    Zeek,
}

impl Listing {
    const ALL: [Listing; 5] = [Listing::Table, Listing::List, Listing::Netset, Listing::Ipset, Listing::Zeek];

    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Listing::Table => "table",
            Listing::List => "list",
            Listing::Netset => "netset",
            Listing::Ipset => "ipset",
            Listing::Zeek => "zeek",
        }
    }
}

impl FromStr for Listing {
    type Err = Error;

    fn from_str(word: &str) -> Result<Listing, Error> {
        Listing::ALL.into_iter().find(|listing| listing.name() == word).ok_or_else(|| {
            let names = Listing::ALL.map(|listing| format!("\"{}\"", listing.name())).join(", ");
            Error::Input(format!("format = {word:?}: use one of {names}"))
        })
    }
}
