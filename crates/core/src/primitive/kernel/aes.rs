//! AES-128 under a fixed key, many blocks at a time.

use aes::Aes128Enc;
use aes::cipher::{Array, BlockCipherEncrypt, KeyInit};

use super::backend::{self, Backend};
use super::block::{self, Block};
use super::memory::wipe_stack;
#[cfg(target_arch = "x86_64")]
use super::x86;

/// AES-128 (FIPS 197) in the direction of encryption, under one key.
///
/// Slices are fast, single blocks are not: a call for one block takes about as long as one for sixteen.
pub struct Aes128(pub(super) Keys);

/// The key schedule of a back end.
pub(super) enum Keys {
    /// Boxed, since its bit-sliced form takes more than 700 bytes.
    Portable(Box<Aes128Enc>),
    /// Made only where the processor has `Family::Avx512`.
    #[cfg(target_arch = "x86_64")]
    Avx512(x86::aes::Keys),
}

/// The key schedule. It wipes itself when it is dropped, but was made elsewhere, and moved: in this function's frame,
/// which is below that of whoever calls it.
#[inline(never)]
fn schedule(backend: Backend, key: Block) -> Keys {
    match backend.family() {
        // SAFETY: the processor has what the back end needs.
        #[cfg(target_arch = "x86_64")]
        backend::Family::Avx512 => Keys::Avx512(unsafe { x86::aes::Keys::new(key) }),
        _ => Keys::Portable(Box::new(Aes128Enc::new(&Array(key.to_bytes())))),
    }
}

/// Number of blocks that portable code encrypts in one call: enough for any width, and 4 KiB of stack.
pub(super) const BATCH: usize = 256;

impl Aes128 {
    /// The permutation under `key`.
    pub fn new(key: Block) -> Aes128 {
        Aes128::on(backend::chosen(), key)
    }

    /// Creates the cipher as [`Aes128::new`] does, on a back end that is available.
    pub(super) fn on(backend: Backend, key: Block) -> Aes128 {
        let keys = schedule(backend, key);
        wipe_stack();
        Aes128(keys)
    }

    /// The encryption of one block.
    pub fn encrypt(&self, block: Block) -> Block {
        let mut blocks = [block];
        self.encrypt_blocks(&mut blocks);
        blocks[0]
    }

    /// Encrypts each block in place.
    pub fn encrypt_blocks(&self, blocks: &mut [Block]) {
        match &self.0 {
            Keys::Portable(keys) => keys.encrypt_blocks(Array::slice_as_chunks_mut(block::as_bytes_mut(blocks)).0),
            // SAFETY: `Keys::Avx512` exists where the processor has what its functions need.
            #[cfg(target_arch = "x86_64")]
            Keys::Avx512(keys) => unsafe { x86::aes::encrypt_in_place(keys, blocks) },
        }
    }

    /// `out[i]` is the encryption of `input[i]`. The slices must be equally long.
    pub(crate) fn encrypt_to(&self, input: &[Block], out: &mut [Block]) {
        assert_eq!(input.len(), out.len(), "as many outputs as inputs");
        match &self.0 {
            Keys::Portable(_) => {
                out.copy_from_slice(input);
                self.encrypt_blocks(out);
            }
            // SAFETY: as in `encrypt_blocks`.
            #[cfg(target_arch = "x86_64")]
            Keys::Avx512(keys) => unsafe { x86::aes::encrypt_to(keys, input, out) },
        }
    }

    /// `out[i]` is the encryption of the number `start + i`: counter mode. The sum must stay below 2^64.
    pub fn encrypt_counters(&self, start: u64, out: &mut [Block]) {
        check_counters(start, out.len());
        match &self.0 {
            Keys::Portable(_) => {
                for (index, block) in out.iter_mut().enumerate() {
                    *block = Block(u128::from(start) + index as u128);
                }
                self.encrypt_blocks(out);
            }
            // SAFETY: as in `encrypt_blocks`.
            #[cfg(target_arch = "x86_64")]
            Keys::Avx512(keys) => unsafe { x86::aes::counters(keys, start, out) },
        }
    }
}

/// Counters are 64 bits; no two blocks of one stream may have the same.
pub(super) fn check_counters(start: u64, count: usize) {
    assert!(start.checked_add(count as u64).is_some(), "a stream has at most 2^64 blocks");
}

