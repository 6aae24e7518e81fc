//! Texts for users: what may be shown, and numbers as people read them.

use std::fmt::Display;
use std::time::Duration;

use tacita_core::{Error, Result};

/// A text from elsewhere, fit to be shown: printable ASCII, at most 80 characters.
pub fn shown(text: &str) -> String {
    shown_within(text, 80)
}

/// The same, of at most so many characters.
pub fn shown_within(text: &str, most: usize) -> String {
    let mut shown: String = text
        .chars()
        .take(most)
        .flat_map(|c| match c {
            ' '..='~' => vec![c],
            other => other.escape_default().collect(),
        })
        .collect();
    if text.chars().count() > most {
        shown.push_str("...");
    }
    shown
}

/// Returns JSON that was written, as all our types can be.
pub fn json<T>(written: serde_json::Result<T>) -> Result<T> {
    written.map_err(|error| Error::Internal(error.to_string()))
}

/// Adds to an error in this party's own input, or in the terms, what to do about it.
pub fn advised(error: Error, advice: &str) -> Error {
    match error {
        Error::Input(fact) => Error::Input(format!("{fact}: {advice}")),
        Error::Terms(fact) => Error::Terms(format!("{fact}: {advice}")),
        error => error,
    }
}

/// A text as a shell takes it for one word: what stands in a command that a message proposes is pasted.
pub fn pasted(text: impl Display) -> String {
    let text = text.to_string();
    let plain = |c: char| c.is_alphanumeric() || "%+,-./:=@_".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text
    } else if text.chars().any(acts_on_terminal) {
        let escaped = |c: char| match c {
            '\'' | '\\' => format!("\\{c}"),
            c if acts_on_terminal(c) => format!("\\U{:08x}", u32::from(c)),
            c => c.to_string(),
        };
        format!("$'{}'", text.chars().map(escaped).collect::<String>())
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// Whether a terminal does something with the character instead of showing it: controls, and marks of direction, which
/// turn what follows.
pub fn acts_on_terminal(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Maximum length of a message, in characters.
const MAX_MESSAGE: usize = 4000;

/// Number of final characters shown of a longer message: they say what to do.
const MESSAGE_END: usize = 400;

/// A message of any origin, fit for a terminal: what would act on it is escaped, but line ends and tabs, and the middle
/// of a very long one is left out.
pub fn harmless(message: &str) -> String {
    let escape = |c: char| match c {
        '\n' | '\r' | '\t' => vec![c],
        c if acts_on_terminal(c) => c.escape_default().collect(),
        c => vec![c],
    };
    let length = message.chars().count();
    if length <= MAX_MESSAGE {
        return message.chars().flat_map(escape).collect();
    }
    let begin = message.chars().take(MAX_MESSAGE - MESSAGE_END).flat_map(escape);
    let end = message.chars().skip(length - MESSAGE_END).flat_map(escape);
    begin.chain(" ... ".chars()).chain(end).collect()
}

/// The name most like `wanted`, if one is like it: equal but for case and punctuation, containing it, or at most
/// two edits (of a third of its length) away.
pub fn nearest<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |text: &str| -> Vec<char> {
        text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    let target = plain(wanted);
    let distance = |name: &str| {
        let name = plain(name);
        let inside = |a: &[char], b: &[char]| !a.is_empty() && b.windows(a.len()).any(|part| part == a);
        match edits(&target, &name) {
            n if n <= 2.min(target.len().max(name.len()) / 3) => Some(n),
            _ if inside(&target, &name) || inside(&name, &target) => Some(3),
            _ => None,
        }
    };
    let near = names.into_iter().filter_map(|name| Some((distance(name)?, name)));
    near.min_by_key(|(distance, _)| *distance).map(|(_, name)| name)
}

/// Levenshtein distance, in which two neighbours that changed places are one edit.
fn edits(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let mut best = (above[j] + usize::from(x != y)).min(row[j] + 1).min(above[j + 1] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                best = best.min(before[j - 1] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut above, row);
    }
    above[b.len()]
}

/// ` (did you mean "NAME"?)`, if one of the names is near enough.
pub fn meant<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, names).map_or_else(String::new, |name| format!(" (did you mean \"{name}\"?)"))
}

