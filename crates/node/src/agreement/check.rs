//! What makes a job file sensible, beyond its syntax.

use std::collections::BTreeSet;

use tacita_core::protocol::dot::ot::Extension;
use tacita_core::{Error, Result, Security};

use super::rules::check_bins;
use super::{Basket, ColumnNames, Duplicates, ItemsFrom, Job, JobSpec, Protocol, Reveal};
use crate::base::text::shown;
use crate::table::numbers::MAX_DECIMALS;

const MAX_NAME_BYTES: usize = 64;
const MAX_ID_BYTES: usize = 128;
const MAX_COLUMNS: usize = 256;

/// Candidates are numbered with 32 bits, and each takes memory. So does each rule.
const MAX_CANDIDATES: u64 = 1 << 28;
const MAX_RULES: u64 = 1 << 28;

/// Set sizes beyond this are beyond what row numbers and tags are made for.
pub(super) const MAX_SET_SIZE: u64 = u32::MAX as u64;

/// Refuses jobs that this version does not have, before their keys are looked at.
pub(super) fn known_job(word: Option<&str>) -> Result<()> {
    match word {
        Some("intersect" | "dot" | "shares" | "rules") => Ok(()),
        Some(word @ ("union" | "aggregate")) => Err(Error::Input(format!(
            "job = \"{word}\" is not in this version ({}): it has \"intersect\", \"dot\", \"shares\" and \"rules\"",
            env!("CARGO_PKG_VERSION")
        ))),
        Some(word) => Err(Error::Input(format!(
            "job = \"{}\" is unknown: use \"intersect\", \"dot\", \"shares\" or \"rules\"",
            shown(word)
        ))),
        None => Err(Error::Input("the key `job` is missing: begin with job = \"intersect\"".into())),
    }
}

