//! Thresholds as their users write them: exact decimals.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};

/// A fraction from 0 to 1, exactly as it was written in decimal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fraction {
    numerator: u64,
    /// The denominator is ten to this power, at most [`MAX_DIGITS`].
    digits: u32,
}

/// The most digits behind the point.
const MAX_DIGITS: u32 = 18;

impl Fraction {
    /// Fraction of value 0.
    pub const ZERO: Fraction = Fraction { numerator: 0, digits: 0 };

    /// Fraction of value 1.
    pub const ONE: Fraction = Fraction { numerator: 1, digits: 0 };

    /// The fraction that is written as `0.25`, `25%` or `2.5e-1`; `None` if `text` is none of them, or more than 1.
    fn parse(text: &str) -> Option<Fraction> {
        let (text, percent) = match text.strip_suffix('%') {
            Some(text) => (text.trim_end(), 2),
            None => (text, 0),
        };
        let (text, exponent) = match text.split_once(['e', 'E']) {
            Some((text, exponent)) if percent == 0 => (text, exponent.parse::<i32>().ok()?),
            _ => (text, 0),
        };
        let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let point = text.len() == whole.len() || !decimals.is_empty();
        if whole.is_empty() || !point || !digits(whole) || !digits(decimals) {
            return None;
        }
        let decimals = decimals.trim_end_matches('0');
        let written = format!("{}{decimals}", whole.trim_start_matches('0'));
        let mut numerator: u64 = if written.is_empty() { 0 } else { written.parse().ok()? };
        let mut digits = i64::try_from(decimals.len()).ok()? + percent - i64::from(exponent);
        if numerator == 0 {
            return Some(Fraction::ZERO);
        }
        while digits > 0 && numerator.is_multiple_of(10) {
            (numerator, digits) = (numerator / 10, digits - 1);
        }
        // What has no digit behind the point is 1, or too much.
        let digits = u32::try_from(digits).ok().filter(|digits| *digits <= MAX_DIGITS)?;
        (numerator <= 10u64.pow(digits)).then_some(Fraction { numerator, digits })
    }

    fn denominator(&self) -> u64 {
        10u64.pow(self.digits)
    }

    /// Whether it is 1.
    fn is_one(&self) -> bool {
        self.numerator == self.denominator()
    }

    /// The least whole number that is not less than this fraction of `rows`.
    pub fn ceiling(&self, rows: u64) -> u64 {
        let product = u128::from(self.numerator) * u128::from(rows);
        // At most `rows`.
        product.div_ceil(u128::from(self.denominator())) as u64
    }

    /// The greatest whole number that is not more than this fraction of `whole`.
    pub fn floor(&self, whole: u64) -> u64 {
        let product = u128::from(self.numerator) * u128::from(whole);
        // At most `whole`.
        (product / u128::from(self.denominator())) as u64
    }

    /// Least number of parts of a whole, none of which is more than this fraction of it. For the fraction 0, as many as
    /// can be.
    pub fn least_parts(&self) -> u64 {
        match self.numerator {
            0 => u64::MAX,
            numerator => self.denominator().div_ceil(numerator),
        }
    }

    /// Returns the most that a whole can be for `part` to be at least this fraction of it.
    pub fn most_whole(&self, part: u64) -> u64 {
        match self.numerator {
            0 => u64::MAX,
            numerator => {
                let whole = u128::from(part) * u128::from(self.denominator()) / u128::from(numerator);
                u64::try_from(whole).unwrap_or(u64::MAX)
            }
        }
    }

    /// Whether `part` is at least this fraction of `whole`.
    pub fn reached(&self, part: u64, whole: u64) -> bool {
        u128::from(part) * u128::from(self.denominator()) >= u128::from(self.numerator) * u128::from(whole)
    }
}

/// Formats the fraction as a decimal with as few digits as it needs: `0.25`.
impl fmt::Display for Fraction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) = (self.numerator / self.denominator(), self.numerator % self.denominator());
        match self.digits {
            0 => write!(f, "{whole}"),
            digits => write!(f, "{whole}.{rest:0digits$}", digits = digits as usize),
        }
    }
}

/// Parses a fraction from 0 to 1, such as `0.25` or `25%`: a least confidence.
impl FromStr for Fraction {
    type Err = Error;

    fn from_str(text: &str) -> Result<Fraction> {
        Fraction::parse(text).ok_or_else(|| {
            let shown = shown(text);
            Error::Input(format!("min_confidence = {shown}: use a decimal from 0 to 1, as 0.25 or \"25%\""))
        })
    }
}

/// Number or part of the rows that makes an itemset frequent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Support {
    /// Number of rows at least.
    Rows(u64),
    /// Part of all rows.
    Fraction(Fraction),
}

impl Support {
    /// The least number of rows, of `rows` in all: at least 1.
    pub fn minimum(&self, rows: u64) -> u64 {
        match self {
            Support::Rows(minimum) => *minimum,
            Support::Fraction(fraction) => fraction.ceiling(rows).max(1),
        }
    }
}

/// Rows as an integer, a part of them as a decimal, all of them as `100%`: what is read back as the same.
impl fmt::Display for Support {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Support::Rows(rows) => write!(f, "{rows}"),
            Support::Fraction(fraction) if fraction.is_one() => f.write_str("100%"),
            Support::Fraction(fraction) => write!(f, "{fraction}"),
        }
    }
}

