//! Memory that secrets are in.

use std::alloc::{Layout, alloc_zeroed, handle_alloc_error};
use std::ops::{Deref, DerefMut};

use zeroize::{Zeroize, optimization_barrier};

use super::block::Block;

/// Blocks that are wiped together: those of a page.
const PIECE: usize = 256;

/// Blocks of secrets, wiped when they are dropped.
///
/// Only pieces that hold anything but zeros are written for that. A page of the system's that was never written is then
/// looked at and not taken: a vector that is given up early costs what was put into it, however long a peer has made
/// it. (Whether a whole piece is zero says nothing of secrets that are random.)
#[derive(Default)]
pub(crate) struct Secrets(Vec<Block>);

impl Secrets {
    /// `count` zero blocks, in memory that the system hands out zeroed, and in large pages where it has them: they are
    /// accessed at random places. `None` if there is not so much.
    pub(crate) fn try_zeros(count: usize) -> Option<Secrets> {
        if count == 0 {
            return Some(Secrets::default());
        }
        let layout = Layout::array::<Block>(count).ok()?;
        // SAFETY: the layout's size is not zero.
        let start = unsafe { alloc_zeroed(layout) }.cast::<Block>();
        if start.is_null() {
            return None;
        }
        // SAFETY: the allocator that vectors have has given memory of exactly this layout, all of it zero, which is a valid
        // `Block`; nobody else owns it.
        #[allow(unused_mut, reason = "only Linux is advised")]
        let mut blocks = unsafe { Vec::from_raw_parts(start, count, count) };
        #[cfg(target_os = "linux")]
        advise(&mut blocks);
        Some(Secrets(blocks))
    }

    /// Allocates zeros as [`Secrets::try_zeros`] does, for a count that no peer decides: the program ends if there is
    /// too little memory.
    pub(crate) fn zeros(count: usize) -> Secrets {
        Secrets::try_zeros(count)
            .unwrap_or_else(|| handle_alloc_error(Layout::array::<Block>(count).unwrap_or(Layout::new::<Block>())))
    }

    /// None yet, with room for `count`, which takes no memory before they are there. `None` if there is not so much.
    pub(crate) fn with_room(count: usize) -> Option<Secrets> {
        let mut blocks = Vec::new();
        blocks.try_reserve_exact(count).ok()?;
        Some(Secrets(blocks))
    }

    /// Appends `count` zero blocks, for which there must be room: a vector that moved would leave its secrets behind.
    pub(crate) fn grow(&mut self, count: usize) -> &mut [Block] {
        let start = self.0.len();
        assert!(count <= self.0.capacity() - start, "secrets grow in the room that they have");
        self.0.resize(start + count, Block::ZERO);
        &mut self.0[start..]
    }
}

impl Deref for Secrets {
    type Target = [Block];

    fn deref(&self) -> &[Block] {
        &self.0
    }
}

impl DerefMut for Secrets {
    fn deref_mut(&mut self) -> &mut [Block] {
        &mut self.0
    }
}

impl Drop for Secrets {
    fn drop(&mut self) {
        wipe_written(&mut self.0);
    }
}

fn wipe_written(blocks: &mut [Block]) {
    for piece in blocks.chunks_mut(PIECE) {
        if piece.iter().fold(0, |all, block| all | block.0) != 0 {
            piece.zeroize();
            #[cfg(test)]
            tests::WIPED.set(tests::WIPED.get() + 1);
        }
    }
}

/// Zeros in the place of what was in a buffer, as a rule on the stack: at once, not block by block as `zeroize` does,
/// so that it costs nothing beside the work that filled it.
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

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    thread_local! {
        /// Pieces that this thread has wiped: memory that was freed cannot be looked at.
        pub(super) static WIPED: Cell<usize> = const { Cell::new(0) };
    }

    #[test]
    fn what_was_written_is_wiped_when_it_is_dropped() {
        let mut secrets = Secrets::zeros(10 * PIECE);
        for place in [0, 5 * PIECE - 1, 10 * PIECE - 1] {
            secrets[place] = Block::ONE;
        }
        drop(secrets);
        assert_eq!(WIPED.take(), 3);
        let mut secrets = Secrets::with_room(10 * PIECE).unwrap();
        secrets.grow(2 * PIECE).fill(Block::ONE);
        drop(secrets);
        assert_eq!(WIPED.take(), 2);
    }

    #[test]
    fn room_is_there_or_refused() {
        let mut secrets = Secrets::with_room(1000).unwrap();
        let start = secrets.as_ptr();
        secrets.grow(300).fill(Block::ONE);
        assert!(secrets.grow(700).iter().all(|block| *block == Block::ZERO));
        assert!(secrets.len() == 1000 && secrets.as_ptr() == start && secrets[299] == Block::ONE);
        assert!(Secrets::try_zeros(1000).unwrap().iter().all(|block| *block == Block::ZERO));
        assert!(Secrets::try_zeros(0).unwrap().is_empty() && Secrets::zeros(0).is_empty());
        // More than any machine can address, and more than a layout can say.
        for count in [1 << 56, usize::MAX] {
            assert!(Secrets::with_room(count).is_none() && Secrets::try_zeros(count).is_none(), "{count}");
        }
    }

    #[test]
    #[should_panic(expected = "in the room that they have")]
    fn secrets_do_not_move() {
        Secrets::with_room(10).unwrap().grow(1 << 20);
    }

    /// Wiping leaves zeros, and takes no pages that were never written.
    #[test]
    #[cfg(target_os = "linux")]
    fn what_was_written_is_wiped_and_nothing_else_is_touched() {
        let resident = || -> usize {
            let status = std::fs::read_to_string("/proc/self/status").unwrap();
            let held = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
            held.trim().trim_end_matches(" kB").parse::<usize>().unwrap() * 1024
        };
        let before = resident();
        let mut secrets = Secrets::zeros(1 << 26);
        for place in [0, 5 * PIECE - 1, (1 << 25) + 7, (1 << 26) - 1] {
            secrets[place] = Block(place as u128 + 1);
        }
        wipe_written(&mut secrets);
        assert!(resident() < before + (1 << 29), "of the 2^30 bytes, few were written");
        assert!(secrets.iter().all(|block| *block == Block::ZERO));
    }
}
