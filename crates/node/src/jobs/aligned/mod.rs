//! Rows that both parties have, by position or by ids: what scalar products and association rules work on.

pub mod cost;
pub mod learned;
pub mod spec;

use std::collections::BTreeMap;
use std::sync::Arc;

use chacha20::ChaCha20Rng;
use tacita_core::channel::Channel;
use tacita_core::{Error, Result};

use crate::agreement::handshake::HandshakeResult;
use crate::agreement::{Chosen, JobSpec, Network, Protocol, Sizes};
use crate::base::text::{count, counted};
use crate::jobs::intersect;

/// Chooses the protocol that aligns rows, as the first party does.
pub fn choose(
    alignment: Option<&JobSpec>,
    sizes: &BTreeMap<String, Sizes>,
    network: Network,
) -> Result<Option<Protocol>> {
    let choose = |job: &JobSpec| Ok(job.job.choose(job, sizes, network)?.chosen.protocol);
    alignment.map(choose).transpose()
}

/// Whether the terms allow the peer to choose this for aligning rows.
pub fn allows(alignment: Option<&JobSpec>, chosen: &Chosen) -> bool {
    match (alignment, chosen.alignment) {
        (Some(job), Some(protocol)) => job.job.allows(job, &Chosen::only(protocol)),
        (None, None) => true,
        _ => false,
    }
}

/// Checks that the peer's sizes fit: as many rows by position, or what an intersection asks for.
pub fn check_peer(alignment: Option<&JobSpec>, own: &Sizes, theirs: &Sizes, channel: &Channel) -> Result<()> {
    theirs.refuse(true, true, true, channel)?;
    if let Some(alignment) = alignment {
        return match theirs.epoch {
            Some(_) => Err(channel.violation("it announces a prepared part where none can be used")),
            None => intersect::check_peer(alignment, own, theirs, channel),
        };
    }
    if (Sizes { items: theirs.items, ..Sizes::default() }) != *theirs {
        return Err(channel.violation("it announces more than its number of rows"));
    }
    if own.items == theirs.items {
        Ok(())
    } else {
        Err(Error::Terms(format!(
            "rows are aligned by position, and {} has {} where this party has {}: give tables of the same rows, or align them by \
             an id column (row_id)",
            channel.peer(),
            count(theirs.items),
            count(own.items)
        )))
    }
}

/// The own rows that both parties have, in the same order at both; `None` where rows are aligned by position. `ids` is the
/// table with the ids, where they are not.
pub fn align(
    alignment: Option<&JobSpec>,
    me: &str,
    ids: Option<&Arc<intersect::Loaded>>,
    agreed: &HandshakeResult,
    channel: &mut Channel,
    rng: &mut ChaCha20Rng,
) -> Result<Option<Vec<u32>>> {
    let (Some(alignment), Some(ids), Some(protocol)) = (alignment, ids, agreed.chosen.alignment) else {
        return Ok(None);
    };
    let agreed = HandshakeResult {
        session: agreed.session.child("alignment", 0),
        chosen: Chosen::only(protocol),
        own_sizes: agreed.own_sizes.clone(),
        peer_sizes: agreed.peer_sizes.clone(),
    };
    let brought = intersect::IntersectInput::Table(ids.clone());
    let rows = intersect::run(alignment, me, &brought, &agreed, channel, rng)?.rows_of(ids)?;
    let (own, theirs) = (agreed.own_sizes.items, agreed.peer_sizes.items);
    tracing::info!("aligned by ids: {} in common, of {} here", counted(rows.len() as u64, "row"), count(own));
    if rows.is_empty() && own > 0 && theirs > 0 {
        intersect::hint::warn_of_nothing(alignment, me, ids);
    }
    Ok(Some(rows))
}
