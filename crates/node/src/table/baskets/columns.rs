//! Columns that hold an item each, or values that make items.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use tacita_core::{Error, Result};

use super::bins::{Measured, interval};
use super::{Texts, check_name, texts};
use crate::table::columns::is_plain;
use crate::table::{DecimalMark, Table};

/// Numbers of a column that are each an item without bins.
const FEW: usize = 20;

/// A column whose values make items.
///
/// If it holds nothing but 1 and 0 (or 1.0 and 0.0), or true and false, it is one item, named as the column and held by
/// the rows with 1 or true. Else each value is one, named `column=value`; an empty cell is none. Numbers can be put
/// into bins.
#[derive(Debug, Clone, PartialEq)]
pub struct ItemColumn {
    /// Name of the column in the job, and in items' names.
    pub name: String,
    /// Name of the column in this party's table.
    pub header: String,
    /// Binning by which its numbers become items.
    pub binning: Option<Binning>,
    /// The decimal mark of its numbers.
    pub mark: DecimalMark,
    /// Whether it is one item, if more than this table is known: what [`ColumnScan::is_flag`] of all of it says.
    pub is_flag: Option<bool>,
}

/// Evidence in the values of a part of a column for how the whole is read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnScan {
    flags: bool,
    numbers: bool,
    /// Different values, no more than show that there are many.
    values: BTreeSet<String>,
}

impl ColumnScan {
    /// Combines the evidence of two parts.
    pub fn and(mut self, other: ColumnScan) -> ColumnScan {
        for value in other.values {
            if self.values.len() <= FEW {
                self.values.insert(value);
            }
        }
        ColumnScan { flags: self.flags && other.flags, numbers: self.numbers && other.numbers, values: self.values }
    }

    /// Whether the column is one item.
    pub fn is_flag(&self) -> bool {
        self.flags
    }

    /// Whether each of its values would be an item, and these are many numbers.
    pub fn is_many_numbers(&self) -> bool {
        !self.flags && self.numbers && self.values.len() > FEW
    }
}

/// Method by which numbers become items.
#[derive(Debug, Clone, PartialEq)]
pub enum Binning {
    /// Number of bins with about as many of the rows that count in each; fewer where many are equal.
    Quantiles(usize),
    /// Below the first of these bounds, from each to below the next, and from the last on. Ascending.
    Bounds(Vec<f64>),
}

/// Result of reading a column.
pub(super) enum Made {
    /// Items, with their rows.
    Items(BTreeMap<String, Vec<u32>>),
    /// Numbers whose bins are made when it is known which rows count.
    Numbers(Measured),
}

impl ItemColumn {
    /// Reads the items or numbers that this column makes.
    pub(super) fn read(&self, table: &Table) -> Result<Made> {
        let position = table.column(&self.header, &self.name)?;
        let texts = texts(table, position)?;
        let items = match &self.binning {
            None => self.values(table, &texts)?,
            Some(Binning::Bounds(bounds)) => {
                let mut items: BTreeMap<String, Vec<u32>> = BTreeMap::new();
                for (row, number) in self.numbers(table, &texts)? {
                    let above = bounds.partition_point(|bound| *bound <= number);
                    let start = above.checked_sub(1).map(|index| bounds[index]);
                    let name = interval(self.item_name(), start, bounds.get(above).copied());
                    items.entry(name).or_default().push(row);
                }
                items
            }
            Some(Binning::Quantiles(parts)) => {
                let numbers = self.numbers(table, &texts)?;
                let inexact = |text: &str| self.number(table, text).filter(|number| !is_exact(text, *number));
                let mut blurred: Vec<f64> = texts.iter().filter_map(|(_, text)| inexact(text)).collect();
                blurred.sort_by(f64::total_cmp);
                blurred.dedup();
                let measured = Measured { name: self.item_name().to_owned(), parts: *parts, numbers, blurred };
                let first = measured.numbers.first().map(|(row, _)| *row);
                measured.names_without_bounds().try_for_each(|name| self.check(table, &name, first))?;
                return Ok(Made::Numbers(measured));
            }
        };
        items.iter().try_for_each(|(name, rows)| self.check(table, name, rows.first().copied()))?;
        Ok(Made::Items(items))
    }

    /// Returns the evidence in this part of the column for how the whole is read, if it has no bins.
    pub fn look(&self, table: &Table) -> Result<ColumnScan> {
        let texts = texts(table, table.column(&self.header, &self.name)?)?;
        let mut look = ColumnScan { flags: true, numbers: true, values: BTreeSet::new() };
        for (_, text) in texts.iter() {
            look.flags &= truth(text).is_some();
            look.numbers &= number(text).is_some();
            if look.values.len() <= FEW && !look.values.contains(text) {
                look.values.insert(text.to_owned());
            }
        }
        Ok(look)
    }

    /// The names that its numbers have in bins with bounds.
    pub fn names_in_bounds(&self, bounds: &[f64]) -> Vec<String> {
        let ends = |above: usize| (above.checked_sub(1).map(|index| bounds[index]), bounds.get(above).copied());
        (0..=bounds.len()).map(ends).map(|(start, end)| interval(self.item_name(), start, end)).collect()
    }

