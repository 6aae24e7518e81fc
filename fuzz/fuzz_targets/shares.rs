//! Share files, and the texts in them: what is read is whole, and its numbers can be opened.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tacita_core::protocol::dot::Modulus;
use tacita_node::jobs::numbers::ShareFile;

fuzz_target!(|text: &str| {
    if let Ok(share) = ShareFile::parse(text) {
        let shares = share.shares().unwrap();
        assert_eq!(shares.len(), share.count());
        let _ = (share.range(), share.fits(&shares.modulus()), share.parties().count());
    }
    if let Ok(modulus) = text.parse::<Modulus>() {
        assert_eq!(modulus.to_string().parse::<Modulus>().unwrap(), modulus);
    }
});
