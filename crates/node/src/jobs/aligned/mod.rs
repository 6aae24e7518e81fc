//! Rows that the parties work on together, by position or by ids: what scalar products and association rules work on.

mod blur;
pub mod cost;
mod hidden;
pub mod learned;
mod rows;
pub mod spec;

use std::collections::BTreeMap;
use std::sync::Arc;

use chacha20::ChaCha20Rng;
use tacita_core::channel::Channel;
use tacita_core::protocol::dot::MAX_ROWS;
use tacita_core::{Error, Result};

use crate::agreement::handshake::HandshakeResult;
use crate::agreement::mesh::MeshAgreement;
use crate::agreement::{AlignWay, Chosen, JobSpec, Network, Protocol, Sizes};
use crate::base::text::{count, counted};
use crate::jobs::intersect;

pub use blur::Blur;
pub use rows::AlignedRows;

/// The way in which a job aligns rows by ids.
#[derive(Debug, Clone)]
pub struct RowAlignment {
    /// The intersection of ids, to both parties: it says how they are read, and finds common rows that are shown.
    pub ids: JobSpec,
    /// Whether common rows are hidden.
    pub way: AlignWay,
    /// Noise on the number of common rows, where they are hidden.
    pub blur: Option<Blur>,
}

impl RowAlignment {
    /// Memory besides the tables, in bytes, an estimate from above.
    pub fn memory(&self, me: &str, chosen: &Chosen, own: &Sizes, theirs: &Sizes) -> Result<u64> {
        match (self.way, chosen.alignment) {
            (AlignWay::Hidden, _) => Ok(hidden::memory(self, me, own, theirs)),
            (AlignWay::Rows, Some(protocol)) => {
                intersect::memory::needed(&self.ids, me, &Chosen::only(protocol), own, theirs)
            }
            (AlignWay::Rows, None) => Ok(0),
        }
    }

    /// Refuses more rows of both parties than products can go over, where those of either are in a common order.
    fn check_rows(&self, own: &Sizes, theirs: &Sizes, channel: &Channel) -> Result<()> {
        let dummies = self.blur.map_or(0, |blur| 2 * blur.items());
        let rows = own.items.saturating_add(theirs.items).saturating_add(dummies);
        if self.way == AlignWay::Rows || rows <= MAX_ROWS as u64 {
            return Ok(());
        }
        Err(Error::Terms(format!(
            "{} brings {} row ids, and in a hidden common order both parties may have {} rows together: agree on alignment = \
             \"rows\", or on smaller tables",
            channel.peer(),
            count(theirs.items),
            count(MAX_ROWS as u64)
        )))
    }

    /// The party that sends the last message.
    pub(crate) fn ends(&self) -> &str {
        match self.way {
            AlignWay::Hidden => self.ids.parties.names().first().copied().unwrap_or_default(),
            AlignWay::Rows => self.ids.receiver(),
        }
    }
}

/// Chooses the protocol that aligns rows, as the first party does.
pub fn choose(
    alignment: Option<&RowAlignment>,
    sizes: &BTreeMap<String, Sizes>,
    network: Network,
) -> Result<Option<Protocol>> {
    let choose = |alignment: &RowAlignment| match alignment.way {
        AlignWay::Hidden => Ok(AlignWay::HIDDEN),
        AlignWay::Rows => Ok(alignment.ids.job.choose(&alignment.ids, sizes, network)?.chosen.protocol),
    };
    alignment.map(choose).transpose()
}

/// Whether the terms allow the peer to choose this for aligning rows.
pub fn allows(alignment: Option<&RowAlignment>, chosen: &Chosen) -> bool {
    match (alignment, chosen.alignment) {
        (Some(RowAlignment { way: AlignWay::Hidden, .. }), Some(protocol)) => protocol == AlignWay::HIDDEN,
        (Some(RowAlignment { ids, .. }), Some(protocol)) => ids.job.allows(ids, &Chosen::only(protocol)),
        (None, None) => true,
        _ => false,
    }
}

/// Checks that the peer's sizes fit: as many rows by position, or what an intersection asks for.
pub fn check_peer(alignment: Option<&RowAlignment>, own: &Sizes, theirs: &Sizes, channel: &Channel) -> Result<()> {
    theirs.refuse(true, true, true, channel)?;
    if let Some(alignment) = alignment {
        return match theirs.epoch {
            Some(_) => Err(channel.violation("it announces a prepared part where none can be used")),
            None => {
                intersect::check_peer(&alignment.ids, own, theirs, channel)?;
                alignment.check_rows(own, theirs, channel)
            }
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

/// Aligns the rows of a table of `rows`, in the same order at both parties: by `ids`, the table with its ids, or by
/// position.
pub fn align(
    alignment: Option<&RowAlignment>,
    me: &str,
    (rows, ids): (usize, Option<&Arc<intersect::Loaded>>),
    agreed: &HandshakeResult,
    channel: &mut Channel,
    rng: &mut ChaCha20Rng,
) -> Result<AlignedRows> {
    let (Some(alignment), Some(ids), Some(protocol)) = (alignment, ids, agreed.chosen.alignment) else {
        return Ok(AlignedRows::by_position(rows));
    };
    let agreed = HandshakeResult {
        session: agreed.session.child("alignment", 0),
        chosen: Chosen::only(protocol),
        own_sizes: agreed.own_sizes.clone(),
        peer_sizes: agreed.peer_sizes.clone(),
    };
    let aligned = match alignment.way {
        AlignWay::Hidden => hidden::run(alignment, me, ids, &agreed, channel, rng)?,
        AlignWay::Rows => {
            let brought = intersect::IntersectInput::Table(ids.clone());
            let common = intersect::run(&alignment.ids, me, &brought, &agreed, channel, rng)?.table_rows()?;
            let common_rows = counted(common.len() as u64, "row");
            tracing::info!("aligned by ids: {common_rows} in common, of {} here", count(agreed.own_sizes.items));
            AlignedRows::shown(rows, &common)
        }
    };
    if aligned.common() == 0 && alignment.blur.is_none() && agreed.own_sizes.items > 0 && agreed.peer_sizes.items > 0 {
        intersect::hint::warn_of_nothing(&alignment.ids, me, ids);
    }
    Ok(aligned)
}

/// The same among more than two parties, where common rows are always shown: those that all have.
pub fn align_among(
    alignment: Option<&RowAlignment>,
    me: &str,
    (rows, ids): (usize, Option<&Arc<intersect::Loaded>>),
    agreed: &MeshAgreement,
    channels: &mut [Channel],
    rng: &mut ChaCha20Rng,
) -> Result<AlignedRows> {
    let (Some(alignment), Some(ids)) = (alignment, ids) else { return Ok(AlignedRows::by_position(rows)) };
    let common = intersect::star::common_rows(&alignment.ids, me, ids, agreed, channels, rng)?;
    let own = agreed.sizes[me].items;
    tracing::info!("aligned by ids: {} in common, of {} here", counted(common.len() as u64, "row"), count(own));
    Ok(AlignedRows::shown(rows, &common))
}
