//! Selection of the next element among several sorted sources.

use std::cmp::Ordering;

/// A source of things in order.
pub trait OrderedSource {
    /// The order of the things that the two have next.
    fn order(&self, other: &Self) -> Ordering;
}

/// A heap of sources, the one with the next thing on top; of equal ones, the earlier one.
pub struct Heap(Vec<usize>);

impl Heap {
    /// Builds a heap of all sources, none of which has ended.
    pub fn new(sources: &[impl OrderedSource]) -> Heap {
        let mut heap = Heap((0..sources.len()).collect());
        for top in (0..sources.len() / 2).rev() {
            heap.sift_down(top, sources);
        }
        heap
    }

    /// The source on top, until all have ended.
    pub fn top(&self) -> Option<usize> {
        self.0.first().copied()
    }

    /// Finds the next one, when the source on top has gone on, or has ended.
    pub fn settle(&mut self, sources: &[impl OrderedSource], ended: bool) {
        if ended {
            self.0.swap_remove(0);
        }
        self.sift_down(0, sources);
    }

    fn sift_down(&mut self, mut at: usize, sources: &[impl OrderedSource]) {
        let heap = &mut self.0;
        let order = |a: usize, b: usize| sources[a].order(&sources[b]).then_with(|| a.cmp(&b));
        loop {
            let least = [2 * at + 1, 2 * at + 2]
                .into_iter()
                .filter(|&child| child < heap.len())
                .fold(at, |least, child| if order(heap[child], heap[least]).is_lt() { child } else { least });
            if least == at {
                return;
            }
            heap.swap(at, least);
            at = least;
        }
    }
}
