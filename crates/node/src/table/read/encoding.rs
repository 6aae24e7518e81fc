//! Text in other encodings than UTF-8.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, Read};
use std::ops::Range;
use std::str::FromStr;

use encoding_rs::{Decoder, DecoderResult, UTF_8, UTF_16BE, UTF_16LE};
use tacita_core::{Error, Result};

/// Character encoding of a text file: one of the encodings of the WHATWG's Encoding Standard, under any of its
/// labels.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Encoding(&'static encoding_rs::Encoding);

impl Encoding {
    /// Default encoding for text files.
    pub const UTF_8: Encoding = Encoding(UTF_8);

    /// Returns the name of the encoding, as `UTF-8`.
    pub fn name(self) -> &'static str {
        self.0.name()
    }

    /// The text of these bytes, which have no mark; what is none becomes U+FFFD.
    pub(super) fn decode(self, bytes: &[u8]) -> Cow<'_, str> {
        self.0.decode_without_bom_handling(bytes).0
    }
}

impl FromStr for Encoding {
    type Err = Error;

    fn from_str(text: &str) -> Result<Encoding> {
        match encoding_rs::Encoding::for_label_no_replacement(text.as_bytes()) {
            Some(encoding) => Ok(Encoding(encoding)),
            None => Err(Error::Input(format!(
                "encoding: {text:?} is not known: use utf-8, utf-16le, utf-16be, windows-1252 (Western Europe, also as latin1), \
                 windows-1250, windows-1251, macintosh, shift_jis, gb18030, big5, euc-kr, or another label of the WHATWG's \
                 Encoding Standard"
            ))),
        }
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Debug for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Without a mark, so many of the first bytes tell what the rest is.
pub(super) const SNIFFED: usize = 4096;

/// The encoding of a text that begins with `head`, and how long the mark is that says so: `given`, or what the mark
/// says, or UTF-16 where bytes of one half are zero as in no text in UTF-8, or UTF-8.
///
/// Errors: the mark is of another encoding than the one given, or of one that is not read.
pub(super) fn of(head: &[u8], given: Option<Encoding>, name: &str) -> Result<(Encoding, usize)> {
    if head.starts_with(&[0xFF, 0xFE, 0, 0]) || head.starts_with(&[0, 0, 0xFE, 0xFF]) {
        return Err(utf_32(name));
    }
    match (encoding_rs::Encoding::for_bom(head), given) {
        (Some((marked, _)), Some(given)) if marked != given.0 => Err(Error::Input(format!(
            "{name}: begins with the mark of {}, and --encoding says {given}: leave --encoding out",
            marked.name()
        ))),
        (Some((marked, length)), _) => Ok((Encoding(marked), length)),
        (None, Some(given)) => Ok((given, 0)),
        (None, None) => Ok((without_mark(head, name)?, 0)),
    }
}

fn without_mark(head: &[u8], name: &str) -> Result<Encoding> {
    let head = &head[..head.len().min(SNIFFED)];
    let many = |text: &[u8], half: usize| {
        let zeros = text.iter().skip(half).step_by(2).filter(|byte| **byte == 0).count();
        zeros > 1 && zeros * 8 >= text.len()
    };
    // Latin letters, digits and delimiters have a zero byte each in UTF-16; the header has some, whatever stands below
    // it.
    let utf_16 = |high: usize| {
        first_line(head, high).is_some_and(|line| many(head, high) || many(line, high) && !many(line, 1 - high))
    };
    Ok(Encoding(match (utf_16(0), utf_16(1)) {
        _ if many(head, 0) && many(head, 1) => return Err(utf_32(name)),
        (true, _) => UTF_16BE,
        (_, true) => UTF_16LE,
        _ => UTF_8,
    }))
}

/// The first line of a text in UTF-16 whose high bytes are in this half, with its end; none if a line ends elsewhere
/// only.
fn first_line(head: &[u8], high: usize) -> Option<&[u8]> {
    let is_end = |byte: &u8| matches!(byte, b'\n' | b'\r');
    match head.chunks_exact(2).position(|pair| pair[high] == 0 && is_end(&pair[1 - high])) {
        Some(place) => Some(&head[..2 * place + 2]),
        None => (!head.iter().any(is_end)).then_some(head),
    }
}

fn utf_32(name: &str) -> Error {
    Error::Input(format!("{name}: is UTF-32 text, or none at all; save it as UTF-8"))
}

/// The text in UTF-8. What is in UTF-8 already goes through as it is, right or not.
pub(in crate::table) struct Decoded<R> {
    input: R,
    /// Number of input bytes read so far.
    taken: u64,
    decoder: Option<Decoding>,
}

struct Decoding {
    decoder: Decoder,
    raw: Box<[u8]>,
    /// Range of `raw` that was read and not decoded yet.
    left: Range<usize>,
    /// Whether all input has been read.
    ended: bool,
    /// Whether all input has been decoded.
    finished: bool,
    /// Detector of text that is in UTF-8 after all, for an encoding whose every byte is a character.
    utf_8: Option<Utf8>,
    text: Box<[u8]>,
    /// Range of `text` that was decoded and not given yet.
    due: Range<usize>,
    line: u64,
}

const CHUNK: usize = 1 << 16;

impl<R: Read> Decoded<R> {
    /// `input` begins after the mark.
    pub fn new(input: R, encoding: Encoding) -> Decoded<R> {
        let decoder = (encoding != Encoding::UTF_8).then(|| Decoding {
            decoder: encoding.0.new_decoder_without_bom_handling(),
            raw: vec![0; CHUNK].into(),
            left: 0..0,
            ended: false,
            finished: false,
            utf_8: encoding.0.is_single_byte().then(Utf8::default),
            text: vec![0; 2 * CHUNK].into(),
            due: 0..0,
            line: 1,
        });
        Decoded { input, taken: 0, decoder }
    }

    /// Returns the number of input bytes read so far.
    pub fn taken(&self) -> u64 {
        self.taken
    }
}

impl<R: Read> Read for Decoded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(decoding) = &mut self.decoder else {
            let n = self.input.read(buffer)?;
            self.taken += n as u64;
            return Ok(n);
        };
        while decoding.due.is_empty() && !decoding.finished {
            if decoding.left.is_empty() && !decoding.ended {
                let n = self.input.read(&mut decoding.raw)?;
                self.taken += n as u64;
                (decoding.left, decoding.ended) = (0..n, n == 0);
                decoding.look()?;
            }
            decoding.decode()?;
        }
        let n = decoding.due.len().min(buffer.len());
        buffer[..n].copy_from_slice(&decoding.text[decoding.due.start..][..n]);
        decoding.due.start += n;
        Ok(n)
    }
}

