//! Validation of jobs beyond their syntax, for keys that all or several kinds of job have.

use std::collections::BTreeSet;

use tacita_core::{Level, Result};

use super::words::{bad, check_distinct, either};
use super::{JobSpec, Party, Reveal, Topology};
use crate::base::text::shown;
use crate::table::numbers::MAX_DECIMALS;
use crate::table::payload::MAX_ROW_BYTES;

const MAX_NAME_BYTES: usize = 64;
const MAX_ID_BYTES: usize = 128;

/// The most columns of one kind.
pub(crate) const MAX_COLUMNS: usize = 256;

/// Set sizes beyond this are beyond what row numbers and tags are made for.
const MAX_SET_SIZE: u64 = u32::MAX as u64;

impl JobSpec {
    /// The checks that come after those of the job itself.
    pub(crate) fn check_after(&self) -> Result<()> {
        self.check_headers()?;
        self.check_gives()?;
        self.check_limits()?;
        self.check_told()?;
        self.check_relay()?;
        self.check_helper()
    }

    /// A helper is nobody else, and for protocols that have one.
    fn check_helper(&self) -> Result<()> {
        let Some(helper) = &self.helper else { return Ok(()) };
        if self.topology() != Topology::Helper {
            let through_one = self.job.capabilities().helped.map_or("", |helped| helped.protocol().name());
            return bad(format!(
                "[helper] is for protocol = \"{through_one}\", and this is \"{:?}\": leave one of the two out",
                self.protocol
            ));
        }
        if self.relay.is_some() {
            return bad("[relay]: the parties of a job with a helper only dial out as it is: leave the relay out");
        }
        let same = |(_, party): &&(String, Party)| helper.identity.is_some() && party.identity == helper.identity;
        match self.parties.0.iter().find(same) {
            Some((name, _)) => bad(format!(
                "helper.identity is also {name}'s: leave [helper] out to let that party take its place, or name another helper"
            )),
            None => Ok(()),
        }
    }

    /// A relay is nobody else, and for jobs that are run.
    fn check_relay(&self) -> Result<()> {
        let Some(relay) = &self.relay else { return Ok(()) };
        if self.clients.is_some() {
            return bad(
                "[relay] is for jobs that are run, and this one is served ([clients]): leave one of the two out",
            );
        }
        let same = |(_, party): &&(String, Party)| relay.identity.is_some() && party.identity == relay.identity;
        match self.parties.0.iter().find(same) {
            Some((name, _)) => {
                bad(format!("relay.identity is also {name}'s: give the relay its own identity (`tacita identity new`)"))
            }
            None => Ok(()),
        }
    }

    /// The id of the job, and the names of its parties.
    pub(crate) fn check_names(&self) -> Result<()> {
        if self.id.is_empty() || self.id.len() > MAX_ID_BYTES || self.id.chars().any(char::is_control) {
            return bad(format!("id: use 1 to {MAX_ID_BYTES} printable characters"));
        }
        for name in self.parties.names() {
            check_name(name).or_else(|error| bad(format!("parties: {error}")))?;
        }
        if let Some(name) = self.job.served().and_then(|served| {
            let words = || served.roles.iter().chain(served.audience);
            self.parties.names().into_iter().find(|name| words().any(|word| word == name))
        }) {
            return bad(format!(
                "parties: \"{name}\" is a reserved word for every party with that role: use another name"
            ));
        }
        Ok(())
    }

    /// The parties that learn the result, and that no two parties have one identity.
    pub(crate) fn check_learners(&self) -> Result<()> {
        let served = self.job.served();
        if self.reveal_to.is_empty() {
            return bad("reveal_to: name at least one party that learns the result");
        }
        let mut seen = BTreeSet::new();
        for name in &self.reveal_to {
            match served.filter(|_| self.parties.get(name).is_none()) {
                Some(served) if served.audience.contains(&name.as_str()) => (),
                Some(served) => {
                    let words = either(served.audience.iter().copied());
                    return bad(format!(
                        "reveal_to: \"{}\" is no party of this job: use {words}, or a name of [parties]",
                        shown(name)
                    ));
                }
                None => self.known_party("reveal_to", name)?,
            }
            if !seen.insert(name) {
                return bad(format!("reveal_to: \"{name}\" is listed twice"));
            }
        }
        let identity = |place: usize| self.parties.0[place].1.identity.as_ref();
        for place in 0..self.parties.0.len() {
            if identity(place).is_some() && (0..place).any(|other| identity(other) == identity(place)) {
                return bad(format!(
                    "parties: {} has the same identity as another; each party needs its own (`tacita identity new`)",
                    self.parties.0[place].0
                ));
            }
        }
        Ok(())
    }

