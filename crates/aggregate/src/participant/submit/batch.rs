//! Transfer of a batch to a proxy: its reports are sent, or made together with the proxy.

use tacita_core::channel::labels::interaction::OUTCOME;
use tacita_core::protocol::aggregate::{Entry, report};
use tacita_core::protocol::published::aggregate::naor_reingold::{Reporting, participant};
use tacita_core::{Channel, Result};
use tacita_node::base::random::fresh_rng;

use super::{MAX_BYTES, Submission};
use crate::interaction::{self, InteractionSide, MAX_OUTCOME_BYTES, ParticipantBatch};
use crate::transport::{ApiRequest, ApiResponse};
use crate::wire::batch::{BatchId, first_of};

impl Submission<'_> {
    /// Sends reports that are encrypted for this attempt, with fresh randomness. A proxy that has the batch already
    /// tells it by its name.
    pub(super) fn send(&mut self, path: &str, name: &BatchId, entries: &[Entry]) -> Result<ApiResponse> {
        let target = &self.target;
        let (mut rng, reporter) = (fresh_rng()?, self.told.reporter());
        let body = report(&target.params, &target.keys, &reporter, first_of(name), entries, &mut rng)?;
        let ask = ApiRequest::put(target.fingerprint.on(path), body, MAX_BYTES);
        self.proxies.ask(self.told, |proxy, persistence| proxy.ask(&ask, persistence))
    }

    /// Makes the reports with the proxy. Each attempt is an interaction of its own with fresh randomness: nothing of
    /// one that was cut off is used again.
    pub(super) fn make(&mut self, path: &str, name: &BatchId, entries: &[Entry]) -> Result<ApiResponse> {
        let (target, reporter) = (&self.target, self.told.reporter());
        let batch =
            ParticipantBatch { round: &target.round, participant: &reporter, name: *name, reports: entries.len() };
        let reporting = Reporting {
            params: &target.params,
            keys: &target.keys,
            participant: batch.participant,
            first: first_of(name),
            stage: batch.reports,
        };
        let run = |channel: &mut Channel| {
            let mut rng = fresh_rng()?;
            let session =
                interaction::session(&self.told.setting, &batch, InteractionSide::Participant, channel, &mut rng)?;
            let mut transfers = participant::connect(&session, channel, &mut rng)?;
            participant::send(&reporting, entries, &mut transfers, channel, &mut rng)?;
            let outcome = channel.receive_up_to(OUTCOME, MAX_OUTCOME_BYTES)?;
            ApiResponse::decode(&outcome).ok_or_else(|| channel.violation(format!("`{}` cannot be read", OUTCOME.name)))
        };
        let bounds = interaction::bounds(&target.params, batch.reports);
        let path = target.fingerprint.on(&format!("{path}/{}", batch.reports));
        self.proxies.ask(self.told, |proxy, persistence| proxy.interact(&path, bounds, persistence, run))
    }
}
