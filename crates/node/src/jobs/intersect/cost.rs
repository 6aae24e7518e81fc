//! Cost of an intersection.

use std::collections::BTreeMap;

use tacita_core::protocol::intersect::buckets::AttemptKind;
use tacita_core::protocol::intersect::tag_exchange::ReturnedRows;
use tacita_core::{Result, Role};

use crate::agreement::cost::{CLOSE_BYTES, Calibration, Cost, RoleCost};
use crate::agreement::{Chosen, JobSpec, Protocol, Sizes};
use crate::jobs::intersect::{self, any, disk, methods};
use crate::jobs::on_disk::{SORTED_ROW, sorted_bytes};

/// Computes the cost of the protocol for both parties, memory aside.
pub(crate) fn intersection_cost(
    chosen: &Chosen,
    job: &JobSpec,
    sizes: &BTreeMap<String, Sizes>,
    calibration: &Calibration,
) -> Result<Cost> {
    let receiver = job.receiver();
    let sender = job.peer_of(receiver);
    let (receiver_sizes, sender_sizes) = (&sizes[receiver], &sizes[sender]);
    if !receiver_sizes.any.is_empty() {
        let mut all = Cost::default();
        for (one, asked, sent) in any::split(job, receiver_sizes, sender_sizes) {
            let sizes = [(receiver, asked), (sender, sent)].map(|(name, sizes)| (name.to_owned(), sizes.clone()));
            all = all.and(intersection_cost(chosen, &one, &BTreeMap::from(sizes), calibration)?);
        }
        // The job ends once.
        let ends = job.alternatives().len().saturating_sub(1) as u64 * CLOSE_BYTES;
        all.roles.values_mut().for_each(|role| role.bytes -= ends);
        return Ok(all);
    }
    if disk::is_bucketed(receiver_sizes, sender_sizes) {
        return cost_of_buckets(chosen.protocol, job, sizes, calibration);
    }
    let params = intersect::params(job, receiver, receiver_sizes, sender_sizes);
    let returned = ReturnedRows {
        items: receiver_sizes.items.min(sender_sizes.items) as usize,
        rows: receiver_sizes.entries.min(u64::from(u32::MAX)) as usize,
    };
    let cost = methods::chosen(chosen.protocol)?.cost(job, params, returned, calibration)?;
    let roles = BTreeMap::from([(receiver.to_owned(), cost.receiver), (sender.to_owned(), cost.sender)]);
    Ok(Cost { roles, rounds: cost.rounds, ..Cost::default() })
}

/// Computes the cost of a run on disk, including sorting and hashing.
fn cost_of_buckets(
    protocol: Protocol,
    job: &JobSpec,
    sizes: &BTreeMap<String, Sizes>,
    calibration: &Calibration,
) -> Result<Cost> {
    let receiver = job.receiver();
    let sender = job.peer_of(receiver);
    let params = disk::params(job, receiver, protocol, &sizes[receiver], &sizes[sender])?;
    let buckets = params.buckets as f64;
    let [asked, sent] = [Role::Receiver, Role::Sender].map(|role| params.bound(role) as f64 * buckets);
    let [of_receiver, of_sender] = disk::bucketed(protocol)?.cpu(job.level, asked, sent, buckets, calibration);
    let role = |name: &str, role, cpu: f64| -> Result<(String, RoleCost)> {
        let sorted = if sizes[name].work.is_some() { SORTED_ROW * sizes[name].items as f64 } else { 0.0 };
        let bytes = params.bytes_sent_by(role, AttemptKind::Fresh)?;
        let disk = sizes[name].work.as_ref().map(|_| sorted_bytes(sizes[name].items, job.learns(name)));
        Ok((name.to_owned(), RoleCost { cpu: cpu + sorted, bytes, disk }))
    };
    let roles = [role(receiver, Role::Receiver, of_receiver)?, role(sender, Role::Sender, of_sender)?];
    let rounds = params.rounds(AttemptKind::Fresh)?;
    Ok(Cost { roles: BTreeMap::from(roles), rounds, buckets: Some(params.buckets), ..Cost::default() })
}
