//! Lines of a text, whatever ends them.

use std::io::{self, BufRead, BufReader, Read};

use memchr::memchr2;

/// Reads lines that end with LF, CR LF or CR, also mixed in one text. Tables count theirs in the same way
/// ([`LineEnds`](super::line_ends::LineEnds)).
pub(in crate::table) struct LineReader<R> {
    input: BufReader<R>,
    /// The longest line that is read, in bytes.
    max_bytes: usize,
    number: u64,
    bytes_read: u64,
    /// The last line ended with a CR, to which a LF may belong.
    after_cr: bool,
}

/// A line is longer than the reader allows.
#[derive(Debug)]
pub(in crate::table) struct LineTooLong;

impl std::error::Error for LineTooLong {}

impl std::fmt::Display for LineTooLong {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the line is too long")
    }
}

impl<R: Read> LineReader<R> {
    /// Reads `input` by lines of at most `max_bytes`.
    pub fn new(input: R, max_bytes: usize) -> LineReader<R> {
        LineReader {
            input: BufReader::with_capacity(1 << 16, input),
            max_bytes,
            number: 0,
            bytes_read: 0,
            after_cr: false,
        }
    }

    /// The number of the last line read, from 1.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Bytes read so far, with the ends of lines.
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read
    }

    /// Reads the next line into `line`, without its end; false at the end of the text.
    ///
    /// Errors: those of the input; [`LineTooLong`], inside an [`io::Error`].
    pub fn next(&mut self, line: &mut Vec<u8>) -> io::Result<bool> {
        line.clear();
        let mut begun = false;
        loop {
            let piece = match self.input.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                piece => piece?,
            };
            if piece.is_empty() {
                self.number += u64::from(begun);
                return Ok(begun);
            }
            if std::mem::take(&mut self.after_cr) && piece[0] == b'\n' {
                self.consume(1);
                continue;
            }
            begun = true;
            let end = memchr2(b'\n', b'\r', piece);
            let text = &piece[..end.unwrap_or(piece.len())];
            if line.len() + text.len() > self.max_bytes {
                self.number += 1;
                return Err(io::Error::other(LineTooLong));
            }
            line.extend_from_slice(text);
            let used = text.len() + usize::from(end.is_some());
            self.after_cr = end.is_some_and(|at| piece[at] == b'\r');
            self.consume(used);
            if end.is_some() {
                self.number += 1;
                return Ok(true);
            }
        }
    }

    fn consume(&mut self, bytes: usize) {
        self.input.consume(bytes);
        self.bytes_read += bytes as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives so many bytes at a time.
    struct Pieces<'a>(&'a [u8], usize);

    impl Read for Pieces<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let n = self.1.min(buffer.len());
            self.0.read(&mut buffer[..n])
        }
    }

    fn lines(text: &str, piece: usize) -> Vec<String> {
        let mut reader = LineReader::new(Pieces(text.as_bytes(), piece), 4);
        let (mut found, mut line) = (Vec::new(), Vec::new());
        while reader.next(&mut line).unwrap() {
            found.push(String::from_utf8(line.clone()).unwrap());
            assert_eq!(reader.number(), found.len() as u64);
        }
        assert_eq!(reader.bytes_read(), text.len() as u64);
        found
    }

    #[test]
    fn lines_end_with_lf_crlf_or_cr_in_pieces_of_any_length() {
        for (text, expected) in [
            ("", &[][..]),
            ("a", &["a"]),
            ("a\n", &["a"]),
            ("a\r", &["a"]),
            ("a\r\n", &["a"]),
            ("\n", &[""]),
            ("\r\n\r\n", &["", ""]),
            ("\r\r", &["", ""]),
            ("\n\r", &["", ""]),
            ("a\rb\r\nc\nd\n\re", &["a", "b", "c", "d", "", "e"]),
        ] {
            for piece in 1..=text.len().max(1) {
                assert_eq!(lines(text, piece), expected, "{text:?} in pieces of {piece}");
            }
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_refused_with_its_number() {
        for piece in [1, 2, 100] {
            let mut reader = LineReader::new(Pieces(b"abcd\rabcde\n", piece), 4);
            let mut line = Vec::new();
            assert!(reader.next(&mut line).unwrap());
            let error = reader.next(&mut line).unwrap_err();
            assert!(error.get_ref().is_some_and(|inner| inner.is::<LineTooLong>()));
            assert_eq!(reader.number(), 2);
        }
    }
}
