//! Messages between the services of an aggregation, those who ask them, and a registry, beside reports. Each is read or
//! refused, and what is read comes back.

#![no_main]

use libfuzzer_sys::fuzz_target;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tacita_aggregate::registry;
use tacita_aggregate::transport::ApiResponse;
use tacita_aggregate::wire::handed::Handed;
use tacita_aggregate::wire::held::Held;
use tacita_aggregate::wire::hello::ServiceInfo;
use tacita_aggregate::wire::peers::{PeerAddresses, is_address};
use tacita_aggregate::wire::reply::ErrorBody;
use tacita_aggregate::wire::rounds::{Closing, Completion, Open, ReportCounts, Resting, RoundStatus};
use tacita_aggregate::wire::same_keys::KeysFingerprint;
use tacita_aggregate::wire::sessions::{Advance, StateSession};
use tacita_aggregate::wire::signed::{KeyPurpose, KeyRole, Signed};

const PURPOSE: KeyPurpose<'_> = KeyPurpose { agreement: &[7; 32], round: "r", role: KeyRole::Proxy };

/// Checks that a value read as JSON is written as JSON that is read again as the same.
fn json<T: DeserializeOwned + Serialize>(bytes: &[u8]) {
    if let Ok(value) = serde_json::from_slice::<T>(bytes) {
        let written = serde_json::to_vec(&value).unwrap();
        let again: T = serde_json::from_slice(&written).unwrap();
        assert_eq!(serde_json::to_vec(&again).unwrap(), written);
    }
}

fuzz_target!(|bytes: &[u8]| {
    if let Some(handed) = Handed::from_bytes(bytes) {
        assert_eq!(handed.to_bytes(), bytes);
    }
    if let Some(address) = registry::decode(bytes) {
        assert!(is_address(&address));
    }
    assert!(PeerAddresses::decode(bytes).iter().all(|(_, address)| is_address(address)));
    if let Some(answer) = ApiResponse::decode(bytes) {
        answer.told();
    }
    if let Ok(signed) = serde_json::from_slice::<Signed>(bytes) {
        // Nobody has signed anything here.
        assert!(signed.open(PURPOSE, &[], "a role").is_err());
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        if let Ok(session) = text.parse::<StateSession>() {
            assert_eq!(session.to_string(), text);
        }
        if let Ok(keys) = text.parse::<KeysFingerprint>() {
            assert_eq!(keys.to_string(), text);
        }
    }
    json::<Signed>(bytes);
    json::<ServiceInfo>(bytes);
    json::<Held>(bytes);
    json::<ErrorBody>(bytes);
    json::<Open>(bytes);
    json::<RoundStatus>(bytes);
    json::<ReportCounts>(bytes);
    json::<Completion>(bytes);
    json::<Resting>(bytes);
    json::<Advance>(bytes);
    json::<Closing>(bytes);
});
