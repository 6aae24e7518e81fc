//! Lengths of the values of a page once they are laid out one after the other, and pages of values that share prefixes.
//! Both can expand greatly: a dictionary's value may occur in every row, and so may a value's prefix.

/// The lengths of `count` values in the plain encoding, each after its length in 4 bytes; `None` if they are not that.
pub(super) fn plain_lengths(mut bytes: &[u8], count: usize) -> Option<Lengths> {
    let mut lengths = Vec::new();
    if count > bytes.len() / 4 {
        return None;
    }
    for _ in 0..count {
        let (length, rest) = bytes.split_first_chunk::<4>()?;
        let length = u32::from_le_bytes(*length);
        bytes = rest.get(length as usize..)?;
        lengths.push(length);
    }
    Some(Lengths(lengths))
}

/// Length of each value of a dictionary.
pub(super) struct Lengths(Vec<u32>);

impl Lengths {
    /// Returns the greatest length.
    pub fn most(&self) -> u64 {
        self.0.iter().copied().max().unwrap_or(0).into()
    }

    /// The most bytes that any `window` values in succession take, about, among the `count` that `indices` (in the
    /// hybrid encoding, after the byte with their width) name: at least that many, and at most twice.
    pub fn densest(&self, indices: &[u8], count: usize, window: usize) -> u64 {
        let mut weight = Weight::new(window);
        let Some((&width, mut bytes)) = indices.split_first().filter(|(width, _)| **width <= 32) else { return 0 };
        let width = usize::from(width);
        let length = |index: u64| self.0.get(index as usize).copied().unwrap_or(0);
        let mut left = count;
        while left > 0 {
            let Some((head, rest)) = varint(bytes) else { break };
            bytes = rest;
            let run = usize::try_from(head >> 1).unwrap_or(usize::MAX);
            if head & 1 == 0 {
                let Some((index, rest)) = bytes.split_at_checked(width.div_ceil(8)) else { break };
                bytes = rest;
                let index = index.iter().rev().fold(0u64, |index, byte| index << 8 | u64::from(*byte));
                weight.add(length(index), run.min(left));
                left -= run.min(left);
            } else {
                let (packed, rest) = bytes.split_at(run.saturating_mul(width).min(bytes.len()));
                bytes = rest;
                let values = (packed.len() * 8).checked_div(width).unwrap_or(run.saturating_mul(8));
                let values = values.min(left);
                if width == 0 {
                    weight.add(length(0), values);
                } else {
                    (0..values).for_each(|value| weight.add(length(bits(packed, value * width, width)), 1));
                }
                left -= values;
                if values == 0 && run > 0 {
                    break;
                }
            }
        }
        weight.densest()
    }
}

/// Adds up lengths in windows.
struct Weight {
    window: usize,
    room: usize,
    sum: u64,
    most: u64,
    total: u64,
}

impl Weight {
    fn new(window: usize) -> Weight {
        Weight { window: window.max(1), room: window.max(1), sum: 0, most: 0, total: 0 }
    }

    /// Adds `times` values of a length.
    fn add(&mut self, length: u32, mut times: usize) {
        let bytes = |times: usize| u64::from(length).saturating_mul(times as u64);
        self.total = self.total.saturating_add(bytes(times));
        while times > 0 {
            let now = times.min(self.room);
            self.sum = self.sum.saturating_add(bytes(now));
            self.most = self.most.max(self.sum);
            self.room -= now;
            times -= now;
            if self.room == 0 {
                (self.room, self.sum) = (self.window, 0);
                // All windows from here on that are full are alike.
                times %= self.window;
            }
        }
    }

    /// Windows that stand anywhere reach into two of those that were added up.
    fn densest(&self) -> u64 {
        self.total.min(self.most.saturating_mul(2))
    }
}

/// `width` (up to 32) bits of `bytes`, the first of them the lowest.
fn bits(bytes: &[u8], at: usize, width: usize) -> u64 {
    let mut value = 0u64;
    for (i, byte) in bytes[at / 8..].iter().take(5).enumerate() {
        value |= u64::from(*byte) << (8 * i);
    }
    (value >> (at % 8)) & ((1 << width) - 1)
}

fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0u64;
    for (i, byte) in bytes.iter().take(10).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * i);
        if byte & 0x80 == 0 {
            return Some((value, &bytes[i + 1..]));
        }
    }
    None
}

/// Returns the number of values that a block of differences claims to hold.
pub(super) fn claimed_deltas(bytes: &[u8]) -> Option<u64> {
    let (_, rest) = varint(bytes)?;
    let (_, rest) = varint(rest)?;
    varint(rest).map(|(count, _)| count)
}

