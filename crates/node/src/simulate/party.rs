//! One party of a simulation.

use std::sync::Arc;
use std::time::Duration;

use tacita_core::{Error, Result};

use super::{HELPER, Instructions};
use crate::agreement::{DiskOptions, JobSpec, Source};
use crate::base::cancel::Cancel;
use crate::base::files::Existing;
use crate::identity::Identity;
use crate::run::connect::ConnectPlan;
use crate::run::party::{DEFAULT_PATIENCE, PartyRun};
use crate::table::read::ReadOptions;
use crate::transport::{self, LinkShape, Peer, depot};
use crate::watch::ProgressSink;

/// The run of a party of a simulation.
pub fn party(job: JobSpec, told: Instructions, screen: Arc<dyn ProgressSink>) -> Result<PartyRun> {
    let mut meeting = ConnectPlan {
        dials: Vec::new(),
        awaits: Vec::new(),
        listen: "127.0.0.1:0".into(),
        relay: None,
        helper: None,
        announce: Some(told.announce),
        shape: LinkShape::default(),
    };
    for name in job.peers_of(&told.party) {
        let pin = told.pins.get(name).map(|pin| pin.parse()).transpose()?;
        let pin = pin.ok_or_else(|| Error::Internal("a simulated party has no pin for its peer".into()))?;
        let peer = Peer { name: name.to_owned(), pin };
        match told.dials.get(name) {
            Some(address) => meeting.dials.push((peer, address.clone())),
            None => meeting.awaits.push(peer),
        }
    }
    if let Some(address) = told.dials.get(HELPER).cloned() {
        let pin = |name: &str| {
            let pin = told.pins.get(name).map(|pin| pin.parse()).transpose()?;
            let pin = pin.ok_or_else(|| Error::Internal("a simulated party has no pin for another".into()))?;
            Ok(Peer { name: name.to_owned(), pin })
        };
        let parties = job.parties.names().into_iter().map(pin).collect::<Result<Vec<_>>>()?;
        let announce = meeting.announce.take();
        meeting = ConnectPlan {
            announce,
            ..ConnectPlan::at(depot::HelperAddress { address, helper: pin(HELPER)?, parties })
        };
    }
    let settings = told.settings;
    meeting.shape = LinkShape { latency: Duration::from_secs_f64(settings.latency), bandwidth: settings.bandwidth };
    let identity = Identity::load(&told.identity)?;
    let encoding = told.encoding.map(|name| name.parse()).transpose()?;
    let kind = told.kind.map(|name| name.parse()).transpose()?;
    let Instructions { delimiter, skip, no_header, .. } = told;
    let sheet = told.sheet.map(Arc::from);
    let options = ReadOptions { kind, delimiter, encoding, skip, no_header, sheet, ..ReadOptions::default() };
    let source = Source::of(&job, &told.party, told.inputs, options, settings.allow_unreadable)?;
    let source = match settings.work {
        Some(directory) => {
            let (directory, identity) = (directory.join(&told.party), identity.clone());
            source.on_disk(
                &job,
                &told.party,
                DiskOptions { directory, resume: false, memory: settings.memory, identity, screen: screen.clone() },
            )?
        }
        None => source,
    };
    Ok(PartyRun {
        identity,
        meeting,
        source,
        me: told.party,
        job,
        job_file: None,
        output: told.output,
        report: Some(told.report),
        html: told.html,
        existing: Existing::unless(settings.force),
        governance: crate::govern::account::Governance::default(),
        pool: None,
        timeout: transport::DEFAULT_TIMEOUT,
        patience: DEFAULT_PATIENCE,
        memory: settings.memory,
        screen,
        cancel: Cancel::default(),
    })
}
