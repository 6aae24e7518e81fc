//! Fingerprints of public keys, as `ssh` writes them.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

use data_encoding::BASE64_NOPAD;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use tacita_core::Error;

/// Length of a [`Fingerprint`] in bytes.
pub const FINGERPRINT_BYTES: usize = 32;

const PREFIX: &str = "SHA256:";

/// SHA-256 of a SubjectPublicKeyInfo in DER: it names a key, whatever certificate the key travels in.
///
/// Written `SHA256:` and 43 characters of base64 without padding (RFC 4648 section 4), as `ssh` does.
#[derive(Clone, Copy, Eq)]
pub struct Fingerprint(pub [u8; FINGERPRINT_BYTES]);

impl Fingerprint {
    /// The fingerprint of a SubjectPublicKeyInfo (RFC 5280 section 4.1) in DER.
    pub fn of(public_key_info: &[u8]) -> Fingerprint {
        Fingerprint(Sha256::digest(public_key_info).into())
    }
}

/// Compares in constant time.
impl PartialEq for Fingerprint {
    fn eq(&self, other: &Fingerprint) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Hash for Fingerprint {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", BASE64_NOPAD.encode(&self.0))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Fingerprint {
    type Err = Error;

    fn from_str(text: &str) -> Result<Fingerprint, Error> {
        let wrong = |why: &str| {
            let shown: String = text.chars().take(60).flat_map(char::escape_debug).collect();
            Error::Input(format!(
                "`{shown}` is no fingerprint: {why}; copy the line that `tacita identity show` prints (SHA256: and 43 characters)"
            ))
        };
        // As it is pasted, with the end of its line.
        let encoded = text.trim().strip_prefix(PREFIX).ok_or_else(|| wrong("it does not start with SHA256:"))?;
        if encoded.len() != BASE64_NOPAD.encode_len(FINGERPRINT_BYTES) {
            return Err(wrong(&format!("{} characters follow SHA256:", encoded.chars().count())));
        }
        let bytes = BASE64_NOPAD.decode(encoded.as_bytes()).map_err(|_| wrong("it is not base64"))?;
        bytes.try_into().map(Fingerprint).map_err(|_| wrong("it has the wrong length"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_what_ssh_would_print() {
        let print = Fingerprint(std::array::from_fn(|i| i as u8));
        // From `base64`, without its padding.
        assert_eq!(print.to_string(), "SHA256:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8");
        assert_eq!(print.to_string().parse(), Ok(print));
        assert_ne!(print, Fingerprint([0; 32]));
    }

    #[test]
    fn what_is_not_exactly_a_fingerprint_is_refused() {
        let good = Fingerprint([7; 32]).to_string();
        assert_eq!(format!(" {good} \n").parse::<Fingerprint>().unwrap().to_string(), good);
        let bad = [
            String::new(),
            "SHA256:".into(),
            good.replace("SHA256:", "MD5:"),
            good[..good.len() - 1].into(),
            format!("{good}="),
            format!("{good}A"),
            good.replace(':', ": "),
            // The last character carries two bits that must be zero.
            format!("{}B", &Fingerprint([0; 32]).to_string()[..49]),
            format!("{}_", &good[..49]),
            format!("SHA256:{}", "ä".repeat(43)),
        ];
        for text in bad {
            let error = text.parse::<Fingerprint>().expect_err(&text).to_string();
            assert!(error.contains("is no fingerprint") && !error.contains('\n'), "{error}");
        }
    }
}
