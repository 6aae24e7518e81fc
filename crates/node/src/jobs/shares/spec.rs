//! Settings of a `shares` job.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer};
use tacita_core::{Error, Result};

use crate::agreement::JobWith;
use crate::agreement::words::{from_word, unknown};
use crate::base::text::shown;
use crate::table::numbers::decimal;

/// Prefix of the word for a comparison.
const AT_LEAST: &str = "at_least:";

/// The most decimals of a threshold: no number in shares has more.
const MAX_DECIMALS: usize = 18;

/// Job that asks: which numbers are in these shares, or are they large?
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub struct SharesSpec {
    /// Operation on the shares.
    pub operation: Option<Operation>,
}

/// A `shares` job with its own keys.
pub type SharesJob<'a> = JobWith<'a, SharesSpec>;

/// Operation of a `shares` job on shares. Written as in the job file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Opening of every number.
    Open,
    /// Opens the sum of all numbers, and none of them.
    Sum,
    /// Tells whether each number is at least this, and opens none. Of several files, the numbers in one place are added
    /// up.
    AtLeast(Threshold),
}

/// Threshold that numbers are compared with: an exact decimal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Threshold {
    /// An integer over 10^`decimals`, with as few decimals as it needs.
    number: i128,
    decimals: u32,
}

impl Threshold {
    /// The least integer that is this or more if it stands over 10^`decimals`; the last one there is if that is beyond.
    pub fn ceiling(&self, decimals: u32) -> i128 {
        match decimals.checked_sub(self.decimals) {
            Some(more) => self.number.saturating_mul(10i128.saturating_pow(more)),
            None => {
                let unit = 10i128.pow(self.decimals - decimals);
                self.number.div_euclid(unit) + i128::from(self.number.rem_euclid(unit) > 0)
            }
        }
    }

    fn parse(text: &str) -> Option<Threshold> {
        let (sign, digits) = text.strip_prefix('-').map_or((1, text), |digits| (-1, digits));
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
        let are_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let decimals = fraction.trim_end_matches('0');
        if !are_digits(whole) || !are_digits(fraction) || decimals.len() > MAX_DECIMALS {
            return None;
        }
        let number: i128 = format!("{whole}{decimals}").parse().ok()?;
        Some(Threshold { number: sign * number, decimals: decimals.len() as u32 })
    }
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&decimal(self.number, self.decimals))
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Operation::Open => f.write_str("open"),
            Operation::Sum => f.write_str("sum"),
            Operation::AtLeast(threshold) => write!(f, "{AT_LEAST}{threshold}"),
        }
    }
}

impl FromStr for Operation {
    type Err = Error;

    fn from_str(word: &str) -> Result<Operation> {
        match (word, word.strip_prefix(AT_LEAST)) {
            ("open", _) => Ok(Operation::Open),
            ("sum", _) => Ok(Operation::Sum),
            (_, Some(number)) => Threshold::parse(number).map(Operation::AtLeast).ok_or_else(|| {
                Error::Input(format!(
                    "operation = \"{}\": write the threshold after the colon, with at most {MAX_DECIMALS} decimals, as in \
                     \"at_least:100\" or \"at_least:-2.5\"",
                    shown(word)
                ))
            }),
            _ => unknown("operation", word, "\"open\", \"sum\" or \"at_least:N\", as \"at_least:100\""),
        }
    }
}

impl<'de> Deserialize<'de> for Operation {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        from_word(deserializer)
    }
}

impl SharesSpec {
    /// Returns the threshold that numbers in shares are compared with, if the job compares them.
    pub fn threshold(&self) -> Option<Threshold> {
        match self.operation {
            Some(Operation::AtLeast(threshold)) => Some(threshold),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn threshold(text: &str) -> Threshold {
        match format!("at_least:{text}").parse() {
            Ok(Operation::AtLeast(threshold)) => threshold,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn thresholds_have_one_form() {
        for (text, shown) in [
            ("100", "100"),
            ("0", "0"),
            ("-0", "0"),
            ("-0.00", "0"),
            ("007", "7"),
            ("100.0", "100"),
            ("12.50", "12.5"),
            ("-2.5", "-2.5"),
            ("0.000000000000000001", "0.000000000000000001"),
            ("1.0000000000000000000000", "1"),
            ("170141183460469231731687303715884105727", "170141183460469231731687303715884105727"),
        ] {
            assert_eq!(threshold(text).to_string(), shown);
            assert_eq!(threshold(shown), threshold(text));
        }
        for word in ["open", "sum", "at_least:-2.5"] {
            assert_eq!(word.parse::<Operation>().unwrap().to_string(), word);
        }
    }

    #[test]
    fn the_units_are_those_of_the_value() {
        for (text, decimals, integer) in [
            ("100", 0, 100),
            ("100", 4, 1_000_000),
            ("-2.5", 2, -250),
            // Between two values that the number can have: it has to reach the upper one.
            ("2.5", 0, 3),
            ("-2.5", 0, -2),
            ("2.01", 1, 21),
            ("-2.01", 1, -20),
            ("0.5", 1, 5),
            ("170141183460469231731687303715884105727", 18, i128::MAX),
            ("-170141183460469231731687303715884105727", 1, i128::MIN),
        ] {
            assert_eq!(threshold(text).ceiling(decimals), integer, "{text} {decimals}");
        }
    }

    #[test]
    fn what_is_no_operation_is_refused_with_what_is() {
        for word in [
            "at_least:",
            "at_least:ten",
            "at_least:1e3",
            "at_least:+5",
            "at_least: 5",
            "at_least:5 ",
            "at_least:5.",
            "at_least:.5",
            "at_least:-",
            "at_least:--5",
            "at_least:1.2.3",
            "at_least:1,000",
            "at_least:1_000",
            "at_least:0x10",
            "at_least:NaN",
            "at_least:inf",
            "at_least:50%",
            "at_least:\u{665}",
            "at_least:0.0000000000000000001",
            "at_least:170141183460469231731687303715884105728",
        ] {
            let Err(Error::Input(text)) = word.parse::<Operation>() else { panic!("{word} is read") };
            assert!(text.contains("\"at_least:100\"") && !text.contains('\n'), "{text}");
        }
        for word in ["", "at_least", "at_least=5", "AT_LEAST:5", "at_most:5", "Open", "average"] {
            let Err(Error::Input(text)) = word.parse::<Operation>() else { panic!("{word} is read") };
            assert!(text.contains("is unknown: use \"open\", \"sum\" or \"at_least:N\""), "{text}");
        }
    }
}
