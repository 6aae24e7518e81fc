//! The verdict that an answer makes, and what is said of a row that cannot be asked for.

use tacita_node::agreement::KeyVerdict;
use tacita_node::jobs::intersect::live::{KeyReader, Live, QueryColumn, QueryRow};

use super::RowMatches;
use super::verdicts::Outcome;

/// The keys of a list, as far as verdicts depend on them.
#[derive(Clone)]
pub(crate) struct Judge {
    names: Vec<String>,
    verdicts: Vec<KeyVerdict>,
    /// Fields by which a row has to be asked for, in words.
    needed: String,
}

impl Judge {
    /// For the keys of a job.
    pub(crate) fn new(live: &Live, reader: &KeyReader) -> Judge {
        Judge { names: reader.key_names(), verdicts: live.verdicts(), needed: needed(&reader.fields_of_key(0)) }
    }

    /// Whether some key makes a possible match alone.
    pub(crate) fn has_possible(&self) -> bool {
        self.verdicts.contains(&KeyVerdict::Possible)
    }

    /// The verdict: the strictest of the keys that were found decides.
    pub(crate) fn outcome(&self, found: &RowMatches) -> Outcome {
        let mut by = self.verdicts.iter().zip(&found.by).filter(|(_, by)| **by).map(|(verdict, _)| *verdict).peekable();
        match (by.peek().is_some(), by.any(|verdict| verdict == KeyVerdict::Match)) {
            (false, _) => Outcome::NotListed,
            (true, true) => Outcome::Listed,
            (true, false) => Outcome::Possible,
        }
    }

    /// The keys that were found.
    pub(crate) fn by(&self, found: &RowMatches) -> Vec<String> {
        self.names.iter().zip(&found.by).filter(|(_, by)| **by).map(|(key, _)| key.clone()).collect()
    }

    /// Returns the reason why a row cannot be asked for, or not by all of the keys. A verdict by fewer than all of them
    /// is not taken for more than that.
    pub(crate) fn note(&self, row: &QueryRow) -> String {
        if !row.can_be_asked() {
            return row.why_not();
        }
        let without = self.names.iter().zip(&row.keys).filter(|(_, own)| own.is_none()).map(|(key, _)| key.as_str());
        let without: Vec<_> = without.collect();
        match (without.is_empty(), row.missing.is_empty()) {
            (true, _) => String::new(),
            (false, false) => format!("not asked, because a value is missing: {}", without.join("; ")),
            (false, true) => format!("not asked, because a value cannot be read for it: {}", without.join("; ")),
        }
    }

    /// The same for somebody who typed it.
    pub(crate) fn advice(&self, row: &QueryRow) -> String {
        if row.unreadable.is_empty() && !row.has_key() { format!("enter {}", self.needed) } else { self.note(row) }
    }
}

/// `a name and a date of birth`
fn needed(fields: &[QueryColumn]) -> String {
    let nouns: Vec<_> = fields.iter().map(noun).collect();
    let is_one = |noun: &&str| nouns.iter().filter(|other| **other == Some(*noun)).count() == 1;
    let words: Vec<String> = fields
        .iter()
        .zip(&nouns)
        .map(|(field, noun)| {
            noun.filter(|noun| is_one(noun)).map_or_else(|| format!("\"{}\"", field.header), str::to_owned)
        })
        .collect();
    match words.split_last() {
        Some((last, first)) if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        _ => words.concat(),
    }
}

fn noun(field: &QueryColumn) -> Option<&'static str> {
    let header = field.header.to_lowercase();
    let is_birth = ["birth", "born", "dob", "geb", "naiss", "nac"].iter().any(|word| header.contains(word));
    Some(match field.profiles.first()?.kind() {
        "name" | "latin" | "initials" => "a name",
        "date" if is_birth => "a date of birth",
        "date" => "a date",
        "year" => "a year",
        "email" => "an e-mail address",
        "phone" => "a phone number",
        "ip" => "an IP address",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(verdicts: &[KeyVerdict]) -> Judge {
        let names = (0..verdicts.len()).map(|number| format!("key {number}")).collect();
        Judge { names, verdicts: verdicts.to_vec(), needed: String::new() }
    }

    #[test]
    fn the_strictest_key_that_was_found_decides() {
        let judge = judge(&[KeyVerdict::Match, KeyVerdict::Possible, KeyVerdict::Match]);
        for (by, outcome, keys) in [
            ([false, false, false], Outcome::NotListed, &[][..]),
            ([false, true, false], Outcome::Possible, &["key 1"]),
            ([false, true, true], Outcome::Listed, &["key 1", "key 2"]),
            ([true, true, false], Outcome::Listed, &["key 0", "key 1"]),
        ] {
            let found = RowMatches { by: by.to_vec(), epoch: String::new(), version: 0 };
            assert_eq!(judge.outcome(&found), outcome, "{by:?}");
            assert_eq!(judge.by(&found), keys, "{by:?}");
        }
    }

    #[test]
    fn what_is_needed_is_said_in_words() {
        let field = |header: &str, profile: &str| QueryColumn {
            header: header.into(),
            profiles: vec![profile.parse().unwrap()],
        };
        for (fields, words) in [
            (vec![field("passenger", "name"), field("born", "date:DMY")], "a name and a date of birth"),
            (
                vec![field("first", "name"), field("last", "name"), field("when", "date")],
                "\"first\", \"last\" and a date",
            ),
            (vec![field("nhs", "text")], "\"nhs\""),
        ] {
            assert_eq!(needed(&fields), words);
        }
    }
}
