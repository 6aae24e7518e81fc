//! A key as it travels: at most so many bytes, the last of which is not zero.
//!
//! An address takes 16 bytes, one of version 4 as it is mapped into version 6; other keys are the canonical texts of
//! their columns with a zero byte between them. A hashed key is 16 bytes of BLAKE3 of that, bound to the terms of the
//! job. Zero bytes at the end are left out on the way, as the protocol fills keys up with them.

use std::net::{IpAddr, Ipv6Addr};

use super::spec::{AggregateJob, KEY_BYTES, KeyForm};
use crate::agreement::Terms;
use crate::base::hex::hex;
use crate::table::Profile;

/// Context string with which BLAKE3 derives the hash of a key.
const HASHED: &str = "tacita 1 aggregate hashed key";

/// Conversion between the keys of a job and bytes.
#[derive(Debug, Clone)]
pub struct KeyPacking {
    columns: usize,
    /// The one column has addresses.
    address: bool,
    form: KeyForm,
    key_bytes: usize,
    /// Digest of the terms to which the job's hashes are bound.
    terms: [u8; 32],
}

/// Reason that a key cannot travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unpackable {
    /// The key has so many bytes, more than the job allows.
    TooLong(usize),
    /// A part has a zero byte in it.
    Zero,
    /// The key is the address `::`, which is nobody's.
    Unspecified,
}

impl KeyPacking {
    /// Returns the packing of a job.
    pub fn of(job: &AggregateJob<'_>) -> KeyPacking {
        let profiles = job.key.as_ref().map_or(Vec::new(), |key| key.profiles());
        KeyPacking {
            columns: profiles.len(),
            address: profiles == [Profile::Ip],
            form: job.own.round.keys,
            key_bytes: job.own.round.key_bytes,
            terms: Terms::of(job.spec).agreement_bytes(),
        }
    }

    /// Whether keys travel as hashes.
    pub fn is_hashed(&self) -> bool {
        self.form == KeyForm::Hashed
    }

    /// Bytes of a key, from above.
    pub fn key_bytes(&self) -> usize {
        self.key_bytes
    }

    /// The bytes of a key of these canonical texts, one for each column.
    pub fn pack(&self, parts: &[&str]) -> Result<Vec<u8>, Unpackable> {
        if parts.iter().any(|part| part.contains('\0')) {
            return Err(Unpackable::Zero);
        }
        let address = parts.first().filter(|_| self.address).and_then(|text| text.parse::<IpAddr>().ok());
        let mut key = match address {
            Some(IpAddr::V4(v4)) => v4.to_ipv6_mapped().octets().to_vec(),
            Some(IpAddr::V6(v6)) => v6.octets().to_vec(),
            None => parts.join("\0").into_bytes(),
        };
        if self.is_hashed() {
            let mut hasher = blake3::Hasher::new_derive_key(HASHED);
            let hash = hasher.update(&self.terms).update(&key).finalize();
            key = hash.as_bytes()[..KEY_BYTES].to_vec();
        }
        let length = key.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        key.truncate(length);
        match length {
            0 => Err(Unpackable::Unspecified),
            _ if length > self.key_bytes => Err(Unpackable::TooLong(length)),
            _ => Ok(key),
        }
    }

