//! A whole job between two tables in memory, without a file or a process: which patients do both have?

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use tacita_core::Result;
use tacita_node::agreement::{Answer, JobSpec};
use tacita_node::base::cancel::Cancel;
use tacita_node::simulate::tables;
use tacita_node::table::Table;

const JOB: &str = r#"{ "job": "intersect", "id": "example", "reveal_to": ["hospital"],
    "key": { "columns": ["name"], "normalize": ["name"] }, "parties": { "hospital": {}, "insurer": {} } }"#;

fn table(names: [&str; 3]) -> Result<Table> {
    let names: ArrayRef = Arc::new(StringArray::from_iter_values(names));
    let batch = RecordBatch::try_from_iter([("name", names)]).expect("one column");
    Table::new("names", batch.schema(), vec![batch])
}

/// Runs it, and prints what each party has found and learned.
pub fn main() -> Result<()> {
    let job = JobSpec::parse(JOB, true)?;
    let hospital = table(["Ada Lovelace", "Emmy Noether", "Sofia Kovalevskaya"])?;
    let insurer = table(["NOETHER, EMMY", "Ada  Lovelace", "Alan Turing"])?;
    let brought = BTreeMap::from([("hospital".to_owned(), hospital), ("insurer".to_owned(), insurer)]);
    for (party, found) in tables(&job, &brought, &Cancel::default())? {
        if let Answer::Rows(rows) = &found.answer {
            rows.batches().try_for_each(|batch| batch.map(|batch| println!("{party}: {batch:?}")))?;
        }
        println!("{}", found.learned.join("\n"));
    }
    Ok(())
}
