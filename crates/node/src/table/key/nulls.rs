//! Words that stand for no value, and values that may.

use std::collections::BTreeMap;

use super::{KeySpec, Warning};
use crate::table::normalize::trim;
use crate::table::{Origin, Profile};

/// Words that exports write for a value that is not there. None of them is a value in any data that people exchange, as
/// it is written here: a person called Null is written `Null`, and `NA` and `None` may be values.
const USUAL: [&str; 30] = [
    "NULL",
    "null",
    "<NULL>",
    "<null>",
    "(NULL)",
    "(null)",
    "[NULL]",
    "[null]",
    "\\N",
    "N/A",
    "n/a",
    "#N/A",
    "#N/A N/A",
    "<NA>",
    "NaN",
    "NaT",
    "#VALUE!",
    "#REF!",
    "#NAME?",
    "#DIV/0!",
    "#NUM!",
    "#NULL!",
    "unknown",
    "Unknown",
    "UNKNOWN",
    "-",
    "--",
    "?",
    "0000-00-00",
    "0000-00-00 00:00:00",
];

/// Values that often stand for one that is unknown, and may be real.
const DOUBTFUL: [&str; 39] = [
    "1900-01-01",
    "01/01/1900",
    "1/1/1900",
    "01.01.1900",
    "1.1.1900",
    "19000101",
    "1900-01-01 00:00:00",
    "1900-01-01T00:00:00",
    "1900-01-01T00:00:00Z",
    "1899-12-30",
    "1899-12-31",
    "0001-01-01",
    "1111-11-11",
    "1753-01-01",
    "9999-12-31",
    "31/12/9999",
    "12/31/9999",
    "31.12.9999",
    "9999-12-31 00:00:00",
    "9999-12-31T00:00:00Z",
    "NA",
    "na",
    "nan",
    "NAN",
    "Null",
    "nil",
    "none",
    "None",
    "NONE",
    ".",
    "xxx",
    "XXX",
    "TBD",
    "none@none.com",
    "test@test.com",
    "na@na.com",
    "123456789",
    "000000000",
    "999999999",
];

/// Words to be looked for in every value of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Words {
    words: Vec<String>,
    /// Whether a word begins with this byte: most values begin with no such.
    begins: [bool; 256],
}

impl Words {
    fn new(words: impl IntoIterator<Item = impl AsRef<str>>) -> Words {
        let words: Vec<String> = words.into_iter().map(|word| trim(word.as_ref()).to_owned()).collect();
        let mut begins = [false; 256];
        words.iter().for_each(|word| begins[usize::from(word.bytes().next().unwrap_or_default())] = true);
        Words { words, begins }
    }

    /// The place of the word that the value is, blanks around it aside.
    fn find(&self, value: &str) -> Option<usize> {
        let value = trim(value);
        if self.begins[usize::from(value.bytes().next().unwrap_or_default())] {
            self.words.iter().position(|word| word == value)
        } else {
            None
        }
    }
}

/// The words that stand for no value in a party's key columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NullWords {
    nulls: Words,
    /// Values that are warned of.
    doubtful: Words,
    /// Whether the party has said nothing of them.
    usual: bool,
}

/// Default set of words for no value: the usual ones.
impl Default for NullWords {
    fn default() -> NullWords {
        NullWords { nulls: Words::new(USUAL), doubtful: Words::new(DOUBTFUL), usual: true }
    }
}

/// Meaning of a value besides itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// The value stands for no value.
    Null,
    /// Perhaps for no value.
    Doubtful,
}

impl NullWords {
    /// Returns an empty set of words: each value stands for itself.
    pub fn none() -> NullWords {
        let nothing = || Words::new([""; 0]);
        NullWords { nulls: nothing(), doubtful: nothing(), usual: false }
    }

    /// Returns the words that a party has named. The usual ones are then doubtful, unless it has named none.
    pub fn of(named: &[String]) -> NullWords {
        if named.is_empty() {
            return NullWords::none();
        }
        let nulls = Words::new(named);
        let others = USUAL.into_iter().chain(DOUBTFUL).filter(|word| nulls.find(word).is_none());
        NullWords { doubtful: Words::new(others), nulls, usual: false }
    }

    /// The words, without blanks around them.
    pub fn nulls(&self) -> &[String] {
        &self.nulls.words
    }

    /// Whether a value that a profile has not read yet is one of the words for no value.
    ///
    /// The usual words make nulls of values that would be matched. What a profile cannot read is unreadable with them
    /// as without them: it is in no key, and its owner hears of it by that name.
    pub(super) fn null(&self, value: &str) -> Option<usize> {
        if self.usual { None } else { self.nulls.find(value) }
    }

    /// Returns the meaning of a value that a profile has read as `canonical`. Dates, numbers and addresses are words in
    /// any form in which they may be written; names are so only as they stand here.
    pub(super) fn mark(&self, value: &str, canonical: &str, profile: Profile) -> Option<(Mark, usize)> {
        let forms = &[value, canonical][..if profile.is_of_text() { 1 } else { 2 }];
        let find = |words: &Words| forms.iter().find_map(|form| words.find(form));
        let null = find(&self.nulls).map(|word| (Mark::Null, word));
        null.or_else(|| Some((Mark::Doubtful, find(&self.doubtful)?)))
    }

    /// Returns the meaning of a value in a column of this profile.
    pub fn mark_of(&self, value: &str, profile: Profile) -> Option<Mark> {
        let mut canonical = String::new();
        profile.canonical(value, &mut canonical);
        self.mark(value, &canonical, profile).map(|(mark, _)| mark)
    }
}

/// The words that were met in a column, each with how often.
#[derive(Clone, Default)]
pub(super) struct Met {
    nulls: BTreeMap<usize, usize>,
    doubtful: BTreeMap<usize, usize>,
}

