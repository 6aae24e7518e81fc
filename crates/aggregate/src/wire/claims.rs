//! Answers of the database to claims of batches.

/// Claims in one request, at most.
pub(crate) const MAX_CLAIMS: usize = 1 << 14;

/// Encodes one bit for each claim, from the lowest of the first byte on: whether it belongs to the proxy that asks.
pub fn encode_answers(own: &[bool]) -> Vec<u8> {
    let byte = |bits: &[bool]| bits.iter().rev().fold(0, |byte, own| byte << 1 | u8::from(*own));
    own.chunks(8).map(byte).collect()
}

/// The answers to so many claims; none if it is not what answers these.
pub fn decode_answers(bytes: &[u8], claims: usize) -> Option<Vec<bool>> {
    let own: Vec<bool> = (0..8 * bytes.len()).map(|place| bytes[place / 8] >> (place % 8) & 1 == 1).collect();
    let fits = bytes.len() == claims.div_ceil(8) && own[claims..].iter().all(|bit| !bit);
    fits.then(|| own[..claims].to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_come_back_and_others_are_none() {
        for claims in [0, 1, 7, 8, 9, 16, 21] {
            let own: Vec<bool> = (0..claims).map(|place| place % 3 == 0).collect();
            let bytes = encode_answers(&own);
            assert_eq!(decode_answers(&bytes, claims).unwrap(), own);
            assert!(decode_answers(&[&bytes[..], &[0]].concat(), claims).is_none());
            if claims > 0 {
                assert!(decode_answers(&bytes[1..], claims).is_none());
            }
            if claims % 8 > 0 {
                let mut more = bytes.clone();
                more[claims / 8] |= 0x80;
                assert!(decode_answers(&more, claims).is_none(), "a bit of no claim");
            }
        }
    }
}
