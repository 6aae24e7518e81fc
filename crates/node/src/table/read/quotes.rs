//! Quotes: what stands behind one that ends a value has to be a delimiter or the end of the line.
//!
//! The reader of records would take `"Ann" Lee` for `Ann Lee`. Where a quote is not doubled by mistake, that joins
//! values, and rows.

use std::fmt;

use memchr::{memchr, memchr_iter};

/// Looks over a text, piece by piece.
pub(super) struct Quotes {
    delimiter: u8,
    state: State,
    line: u64,
    /// Number of lines that have ended inside the quotes that were opened last.
    inside: u64,
}

/// State of the parser at the next byte.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Outside of quotes, and at the start of a value or not.
    Outside { at_start: bool },
    /// Inside of a quoted value.
    Inside,
    /// Behind a quote inside, which ends the value unless another one follows.
    Behind,
}

/// Something stands behind the quote that ends a value.
#[derive(Debug)]
pub(super) struct Junk {
    /// The line that it is in.
    pub line: u64,
    /// Line in which the value begins.
    opened: u64,
}

impl std::error::Error for Junk {}

impl fmt::Display for Junk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let opened = if self.opened == self.line {
            String::new()
        } else {
            format!(", which began in line {}, perhaps with a quote that is left open", self.opened)
        };
        write!(
            f,
            "text follows the closing quote of a value{opened}: double the quotes that belong to the value, as in \"5\"\" \
             pipe\", or remove that text"
        )
    }
}

impl Quotes {
    /// Creates the state for a text that begins in this line.
    pub fn new(delimiter: u8, line: u64) -> Quotes {
        Quotes { delimiter, state: State::Outside { at_start: true }, line, inside: 0 }
    }

    /// The next piece of the text.
    pub fn look(&mut self, piece: &[u8]) -> Result<(), Junk> {
        let mut at = 0;
        while let Some(&next) = piece.get(at) {
            let ends = next == self.delimiter || matches!(next, b'\n' | b'\r');
            (self.state, at) = match self.state {
                State::Behind if next == b'"' => (State::Inside, at + 1),
                State::Behind if !ends => {
                    let line = self.line + lines(&piece[..at]);
                    return Err(Junk { line, opened: line - self.inside });
                }
                State::Behind => (State::Outside { at_start: true }, at + 1),
                State::Inside => {
                    let quote = memchr(b'"', &piece[at..]);
                    let end = quote.map_or(piece.len(), |quote| at + quote);
                    self.inside += lines(&piece[at..end]);
                    quote.map_or((State::Inside, end), |_| (State::Behind, end + 1))
                }
                State::Outside { at_start: true } if next == b'"' => {
                    self.inside = 0;
                    (State::Inside, at + 1)
                }
                // A quote within a value is a part of it.
                State::Outside { .. } => self.outside(piece, at),
            };
        }
        self.line += lines(piece);
        Ok(())
    }

    /// The next quote that starts a value, from `at` on, which is none.
    fn outside(&self, piece: &[u8], at: usize) -> (State, usize) {
        let starts = |before: u8| before == self.delimiter || matches!(before, b'\n' | b'\r');
        let rest = at + 1;
        match memchr_iter(b'"', &piece[rest..]).find(|quote| starts(piece[rest + quote - 1])) {
            Some(quote) => (State::Outside { at_start: true }, rest + quote),
            None => (State::Outside { at_start: starts(piece[piece.len() - 1]) }, piece.len()),
        }
    }
}

fn lines(text: &[u8]) -> u64 {
    memchr_iter(b'\n', text).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn junk_is_found_whatever_the_pieces() {
        for (text, line) in [
            ("a,b\n1,2\n", None),
            ("\"a\",\"b\"\r\n\"1\",\"\"\r\n\"\"\"x\"\"\",2\r\n\"3\"", None),
            ("a,b\n5\" pipe,say \"hi\" to\n \"x\",y\n", None),
            ("a,b\n\"two\nlines, \"\"quoted\"\"\",\"x\"\n", None),
            ("a\r\"b\"\r", None),
            ("a,b\n1,\"x\"y\n", Some(2)),
            ("\"a\" ,b\n", Some(1)),
            ("a,b\n\"two\nlines\"!,x\n", Some(3)),
            ("a,b\n\"x\"\"\"\"y\"z,1\n", Some(2)),
            ("a;b\n\"x\",\"y\";1\n", Some(2)),
        ] {
            let delimiter = if text.starts_with("a;") { b';' } else { b',' };
            for piece in 1..=text.len() {
                let mut quotes = Quotes::new(delimiter, 1);
                let found = text.as_bytes().chunks(piece).find_map(|piece| quotes.look(piece).err());
                assert_eq!(found.map(|junk| junk.line), line, "{text:?} in pieces of {piece}");
            }
        }
        let open = Quotes::new(b',', 1).look(b"a\n\"1\n2\n3,\"4\n").unwrap_err();
        assert_eq!((open.line, open.opened), (4, 2));
    }
}
