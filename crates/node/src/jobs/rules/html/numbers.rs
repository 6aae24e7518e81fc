//! Numbers on the page.

use serde_json::{Value, json};

/// A number with so many significant digits.
pub fn rounded(number: f64, digits: usize) -> f64 {
    format!("{number:.*e}", digits.saturating_sub(1)).parse().unwrap_or(number)
}

/// A share as people read it, with three significant digits: 0.6 %.
pub fn percent(share: f64) -> String {
    format!("{} %", rounded(share * 100.0, 3))
}

/// A factor with about three significant digits.
pub fn factor(number: f64) -> String {
    let decimals = match number.abs() {
        ..9.995 => 2,
        ..99.95 => 1,
        _ => 0,
    };
    format!("{number:.decimals$}")
}

/// Ten significant digits, from which a share's count of rows follows; or null for what JSON has no number for.
pub fn json_number(number: f64) -> Value {
    match number.is_finite() {
        true => json!(rounded(number, 10)),
        false => Value::Null,
    }
}
