//! Columns that hold an item each, or values that make items.

use std::collections::{BTreeMap, BTreeSet};

use tacita_core::{Error, Result};

use super::{check_name, texts};
use crate::table::Table;

/// Numbers of a column that are each an item without bins.
const FEW: usize = 20;

/// A column whose values make items.
///
/// If it holds nothing but 1 and 0 (or 1.0 and 0.0), or true and false, it is one item, named as the column and held by the rows with 1
/// or true. Else each value is one, named `column=value`; an empty cell is none. Numbers can be put into bins.
#[derive(Debug, Clone, PartialEq)]
pub struct ItemColumn {
    /// Its name in the job, and in items' names.
    pub name: String,
    /// Its name in this party's table.
    pub header: String,
    /// How its numbers become items.
    pub binning: Option<Binning>,
}

/// How numbers become items.
#[derive(Debug, Clone, PartialEq)]
pub enum Binning {
    /// So many bins with about as many of the table's own numbers in each; fewer where many are equal.
    Quantiles(usize),
    /// Below the first of these bounds, from each to below the next, and from the last on. Ascending.
    Bounds(Vec<f64>),
}

impl ItemColumn {
    /// The items of this column, with their rows.
    pub(super) fn items(&self, table: &Table) -> Result<BTreeMap<String, Vec<u32>>> {
        let position = table.column(&self.header, &self.name)?;
        let texts = texts(table, position)?;
        let mut items: BTreeMap<String, Vec<u32>> = BTreeMap::new();
        if let Some(binning) = &self.binning {
            for (row, item) in self.binned(table, binning, texts.iter())? {
                items.entry(item).or_default().push(row);
            }
            self.check(table, &items)?;
            return Ok(items);
        }
        if texts.iter().all(|(_, text)| truth(text).is_some()) {
            let held = texts.iter().filter(|(_, text)| truth(text) == Some(true)).map(|(row, _)| row as u32);
            items.insert(self.item_name().to_owned(), held.collect());
            self.check(table, &items)?;
            return Ok(items);
        }
        for (row, text) in texts.iter() {
            match items.get_mut(text) {
                Some(rows) => rows.push(row as u32),
                None => drop(items.insert(text.to_owned(), vec![row as u32])),
            }
        }
        if items.len() > FEW && items.keys().all(|text| number(text).is_some()) {
            return Err(Error::Input(format!(
                "{}: column {:?} holds {} different numbers, and each would be an item: put them into bins, as \
                 bins = {{ {:?} = 4 }}, or leave the column out of `items`",
                table.source(),
                self.header,
                items.len(),
                self.name
            )));
        }
        let items = items.into_iter().map(|(text, rows)| (format!("{}={text}", self.item_name()), rows)).collect();
        self.check(table, &items)?;
        Ok(items)
    }

    /// Its name as items have it.
    fn item_name(&self) -> &str {
        self.name.trim()
    }

    /// The rows that hold a number, each with the item of its bin.
    fn binned<'t>(
        &self,
        table: &Table,
        binning: &Binning,
        texts: impl Iterator<Item = (usize, &'t str)>,
    ) -> Result<Vec<(u32, String)>> {
        let numbers = texts.map(|(row, text)| match number(text) {
            Some(number) => Ok((row as u32, number)),
            None => Err(Error::Input(format!(
                "{}, {}, column {:?}: this is no number, and `bins` has the column",
                table.source(),
                table.place(row),
                self.header
            ))),
        });
        let numbers: Vec<(u32, f64)> = numbers.collect::<Result<_>>()?;
        let bounds = match binning {
            Binning::Bounds(bounds) => bounds.clone(),
            Binning::Quantiles(count) => quantiles(numbers.iter().map(|(_, number)| *number).collect(), *count),
        };
        let own = self.item_name();
        let name = |number: f64| {
            let above = bounds.partition_point(|bound| *bound <= number);
            match (above.checked_sub(1).map(|index| bounds[index]), bounds.get(above)) {
                (None, None) => format!("{own}=number"),
                (None, Some(end)) => format!("{own}<{end}"),
                (Some(start), None) => format!("{own}>={start}"),
                (Some(start), Some(end)) => format!("{own}=[{start},{end})"),
            }
        };
        Ok(numbers.into_iter().map(|(row, number)| (row, name(number))).collect())
    }