impl JobSpec {
    /// Whether the job makes sense; the error says which key does not, and what would.
    pub fn check(&self) -> Result<()> {
        self.check_names()?;
        self.check_own_keys()?;
        if self.has_roles() {
            self.check_clients()?;
        }
        self.check_choices()?;
        match self.job {
            Job::Intersect => self.check_key()?,
            Job::Dot => self.check_dot()?,
            Job::Shares => self.check_shares()?,
            Job::Rules => self.check_rules()?,
        }
        self.check_headers()?;
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
        if self.parties.0.len() != 2 && !(self.job == Job::Dot && self.has_roles()) {
            return bad(format!(
                "parties: the job has {}, and this version ({}) has jobs of exactly two, but for dot with clients (role)",
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

    /// Refuses keys that belong to other jobs.
    fn check_own_keys(&self) -> Result<()> {
        let present = [
            ("gives", !self.gives.is_empty(), &[Job::Intersect][..]),
            ("[key]", self.key.is_some(), &[Job::Intersect, Job::Dot, Job::Rules]),
            ("column", self.column.is_some(), &[Job::Dot]),
            ("row_id", self.row_id.is_some(), &[Job::Dot, Job::Rules]),
            ("parties.NAME.role and slice", self.has_roles(), &[Job::Dot]),
            ("bits", self.bits.is_some(), &[Job::Dot]),
            ("signed", self.signed.is_some(), &[Job::Dot]),
            ("scale", self.scale.is_some(), &[Job::Intersect, Job::Dot]),
            ("modulus", self.modulus.is_some(), &[Job::Dot]),
            ("extension", self.extension.is_some(), &[Job::Dot, Job::Rules]),
            ("chunk", self.chunk.is_some(), &[Job::Dot]),
            ("density", self.density.is_some(), &[Job::Dot, Job::Rules]),
            ("operation", self.operation.is_some(), &[Job::Shares]),
            ("min_support", self.min_support.is_some(), &[Job::Rules]),
            ("min_confidence", self.min_confidence.is_some(), &[Job::Rules]),
            ("max_len", self.max_len.is_some(), &[Job::Rules]),
            ("consequents", self.consequents.is_some(), &[Job::Rules]),
            ("items", self.items.is_some(), &[Job::Rules]),
            ("parties.NAME.items", self.parties.0.iter().any(|(_, party)| party.items.is_some()), &[Job::Rules]),
            ("mixed_only", self.mixed_only.is_some(), &[Job::Rules]),
            ("max_candidates", self.max_candidates.is_some(), &[Job::Rules]),
            ("max_rules", self.max_rules.is_some(), &[Job::Rules]),
            ("bins", !self.bins.is_empty(), &[Job::Rules]),
            ("limits.pad_to", self.limits.pad_to.is_some(), &[Job::Intersect, Job::Dot, Job::Rules]),
            ("limits.min_rows", self.limits.min_rows.is_some(), &[Job::Rules]),
            ("limits.min_result", self.limits.min_result.is_some(), &[Job::Intersect, Job::Dot, Job::Shares]),
            ("limits.max_queries", self.limits.max_queries.is_some(), &[Job::Intersect]),
            ("limits.max_clients", self.limits.max_clients.is_some(), &[Job::Intersect]),
        ];
        for (name, present, jobs) in present {
            if present && !jobs.contains(&self.job) {
                let jobs: Vec<_> = jobs.iter().map(|job| format!("\"{}\"", job.name())).collect();
                return bad(format!(
                    "{name} is for job = {}, and this is \"{}\": leave it out",
                    jobs.join(" or "),
                    self.job.name()
                ));
            }
        }
        Ok(())
    }

    fn check_choices(&self) -> Result<()> {
        let list = |words: Vec<&str>| words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", ");
        let job = self.job.name();
        if self.protocol != Protocol::Auto && !self.protocols().contains(&self.protocol) {
            let known = ["auto"].into_iter().chain(self.protocols().iter().map(|protocol| protocol.name()));
            return bad(format!(
                "protocol = \"{}\" is not for job = \"{job}\": use one of {}",
                self.protocol.name(),
                list(known.collect())
            ));
        }
        if self.protocol == Protocol::GmBloom && self.extension.is_some() {
            return bad("extension: protocol = \"gm-bloom\" has one way to make its oblivious transfers; leave it out");
        }
        if matches!(self.protocol, Protocol::Lattice | Protocol::Paillier) && self.extension.is_some() {
            return bad(format!(
                "extension: protocol = \"{}\" makes no oblivious transfers; leave it out",
                self.protocol.name()
            ));
        }
        if !self.job.reveals().contains(&self.reveal.kind()) {
            return bad(format!(
                "reveal = \"{}\" is not for job = \"{job}\": use one of {}",
                shown(&self.reveal.to_string()),
                list(self.job.reveals().to_vec())
            ));
        }
        match (self.job, self.security) {
            (Job::Intersect, _) => self.check_intersection()?,
            (_, Security::SemiHonest) => (),
            (Job::Dot, Security::Malicious) => {
                return bad(
                    "security = \"malicious\" is not there for job = \"dot\": nothing would hold a cheating party to \
                     numbers in range, and with others it could read the peer's out of one product: use \"semi-honest\"",
                );
            }
            (Job::Rules, Security::Malicious) => {
                return bad(
                    "security = \"malicious\" is not there for job = \"rules\": nothing would hold a cheating party to \
                     its baskets, and it could have the other open counts below min_support: use \"semi-honest\"",
                );
            }
            (Job::Shares, Security::Malicious) => {
                return bad(
                    "security = \"malicious\" is not there for job = \"shares\": nothing would make a party send its \
                     true share: use \"semi-honest\"",
                );
            }
        }
        if self.job == Job::Rules && self.protocol.is_published() && self.reveal != Reveal::Counts {
            return bad(format!(
                "protocol = \"{}\" opens the count of every candidate, and reveal = \"{}\" those of frequent ones alone: use \
                 protocol = \"ot\" or \"lattice\", or reveal = \"counts\"",
                self.protocol.name(),
                self.reveal
            ));
        }
        self.check_named()
    }

    /// Refuses what protects nothing any more, unless the user allows it.
    pub fn check_secure(&self, allow_insecure: bool) -> Result<()> {
        match (self.level.is_insecure(), allow_insecure) {
            (false, _) => Ok(()),
            (true, true) => {
                tracing::warn!("level = \"{}\" can be broken: it protects nothing in the tables", self.level);
                Ok(())
            }
            (true, false) => bad(format!(
                "level = \"{}\" can be broken, and is there for comparisons: use \"bits128\", or --allow-insecure if nothing \
                 in the tables is secret",
                self.level
            )),
        }
    }

    fn check_intersection(&self) -> Result<()> {
        let hides_rows = matches!(self.reveal, Reveal::Count | Reveal::Sum(_));
        let kind = self.reveal.kind();
        if self.protocol == Protocol::Vole && hides_rows {
            return bad(format!(
                "protocol = \"vole\" reveals which keys are common: for reveal = \"{kind}\" use \"ecdh\" or \"auto\""
            ));
        }
        if self.protocol == Protocol::Bloom {
            self.check_bloom()?;
        }
        match (&self.reveal, self.scale) {
            (Reveal::Sum(_), _) => self.check_scale()?,
            (_, Some(_)) => {
                return bad(format!("scale is for reveal = \"sum:COLUMN\", and this is \"{kind}\": leave it out"));
            }
            (_, None) => (),
        }
        if self.security == Security::Malicious {
            if self.protocol == Protocol::Ecdh {
                return bad("security = \"malicious\" is not there with protocol = \"ecdh\": use \"vole\" or \"auto\"");
            }
            if hides_rows {
                return bad(format!(
                    "security = \"malicious\" is not there with reveal = \"{kind}\": use \"semi-honest\""
                ));
            }
            if self.reveal_to.len() > 1 {
                return bad(
                    "security = \"malicious\" is there with one learner only, because nothing would make it tell the \
                     other the truth: name one party in reveal_to, or run two jobs",
                );
            }
        }
        Ok(())
    }

    fn check_bloom(&self) -> Result<()> {
        let kind = self.reveal.kind();
        if self.security == Security::Malicious {
            return bad(
                "security = \"malicious\" is not there with protocol = \"bloom\", whose published malicious form was broken: \
                 use \"vole\" or \"auto\"",
            );
        }
        match self.reveal {
            Reveal::Rows => (),
            Reveal::Payload => {
                return bad("protocol = \"bloom\" gives no columns: for reveal = \"payload\" use \"vole\" or \"auto\"");
            }
            _ => {
                return bad(format!(
                    "protocol = \"bloom\" reveals which keys are common: for reveal = \"{kind}\" use \"ecdh\" or \"auto\""
                ));
            }
        }
        match self.reveal_to.len() {
            ..2 => Ok(()),
            _ => bad(
                "protocol = \"bloom\" tells one party alone which keys are common: name one in reveal_to, or use \"vole\" or \
                 \"auto\"",
            ),
        }
    }

    fn check_scale(&self) -> Result<()> {
        match self.scale {
            Some(scale) if scale > MAX_DECIMALS => bad(format!(
                "scale = {scale}: it is the number of decimals that the columns' numbers have, 0 to {MAX_DECIMALS}"
            )),
            _ => Ok(()),
        }
    }

    fn check_key(&self) -> Result<()> {
        let Some(key) = &self.key else {
            return bad("the table [key] is missing: say which columns rows are matched by, as columns = [\"name\"]");
        };
        if key.columns.is_empty() || key.columns.len() > MAX_COLUMNS {
            return bad(format!("key.columns: name 1 to {MAX_COLUMNS} columns"));
        }
        check_distinct("key.columns", &key.columns)?;
        let own = self.parties.0.iter().map(|(name, party)| (format!("parties.{name}.normalize"), &party.normalize));
        for (place, profiles) in std::iter::once(("key.normalize".to_owned(), &key.normalize)).chain(own) {
            let count = profiles.as_ref().map_or(key.columns.len(), Vec::len);
            if count != key.columns.len() {
                return bad(format!("{place}: {count} profiles for {} key columns", key.columns.len()));
            }
        }
        self.parties.names().into_iter().try_for_each(|name| self.check_own_profiles(name))
    }

    fn check_dot(&self) -> Result<()> {
        self.integers()?;
        self.check_scale()?;
        if self.reveal == Reveal::Shares && self.limits.min_result.is_some() {
            return bad("limits.min_result: shares have no value yet; put the limit into the job that opens them");
        }
        if let Some(name) = self.parties.names().into_iter().find(|name| ["value", "input", "at_least"].contains(name))
        {
            return bad(format!("parties: \"{name}\" is a column of the result: give the party another name"));
        }
        if let Some(ColumnNames::ByParty(parties)) = &self.column {
            parties.keys().try_for_each(|name| self.known_party("column", name))?;
        }
        for name in self.parties.names() {
            let columns = self.columns_of(name);
            if columns.is_empty() || columns.len() > MAX_COLUMNS {
                return bad(format!("column: name 1 to {MAX_COLUMNS} columns of {name}"));
            }
            check_distinct("column", &columns)?;
        }
        self.check_alignment()
    }

    fn check_rules(&self) -> Result<()> {
        self.support()?;
        self.confidence()?;
        if self.reveal_to.len() < 2 {
            return bad(
                "reveal_to: both parties learn the rules, because both need each level's itemsets for the next: name both",
            );
        }
        if self.max_len == Some(0) {
            return bad("max_len = 0: use 1 or more");
        }
        if self.max_candidates.is_some_and(|most| most == 0 || most > MAX_CANDIDATES) {
            return bad(format!("max_candidates: use 1 to {MAX_CANDIDATES}"));
        }
        if self.max_rules.is_some_and(|most| most == 0 || most > MAX_RULES) {
            return bad(format!("max_rules: use 1 to {MAX_RULES}"));
        }
        if self.extension == Some(Extension::Silent) {
            return bad(
                "extension = \"silent\" is not there for job = \"rules\", whose traffic is in the products: use \
                 \"softspoken-1\" to \"softspoken-8\", or leave it out",
            );
        }
        for name in self.parties.names() {
            let columns = match self.items_of(name) {
                ItemsFrom::Basket(Basket { column, separator }) => {
                    if separator.is_empty() {
                        return bad("items.separator: it is empty");
                    }
                    vec![column]
                }
                ItemsFrom::Columns(columns) if columns.is_empty() => {
                    return bad("items: name at least one column, or use \"*\" for all of them");
                }
                ItemsFrom::Columns(columns) => columns,
                ItemsFrom::All(_) => Vec::new(),
            };
            check_distinct("items", &columns)?;
            let ids = self.row_id.as_ref().map_or(&[][..], |names| names.all());
            if let Some(both) = columns.iter().find(|column| ids.contains(column)) {
                return bad(format!("items: \"{}\" is in row_id too", both.escape_debug()));
            }
        }
        check_bins(&self.bins)?;
        self.check_alignment()
    }

    /// By what rows are aligned, in jobs over rows that both have.
    fn check_alignment(&self) -> Result<()> {
        match (&self.row_id, &self.key) {
            (Some(names), _) if names.all().is_empty() || names.all().len() > MAX_COLUMNS => {
                return bad(format!("row_id: name 1 to {MAX_COLUMNS} columns"));
            }
            (Some(names), Some(key)) if key.columns.iter().any(|column| !names.all().contains(column)) => {
                return bad(format!(
                    "key.columns: it names more than row_id, which has {}; in this job [key] only says how the columns of \
                     row_id are read",
                    names.all().join(", ")
                ));
            }
            (Some(names), _) => check_distinct("row_id", names.all())?,
            (None, Some(_)) => {
                return bad(
                    "[key] is there and row_id is not: name the columns by which rows are aligned, as row_id = \
                     [\"name\"], or leave out [key] to align rows by their position",
                );
            }
            (None, None) if self.limits.pad_to.is_some() => {
                return bad(
                    "limits.pad_to: rows that are aligned by position are equally many, so there is nothing to hide",
                );
            }
            (None, None) => (),
        }
        if let Some(key) = &self.key {
            if key.duplicates == Duplicates::First {
                return bad("key.duplicates = \"first\" is not there for this job: each row needs an id of its own");
            }
            self.check_key()?;
        }
        match self.alignment() {
            Some(alignment) => alignment.check(),
            None => Ok(()),
        }
    }

    /// Own headers are for columns that the job uses.
    fn check_headers(&self) -> Result<()> {
        for (name, party) in &self.parties.0 {
            let mut used = self.given_by(name).to_vec();
            used.extend(self.key.iter().flat_map(|key| key.columns.clone()));
            used.extend(self.row_id.iter().flat_map(|row_id| row_id.all().to_vec()));
            used.extend(if self.job == Job::Rules { self.items_of(name).columns().to_vec() } else { Vec::new() });
            used.extend(if self.job == Job::Dot || self.column.is_some() { self.columns_of(name) } else { Vec::new() });
            if let Some(logical) = party.columns.keys().find(|logical| !used.contains(logical)) {
                let places = match self.job {
                    Job::Dot => "in column, row_id or key.columns",
                    Job::Rules => "in items, row_id or key.columns",
                    _ => "in key.columns or gives",
                };
                return bad(format!("parties.{name}.columns: \"{}\" is not {places}", logical.escape_debug()));
            }
            if self.key.is_none() && party.normalize.is_some() {
                return bad(format!("parties.{name}.normalize: there is no [key] that it could be for"));
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
            check_distinct(&format!("gives.{name}"), columns)?;
            if columns.len() > MAX_COLUMNS {
                return bad(format!("gives.{name}: at most {MAX_COLUMNS} columns can be given"));
            }
        }
        if let Reveal::Sum(column) = &self.reveal {
            self.check_summed(column)?;
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

    /// A sum is of a column of one party, and for the other.
    fn check_summed(&self, column: &str) -> Result<()> {
        let givers = self.gives.iter().filter(|(_, columns)| columns.iter().any(|given| given == column));
        let givers: Vec<&str> = givers.map(|(giver, _)| giver.as_str()).collect();
        let shown = shown(column);
        match givers[..] {
            [giver] if self.learns(self.peer_of(giver)) => Ok(()),
            [giver] => bad(format!(
                "reveal = \"sum:{shown}\": {giver} gives that column, so that {} has to be in reveal_to",
                self.peer_of(giver)
            )),
            [] => bad(format!(
                "reveal = \"sum:{shown}\" needs the party whose column it is: gives = {{ NAME = [\"{shown}\"] }}"
            )),
            _ => bad(format!("reveal = \"sum:{shown}\": two parties give a column of that name; one may")),
        }
    }

    fn check_limits(&self) -> Result<()> {
        let limits = &self.limits;
        for (name, limit) in [
            ("max_rows", limits.max_rows),
            ("pad_to", limits.pad_to),
            ("min_rows", limits.min_rows),
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
        if let (Some(min_rows), Some(max_rows)) = (limits.min_rows, limits.max_rows)
            && min_rows > max_rows
        {
            return bad(format!("limits: min_rows = {min_rows} is above max_rows = {max_rows}"));
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

/// Refuses names that are empty or there twice.
fn check_distinct(place: &str, names: &[String]) -> Result<()> {
    let mut seen = BTreeSet::new();
    match names.iter().find(|name| name.is_empty() || !seen.insert(*name)) {
        Some(name) => bad(format!("{place}: \"{}\" is empty or there twice", name.escape_debug())),
        None => Ok(()),
    }
}

/// Names stand in file names, column names and messages: they hold nothing that needs quoting there.
fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= MAX_NAME_BYTES
        && name.chars().all(|c| c.is_alphanumeric() || c == '-' || c == '_')
}

pub(super) fn bad<T>(text: impl Into<String>) -> Result<T> {
    Err(Error::Input(text.into()))
}
