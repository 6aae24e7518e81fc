//! Whether an `aggregate` job makes sense, and what to think about before it is run.

use std::collections::BTreeSet;

use tacita_core::protocol::rules::support::Fraction;
use tacita_core::{Result, Security};

use super::spec::{AggregateJob, KEY_BYTES, KeyForm, MAX_KEY_BYTES, PARTICIPANTS, ROLES};
use super::{Domain, Measure, Summary};
use crate::agreement::words::bad;
use crate::agreement::{Duplicates, Member};
use crate::base::text::{count, shown};
use crate::table::Profile;

/// Most members of a role.
const MAX_MEMBERS: usize = 64;

/// Most reports of a participant, or of a shuffle.
const MAX_REPORTS: u64 = u32::MAX as u64;

/// Number of values with which a few reports of one key tell it from others.
const MANY_VALUES: u32 = 16;

impl AggregateJob<'_> {
    pub(super) fn check(&self) -> Result<()> {
        if self.security == Security::Malicious {
            return bad(
                "security = \"malicious\" is not available for job = \"aggregate\": use \"semi-honest\". Participants' reports \
                 are proved and checked anyway; proxy and database are trusted not to collude",
            );
        }
        self.check_level()?;
        if self.relay.is_some() {
            return bad(
                "[relay] is for jobs that are run between parties: participants of job = \"aggregate\" only dial out as it is",
            );
        }
        if self.limits.max_rows.is_some() {
            return bad(
                "limits.max_rows is for jobs that are run between parties: use round.max_reports, for each participant",
            );
        }
        self.check_keys()?;
        self.check_round()?;
        self.check_noise()?;
        self.check_members()
    }

    fn check_keys(&self) -> Result<()> {
        self.check_key()?;
        let (Some(key), round) = (&self.key, &self.own.round) else { return Ok(()) };
        if !key.any.is_empty() {
            return bad("key.any: job = \"aggregate\" counts one key: write its columns as key.columns");
        }
        if key.duplicates == Duplicates::Multiset {
            return bad("key.duplicates = \"multiset\" is for intersections: with \"all\", every row is a report");
        }
        if !(1..=MAX_KEY_BYTES).contains(&round.key_bytes) {
            return bad(format!("round.key_bytes = {}: use 1 to {MAX_KEY_BYTES}", round.key_bytes));
        }
        if round.keys == KeyForm::Hashed && round.key_bytes != KEY_BYTES {
            return bad(format!(
                "round.key_bytes = {}: a hashed key has {KEY_BYTES} bytes: leave key_bytes out",
                round.key_bytes
            ));
        }
        if key.profiles() == [Profile::Ip] && round.key_bytes < KEY_BYTES {
            return bad(format!(
                "round.key_bytes = {}: an address takes {KEY_BYTES} bytes, also one of version 4",
                round.key_bytes
            ));
        }
        match &round.value {
            Some(value) if value.is_empty() || key.columns.contains(value) => {
                bad(format!("round.value = \"{}\": this column is part of the key; name another one", shown(value)))
            }
            _ => Ok(()),
        }
    }

    fn check_round(&self) -> Result<()> {
        let round = &self.own.round;
        if round.min_participants < 2 {
            return bad(format!(
                "round.min_participants = {}: with reports of one participant alone nothing is shuffled: use 2 or more",
                round.min_participants
            ));
        }
        let least = u64::from(round.min_participants).max(round.max_share.least_parts());
        match round.batch_size {
            Some(size) if size > MAX_REPORTS => {
                return bad(format!("round.batch_size = {size}: use at most {MAX_REPORTS}"));
            }
            Some(size) if size < least => {
                return bad(format!(
                    "round.batch_size = {size}: min_participants and max_share ask for reports of {least} participants in each batch: \
                     use {least} or more"
                ));
            }
            _ => (),
        }
        if round.max_reports.is_some_and(|most| most == 0 || most > MAX_REPORTS) {
            return bad(format!("round.max_reports: use 1 to {MAX_REPORTS}"));
        }
        if self.revealed().values && !round.values.has_values() && self.reveal != *self.job.info().usual_reveal {
            return bad("reveal: reports carry no value (round.values is absent): use \"keys\" or \"keys+histogram\"");
        }
        if round.tighten && round.reveal_when.thresholds().is_empty() {
            return bad(format!(
                "round.tighten: reveal_when ({}) has no threshold that could be raised: leave tighten out",
                round.reveal_when
            ));
        }
        if let Some(name) = self.parties.0.iter().find(|(_, party)| party.expand.is_some_and(|most| most > MAX_REPORTS))
        {
            return bad(format!("parties.{}.expand: use at most {MAX_REPORTS} addresses", name.0));
        }
        if self.own.participants.ca.is_some() && self.own.participants.allow.is_some() {
            return bad("[participants]: ca and allow are alternatives: leave one of them out");
        }
        Ok(())
    }

    /// Each is somebody else; a proxy may be an oracle, which is of the same domain.
    fn check_members(&self) -> Result<()> {
        for role in ROLES {
            let members = self.own.members(role);
            if members.len() > MAX_MEMBERS {
                return bad(format!("[[{role}]]: at most {MAX_MEMBERS}"));
            }
            let mut addresses = BTreeSet::new();
            if let Some(address) = members
                .iter()
                .filter_map(|member| member.address.as_deref())
                .find(|address| !addresses.insert(*address))
            {
                return bad(format!("[[{role}]]: the address {} is listed twice", shown(address)));
            }
        }
        let same = |one: &Member, other: &Member| one.identity.is_some() && one.identity == other.identity;
        for role in ["proxy", "database"] {
            let all = self.own.members(role);
            if (1..all.len()).any(|place| all[..place].iter().any(|before| same(before, &all[place]))) {
                return bad(format!(
                    "two [[{role}]] have the same identity: each needs its own (`tacita identity new`)"
                ));
            }
        }
        for other in ["proxy", "oracle"] {
            if self.own.database.iter().any(|one| self.own.members(other).iter().any(|member| same(one, member))) {
                return bad(format!(
                    "[[database]] and [[{other}]] have the same identity, and together could read every report: let different \
                     operators run them, each with its own (`tacita identity new`)"
                ));
            }
        }
        for (name, party) in &self.parties.0 {
            let serves = |role: &&&str| {
                self.own
                    .members(role)
                    .iter()
                    .any(|member| member.identity.is_some() && member.identity == party.identity)
            };
            if let Some(role) = ROLES.iter().find(serves) {
                return bad(format!(
                    "parties.{name}.identity is the {role}'s, too: each needs its own (`tacita identity new`)"
                ));
            }
        }
        Ok(())
    }

    /// Returns the conditions of a shuffle that are too weak to hide a reporter among others, if any, and what to
    /// write.
    pub fn weak_conditions(&self) -> Option<String> {
        let round = &self.own.round;
        let asked = round.reveal_when.least().distinct;
        let mut weak = Vec::new();
        if u64::from(round.min_participants) < asked {
            weak.push(format!(
                "min_participants = {} lets the database narrow down the senders of a shuffle to as few, although reveal_when \
                 asks for {asked}",
                round.min_participants
            ));
        }
        if round.max_share == Fraction::ONE {
            weak.push("max_share is not set, so that nearly all of a shuffle may be one participant's".to_owned());
        }
        if round.max_reports.is_none() {
            weak.push(format!(
                "max_reports is not set: a participant may send {} reports, and as many guesses of others' keys",
                count(round.quota())
            ));
        }
        let write = format!(
            "write min_participants = {}, max_share = 0.5, and as max_reports what a participant needs",
            asked.max(round.min_participants.into())
        );
        (!weak.is_empty()).then(|| format!("[round]: {}: {write}", weak.join("; ")))
    }

    pub(super) fn warnings(&self) -> Vec<String> {
        let round = &self.own.round;
        let mut found: Vec<String> = self.weak_conditions().into_iter().collect();
        if let Some(values) = self.passes_alone().filter(|_| self.noise.is_none()) {
            found.push(format!(
                "round.reveal_when ({}) holds for a key that one participant reports once{values}: it is revealed even if no \
                 other participant has it",
                round.reveal_when
            ));
        }
        // With noise, a report more or less decides nothing.
        if round.reveal_when.least().distinct < 2 && self.noise.is_none() {
            let measures = round.reveal_when.measures();
            let used: Vec<_> = [Measure::Count, Measure::Sum]
                .iter()
                .filter(|one| measures.contains(one))
                .map(|one| one.to_string())
                .collect();
            let by = if used.is_empty() { "something other than reporters".to_owned() } else { used.join(" and ") };
            found.push(format!(
                "round.reveal_when ({}) goes by {by} and asks for no distinct reporters; one participant can report a key so often that a \
                 single report more reveals it, and so learn whether anybody else has it; add `and distinct >= 3`",
                round.reveal_when
            ));
        }
        let marks = round.values.places() > MANY_VALUES && self.noise.is_none();
        if marks && (self.revealed().values || self.revealed().histogram) {
            found.push(format!(
                "round.values has {} values and reveal = \"{}\" shows them: a participant can mark a key with a rare value and \
                 recognise it in the result. Allow fewer values, or reveal \"keys\"",
                count(round.values.places().into()),
                self.reveal
            ));
        }
        if self.audience().participants && self.own.participants.ca.is_some() {
            found.push(format!(
                "reveal_to = \"{PARTICIPANTS}\" gives results to every party that the authority in [participants] certifies, now \
                 or later: to restrict them, list participants with allow"
            ));
        }
        found
    }

    /// Returns the values with which a single report passes, as the end of a sentence; none if there are none.
    fn passes_alone(&self) -> Option<String> {
        let (predicate, domain) = (&self.own.round.reveal_when, &self.own.round.values);
        let passes = |place: u32| {
            let mut row = Summary::new(domain);
            row.add(place, &[0; 32]);
            predicate.holds(&row)
        };
        if *domain == Domain::Nothing {
            return passes(0).then(String::new);
        }
        let first = (0..domain.places()).find(|place| passes(*place))?;
        Some(format!(", as with value {}", domain.value(first).unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::Aggregate;
    use crate::agreement::JobSpec;

    fn weak(round: &str) -> Option<String> {
        let text = format!(
            "job = \"aggregate\"\nid = \"t\"\nreveal = \"keys\"\nreveal_to = \"participants\"\n[key]\ncolumns = [\"x\"]\n[round]\nreveal_when = \"distinct >= 3\"\n{round}"
        );
        let job = JobSpec::parse(&text, false).unwrap();
        let own = Aggregate::of(&job).unwrap();
        let found = own.weak_conditions();
        assert_eq!(found.is_some(), own.warnings().iter().any(|warning| warning.starts_with("[round]: ")));
        found
    }

    /// Checks that conditions missing from a job's shuffles are named, with what to write, and that stated ones are
    /// not.
    #[test]
    fn weak_conditions_of_a_shuffle_are_named() {
        let all = weak("").unwrap();
        for words in ["min_participants = 2 lets", "max_share is not set", "max_reports is not set", "16,777,216"] {
            assert!(all.contains(words), "{all}");
        }
        assert!(all.contains("write min_participants = 3, max_share = 0.5"), "{all}");
        let one = weak("min_participants = 4\nmax_share = 0.9\n").unwrap();
        assert!(
            one.contains("max_reports") && !one.contains("max_share is") && one.contains("min_participants = 4"),
            "{one}"
        );
        assert_eq!(weak("min_participants = 3\nmax_share = 0.5\nmax_reports = 10\n"), None);
    }

    #[test]
    fn examples_have_no_weak_conditions() {
        for name in ["attackers/job.toml", "attackers/three.toml", "certificates/job.toml", "popular-sites/job.toml"] {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name);
            let job = JobSpec::load(&path).unwrap();
            assert_eq!(Aggregate::of(&job).unwrap().weak_conditions(), None, "{name}");
        }
    }

    #[test]
    fn reports_of_a_participant_are_bounded_where_nothing_is_said() {
        assert_eq!(Aggregate::default().round.quota(), 1 << 24);
    }
}
