//! Numbers of the same number of bits in messages: one after the other without gaps, the lowest bit first.
//!
//! No branch for each number: a number of at most [`PART`] bits always fits the eight bytes from the byte on in which
//! it begins. Longer ones are made of parts.

/// Bits that fit eight bytes wherever in the first one they begin.
const PART: u32 = 56;

/// Numbers that are packed at once. A message of more begins each strip with a whole byte, whatever the numbers'
/// length.
pub(crate) const STRIP: usize = 128;

/// Largest length of a number in bits.
const MAX_BITS: usize = 128;

/// Room for a strip, and for what is written beyond a number's end.
const ROOM: usize = STRIP * MAX_BITS / 8 + 8;

/// Bytes of `count` numbers of `bits` bits.
pub(crate) fn bytes(count: usize, bits: u32) -> usize {
    (count * bits as usize).div_ceil(8)
}

/// Packs [`STRIP`] numbers at most, of 1 to 128 bits each and zero above, into as many bytes as they take.
pub(crate) fn pack<W: Copy + Into<u128>>(numbers: &[W], bits: u32, out: &mut [u8]) {
    let mut writer = Writer { room: [0; ROOM], position: 0, pending: 0 };
    match bits.div_ceil(PART) {
        1 => numbers.iter().for_each(|&number| writer.push(number.into() as u64, bits)),
        parts => {
            for &number in numbers {
                let mut left: u128 = number.into();
                for _ in 1..parts {
                    writer.push(left as u64 & (u64::MAX >> (64 - PART)), PART);
                    left >>= PART;
                }
                writer.push(left as u64, bits - (parts - 1) * PART);
            }
        }
    }
    out.copy_from_slice(&writer.room[..out.len()]);
}

struct Writer {
    room: [u8; ROOM],
    /// Number of bits written so far.
    position: usize,
    /// Bits that do not fill a byte.
    pending: u64,
}

impl Writer {
    #[inline(always)]
    fn push(&mut self, part: u64, bits: u32) {
        let (at, held) = (self.position / 8, self.position % 8);
        let eight = self.pending | part << held;
        self.room[at..at + 8].copy_from_slice(&eight.to_le_bytes());
        self.pending = eight >> ((held + bits as usize) & !7);
        self.position += bits as usize;
    }
}

/// Hands out `count` numbers, [`STRIP`] at most, that [`pack`] wrote to `packed`. Returns whether the bits beyond the
/// last are zero.
pub(crate) fn unpack(packed: &[u8], count: usize, bits: u32, mut take: impl FnMut(usize, u128)) -> bool {
    let mut room = [0; ROOM];
    room[..packed.len()].copy_from_slice(packed);
    let part = |start: usize, bits: u32| {
        let eight = room[start / 8..].first_chunk().expect("there is room beyond the last number");
        u64::from_le_bytes(*eight) >> (start % 8) & (u64::MAX >> (64 - bits))
    };
    let length = bits as usize;
    match bits.div_ceil(PART) {
        1 => (0..count).for_each(|index| take(index, part(index * length, bits).into())),
        parts => {
            for index in 0..count {
                let (mut number, mut done) = (0, 0);
                for _ in 1..parts {
                    number |= u128::from(part(index * length + done as usize, PART)) << done;
                    done += PART;
                }
                number |= u128::from(part(index * length + done as usize, bits - done)) << done;
                take(index, number);
            }
        }
    }
    let used = count * length;
    used.is_multiple_of(8) || room[used / 8] >> (used % 8) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_length_survive_bit_by_bit() {
        for bits in 1..=128 {
            let value = |index: usize| {
                (index as u128 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)
                    & (u128::MAX >> (128 - bits))
            };
            for count in [0usize, 1, 2, 7, 8, 9, 127, 128] {
                let numbers: Vec<u128> = (0..count).map(value).collect();
                let mut packed = vec![0xff; bytes(count, bits)];
                pack(&numbers, bits, &mut packed);
                for (index, number) in numbers.iter().enumerate() {
                    for bit in 0..bits as usize {
                        let at = index * bits as usize + bit;
                        assert_eq!(u128::from(packed[at / 8] >> (at % 8) & 1), number >> bit & 1);
                    }
                }
                if bits <= 64 {
                    let mut same = vec![0; packed.len()];
                    pack(&numbers.iter().map(|number| *number as u64).collect::<Vec<_>>(), bits, &mut same);
                    assert_eq!(same, packed);
                }
                let mut unpacked = vec![0; count];
                assert!(unpack(&packed, count, bits, |index, number| unpacked[index] = number));
                assert_eq!(unpacked, numbers);
                if !(count * bits as usize).is_multiple_of(8) {
                    *packed.last_mut().unwrap() |= 0x80;
                    assert!(!unpack(&packed, count, bits, |_, _| ()));
                }
            }
        }
    }
}
