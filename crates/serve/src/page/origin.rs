//! Under which names a page is asked for.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

/// Origin under which a page can be reached from elsewhere, behind something that encrypts: `https://desk.example`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageOrigin {
    /// Host and port, the port only if it is not 443.
    authority: String,
}

impl std::str::FromStr for PageOrigin {
    type Err = String;

    fn from_str(text: &str) -> Result<PageOrigin, String> {
        let bad = || "write https://HOST or https://HOST:PORT, without a path, as in https://desk.example".to_owned();
        let authority = text.strip_prefix("https://").ok_or_else(bad)?.to_ascii_lowercase();
        let authority = authority.strip_suffix(":443").unwrap_or(&authority);
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
            _ => (authority, None),
        };
        let is_number = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let is_name = |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte));
        let is_host = match is_number {
            Some(number) => number.parse::<std::net::Ipv6Addr>().is_ok(),
            None => !host.is_empty() && is_name(host),
        };
        // As browsers write it: without zeros in front.
        let is_port = |port: &str| port.parse::<u16>().is_ok_and(|number| number > 0 && number.to_string() == port);
        if !is_host || !port.is_none_or(is_port) {
            return Err(bad());
        }
        Ok(PageOrigin { authority: authority.to_owned() })
    }
}

impl fmt::Display for PageOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "https://{}", self.authority)
    }
}

impl PageOrigin {
    /// Whether a browser, or what encrypts, calls the page by this name.
    pub(super) fn is_called(&self, host: &str) -> bool {
        host.strip_suffix(":443").unwrap_or(host).eq_ignore_ascii_case(&self.authority)
    }
}

/// Whether a page at `here` is asked for by a name that can lead nowhere else: another site's name that leads here
/// today is none.
pub(crate) fn is_local(host: &str, here: SocketAddr) -> bool {
    let port = format!(":{}", here.port());
    let Some(name) = host.strip_suffix(&port).or_else(|| (here.port() == 80).then_some(host)) else {
        return false;
    };
    let number = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    match number {
        Ok(number) => number == here.ip() || number.is_loopback() || here.ip().is_unspecified(),
        Err(_) => name.eq_ignore_ascii_case("localhost"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_a_scheme_a_host_and_a_port() {
        for (given, written) in [
            ("https://desk.example", "https://desk.example"),
            ("https://Desk.Example:443", "https://desk.example"),
            ("https://desk.example:8443", "https://desk.example:8443"),
            ("https://[2001:db8::1]:8443", "https://[2001:db8::1]:8443"),
            ("https://[2001:db8::1]", "https://[2001:db8::1]"),
            ("https://192.0.2.1", "https://192.0.2.1"),
        ] {
            assert_eq!(given.parse::<PageOrigin>().unwrap().to_string(), written);
        }
        for bad in [
            "",
            "desk.example",
            "http://desk.example",
            "https://",
            "https://:443",
            "https://desk.example/",
            "https://desk.example/page",
            "https://user@desk.example",
            "https://desk.example:0",
            "https://desk.example:70000",
            "https://desk.example:+80",
            "https://desk example",
            "https://[desk]",
            "https://2001:db8::1",
        ] {
            assert!(bad.parse::<PageOrigin>().is_err(), "{bad}");
        }
    }
}
