//! Unpacking: never to more bytes than were agreed beforehand.

use std::io::Read;

use flate2::read::MultiGzDecoder;
use parquet::basic::Compression;

/// Error text for bytes that are not what they claim.
const CORRUPT: &str = "a packed block is corrupt; write the file again";

/// Unpacks `packed`, which must give exactly `length` bytes.
pub(super) fn unpack(codec: Compression, packed: &[u8], length: usize) -> Result<Vec<u8>, String> {
    // A block without values may have nothing that could be unpacked.
    if length == 0 {
        return Ok(Vec::new());
    }
    let unpacked = match codec {
        Compression::UNCOMPRESSED => Some(packed.to_vec()),
        Compression::SNAPPY => filled(length, |out| snap::raw::Decoder::new().decompress(packed, out).ok()),
        Compression::GZIP(_) => read(MultiGzDecoder::new(packed), length),
        Compression::BROTLI(_) => read(brotli::Decompressor::new(packed, 1 << 16), length),
        Compression::ZSTD(_) => zstd(packed, length),
        Compression::LZ4_RAW => lz4_block(packed, length),
        // Three things are called so: frames of Hadoop, LZ4's own, and blocks.
        Compression::LZ4 => {
            lz4_hadoop(packed, length).or_else(|| lz4_frame(packed, length)).or_else(|| lz4_block(packed, length))
        }
        other => {
            return Err(format!("its blocks are packed by {other:?}, which is not read: write it with another codec"));
        }
    };
    unpacked.filter(|bytes| bytes.len() == length).ok_or_else(|| CORRUPT.to_owned())
}

/// Returns the `length` bytes that `fill` writes; it returns the number of bytes written.
fn filled(length: usize, fill: impl FnOnce(&mut [u8]) -> Option<usize>) -> Option<Vec<u8>> {
    let mut out = vec![0; length];
    let written = fill(&mut out)?;
    (written == length).then_some(out)
}

/// The bytes of `input`, or one more than `length` of them. Memory grows with what comes.
fn read(input: impl Read, length: usize) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    input.take(length as u64 + 1).read_to_end(&mut out).ok()?;
    Some(out)
}

fn lz4_block(packed: &[u8], length: usize) -> Option<Vec<u8>> {
    filled(length, |out| lz4_flex::block::decompress_into(packed, out).ok())
}

pub(super) fn zstd(packed: &[u8], length: usize) -> Option<Vec<u8>> {
    filled(length, |out| zstd::bulk::decompress_to_buffer(packed, out).ok())
}

/// Frames as LZ4 itself has them, which may end early or go on.
pub(super) fn lz4_frame(packed: &[u8], length: usize) -> Option<Vec<u8>> {
    read(lz4_flex::frame::FrameDecoder::new(packed), length)
}

/// Blocks, each after its length and its packed length (4 bytes each, big-endian).
fn lz4_hadoop(mut packed: &[u8], length: usize) -> Option<Vec<u8>> {
    filled(length, |out| {
        let mut written = 0;
        while !packed.is_empty() {
            let (block, rest) = packed.split_first_chunk::<4>()?;
            let (of, rest) = rest.split_first_chunk::<4>()?;
            let (block, of) = (u32::from_be_bytes(*block) as usize, u32::from_be_bytes(*of) as usize);
            let (of, rest) = rest.split_at_checked(of)?;
            let out = out.get_mut(written..)?.get_mut(..block)?;
            if lz4_flex::block::decompress_into(of, out).ok()? != block {
                return None;
            }
            written += block;
            packed = rest;
        }
        Some(written)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_end_is_read_to_its_length() {
        assert_eq!(read(std::io::repeat(0), 10).map(|bytes| bytes.len()), Some(11));
    }

    #[test]
    fn frames_of_hadoop_are_unpacked_within_their_length() {
        let frame = |text: &[u8]| {
            let packed = lz4_flex::block::compress(text);
            [&(text.len() as u32).to_be_bytes()[..], &(packed.len() as u32).to_be_bytes(), &packed].concat()
        };
        let two = [frame(b"one, one, one, one"), frame(b"two")].concat();
        assert_eq!(unpack(Compression::LZ4, &two, 21).as_deref(), Ok(&b"one, one, one, onetwo"[..]));
        for length in [1, 18, 20, 22] {
            assert!(unpack(Compression::LZ4, &two, length).is_err(), "{length}");
        }
        for cut in 0..two.len() {
            assert!(unpack(Compression::LZ4, &two[..cut], 21).is_err(), "{cut}");
        }
    }
}
