//! Message expansion of RFC 9380, section 5.3.1.

use sha2::{Digest, Sha512};
use zeroize::Zeroize;

/// SHA-512's input block in bytes: `s_in_bytes` of the RFC.
const BLOCK_BYTES: usize = 128;
/// SHA-512's output in bytes: `b_in_bytes` of the RFC.
const HASH_BYTES: usize = 64;

/// `expand_message_xmd` with SHA-512: fills `output` from `message` under the domain separation tag `tag`.
///
/// # Panics
///
/// If `output` is longer than 255 hashes, or `tag` longer than 255 bytes. Both are constants of a protocol.
pub fn expand_message_xmd(message: &[u8], tag: &[u8], output: &mut [u8]) {
    let tag_length = u8::try_from(tag.len()).expect("domain separation tags have at most 255 bytes");
    let output_length = u16::try_from(output.len()).expect("outputs have at most 65,535 bytes");
    assert!(output.len() <= 255 * HASH_BYTES, "outputs have at most 255 hashes");

    let mut first = Sha512::new()
        .chain_update([0; BLOCK_BYTES])
        .chain_update(message)
        .chain_update(output_length.to_be_bytes())
        .chain_update([0])
        .chain_update(tag)
        .chain_update([tag_length])
        .finalize();
    let mut previous = [0; HASH_BYTES];
    for (index, part) in (1..=255u8).zip(output.chunks_mut(HASH_BYTES)) {
        for (byte, first_byte) in previous.iter_mut().zip(&first) {
            *byte ^= first_byte;
        }
        let block =
            Sha512::new().chain_update(previous).chain_update([index]).chain_update(tag).chain_update([tag_length]);
        previous = block.finalize().into();
        part.copy_from_slice(&previous[..part.len()]);
    }
    // They tell the message.
    first.as_mut_slice().zeroize();
    previous.zeroize();
}
