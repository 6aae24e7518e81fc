//! Baskets, a line each: FIMI `.dat`, with blanks between items, and files with another separator.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use tacita_core::{Error, Result};

use super::{BasketItems, check_name};
use crate::table::ReadOptions;
use crate::table::budget::{MAX_RECORD_BYTES, Meter};
use crate::table::read::{Compression, LineReader, LineTooLong, announced_line, text_of, told_ending};

/// Approximate overhead in bytes of an item, besides its name and its rows.
const ITEM_BYTES: usize = 80;

/// Separator between the items of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Between<'a> {
    /// Blanks and tabs, as in FIMI `.dat`.
    Blanks,
    /// Separator given as text, with optional blanks around it. If it is one byte, items may stand in quotes, as in
    /// CSV.
    Text(&'a str),
}

/// Whether a file's ending is that of baskets with blanks between items.
pub fn is_dat(path: &Path) -> bool {
    told_ending(path).is_ok_and(|ending| Compression::of(&ending).0 == ".dat")
}

/// Reads the baskets of a file; `.gz` is unpacked, `-` is standard input. A blank line is an empty basket. The end of
/// the last line is no line.
///
/// Errors ([`Error::Input`], with the line and without the item): the file cannot be read; an item's name is none.
pub fn read_lines(path: &Path, between: Between<'_>, options: &ReadOptions) -> Result<BasketItems> {
    if path.as_os_str() == "-" {
        return parse_lines(io::stdin(), "standard input", between, options);
    }
    let name = path.display().to_string();
    let unreadable = |error: io::Error| Error::Input(format!("{name}: cannot be read: {error}"));
    let file = File::open(path).map_err(unreadable)?;
    if file.metadata().is_ok_and(|facts| facts.is_dir()) {
        return Err(Error::Input(format!("{name}: is a directory; name a file")));
    }
    let packed = Compression::of(&told_ending(path)?).1;
    parse_lines(packed.unpack(file, &name)?, &name, between, options)
}

/// Reads baskets in this form, unpacked; `source` is what errors call them.
///
/// Errors: as [`read_lines`].
pub fn parse_lines(input: impl Read, source: &str, between: Between<'_>, options: &ReadOptions) -> Result<BasketItems> {
    let text = text_of(input, source, options)?.0;
    let mut lines = LineReader::new(text, MAX_RECORD_BYTES as usize);
    let mut items: HashMap<String, Vec<u32>> = HashMap::new();
    let mut meter = Meter::new(&options.budget);
    let (mut rows, mut line) = (0, Vec::new());
    loop {
        let more = lines.next(&mut line);
        let number = lines.number();
        let bad = |what: &str| Error::Input(format!("{source}, line {number}: {what}"));
        let too_long = |error: &io::Error| error.get_ref().is_some_and(|inner| inner.is::<LineTooLong>());
        match more {
            Ok(true) => (),
            Ok(false) => return Ok(BasketItems::sorted(rows, items)),
            Err(error) if too_long(&error) => {
                return Err(bad(&format!(
                    "it is longer than a line may be ({} MiB): is it text?",
                    MAX_RECORD_BYTES >> 20
                )));
            }
            Err(error) => return Err(Error::Input(format!("{source}: cannot be read: {error}"))),
        }
        if number <= options.skip as u64
            || number == 1 + options.skip as u64 && names_separator(&line, source, between)?
        {
            continue;
        }
        if rows == options.budget.rows {
            return Err(bad("more rows than a job can have; split it"));
        }
        let text = std::str::from_utf8(&line).map_err(|_| {
            bad("this is not UTF-8; if the file is in another encoding, name it, as with --encoding windows-1252")
        })?;
        let mut taken = 0;
        for name in split(text, between).map_err(bad)? {
            check_name(&name).map_err(|what| bad(&what))?;
            match items.get_mut(name.as_ref()) {
                Some(held) => {
                    held.push(rows as u32);
                    taken += size_of::<u32>();
                }
                None => {
                    taken += name.len() + ITEM_BYTES;
                    items.insert(name.into_owned(), vec![rows as u32]);
                }
            }
        }
        meter.take(source, taken as u64)?;
        rows += 1;
    }
}

/// Whether the first line says what stands between items and nothing else: `sep=;`.
///
/// Errors: it is something else than was said.
fn names_separator(line: &[u8], source: &str, between: Between<'_>) -> Result<bool> {
    let Between::Text(separator) = between else { return Ok(false) };
    let Some(byte) = announced_line(line) else { return Ok(false) };
    if separator.as_bytes() != [byte] {
        let byte = char::from(byte).escape_debug();
        return Err(Error::Input(format!(
            "{source}: its first line names the separator `{byte}`, and the job says `{}`: use separator = \"{byte}\" in the \
             job's items, or --separator",
            separator.escape_debug()
        )));
    }
    Ok(true)
}

