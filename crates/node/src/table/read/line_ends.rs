//! Line numbers of positions in a text file.

use std::collections::VecDeque;

use memchr::memchr2_iter;

/// Line ends of a text: LF, CR LF or CR.
#[derive(Default)]
pub(super) struct LineEnds {
    /// Number of line ends that have been passed.
    passed: u64,
    /// Positions of the other line ends in the last piece; that of a CR LF is at the CR.
    ahead: VecDeque<u64>,
    after_cr: bool,
}

impl LineEnds {
    /// Counts the line ends in a text.
    pub fn count(text: &[u8]) -> u64 {
        let mut ends = LineEnds::default();
        ends.look(text, 0);
        ends.before(u64::MAX)
    }

    /// Returns the number of line ends that have been passed.
    pub fn passed(&self) -> u64 {
        self.passed
    }

    /// The next piece of a text, which begins at `start`. Those before it have been passed.
    pub fn look(&mut self, piece: &[u8], start: u64) {
        self.passed += self.ahead.len() as u64;
        self.ahead.clear();
        for at in memchr2_iter(b'\r', b'\n', piece) {
            let behind_cr = at.checked_sub(1).map_or(self.after_cr, |before| piece[before] == b'\r');
            if piece[at] == b'\r' || !behind_cr {
                self.ahead.push_back(start + at as u64);
            }
        }
        self.after_cr = piece.last().map_or(self.after_cr, |last| *last == b'\r');
    }

    /// Returns the number of line ends before this position.
    pub fn before(&mut self, place: u64) -> u64 {
        while self.ahead.pop_front_if(|end| *end < place).is_some() {
            self.passed += 1;
        }
        self.passed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_whatever_ends_them_and_the_pieces() {
        let text = b"a\r\nb\n\nc\r\rd\n\re\r\n";
        // The places behind each letter are in these lines.
        let lines = [(1, 0), (4, 1), (7, 3), (10, 5), (13, 7), (15, 8)];
        for size in 1..=text.len() {
            let mut ends = LineEnds::default();
            for (piece, start) in text.chunks(size).zip((0..).step_by(size)) {
                ends.look(piece, start as u64);
                for &(place, passed) in lines.iter().filter(|(place, _)| (start..start + piece.len()).contains(place)) {
                    assert_eq!(ends.before(place as u64), passed, "{place} of {size}");
                }
            }
            assert_eq!(ends.before(u64::MAX), 8);
        }
        assert_eq!((LineEnds::count(b""), LineEnds::count(b"\r"), LineEnds::count(b"a\r\n\r\n")), (0, 1, 2));
    }
}
