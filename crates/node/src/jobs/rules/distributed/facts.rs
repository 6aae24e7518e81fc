//! Rules by which columns become items. They show in all the rows together: whether a column holds flags, or many
//! numbers.

use std::collections::BTreeMap;

use serde_json::Value;
use tacita_core::{Error, Result};

use crate::agreement::ItemsFrom;
use crate::base::text::json;
use crate::jobs::rules::load::{item_columns, refuse_blank_line};
use crate::jobs::rules::spec::RulesJob;
use crate::table::Table;
use crate::table::baskets::{Binning, ColumnScan, ItemColumn};

type Looks = BTreeMap<String, ColumnScan>;

/// Returns the facts about a part of a party's table.
///
/// Errors ([`Error::Input`]): a column is missing or has no text; there is a blank line that may be a basket.
pub fn facts(job: &RulesJob<'_>, me: &str, table: &Table) -> Result<Value> {
    if job.own.row_id.is_none() {
        refuse_blank_line(table)?;
    }
    let mut looks = Looks::new();
    if !matches!(job.items_of(me), ItemsFrom::Basket(_)) {
        for column in item_columns(job, me, table).into_iter().filter(|column| column.binning.is_none()) {
            let look = column.look(table)?;
            looks.insert(column.header, look);
        }
    }
    written(&looks)
}

/// Combines the facts about all parts.
///
/// Errors ([`Error::Input`]): a column of many numbers without bins; two columns that could make items of one name;
/// parts with other columns.
pub fn join(me: &str, facts: Vec<Value>) -> Result<Value> {
    let mut all: Option<Looks> = None;
    for one in facts {
        let part = read(&one)?;
        all = Some(match all {
            None => part,
            Some(all) if all.keys().ne(part.keys()) => {
                return Err(Error::Input(format!(
                    "{me}: its files have different columns, and items come from all of them: name the columns in `items`"
                )));
            }
            Some(all) => {
                all.into_iter().zip(part.into_values()).map(|((name, one), other)| (name, one.and(other))).collect()
            }
        });
    }
    let all = all.unwrap_or_default();
    if let Some((column, _)) = all.iter().find(|(_, look)| look.is_many_numbers()) {
        return Err(Error::Input(format!(
            "{me}: column {column:?} holds many different numbers, and each would be an item: put them into bins, as bins = {{ {column:?} = [18, 40, 65] }}, or \
             leave the column out of `items`"
        )));
    }
    written(&all)
}

/// Returns the combined facts by the column's header, for the reader of a bucket.
pub fn flags(facts: &Value) -> Result<BTreeMap<String, bool>> {
    Ok(read(facts)?.into_iter().map(|(header, look)| (header, look.is_flag())).collect())
}

/// Refuses columns of which two could make items of one name: one process sees whether they do, and a machine of many
/// does not.
pub fn check_names(table: &Table, columns: &[ItemColumn]) -> Result<()> {
    let made = |column: &ItemColumn| match &column.binning {
        Some(Binning::Bounds(bounds)) => column.names_in_bounds(bounds),
        _ if column.is_flag == Some(true) => vec![column.item_name().to_owned()],
        _ => vec![format!("{}=", column.item_name())],
    };
    let open = |column: &ItemColumn| column.binning.is_none() && column.is_flag != Some(true);
    for (place, one) in columns.iter().enumerate() {
        for other in &columns[place + 1..] {
            let meet = made(one).iter().any(|name| {
                made(other).iter().any(|theirs| {
                    name == theirs
                        || open(one) && theirs.starts_with(name.as_str())
                        || open(other) && name.starts_with(theirs.as_str())
                })
            });
            if meet {
                return Err(Error::Input(format!(
                    "{}: the columns {:?} and {:?} could make items of the same name: rename one",
                    table.source(),
                    other.header,
                    one.header
                )));
            }
        }
    }
    Ok(())
}

fn read(facts: &Value) -> Result<Looks> {
    match facts {
        Value::Null => Ok(Looks::new()),
        facts => {
            serde_json::from_value(facts.clone()).map_err(|error| Error::Internal(format!("facts of a table: {error}")))
        }
    }
}

fn written(looks: &Looks) -> Result<Value> {
    json(serde_json::to_value(looks))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::agreement::JobSpec;
    use crate::jobs::rules::Rules;

    fn table(columns: &[(&str, &[&str])]) -> Table {
        let text = |row: usize| columns.iter().map(|(_, values)| values[row]).collect::<Vec<_>>().join(",");
        let header = columns.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(",");
        let rows: Vec<String> = (0..columns[0].1.len()).map(text).collect();
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("t.csv");
        std::fs::write(&path, format!("{header}\n{}\n", rows.join("\n"))).unwrap();
        crate::table::read(&path, &crate::table::ReadOptions::default()).unwrap()
    }

    fn joined(parts: &[Table]) -> Result<Value> {
        let text = "job = \"rules\"\nid = \"t\"\nreveal_to = [\"a\", \"b\"]\nmin_support = 1\nitems = \"*\"\n[parties.a]\n[parties.b]\n";
        let spec = JobSpec::parse(text, false).unwrap();
        let own = Rules { items: Some(ItemsFrom::All(crate::agreement::Wildcard)), ..Rules::default() };
        let job = RulesJob { spec: &spec, own: &own };
        let facts = parts.iter().map(|part| facts(&job, "a", part)).collect::<Result<Vec<_>>>()?;
        join("a", facts)
    }

    /// A column is one item only if all of its parts have flags alone.
    #[test]
    fn what_a_column_is_shows_in_all_parts() {
        let parts =
            [table(&[("x", &["1", "0"]), ("y", &["1", ""])]), table(&[("x", &["0", "2"]), ("y", &["0", "true"])])];
        let flags = flags(&joined(&parts).unwrap()).unwrap();
        assert_eq!(flags, BTreeMap::from([("x".to_owned(), false), ("y".to_owned(), true)]));
    }

    #[test]
    fn many_numbers_in_all_parts_together_are_refused() {
        let numbers = |first: usize| -> Vec<String> { (first..first + 15).map(|number| number.to_string()).collect() };
        let part = |first: usize| {
            let texts = numbers(first);
            table(&[("x", &texts.iter().map(String::as_str).collect::<Vec<_>>())])
        };
        assert!(joined(&[part(0)]).is_ok());
        assert!(joined(&[part(0), part(3)]).is_ok());
        assert!(joined(&[part(0), part(15)]).unwrap_err().to_string().contains("many different numbers"));
        assert!(joined(&[part(0), table(&[("y", &["1"])])]).unwrap_err().to_string().contains("different columns"));
        assert!(read(&json!({ "x": 1 })).is_err());
    }
}