/// The items of a line, without blanks around them; an item without a name is none.
///
/// Errors: quotes that are not closed in the line, or something behind them.
fn split<'a>(line: &'a str, between: Between<'_>) -> std::result::Result<Vec<Cow<'a, str>>, &'static str> {
    let separator = match between {
        Between::Blanks => return Ok(line.split_ascii_whitespace().map(Cow::Borrowed).collect()),
        Between::Text(separator) => separator,
    };
    let named = |name: &Cow<'a, str>| !name.is_empty();
    let (&[byte], true) = (separator.as_bytes(), line.contains('"')) else {
        return Ok(line.split(separator).map(|name| Cow::Borrowed(name.trim())).filter(named).collect());
    };
    let mut rest = line.trim_ascii();
    let mut items = Vec::new();
    loop {
        let (item, behind) = match rest.strip_prefix('"') {
            None => rest.split_once(char::from(byte)).map_or((rest, None), |(item, behind)| (item, Some(behind))),
            Some(quoted) => {
                let (item, behind) = unquote(quoted).ok_or("a quote is opened and not closed in this line")?;
                items.push(Cow::Owned(item.trim().to_owned()));
                // The separator may itself be a blank.
                let blank = |c: char| c.is_ascii_whitespace() && c != char::from(byte);
                match behind.trim_start_matches(blank).strip_prefix(char::from(byte)) {
                    Some(behind) => ("", Some(behind)),
                    None if behind.trim_ascii_start().is_empty() => ("", None),
                    None => return Err("text follows the closing quote of an item"),
                }
            }
        };
        items.push(Cow::Borrowed(item.trim()));
        match behind {
            Some(behind) => rest = behind.trim_ascii_start(),
            None => return Ok(items.into_iter().filter(named).collect()),
        }
    }
}

/// Returns the text before the quote that ends `text`, and the text behind it.
fn unquote(text: &str) -> Option<(String, &str)> {
    let mut item = String::new();
    let mut rest = text;
    loop {
        let (part, behind) = rest.split_once('"')?;
        item.push_str(part);
        match behind.strip_prefix('"') {
            Some(behind) => {
                item.push('"');
                rest = behind;
            }
            None => return Some((item, behind)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<(String, Vec<u32>)> {
        parse(text.as_bytes(), Between::Blanks).unwrap().items
    }

    fn parse(bytes: &[u8], between: Between<'_>) -> Result<BasketItems> {
        parse_lines(bytes, "test", between, &ReadOptions::default())
    }

    #[test]
    fn blank_lines_are_baskets_and_the_last_end_is_none() {
        let items = |list: &[(&str, &[u32])]| -> Vec<(String, Vec<u32>)> {
            list.iter().map(|(name, rows)| (name.to_string(), rows.to_vec())).collect()
        };
        assert_eq!(read("1 2\n\n 2 10 \r\n"), items(&[("1", &[0]), ("10", &[2]), ("2", &[0, 2])]));
        assert_eq!(read("1\n2"), items(&[("1", &[0]), ("2", &[1])]));
        assert_eq!(read("1 2\r\r 2 10\r"), items(&[("1", &[0]), ("10", &[2]), ("2", &[0, 2])]));
        assert_eq!(parse(b"\n\n", Between::Blanks).unwrap().rows(), 2);
        assert_eq!(parse(b"", Between::Blanks).unwrap().rows(), 0);
    }

    #[test]
    fn what_is_no_basket_is_refused_by_its_line() {
        for (bytes, words) in
            [(&b"1 2\n3 a|b\n"[..], "line 2: an item's name holds `|`"), (b"1\n\n\xff\n", "line 3: this is not UTF-8")]
        {
            let Err(Error::Input(error)) = parse(bytes, Between::Blanks) else { panic!("{bytes:?} is read") };
            assert!(error.contains(words) && !error.contains("a|b"), "{error}");
        }
    }

    #[test]
    fn lines_are_split_by_any_text() {
        let found = |line: &str, separator| split(line, Between::Text(separator)).map(|items| items.join("+"));
        for (line, separator, items) in [
            ("milk, bread ,,tea\r\n", ",", "milk+bread+tea"),
            ("\n", ",", ""),
            ("\"milk, whole\",tea\n", ",", "milk, whole+tea"),
            ("tea , \"say \"\"hi\"\"\" ,\"x\"\r\n", ",", "tea+say \"hi\"+x"),
            ("5\" pipe;tea", ";", "5\" pipe+tea"),
            ("\"\",\" \",a,", ",", "a"),
            ("a::b::\"c\"", "::", "a+b+\"c\""),
            ("a\tb c\n", "\t", "a+b c"),
            ("\"a\"\tb\t\"c d\"\n", "\t", "a+b+c d"),
            (" \"a b\" c  \"d\" \n", " ", "a b+c+d"),
        ] {
            assert_eq!(found(line, separator).unwrap(), items, "{line:?}");
        }
        for line in ["\"milk,tea\n", "\"milk\"x,tea\n", "a,\"b\"\"\n"] {
            assert!(found(line, ",").is_err(), "{line:?}");
        }
        let read = |text: &[u8], separator| parse(text, Between::Text(separator));
        let items = read(b"sep=;\r\na;b\n", ";").unwrap();
        assert_eq!((items.rows(), items.len()), (1, 2));
        for (text, words) in
            [(&b"sep=;\na;b\n"[..], "use separator = \";\""), (b"sep=,\na\n\"b\n", "line 3: a quote is opened")]
        {
            let Err(Error::Input(error)) = read(text, ",") else { panic!("{text:?} is read") };
            assert!(error.contains(words), "{error}");
        }
        let utf_16: Vec<u8> = "\u{feff}Käse,Tee\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let items = parse(&utf_16, Between::Text(",")).unwrap();
        assert_eq!((items.rows(), items.name(0)), (1, "Käse"));
    }
}