/// Maximum length of a shape that is shown.
const MAX_LETTERS: usize = 24;

/// Returns the shape of a text, without its digits and letters: `9` for a digit, `a` for letters in a row.
pub fn shape(text: &str) -> String {
    let mut shape = String::new();
    for letter in text.chars() {
        let sign = match letter {
            letter if letter.is_numeric() => '9',
            letter if letter.is_alphabetic() => 'a',
            other => other,
        };
        if sign != 'a' || !shape.ends_with('a') {
            shape.push(sign);
        }
        if shape.chars().count() == MAX_LETTERS {
            shape.push('…');
            break;
        }
    }
    shape
}

/// A number with thousands apart: 1,234,567.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A message without its advice for a command line, for those who have a job file: `…, or ... on the command line`.
pub fn without_command_line(message: &str) -> String {
    without(message, " on the command line", ", or `", 0)
}

/// A message without its advice for a job file, for those who have none: `columns = ... of the job file, or …`.
pub fn without_job_file(message: &str) -> String {
    without(message, " in [parties.X] of the job file, or ", ": `columns", ": ".len())
}

/// A message without each part that ends with `last`. The part begins so far behind the start of the last `first`
/// before it.
fn without(message: &str, last: &str, first: &str, behind: usize) -> String {
    let mut message = message.to_owned();
    while let Some(end) = message.find(last) {
        let start = message[..end].rfind(first).map_or(end, |start| start + behind);
        message.replace_range(start..end + last.len(), "");
    }
    message
}

/// Names in a sentence.
pub fn names(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [firsts @ .., last] => format!("{} and {last}", firsts.join(", ")),
    }
}

/// A count with its noun, in singular or plural: `1 row`, `2 rows`.
pub fn counted(number: u64, noun: &str) -> String {
    match number {
        1 => format!("1 {noun}"),
        _ => format!("{} {}", count(number), plural(noun)),
    }
}

/// Returns the plural of a regular noun.
fn plural(noun: &str) -> String {
    let after_consonant = |stem: &&str| !stem.ends_with(['a', 'e', 'i', 'o', 'u']);
    match noun.strip_suffix('y').filter(after_consonant) {
        Some(stem) => format!("{stem}ies"),
        None if ["s", "x", "ch", "sh"].iter().any(|ending| noun.ends_with(ending)) => format!("{noun}es"),
        None => format!("{noun}s"),
    }
}

/// Bytes as people read them: 3.4 MB (decimal, as networks count).
pub fn bytes(number: u64) -> String {
    let units = ["B", "kB", "MB", "GB", "TB"];
    let mut value = number as f64;
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < units.len() {
        value /= 1000.0;
        unit += 1;
    }
    match unit {
        0 => format!("{number} B"),
        _ if value < 10.0 => format!("{value:.1} {}", units[unit]),
        _ => format!("{value:.0} {}", units[unit]),
    }
}