    /// Refuses words for protocol and reveal that the job does not have.
    pub(crate) fn check_words(&self) -> Result<()> {
        let list = |words: Vec<&str>| words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", ");
        let (job, protocols) = (self.job.name(), self.job.protocols(self));
        if !self.protocol.is_auto() && !protocols.contains(&self.protocol) {
            let known = ["auto"].into_iter().chain(protocols.iter().map(|protocol| protocol.name()));
            let where_ = self.job.protocols_from(self).map_or(String::new(), |key| format!(" with {key}"));
            return bad(format!(
                "protocol = \"{}\" is not for job = \"{job}\"{where_}: use one of {}",
                self.protocol.name(),
                list(known.collect())
            ));
        }
        if !self.job.info().reveals.contains(&self.reveal.kind()) {
            return bad(format!(
                "reveal = \"{}\" is not for job = \"{job}\": use one of {}",
                shown(&self.reveal.to_string()),
                list(self.job.info().reveals.to_vec())
            ));
        }
        Ok(())
    }

    /// Refuses a job that is not run between its parties.
    pub fn check_run(&self) -> Result<()> {
        match self.job.served() {
            Some(served) => {
                bad(format!("job = \"{}\" is not run between its parties: {}", self.job.name(), served.commands))
            }
            None => Ok(()),
        }
    }

    /// Refuses levels other than 128 bits, in a job or by a protocol that has no other.
    pub(crate) fn check_level(&self) -> Result<()> {
        match self.level {
            Level::Bits128 => Ok(()),
            level => bad(format!("level = \"{level}\" is not available for this job: use \"bits128\"")),
        }
    }

    /// Refuses what protects nothing any more, unless the user allows it.
    pub fn check_secure(&self, allow_insecure: bool) -> Result<()> {
        if let Some(leak) = self.job.leak(self) {
            if allow_insecure {
                tracing::warn!("{leak}")
            } else {
                return bad(format!("{leak}: use another protocol, or --allow-insecure to compare with it"));
            }
        }
        match (self.level.is_insecure(), allow_insecure) {
            (false, _) => Ok(()),
            (true, true) => {
                tracing::warn!("level = \"{}\" can be broken: it protects nothing in the tables", self.level);
                Ok(())
            }
            (true, false) => bad(format!(
                "level = \"{}\" is not secure, and is meant for comparisons only: use \"bits128\", or --allow-insecure if \
                 nothing in the tables is secret",
                self.level
            )),
        }
    }

    /// Returns a warning for the user about a level at which a run is refused unless explicitly allowed.
    pub fn insecure(&self) -> Option<String> {
        if let Some(leak) = self.job.leak(self) {
            return Some(format!("{leak}: every party has to run with --allow-insecure"));
        }
        self.level.is_insecure().then(|| {
            format!(
                "level = \"{}\" can be broken: every party has to run with --allow-insecure, and nothing in the tables may be \
                 secret",
                self.level
            )
        })
    }

    /// Checks the number of decimals that numbers have.
    pub(crate) fn check_scale(&self) -> Result<()> {
        match self.scale {
            Some(scale) if scale > MAX_DECIMALS => bad(format!(
                "scale = {scale}: it is the number of decimals that the columns' numbers have, 0 to {MAX_DECIMALS}"
            )),
            _ => Ok(()),
        }
    }

    /// Checks the key by which rows are matched.
    pub(crate) fn check_key(&self) -> Result<()> {
        let Some(key) = &self.key else {
            return bad(
                "the table [key] is missing: name the columns by which rows are matched, as columns = [\"name\"]",
            );
        };
        key.check_columns()?;
        if key.has_possible() && self.clients.is_none() {
            return bad(
                "key.any: verdict = \"possible\" is for standing services only: leave it out, or name the clients ([clients] \
                 allow = FILE)",
            );
        }
        let own = self.parties.0.iter().map(|(name, party)| (format!("parties.{name}.normalize"), &party.normalize));
        for (place, profiles) in std::iter::once(("key.normalize".to_owned(), &key.normalize)).chain(own) {
            profiles.as_ref().map_or(Ok(()), |profiles| profiles.check(&place, &key.columns))?;
        }
        self.parties.names().into_iter().try_for_each(|name| self.check_own_profiles(name))
    }

    /// Own headers are for columns that the job uses.
    fn check_headers(&self) -> Result<()> {
        for (name, party) in &self.parties.0 {
            let mut used = self.given_by(name).to_vec();
            used.extend(self.key.iter().flat_map(|key| key.columns.clone()));
            used.extend(self.job.columns(self, name));
            if let Some(logical) = party.columns.keys().find(|logical| !used.contains(logical)) {
                let places = self.job.info().columns_from;
                return bad(format!("parties.{name}.columns: \"{}\" is not in {places}", logical.escape_debug()));
            }
            if self.key.is_none() && party.normalize.is_some() {
                return bad(format!("parties.{name}.normalize: it needs a [key], and the job has none: leave it out"));
            }
            if self.key.is_none() && party.nulls.is_some() && self.job.alignment(self).is_none() {
                return bad(format!(
                    "parties.{name}.nulls: it needs a [key] or row_id, and the job has neither: leave it out"
                ));
            }
        }
        Ok(())
    }

    /// A party may write its key in another form, not as another kind of thing.
    fn check_own_profiles(&self, name: &str) -> Result<()> {
        // Where nothing was agreed on, each reads its own as it likes.
        let Some(key) = self.key.as_ref().filter(|key| key.normalize.is_some()) else { return Ok(()) };
        for (agreed, own) in key.profiles().iter().zip(self.profiles(name)) {
            if agreed.kind() != own.kind() {
                return bad(format!(
                    "parties.{name}.normalize: \"{own}\" and \"{agreed}\" in key.normalize are of different kinds, so keys would \
                     never match: use the same kind"
                ));
            }
        }
        Ok(())
    }

    fn check_gives(&self) -> Result<()> {
        for (name, columns) in &self.gives {
            self.known_party("gives", name)?;
            check_distinct(&format!("gives.{name}"), columns)?;
            if columns.len() > MAX_COLUMNS {
                return bad(format!("gives.{name}: at most {MAX_COLUMNS} columns can be given"));
            }
        }
        let given = self.gives.values().any(|columns| !columns.is_empty());
        if given && self.reveal.columns().is_empty() && !self.job.gives_rows(self) {
            let others = if self.job.info().reveals.contains(&"payload") {
                "\"payload\" (or \"sum:COLUMN\")"
            } else {
                "\"rows\""
            };
            return bad(format!(
                "gives: with reveal = \"{}\" nobody gets these columns: use reveal = {others}, or leave gives out",
                self.reveal
            ));
        }
        self.check_summed()?;
        if self.reveal == Reveal::Payload || (given && self.job.gives_rows(self)) {
            let useful = self
                .gives
                .iter()
                .any(|(giver, columns)| !columns.is_empty() && self.reveal_to.iter().any(|learner| learner != giver));
            if !useful {
                return bad(format!(
                    "reveal = \"{}\" needs columns that a party gives to {}: gives = {{ NAME = [\"COLUMN\"] }}",
                    self.reveal,
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
            ("daily_queries", limits.daily_queries),
        ] {
            if limit.is_some_and(|limit| limit == 0 || limit > MAX_SET_SIZE) {
                return bad(format!("limits.{name}: use 1 to {MAX_SET_SIZE}"));
            }
        }
        if limits.min_rows.is_some_and(|least| least > MAX_SET_SIZE) {
            return bad(format!("limits.min_rows: use 0 (no minimum) to {MAX_SET_SIZE}"));
        }
        if let Some(longest) = limits.max_text {
            if !self.job.gives_rows(self) {
                let others = if self.job.info().reveals.contains(&"payload") { "payload" } else { "rows" };
                return bad(format!(
                    "limits.max_text bounds texts that are given, with reveal = \"{others}\": leave it out"
                ));
            }
            if longest == 0 || longest > MAX_ROW_BYTES as u64 {
                return bad(format!("limits.max_text: use 1 to {MAX_ROW_BYTES} bytes"));
            }
        }
        if let (Some(pad_to), Some(max_rows)) = (limits.pad_to, limits.max_rows)
            && pad_to > max_rows
        {
            return bad(format!("limits: pad_to = {pad_to} is above max_rows = {max_rows}"));
        }
        if let (Some(min_rows), Some(max_rows)) = (limits.min_rows, limits.max_rows)
            && min_rows > max_rows
        {
            return bad(format!("limits: min_rows = {min_rows} is above max_rows = {max_rows}"));
        }
        Ok(())
    }

    /// Refuses a name that no party has.
    pub(crate) fn known_party(&self, place: &str, name: &str) -> Result<()> {
        if self.parties.get(name).is_none() {
            return bad(format!(
                "{place}: \"{}\" is not a party of this job; its parties are {}",
                name.escape_debug(),
                self.parties.names().join(", ")
            ));
        }
        Ok(())
    }
}

/// Refuses what is no name of a party: it stands in file names, column names and messages, and holds nothing that needs
/// quoting there.
pub fn check_name(name: &str) -> Result<()> {
    let fits = !name.is_empty()
        && name.len() <= MAX_NAME_BYTES
        && name.chars().all(|c| c.is_alphanumeric() || c == '-' || c == '_');
    if fits {
        Ok(())
    } else {
        bad(format!("\"{}\" is no name: use 1 to {MAX_NAME_BYTES} letters, digits, - and _", name.escape_debug()))
    }
}
