//! A whole job in this process: every party on a thread, with a table in memory, over channels without sockets.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tacita_core::channel::{Channel, Traffic};
use tacita_core::{Error, Result};

use crate::agreement::handshake::{fresh_nonce, greet_as};
use crate::agreement::{Answer, JobSpec, Protocol, RunResult, Source};
use crate::base::cancel::Cancel;
use crate::base::random::fresh_rng;
use crate::run::connect::company;
use crate::run::connections::Connections;
use crate::run::execute::{Executed, RunContext};
use crate::table::Table;
use crate::transport::links::Links;
use crate::watch::{NoProgress, ProgressSink};

/// Results of a simulated party.
#[non_exhaustive]
pub struct Simulated {
    /// Answer that the party got.
    pub answer: Answer,
    /// Sentences that state what the party has learned.
    pub learned: Vec<String>,
    /// The protocol that ran.
    pub protocol: Protocol,
    /// Traffic over the party's connections.
    pub traffic: Traffic,
}

/// Runs `job` between its parties, each with its table. All of them end when `cancel` says so.
///
/// Errors: a party has no table; or that of the party at which the job has failed.
pub fn tables(job: &JobSpec, tables: &BTreeMap<String, Table>, cancel: &Cancel) -> Result<BTreeMap<String, Simulated>> {
    let names = job.parties.names();
    let mut channels: BTreeMap<&str, Vec<Channel>> = BTreeMap::new();
    for (place, one) in names.iter().enumerate() {
        for other in names[place + 1..].iter().filter(|other| job.peers_of(one).contains(other)) {
            let (end, far_end) = Channel::pair(one, other);
            channels.entry(one).or_default().push(end);
            channels.entry(other).or_default().push(far_end);
        }
    }
    let ended: Vec<Result<Simulated>> = std::thread::scope(|scope| {
        let running: Vec<_> = names
            .iter()
            .map(|me| (*me, tables.get(*me), channels.remove(me).unwrap_or_default()))
            .map(|(me, table, channels)| scope.spawn(move || party(job, me, table, channels, cancel)))
            .collect();
        let join = |one: std::thread::ScopedJoinHandle<'_, _>| {
            one.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        running.into_iter().map(join).collect()
    });
    // Where one fails the others hear of it: that one's error says why.
    let own = |error: &Error| !matches!(error, Error::Network { .. } | Error::Peer { .. } | Error::Reported { .. });
    let failures = || ended.iter().filter_map(|ended| ended.as_ref().err());
    match failures().find(|error| own(error)).or_else(|| failures().next()) {
        Some(error) => Err(error.clone()),
        None => Ok(names.into_iter().map(str::to_owned).zip(ended.into_iter().flatten()).collect()),
    }
}

fn party(
    job: &JobSpec,
    me: &str,
    table: Option<&Table>,
    mut channels: Vec<Channel>,
    cancel: &Cancel,
) -> Result<Simulated> {
    let links = Links::new(cancel.clone());
    channels.iter_mut().for_each(|channel| company(job, me, channel));
    channels.iter().for_each(|channel| links.add(channel.handle()));
    let executed = links.guard(|| {
        let table = table.ok_or_else(|| Error::Input(format!("{me} has no table")))?.clone();
        let mut part = job.job.load(job, me, &Source::Table { table, allow_unreadable: false }, None)?;
        let nonce = fresh_nonce(&mut fresh_rng()?);
        // Nobody stands between two ends in one process: there is no connection to bind to. What only two parties would
        // know, every thread of this process could.
        let greet = |channel: &mut Channel| greet_as(job, me, nonce, &[0; 32], channel);
        let greeted = channels.iter_mut().map(greet).collect::<Result<Vec<_>>>()?;
        let screen: Arc<dyn ProgressSink> = Arc::new(NoProgress);
        // Nor does it have an identity.
        let secret = &[0; 32];
        let context = RunContext { job, me, memory: None, secret, bandwidth: None, screen: &screen, account: None };
        let executed = context.run_with_peers(&mut *part, greeted, Duration::ZERO, &mut channels, &links)?;
        Ok((part, executed))
    });
    let (part, Executed { found, .. }) = executed?;
    let RunResult { answer, protocol, learned, .. } = found;
    let (traffic, answer) = Connections::Peers { channels, groups: Vec::new(), links }.conclude(job, &*part, answer)?;
    Ok(Simulated { answer, learned, protocol, traffic: traffic.all })
}
