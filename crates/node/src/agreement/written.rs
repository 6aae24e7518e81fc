//! Numbers of job files, digit for digit.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::Deserializer;
use serde_json::value::RawValue;

/// A number as it stands in the job file, digit for digit: binary floating point has no 0.07.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenNumber(pub String);

impl<'de> Deserialize<'de> for WrittenNumber {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<WrittenNumber, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "a number, or a number in quotes")]
        enum Number {
            Integer(i64),
            Float(f64),
            Text(String),
        }
        Ok(WrittenNumber(match Number::deserialize(deserializer)? {
            Number::Integer(integer) => integer.to_string(),
            // With a point even where it is an integer: 1.0 is not 1.
            Number::Float(float) => format!("{float:?}"),
            Number::Text(text) => text,
        }))
    }
}

/// Takes numbers that are not whole from the text of a job file, in place of what a parser has made of them. Each comes
/// with its key.
pub(crate) fn take_exact(text: &str, is_json: bool, numbers: &mut [(&str, &mut Option<WrittenNumber>)]) {
    if is_json {
        let Ok(found) = serde_json::from_str::<BTreeMap<&str, &RawValue>>(text) else { return };
        for (key, number) in numbers {
            let raw = found.get(key).filter(|raw| !raw.get().starts_with('"'));
            if let (Some(raw), Some(number)) = (raw, number) {
                number.0 = raw.get().to_owned();
            }
        }
    } else if let Ok(found) = toml::from_str::<BTreeMap<String, toml::Spanned<toml::Value>>>(text) {
        for (key, number) in numbers {
            let Some(value) = found.get(*key).filter(|value| value.get_ref().is_float()) else { continue };
            if let (Some(text), Some(number)) = (text.get(value.span()), number) {
                // TOML allows a plus sign, and underscores between digits.
                number.0 = text.strip_prefix('+').unwrap_or(text).replace('_', "");
            }
        }
    }
}
