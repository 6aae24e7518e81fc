//! A certificate, as whoever connects may present it: it is read, with a name and dates that can be shown, or refused
//! in one line.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tacita_node::identity::Certificate;

fuzz_target!(|der: &[u8]| {
    match Certificate::parse(der) {
        Ok(certificate) => {
            assert_eq!(Certificate::parse(der).unwrap().fingerprint(), certificate.fingerprint());
            let _ = certificate.name();
            for now in [i64::MIN, 0, certificate.not_before(), certificate.not_after(), i64::MAX] {
                if let Err(what) = certificate.check_dates(now) {
                    assert!(!what.contains('\n'), "{what}");
                }
            }
        }
        Err(what) => assert!(!what.contains('\n'), "{what}"),
    }
});