/// A duration as people read it: 340 ms, 4.2 s, 3 min 20 s.
pub fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    match seconds {
        s if s < 0.9995 => format!("{:.0} ms", s * 1000.0),
        s if s < 99.95 => format!("{s:.1} s"),
        s => format!("{} min {} s", s as u64 / 60, s as u64 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found() {
        let names = ["insured_name", "Date of Birth", "dob", "street"];
        let near = |wanted| nearest(wanted, names);
        assert_eq!(near("name"), Some("insured_name"));
        assert_eq!(near("date_of_birth"), Some("Date of Birth"));
        assert_eq!(near("DOB"), Some("dob"));
        assert_eq!(near("stret"), Some("street"));
        assert_eq!(nearest("revael", ["level", "reveal"]), Some("reveal"));
        assert_eq!(near("salary"), None);
    }

    #[test]
    fn advice_is_for_those_with_a_job_file_or_for_those_without() {
        let both = "map it: `columns = { a = \"b\" }` in [parties.X] of the job file, or `a=b` on the command line; or mend it";
        assert_eq!(
            without_command_line(both),
            "map it: `columns = { a = \"b\" }` in [parties.X] of the job file; or mend it"
        );
        assert_eq!(without_job_file(both), "map it: `a=b` on the command line; or mend it");
        for neither in ["", "no column", ", or `a`", "in [parties.X] of the job file, or not"] {
            assert_eq!((without_command_line(neither), without_job_file(neither)), (neither.into(), neither.into()));
        }
    }

    #[test]
    fn numbers_are_readable() {
        assert_eq!(count(1234567), "1,234,567");
        assert_eq!(count(999), "999");
        for (noun, several) in
            [("row", "rows"), ("key", "keys"), ("entry", "entries"), ("batch", "batches"), ("basket", "baskets")]
        {
            assert_eq!((counted(1, noun), counted(1200, noun)), (format!("1 {noun}"), format!("1,200 {several}")));
        }
        assert_eq!((shown("é\n"), shown_within("abc", 2)), ("\\u{e9}\\n".into(), "ab...".into()));
        assert_eq!(bytes(999), "999 B");
        assert_eq!(bytes(1_000), "1.0 kB");
        assert_eq!(bytes(34_000_000), "34 MB");
        assert_eq!(bytes(999_900), "1.0 MB");
        assert_eq!(duration(Duration::from_millis(340)), "340 ms");
        assert_eq!(duration(Duration::from_secs(200)), "3 min 20 s");
    }

    #[test]
    fn messages_are_harmless_and_bounded() {
        assert_eq!(harmless("a\u{1b}[1m\tb\u{202e}\n"), "a\\u{1b}[1m\tb\\u{202e}\n");
        let long = harmless(&format!("begin{}end", "x".repeat(200_000)));
        assert!(long.chars().count() < MAX_MESSAGE + 10 && long.starts_with("begin") && long.ends_with("end"));
    }

    #[test]
    fn typing_errors_are_near_what_was_meant() {
        let names = ["reveal", "reveal_to", "name", "hospital", "key"];
        for (word, name) in [
            ("reveal_too", Some("reveal_to")),
            ("nmae", Some("name")),
            ("hosptial", Some("hospital")),
            ("Key", Some("key")),
        ] {
            assert_eq!(nearest(word, names), name, "{word}");
        }
        for word in ["salt", "x", "", "participants"] {
            assert_eq!(nearest(word, names), None, "{word}");
        }
        assert_eq!(meant("nmae", names), " (did you mean \"name\"?)");
    }

    #[test]
    fn a_shell_gets_its_words_back() {
        let texts =
            ["job.toml", "my job.toml", "it's", "", "$HOME/`id`;*", "-x", "a\\b \"c\"", "~", "Zoë=1", "two  blanks"];
        for text in texts {
            let script = format!("printf '%s|' {}", pasted(text));
            let said = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
            assert_eq!(String::from_utf8(said.stdout).unwrap(), format!("{text}|"), "{script}");
        }
        assert_eq!(pasted("/srv/job.toml"), "/srv/job.toml");
        assert_eq!(pasted("id=\u{1b}]0;it's\u{202e}"), r"$'id=\U0000001b]0;it\'s\U0000202e'");
    }

    #[test]
    fn shapes_show_no_digit_and_no_letter() {
        for (text, expected) in [
            ("1.0", "9.9"),
            ("1980-05-04", "9999-99-99"),
            ("doe jane", "a a"),
            ("AB 12 cd", "a 99 a"),
            ("", ""),
            ("é٣", "a9"),
        ] {
            assert_eq!(shape(text), expected);
        }
        assert_eq!(shape(&"1".repeat(100)).chars().count(), MAX_LETTERS + 1);
    }

    #[test]
    fn nothing_reaches_the_terminal_unescaped() {
        assert_eq!(shown("a\u{1b}[31mb\u{202e}"), "a\\u{1b}[31mb\\u{202e}");
        assert_eq!(shown(&"x".repeat(100)).len(), 83);
    }
}
