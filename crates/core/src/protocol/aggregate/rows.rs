//! Data formats that the steps share: keys as bytes and as points, columns of points, and the doubling of points that
//! are written.
//!
//! An encoding of twice a point takes a fifth of the time that the point's own takes (in Ristretto), so proxy, database
//! and those that ask write the double of what they have computed. A ciphertext of X so becomes one of 2X at each step,
//! with everything in it: the id of a row is the encoding of 4 R, where R is the row function's value, and what the
//! oracle decrypts is 8 times the key.

use zeroize::Zeroizing;

use crate::primitive::group::{Embedding, Group};

use super::{ID_BYTES, Params};

/// Number of times that a ciphertext of the key has been doubled when the oracle decrypts it. It is doubled by the
/// proxy, by the database that opens it, and when the database asks.
pub(super) const DOUBLINGS: u32 = 3;

/// Points that stand in the same place of many reports or entries.
pub(super) type Column<G> = Vec<<G as Group>::Point>;

/// Ciphertexts that stand in the same place of many.
pub(super) type Pair<G> = [Column<G>; 2];

/// The columns of points that follow each other, so many of each; in pairs.
pub(crate) fn columns<G: Group>(points: Vec<G::Point>, width: usize) -> Vec<Pair<G>> {
    let rows = points.len() / width.max(1);
    let mut columns: Vec<Pair<G>> = (0..width / 2).map(|_| [0, 1].map(|_| Vec::with_capacity(rows))).collect();
    for (index, point) in points.into_iter().enumerate() {
        let place = index % width;
        columns[place / 2][place % 2].push(point);
    }
    columns
}

/// The encodings of twice the points, row by row.
pub(crate) fn encode_rows<G: Group>(group: &G, columns: &[&Column<G>]) -> Vec<u8> {
    let (width, length) = (columns.len(), group.point_bytes());
    let rows = columns.first().map_or(0, |column| column.len());
    let mut bytes = vec![0; rows * width * length];
    for (place, column) in columns.iter().enumerate() {
        for (row, encoding) in group.double_encode(column).chunks(length).enumerate() {
            bytes[(row * width + place) * length..][..length].copy_from_slice(encoding);
        }
    }
    bytes
}

/// Points doubled so often.
pub(super) fn doubled<G: Group>(group: &G, points: &[G::Point], times: u32) -> Column<G> {
    (0..times).fold(points.to_vec(), |points, _| group.add(&points, &points))
}

/// Identifier of a row or a tag, from the encoding of its point: the same, or its hash if that has another length.
pub(super) fn id(encoded: &[u8]) -> [u8; ID_BYTES] {
    encoded.try_into().unwrap_or_else(|_| blake3::derive_key("tacita 1 aggregate id", encoded))
}

/// The ids of the rows with these values of the row function, as the database computes them.
pub(super) fn ids<G: Group>(group: &G, values: &[G::Point]) -> Vec<[u8; ID_BYTES]> {
    group.double_encode(&doubled(group, values, 1)).chunks(group.point_bytes()).map(id).collect()
}

impl<G: Embedding> Params<G> {
    /// A key as it is embedded and hashed: filled up with zero bytes. It must not be longer than agreed.
    pub(super) fn padded(&self, key: &[u8]) -> Zeroizing<Vec<u8>> {
        assert!(key.len() <= self.key_bytes(), "no key is longer than agreed");
        let mut padded = Zeroizing::new(vec![0; self.padded_bytes()]);
        padded[..key.len()].copy_from_slice(key);
        padded
    }

    /// A key from what was embedded: without the zero bytes at its end; none if it is longer than agreed.
    pub(super) fn unpadded(&self, padded: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
        let length = padded.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
        (length <= self.key_bytes()).then(|| Zeroizing::new(padded[..length].to_vec()))
    }

    /// H of each key: a point that stands for it in this round.
    pub(super) fn hashed(&self, keys: &[Zeroizing<Vec<u8>>]) -> Column<G> {
        let round = self.session.derive("aggregate row");
        let message = |padded: &Zeroizing<Vec<u8>>| Zeroizing::new([&round[..], padded].concat());
        let messages: Vec<Zeroizing<Vec<u8>>> = keys.iter().map(message).collect();
        self.group
            .hash_to_points(&messages.iter().map(|message| &message[..]).collect::<Vec<_>>(), b"tacita 1 aggregate row")
    }
}
