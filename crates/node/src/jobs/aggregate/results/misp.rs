//! Results as a warning list of MISP: one object, as its `schema.json` has it.

use serde_json::{Map, Value, json};
use tacita_core::Result;

use super::RoundResults;
use crate::base::text::counted;
use crate::base::text::json;

/// Attributes of an event that addresses are looked for in.
const ADDRESSES: [&str; 5] = ["ip-src", "ip-dst", "ip-src|port", "ip-dst|port", "domain|ip"];

/// The text of the file `list.json`.
pub(super) fn list(results: &RoundResults) -> Result<String> {
    let keys: Vec<&str> = results.single("warning list")?.map(|(key, _)| key).collect();
    let addresses = results.are_addresses();
    let mut list = Map::new();
    list.insert("name".into(), format!("{}, round {}", results.job, results.round).into());
    list.insert("version".into(), version(&results.closed.to_string()).into());
    list.insert(
        "description".into(),
        format!("{} that enough participants of {} reported", counted(keys.len() as u64, "key"), results.job).into(),
    );
    list.insert("type".into(), if addresses { "cidr" } else { "string" }.into());
    if addresses {
        list.insert("matching_attributes".into(), json!(ADDRESSES));
    }
    list.insert("list".into(), json!(keys));
    let mut text = json(serde_json::to_string_pretty(&Value::Object(list)))?;
    text.push('\n');
    Ok(text)
}

/// The day as a number, which grows as versions do: 20261130.
fn version(moment: &str) -> u64 {
    let digits: String = moment.chars().take(10).filter(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(0)
}
