//! Contents of a column: how much it holds, and in what form.

use std::collections::{BTreeMap, HashSet};

use arrow_array::ArrayRef;
use arrow_schema::{DataType, Field};

use crate::base::text::shape;
use crate::table::Profile;
use crate::table::columns::is_index;
use crate::table::normalize::Reading;
use crate::table::text::TextColumn;

/// Distinct values are counted exactly up to so many.
pub const MAX_DISTINCT: usize = 100_000;

/// Maximum number of shapes that are told apart; in a column with more, the later ones are not.
const MAX_SHAPES: usize = 1000;

/// After so many values, a profile that has read less than a hundredth of them is not tried on the others.
const TRIAL: usize = 10_000;

/// A profile fits a column if it reads so many percent of its values.
const FITS_PERCENT: usize = 75;

/// Facts about the contents of a column.
pub struct ColumnFacts {
    /// Header of the column.
    pub name: String,
    /// The type of its values: `text` in a text file.
    pub kind: String,
    /// Rows in which it holds nothing, or blanks.
    pub empty: usize,
    /// Number of the other rows.
    pub values: usize,
    /// Number of different values; none if more than [`MAX_DISTINCT`].
    pub distinct: Option<usize>,
    /// Characters of the shortest and of the longest value, if there are any.
    pub lengths: Option<(usize, usize)>,
    /// Shape of most values, and the number of values with it.
    pub shape: Option<(String, usize)>,
    /// The profiles for certain kinds of values, each with how many it reads; those that read hardly any are not there.
    pub read_by: Vec<(Profile, usize)>,
    /// The profiles that fit best. Several if nothing in the column tells them apart; the user knows.
    pub fitting: Vec<Profile>,
    /// Whether most values are numbers with a decimal comma.
    pub has_commas: bool,
    /// Whether its values have a text, so that it can be a key.
    pub has_text: bool,
    /// Whether it is an index of pandas, which can be none.
    pub is_index: bool,
}

/// A column that is being looked at.
pub(super) struct Column {
    name: String,
    kind: String,
    empty: usize,
    values: usize,
    /// Hashes of the values; none if there are too many.
    distinct: Option<HashSet<u64>>,
    lengths: Option<(usize, usize)>,
    shapes: BTreeMap<String, usize>,
    /// Number of values that each profile has read; none if it was given up.
    read_by: Vec<(Profile, Option<usize>)>,
    /// Values with letters, with digits, and of several words.
    letters: usize,
    digits: usize,
    several: usize,
    /// Numbers with a decimal comma.
    commas: usize,
    has_text: bool,
    is_index: bool,
}

impl Column {
    pub fn new(field: &Field, is_text: bool) -> Column {
        Column {
            name: field.name().clone(),
            kind: if is_text { "text".into() } else { kind(field.data_type()) },
            empty: 0,
            values: 0,
            distinct: Some(HashSet::new()),
            lengths: None,
            shapes: BTreeMap::new(),
            read_by: Profile::of_kinds().map(|profile| (profile, Some(0))).into(),
            letters: 0,
            digits: 0,
            several: 0,
            commas: 0,
            has_text: true,
            is_index: is_index(field),
        }
    }

    /// Takes the rows that come next.
    pub fn add(&mut self, array: &ArrayRef) {
        let Some(texts) = TextColumn::new(array) else {
            self.has_text = false;
            self.empty += array.null_count();
            self.values += array.len() - array.null_count();
            return;
        };
        let mut scratch = String::new();
        for row in 0..array.len() {
            match texts.get(row).filter(|text| !text.trim().is_empty()) {
                None => self.empty += 1,
                Some(text) => self.take(text, &mut scratch),
            }
        }
    }

