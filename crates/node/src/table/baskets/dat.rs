//! FIMI `.dat`: a basket a line, items with blanks between them.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use tacita_core::{Error, Result};

use super::{Items, check_name};
use crate::table::budget::{Budget, MAX_RECORD_BYTES, Meter};
use crate::table::read::{ending, refuse_packed, unpack};

/// What an item takes besides its name and its rows, about.
const ITEM_BYTES: usize = 80;

/// Whether a file's ending is that of baskets in this form.
pub fn is_dat(path: &Path) -> bool {
    matches!(ending(path).as_str(), ".dat" | ".dat.gz")
}

/// Reads the baskets of a file; `.gz` is unpacked. A blank line is an empty basket. The end of the last line is no line.
///
/// Errors ([`Error::Input`], with the line and without the item): the file cannot be read; an item's name is none.
pub fn read_dat(path: &Path) -> Result<Items> {
    let name = path.display().to_string();
    let unreadable = |error: std::io::Error| Error::Input(format!("{name}: cannot be read: {error}"));
    let file = File::open(path).map_err(unreadable)?;
    if file.metadata().is_ok_and(|facts| facts.is_dir()) {
        return Err(Error::Input(format!("{name}: is a directory; name a file")));
    }
    match ending(path).ends_with(".gz") {
        true => parse_dat(unpack(file, &name)?, &name),
        false => parse_dat(file, &name),
    }
}

/// Reads baskets in this form, unpacked; `source` is what errors call them.
///
/// Errors: as [`read_dat`].
pub fn parse_dat(input: impl Read, source: &str) -> Result<Items> {
    let mut input = BufReader::with_capacity(1 << 16, input);
    let mut items: HashMap<String, Vec<u32>> = HashMap::new();
    let budget = Budget::default();
    let mut meter = Meter::new(&budget);
    refuse_packed(input.fill_buf().unwrap_or_default(), source)?;
    let (mut rows, mut line) = (0, Vec::new());
    loop {
        line.clear();
        let read = (&mut input).take(MAX_RECORD_BYTES + 1).read_until(b'\n', &mut line);
        if read.map_err(|error| Error::Input(format!("{source}: cannot be read: {error}")))? == 0 {
            return Ok(Items::sorted(rows, items));
        }
        let bad = |what: &str| Error::Input(format!("{source}, line {}: {what}", rows + 1));
        if rows == budget.rows {
            return Err(bad("more rows than a job can have; split it"));
        }
        if line.len() as u64 > MAX_RECORD_BYTES {
            return Err(bad(&format!("it is longer than a line may be ({} MiB): is it text?", MAX_RECORD_BYTES >> 20)));
        }
        let text = std::str::from_utf8(&line).map_err(|_| bad("this is not UTF-8; save the file as UTF-8"))?;
        let mut taken = 0;
        for name in text.trim_start_matches('\u{feff}').split_ascii_whitespace() {
            check_name(name).map_err(|what| bad(&what))?;
            match items.get_mut(name) {
                Some(held) => {
                    held.push(rows as u32);
                    taken += size_of::<u32>();
                }
                None => {
                    items.insert(name.to_owned(), vec![rows as u32]);
                    taken += name.len() + ITEM_BYTES;
                }
            }
        }
        meter.take(source, taken as u64)?;
        rows += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<(String, Vec<u32>)> {
        parse_dat(text.as_bytes(), "test").unwrap().items
    }

    #[test]
    fn blank_lines_are_baskets_and_the_last_end_is_none() {
        let items = |list: &[(&str, &[u32])]| -> Vec<(String, Vec<u32>)> {
            list.iter().map(|(name, rows)| (name.to_string(), rows.to_vec())).collect()
        };
        assert_eq!(read("1 2\n\n 2 10 \r\n"), items(&[("1", &[0]), ("10", &[2]), ("2", &[0, 2])]));
        assert_eq!(read("1\n2"), items(&[("1", &[0]), ("2", &[1])]));
        assert_eq!(parse_dat("\n\n".as_bytes(), "test").unwrap().rows(), 2);
        assert_eq!(parse_dat("".as_bytes(), "test").unwrap().rows(), 0);
    }

    #[test]
    fn what_is_no_basket_is_refused_by_its_line() {
        for (bytes, words) in
            [(&b"1 2\n3 a|b\n"[..], "line 2: an item's name holds `|`"), (b"1\n\n\xff\n", "line 3: this is not UTF-8")]
        {
            let Err(Error::Input(error)) = parse_dat(bytes, "test") else { panic!("{bytes:?} is read") };
            assert!(error.contains(words) && !error.contains("a|b"), "{error}");
        }
    }
}