impl Decoding {
    /// Looks over what was read.
    fn look(&mut self) -> io::Result<()> {
        let Some(utf_8) = &mut self.utf_8 else { return Ok(()) };
        if !self.left.is_empty() {
            utf_8.look(&self.raw[self.left.clone()])
        } else if utf_8.is_all() {
            return Err(io::Error::other(NotNamed(Encoding(self.decoder.encoding()))));
        }
        Ok(())
    }

    /// Decodes what was read, as far as there is room for it.
    fn decode(&mut self) -> io::Result<()> {
        let raw = &self.raw[self.left.clone()];
        let (result, read, written) = self.decoder.decode_to_utf8_without_replacement(raw, &mut self.text, self.ended);
        self.left.start += read;
        self.due = 0..written;
        self.line += memchr::memchr_iter(b'\n', &self.text[..written]).count() as u64;
        match result {
            DecoderResult::Malformed(..) => {
                Err(io::Error::other(Malformed { line: self.line, encoding: Encoding(self.decoder.encoding()) }))
            }
            DecoderResult::InputEmpty => {
                self.finished = self.ended;
                Ok(())
            }
            DecoderResult::OutputFull => Ok(()),
        }
    }
}

/// Whether a text is in UTF-8, and no other one would look like it.
#[derive(Default)]
struct Utf8 {
    /// Whether something is not in UTF-8.
    broken: bool,
    /// Something is that is not ASCII.
    beyond: bool,
    /// The beginning of a character.
    begun: Vec<u8>,
}

impl Utf8 {
    fn look(&mut self, raw: &[u8]) {
        if self.broken || self.begun.is_empty() && raw.is_ascii() {
            return;
        }
        self.beyond = true;
        self.begun.extend_from_slice(raw);
        match std::str::from_utf8(&self.begun) {
            Ok(_) => self.begun.clear(),
            Err(error) if error.error_len().is_none() => drop(self.begun.drain(..error.valid_up_to())),
            Err(_) => self.broken = true,
        }
    }

    /// At the end of the text.
    fn is_all(&self) -> bool {
        self.beyond && !self.broken && self.begun.is_empty()
    }
}

/// The text is in UTF-8, and was said to be in another encoding: in that one, its letters would be others.
#[derive(Debug)]
pub(super) struct NotNamed(Encoding);

impl std::error::Error for NotNamed {}

impl fmt::Display for NotNamed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "its text is in UTF-8, and --encoding says {}: leave --encoding out", self.0)
    }
}

/// Bytes that are no character of the encoding.
#[derive(Debug)]
pub(super) struct Malformed {
    /// The line that they are in.
    pub line: u64,
    encoding: Encoding,
}

