//! Job files, TOML and JSON, and fingerprints: errors are one line, and what is read passes its own checks.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tacita_node::agreement::{JobSpec, Terms};
use tacita_node::identity::Fingerprint;

fuzz_target!(|text: &str| {
    for is_json in [false, true] {
        if let Ok(job) = JobSpec::parse(text, is_json) {
            job.check().unwrap();
            let terms = Terms::of(&job);
            assert_eq!(Terms::from_peer(terms.json()), terms);
        }
    }
    if let Ok(fingerprint) = text.parse::<Fingerprint>() {
        assert_eq!(fingerprint.to_string(), text);
    }
});
