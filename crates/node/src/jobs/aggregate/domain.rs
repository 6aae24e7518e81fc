//! The values that reports may carry: numbers, or grades in their order.

use std::fmt;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Value, json};

use crate::base::text::shown;

/// The most values that a job may allow: reports prove which of them they carry, and rows are counted by them.
pub const MAX_PLACES: u64 = tacita_core::protocol::aggregate::MAX_VALUES as u64;

/// The longest grade, in bytes.
const MAX_WORD_BYTES: usize = 64;

/// The values that reports may carry. Each has a place, counted from 0, by which it travels; places are in the order of
/// values.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Domain {
    /// Reports carry no value.
    #[default]
    Nothing,
    /// List of numbers, in ascending order.
    Numbers(Vec<i64>),
    /// Whole numbers of an inclusive range.
    Range {
        /// Least number of the range.
        min: i64,
        /// Greatest number of the range.
        max: i64,
    },
    /// Grades, each below the one after it.
    Grades(Vec<String>),
}

impl Domain {
    /// Returns the number of values; none if reports carry no value.
    pub fn places(&self) -> u32 {
        match self {
            Domain::Nothing => 0,
            Domain::Numbers(numbers) => numbers.len() as u32,
            Domain::Range { min, max } => (i128::from(*max) - i128::from(*min) + 1) as u32,
            Domain::Grades(words) => words.len() as u32,
        }
    }

    /// Whether reports carry a value.
    pub fn has_values(&self) -> bool {
        !matches!(self, Domain::Nothing)
    }

    /// Whether values are numbers, which can be added up.
    pub fn is_numeric(&self) -> bool {
        matches!(self, Domain::Numbers(_) | Domain::Range { .. })
    }

    /// The place of a value as a table has it; none if it is not allowed.
    pub fn place(&self, text: &str) -> Option<u32> {
        match self {
            Domain::Nothing => None,
            Domain::Grades(words) => words.iter().position(|word| word == text.trim()).map(|place| place as u32),
            _ => self.place_of(whole(text.trim())?),
        }
    }

    /// The place of a number; none if it is not allowed.
    pub fn place_of(&self, number: i64) -> Option<u32> {
        match self {
            Domain::Numbers(numbers) => numbers.binary_search(&number).ok().map(|place| place as u32),
            Domain::Range { min, max } => {
                (*min..=*max).contains(&number).then(|| (i128::from(number) - i128::from(*min)) as u32)
            }
            Domain::Nothing | Domain::Grades(_) => None,
        }
    }

    /// The number at a place; none of grades, or beyond the last place.
    pub fn number(&self, place: u32) -> Option<i64> {
        match self {
            Domain::Numbers(numbers) => numbers.get(place as usize).copied(),
            Domain::Range { min, .. } if place < self.places() => Some(min + i64::from(place)),
            _ => None,
        }
    }

    /// The value at a place as it is written; none beyond the last place.
    pub fn value(&self, place: u32) -> Option<String> {
        match self {
            Domain::Grades(words) => words.get(place as usize).cloned(),
            _ => self.number(place).map(|number| number.to_string()),
        }
    }

    /// The least and the greatest number; none of grades.
    pub fn bounds(&self) -> Option<(i64, i64)> {
        match self {
            Domain::Numbers(numbers) => Some((*numbers.first()?, *numbers.last()?)),
            Domain::Range { min, max } => Some((*min, *max)),
            Domain::Nothing | Domain::Grades(_) => None,
        }
    }

    /// Returns the domain as it stands in the terms.
    pub fn terms(&self) -> Value {
        match self {
            Domain::Nothing => Value::Null,
            Domain::Numbers(numbers) => json!(numbers),
            Domain::Range { min, max } => json!({ "min": min, "max": max }),
            Domain::Grades(words) => json!(words),
        }
    }

    fn of_numbers(mut numbers: Vec<i64>) -> Result<Domain, String> {
        numbers.sort_unstable();
        match numbers.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(format!("round.values: {} is listed twice", pair[0])),
            None => Ok(Domain::Numbers(numbers)),
        }
    }

    fn of_words(words: Vec<String>) -> Result<Domain, String> {
        // They stand in predicates in quotes, and in results with `|` between them.
        let odd = |word: &String| {
            word.trim() != word || word.contains(|c: char| c.is_control() || "|'\"".contains(c)) || word.is_empty()
        };
        if let Some(word) = words.iter().find(|word| odd(word) || word.len() > MAX_WORD_BYTES) {
            return Err(format!(
                "round.values: \"{}\" is no grade: use 1 to {MAX_WORD_BYTES} bytes without quotes, | and blanks around them",
                shown(word)
            ));
        }
        let mut sorted: Vec<&String> = words.iter().collect();
        sorted.sort_unstable();
        match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(format!("round.values: \"{}\" is listed twice", shown(pair[0]))),
            None => Ok(Domain::Grades(words)),
        }
    }
}

