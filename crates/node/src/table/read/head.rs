//! The beginning of a text, which is looked at before the text is read.

use std::io::{self, Read};

use memchr::memchr2;

/// Input that consists of the part already read, and the rest.
pub(in crate::table) type Headed<R> = io::Chain<io::Cursor<Vec<u8>>, R>;

/// The beginning of the input, until it is `enough`, and whether that is all.
pub(super) fn read_until(input: &mut impl Read, enough: impl Fn(&[u8]) -> bool) -> io::Result<(Vec<u8>, bool)> {
    let mut head = Vec::new();
    let mut chunk = [0; 1 << 14];
    loop {
        let n = match input.read(&mut chunk) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        head.extend_from_slice(&chunk[..n]);
        if n == 0 || enough(&head) {
            return Ok((head, n == 0));
        }
    }
}

/// Returns the end of so many lines, whatever ends them; none if there are fewer.
pub(super) fn end_of_lines(text: &[u8], lines: usize) -> Option<usize> {
    let mut end = 0;
    for _ in 0..lines {
        let at = end + memchr2(b'\r', b'\n', &text[end..])?;
        end = if text[at..].starts_with(b"\r\n") { at + 2 } else { at + 1 };
    }
    Some(end)
}

/// The first line that is not blank (quoted line ends are part of it), and whether it ends with CR LF.
pub(super) fn first_line(text: &[u8]) -> (&[u8], bool) {
    let start = text.iter().position(|byte| !matches!(byte, b'\r' | b'\n')).unwrap_or(text.len());
    let mut quoted = false;
    for (i, byte) in text.iter().enumerate().skip(start) {
        match byte {
            b'"' => quoted = !quoted,
            b'\n' if !quoted => return (&text[start..i], text[i - 1] == b'\r'),
            _ => {}
        }
    }
    (&text[start..], false)
}
