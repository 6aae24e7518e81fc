//! What makes a job file sensible, beyond its syntax.

use std::collections::BTreeSet;

use tacita_core::{Error, Level, Result, Security};

use super::{JobSpec, Protocol, Reveal};

const MAX_NAME_BYTES: usize = 64;
const MAX_ID_BYTES: usize = 128;
const MAX_COLUMNS: usize = 256;

/// Set sizes beyond this are beyond what row numbers and tags are made for.
pub(super) const MAX_SET_SIZE: u64 = u32::MAX as u64;

/// Refuses jobs that this version does not have, before their keys are looked at.
pub(super) fn known_job(word: Option<&str>) -> Result<()> {
    match word {
        Some("intersect") => Ok(()),
        Some(word @ ("union" | "dot" | "rules" | "shares" | "aggregate")) => Err(Error::Input(format!(
            "job = \"{word}\" is not in this version ({}): it has \"intersect\"",
            env!("CARGO_PKG_VERSION")
        ))),
        Some(word) => Err(Error::Input(format!("job = \"{word}\" is unknown: use \"intersect\""))),
        None => Err(Error::Input("the key `job` is missing: begin with job = \"intersect\"".into())),
    }
}

impl JobSpec {
    /// Whether the job makes sense; the error says which key does not, and what would.
    pub fn check(&self) -> Result<()> {
        self.check_names()?;
        self.check_choices()?;
        self.check_key()?;
        self.check_gives()?;
        self.check_limits()
    }

    fn check_names(&self) -> Result<()> {
        if self.id.is_empty() || self.id.len() > MAX_ID_BYTES || self.id.chars().any(char::is_control) {
            return bad(format!("id: use 1 to {MAX_ID_BYTES} printable characters"));
        }
        for name in self.parties.names() {
            if !is_name(name) {
                return bad(format!(
                    "parties: \"{}\" is no name: use 1 to {MAX_NAME_BYTES} letters, digits, - and _",
                    name.escape_debug()
                ));
            }
        }
        if self.parties.0.len() != 2 {
            return bad(format!(
                "parties: the job has {}, and this version ({}) intersects the sets of exactly two",
                self.parties.0.len(),
                env!("CARGO_PKG_VERSION")
            ));
        }
        if self.reveal_to.is_empty() {
            return bad("reveal_to: name at least one party that learns the result");
        }
        let mut seen = BTreeSet::new();
        for name in &self.reveal_to {
            self.known_party("reveal_to", name)?;
            if !seen.insert(name) {
                return bad(format!("reveal_to: \"{name}\" is there twice"));
            }
        }
        let identities: Vec<_> = self.parties.0.iter().filter_map(|(_, party)| party.identity.as_ref()).collect();
        if identities.len() == 2 && identities[0] == identities[1] {
            return bad("parties: both have the same identity; each party needs its own (`tacita identity new`)");
        }
        Ok(())
    }

    fn check_choices(&self) -> Result<()> {
        if self.protocol == Protocol::Vole && self.reveal == Reveal::Count {
            return bad(
                "protocol = \"vole\" reveals which keys are common: for reveal = \"count\" use \"ecdh\" or \"auto\"",
            );
        }
        if self.security == Security::Malicious {
            if self.protocol == Protocol::Ecdh {
                return bad("security = \"malicious\" is not there with protocol = \"ecdh\": use \"vole\" or \"auto\"");
            }
            if self.reveal == Reveal::Count {
                return bad("security = \"malicious\" is not there with reveal = \"count\": use \"semi-honest\"");
            }
            if self.reveal_to.len() > 1 {
                return bad(
                    "security = \"malicious\" is there with one learner only, because nothing would make it tell the \
                     other the truth: name one party in reveal_to, or run two jobs",
                );
            }
        }
        match self.level {
            Level::Bits128 => Ok(()),
            level => bad(format!("level = \"{level}\" is not there for this job: use \"bits128\"")),
        }
    }

