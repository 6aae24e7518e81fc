//! Short strings in exponents.

use std::collections::HashMap;

use zeroize::Zeroizing;

use super::{ModP, Point};
use crate::primitive::group::{Embedding, Group, ScalarField};

/// Number of strings that can be embedded.
const STRINGS: u64 = 1 << 16;

impl ModP {
    /// The points of these strings, as numbers.
    fn numbered(&self, numbers: impl Iterator<Item = u64>) -> Vec<Point> {
        // One more, so that none is the identity.
        self.multiply_generator(&numbers.map(|number| self.scalar(number + 1)).collect::<Vec<_>>())
    }

    /// The string of each encoded point that has one.
    fn strings(&self) -> &HashMap<Vec<u8>, u16> {
        self.strings.get_or_init(|| {
            let encoded = self.encode(&self.numbered(0..STRINGS));
            encoded.chunks(self.point_bytes()).map(<[u8]>::to_vec).zip(0..=u16::MAX).collect()
        })
    }
}

/// Two bytes in an exponent, which a table finds: in a subgroup of small order there is no encoding of longer strings
/// that is known to be cheap. The table takes some 200 bytes for each of 2^16 points, and is made when it is first
/// asked.
impl Embedding for ModP {
    const EMBEDDED_BYTES: usize = 2;

    fn embed(&self, bytes: &[u8]) -> Vec<Point> {
        let (strings, rest) = bytes.as_chunks::<{ Self::EMBEDDED_BYTES }>();
        assert!(rest.is_empty(), "a point takes so many bytes");
        self.numbered(strings.iter().map(|string| u64::from(u16::from_le_bytes(*string))))
    }

    fn unembed(&self, points: &[Point]) -> Vec<Option<Zeroizing<Vec<u8>>>> {
        let encoded = Zeroizing::new(self.encode(points));
        let string = |encoding: &[u8]| Some(Zeroizing::new(self.strings().get(encoding)?.to_le_bytes().to_vec()));
        encoded.chunks(self.point_bytes()).map(string).collect()
    }
}
