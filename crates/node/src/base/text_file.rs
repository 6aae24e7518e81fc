//! Text files that people write: job files, lists of identities.

use std::borrow::Cow;
use std::io;
use std::path::Path;

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

/// Character that ends a file in old systems.
const CTRL_Z: char = '\u{1a}';

/// Reads a text file as editors of any system save it: UTF-8 or UTF-16, with a byte order mark or without. Lines end
/// with LF in what is returned, whatever ends them in the file.
///
/// Errors: the file cannot be read; it is no text ([`io::ErrorKind::InvalidData`], with what to do).
pub fn read_text(path: &Path) -> io::Result<String> {
    decode(&std::fs::read(path)?).map_err(|what| io::Error::new(io::ErrorKind::InvalidData, what))
}

fn decode(bytes: &[u8]) -> Result<String, &'static str> {
    let (encoding, mark) = Encoding::for_bom(bytes).unwrap_or((without_mark(bytes), 0));
    let text = encoding.decode_without_bom_handling_and_without_replacement(&bytes[mark..]);
    match text {
        Some(text) if !text.contains('\0') => Ok(with_lf(text).trim_end_matches(CTRL_Z).to_owned()),
        _ => Err("is not valid text in UTF-8 or UTF-16: save it as UTF-8"),
    }
}

/// The encoding of a text without a mark, whose first character is an ASCII one.
fn without_mark(bytes: &[u8]) -> &'static Encoding {
    match bytes {
        [0, 1..=0x7F, ..] => UTF_16BE,
        [1..=0x7F, 0, ..] => UTF_16LE,
        _ => UTF_8,
    }
}

fn with_lf(text: Cow<'_, str>) -> String {
    if text.contains('\r') { text.replace("\r\n", "\n").replace('\r', "\n") } else { text.into_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_read_as_editors_save_it() {
        let utf_16 = |text: &str, order: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(order).collect::<Vec<u8>>();
        let text = "job = \"é\"\r\nid\rx\n";
        for bytes in [
            text.as_bytes().to_vec(),
            format!("\u{feff}{text}").into_bytes(),
            utf_16(&format!("\u{feff}{text}"), u16::to_le_bytes),
            utf_16(&format!("\u{feff}{text}"), u16::to_be_bytes),
            utf_16(text, u16::to_le_bytes),
            utf_16(text, u16::to_be_bytes),
        ] {
            assert_eq!(decode(&bytes).unwrap(), "job = \"é\"\nid\nx\n", "{bytes:?}");
        }
        assert_eq!(decode(b"a\r\n\x1a").unwrap(), "a\n");
        assert_eq!(decode(b"").unwrap(), "");
        for bytes in [&b"\xff"[..], b"a\xe9", b"\xff\xfe\0\0a\0\0\0", b"ab\0"] {
            assert!(decode(bytes).is_err(), "{bytes:?}");
        }
    }
}
