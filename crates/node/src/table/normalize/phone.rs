//! `phone`.

use std::fmt::{self, Write};
use std::str::FromStr;

use phonenumber::Type;
use phonenumber::country::Id;
use phonenumber::metadata::DATABASE;
use tacita_core::Error;
use unicode_normalization::UnicodeNormalization;

/// A country, whose numbers are written without their country code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Country(Id);

impl fmt::Display for Country {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_ref())
    }
}

impl FromStr for Country {
    type Err = Error;

    fn from_str(text: &str) -> Result<Country, Error> {
        text.parse().map(Country).map_err(|_| {
            Error::Input(format!(
                "normalize: phone:{text}: not a country; write its two letters in capitals, as in phone:DE"
            ))
        })
    }
}

/// Longest text that can be a number, in characters.
const LONGEST: usize = 64;

/// E.164: plus sign, country code, national number. `value` is trimmed.
pub(super) fn phone(value: &str, country: Option<Country>, out: &mut String) -> Option<()> {
    if value.len() > 4 * LONGEST {
        return None;
    }
    let folded: String = value.nfkc().flat_map(char::to_lowercase).collect();
    let number = folded.strip_prefix("tel:").unwrap_or(&folded);
    let number = without_extension(number)?.trim();
    // Only what a number is written with reaches the parser, which takes letters for digits and more.
    let plain: String = number.chars().filter(|c| c.is_ascii_digit() || *c == '+').collect();
    let odd =
        |c: char| !(c.is_ascii_digit() || c.is_whitespace() || "+-./()\u{2010}\u{2011}\u{2013}\u{2212}".contains(c));
    if number.contains(odd) || plain.rfind('+').is_some_and(|at| at > 0) || plain.len() > LONGEST {
        return None;
    }
    // "+44 (0)20 ...": the zero is for callers inside the country, and some plans keep it elsewhere.
    let plain = match plain.starts_with('+') && number.contains("(0)") {
        true => number.replacen("(0)", "", 1).chars().filter(|c| c.is_ascii_digit() || *c == '+').collect(),
        false => plain,
    };
    let parsed = phonenumber::parse(country.map(|country| country.0), &plain).ok()?;
    let (code, national) = (parsed.code().value(), parsed.national().to_string());
    if !is_possible(code, national.len()) {
        return None;
    }
    write!(out, "+{code}{national}").ok()
}

/// Kinds of numbers whose lengths count. Company-wide ones are left out: some of theirs hold within a country only.
const KINDS: [Type; 7] = [
    Type::FixedLine,
    Type::Mobile,
    Type::TollFree,
    Type::PremiumRate,
    Type::SharedCost,
    Type::PersonalNumber,
    Type::Voip,
];

/// Whether some region of the country code has numbers of this many digits.
fn is_possible(code: u16, digits: usize) -> bool {
    let regions = DATABASE.by_code(&code).unwrap_or_default();
    regions
        .iter()
        .flat_map(|region| KINDS.iter().filter_map(|kind| region.descriptors().get(*kind)))
        .any(|numbers| numbers.possible_length().iter().any(|&length| usize::from(length) == digits))
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
