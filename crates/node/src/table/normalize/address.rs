//! `email` and `ip`.

use std::fmt::Write;
use std::net::IpAddr;

use super::words;

/// One `@` with something on both sides, folded as `text` is; a dot at the end of the domain is dropped. `value` is
/// trimmed.
pub(super) fn email(value: &str, out: &mut String) -> Option<()> {
    let start = out.len();
    words::text(value, out)?;
    let (local, domain) = out[start..].split_once('@')?;
    let dot = domain.ends_with('.');
    let domain = domain.strip_suffix('.').unwrap_or(domain);
    // What would have to be quoted in a mailbox, or shows that the field holds more than an address.
    let odd = |c: char| c.is_whitespace() || c.is_control() || "@<>()[],;:\\\"".contains(c);
    if local.is_empty() || local.contains(odd) || domain.contains(odd) || domain.split('.').any(str::is_empty) {
        return None;
    }
    if dot {
        out.pop();
    }
    Some(())
}

/// Version 4 as four decimal numbers, version 6 as RFC 5952 writes it; addresses of version 4 that are mapped into
/// version 6 are those of version 4. A network of one address (`/32`, `/128`) is that address. `value` is trimmed.
pub(super) fn ip(value: &str, out: &mut String) -> Option<()> {
    let (value, length) = value.split_once('/').map_or((value, None), |(address, length)| (address, Some(length)));
    let value =
        value.strip_prefix('[').and_then(|inner| inner.strip_suffix(']')).filter(|v| v.contains(':')).unwrap_or(value);
    let address: IpAddr = value.parse().ok()?;
    if length.is_some_and(|length| length != if address.is_ipv4() { "32" } else { "128" }) {
        return None;
    }
    let canonical = match address {
        IpAddr::V6(v6) => v6.to_ipv4_mapped().map_or(IpAddr::V6(v6), IpAddr::V4),
        v4 => v4,
    };
    write!(out, "{canonical}").ok()
}
