//! Listening addresses of services, as other services name them.

use serde::{Deserialize, Serialize};

use super::service::Service;

/// Bytes of an address, at most: a name of 253 in front of a port.
const MAX_ADDRESS_BYTES: usize = 260;

/// Answer to `GET /v1/peers`: the addresses of proxies and databases, of those whose addresses are known.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerAddresses {
    /// List of the services, each once.
    pub peers: Vec<Listening>,
}

/// Address on which a service listens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listening {
    /// `proxy` or `database`.
    pub role: String,
    /// Index among the services with this role in the job file, from 0.
    pub place: usize,
    /// `HOST:PORT`
    pub address: String,
}

impl PeerAddresses {
    /// Parses an answer, and returns what can be an address; nothing of one that cannot be read.
    pub fn decode(bytes: &[u8]) -> Vec<(Service, String)> {
        let peers = serde_json::from_slice::<PeerAddresses>(bytes).unwrap_or_default().peers;
        let known = peers.into_iter().filter(|one| is_address(&one.address)).filter_map(|one| {
            let service = match one.role.as_str() {
                "proxy" => Service::Proxy(one.place),
                "database" => Service::Database(one.place),
                _ => return None,
            };
            Some((service, one.address))
        });
        known.collect()
    }
}

/// Whether a text has the form of an address to dial: `HOST:PORT`, where the host is a name, or an address of version 4
/// or, in brackets, 6.
pub fn is_address(text: &str) -> bool {
    let Some((host, port)) = text.rsplit_once(':') else { return false };
    let is_name = |name: &str| {
        name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_')) && !name.is_empty()
    };
    let is_host = match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        Some(inner) => inner.parse::<std::net::Ipv6Addr>().is_ok(),
        None => is_name(host),
    };
    let is_port = port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok_and(|port| port > 0);
    text.len() <= MAX_ADDRESS_BYTES && is_host && is_port
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_a_host_and_a_port() {
        for good in ["a:1", "proxy-1.example:7600", "10.0.0.1:65535", "[::1]:7600", "a_b:1"] {
            assert!(is_address(good), "{good}");
        }
        let long = format!("{}:1", "a".repeat(MAX_ADDRESS_BYTES));
        for bad in
            ["", ":1", "a", "a:", "a:0", "a:65536", "a:+1", "a b:1", "a\n:1", "::1:1", "[::1:1", "[x]:1", "ü:1", &long]
        {
            assert!(!is_address(bad), "{bad}");
        }
    }

    #[test]
    fn of_what_services_name_only_addresses_are_taken() {
        let one = |role: &str, place: usize, address: &str| serde_json::json!({ "role": role, "place": place, "address": address });
        let told = serde_json::json!({ "peers": [
            one("proxy", 1, "a:1"), one("oracle", 0, "b:1"), one("database", 0, "c:1"), one("proxy", 0, "no address"),
        ] });
        let expected = vec![(Service::Proxy(1), "a:1".to_owned()), (Service::Database(0), "c:1".to_owned())];
        assert_eq!(PeerAddresses::decode(told.to_string().as_bytes()), expected);
        for garbage in
            ["", "[]", "{\"peers\":[{\"role\":\"proxy\",\"place\":-1,\"address\":\"a:1\"}]}", "{\"peers\":7}"]
        {
            assert_eq!(PeerAddresses::decode(garbage.as_bytes()), Vec::new(), "{garbage}");
        }
    }
}
