//! Numbers on the page.

use serde_json::{Value, json};

/// A number with so many significant digits.
pub fn rounded(number: f64, digits: usize) -> f64 {
    format!("{number:.*e}", digits.saturating_sub(1)).parse().unwrap_or(number)
}

/// A share as people read it, with three significant digits: 0.6 %. Less than all is never rounded up to all.
pub fn percent(share: f64) -> String {
    let with = |digits| rounded(share * 100.0, digits);
    let digits = (3..MAX_DIGITS).find(|&digits| share >= 1.0 || with(digits) < 100.0);
    format!("{} %", with(digits.unwrap_or(MAX_DIGITS)))
}

/// Maximum number of significant digits of a number.
const MAX_DIGITS: usize = 12;

/// A factor with about three significant digits.
pub fn factor(number: f64) -> String {
    with_more(number, 0)
}

/// Factors that follow each other, with as many digits as tell each from the next.
pub fn factors(numbers: &[f64]) -> Vec<String> {
    let with = |more| numbers.iter().map(|&number| with_more(number, more)).collect::<Vec<_>>();
    let differ = |texts: &Vec<String>| texts.windows(2).all(|pair| pair[0] != pair[1]);
    (0..MAX_DIGITS).map(with).find(differ).unwrap_or_else(|| with(MAX_DIGITS))
}

/// A factor with about three significant digits, and so many more.
fn with_more(number: f64, more: usize) -> String {
    let decimals = match number.abs() {
        ..9.995 => 2,
        ..99.95 => 1,
        _ => 0,
    };
    format!("{number:.0$}", decimals + more)
}

/// Ten significant digits, from which a share's count of rows follows; or null for what JSON has no number for.
pub fn json_number(number: f64) -> Value {
    if number.is_finite() { json!(rounded(number, 10)) } else { Value::Null }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn less_than_all_is_never_rounded_up_to_all() {
        for (share, text) in [
            (1.0, "100 %"),
            (0.996, "99.6 %"),
            (0.9996, "99.96 %"),
            (0.999_999_6, "99.99996 %"),
            (0.5, "50 %"),
            (0.006_123, "0.612 %"),
            (0.0, "0 %"),
        ] {
            assert_eq!(percent(share), text);
        }
    }

    #[test]
    fn factors_that_follow_each_other_differ() {
        assert_eq!(factors(&[1.0, 1.003, 1.01]), ["1.000", "1.003", "1.010"]);
        assert_eq!(factors(&[1.0, 2.0, 30.0]), ["1.00", "2.00", "30.0"]);
        assert_eq!(factors(&[7.0, 7.0]).len(), 2);
    }
}
