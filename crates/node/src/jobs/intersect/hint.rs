//! What to look at when two tables have no key in common.

use std::collections::BTreeMap;

use super::load::{Loaded, key_spec};
use crate::agreement::JobSpec;
use crate::table::key::parts;
use crate::watch::{WITH_VALUES, WITHOUT_VALUES};

/// So many keys are looked at.
const LOOKED_AT: usize = 1000;

/// No shape is shown longer.
const MOST_LETTERS: usize = 24;

/// Warns a party whose keys have none in common with the peer's, although both have some: how its own keys look, as the job reads
/// them, without their digits and letters.
pub(crate) fn warn_of_nothing(job: &JobSpec, me: &str, loaded: &Loaded) {
    let Ok(spec) = key_spec(job, me, true) else { return };
    let mut shapes: Vec<BTreeMap<String, usize>> = vec![BTreeMap::new(); spec.columns.len()];
    for key in loaded.keys().iter().take(LOOKED_AT) {
        for (shapes, part) in shapes.iter_mut().zip(parts(key)) {
            *shapes.entry(shape(&String::from_utf8_lossy(part))).or_default() += 1;
        }
    }
    let looks = spec.columns.iter().zip(shapes).filter_map(|(column, shapes)| {
        let (shape, _) = shapes.into_iter().max_by_key(|(_, keys)| *keys)?;
        Some(format!("{} ({}) mostly like {shape:?}", column.name, column.profile))
    });
    let peer = job.peer_of(me);
    // A short key of signs alone is its own shape.
    tracing::warn!(target: WITHOUT_VALUES, "no key is common: compare with {peer} how keys are written, and see [key] normalize");
    tracing::warn!(
        target: WITH_VALUES,
        "no key is common. Does {peer} write its keys as this party does? Here they are, as the job reads them, {}: compare that \
         with {peer}, and see [key] normalize",
        looks.collect::<Vec<_>>().join(", ")
    );
}

/// How a text looks: `9` for a digit, `a` for letters in a row.
fn shape(text: &str) -> String {
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
        if shape.chars().count() == MOST_LETTERS {
            shape.push('…');
            break;
        }
    }
    shape
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(shape(&"1".repeat(100)).chars().count(), MOST_LETTERS + 1);
    }
}
