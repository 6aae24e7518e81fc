//! Rows of a result as they travel: the key, how many reports it had, and where values are revealed, how many had
//! which.

/// The most values of a row: as many as a domain may have.
const MAX_VALUES: usize = 1 << 20;

/// A key that was revealed.
#[derive(Clone, PartialEq, Eq)]
pub struct RevealedKey {
    /// The key as it travels.
    pub key: Vec<u8>,
    /// Number of reports in the row.
    pub count: u64,
    /// Number of reports with each value, by the value's place, ascending; empty where values are not revealed.
    pub values: Vec<(u32, u64)>,
    /// Sum of the values with noise, instead of values.
    pub noisy_sum: Option<i128>,
}

/// Number of values that says that a sum with noise stands in their place.
const NOISY_SUM: u32 = u32::MAX;

/// Keys are nobody's business but the reader's.
impl std::fmt::Debug for RevealedKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Found(.., {} reports)", self.count)
    }
}

/// The encoding of rows: of each the length of its key (2 bytes), the key, the count (8), the number of values (4), and
/// of each its place (4) and how often it was reported (8). A sum with noise (16) stands behind the number 2^32 - 1, in
/// place of values. All numbers are little-endian.
pub fn encode_rows(rows: &[RevealedKey]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for row in rows {
        bytes.extend((row.key.len() as u16).to_le_bytes());
        bytes.extend(&row.key);
        bytes.extend(row.count.to_le_bytes());
        if let Some(sum) = row.noisy_sum {
            bytes.extend(NOISY_SUM.to_le_bytes());
            bytes.extend(sum.to_le_bytes());
            continue;
        }
        bytes.extend((row.values.len() as u32).to_le_bytes());
        for (place, count) in &row.values {
            bytes.extend(place.to_le_bytes());
            bytes.extend(count.to_le_bytes());
        }
    }
    bytes
}

/// The rows that were encoded; none if these bytes are no encoding of rows with keys of at most `key_bytes`.
pub fn decode_rows(mut bytes: &[u8], key_bytes: usize) -> Option<Vec<RevealedKey>> {
    let mut rows = Vec::new();
    while !bytes.is_empty() {
        let length = usize::from(u16::from_le_bytes(take(&mut bytes)?));
        if length > key_bytes {
            return None;
        }
        let (key, rest) = bytes.split_at_checked(length)?;
        bytes = rest;
        let count = u64::from_le_bytes(take(&mut bytes)?);
        let number = u32::from_le_bytes(take(&mut bytes)?);
        if number == NOISY_SUM {
            let noisy_sum = Some(i128::from_le_bytes(take(&mut bytes)?));
            rows.push(RevealedKey { key: key.to_vec(), count, values: Vec::new(), noisy_sum });
            continue;
        }
        let number = number as usize;
        if number > MAX_VALUES || number * 12 > bytes.len() {
            return None;
        }
        let mut values: Vec<(u32, u64)> = Vec::with_capacity(number);
        for _ in 0..number {
            let (place, count) = (u32::from_le_bytes(take(&mut bytes)?), u64::from_le_bytes(take(&mut bytes)?));
            if values.last().is_some_and(|(last, _)| *last >= place) {
                return None;
            }
            values.push((place, count));
        }
        rows.push(RevealedKey { key: key.to_vec(), count, values, noisy_sum: None });
    }
    Some(rows)
}

/// The next bytes, as many as a number has.
pub(crate) fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (first, rest) = bytes.split_first_chunk::<N>()?;
    *bytes = rest;
    Some(*first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back_and_nothing_else_is_read() {
        let rows = vec![
            RevealedKey { key: b"key".to_vec(), count: 3, values: vec![(0, 1), (2, 2)], noisy_sum: None },
            RevealedKey { key: vec![], count: 1, values: vec![], noisy_sum: None },
        ];
        let bytes = encode_rows(&rows);
        assert_eq!(decode_rows(&bytes, 16).unwrap(), rows);
        assert!(decode_rows(&bytes, 2).is_none(), "a key that is too long");
        for length in 1..bytes.len() {
            // Only the end of a row is one.
            assert_eq!(decode_rows(&bytes[..length], 16).is_some(), length == 3 + 2 + 8 + 4 + 24, "{length}");
        }
        let mut claims = bytes.clone();
        claims[13..17].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(decode_rows(&claims, 16).is_none());
        let twice =
            encode_rows(&[RevealedKey { key: b"k".to_vec(), count: 2, values: vec![(1, 1), (1, 1)], noisy_sum: None }]);
        assert!(decode_rows(&twice, 16).is_none());
    }

    #[test]
    fn a_sum_with_noise_stands_in_the_place_of_values() {
        let rows = [-5_i128, i128::MAX].map(|sum| RevealedKey {
            key: b"k".to_vec(),
            count: 7,
            values: vec![],
            noisy_sum: Some(sum),
        });
        let bytes = encode_rows(&rows);
        assert_eq!(decode_rows(&bytes, 16).unwrap(), rows);
        assert!((1..bytes.len()).filter(|length| decode_rows(&bytes[..*length], 16).is_some()).eq([31]));
    }
}
