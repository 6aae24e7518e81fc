//! `phone`.
//!
//! What a number is written with is checked here; what it stands for is found as libphonenumber finds it, by its table.
//! Unlike there, a number with its country code in front means the same to every reader, and a canonical form is read
//! as itself.

mod digits;
mod plans;

use std::fmt::{self, Write};
use std::str::FromStr;

use tacita_core::Error;
use unicode_normalization::UnicodeNormalization;

use digits::ascii_digit;
use plans::Plan;

/// A country, whose numbers are written without their country code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Country(usize);

impl Country {
    fn plan(self) -> &'static Plan {
        Plan::at(self.0)
    }
}

impl fmt::Display for Country {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.plan().region())
    }
}

impl FromStr for Country {
    type Err = Error;

    fn from_str(text: &str) -> Result<Country, Error> {
        Plan::index_of(text).map(Country).ok_or_else(|| {
            Error::Input(format!(
                "normalize: phone:{text}: not a country; write its two letters in capitals, as in phone:DE"
            ))
        })
    }
}

/// Longest text that can be a number, in characters.
const LONGEST: usize = 64;

/// The signs that may stand between digits (libphonenumber's `VALID_PUNCTUATION`, after NFKC), with the plus sign.
const SEPARATORS: &str = "+-./()[]~\u{2010}\u{2011}\u{2012}\u{2013}\u{2014}\u{2015}\u{2053}\u{2212}\u{223c}\u{30fc}";

/// E.164: plus sign, country code, national number. `value` is trimmed.
pub(super) fn phone(value: &str, country: Option<Country>, out: &mut String) -> Option<()> {
    if value.len() > 4 * LONGEST {
        return None;
    }
    let folded: String = value.nfkc().flat_map(char::to_lowercase).map(ascii_digit).collect();
    let number = folded.strip_prefix("tel:").unwrap_or(&folded);
    let number = without_extension(number)?.trim();
    // Only what a number is written with reaches the parser, which takes letters for digits and more.
    let plain: String = number.chars().filter(|c| c.is_ascii_digit() || *c == '+').collect();
    let odd = |c: char| !(c.is_ascii_digit() || c.is_whitespace() || SEPARATORS.contains(c));
    if number.contains(odd) || plain.rfind('+').is_some_and(|at| at > 0) || plain.len() > LONGEST {
        return None;
    }
    // "+44 (0)20 ...": the zero is for callers inside the country, if it is what they dial. "+39 (0)6 ...": it is a
    // digit.
    let without_zero = || {
        let plain: String = number.replacen("(0)", "", 1).chars().filter(|c| c.is_ascii_digit() || *c == '+').collect();
        read(&plain, country).filter(|number| number.plan.dials_zero())
    };
    let shorter = (plain.starts_with('+') && number.contains("(0)")).then(without_zero).flatten();
    let number = shorter.or_else(|| read(&plain, country))?;
    // A form that stands for another number, or for none, would miss the same number in a better form.
    if !number.plan.is_called(&number.national) || international(&number.digits())? != number {
        return None;
    }
    write!(out, "+{}", number.digits()).ok()
}

/// A number of a plan, without what is dialled in front of it within the country.
struct Number {
    plan: &'static Plan,
    national: String,
}

impl Number {
    /// Country code and national number.
    fn digits(&self) -> String {
        format!("{}{}", self.plan.code(), self.national)
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Number) -> bool {
        self.plan.code() == other.plan.code() && self.national == other.national
    }
}

/// Reads digits, with a plus sign in front where the country code follows.
fn read(plain: &str, country: Option<Country>) -> Option<Number> {
    let home = country.map(Country::plan);
    if let Some(digits) = plain.strip_prefix('+') {
        // "+0041 ...": the country code is announced twice.
        return international(digits).or_else(|| international(home?.without_abroad(digits)?));
    }
    match home?.without_abroad(plain) {
        Some(digits) => international(digits),
        None => Some(within(plain, home?)),
    }
}

/// Reads a number that begins with its country code.
fn international(digits: &str) -> Option<Number> {
    let (plan, rest) = Plan::split(digits)?;
    Some(national(rest, plan))
}

