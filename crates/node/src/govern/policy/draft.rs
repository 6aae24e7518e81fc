//! A policy that allows one job.

use std::collections::BTreeSet;
use std::fmt::Write;

use toml::Value;

use super::CLIENTS;
use super::answers::{USUAL_MIN_DIFFERENCE, informed};
use super::check::{by_headers, members};
use crate::agreement::JobSpec;
use crate::base::html::visible;
use crate::govern::columns::UsedColumns;

/// Runs of a day, and exact answers to a peer, that a new policy allows.
const USUAL_RUNS: i64 = 3;

/// Returns the text of a policy by which `me` takes part in this job and in no other, a few times. A peer whose
/// identity the job leaves open is not named, so that the policy refuses the job until it is.
pub fn draft(job: &JobSpec, me: &str) -> String {
    let used = UsedColumns::of(job, me);
    let learners: BTreeSet<_> = job.reveal_to.iter().map(|name| if name == me { "self" } else { "peers" }).collect();
    let others = job.others(me).into_iter().filter_map(|name| job.party(name).ok()?.identity);
    let helper = job.helper.iter().filter_map(|helper| helper.identity);
    let members = members(job).into_iter().filter_map(|(_, pin)| pin);
    let pins = others.chain(helper).chain(members).map(|pin| pin.to_string());
    let served = job.job.served().is_some() || job.clients.is_some();
    let audience = job.reveal_to.iter().filter(|name| served && job.party(name).is_err()).cloned();
    let clients = (job.clients.is_some() && !job.learns(me)).then(|| CLIENTS.to_owned());
    let list = |words: &mut dyn Iterator<Item = String>| Value::Array(words.map(Value::String).collect());
    let columns = |columns: BTreeSet<String>| list(&mut columns.into_iter());
    let aligned = job.job.alignment(job).map(|_| job.align_way().name());
    let mut keys = vec![
        ("peers", list(&mut pins.chain(audience).chain(clients))),
        ("jobs", list(&mut [job.job.name().to_owned()].into_iter())),
        ("reveal", list(&mut [by_headers(job, me)].into_iter())),
        ("reveal_to", list(&mut learners.into_iter().map(str::to_owned))),
        ("protocols", list(&mut [job.protocol.name().to_owned()].into_iter())),
        ("security", list(&mut [job.security.name().to_owned()].into_iter())),
        ("levels", list(&mut [job.level.name().to_owned()].into_iter())),
        ("alignment", list(&mut aligned.map(str::to_owned).into_iter())),
        ("keys", columns(used.keys)),
        ("gives", columns(used.gives)),
    ];
    let unnamed = used.unnamed;
    if !unnamed {
        keys.push(("computes", columns(used.computes)));
    }
    if !served {
        keys.push(("runs_per_day", USUAL_RUNS.into()));
    }
    // Baskets in lines have no columns by which they could be compared.
    if !served && !unnamed && !informed(job, me).is_empty() {
        let limits = toml::Table::from_iter([("peer".to_owned(), USUAL_RUNS.into())]);
        keys.push(("min_difference", Value::Integer(USUAL_MIN_DIFFERENCE as i64)));
        keys.push(("exact_answers", Value::Table(limits)));
    }
    let mut text = format!(
        "# Policy of {}: it takes part in the job {}, and in no other. `tacita policy explain` tries it, and docs/guides/governance.md\n\
         # describes each key.\n\n[[allow]]\n",
        visible(me),
        visible(&job.id)
    );
    for (key, value) in keys {
        let _ = writeln!(text, "{key} = {value}");
    }
    text
}