/// An integer is a number of rows; a decimal below 1, or a percentage, a part of them. `1.0` could be meant as either
/// and is refused, as are 0 and what is more than all rows.
impl FromStr for Support {
    type Err = Error;

    fn from_str(text: &str) -> Result<Support> {
        let bad = |what: &str| {
            Error::Input(format!(
                "min_support = {}: {what}use rows, as 100, or a part of them, as 0.01 or \"1%\"",
                shown(text)
            ))
        };
        if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
            return match text.parse() {
                Ok(rows) if rows > 0 => Ok(Support::Rows(rows)),
                _ => Err(bad("")),
            };
        }
        match Fraction::parse(text) {
            Some(fraction) if fraction == Fraction::ZERO => Err(bad("")),
            Some(fraction) if fraction.is_one() && !text.ends_with('%') => Err(bad("one row, or all of them? ")),
            Some(fraction) => Ok(Support::Fraction(fraction)),
            None => Err(bad("")),
        }
    }
}

/// Makes a user's input fit for a line of text.
fn shown(text: &str) -> String {
    text.chars().take(60).collect::<String>().escape_debug().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact() {
        let minimum = |text: &str, rows| text.parse::<Support>().unwrap().minimum(rows);
        // In binary floating point 0.07 * 100 is 7.000000000000001.
        assert_eq!(minimum("0.07", 100), 7);
        assert_eq!(minimum("0.01", 9835), 99);
        assert_eq!(minimum("0.006", 9835), 60);
        assert_eq!(minimum("1%", 9835), 99);
        assert_eq!(minimum("0.6%", 9835), 60);
        assert_eq!(minimum("0.4", 8124), 3250);
        assert_eq!(minimum("0.25", 8124), 2031);
        assert_eq!(minimum("100%", 8124), 8124);
        assert_eq!((minimum("1e-2", 9835), minimum("7E-2", 100), minimum("0.6e-2", 9835)), (99, 7, 60));
        assert_eq!((minimum("10e-19", 5), minimum("0.05e+1", 9), minimum("1000e-4", 10)), (1, 5, 1));
        assert_eq!(minimum("00.50", 3), 2);
        assert_eq!(minimum("3", 2), 3);
        assert_eq!(minimum("1", 1000), 1);
        assert_eq!(minimum("0.000000000000000001", u64::from(u32::MAX)), 1);
        assert_eq!(minimum("0.999999999999999999", u64::from(u32::MAX)), u64::from(u32::MAX));
        assert_eq!(minimum("0.5", 0), 1);
    }

    #[test]
    fn what_is_shown_is_read_back() {
        for (text, shown) in [("7", "7"), ("1%", "0.01"), ("0.010", "0.01"), ("12.5%", "0.125"), ("100%", "100%")] {
            let support: Support = text.parse().unwrap();
            assert_eq!(support.to_string(), shown);
            assert_eq!(shown.parse::<Support>().unwrap(), support);
        }
        for (text, shown) in [("0", "0"), ("1.0", "1"), ("80%", "0.8"), ("0.05", "0.05")] {
            let fraction: Fraction = text.parse().unwrap();
            assert_eq!(fraction.to_string(), shown);
            assert_eq!(shown.parse::<Fraction>().unwrap(), fraction);
        }
    }

    #[test]
    fn what_means_nothing_is_refused() {
        for text in [
            "1.0",
            "1.00",
            "0",
            "0.0",
            "0%",
            "1.5",
            "2.0",
            "101%",
            "-1",
            "-0.1",
            "+1",
            ".5",
            "5.",
            "1e3",
            "1e-19",
            "1e",
            "1e-2%",
            "1e-99999999999",
            "",
            "%",
            ".",
            "0.1.2",
            "0,1",
            " 1",
            "NaN",
            "99999999999999999999",
            "0.0000000000000000001",
            "0.1\u{0663}",
        ] {
            let refused = text.parse::<Support>();
            assert!(matches!(refused, Err(Error::Input(_))), "{text}: {refused:?}");
        }
    }

    #[test]
    fn confidence_is_compared_as_a_fraction_of_counts() {
        let fraction = |text: &str| text.parse::<Fraction>().unwrap();
        assert!(fraction("0.5").reached(1, 2) && !fraction("0.5").reached(49, 99));
        assert!(fraction("0.25").reached(1, 4) && fraction("25%").reached(25, 100) && !fraction("25%").reached(1, 5));
        assert!(fraction("1").reached(7, 7) && !fraction("1.0").reached(6, 7) && fraction("100%").reached(0, 0));
        assert!(fraction("0").reached(0, 7));
        // A third is more than any of its decimals.
        assert!(fraction("0.333333333333333333").reached(1, 3) && !fraction("0.333333333333333334").reached(1, 3));
        let most = u64::from(u32::MAX);
        assert!(fraction("0.999999999999999999").reached(most, most) && !fraction("1").reached(most - 1, most));
        assert_eq!(
            (fraction("0.250"), fraction("50%"), fraction("0%")),
            (fraction("25%"), fraction("0.5"), Fraction::ZERO)
        );
        for text in ["1.01", "101%", "x", "", "-0.1"] {
            assert!(text.parse::<Fraction>().is_err(), "{text}");
        }
    }
}
