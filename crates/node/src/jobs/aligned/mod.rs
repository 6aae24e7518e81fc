//! Rows that both parties have, by position or by ids: what scalar products and association rules work on.

pub mod cost;
pub mod learned;

use std::sync::Arc;

use rand_core::CryptoRng;
use tacita_core::channel::Channel;
use tacita_core::session::Transcript;
use tacita_core::{Result, Session};

use crate::agreement::handshake::Agreed;
use crate::agreement::{Chosen, JobSpec};
use crate::jobs::intersect;

/// The own rows that both parties have, in the same order at both; `None` where rows are aligned by position. `ids` is the
/// table with the ids, where they are not.
pub fn align(
    job: &JobSpec,
    me: &str,
    ids: Option<&Arc<intersect::Loaded>>,
    agreed: &Agreed,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<Option<Vec<u32>>> {
    let (Some(alignment), Some(ids), Some(protocol)) = (job.alignment(), ids, agreed.chosen.alignment) else {
        return Ok(None);
    };
    let mut transcript = Transcript::new("alignment");
    transcript.append("session", agreed.session.id());
    let agreed = Agreed {
        session: Session::new(transcript),
        chosen: Chosen::only(protocol),
        own_sizes: agreed.own_sizes.clone(),
        peer_sizes: agreed.peer_sizes.clone(),
    };
    let brought = intersect::Brought::Table(ids.clone());
    intersect::run(&alignment, me, &brought, &agreed, channel, rng)?.rows_of(ids).map(Some)
}
