//! A peer's `hello`, `sizes` and `choice`: whatever it says, the handshake ends, and what it accepts fits the job.

#![no_main]

use std::sync::LazyLock;

use chacha20::ChaCha20Rng;
use libfuzzer_sys::fuzz_target;
use rand_core::SeedableRng;
use serde_json::json;
use tacita_core::channel::{Channel, Label};
use tacita_node::agreement::{Chosen, JobSpec, Sizes, Terms, handshake};
use tacita_node::jobs::intersect;
use tacita_node::jobs::intersect::methods::ecdh;

const LIMIT: u64 = 1000;

static JOB: LazyLock<JobSpec> = LazyLock::new(|| {
    let text = "job = \"intersect\"\nid = \"fuzz\"\nreveal = \"payload\"\nreveal_to = [\"hospital\"]\n\
                gives = { insurer = [\"cost\"] }\n[key]\ncolumns = [\"name\"]\n[limits]\nmax_rows = 1000\n\
                [parties.hospital]\n[parties.insurer]\n";
    JobSpec::parse(text, false).unwrap()
});

fuzz_target!(|input: (Option<Vec<u8>>, Vec<u8>, Vec<u8>)| {
    let (hello, sizes, choice) = input;
    // A good hello, unless the input has one: else nothing would get behind it.
    let hello = hello.unwrap_or_else(|| {
        let hello = json!({
            "tacita": handshake::WIRE_VERSION, "version": "0", "as": "insurer", "nonce": "ab".repeat(32),
            "profiles": ["none"], "terms": Terms::of(&JOB).json(),
        });
        hello.to_string().into()
    });
    let (mut channel, mut peer) = Channel::pair("hospital", "insurer");
    for (code, payload) in [(0xf0, hello), (0xf1, sizes), (0xf2, choice)] {
        let _ = peer.send(Label::new(code, "said"), payload);
    }
    let mut rng = ChaCha20Rng::from_seed([1; 32]);
    let Ok(greeted) = handshake::greet(&JOB, "hospital", &[0; 32], &mut channel, &mut rng) else { return };
    let own = Sizes { items: 3, ..Sizes::default() };
    let check = |theirs: &_, channel: &_| intersect::check_peer(&JOB, &own, theirs, channel);
    let choose = |_: &_| Ok(Chosen::only(ecdh::PROTOCOL));
    let agreed = handshake::settle(greeted, &JOB, "hospital", &own, check, choose, &mut channel);
    let Ok(agreed) = agreed else { return };
    assert!(agreed.peer_sizes.items <= LIMIT && agreed.peer_sizes.entries <= LIMIT);
    let params = intersect::params(&JOB, "hospital", &own, &agreed.peer_sizes);
    assert!((5..=32).contains(&params.tag_bytes));
});
