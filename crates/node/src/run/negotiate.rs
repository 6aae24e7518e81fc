//! Agreeing with the others on what runs: sizes and choice, and whether there is memory for it. By topology, one
//! function each.

use std::collections::BTreeMap;
use std::time::Duration;

use tacita_core::Result;
use tacita_core::channel::Channel;

use super::execute::RunContext;
use crate::agreement::handshake::{self, Greeted};
use crate::agreement::{Chosen, Clients, Network, PartyInput, Sizes, Slices, group, memory, mesh};
use crate::base::memory::Limit;
use crate::base::text;

impl RunContext<'_> {
    /// Agrees with the one other party.
    pub(super) fn negotiate_with_one(
        &self,
        part: &dyn PartyInput,
        greeted: Greeted,
        round_trip: Duration,
        channel: &mut Channel,
    ) -> Result<handshake::HandshakeResult> {
        let (job, me) = (self.job, self.me);
        let peer_version = greeted.peer_version.clone();
        let own = part.sizes();
        let network = Network { round_trip, bandwidth: self.bandwidth };
        let check = |theirs: &_, channel: &_| part.check_peer(job, theirs, channel);
        let choose = |theirs: &Sizes| self.choose(&job.sizes_of_both(me, &own, theirs), network);
        let agreed = handshake::settle(greeted, job, me, &own, check, choose, channel)?;
        handshake::confirm(&agreed.session, job, me, channel)?;
        memory::check(job, me, &agreed, self.memory, channel)?;
        tracing::info!(
            "agreed with {} ({peer_version}): {}, {} here, {} there",
            channel.peer(),
            agreed.chosen,
            text::counted(own.items, job.thing()),
            text::count(agreed.peer_sizes.items)
        );
        Ok(agreed)
    }

    /// Agrees with all others, each of which is connected to each.
    pub(super) fn negotiate_in_mesh(
        &self,
        part: &dyn PartyInput,
        greeted: Vec<Greeted>,
        channels: &mut [Channel],
    ) -> Result<mesh::MeshAgreement> {
        let (job, me) = (self.job, self.me);
        let own = part.sizes();
        let check = |theirs: &_, channel: &_| part.check_peer(job, theirs, channel);
        let choose = |sizes: &_| self.choose(sizes, Network::default());
        let agreed = mesh::agree(job, me, &own, greeted, channels, check, choose)?;
        memory::check_all(job, me, &agreed, self.memory)?;
        let each = agreed.sizes.iter().filter(|(name, _)| *name != me);
        let each: Vec<_> = each.map(|(name, sizes)| format!("{} at {name}", text::count(sizes.items))).collect();
        let own = text::counted(own.items, job.thing());
        tracing::info!("agreed with all: {}, {own} here, {}", agreed.chosen, each.join(", "));
        Ok(agreed)
    }

    /// Agrees with a server and neighbours, or with all clients.
    pub(super) fn negotiate_with_clients(
        &self,
        roles: &Clients<'_>,
        part: &dyn PartyInput,
        greeted: Vec<Greeted>,
        channels: &mut [Channel],
    ) -> Result<(Chosen, Slices)> {
        let (job, me) = (self.job, self.me);
        let rows = group::agree(job, roles, me, part.sizes(), greeted, channels)?;
        let sizes = roles.sizes(&rows);
        let chosen = self.choose(&sizes, Network::default())?;
        self.check_memory(&chosen, &sizes, "split the input")?;
        tracing::info!("agreed with {}: {} in all", job.peers_of(me).join(", "), text::counted(rows.all, "row"));
        Ok((chosen, rows))
    }

    /// Settles what runs through a helper, where the terms say all there is to agree on.
    pub(super) fn negotiate_at_helper(&self, part: &dyn PartyInput) -> Result<Chosen> {
        let sizes = self.job.parties.names().into_iter().map(|name| (name.to_owned(), part.sizes())).collect();
        let chosen = self.choose(&sizes, Network::default())?;
        self.check_memory(&chosen, &sizes, "agree on a lower limits.pad_to")?;
        Ok(chosen)
    }

    fn choose(&self, sizes: &BTreeMap<String, Sizes>, network: Network) -> Result<Chosen> {
        self.job.job.choose(self.job, sizes, network).map(|choice| choice.chosen)
    }

    fn check_memory(&self, chosen: &Chosen, sizes: &BTreeMap<String, Sizes>, advice: &str) -> Result<()> {
        let needed = self.job.job.memory(self.job, self.me, chosen, sizes)?;
        Limit::of(self.memory).check(needed, advice)
    }
}
