//! Checks of the requirements of a served list, and of a desk that queries it.

use tacita_core::{Error, Result};
use tacita_node::agreement::{JobSpec, Terms};
use tacita_node::base::text::{count, counted};
use tacita_node::identity::Identity;
use tacita_node::jobs::intersect::live::{KeyReader, Live, Quota, Roll};
use tacita_node::table::{Table, read};

use super::findings::Findings;
use super::{DoctorInput, Examination};
use crate::authority::listed_desks;
use crate::desk::{Asking, connect};

impl Examination {
    /// Looks at what the one that has the list needs, or a desk.
    pub fn list(&self, job: JobSpec, findings: &mut Findings) {
        let live = match Live::of(job, &self.me) {
            Ok(live) => live,
            Err(error) => return findings.bad("job", error),
        };
        let does = if self.me == live.authority { "has the list" } else { "asks it" };
        findings.good("job", format_args!("{}: a list that many ask; {} {does}", self.shown, self.me));
        if self.meet.is_some() {
            findings.note("meet", "not needed for a list: a desk's doctor connects to the running server");
        }
        if self.me == live.authority { self.authority(&live, findings) } else { self.desk(&live, findings) }
    }

    fn authority(&self, live: &Live, findings: &mut Findings) {
        self.identities_of_list(live, findings);
        match listed_desks(live) {
            Err(error) => findings.bad("desks", error),
            Ok((path, 0)) => findings.bad(
                "desks",
                format_args!(
                    "{}: no desk is listed, so no desk may ask: add a line \"NAME SHA256:...\" for each",
                    path.display()
                ),
            ),
            Ok((path, desks)) => {
                let may = Quota::of(&live.job).clients;
                let text = format!("{}: {} listed", path.display(), counted(desks as u64, "desk"));
                if desks as u64 > may {
                    findings.bad("desks", format_args!("{text}, and limits.max_clients is {}", count(may)))
                } else {
                    findings.good("desks", text)
                }
            }
        }
        self.address(&live.job, &self.me, findings);
        self.with_table(live, findings, |live, table, findings| {
            let rows = Roll::read(live, table, false)?;
            let most = live.job.limits.pad_to.unwrap_or_default();
            let text = format!("{}: {}", table.source(), counted(rows.rows.len() as u64, "row"));
            if rows.rows.len() as u64 > most {
                findings.bad("input", format_args!("{text}, and limits.pad_to is {}", count(most)))
            } else {
                findings.good("input", format_args!("{text} can be found"))
            }
            let is_lost = rows.lost > 0;
            for line in rows.shortfall(table.source()) {
                if is_lost { findings.bad("input", line) } else { findings.note("input", line) }
            }
            Ok(())
        });
    }

    fn desk(&self, live: &Live, findings: &mut Findings) {
        let identity = self.identities_of_list(live, findings);
        let quota = Quota::of(&live.job);
        let daily = quota.daily.or(quota.in_all).unwrap_or_default();
        let rows = daily / live.keys() as u64;
        findings.good("quota", format_args!("{}, which is {}", counted(daily, "key"), counted(rows, "row")));
        if let Some(identity) = identity {
            self.ask(live, identity, findings);
        }
        self.with_table(live, findings, |live, table, findings| {
            let asked = KeyReader::new(live, &live.desk)?.read_table(table, &Default::default(), None)?;
            let can = asked.iter().filter(|(asked, _)| asked.can_be_asked()).count();
            findings.good(
                "input",
                format_args!(
                    "{}: {}, of which {} can be asked for",
                    table.source(),
                    counted(asked.len() as u64, "row"),
                    count(can as u64)
                ),
            );
            if let Some((row, (asked, _))) = asked.iter().enumerate().find(|(_, (asked, _))| !asked.can_be_asked()) {
                findings.bad(
                    "input",
                    format_args!(
                        "{}: {} cannot be asked for, the first in {}: {}",
                        table.source(),
                        count((table.rows() - can) as u64),
                        table.place(row),
                        asked.why_not()
                    ),
                );
            }
            if can as u64 > rows {
                findings.bad(
                    "input",
                    format_args!("{}: more rows than the quota has room for: {}", table.source(), count(rows)),
                );
            }
            Ok(())
        });
    }

    /// Whether the authority answers, lets this desk in, and has the same terms.
    fn ask(&self, live: &Live, identity: Identity, findings: &mut Findings) {
        let address = live.job.party(&live.authority).ok().and_then(|party| party.address.clone()).unwrap_or_default();
        let asking = Asking { live: live.clone(), identity, cancel: self.cancel.clone() };
        match connect(&asking) {
            Ok((line, group)) => {
                line.abort(&Error::Interrupted);
                findings
                    .good("network", format_args!("{} answers at {address}, and lets this desk in", live.authority));
                findings.key_exchange("network", &live.authority, group);
                let agreement = Terms::of(&live.job).agreement();
                findings.good("terms", format_args!("as {}'s (agreement {})", live.authority, &agreement[..16]));
            }
            Err(error @ Error::Terms(_)) => findings.bad("terms", error),
            Err(error) => findings.bad("network", error),
        }
    }

    /// Checks this party's identity, if it has one, and that of the authority that has the list.
    fn identities_of_list(&self, live: &Live, findings: &mut Findings) -> Option<Identity> {
        let identity = match Identity::load(&self.identity) {
            Ok(identity) => identity,
            Err(error) => {
                findings.bad("identity", error);
                return None;
            }
        };
        let own = identity.fingerprint();
        match (live.job.party(&live.authority).ok().and_then(|party| party.identity), self.me == live.authority) {
            (None, _) => findings.bad(
                "identity",
                format_args!(
                    "parties.{0}.identity is missing: ask {0} for its fingerprint (`tacita identity show`)",
                    live.authority
                ),
            ),
            (Some(expected), true) if expected != own => findings
                .bad("identity", format_args!("parties.{}.identity is {expected}, the key pair is {own}", self.me)),
            (Some(_), true) => findings.good("identity", own),
            (Some(pin), false) => {
                findings
                    .good("identity", format_args!("{own}, which {} has to have in its list of desks", live.authority));
                findings.good("peer", format_args!("{} is {pin}", live.authority));
            }
        }
        findings.dates(&identity);
        Some(identity)
    }

    fn with_table(
        &self,
        live: &Live,
        findings: &mut Findings,
        look: impl FnOnce(&Live, &Table, &mut Findings) -> Result<()>,
    ) {
        let table = match &self.input {
            DoctorInput::Table(table) => Ok(table.clone()),
            DoctorInput::Files { paths, options } => match paths.first() {
                Some(path) => read(path, &live.job.reading(&self.me, options.clone())),
                None => return findings.note("input", "not looked at: give --input FILE"),
            },
        };
        if let Err(error) = table.and_then(|table| look(live, &table, findings)) {
            findings.bad("input", error);
        }
    }
}
