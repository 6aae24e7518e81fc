//! Terms that the parties must agree on, in one canonical form.

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::{Alternative, JobSpec, Quality, RowShare};
use crate::base::text::shown;
use crate::table::normalize::PROFILES_VERSION;

/// Differences beyond these are only counted.
const SHOWN_DIFFERENCES: usize = 5;

/// The terms of a job: everything in its file but addresses, listen options and each party's own input mapping, with
/// defaults filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct Terms(Value);

impl Terms {
    /// The terms of a job.
    pub fn of(job: &JobSpec) -> Terms {
        let mut terms = Map::new();
        let mut put = |name: &str, value: Value| terms.insert(name.to_owned(), value);
        put("job", job.job.name().into());
        put("id", job.id.as_str().into());
        put("protocol", job.protocol.name().into());
        put("security", job.security.name().into());
        put("level", job.level.name().into());
        put("reveal", job.reveal.to_string().into());
        let mut learners = job.reveal_to.clone();
        learners.sort();
        put("reveal_to", learners.into());
        put("gives", json!(job.gives));
        if let Some(key) = &job.key {
            let normalize: Vec<_> = key.profiles().iter().map(ToString::to_string).collect();
            let mut terms = json!({
                "columns": key.columns,
                "normalize": normalize,
                "duplicates": key.duplicates.name(),
                "nulls": key.nulls.name(),
                "profiles_version": PROFILES_VERSION,
            });
            if !key.any.is_empty() {
                terms["any"] = json!(key.any);
            }
            if key.has_possible() {
                let verdicts: Vec<_> = (0..key.any.len()).map(|number| key.verdict(number).name()).collect();
                terms["verdicts"] = json!(verdicts);
            }
            if let Some(Alternative { number, of }) = key.alternative {
                terms["alternative"] = json!([number, of]);
            }
            put("key", terms);
        }
        if job.job.alignment(job).is_some() {
            put("alignment", job.align_way().name().into());
        }
        for (name, value) in job.job.terms(job) {
            put(name, value);
        }
        if let Some(noise) = &job.noise {
            put("noise", noise.terms());
        }
        let limits = &job.limits;
        let bounds = [
            ("max_rows", limits.max_rows),
            ("pad_to", limits.pad_to),
            ("min_rows", job.least_rows()),
            ("max_text", limits.max_text),
            ("blur", limits.blur),
            ("min_result", limits.min_result),
            ("max_queries", limits.max_queries),
            ("max_clients", limits.max_clients),
            ("daily_queries", limits.daily_queries),
            ("rotate_within", limits.rotate_within),
        ];
        let bounds = bounds.into_iter().map(|(name, bound)| (name, bound.map(Value::from)));
        let shares = [("max_null", &limits.max_null), ("max_unreadable", &limits.max_unreadable)];
        let bounds = bounds.chain(shares.map(|(name, share)| (name, share.as_ref().map(RowShare::terms))));
        put("limits", Value::Object(bounds.filter_map(|(name, bound)| Some((name.to_owned(), bound?))).collect()));
        if job.quality == Quality::Told {
            put("quality", job.quality.name().into());
        }
        if let Some(helper) = &job.helper {
            put("helper", json!({ "identity": helper.identity.as_ref().map(ToString::to_string) }));
        }
        if let Some(spread) = &job.spread {
            put("spread", spread.terms());
        }
        // Where others serve, those who get results: of those who come there may be more next time, each with a mapping
        // of its own.
        let is_agreed_on = |name: &str| job.job.served().is_none() || job.learns(name);
        let agreed: Vec<_> = job.parties.0.iter().filter(|(name, _)| is_agreed_on(name)).collect();
        put("order", agreed.iter().map(|(name, _)| name.as_str()).collect());
        let parties = agreed.iter().map(|(name, party)| {
            let mut known = json!({ "identity": party.identity.as_ref().map(ToString::to_string) });
            if let Some(role) = party.role {
                known["role"] = role.name().into();
            }
            if let Some(slice) = party.slice {
                known["slice"] = slice.into();
            }
            (name.clone(), known)
        });
        put("parties", Value::Object(parties.collect()));
        Terms(sorted(&Value::Object(terms)))
    }

    /// Terms as a peer sent them.
    pub fn from_peer(value: &Value) -> Terms {
        Terms(sorted(value))
    }

    /// The terms as JSON.
    pub fn json(&self) -> &Value {
        &self.0
    }

    /// The bytes that stand for the terms: JSON with sorted keys and no blanks.
    pub fn canonical(&self) -> String {
        self.0.to_string()
    }

    /// The fingerprint of the terms: SHA-256 of [`Terms::canonical`], in hexadecimal.
    pub fn agreement(&self) -> String {
        self.agreement_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The same as bytes.
    pub fn agreement_bytes(&self) -> [u8; 32] {
        Sha256::digest(self.canonical()).into()
    }

    /// The keys in which `self` and `theirs` differ, as dotted paths with both values, shortened and without anything
    /// that a terminal would act upon.
    pub fn differences(&self, theirs: &Terms) -> Vec<String> {
        let mut found = Vec::new();
        differences("", &self.0, &theirs.0, &mut found);
        if found.is_empty() && self != theirs {
            // As where one has `null` and the other nothing.
            found.push("a key that one of them leaves out".into());
        }
        if found.len() > SHOWN_DIFFERENCES {
            let more = found.len() - SHOWN_DIFFERENCES;
            found.truncate(SHOWN_DIFFERENCES);
            found.push(format!("and {more} more"));
        }
        found
    }
}

fn differences(path: &str, ours: &Value, theirs: &Value, found: &mut Vec<String>) {
    if ours == theirs {
        return;
    }
    let (Value::Object(a), Value::Object(b)) = (ours, theirs) else {
        found.push(format!(
            "{} (ours {}, theirs {})",
            shown(path),
            shown(&ours.to_string()),
            shown(&theirs.to_string())
        ));
        return;
    };
    let names = a.keys().chain(b.keys().filter(|name| !a.contains_key(*name)));
    for name in names {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        let absent = Value::Null;
        differences(&path, a.get(name).unwrap_or(&absent), b.get(name).unwrap_or(&absent), found);
    }
}

/// The same value with the keys of all objects sorted.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(object) => {
            let mut entries: Vec<_> = object.iter().collect();
            entries.sort_by_key(|(name, _)| name.as_str());
            Value::Object(entries.into_iter().map(|(name, value)| (name.clone(), sorted(value))).collect())
        }
        Value::Array(elements) => Value::Array(elements.iter().map(sorted).collect()),
        other => other.clone(),
    }
}