    /// The items of a column without bins.
    fn values(&self, table: &Table, texts: &Texts) -> Result<BTreeMap<String, Vec<u32>>> {
        let mut items: BTreeMap<String, Vec<u32>> = BTreeMap::new();
        if self.is_flag.unwrap_or_else(|| texts.iter().all(|(_, text)| truth(text).is_some())) {
            let held = texts.iter().filter(|(_, text)| truth(text) == Some(true)).map(|(row, _)| row as u32);
            items.insert(self.item_name().to_owned(), held.collect());
            return Ok(items);
        }
        for (row, text) in texts.iter() {
            match items.get_mut(text) {
                Some(rows) => rows.push(row as u32),
                None => drop(items.insert(text.to_owned(), vec![row as u32])),
            }
        }
        // Of a part of a column, the whole was looked at.
        if self.is_flag.is_none() && items.len() > FEW && items.keys().all(|text| number(text).is_some()) {
            return Err(Error::Input(format!(
                "{}: column {:?} holds {} different numbers, and each would be an item: put them into bins, as \
                 bins = {{ {:?} = 4 }}, or leave the column out of `items`",
                table.source(),
                self.header,
                items.len(),
                self.name
            )));
        }
        Ok(items.into_iter().map(|(text, rows)| (format!("{}={text}", self.item_name()), rows)).collect())
    }

    /// Returns the name of the column in items' names.
    pub fn item_name(&self) -> &str {
        self.name.trim()
    }

    /// A number of this column.
    fn number(&self, table: &Table, text: &str) -> Option<f64> {
        let mark = table.schema().field_with_name(&self.header).map(|field| self.mark.of_column(field.data_type()));
        number(&mark.unwrap_or_default().with_point(text)?)
    }

    /// The rows that hold a number, ascending, with it.
    fn numbers(&self, table: &Table, texts: &Texts) -> Result<Vec<(u32, f64)>> {
        let numbers = texts.iter().map(|(row, text)| match self.number(table, text) {
            Some(number) => Ok((row as u32, number)),
            None => Err(Error::Input(format!(
                "{}, {}, column {:?}: this is no number, and `bins` has the column",
                table.source(),
                table.place(row),
                self.header
            ))),
        });
        numbers.collect()
    }

    /// Refuses a name that no item can have, by the first row that holds it.
    fn check(&self, table: &Table, name: &str, row: Option<u32>) -> Result<()> {
        check_name(name).map_err(|what| {
            let place = row.map_or(String::new(), |row| format!(", {}", table.place(row as usize)));
            Error::Input(format!("{}{place}, column {:?}: {what}", table.source(), self.header))
        })
    }
}

/// Whether a text stands for yes or no.
fn truth(text: &str) -> Option<bool> {
    match text {
        // A column of flags in which some are missing has decimals when pandas writes it.
        "1" | "1.0" => Some(true),
        "0" | "0.0" => Some(false),
        _ if text.eq_ignore_ascii_case("true") => Some(true),
        _ if text.eq_ignore_ascii_case("false") => Some(false),
        _ => None,
    }
}

/// Decimals of so many digits are different numbers of 64 bits, if they are different at all.
const EXACT: usize = 15;

/// Whether no other decimal has the same number of 64 bits, but those of more digits. (Below the least normal number
/// there are fewer digits, down to none.)
fn is_exact(text: &str, number: f64) -> bool {
    match digits(text) {
        0 => true,
        digits => digits <= EXACT && number.abs() >= f64::MIN_POSITIVE,
    }
}

/// Returns the number of digits of a written number, from the first to the last that is no zero.
fn digits(text: &str) -> usize {
    let digits = text.bytes().take_while(|byte| !matches!(byte, b'e' | b'E')).filter(u8::is_ascii_digit);
    let digits: Vec<u8> = digits.skip_while(|digit| *digit == b'0').collect();
    digits.iter().rposition(|digit| *digit != b'0').map_or(0, |last| last + 1)
}

/// A number as people write it; not "inf" or "nan", which are words.
fn number(text: &str) -> Option<f64> {
    let digits = |c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.' | 'e' | 'E');
    // Minus zero is zero.
    text.chars().all(digits).then(|| text.parse::<f64>().ok()).flatten().filter(|n| n.is_finite()).map(|n| n + 0.0)
}