impl std::fmt::Debug for Aes128 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Aes128(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FIPS 197, appendix B and appendix C.1.
    #[test]
    fn standard_examples() {
        let block = |hex: u128| Block::from_bytes(hex.to_be_bytes());
        let cases = [
            (
                0x2b7e151628aed2a6abf7158809cf4f3c,
                0x3243f6a8885a308d313198a2e0370734,
                0x3925841d02dc09fbdc118597196a0b32,
            ),
            (
                0x000102030405060708090a0b0c0d0e0f,
                0x00112233445566778899aabbccddeeff,
                0x69c4e0d86a7b0430d8cdb78070b4c55a,
            ),
        ];
        for backend in backend::available() {
            for (key, plain, cipher) in cases {
                assert_eq!(Aes128::on(backend, block(key)).encrypt(block(plain)), block(cipher));
            }
        }
    }

    /// Returns the contents of the stack below the caller's frame.
    #[cfg(target_arch = "x86_64")]
    #[inline(never)]
    fn below() -> Vec<u8> {
        const BYTES: usize = 16 << 10;
        let mut seen = vec![0; BYTES];
        // SAFETY: a thread's stack goes on below, and bytes are read only, those of functions that have returned; as many are
        // written as there is room for.
        unsafe {
            std::arch::asm!("lea rsi, [rsp - 16384]", "rep movsb",
                inout("rcx") BYTES => _, inout("rdi") seen.as_mut_ptr() => _, out("rsi") _, options(nostack));
        }
        seen
    }

    /// The key of the last round is not found; with a schedule that was not wiped, it is.
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn a_schedule_leaves_nothing_on_the_stack() {
        let last = 0xb4ef5bcb3e92e21123e951cf6f8f188e_u128.to_be_bytes();
        let is_there = || below().windows(last.len()).any(|bytes| bytes == last);
        for backend in backend::available() {
            let keys = Aes128::on(backend, Block::ZERO);
            assert!(!is_there(), "{backend:?}");
            drop(keys);
            assert!(!is_there(), "{backend:?}");
        }
    }

    /// SP 800-38A, F.5.1 (CTR-AES128): the input blocks are consecutive big-endian counters, given here as blocks.
    #[test]
    fn standard_counter_mode() {
        let block = |hex: u128| Block::from_bytes(hex.to_be_bytes());
        let counter = 0xf0f1f2f3f4f5f6f7f8f9fafbfcfdfeff_u128;
        let expected = [
            0xec8cdf7398607cb0f2d21675ea9ea1e4,
            0x362b7c3c6773516318a077d7fc5073ae,
            0x6a2cc3787889374fbeb4c81b17ba6c44,
            0xe89c399ff0f198c6d40a31db156cabfe,
        ];
        for backend in backend::available() {
            let mut blocks: Vec<_> = (0..4).map(|index| block(counter + index)).collect();
            Aes128::on(backend, block(0x2b7e151628aed2a6abf7158809cf4f3c)).encrypt_blocks(&mut blocks);
            assert_eq!(blocks, expected.map(block));
        }
    }

    #[test]
    fn slices_agree_with_single_blocks() {
        for backend in backend::available() {
            check_slices(Aes128::on(backend, Block(7)));
        }
    }

    fn check_slices(cipher: Aes128) {
        for count in [0, 1, 2, 3, 4, 5, 15, 16, 17, 63, 64, 65, 255, 256, 257, 1000] {
            let portable = Aes128::on(Backend::PORTABLE, Block(7));
            let one_by_one: Vec<_> = (0..count).map(|index| portable.encrypt(Block(90 + index as u128))).collect();
            let input: Vec<_> = (0..count).map(|index| Block(90 + index as u128)).collect();
            // One block more in front, so that slices do not begin where vectors would.
            let mut room = vec![Block::ZERO; count + 1];
            let blocks = &mut room[1..];
            blocks.copy_from_slice(&input);
            cipher.encrypt_blocks(blocks);
            assert_eq!(blocks, one_by_one);
            blocks.fill(Block::ZERO);
            cipher.encrypt_to(&input, blocks);
            assert_eq!(blocks, one_by_one);
            blocks.fill(Block::ZERO);
            cipher.encrypt_counters(90, blocks);
            assert_eq!(blocks, one_by_one);
        }
    }
}