impl std::error::Error for Malformed {}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "this is not valid text in {}: name its encoding with --encoding, or save it as UTF-8", self.encoding)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text, read in pieces of so many bytes.
    fn decoded(bytes: &[u8], encoding: &str, piece: usize) -> io::Result<String> {
        struct Pieces<'a>(&'a [u8], usize);
        impl Read for Pieces<'_> {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                let n = self.1.min(buffer.len());
                self.0.read(&mut buffer[..n])
            }
        }
        let mut text = String::new();
        Decoded::new(Pieces(bytes, piece), encoding.parse().unwrap()).read_to_string(&mut text)?;
        Ok(text)
    }

    #[test]
    fn text_is_decoded_in_pieces_of_any_length() {
        let text = "name,city\nJosé,Łódź\n山田,𠮷野\n".repeat(10_000);
        let utf_16: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        for piece in [1, 3, 4096, usize::MAX] {
            assert!(decoded(&utf_16, "utf-16le", piece).unwrap() == text);
        }
        let utf_16: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        assert!(decoded(&utf_16, "UTF-16BE", 7).unwrap() == text);
        assert_eq!(decoded(b"Jos\xe9 \x80", "latin1", 1).unwrap(), "José €");
        assert_eq!(decoded(b"", "windows-1252", 1).unwrap(), "");
        assert_eq!(decoded(b"Jos\xe9 \xc3\xa9", "windows-1252", 1).unwrap(), "José Ã©");
        assert_eq!(decoded(b"\xffa", "utf-8", 1).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn what_is_none_is_refused_with_its_line() {
        for bytes in [&b"a\0\n\0b\0\0\xd8\n\0"[..], b"a\0\n\0\x00\xd8", b"a\0\n\0b"] {
            let error = decoded(bytes, "utf-16le", 3).unwrap_err();
            let found = error.get_ref().and_then(|inner| inner.downcast_ref::<Malformed>()).unwrap();
            assert_eq!(found.line, 2, "{found}");
        }
        assert!("utf-7".parse::<Encoding>().is_err() && "iso-2022-kr".parse::<Encoding>().is_err());
    }

    #[test]
    fn what_is_in_utf_8_is_not_taken_for_another() {
        for (text, piece) in [("José", 1), ("Łódź 山田 𠮷野\n", 1), ("a", usize::MAX), (&"Zoë,\n".repeat(50_000), 4095)]
        {
            let read = decoded(text.as_bytes(), "windows-1252", piece);
            let refused = read.is_err_and(|error| error.get_ref().is_some_and(|inner| inner.is::<NotNamed>()));
            assert_eq!(refused, !text.is_ascii(), "{text:?}");
        }
    }

    #[test]
    fn the_first_bytes_tell() {
        let told = |head: &[u8], given: Option<&str>| {
            of(head, given.map(|given| given.parse().unwrap()), "t.csv").map(|(found, mark)| (found.name(), mark))
        };
        assert_eq!(told(b"a,b\n", None).unwrap(), ("UTF-8", 0));
        assert_eq!(told(b"", None).unwrap(), ("UTF-8", 0));
        assert_eq!(told(b"\xef\xbb\xbfa", None).unwrap(), ("UTF-8", 3));
        assert_eq!(told(b"\xff\xfea\0", None).unwrap(), ("UTF-16LE", 2));
        assert_eq!(told(b"\xfe\xff\0a", Some("utf-16be")).unwrap(), ("UTF-16BE", 2));
        assert_eq!(told(b"a\0,\0b\0\n\0", None).unwrap(), ("UTF-16LE", 0));
        assert_eq!(told(b"\0a\0,\0b\0\n", None).unwrap(), ("UTF-16BE", 0));
        // A header in Latin letters, and values that are not.
        let few: Vec<u8> =
            format!("k,v\n{}", "山田,吉野\n".repeat(50)).encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(told(&few, None).unwrap(), ("UTF-16LE", 0));
        assert_eq!(told(b"k,v\n1,\0\n", None).unwrap(), ("UTF-8", 0));
        // One zero byte makes no UTF-16.
        assert_eq!(told(&[&b"a,b\n\0,c\n"[..], &[b'x'; 100]].concat(), None).unwrap(), ("UTF-8", 0));
        assert_eq!(told(b"a,b", Some("latin1")).unwrap(), ("windows-1252", 0));
        for (head, given) in
            [(&b"\xff\xfe\0\0a\0\0\0"[..], None), (b"a\0\0\0,\0\0\0", None), (b"\xef\xbb\xbfa", Some("latin1"))]
        {
            assert!(told(head, given).is_err(), "{head:?}");
        }
    }
}
