//! Small logarithms, by baby steps and giant steps (Shanks, 1971).

use crate::primitive::group::Group;

/// Baby steps to begin with: what is below their square is found with them alone.
const FIRST: u64 = 1 << 10;

/// Points that are worked on at a time, which bounds the memory besides the table.
const BATCH: u64 = 1 << 12;

/// Last bytes of an encoding by which a point is known. A baby step and a giant step of 2^20 each are taken for each
/// other by chance with probability 2^-54 at most.
const TAG_BYTES: usize = 12;

/// Bits for the number of a baby step.
const NUMBER_BITS: u32 = 32;

/// Bytes that a baby step takes: a row of the table, while that is copied into one twice as large.
pub const STEP_BYTES: u64 = 24;

/// Baby steps at most, to find a number below `bound`. There are at most one and a half as many giant steps.
pub fn most_steps(bound: u64) -> u64 {
    let mut steps = FIRST;
    while steps.saturating_mul(steps) < bound {
        steps *= 2;
    }
    steps
}

/// m for each point m G with m below `bound`, none for others. It takes the time and the table for twice the root of
/// the largest m, or of the bound if there is none: the table grows by twos until all are found, and is gone through
/// whole, so that the time tells m within a factor of four.
#[cfg(test)]
pub(crate) fn small<G: Group>(group: &G, points: &[G::Point], bound: u64) -> Vec<Option<u64>> {
    let search = Search::new(group);
    let halves = group.multiply(points, &search.half);
    let mut found = vec![None; points.len()];
    let (mut babies, mut steps, mut ruled_out) = (Vec::new(), FIRST, 0);
    while ruled_out < bound && found.iter().any(Option::is_none) {
        search.grow(&mut babies, steps);
        let until = steps.saturating_mul(steps).min(bound);
        for (found, half) in found.iter_mut().zip(&halves).filter(|(found, _)| found.is_none()) {
            *found = search.find(half, &babies, steps, ruled_out..until);
        }
        (steps, ruled_out) = (2 * steps, until);
    }
    found
}

/// Finds the integers as [`small`] does, but always in the number of steps that the largest take, whatever the integers
/// are. For use where others see the time.
pub(crate) fn in_full<G: Group>(group: &G, points: &[G::Point], bound: u64) -> Vec<Option<u64>> {
    let (search, steps) = (Search::new(group), most_steps(bound));
    let mut babies = Vec::new();
    search.grow(&mut babies, steps);
    group.multiply(points, &search.half).iter().map(|half| search.find(half, &babies, steps, 0..bound)).collect()
}

/// Works on halves of points, as doubles are encoded faster.
struct Search<'a, G: Group> {
    group: &'a G,
    half: G::Scalar,
}

impl<'a, G: Group> Search<'a, G> {
    fn new(group: &'a G) -> Search<'a, G> {
        Search { group, half: group.invert(&[group.scalar(2)]).remove(0) }
    }

    /// Half of m G.
    fn half_of(&self, m: u64) -> G::Point {
        self.group.multiply_generator(&[self.group.times(&self.group.scalar(m), &self.half)]).remove(0)
    }

    /// 0, 1, 2... times half of `step` G.
    fn ladder(&self, step: u64, count: u64) -> Vec<G::Point> {
        let mut ladder = vec![self.half_of(0)];
        while (ladder.len() as u64) < count {
            let further = vec![self.half_of(step * ladder.len() as u64); ladder.len()];
            ladder.extend(self.group.add(&ladder, &further));
        }
        ladder.truncate(count as usize);
        ladder
    }

    /// Tags by which the doubles of these points are known.
    fn tags(&self, halves: &[G::Point]) -> Vec<u128> {
        let tag = |encoding: &[u8]| {
            let mut bytes = [0; 16];
            let last = encoding.len().min(TAG_BYTES);
            bytes[..last].copy_from_slice(&encoding[encoding.len() - last..]);
            u128::from_le_bytes(bytes) << NUMBER_BITS
        };
        self.group.double_encode(halves).chunks(self.group.point_bytes()).map(tag).collect()
    }

    /// Adds baby steps to a sorted table, up to as many.
    fn grow(&self, babies: &mut Vec<u128>, steps: u64) {
        let ladder = self.ladder(1, BATCH.min(steps));
        while (babies.len() as u64) < steps {
            let from = babies.len() as u64;
            let start = vec![self.half_of(from); ladder.len().min((steps - from) as usize)];
            let batch = self.group.add(&ladder[..start.len()], &start);
            babies.extend(self.tags(&batch).into_iter().zip(from..).map(|(tag, number)| tag | u128::from(number)));
        }
        babies.sort_unstable();
    }

    /// The logarithm within `range`, which begins at a giant step. All giant steps are gone.
    fn find(&self, half: &G::Point, babies: &[u128], steps: u64, range: std::ops::Range<u64>) -> Option<u64> {
        let ladder = self.ladder(steps, BATCH.min((range.end - range.start).div_ceil(steps)));
        let mut found = None;
        let mut from = range.start;
        while from < range.end {
            let count = ladder.len().min((range.end - from).div_ceil(steps) as usize);
            let start = self.group.subtract(std::slice::from_ref(half), &[self.half_of(from)]);
            let batch = self.group.subtract(&vec![start[0].clone(); count], &ladder[..count]);
            for (tag, giant) in self.tags(&batch).into_iter().zip(0..) {
                let at = babies.partition_point(|baby| *baby < tag);
                if let Some(baby) = babies.get(at).filter(|baby| *baby >> NUMBER_BITS == tag >> NUMBER_BITS) {
                    let number = (*baby & u128::from(u32::MAX)) as u64;
                    found = found.or(Some(from + giant * steps + number).filter(|found| range.contains(found)));
                }
            }
            from += count as u64 * steps;
        }
        found
    }
}