impl Met {
    pub fn add(&mut self, mark: Mark, word: usize) {
        let met = match mark {
            Mark::Null => &mut self.nulls,
            Mark::Doubtful => &mut self.doubtful,
        };
        *met.entry(word).or_default() += 1;
    }

    /// Adds those of later rows.
    pub fn append(&mut self, later: &Met) {
        for (all, some) in [(&mut self.nulls, &later.nulls), (&mut self.doubtful, &later.doubtful)] {
            some.iter().for_each(|(word, count)| *all.entry(*word).or_default() += count);
        }
    }
}

/// Returns warnings for the user about the words that were met in each column. They cover words taken for no value
/// without the user's word, and words that may stand for none. The words are ours, and no secret.
pub(super) fn report(origin: Origin<'_>, spec: &KeySpec, met: &[Met]) -> Vec<Warning> {
    let NullWords { nulls, doubtful, usual } = &spec.words;
    let mut warnings = Vec::new();
    let mut warn = |text: String| warnings.push(Warning { without_values: text.clone(), text });
    let columns = || spec.columns.iter().zip(met);
    for (column, met) in columns().filter(|(_, met)| *usual && !met.nulls.is_empty()) {
        warn(format!(
            "{}, column {:?}: {} are read as no value; if they are values, set nulls = [] in [parties.X] of the job file",
            origin.source,
            column.header,
            counts(&met.nulls, nulls)
        ));
    }
    let of_all = |of: fn(&Met) -> &BTreeMap<usize, usize>, words: &Words| -> Vec<String> {
        let all: BTreeMap<usize, usize> = met.iter().flat_map(of).map(|(word, count)| (*word, *count)).collect();
        all.into_keys().map(|word| format!("{:?}", words.words[word])).collect()
    };
    let named = || {
        if *usual {
            of_all(|met| &met.nulls, nulls)
        } else {
            nulls.words.iter().map(|word| format!("{word:?}")).collect()
        }
    };
    for (column, met) in columns().filter(|(_, met)| !met.doubtful.is_empty()) {
        let list: Vec<_> = named().into_iter().chain(of_all(|met| &met.doubtful, doubtful)).collect();
        warn(format!(
            "{}, column {:?}: {}: rows that hold it match each other. If it is a placeholder, set nulls = [{}] in [parties.X] of \
             the job file",
            origin.source,
            column.header,
            counts(&met.doubtful, doubtful),
            list.join(", ")
        ));
    }
    warnings
}

/// `"NULL" (12 rows) and "N/A" (1 row)`, the most frequent first.
fn counts(met: &BTreeMap<usize, usize>, words: &Words) -> String {
    let mut all: Vec<_> = met.iter().collect();
    all.sort_by_key(|(word, count)| (usize::MAX - **count, **word));
    let one = |(word, count): (&usize, &usize)| {
        format!("{:?} ({})", words.words[*word], crate::base::text::counted(*count as u64, "row"))
    };
    let all: Vec<_> = all.into_iter().map(one).collect();
    match &all[..] {
        [firsts @ .., last] if !firsts.is_empty() => format!("{} and {last}", firsts.join(", ")),
        _ => all.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(words: &NullWords, value: &str, profile: &str) -> Option<Mark> {
        words.mark_of(value, profile.parse().unwrap())
    }

    #[test]
    fn nothing_that_is_a_value_is_taken_for_none() {
        use Mark::{Doubtful, Null};
        let usual = NullWords::default();
        for (value, profile, expected) in [
            ("NULL", "none", Some(Null)),
            (" N/A ", "none", Some(Null)),
            ("unknown", "name", Some(Null)),
            ("-", "text", Some(Null)),
            ("0000-00-00", "date", Some(Null)),
            // A surname, a country, a given name: warned of, and values.
            ("Null", "name", Some(Doubtful)),
            ("NA", "none", Some(Doubtful)),
            ("None", "text", Some(Doubtful)),
            ("1900-01-01", "date", Some(Doubtful)),
            ("01/01/1900", "date:DMY", Some(Doubtful)),
            // In another form than that of the list only where the profile is not of text.
            ("1 Jan 1900", "date", Some(Doubtful)),
            ("1 Jan 1900", "text", None),
            ("null island", "text", None),
            ("Nan", "name", None),
            ("nulls", "none", None),
            ("-5", "integer", None),
            ("0", "integer", None),
            ("1990-01-01", "date", None),
            ("Unknown Soldier", "name", None),
        ] {
            assert_eq!(mark(&usual, value, profile), expected, "{value:?} as {profile}");
        }
    }

    #[test]
    fn own_words_take_the_place_of_the_usual_ones() {
        use Mark::{Doubtful, Null};
        let own = NullWords::of(&["missing".to_owned(), "1900-01-01".to_owned()]);
        for (value, profile, expected) in [
            ("missing", "text", Some(Null)),
            ("Missing", "text", None),
            ("01/01/1900", "date:DMY", Some(Null)),
            // What is usual is warned of.
            ("NULL", "none", Some(Doubtful)),
            ("NA", "none", Some(Doubtful)),
        ] {
            assert_eq!(mark(&own, value, profile), expected, "{value:?} as {profile}");
        }
        for value in ["NULL", "1900-01-01", "NA", "", "-"] {
            assert_eq!(mark(&NullWords::of(&[]), value, "none"), None, "{value:?}");
        }
        // Blanks alone are a word like others.
        assert_eq!(mark(&NullWords::of(&["  ".to_owned()]), " ", "none"), Some(Null));
    }

    #[test]
    fn each_word_is_in_one_list_once() {
        let mut all: Vec<_> = USUAL.into_iter().chain(DOUBTFUL).collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
