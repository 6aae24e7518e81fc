//! Intersection by Diffie-Hellman: see `tacita_core::protocol::intersect::ecdh`.

use chacha20::ChaCha20Rng;
use tacita_core::channel::Channel;
use tacita_core::primitive::oprf::Suite;
use tacita_core::primitive::paillier::KeySize;
use tacita_core::protocol::intersect::buckets;
use tacita_core::protocol::intersect::ecdh::{Params, TagDomain, count, payload, rows, sum};
use tacita_core::protocol::intersect::tag_exchange::{self, CHUNK, ReceiverReveal, ReturnedRows};
use tacita_core::{Error, Level, Result, Role, Security};

use super::{Bucketed, IntersectCost, IntersectPairMethod, MethodContext};
use crate::agreement::cost::{Calibration, P384_PASSES, RoleCost};
use crate::agreement::words::bad;
use crate::agreement::{JobSpec, Protocol, Reveal};
use crate::jobs::intersect::found::IntersectResult;
use crate::jobs::intersect::memory;
use crate::jobs::paillier::OperationSeconds;

/// The word for it.
pub const PROTOCOL: Protocol = Protocol::named("ecdh");

/// Protocol based on Diffie-Hellman.
pub struct Ecdh;

impl IntersectPairMethod for Ecdh {
    fn protocol(&self) -> Protocol {
        PROTOCOL
    }

    fn check(&self, job: &JobSpec) -> Result<()> {
        match (job.security, Suite::of(job.level)) {
            (Security::SemiHonest, Some(_)) => Ok(()),
            (Security::SemiHonest, None) => bad(format!(
                "level = \"{}\" is not available with protocol = \"ecdh\": use \"bits128\", \"bits192\" or \"bits256\"",
                job.level
            )),
            (Security::Malicious, _) => {
                bad("security = \"malicious\" is not available with protocol = \"ecdh\": use \"vole\" or \"auto\"")
            }
        }
    }

    fn advantage(&self) -> Option<&'static str> {
        Some("fewest rounds and bytes for sets so small")
    }

    fn uses_prepared(&self) -> bool {
        true
    }

    fn in_buckets(&self) -> Option<&dyn Bucketed> {
        Some(self)
    }

    fn cost(
        &self,
        job: &JobSpec,
        params: tag_exchange::Params,
        returned: ReturnedRows,
        machine: &Calibration,
    ) -> Result<IntersectCost> {
        let (asked, sent) = (params.receiver_items as f64, params.sender_entries as f64);
        let [mut receiver, mut sender] = passes(job.level, asked, sent, machine);
        if let Reveal::Sum(_) = job.reveal {
            let seconds = OperationSeconds::of(KeySize::of(job.level), Some(machine));
            let lists = params.sender_entries.div_ceil(CHUNK) as f64;
            receiver += seconds.read(sent, lists) + seconds.multiply * sent + seconds.rerandomize;
            sender += seconds.key + seconds.encrypt * sent + seconds.decrypt;
        }
        let params = self::params(params, job.level);
        let role = |role, cpu| RoleCost { cpu, bytes: params.bytes_sent_by(role, returned), ..RoleCost::default() };
        Ok(IntersectCost {
            receiver: role(Role::Receiver, receiver),
            sender: role(Role::Sender, sender),
            rounds: params.rounds(returned),
        })
    }

    fn memory(&self, job: &JobSpec, receives: bool, _items: u64, params: tag_exchange::Params) -> Result<u64> {
        let more = match params.reveal {
            // The receiver's elements, as they came, and as they go back.
            ReceiverReveal::Count | ReceiverReveal::Sum { .. } if !receives => {
                (params.receiver_items as u64).saturating_mul(2 * suite(job.level).element_bytes() as u64)
            }
            _ => 0,
        };
        Ok(memory::of_entries(job, receives, &params, more))
    }

    fn run(&self, run: MethodContext<'_>, channel: &mut Channel, rng: &mut ChaCha20Rng) -> Result<IntersectResult> {
        let (items, session) = (&run.items[..], &run.agreed.session);
        let params = &params(run.params, run.job.level);
        let domain = run.epoch.map_or_else(|| TagDomain::of_session(session), |epoch| TagDomain::of_epoch(&epoch));
        match (&run.job.reveal, run.receives()) {
            (Reveal::Rows, true) => Ok(run.rows(rows::receive(items, &domain, params, channel, rng)?)),
            (Reveal::Rows, false) => {
                let common = rows::send(items, &domain, params, channel, rng)?;
                Ok(common.map_or(IntersectResult::Nothing, |common| run.rows(common)))
            }
            (Reveal::Count, true) => {
                Ok(IntersectResult::Count(count::receive(items, session, params, channel, rng)? as u64))
            }
            (Reveal::Count, false) => {
                let count = count::send(items, session, params, channel, rng)?;
                Ok(count.map_or(IntersectResult::Nothing, |count| IntersectResult::Count(count as u64)))
            }
            (Reveal::Sum(_), true) => Ok(IntersectResult::Sum(sum::receive(items, session, params, channel, rng)?)),
            (Reveal::Sum(_), false) => {
                let total = sum::send(items, run.loaded.numbers_to_send()?, session, params, channel, rng)?;
                Ok(total.map_or(IntersectResult::Nothing, IntersectResult::Sum))
            }
            (Reveal::Payload, true) => {
                run.payload(payload::receive(items, run.loaded.given_rows(), &domain, params, channel, rng)?)
            }
            (Reveal::Payload, false) => {
                let rows = run.loaded.rows_to_send(items.len())?;
                run.returned_payload(payload::send(items, &rows, &domain, params, channel, rng)?)
            }
            (reveal, _) => Err(Error::Internal(format!("ecdh reveals no {reveal}"))),
        }
    }
}