    fn check(&self, table: &Table, items: &BTreeMap<String, Vec<u32>>) -> Result<()> {
        for (name, rows) in items {
            check_name(name).map_err(|what| {
                let place = rows.first().map_or(String::new(), |&row| format!(", {}", table.place(row as usize)));
                Error::Input(format!("{}{place}, column {:?}: {what}", table.source(), self.header))
            })?;
        }
        Ok(())
    }
}

/// Bounds between `count` parts of about as many numbers each. Equal numbers stay together, so there may be fewer.
fn quantiles(mut numbers: Vec<f64>, count: usize) -> Vec<f64> {
    numbers.sort_by(f64::total_cmp);
    let lowest = numbers.first().copied();
    let mut bounds: Vec<f64> =
        (1..count).filter_map(|part| numbers.get(numbers.len() * part / count).copied()).collect();
    bounds.retain(|bound| Some(*bound) != lowest);
    bounds.dedup();
    bounds
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

/// A number as people write it; not "inf" or "nan", which are words.
fn number(text: &str) -> Option<f64> {
    let digits = |c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.' | 'e' | 'E');
    // Minus zero is zero.
    text.chars().all(digits).then(|| text.parse::<f64>().ok()).flatten().filter(|n| n.is_finite()).map(|n| n + 0.0)
}

/// The columns of a table that `*` stands for: all but `without`, by header.
pub fn all_columns(table: &Table, without: &BTreeSet<&str>) -> Vec<String> {
    let headers = table.schema().fields().iter().map(|field| field.name());
    headers.filter(|header| !without.contains(header.as_str())).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::super::{of_column, of_columns};
    use super::*;
    use crate::table::{ReadOptions, read};

    fn table(text: &str) -> (tempfile::TempDir, Table) {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("t.csv");
        std::fs::write(&path, text).unwrap();
        let table = read(&path, &ReadOptions::default()).unwrap();
        (home, table)
    }

    fn column(name: &str, binning: Option<Binning>) -> ItemColumn {
        ItemColumn { name: name.into(), header: name.into(), binning }
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
        assert_eq!(age(Some(Binning::Quantiles(2))), items(&[("age<40", &[0, 2]), ("age>=40", &[1, 3])]));
    }

    #[test]
    fn blanks_around_a_header_are_not_in_the_names_of_items() {
        let text = "\" milk \", kind\n1,red\n0,blue\n";
        let columns = [column(" milk ", None), column(" kind", None)];
        assert_eq!(found(text, &columns).unwrap(), items(&[("kind=blue", &[1]), ("kind=red", &[0]), ("milk", &[0])]));
    }

    #[test]
    fn quantiles_keep_equal_numbers_together() {
        assert_eq!(quantiles(vec![1.0, 1.0, 1.0, 2.0], 4), [2.0]);
        assert_eq!(quantiles(vec![5.0; 10], 4), [0.0; 0]);
        assert_eq!(quantiles((0..100).map(f64::from).collect(), 4), [25.0, 50.0, 75.0]);
        assert_eq!(quantiles(Vec::new(), 4), [0.0; 0]);
    }

    #[test]
    fn what_makes_no_items_is_refused_with_its_place_and_no_value() {
        let many: String = (0..30).map(|number| format!("{number},a\n")).collect();
        for (text, columns, words) in [
            (format!("n,x\n{many}"), vec![column("n", None)], ["\"n\"", "30 different numbers"]),
            ("n\n7\nseven\n".into(), vec![column("n", Some(Binning::Quantiles(2)))], ["line 3", "no number"]),
            ("n\nred\nb|d\n".into(), vec![column("n", None)], ["line 3", "`|`"]),
            ("a,a=1\n1,1\n2,0\n".into(), vec![column("a", None), column("a=1", None)], ["\"a=1\"", "same name"]),
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
        let read = of_column(&table, ("items", "items"), "|").unwrap();
        assert_eq!(read.items, items(&[("bread", &[0]), ("milk", &[0, 2, 3, 3])]));
        assert_eq!((read.rows(), format!("{read:?}")), (4, "Items(2 in 4 rows)".to_owned()));
        let long = format!("id,items\n1,a\n2,{}\n", "x".repeat(1025));
        let (_home, table) = self::table(&long);
        let Err(Error::Input(error)) = of_column(&table, ("items", "items"), "|") else {
            panic!("a long name is read")
        };
        assert!(error.contains("line 3") && error.contains("1024"), "{error}");
    }
}
