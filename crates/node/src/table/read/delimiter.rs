//! Detection of the delimiter between the values of a text file.

use memchr::memchr2;

/// Hint about the delimiter from the file's ending.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Hint {
    None,
    Tab,
}

const DELIMITERS: [u8; 4] = [b';', b'\t', b'|', b','];

/// Maximum number of lines examined below the header.
const LINES: usize = 100;

/// A first line that says what the delimiter is and nothing else, as spreadsheets write it (`sep=;`): the delimiter,
/// and the length of the line with its end. `text` has no mark in front.
pub(in crate::table) fn announced(text: &[u8]) -> Option<(u8, usize)> {
    let end = memchr2(b'\n', b'\r', text)?;
    let ending = if text[end..].starts_with(b"\r\n") { 2 } else { 1 };
    announced_line(&text[..end]).map(|delimiter| (delimiter, end + ending))
}

/// The delimiter that a line without its end names, and nothing else.
pub(in crate::table) fn announced_line(line: &[u8]) -> Option<u8> {
    let bare = line.trim_ascii_end();
    let quoted = bare.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\""));
    let (word, delimiter) = match (quoted.unwrap_or(bare), line) {
        // The tab has been trimmed.
        ([word @ .., b'='], [.., b'\t']) => (word, b'\t'),
        ([word @ .., b'=', delimiter], _) => (word, *delimiter),
        _ => return None,
    };
    let can_be = delimiter == b'\t' || delimiter.is_ascii_punctuation() && delimiter != b'"';
    (word.eq_ignore_ascii_case(b"sep") && can_be).then_some(delimiter)
}

/// The candidate that makes several columns of the header, as many of the lines below it as any other does, and the
/// most columns; of equals the comma last, which numbers have too; a comma if there is none. `text` begins with the
/// header, and is the whole file if it has `ended`.
pub(super) fn detect(text: &[u8], ended: bool, hint: Hint) -> u8 {
    let ranks = DELIMITERS.map(|delimiter| rank(text, ended, delimiter));
    match hint {
        Hint::Tab if ranks[1].several || ranks.iter().all(|rank| !rank.several) => b'\t',
        Hint::None if ranks.iter().all(|rank| !rank.several) => b',',
        _ => {
            // The first of several equal ones: max_by would take the last.
            let better = |&a: &usize, &b: &usize| ranks[a].partial_cmp(&ranks[b]).unwrap_or(std::cmp::Ordering::Equal);
            DELIMITERS[(0..DELIMITERS.len()).rev().max_by(better).unwrap_or(0)]
        }
    }
}

/// Rank of a delimiter. The greater the better, the first field first.
#[derive(PartialEq, PartialOrd)]
struct Rank {
    several: bool,
    /// The part of the lines that have as many values as the header.
    agree: f64,
    columns: usize,
}

fn rank(text: &[u8], ended: bool, delimiter: u8) -> Rank {
    let reader = csv::ReaderBuilder::new().delimiter(delimiter).has_headers(false).flexible(true).from_reader(text);
    let records = reader.into_byte_records().map_while(Result::ok).take(LINES + 2);
    let mut lengths: Vec<usize> = records.map(|record| record.len()).collect();
    // The last line may be cut off.
    if !ended && lengths.len() > 1 && lengths.len() < LINES + 2 {
        lengths.pop();
    }
    let columns = lengths.first().copied().unwrap_or(0);
    let below = lengths.get(1..).unwrap_or_default();
    let same = below.iter().filter(|length| **length == columns).count();
    let agree = if below.is_empty() { 1.0 } else { same as f64 / below.len() as f64 };
    Rank { several: columns > 1, agree, columns }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_below_the_header_decide() {
        let found = |text: &str| char::from(detect(text.as_bytes(), true, Hint::None));
        assert_eq!(found("id;income, yearly, net\n1;20\n2;30\n"), ';');
        assert_eq!(found("id;income, yearly, net\n"), ',');
        assert_eq!(found("a,b\n1;2,3;4\n"), ',');
        assert_eq!(found("a;b\n1,5;2,5\n"), ';');
        assert_eq!(found("name;amount, eur\nann;1,50\n"), ';');
        assert_eq!(found("\"a,b,c\"|d\n\"1,2,3\"|4\n"), '|');
        assert_eq!(found("a\tb\n1\t2\n"), '\t');
        assert_eq!(found("name\nLee, Ann\n"), ',');
        assert_eq!(found(""), ',');
        // The last line is cut off.
        assert_eq!(detect(b"a,x;b,y;c\n1;2;3\n4,", false, Hint::None), b';');
        assert_eq!(detect(b"a,b\n1,2\n", true, Hint::Tab), b',');
        assert_eq!(detect(b"a\tb,c\n1\t2\n", true, Hint::Tab), b'\t');
        assert_eq!(detect(b"a\n1\n", true, Hint::Tab), b'\t');
    }

    #[test]
    fn a_first_line_may_say_it() {
        let said = |text: &str| announced(text.as_bytes()).map(|(delimiter, length)| (char::from(delimiter), length));
        assert_eq!(said("sep=;\na;b\n"), Some((';', 6)));
        assert_eq!(said("SEP=,\r\na,b\n"), Some((',', 7)));
        assert_eq!(said("\"sep=|\"\r\na\n"), Some(('|', 9)));
        assert_eq!(said("sep=\t\na\n"), Some(('\t', 6)));
        assert_eq!(said("sep=\t\r\na\n"), Some(('\t', 7)));
        assert_eq!(said("sep=;\ra;b\r"), Some((';', 6)));
        for text in ["sep=\na\n", "sep\na\n", "sep=;x\na\n", "sep=;", "step=;\n", "sep=a\nb\n", "=;\n", "\n"] {
            assert_eq!(said(text), None, "{text:?}");
        }
    }
}
