//! Keys line by line: as they are, as feeds of addresses, as sets of a firewall.

use std::fmt::Write;
use std::net::IpAddr;

use tacita_core::{Error, Result};

use super::RoundResults;
use crate::base::text::count;

/// The kernel takes no longer names of sets, in bytes.
const MAX_SET_NAME: usize = 31;

/// Default number of entries that a set has room for.
const USUAL_ENTRIES: usize = 1 << 16;

/// A key on each line.
pub(super) fn keys(results: &RoundResults) -> Result<String> {
    let mut text = String::new();
    // Which of them, by their order, would not be read as they were written.
    let mut others = Vec::new();
    for (place, (key, _)) in results.single("list")?.enumerate() {
        let comment = key.starts_with('#') || key.contains(" #") || key.contains("\t#");
        if comment || key.trim() != key || key.chars().any(char::is_control) || key.is_empty() {
            others.push(place + 1);
        }
        text.push_str(key);
        text.push('\n');
    }
    match &others[..] {
        [] => Ok(text),
        [first, more @ ..] => {
            let more =
                if more.is_empty() { String::new() } else { format!(", and {} more,", count(more.len() as u64)) };
            Err(Error::Input(format!(
                "nothing is written: row {} of the result{more} has a key with a line end, blanks around it or a #, which a list \
                 cannot hold: write CSV, Parquet, Arrow or JSON",
                count(*first as u64)
            )))
        }
    }
}

/// An address on each line, below a comment that says what they are.
pub(super) fn netset(results: &RoundResults) -> Result<String> {
    let mut text = format!("# {}, round {}, closed {}\n", plain(&results.job), plain(&results.round), results.closed);
    for address in addresses(results, "list of addresses")? {
        // Writing to a text cannot fail.
        let _ = writeln!(text, "{address}");
    }
    Ok(text)
}

/// Sets for `ipset restore`, one for each version of addresses.
pub(super) fn ipset(results: &RoundResults) -> Result<String> {
    let all = addresses(results, "set of addresses")?;
    let mut text = String::new();
    for (family, ending, is_v4) in [("inet", "-4", true), ("inet6", "-6", false)] {
        let of_family: Vec<&IpAddr> = all.iter().filter(|address| address.is_ipv4() == is_v4).collect();
        if of_family.is_empty() && !is_v4 {
            continue;
        }
        let name = set_name(&results.job, ending);
        let room = of_family.len().max(USUAL_ENTRIES);
        let _ = writeln!(text, "create {name} hash:ip family {family} hashsize 1024 maxelem {room}");
        for address in of_family {
            let _ = writeln!(text, "add {name} {address}");
        }
    }
    Ok(text)
}

fn addresses(results: &RoundResults, what: &str) -> Result<Vec<IpAddr>> {
    let read = |(place, (key, _)): (usize, (&str, u64))| {
        key.parse().map_err(|_| {
            Error::Input(format!(
                "nothing is written: a {what} holds addresses only, and the key of row {} of the result is not one: write \
                 another format, such as a list (.txt)",
                count(place as u64 + 1)
            ))
        })
    };
    results.single(what)?.enumerate().map(read).collect()
}

/// The job's name as that of a set.
fn set_name(job: &str, ending: &str) -> String {
    let letters = job.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' });
    let name: String = letters.take(MAX_SET_NAME - ending.len()).collect();
    name + ending
}

/// A name that stays in its line.
fn plain(name: &str) -> String {
    name.chars().map(|letter| if letter.is_control() { '?' } else { letter }).collect()
}