/// A whole number, also with a fraction of zeros: tables that came through pandas write it so when some are absent.
fn whole(text: &str) -> Option<i64> {
    let (digits, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let zeros = !fraction.is_empty() && fraction.bytes().all(|byte| byte == b'0');
    if zeros { digits.parse().ok() } else { None }
}

/// A value in a list.
#[derive(Deserialize)]
#[serde(untagged, expecting = "round.values has whole numbers, or grades in quotes")]
enum Listed {
    Number(i64),
    Word(String),
}

/// `{ min, max }`
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Between {
    min: i64,
    max: i64,
}

impl<'de> Deserialize<'de> for Domain {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Domain, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Domain;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of numbers or of grades, or a table as { min = 1, max = 100 }")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Domain, A::Error> {
                let (mut numbers, mut words) = (Vec::new(), Vec::new());
                while let Some(value) = list.next_element()? {
                    match value {
                        Listed::Number(number) => numbers.push(number),
                        Listed::Word(word) => words.push(word),
                    }
                    if (numbers.len() + words.len()) as u64 > MAX_PLACES {
                        return Err(A::Error::custom(format!("round.values: at most {MAX_PLACES} values")));
                    }
                }
                match (numbers.is_empty(), words.is_empty()) {
                    (true, true) => {
                        Err("round.values: it is empty: leave it out where reports carry no value".to_owned())
                    }
                    (false, false) => Err("round.values: use numbers or grades, not both".to_owned()),
                    (false, true) => Domain::of_numbers(numbers),
                    (true, false) => Domain::of_words(words),
                }
                .map_err(A::Error::custom)
            }

            fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<Domain, A::Error> {
                let Between { min, max } = Between::deserialize(MapAccessDeserializer::new(table))?;
                let places = i128::from(max) - i128::from(min) + 1;
                if (1..=i128::from(MAX_PLACES)).contains(&places) {
                    Ok(Domain::Range { min, max })
                } else {
                    Err(A::Error::custom(format!(
                        "round.values: from {min} to {max} there are {} values: use 1 to {MAX_PLACES}",
                        places.max(0)
                    )))
                }
            }
        }
        deserializer.deserialize_any(Either)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Domain, String> {
        let table: Result<std::collections::BTreeMap<String, Domain>, _> = toml::from_str(&format!("v = {text}"));
        table.map(|mut table| table.remove("v").unwrap()).map_err(|error| error.message().to_owned())
    }

    #[test]
    fn places_and_values_belong_together() {
        for (text, values) in [
            ("[3, 1, 2]", &["1", "2", "3"][..]),
            ("{ min = -1, max = 1 }", &["-1", "0", "1"]),
            ("[\"A\", \"B\", \"F\"]", &["A", "B", "F"]),
            ("[7]", &["7"]),
        ] {
            let domain = read(text).unwrap();
            assert_eq!(domain.places() as usize, values.len());
            for (place, value) in values.iter().enumerate() {
                assert_eq!(domain.place(&format!(" {value}")), Some(place as u32), "{text}");
                assert_eq!(domain.value(place as u32).as_deref(), Some(*value));
            }
            assert_eq!(domain.value(domain.places()), None);
            assert_eq!(domain.place("Z"), None);
            assert_eq!(domain.place("1.0"), domain.is_numeric().then(|| domain.place("1")).flatten());
            assert_eq!((domain.place("1.5"), domain.place("1.")), (None, None));
        }
        let ends = read("{ min = -9223372036854775808, max = -9223372036854775807 }").unwrap();
        assert_eq!(ends.places(), 2);
        assert_eq!(ends.place("-9223372036854775807"), Some(1));
        assert_eq!(Domain::Nothing.places(), 0);
        assert_eq!(Domain::Nothing.place("1"), None);
    }

    #[test]
    fn values_that_make_no_sense_are_refused() {
        for (text, words) in [
            ("[]", "empty"),
            ("[1, \"A\"]", "not both"),
            ("[1, 1]", "1 is listed twice"),
            ("[\"A\", \"A\"]", "\"A\" is listed twice"),
            ("[\"a|b\"]", "no grade"),
            ("[\"it's\"]", "no grade"),
            ("[1.5]", "whole numbers"),
            ("{ min = 2, max = 1 }", "0 values"),
            ("{ min = 0, max = 1048576 }", "1048577 values"),
            ("{ min = -9223372036854775808, max = 9223372036854775807 }", "18446744073709551616 values"),
            ("{ min = 1 }", "missing field `max`"),
            ("3", "a list of numbers or of grades"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
