//! What a file of keys is, by how it begins.

use super::Listing;
use super::network::Network;

/// What the text is that begins so; none if it may be a table.
pub(super) fn listing(head: &[u8]) -> Option<Listing> {
    let text = String::from_utf8_lossy(head);
    let text = text.trim_start_matches('\u{FEFF}');
    if text.starts_with("#separator") || text.starts_with("#fields\t") {
        return Some(Listing::Zeek);
    }
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with(['#', ';']));
    let mut words = lines.into_iter().map(|line| line.split_whitespace());
    let mut first = words.next()?;
    match first.next()? {
        "create" | "add" if first.next().is_some() && first.next().is_some() => Some(Listing::Ipset),
        // No header of a table is an address, and no other text an object.
        word if word.starts_with('{') => Some(Listing::Zeek),
        word => Network::parse(word.trim_end_matches([';', ','])).map(|_| Listing::Netset),
    }
}