    fn take(&mut self, text: &str, scratch: &mut String) {
        self.values += 1;
        if let Some(distinct) = &mut self.distinct {
            distinct.insert(hash(text));
            if distinct.len() > MAX_DISTINCT {
                self.distinct = None;
            }
        }
        let length = text.chars().count();
        let (shortest, longest) = self.lengths.unwrap_or((length, length));
        self.lengths = Some((shortest.min(length), longest.max(length)));
        let shape = shape(text);
        if self.shapes.len() < MAX_SHAPES || self.shapes.contains_key(&shape) {
            *self.shapes.entry(shape).or_default() += 1;
        }
        self.letters += usize::from(text.contains(char::is_alphabetic));
        self.digits += usize::from(text.contains(char::is_numeric));
        self.several += usize::from(text.trim().contains(|letter: char| letter.is_whitespace() || letter == ','));
        self.commas += usize::from(has_comma(text.trim()));
        for (profile, read) in &mut self.read_by {
            let Some(count) = read else { continue };
            scratch.clear();
            *count += usize::from(profile.canonical(text, scratch) == Reading::Value);
            if self.values == TRIAL && *count * 100 < TRIAL {
                *read = None;
            }
        }
    }

    pub fn facts(self) -> ColumnFacts {
        let fitting = self.fitting();
        ColumnFacts {
            fitting: if self.has_text { fitting } else { Vec::new() },
            name: self.name,
            kind: self.kind,
            empty: self.empty,
            values: self.values,
            distinct: self.distinct.filter(|_| self.has_text).map(|values| values.len()),
            lengths: self.lengths,
            // Of equal ones the first in their order, so that each look says the same.
            shape: self.shapes.into_iter().rev().max_by_key(|(_, count)| *count),
            read_by: self
                .read_by
                .into_iter()
                .filter_map(|(profile, read)| Some((profile, read.filter(|read| *read > 0)?)))
                .collect(),
            has_commas: self.commas > 0 && self.commas * 100 >= self.values * FITS_PERCENT,
            has_text: self.has_text,
            is_index: self.is_index,
        }
    }

    /// Returns the profiles of certain kinds that read most values, if these are enough. Integers come last: many a
    /// date is one, too. Among dates the plain one is taken, if it reads as many as one that names an order. Otherwise
    /// letters and words decide.
    fn fitting(&self) -> Vec<Profile> {
        let part = |count: usize| count * 100 >= self.values * FITS_PERCENT;
        let most = |integer: bool| {
            let of_kind = self.read_by.iter().filter(|(profile, _)| (*profile == Profile::INTEGER) == integer);
            of_kind.filter_map(|(_, read)| *read).max().filter(|read| part(*read) && *read > 0)
        };
        let found = most(false).map(|most| (most, false)).or_else(|| Some((most(true)?, true)));
        if let Some((most, integer)) = found {
            let best = |(profile, read): &(Profile, _)| {
                (*read == Some(most) && (*profile == Profile::INTEGER) == integer).then_some(*profile)
            };
            let mut best = self.read_by.iter().filter_map(best);
            let first = best.next();
            // What names an order has another beside it that nothing tells from it.
            let ordered = first.filter(|first| first.to_string() != first.kind());
            let alike = best.filter(|other| ordered.is_some_and(|first| first.kind() == other.kind()));
            return first.into_iter().chain(alike).collect();
        }
        match self.values {
            0 => Vec::new(),
            _ if part(self.letters) && part(self.several) && self.digits * 4 < self.values => vec![Profile::Name],
            _ if self.letters > 0 => vec![Profile::Text],
            _ => vec![Profile::None],
        }
    }
}

/// A type in a word or two, without what it consists of.
fn kind(data_type: &DataType) -> String {
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => "text".into(),
        DataType::Dictionary(_, values) => format!("{} (dictionary)", kind(values)),
        DataType::RunEndEncoded(_, values) => format!("{} (runs)", kind(values.data_type())),
        DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..) => "list".into(),
        DataType::Struct(_) => "structure".into(),
        DataType::Map(..) => "map".into(),
        other => other.to_string(),
    }
}

/// Whether a text is a number with a decimal comma.
fn has_comma(text: &str) -> bool {
    let are_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    digits.split_once(',').is_some_and(|(whole, fraction)| are_digits(whole) && are_digits(fraction))
}

fn hash(text: &str) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&blake3::hash(text.as_bytes()).as_bytes()[..8]);
    u64::from_le_bytes(bytes)
}
