//! Told by its beginning: what kind of list a file is.

use std::net::IpAddr;

use super::network::Network;
use super::{Listing, WantedColumn};

/// Words with which DShield's list names its columns.
const DSHIELD: [&str; 3] = ["start", "end", "netmask"];

/// The kind of list that a text is which begins with `head`; none if it may be a table. A text that has `ended` and
/// holds comments alone is an empty list, unless one of them names a wanted column, as a header does.
pub(super) fn listing(head: &str, ended: bool, wanted: &[WantedColumn]) -> Option<Listing> {
    if head.starts_with("#separator") || head.starts_with("#fields\t") {
        return Some(Listing::Zeek);
    }
    let (comments, entries): (Vec<&str>, Vec<&str>) = head
        .split(['\n', '\r'])
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .partition(|line| line.starts_with(['#', ';']));
    let Some(first) = entries.first() else {
        let names_a_column = |line: &&str| {
            line.split([',', ';', '\t', '|', '#']).any(|name| wanted.iter().any(|column| column.header == name.trim()))
        };
        // In a list of keys `;` begins no comment.
        let listing = if comments.iter().any(|line| line.starts_with(';')) { Listing::Netset } else { Listing::List };
        return (ended && !comments.iter().any(names_a_column)).then_some(listing);
    };
    let words: Vec<&str> = first.split(['#', ';']).next().unwrap_or_default().split_whitespace().collect();
    match words[..] {
        ["create" | "add", _, _, ..] => Some(Listing::Ipset),
        // No header of a table is an address, and no other text an object.
        [word, ..] if word.starts_with('{') => Some(Listing::Zeek),
        // A name has a letter in front, and an address may have one only where it has a colon.
        [address, name, ..]
            if is_local(address) && !name.contains(':') && name.starts_with(|letter: char| letter.is_alphabetic()) =>
        {
            Some(Listing::Hosts)
        }
        _ if names_columns(first) => Some(Listing::Netset),
        [word, ..] => {
            let word = word.trim_end_matches(',');
            (Network::parse(word).is_some() || is_like_network(word)).then_some(Listing::Netset)
        }
        [] => None,
    }
}

/// Whether a word is a network or a range that is written wrongly: its first part is an address.
pub(super) fn is_like_network(word: &str) -> bool {
    word.split_once(['/', '-']).is_some_and(|(first, _)| first.parse::<IpAddr>().is_ok())
}

/// Whether hosts files have this address in front of names.
fn is_local(word: &str) -> bool {
    word.parse::<IpAddr>().is_ok_and(|address| address.is_unspecified() || address.is_loopback())
}

/// Whether a line of a list of addresses names columns, as DShield's does.
pub(super) fn names_columns(line: &str) -> bool {
    let words = line.split_whitespace().take(DSHIELD.len());
    words.map(str::to_lowercase).eq(DSHIELD)
}
