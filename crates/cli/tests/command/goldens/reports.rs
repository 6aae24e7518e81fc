//! The keys of reports, with the types of their values.

use std::fmt::Write as _;

use serde_json::Value;

use crate::common::{Home, examples, json, tacita};
use crate::goldens::compare;

/// Each key with its type; of lists the first element.
fn shape(value: &Value, depth: usize, found: &mut String) {
    let indent = "  ".repeat(depth);
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                let kind = match value {
                    Value::Null => "null",
                    Value::Bool(_) => "bool",
                    Value::Number(number) if number.is_f64() => "float",
                    Value::Number(_) => "integer",
                    Value::String(_) => "text",
                    Value::Array(_) => "list",
                    Value::Object(_) => "object",
                };
                writeln!(found, "{indent}{key}: {kind}").unwrap();
                shape(value, depth + 1, found);
            }
        }
        Value::Array(elements) => {
            if let Some(first) = elements.first().filter(|first| first.is_object()) {
                shape(first, depth, found);
            }
        }
        _ => (),
    }
}

#[test]
fn keys() {
    let home = Home::new();
    let mut found = String::new();
    for (directory, job, inputs) in [
        ("patients", "job.toml", &["hospital", "insurer"][..]),
        ("patients", "count.toml", &["hospital", "insurer"]),
        ("patients", "sum.toml", &["hospital", "insurer"]),
        ("patients", "payload.toml", &["hospital", "insurer"]),
        ("dot", "job.toml", &["shop", "partner"]),
        ("dot", "matrix.toml", &["shop", "partner"]),
        ("rules", "job.toml", &["shop", "bakery"]),
    ] {
        let at = |name: &str| examples().join(directory).join(name).to_str().unwrap().to_owned();
        let (job, report) = (at(job), home.at("report.json"));
        let inputs: Vec<_> = inputs.iter().map(|name| format!("{name}={}", at(&format!("{name}.csv")))).collect();
        let mut arguments = vec!["simulate", &job, "--report", &report];
        inputs.iter().for_each(|input| arguments.extend(["--input", input]));
        tacita(&arguments).well();
        writeln!(found, "{directory}/{}", job.rsplit('/').next().unwrap()).unwrap();
        shape(&json(&report), 1, &mut found);
    }
    compare("reports.txt", &found);
}
