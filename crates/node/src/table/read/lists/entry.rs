//! Lines of lists of addresses: one address, network or range each, in the forms that public lists have.

use std::net::IpAddr;

use super::detect::is_like_network;
use super::network::Network;
use crate::base::text::shown;

/// Content of a line.
#[derive(Debug, PartialEq)]
pub(super) enum Entry<'a> {
    Addresses(Network),
    /// Word that is not an address. It is kept as it is, and the profile of its column counts it as unreadable.
    Word(&'a str),
}

/// A word that begins as a network or a range, and is none.
const NO_NETWORK: &str = "is no network or range: write ADDRESS/LENGTH, or FIRST-LAST with the smaller address first";

/// Reads a line of a list of addresses; `#` or `;` begins a comment. Beside an address, a network or a range may stand
/// numbers (of attacks, of lists that have it), a mask (`10.0.0.0 255.255.255.0`), or what DShield writes: first and
/// last address of a network, the length of its prefix, and more.
///
/// Errors: something else stands behind the address.
pub(super) fn netset(line: &str) -> Result<Option<Entry<'_>>, String> {
    let text = line.split(['#', ';']).next().unwrap_or_default();
    let words: Vec<&str> = text.split_whitespace().map(|word| word.trim_end_matches(',')).collect();
    let (entry, behind) = match words[..] {
        [] | [""] => return Ok(None),
        [first, "-", last, ref behind @ ..] => (parse_range(first, last), behind),
        [first, ref behind @ ..] => (Network::parse(first), behind),
    };
    let Some(network) = entry else {
        return match words[..] {
            [word, ..] if is_like_network(word) => Err(NO_NETWORK.into()),
            [first, "-", ..] if first.parse::<IpAddr>().is_ok() => Err(NO_NETWORK.into()),
            [word] => Ok(Some(Entry::Word(word))),
            _ => Err("begins with no address, network or range: put `#` in front of a comment".into()),
        };
    };
    let is_number = |word: &&str| {
        let points = word.bytes().filter(|byte| *byte == b'.').count();
        points <= 1 && word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
    };
    if let ([length], Ok(first)) = (behind, words[0].parse()) {
        // The first address of a network with as many bits: a number of attacks beside it is seldom that.
        let wide = length.parse().ok().and_then(|length| Network::prefix(first, Some(length)));
        if wide.is_some_and(|mut wide| wide.len() > 1 && wide.next() == Some(first)) {
            return Err(
                "may be a network: write ADDRESS/LENGTH, or put `#` before the text that follows the address".into()
            );
        }
    }
    if behind.iter().all(is_number) {
        return Ok(Some(Entry::Addresses(network)));
    }
    let first: Option<IpAddr> = words[0].parse().ok();
    match (first, behind[0].parse::<IpAddr>()) {
        (Some(first), Ok(second)) => beside(first, second, &behind[1..]).map(|network| Some(Entry::Addresses(network))),
        (Some(first), Err(_)) if first.is_unspecified() || first.is_loopback() => {
            Err("is a line of a hosts file: set format = \"hosts\", and its names are the keys".into())
        }
        _ => Err(format!(
            "\"{}\" behind the address is not understood: put `#` in front of a comment, and other keys on lines of their own",
            shown(behind[0])
        )),
    }
}

fn parse_range(first: &str, last: &str) -> Option<Network> {
    Network::range(first.parse().ok()?, last.parse().ok()?)
}

/// An address beside another one.
fn beside(first: IpAddr, second: IpAddr, behind: &[&str]) -> Result<Network, String> {
    if behind.is_empty()
        && let Some(network) = Network::masked(first, second)
    {
        return Ok(network);
    }
    // DShield's: the three columns say the same.
    let length = behind.first().and_then(|length| length.parse().ok());
    let network = length.and_then(|length| Network::prefix(first, Some(length)));
    match network.filter(|network| Some(*network) == Network::range(first, second)) {
        Some(network) => Ok(network),
        None => Err("holds two addresses: write a range as FIRST-LAST, a network as ADDRESS/LENGTH, and other addresses on lines of \
                     their own"
            .into()),
    }
}

/// Reads an entry of `ipset save`, without its port.
///
/// Errors: the line is none.
pub(super) fn ipset(line: &str) -> Result<Option<Entry<'_>>, String> {
    let mut words = line.split_whitespace();
    match words.next() {
        None => Ok(None),
        Some(word) if word.starts_with('#') => Ok(None),
        Some("create" | "flush" | "COMMIT" | "commit") => Ok(None),
        Some("add") => {
            let (Some(_), Some(entry)) = (words.next(), words.next()) else {
                return Err("an entry is `add SET ADDRESS`, as `ipset save` writes it".into());
            };
            if words.any(|word| word == "nomatch") {
                return Err(
                    "is an exception (nomatch), which a list of keys cannot have: remove it from the set".into()
                );
            }
            let word = entry.split(',').next().unwrap_or(entry);
            Ok(Some(Network::parse(word).map_or(Entry::Word(word), Entry::Addresses)))
        }
        Some(_) => Err("is not a line of `ipset save`, where lines begin with create or add".into()),
    }
}

