//! `rules` among more than two parties, all connected to each other. `tacita_core::protocol::rules::mesh` has the
//! protocol.

mod check;
mod cost;
mod learned;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use tacita_core::Result;
use tacita_core::channel::{Channel, Traffic};
use tacita_core::protocol::dot::ot::Extension;
use tacita_core::protocol::mesh::{Heard, MeshOts};
use tacita_core::protocol::rules::Params;
use tacita_core::protocol::rules::baskets::Baskets;

use super::products::LevelLog;
use super::spec::RulesJob;
use super::{Found, RulesInput, mine_named, mining, warn_of_common_rows};
use crate::agreement::{Choice, Chosen, Network, PartContext, Sizes};
use crate::base::memory::Limit;
use crate::base::text::names;
use crate::jobs::aligned;
use crate::jobs::dot::mesh::{USUAL_K, k};
use crate::jobs::dot::methods::ot;

pub(super) use check::check;
pub(super) use cost::{cost, memory};
pub(super) use learned::{at_a_glance, learned};

/// Time by which a peer may be busy longer than one of two: with candidates of others, of which there is no estimate.
const BUSY_WITH_OTHERS: Duration = Duration::from_secs(24 * 3600);

/// Chooses how transfers are made: there is one protocol.
pub(super) fn choose(job: &RulesJob<'_>, sizes: &BTreeMap<String, Sizes>, network: Network) -> Result<Choice> {
    let extension = Some(job.own.extension.unwrap_or(Extension::SoftSpoken(USUAL_K)));
    let alignment = aligned::choose(job.alignment().as_ref(), sizes, network)?;
    let chosen = Chosen { extension, alignment, ..Chosen::only(ot::PROTOCOL) };
    Ok(Choice { chosen, why: "it is the one among more than two parties".into() })
}

/// Runs a party's part of the protocol.
pub(super) fn run(job: &RulesJob<'_>, brought: &RulesInput, run: PartContext<'_>) -> Result<Found> {
    let PartContext { me, rng, peers, allowed, .. } = run;
    let (agreed, channels) = peers.mesh()?;
    warn_of_common_rows(job, &names(&job.others(me)));
    let table = (brought.items.rows(), brought.ids.as_ref());
    let aligned = aligned::align_among(job.alignment().as_ref(), me, table, agreed, channels, rng)?;
    channels.iter_mut().for_each(|channel| channel.allow_longer(BUSY_WITH_OTHERS));
    let others = memory(job, me, &agreed.sizes)?;
    let mut log = LevelLog::default();
    let mine = |baskets: &Baskets, params: &Params, channels: &mut [Channel]| {
        let (place, links, k) = (job.parties.place(me)?, agreed.links(job)?, k(&agreed.chosen)?);
        let mut ots = MeshOts::setup(place, &agreed.session, &links, k, channels, rng)?;
        let at_level = |length, products, channels: &[Channel]| {
            log.begin(length, products, ot::PROTOCOL, (Instant::now(), traffic(channels)));
        };
        mining::mesh::run(baskets, params, &mut ots, channels, rng, at_level)
    };
    let heard = Heard::new(job.parties.place(me)?, agreed.session.child("names of items", 0));
    let named = mine_named(job, me, brought, &aligned, (others, Limit::of(allowed)), Some(heard), channels, mine)?;
    Ok(Found { rows: aligned.common(), named, levels: log.levels(traffic(channels)) })
}

/// The traffic over all channels.
fn traffic(channels: &[Channel]) -> Traffic {
    channels.iter().map(Channel::traffic).fold(Traffic::default(), |all, one| Traffic {
        sent: all.sent + one.sent,
        received: all.received + one.received,
        ..all
    })
}
