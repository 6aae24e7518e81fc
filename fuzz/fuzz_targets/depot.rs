//! Messages between party and helper: taken as they are written or not at all; and words that are said to be signed.

#![no_main]

use std::sync::LazyLock;
use std::time::{Duration, SystemTime};

use libfuzzer_sys::fuzz_target;
use tacita_node::identity::Identity;
use tacita_node::transport::Peer;
use tacita_node::transport::depot::frame::{DepotRequest, DepotResponse};
use tacita_node::transport::depot::word;

static PARTY: LazyLock<Peer> = LazyLock::new(|| {
    let now = SystemTime::now();
    let identity = Identity::generate("party", now, now + Duration::from_secs(3600)).unwrap();
    Peer { name: "party".into(), pin: identity.fingerprint() }
});

fuzz_target!(|input: &[u8]| {
    if let Some(request) = DepotRequest::read(input) {
        assert_eq!(request.write(), input);
    }
    if let Some(answer) = DepotResponse::read(input) {
        assert_eq!(answer.write(), input);
    }
    assert!(word::open(input, &[0; word::AGREEMENT_BYTES], 0, &PARTY, "the helper").is_err());
});