/// Reads a number as it is written in a country; the country code may stand in front if it cannot be a part of it.
fn within(digits: &str, home: &'static Plan) -> Number {
    if let Some(rest) = digits.strip_prefix(&home.code().to_string()) {
        let rest = home.without_within(rest);
        if (!home.has(digits) && home.has(&rest)) || home.is_too_long(digits) {
            return national(&rest, home.main());
        }
    }
    national(digits, home)
}

/// Drops what is dialled in front of a number within the country, if a number is left.
fn national(digits: &str, plan: &'static Plan) -> Number {
    let shorter = plan.without_within(digits);
    let national = if plan.has_length(&shorter) { shorter.into_owned() } else { digits.to_owned() };
    Number { plan, national }
}

/// The number in front of an extension (`x12`, `ext. 12`, `extension 12`, `;ext=12`, `#12`); `None` if what follows
/// the number is something else.
fn without_extension(number: &str) -> Option<&str> {
    let Some(at) = number.find(|c: char| c.is_ascii_alphabetic() || matches!(c, '#' | ';' | ',')) else {
        return Some(number);
    };
    let (number, rest) = number.split_at(at);
    let rest = rest.trim_start_matches([';', ',', ' ']);
    let digits = ["extension", "extn", "ext", "x", "#"].iter().find_map(|word| rest.strip_prefix(word))?;
    let digits = digits.trim_start_matches(['.', ':', '=', ' ']);
    let is_extension = (1..=11).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_extension.then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of every region and kind, which come with the table's source.
    const EXAMPLES: &str = include_str!("examples.tsv");

    fn canonical(value: &str, country: Option<Country>) -> Option<String> {
        let mut out = String::new();
        phone(value, country, &mut out).map(|()| out)
    }

    #[test]
    fn a_zero_in_parentheses_is_a_digit_where_nobody_dials_it() {
        let reads = |value: &str, expected: Option<&str>| {
            assert_eq!(canonical(value, None).as_deref(), expected, "{value}");
        };
        reads("+39 (0)6 69812345", Some("+390669812345"));
        reads("+39 06 69812345", Some("+390669812345"));
        reads("+378 (0)549 886377", Some("+3780549886377"));
        reads("+225 (0)7 07 12 34 56", Some("+2250707123456"));
        reads("+44 (0)20 7946 0958", Some("+442079460958"));
        reads("+49 (0)30 901820", Some("+4930901820"));
        reads("+41 (0)44 668 18 00", Some("+41446681800"));
        // 8 is dialled there, and 1: with a zero it is no number, and no guess is made at another one.
        reads("+7 (0)495 123 45 67", None);
        reads("+1 (0)202 555 0143", None);
    }

    #[test]
    fn every_example_is_one_number_in_all_its_forms() {
        let lines = EXAMPLES.lines().filter(|line| !line.starts_with('#'));
        let lines: Vec<Vec<&str>> = lines.map(|line| line.split('\t').collect()).collect();
        let countries: Vec<Country> = lines.iter().filter_map(|line| line[0].parse().ok()).collect();
        assert!(countries.len() > 240, "{}", countries.len());
        let mut count = 0;
        for line in &lines {
            let &[region, code, prefix, numbers] = &line[..] else { panic!("{line:?}") };
            let home: Option<Country> = region.parse().ok();
            assert_eq!(home.is_none(), region == "001");
            for number in numbers.split(',').filter(|number| *number != "-") {
                let expected = Some(format!("+{code}{number}"));
                let read = |value: &str, country| assert_eq!(canonical(value, country), expected, "{region} {value}");
                // With its country code it is the same to every reader.
                for country in countries.iter().copied().map(Some).chain([None]) {
                    read(&format!("+{code}{number}"), country);
                }
                read(&format!("00{code}{number}"), Some("FR".parse().unwrap()));
                read(&format!("011{code}{number}"), Some("US".parse().unwrap()));
                if home.is_some() {
                    read(number, home);
                    // It is not dialled in front of all.
                    let dialled = format!("{prefix}{number}");
                    if prefix != "-" && !matches!((region, number), ("IL", "1919123456")) {
                        read(&dialled, home);
                    }
                }
                count += 1;
            }
        }
        assert!(count > 1000, "only {count} examples");
    }
}