/// Names of the machine itself, which hosts files have as systems are installed.
const OWN_NAMES: [&str; 20] = [
    "localhost",
    "localhost.localdomain",
    "localhost4",
    "localhost4.localdomain4",
    "localhost6",
    "localhost6.localdomain6",
    "local",
    "loopback",
    "broadcasthost",
    "0.0.0.0",
    "ip6-localhost",
    "ip6-loopback",
    "ip6-localnet",
    "ip6-mcastprefix",
    "ip6-allnodes",
    "ip6-allrouters",
    "ip6-allhosts",
    "kubernetes.docker.internal",
    "host.docker.internal",
    "gateway.docker.internal",
];

/// The names in a line of a hosts file (an address, then names), without those of the machine itself; `#` begins a
/// comment.
///
/// Errors: the line does not begin with an address, or ends with it.
pub(super) fn hosts(line: &str) -> Result<impl Iterator<Item = &str>, String> {
    let text = line.split('#').next().unwrap_or_default();
    let mut words = text.split_whitespace().peekable();
    let address = words.next().unwrap_or("::");
    // An interface may stand behind the address: fe80::1%lo0.
    if address.split('%').next().is_none_or(|address| address.parse::<IpAddr>().is_err()) {
        return Err("a line of a hosts file is an address, and names behind it".into());
    }
    if !text.trim().is_empty() && words.peek().is_none() {
        return Err("has an address and no name: a line of a hosts file has names behind the address".into());
    }
    Ok(words.filter(|name| !OWN_NAMES.iter().any(|own| name.eq_ignore_ascii_case(own))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(line: &str) -> Vec<String> {
        match netset(line) {
            Ok(Some(Entry::Addresses(network))) => network.take(5).map(|address| address.to_string()).collect(),
            Ok(Some(Entry::Word(word))) => vec![format!("word {word}")],
            Ok(None) => Vec::new(),
            Err(what) => vec![format!("error: {what}")],
        }
    }

    #[test]
    fn forms_of_public_lists_are_understood() {
        for (line, expected) in [
            ("192.0.2.1;x", &["192.0.2.1"][..]),
            ("192.0.2.2#y", &["192.0.2.2"]),
            ("192.0.2.1,", &["192.0.2.1"]),
            ("192.0.2.1\t9", &["192.0.2.1"]),
            ("192.0.2.1 9 0.5 1", &["192.0.2.1"]),
            ("192.0.2.1/32", &["192.0.2.1"]),
            ("192.0.2.0/31", &["192.0.2.0", "192.0.2.1"]),
            ("192.0.2.0/255.255.255.254", &["192.0.2.0", "192.0.2.1"]),
            ("192.0.2.0-192.0.2.1", &["192.0.2.0", "192.0.2.1"]),
            ("192.0.2.0 - 192.0.2.1 ; a comment", &["192.0.2.0", "192.0.2.1"]),
            ("192.0.2.0 255.255.255.254", &["192.0.2.0", "192.0.2.1"]),
            ("198.51.100.0\t198.51.100.1\t31\t7", &["198.51.100.0", "198.51.100.1"]),
            ("198.51.100.0\t198.51.100.1\t31\t7\tSOME-NET\tDE\ta@b.example", &["198.51.100.0", "198.51.100.1"]),
            ("2001:db8::-2001:db8::1", &["2001:db8::", "2001:db8::1"]),
            ("nonsense # x", &["word nonsense"]),
            ("", &[]),
            (" # all of it", &[]),
            (";", &[]),
        ] {
            assert_eq!(addresses(line), expected, "{line:?}");
        }
    }

    #[test]
    fn other_words_behind_an_address_are_refused() {
        for (line, words) in [
            ("192.0.2.1 192.0.2.2", "two addresses"),
            ("192.0.2.9 - 192.0.2.2", "no network or range"),
            ("192.0.2.9-192.0.2.2", "no network or range"),
            ("192.0.2.9-192.0.2.2 7", "no network or range"),
            ("10.0.0.0/33", "no network or range"),
            ("10.0.0.0 24", "may be a network"),
            ("1.2.3.4 nan", "\"nan\" behind the address"),
            ("198.51.100.0 198.51.100.255 25 7", "two addresses"),
            ("192.0.2.0 0.0.0.255", "two addresses"),
            ("192.0.2.1 China Telecom", "\"China\" behind the address"),
            ("0.0.0.0 ads.example", "hosts file"),
            ("some words", "no address"),
            ("1.2.3.4 \u{1b}[2J", "\\u{1b}"),
        ] {
            let error = netset(line).unwrap_err();
            assert!(error.contains(words), "{line:?}: {error}");
        }
    }

    #[test]
    fn names_of_hosts_files_are_keys() {
        let names = |line| hosts(line).map(|names| names.collect::<Vec<_>>().join(" "));
        for (line, expected) in [
            ("127.0.0.1 localhost", ""),
            ("0.0.0.0 ads.example  b.example # c", "ads.example b.example"),
            ("::1 ip6-localhost ip6-loopback", ""),
            ("fe80::1%lo0 localhost", ""),
            ("0.0.0.0 ip6-tracker.example LOCALHOST localhost6", "ip6-tracker.example"),
            ("# a comment", ""),
            ("", ""),
        ] {
            assert_eq!(names(line).unwrap(), expected, "{line:?}");
        }
        assert!(names("ads.example").unwrap_err().contains("hosts file"));
        assert!(names("10.1.1.1 # x").unwrap_err().contains("no name"));
    }
}