/// The columns of a table that `*` stands for, by header: all that have a name, but for `without` and an index of
/// pandas.
pub fn all_columns(table: &Table, without: &BTreeSet<&str>) -> Vec<String> {
    let fields = table.schema().fields().iter().filter(|field| is_plain(field));
    fields.map(|field| field.name()).filter(|header| !without.contains(header.as_str())).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::super::{of_column, of_columns};
    use super::*;
    use crate::table::{ReadOptions, read};

    #[test]
    fn decimals_that_share_a_number_are_known() {
        let exact = |text: &str| is_exact(text, number(text).unwrap());
        for text in [
            "0",
            "-0.0",
            "1",
            "123456789012345",
            "1200000000000000000000",
            "0.000000000000000000012",
            "-1.5e300",
            "1e-300",
        ] {
            assert!(exact(text), "{text}");
        }
        for text in ["9007199254740993", "0.1000000000000000055", "1e-400", "5e-324", "-1234567890.1234567"] {
            assert!(!exact(text), "{text}");
        }
    }

    fn table(text: &str) -> (tempfile::TempDir, Table) {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("t.csv");
        std::fs::write(&path, text).unwrap();
        let table = read(&path, &ReadOptions::default()).unwrap();
        (home, table)
    }

    fn column(name: &str, binning: Option<Binning>) -> ItemColumn {
        ItemColumn { name: name.into(), header: name.into(), binning, mark: DecimalMark::Point, is_flag: None }
    }

    fn found(text: &str, columns: &[ItemColumn]) -> Result<Vec<(String, Vec<u32>)>> {
        Ok(of_columns(&table(text).1, columns)?.items)
    }

    fn items(list: &[(&str, &[u32])]) -> Vec<(String, Vec<u32>)> {
        list.iter().map(|(name, rows)| (name.to_string(), rows.to_vec())).collect()
    }

    #[test]
    fn flags_categories_and_numbers_become_items() {
        let text = "milk,tea,kind,age\n1.0,TRUE,red,17\n0.0,false,,40\n,true,blue,18\n1,,red,65\n";
        let all = ["milk", "tea", "kind"].map(|name| column(name, None));
        let expected = items(&[("kind=blue", &[2]), ("kind=red", &[0, 3]), ("milk", &[0, 3]), ("tea", &[0, 2])]);
        assert_eq!(found(text, &all).unwrap(), expected);
        let age = |binning| found(text, &[column("age", binning)]).unwrap();
        assert_eq!(age(None).len(), 4);
        let bounds = Binning::Bounds(vec![18.0, 65.0]);
        assert_eq!(age(Some(bounds)), items(&[("age<18", &[0]), ("age=[18,65)", &[1, 2]), ("age>=65", &[3])]));
    }

    #[test]
    fn blanks_around_a_header_are_not_in_the_names_of_items() {
        let text = "\" milk \", kind\n1,red\n0,blue\n";
        let columns = [column(" milk ", None), column(" kind", None)];
        assert_eq!(found(text, &columns).unwrap(), items(&[("kind=blue", &[1]), ("kind=red", &[0]), ("milk", &[0])]));
    }

    #[test]
    fn what_makes_no_items_is_refused_with_its_place_and_no_value() {
        let many: String = (0..30).map(|number| format!("{number},a\n")).collect();
        for (text, columns, words) in [
            (format!("n,x\n{many}"), vec![column("n", None)], ["\"n\"", "30 different numbers"]),
            ("n\n7\nseven\n".into(), vec![column("n", Some(Binning::Quantiles(2)))], ["line 3", "no number"]),
            ("n\nred\nb|d\n".into(), vec![column("n", None)], ["line 3", "`|`"]),
            ("a,a=1\n1,1\n2,0\n".into(), vec![column("a", None), column("a=1", None)], ["\"a=1\"", "same name"]),
            (
                "a,a=bin 2 of 3\n1,1\n2,0\n".into(),
                vec![column("a", Some(Binning::Quantiles(3))), column("a=bin 2 of 3", None)],
                ["\"a=bin 2 of 3\"", "same name"],
            ),
            (
                format!("{}\n1\n", "a".repeat(1020)),
                vec![column(&"a".repeat(1020), Some(Binning::Quantiles(3)))],
                ["line 2", "1024 bytes"],
            ),
            ("a\n1\n".into(), vec![column("b", None)], ["no column", "\"b\""]),
            ("a\nred\nb\u{202e}d\n".into(), vec![column("a", None)], ["line 3", "direction of writing"]),
        ] {
            let Err(Error::Input(error)) = found(&text, &columns) else { panic!("{text:?} is read") };
            assert!(words.iter().all(|word| error.contains(word)), "{error}");
            assert!(!error.contains("seven") && !error.contains("b|d"), "{error}");
        }
    }

    #[test]
    fn baskets_are_split_and_trimmed() {
        let (_home, table) = table("id,items\n1,milk| bread \n2,\n3,|milk||\n4,milk|milk\n");
        let read = of_column(&table, ("items", "items"), Some("|")).unwrap();
        assert_eq!(read.items, items(&[("bread", &[0]), ("milk", &[0, 2, 3, 3])]));
        assert_eq!((read.rows(), format!("{read:?}")), (4, "Items(2 in 4 rows)".to_owned()));
        let long = format!("id,items\n1,a\n2,{}\n", "x".repeat(1025));
        let (_home, table) = self::table(&long);
        let Err(Error::Input(error)) = of_column(&table, ("items", "items"), Some("|")) else {
            panic!("a long name is read")
        };
        assert!(error.contains("line 3") && error.contains("1024"), "{error}");
    }
}
