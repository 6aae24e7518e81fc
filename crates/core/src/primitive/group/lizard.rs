//! Strings in points of ristretto255: the encoding Lizard (Westerbaan, 2018), with SHA-256. 16 bytes are among 253 bits
//! of a field element, the others are taken from their hash, and then comes the map of RFC 9496 to a point. Of the at
//! most 8 field elements that a point may come from one has the right hash, but for a chance of 2^-122.

use rayon::prelude::*;
use sha2::Sha256;
use zeroize::Zeroizing;

use super::ristretto255::form;
use super::{Embedding, Point, Ristretto255};

/// One step of work for a processor.
const BATCH: usize = 64;

impl Embedding for Ristretto255 {
    const EMBEDDED_BYTES: usize = 16;

    fn embed(&self, bytes: &[u8]) -> Vec<Point> {
        let (strings, rest) = bytes.as_chunks::<{ Self::EMBEDDED_BYTES }>();
        assert!(rest.is_empty(), "a point takes so many bytes");
        let mut points = vec![Point::identity(); strings.len()];
        points.par_chunks_mut(BATCH).zip(strings.par_chunks(BATCH)).for_each(|(points, strings)| {
            form().embed(strings, points);
        });
        points
    }

    fn unembed(&self, points: &[Point]) -> Vec<Option<Zeroizing<Vec<u8>>>> {
        let string = |point: &Point| Some(Zeroizing::new(point.to_library().lizard_decode::<Sha256>()?.to_vec()));
        points.par_iter().with_min_len(BATCH).map(string).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::primitive::group::Group;
    use chacha20::ChaCha20Rng;
    use rand_core::SeedableRng;

    /// Vectors of curve25519-dalek, from the reference in Sage; and strings that no point's neighbour has.
    #[test]
    fn strings_come_back_from_their_points() {
        let vector = Ristretto255.encode(&Ristretto255.embed(&[1; 16]));
        assert_eq!(vector[..8], [0xcc, 0x92, 0xe8, 0x1f, 0x58, 0x5a, 0xfc, 0x5c]);
        let mut strings = vec![0; 64 * 16];
        let mut rng = ChaCha20Rng::from_seed([8; 32]);
        rand_core::Rng::fill_bytes(&mut rng, &mut strings[32..]);
        strings[16..32].fill(0xff);
        let points = Ristretto255.embed(&strings);
        assert!(!Ristretto255.any_identity(&points));
        // Through their encodings, as they travel; of which another representative comes back.
        let points = Ristretto255.decode(&Ristretto255.encode(&points)).unwrap();
        let read: Vec<u8> =
            Ristretto255.unembed(&points).into_iter().flat_map(|string| string.unwrap().to_vec()).collect();
        assert!(read == strings);
        let others = [Ristretto255.random_points(40, &mut rng), Ristretto255.add(&points[..1], &points[1..2])].concat();
        assert!(Ristretto255.unembed(&others).iter().all(Option::is_none));
        assert!(Ristretto255.unembed(&[Point::identity()])[0].is_none());
    }
}