    fn check_key(&self) -> Result<()> {
        let Some(key) = &self.key else {
            return bad("the table [key] is missing: say which columns rows are matched by, as columns = [\"name\"]");
        };
        if key.columns.is_empty() || key.columns.len() > MAX_COLUMNS {
            return bad(format!("key.columns: name 1 to {MAX_COLUMNS} columns"));
        }
        let mut seen = BTreeSet::new();
        for column in &key.columns {
            if column.is_empty() || !seen.insert(column) {
                return bad(format!("key.columns: \"{}\" is empty or there twice", column.escape_debug()));
            }
        }
        let own = self.parties.0.iter().map(|(name, party)| (format!("parties.{name}.normalize"), &party.normalize));
        for (place, profiles) in std::iter::once(("key.normalize".to_owned(), &key.normalize)).chain(own) {
            let count = profiles.as_ref().map_or(key.columns.len(), Vec::len);
            if count != key.columns.len() {
                return bad(format!("{place}: {count} profiles for {} key columns", key.columns.len()));
            }
        }
        for (name, party) in &self.parties.0 {
            self.check_own_profiles(name)?;
            for logical in party.columns.keys() {
                if !key.columns.contains(logical) && !self.given_by(name).contains(logical) {
                    return bad(format!(
                        "parties.{name}.columns: \"{}\" is neither in key.columns nor in gives.{name}",
                        logical.escape_debug()
                    ));
                }
            }
        }
        Ok(())
    }

    /// A party may write its key in another form, not as another kind of thing.
    fn check_own_profiles(&self, name: &str) -> Result<()> {
        let agreed = self.key.as_ref().and_then(|key| key.normalize.as_ref());
        let own = self.parties.get(name).and_then(|party| party.normalize.as_ref());
        for (agreed, own) in agreed.into_iter().flatten().zip(own.into_iter().flatten()) {
            if agreed.kind() != own.kind() {
                return bad(format!(
                    "parties.{name}.normalize: \"{own}\" is another kind than key.normalize's \"{agreed}\": keys would never match"
                ));
            }
        }
        Ok(())
    }

    fn check_gives(&self) -> Result<()> {
        for (name, columns) in &self.gives {
            self.known_party("gives", name)?;
            let mut seen = BTreeSet::new();
            for column in columns {
                if column.is_empty() || !seen.insert(column) {
                    return bad(format!("gives.{name}: \"{}\" is empty or there twice", column.escape_debug()));
                }
            }
            if columns.len() > MAX_COLUMNS {
                return bad(format!("gives.{name}: at most {MAX_COLUMNS} columns can be given"));
            }
        }
        if self.reveal == Reveal::Payload {
            let useful = self
                .gives
                .iter()
                .any(|(giver, columns)| !columns.is_empty() && self.reveal_to.iter().any(|learner| learner != giver));
            if !useful {
                return bad(format!(
                    "reveal = \"payload\" needs columns that a party gives to {}: gives = {{ NAME = [\"COLUMN\"] }}",
                    self.reveal_to.join(", ")
                ));
            }
        }
        Ok(())
    }

    fn check_limits(&self) -> Result<()> {
        let limits = &self.limits;
        for (name, limit) in [
            ("max_rows", limits.max_rows),
            ("pad_to", limits.pad_to),
            ("max_queries", limits.max_queries),
            ("max_clients", limits.max_clients),
        ] {
            if limit.is_some_and(|limit| limit == 0 || limit > MAX_SET_SIZE) {
                return bad(format!("limits.{name}: use 1 to {MAX_SET_SIZE}"));
            }
        }
        if let (Some(pad_to), Some(max_rows)) = (limits.pad_to, limits.max_rows)
            && pad_to > max_rows
        {
            return bad(format!("limits: pad_to = {pad_to} is above max_rows = {max_rows}"));
        }
        Ok(())
    }

    fn known_party(&self, place: &str, name: &str) -> Result<()> {
        if self.parties.get(name).is_none() {
            return bad(format!(
                "{place}: \"{}\" is no party of this job, which has {}",
                name.escape_debug(),
                self.parties.names().join(", ")
            ));
        }
        Ok(())
    }
}

/// Names stand in file names, column names and messages: they hold nothing that needs quoting there.
fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= MAX_NAME_BYTES
        && name.chars().all(|c| c.is_alphanumeric() || c == '-' || c == '_')
}

fn bad<T>(text: impl Into<String>) -> Result<T> {
    Err(Error::Input(text.into()))
}
