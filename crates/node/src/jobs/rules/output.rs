//! Rules and itemsets as tables.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{Field, Schema};
use serde_json::json;
use tacita_core::protocol::rules::association::AssociationRule;
use tacita_core::{Error, Result};

use super::RulesResult;
use crate::agreement::{Answer, Measures, Show};
use crate::table::Table;

/// Rules, and beside them the itemsets, as `show` wants them.
pub fn answer(named: &RulesResult, show: &Show) -> Answer {
    let (named, measures) = (Arc::new(named.shown(show)), show.measures);
    let (count_of_itemsets, count_of_rules) = (named.itemsets.len(), named.rules.len());
    let of_itemsets = named.clone();
    Answer::Tables {
        json: json!({ "itemsets": count_of_itemsets, "rules": count_of_rules }),
        line: format!("itemsets {count_of_itemsets}, rules {count_of_rules}"),
        main: Box::new(move || rules(&named, measures)),
        beside: vec![("itemsets", Box::new(move || itemsets(&of_itemsets)))],
    }
}

fn itemsets(named: &RulesResult) -> Result<Table> {
    let sets = || named.itemsets.iter();
    let support = sets().map(|(_, count)| f64::from(*count) / f64::from(named.rows));
    table(vec![
        ("items", texts(sets().map(|(items, _)| named.text(items)))),
        ("count", Arc::new(Int64Array::from_iter_values(sets().map(|(_, count)| i64::from(*count))))),
        ("support", Arc::new(Float64Array::from_iter_values(support))),
    ])
}

fn rules(named: &RulesResult, measures: Measures) -> Result<Table> {
    let rules = || named.rules.iter();
    let measure = |measure: fn(&AssociationRule) -> f64| -> ArrayRef {
        Arc::new(Float64Array::from_iter_values(rules().map(|rule| measure(&rule.rule))))
    };
    let mut columns = vec![
        ("antecedents", texts(rules().map(|rule| named.text(&rule.antecedents)))),
        ("consequents", texts(rules().map(|rule| named.text(&rule.consequents)))),
        ("support", measure(AssociationRule::support)),
        ("confidence", measure(AssociationRule::confidence)),
        ("lift", measure(AssociationRule::lift)),
        ("leverage", measure(AssociationRule::leverage)),
        ("conviction", measure(AssociationRule::conviction)),
    ];
    if measures == Measures::All {
        columns.extend([
            ("antecedent support", measure(AssociationRule::antecedent_support)),
            ("consequent support", measure(AssociationRule::consequent_support)),
            // No cell is missing: every rule stands for all rows.
            ("representativity", measure(|_| 1.0)),
            ("zhangs_metric", measure(AssociationRule::zhangs_metric)),
            ("jaccard", measure(AssociationRule::jaccard)),
            ("certainty", measure(AssociationRule::certainty)),
            ("kulczynski", measure(AssociationRule::kulczynski)),
        ]);
    }
    table(columns)
}

fn texts(texts: impl Iterator<Item = String>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(texts))
}

fn table(columns: Vec<(&str, ArrayRef)>) -> Result<Table> {
    let field = |(name, array): &(&str, ArrayRef)| Field::new(*name, array.data_type().clone(), false);
    let schema = Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()));
    let failed = |error| Error::Internal(format!("rules do not make a table: {error}"));
    let arrays = columns.into_iter().map(|(_, array)| array).collect();
    Table::new("result", schema.clone(), vec![RecordBatch::try_new(schema, arrays).map_err(failed)?])
}
