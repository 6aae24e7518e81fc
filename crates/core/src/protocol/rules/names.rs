//! The names of items, which are told when all else is done.

use std::collections::HashSet;

use crate::channel::labels::rules::{LENGTHS, NAMES};
use crate::channel::{Channel, Label, MAX_PAYLOAD_BYTES};
use crate::error::Result;

/// The longest name of an item, in bytes.
pub const MAX_NAME_BYTES: usize = 1024;

/// Separator between items in written itemsets, which so occurs in no item's name.
pub(crate) const JOINT: char = '|';

const LENGTH_BYTES: usize = 2;

/// Whether an item can have this name, or why not.
pub fn check_name(name: &str) -> std::result::Result<(), String> {
    match name {
        "" => Err("an item has no name".into()),
        _ if name.len() > MAX_NAME_BYTES => {
            Err(format!("an item's name is longer than {MAX_NAME_BYTES} bytes: is the separator another one?"))
        }
        _ if name.contains(JOINT) => Err(format!(
            "an item's name holds `{JOINT}`, which stands between items in the result: is that the separator? Else write \
             something else"
        )),
        _ if name != name.trim() => Err("an item's name begins or ends with a blank: take it out".into()),
        _ if name.contains(turns) => {
            Err("an item's name holds a character that turns the direction of writing, which can make it look like another: take \
                 it out"
                .into())
        }
        _ if name.contains(char::is_control) => {
            Err("an item's name holds a control character, such as a tab or the end of a line: take it out".into())
        }
        _ => Ok(()),
    }
}

/// Unicode's controls of direction: <https://www.unicode.org/reports/tr9/#Directional_Formatting_Characters>.
fn turns(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Tells the peer these names, which are as many as it knows, and returns its `count` names.
///
/// Errors: the channel's; names of the peer that no item can have, or that are there twice.
pub fn exchange(own: &[String], count: usize, channel: &mut Channel) -> Result<Vec<String>> {
    let lengths = own.iter().flat_map(|name| (name.len() as u16).to_le_bytes()).collect();
    let lengths = exchange_bytes(LENGTHS, lengths, count * LENGTH_BYTES, channel)?;
    let lengths =
        decode_lengths(&lengths).ok_or_else(|| channel.violation("a name of an item is empty or too long"))?;
    let names = exchange_bytes(NAMES, own.concat().into_bytes(), lengths.iter().sum(), channel)?;
    decode_names(&lengths, &names).ok_or_else(|| channel.violation("a name of an item is none, or there twice"))
}

/// The lengths of names in bytes, as a peer tells them; `None` if one of them is none.
pub fn decode_lengths(bytes: &[u8]) -> Option<Vec<usize>> {
    let lengths = bytes.chunks(LENGTH_BYTES).map(|bytes| Some(usize::from(u16::from_le_bytes(bytes.try_into().ok()?))));
    lengths.map(|length| length.filter(|length| (1..=MAX_NAME_BYTES).contains(length))).collect()
}

/// Names of these lengths, as a peer tells them, one after the other; `None` if one can be no item's name or is there
/// twice.
pub fn decode_names(lengths: &[usize], bytes: &[u8]) -> Option<Vec<String>> {
    let (mut rest, mut names, mut seen) = (bytes, Vec::with_capacity(lengths.len()), HashSet::new());
    for &length in lengths {
        let (name, beyond) = rest.split_at_checked(length)?;
        rest = beyond;
        let name = std::str::from_utf8(name).ok().filter(|name| check_name(name).is_ok() && seen.insert(*name))?;
        names.push(name.to_owned());
    }
    rest.is_empty().then_some(names)
}

/// Tells the peer `own` bytes, and returns the `due` bytes that it tells: in as many messages as the longer takes.
fn exchange_bytes(label: Label, own: Vec<u8>, due: usize, channel: &mut Channel) -> Result<Vec<u8>> {
    let mut received = Vec::new();
    for start in (0..own.len().max(due)).step_by(MAX_PAYLOAD_BYTES) {
        let own = &own[start.min(own.len())..(start + MAX_PAYLOAD_BYTES).min(own.len())];
        let expected = due.saturating_sub(start).min(MAX_PAYLOAD_BYTES);
        let message = channel.exchange(label, own.to_vec(), expected)?;
        if message.len() != expected {
            return Err(channel.violation(format!(
                "`{}` are {} bytes instead of {expected}",
                label.name,
                message.len()
            )));
        }
        received.extend(message);
    }
    Ok(received)
}