/// Numbers in blocks of differences, at most `most` of them, and what is behind them: see
/// <https://parquet.apache.org/docs/file-format/data-pages/encodings/#DELTAENC>.
fn deltas(bytes: &[u8], most: usize) -> Option<(Vec<u32>, &[u8])> {
    let (block, rest) = varint(bytes)?;
    let (minis, rest) = varint(rest)?;
    let (count, rest) = varint(rest)?;
    let (first, mut rest) = varint(rest)?;
    let (block, minis) = (usize::try_from(block).ok()?, usize::try_from(minis).ok()?);
    let count = usize::try_from(count).ok().filter(|count| *count <= most)?;
    let per_mini = block.checked_div(minis).filter(|values| *values > 0 && values.is_multiple_of(8))?;
    let mut values = Vec::new();
    let mut value = zigzag(first);
    if count > 0 {
        values.push(u32::try_from(value).ok()?);
    }
    while values.len() < count {
        let (least, behind) = varint(rest)?;
        let least = zigzag(least);
        let (widths, behind) = behind.split_at_checked(minis)?;
        rest = behind;
        for width in widths.iter().map(|width| usize::from(*width)) {
            // Parts behind the last number have no bytes.
            if values.len() == count {
                break;
            }
            if width > 32 {
                return None;
            }
            let (packed, behind) = rest.split_at_checked((per_mini / 8).checked_mul(width)?)?;
            rest = behind;
            for at in 0..per_mini.min(count - values.len()) {
                let delta = if width == 0 { 0 } else { bits(packed, at * width, width) as i64 };
                // The numbers are of 32 bits, and differences wrap around.
                value = i64::from(value.wrapping_add(least).wrapping_add(delta) as i32);
                values.push(u32::try_from(value).ok()?);
            }
        }
    }
    Some((values, rest))
}

fn zigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// Values of which each shares a beginning with the one before, made plain behind `out`: each after its length, or, if
/// all have `width` bytes, without one. At most `most` values, and `limit` bytes.
///
/// `Some(None)` if they take more; `None` if they are no such values.
pub(super) fn made_plain(
    bytes: &[u8],
    most: usize,
    width: Option<usize>,
    limit: u64,
    mut out: Vec<u8>,
) -> Option<Option<Vec<u8>>> {
    let (shared, rest) = deltas(bytes, most)?;
    let (own, mut rest) = deltas(rest, most)?;
    if shared.len() != own.len() {
        return None;
    }
    let mut last = 0..0;
    for (shared, own) in shared.into_iter().zip(own) {
        let (shared, own) = (shared as usize, own as usize);
        let (value, behind) = rest.split_at_checked(own)?;
        rest = behind;
        if shared > last.len() || width.is_some_and(|width| shared + own != width) {
            return None;
        }
        if (out.len() + shared + own + 4) as u64 > limit {
            return Some(None);
        }
        if width.is_none() {
            out.extend(((shared + own) as u32).to_le_bytes());
        }
        let start = out.len();
        out.extend_from_within(last.start..last.start + shared);
        out.extend_from_slice(value);
        last = start..out.len();
    }
    Some(Some(out))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The most of any window, counted.
    fn counted(lengths: &[u32], window: usize) -> u64 {
        let sums =
            (0..lengths.len()).map(|at| lengths[at..].iter().take(window).map(|length| u64::from(*length)).sum());
        sums.max().unwrap_or(0)
    }

    #[test]
    fn windows_are_weighed() {
        let dictionary = Lengths(vec![3, 100, 7, 0, 20]);
        // Three bits: five times 1, then eight values, then twice 4.
        let packed =
            [0u8, 1, 2, 3, 4, 0, 1, 2].iter().enumerate().fold(0u32, |all, (i, v)| all | u32::from(*v) << (3 * i));
        let indices = [&[3, 5 << 1, 1, 1 << 1 | 1][..], &packed.to_le_bytes()[..3], &[2 << 1, 4]].concat();
        let lengths = [100, 100, 100, 100, 100, 3, 100, 7, 0, 20, 3, 100, 7, 20, 20];
        for window in 1..20 {
            let (exact, found) = (counted(&lengths, window), dictionary.densest(&indices, 15, window));
            assert!((exact..=2 * exact).contains(&found), "{window}: {found} is not about {exact}");
        }
        assert_eq!(dictionary.densest(&indices, 15, 100), 780);
        // So many that only arithmetic counts them.
        let endless = [3, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 1];
        assert_eq!(dictionary.densest(&endless, 1 << 50, 1000), 200_000);
        assert_eq!(dictionary.most(), 100);
    }

    #[test]
    fn differences_are_read_within_their_count() {
        // 7, then steps of -2 + {0, 1, 2, 3} with two bits each: a block of eight, of one part.
        let bytes = [8, 1, 5, 14, 3, 2, 0b1110_0100, 0, b'!'];
        assert_eq!(deltas(&bytes, 5), Some((vec![7, 5, 4, 4, 5], &b"!"[..])));
        assert_eq!(deltas(&bytes, 4), None);
        assert_eq!(claimed_deltas(&bytes), Some(5));
        for cut in 0..bytes.len() - 1 {
            assert_eq!(deltas(&bytes[..cut], 5), None, "{cut}");
        }
    }
}
