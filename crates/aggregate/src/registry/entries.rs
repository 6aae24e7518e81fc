//! Format of a role's entry in a registry: JSON, `{"address":"HOST:PORT"}`.

use serde_json::{Value, json};

use crate::wire::peers::is_address;

/// Bytes of a value; a longer one is not read.
const MAX_BYTES: usize = 1 << 10;

/// The value for an address.
pub(super) fn encode(address: &str) -> Vec<u8> {
    json!({ "address": address }).to_string().into_bytes()
}

/// The address in a value; nothing, if there is none.
pub fn decode(value: &[u8]) -> Option<String> {
    if value.len() > MAX_BYTES {
        return None;
    }
    let value: Value = serde_json::from_slice(value).ok()?;
    value["address"].as_str().filter(|address| is_address(address)).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_come_back_and_garbage_does_not() {
        assert_eq!(decode(&encode("proxy.example:7600")).as_deref(), Some("proxy.example:7600"));
        // What later versions may say beside is no matter.
        assert_eq!(decode(br#"{"address":"a:1","since":7}"#).as_deref(), Some("a:1"));
        let long = format!(r#"{{"address":"a:1","x":"{}"}}"#, "x".repeat(MAX_BYTES));
        let deep = "[".repeat(1000);
        for garbage in ["", "a:1", "{}", r#"{"address":7}"#, r#"{"address":"nowhere"}"#, "\u{0}", &long, &deep] {
            assert_eq!(decode(garbage.as_bytes()), None, "{garbage}");
        }
        assert_eq!(decode(&[0xff; 20]), None);
    }
}
