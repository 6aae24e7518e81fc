//! Results as a bundle of STIX 2.1 indicators.

use std::net::IpAddr;

use serde_json::{Value, json};
use sha1::{Digest, Sha1};
use tacita_core::Result;

use super::RoundResults;
use crate::base::hex::hex;
use crate::base::text::json;
use crate::base::text::{acts_on_terminal, counted};
use crate::table::Warning;

/// The namespace of our UUIDs: the one of version 5 for `tacita.aggregate` among names of the domain name system.
const NAMESPACE: &str = "tacita.aggregate";

/// The namespace of names of the domain name system, as RFC 9562 has it.
const DNS: [u8; 16] = [0x6b, 0xa7, 0xb8, 0x10, 0x9d, 0xad, 0x11, 0xd1, 0x80, 0xb4, 0x00, 0xc0, 0x4f, 0xd4, 0x30, 0xc8];

/// Number of omitted keys that are shown.
const SHOWN: usize = 3;

/// The text of the bundle, without the keys that no indicator is written for ([`left_out`]). Its ids come from job,
/// round and key, so that the same results have the same ids at everybody who gets them.
pub(super) fn bundle(results: &RoundResults) -> Result<String> {
    // STIX asks for three digits behind the second.
    let moment = results.closed.to_string().replace('Z', ".000Z");
    let namespace = uuid_bytes(&DNS, NAMESPACE.as_bytes());
    let id = |what: &str, key: &str| {
        let name = [results.agreement.as_str(), results.round.as_str(), key].join("\0");
        format!("{what}--{}", shown(&uuid_bytes(&namespace, name.as_bytes())))
    };
    let indicator = |(key, count): (&str, u64)| -> Option<Value> {
        let pattern = pattern(key)?;
        Some(json!({
            "type": "indicator",
            "spec_version": "2.1",
            "id": id("indicator", key),
            "created": moment,
            "modified": moment,
            "name": key,
            "description": format!("{} in {}, round {}", results.counted(count), results.job, results.round),
            "indicator_types": ["unknown"],
            "pattern": pattern,
            "pattern_type": "stix",
            "valid_from": moment,
        }))
    };
    let objects = results.single("bundle of indicators")?.filter_map(indicator).collect::<Vec<_>>();
    let mut bundle = json!({ "type": "bundle", "id": id("bundle", "") });
    // A bundle without objects has no list of them.
    if !objects.is_empty() {
        bundle["objects"] = objects.into();
    }
    let mut text = json(serde_json::to_string_pretty(&bundle))?;
    text.push('\n');
    Ok(text)
}

/// Says which keys are left out of the bundle, if any are.
pub(super) fn left_out(results: &RoundResults) -> Result<Option<Warning>> {
    let keys = results.single("bundle of indicators")?.map(|(key, _)| key).filter(|key| pattern(key).is_none());
    let mut first = keys.clone().take(SHOWN).map(escaped).collect::<Vec<_>>().join(", ");
    let count = keys.count();
    if count == 0 {
        return Ok(None);
    }
    if count > SHOWN {
        first += ", ...";
    }
    let warn = |shown: String| {
        format!(
            "the bundle has no indicator for {}{shown}: they are written for addresses, domain names, e-mail addresses and URLs; CSV has every key",
            counted(count as u64, "key")
        )
    };
    Ok(Some(Warning::new(warn(format!(" ({first})")), warn(String::new()))))
}

/// A key in quotes, without what a terminal would act upon.
fn escaped(key: &str) -> String {
    let escape = |c: char| match c {
        '"' | '\\' => format!("\\{c}"),
        c if acts_on_terminal(c) => c.escape_default().to_string(),
        c => c.to_string(),
    };
    format!("\"{}\"", key.chars().map(escape).collect::<String>())
}

/// A pattern that matches a key; none if no indicator is written for it here.
fn pattern(key: &str) -> Option<String> {
    let object = match key.parse() {
        Ok(IpAddr::V4(_)) => "ipv4-addr:value",
        Ok(IpAddr::V6(_)) => "ipv6-addr:value",
        Err(_) if key.starts_with("http://") || key.starts_with("https://") => "url:value",
        Err(_) if key.split_once('@').is_some_and(|(local, domain)| !local.is_empty() && is_domain(domain)) => {
            "email-addr:value"
        }
        Err(_) if is_domain(key) => "domain-name:value",
        Err(_) => return None,
    };
    let quoted = key.replace('\\', "\\\\").replace('\'', "\\'");
    Some(format!("[{object} = '{quoted}']"))
}

/// Labels of letters, digits and hyphens with dots between them, the last with a letter in it.
fn is_domain(text: &str) -> bool {
    let labels: Vec<&str> = text.split('.').collect();
    let good = |label: &&str| {
        let inner = label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
        (1..=63).contains(&label.len()) && inner && !label.starts_with('-') && !label.ends_with('-')
    };
    let last = labels.last().is_some_and(|last| last.bytes().any(|byte| byte.is_ascii_alphabetic()));
    labels.len() > 1 && text.len() <= 253 && labels.iter().all(good) && last
}

/// A UUID of version 5. (SHA-1 is what its definition says; nothing here rests on it.)
fn uuid_bytes(namespace: &[u8; 16], name: &[u8]) -> [u8; 16] {
    let digest = Sha1::new().chain_update(namespace).chain_update(name).finalize();
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    bytes[6] = bytes[6] & 0x0F | 0x50;
    bytes[8] = bytes[8] & 0x3F | 0x80;
    bytes
}

/// A UUID as it is written.
fn shown(uuid: &[u8; 16]) -> String {
    let digits = hex(uuid);
    [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]].join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids_are_those_of_others() {
        // As Python's uuid.uuid5(uuid.NAMESPACE_DNS, "python.org") has it.
        assert_eq!(shown(&uuid_bytes(&DNS, b"python.org")), "886313e1-3b8a-5372-9b90-0c9aee199e5d");
    }

    #[test]
    fn patterns_are_of_what_a_key_is() {
        for (key, expected) in [
            ("1.2.3.4", "[ipv4-addr:value = '1.2.3.4']"),
            ("2001:db8::1", "[ipv6-addr:value = '2001:db8::1']"),
            ("evil.example", "[domain-name:value = 'evil.example']"),
            ("a@evil.example", "[email-addr:value = 'a@evil.example']"),
            ("http://x.example/it's\\", "[url:value = 'http://x.example/it\\'s\\\\']"),
        ] {
            assert_eq!(pattern(key).unwrap(), expected);
        }
        for key in ["word", "", "1.2.3", "a b.example", "-a.example", "a..example", "@x.example"] {
            assert_eq!(pattern(key), None, "{key}");
        }
    }
}
