//! Messages to a relay. A request is taken as it is written or not at all, and what comes before it is TLS or nothing.

#![no_main]

use std::sync::LazyLock;
use std::time::{Duration, SystemTime};

use libfuzzer_sys::fuzz_target;
use tacita_node::identity::Identity;
use tacita_node::transport::relay::{HEADER_BYTES, Reception, RelayMessage, RelayRequest, record_bytes};

static RELAY: LazyLock<Identity> = LazyLock::new(|| {
    let now = SystemTime::now();
    Identity::generate("relay", now, now + Duration::from_secs(3600)).unwrap()
});

fuzz_target!(|input: &[u8]| {
    if let Ok(bytes) = input.try_into()
        && let Some(request) = RelayRequest::read(bytes)
    {
        assert_eq!(request.write(), *bytes);
    }
    if let Some(word) = input.first().and_then(|byte| RelayMessage::read(*byte)) {
        assert_eq!(word as u8, input[0]);
    }
    let Ok(mut reception) = Reception::new(&RELAY, vec![RELAY.fingerprint()]) else { return };
    let mut rest = input;
    while let Some(header) = rest.first_chunk::<HEADER_BYTES>() {
        let Ok(length) = record_bytes(*header) else { return };
        let Some((record, after)) = rest.split_at_checked(HEADER_BYTES + length) else { return };
        // Nobody gets in without the key.
        match reception.take(record) {
            Ok(asked) => assert!(asked.is_none()),
            Err(_) => return,
        }
        assert!(reception.outgoing().len() < 1 << 16);
        rest = after;
    }
});
