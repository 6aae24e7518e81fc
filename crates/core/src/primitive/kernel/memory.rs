//! Memory that secrets are in.

use zeroize::{Zeroizing, optimization_barrier};

use super::block::{self, Block};

/// `count` zero blocks, in large pages where the system has them: it is accessed at random places.
pub(crate) fn zeros(count: usize) -> Zeroizing<Vec<Block>> {
    #[allow(unused_mut, reason = "only Linux is advised")]
    let mut blocks = block::zeros(count);
    #[cfg(target_os = "linux")]
    advise(&mut blocks);
    Zeroizing::new(blocks)
}

/// Zeros in the place of what was in a buffer, as a rule on the stack: at once, not block by block as `zeroize` does, so
/// that it costs nothing beside the work that filled it.
#[inline]
pub(crate) fn wipe(blocks: &mut [Block]) {
    blocks.fill(Block::ZERO);
    // Nothing reads the zeros, but the compiler cannot know.
    optimization_barrier(blocks);
}

/// Zeros on the stack below the caller's frame, where functions that have returned left what they worked with.
#[inline(never)]
pub(crate) fn wipe_stack() {
    /// More than a key schedule takes in any of its forms.
    const BYTES: usize = 4096;
    // A variable: of zeros alone there would be one copy, elsewhere.
    let room = [0u8; BYTES];
    optimization_barrier(&room);
}

/// Asks the system for large pages. It may refuse, which costs time only.
#[cfg(target_os = "linux")]
fn advise(blocks: &mut [Block]) {
    /// Below, large pages gain nothing.
    const LARGE: usize = 4 << 20;
    /// A page of any kind starts at a multiple of this on the systems that have large ones.
    const PAGE: usize = 4096;
    let bytes = size_of_val(blocks);
    let start = blocks.as_mut_ptr().cast::<u8>();
    let skip = start.align_offset(PAGE);
    if bytes < LARGE || skip > bytes {
        return;
    }
    // SAFETY: the range lies within the vector, which is borrowed exclusively, and the advice changes neither what is
    // in memory nor how it may be used.
    let _ = unsafe { rustix::mm::madvise(start.add(skip).cast(), bytes - skip, rustix::mm::Advice::LinuxHugepage) };
}