impl Bucketed for Ecdh {
    fn protocol(&self, level: Level) -> buckets::BucketProtocol {
        buckets::BucketProtocol::Ecdh(suite(level))
    }

    fn cpu(&self, level: Level, asked: f64, sent: f64, _buckets: f64, machine: &Calibration) -> [f64; 2] {
        passes(level, asked, sent, machine)
    }

    fn memory(&self, receives: bool, params: &tag_exchange::Params) -> u64 {
        memory::of_items(receives, params)
    }

    fn received(&self, level: Level, receives: bool, params: &tag_exchange::Params) -> u64 {
        let (asked, sent) = (params.receiver_items as u64, params.sender_entries as u64);
        let elements = asked.saturating_mul(suite(level).element_bytes() as u64);
        elements.saturating_add(if receives { memory::of_tags(params) } else { sent / 8 })
    }
}

/// CPU seconds of receiver and sender: each blinds or evaluates what is asked, then one opens it, the other does its
/// own.
pub(in crate::jobs) fn passes(level: Level, asked: f64, sent: f64, machine: &Calibration) -> [f64; 2] {
    let pass = match suite(level) {
        Suite::Ristretto255 => machine.ecdh_pass,
        suite => machine.single_pass * times_ristretto(suite),
    };
    [2.0 * asked, asked + sent].map(|passes| pass * passes)
}

/// The parameters of a run at a level.
pub(in crate::jobs::intersect) fn params(entries: tag_exchange::Params, level: Level) -> Params {
    Params::new(entries, suite(level))
}

/// The suite of a job that has been checked.
pub(in crate::jobs::intersect) fn suite(level: Level) -> Suite {
    Suite::of(level).unwrap_or(Suite::Ristretto255)
}

/// Returns the factor by which a pass takes longer than in ristretto255, one point after the other, as measured by
/// `intersect_ecdh` with AVX-512.
fn times_ristretto(suite: Suite) -> f64 {
    match suite {
        Suite::Ristretto255 => 1.0,
        Suite::P384 => P384_PASSES,
        Suite::P521 => 29.0,
    }
}
