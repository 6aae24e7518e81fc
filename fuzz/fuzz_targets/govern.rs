//! Policies, approvals and receipts: errors are one line, and what was changed by anybody but its signer is refused.

#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use tacita_node::govern::approval::Approval;
use tacita_node::govern::policy::Policy;
use tacita_node::govern::receipt::Receipt;

fuzz_target!(|text: &str| {
    if let Err(error) = Policy::parse(Path::new("policy.toml"), text) {
        assert!(!error.to_string().contains('\n'));
    }
    // Only seeds have right signatures.
    let _ = Approval::parse(text);
    if let Some(receipt) = Receipt::decode(text.as_bytes()) {
        let _ = receipt.check();
        assert_eq!(Receipt::decode(&receipt.encode().unwrap()), Some(receipt));
    }
});