    /// The texts of a key's columns; of a hashed key the hash alone, in hexadecimal. None of bytes that
    /// [`KeyPacking::pack`] makes of nothing: a participant can report any.
    pub fn unpack(&self, key: &[u8]) -> Option<Vec<String>> {
        if key.is_empty() || key.ends_with(&[0]) || key.len() > self.key_bytes {
            return None;
        }
        if self.address || self.is_hashed() {
            let mut full = [0; KEY_BYTES];
            full.get_mut(..key.len())?.copy_from_slice(key);
            if self.is_hashed() {
                return Some(vec![hex(&full)]);
            }
            let address = Ipv6Addr::from(full);
            return Some(vec![address.to_ipv4_mapped().map_or_else(|| address.to_string(), |v4| v4.to_string())]);
        }
        let text = std::str::from_utf8(key).ok()?;
        let parts: Vec<String> = text.split('\0').map(str::to_owned).collect();
        (parts.len() == self.columns && parts.iter().all(|part| !part.is_empty())).then_some(parts)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn packing(columns: usize, address: bool, form: KeyForm, key_bytes: usize) -> KeyPacking {
        KeyPacking { columns, address, form, key_bytes, terms: [7; 32] }
    }

    #[test]
    fn addresses_take_sixteen_bytes_without_zeros_behind() {
        let packing = packing(1, true, KeyForm::Embedded, 16);
        for (text, bytes) in
            [("1.2.3.4", 16), ("10.0.0.0", 13), ("2001:db8::", 4), ("2001:db8::1", 16), ("0.0.0.0", 12)]
        {
            let packed = packing.pack(&[text]).unwrap();
            assert_eq!(packed.len(), bytes, "{text}");
            assert_eq!(packing.unpack(&packed).unwrap(), [text]);
        }
        assert_eq!(packing.pack(&["::"]), Err(Unpackable::Unspecified));
        assert_eq!(packing.unpack(&[]), None);
        assert_eq!(packing.unpack(&[1, 0]), None);
        assert_eq!(packing.unpack(&[1; 17]), None);
    }

    #[test]
    fn long_keys_and_zero_bytes_are_refused() {
        let packing = packing(2, false, KeyForm::Embedded, 5);
        assert_eq!(packing.pack(&["ab", "cd"]).unwrap(), b"ab\0cd");
        assert_eq!(packing.pack(&["ab", "cde"]), Err(Unpackable::TooLong(6)));
        assert_eq!(packing.pack(&["a\0", "c"]), Err(Unpackable::Zero));
        // What no table makes is no key.
        for bytes in [&b"abcd"[..], b"a\0b\0c", b"\0ab", b"ab\0", b"\xff\0a"] {
            assert_eq!(packing.unpack(bytes), None, "{bytes:?}");
        }
    }

    #[test]
    fn hashes_are_bound_to_the_job() {
        let one = packing(1, false, KeyForm::Hashed, 16);
        let other = KeyPacking { terms: [8; 32], ..one.clone() };
        assert_ne!(one.pack(&["key"]), other.pack(&["key"]));
        let packed = one.pack(&["a key that is far longer than sixteen bytes"]).unwrap();
        assert!(one.unpack(&packed).unwrap()[0].starts_with(&hex(&packed)));
        assert_eq!(one.unpack(&packed).unwrap()[0].len(), 32);
    }

    proptest! {
        #[test]
        fn keys_come_back(parts in prop::collection::vec("[^\0]{1,12}", 1..4), address in any::<u128>()) {
            let text = packing(parts.len(), false, KeyForm::Embedded, 256);
            let texts: Vec<&str> = parts.iter().map(String::as_str).collect();
            prop_assert_eq!(text.unpack(&text.pack(&texts).unwrap()).unwrap(), parts);
            let mut canonical = String::new();
            Profile::Ip.canonical(&Ipv6Addr::from(address).to_string(), &mut canonical);
            if address != 0 {
                let packing = packing(1, true, KeyForm::Embedded, 16);
                prop_assert_eq!(packing.unpack(&packing.pack(&[&canonical]).unwrap()).unwrap(), [canonical]);
            }
        }

        #[test]
        fn whatever_is_unpacked_packs_to_the_same(bytes in prop::collection::vec(any::<u8>(), 0..18)) {
            for packing in [packing(1, true, KeyForm::Embedded, 16), packing(2, false, KeyForm::Embedded, 16)] {
                if let Some(parts) = packing.unpack(&bytes) {
                    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
                    prop_assert_eq!(packing.pack(&parts).unwrap(), bytes.clone());
                }
            }
        }
    }
}
