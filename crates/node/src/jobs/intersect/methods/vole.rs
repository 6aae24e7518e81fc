//! Intersection by vector oblivious linear evaluation: see `tacita_core::protocol::intersect::vole`.

use chacha20::ChaCha20Rng;
use tacita_core::channel::Channel;
use tacita_core::protocol::intersect::buckets;
use tacita_core::protocol::intersect::tag_exchange::{Params, ReturnedRows};
use tacita_core::protocol::intersect::vole::{self, payload, rows};
use tacita_core::{Error, Level, Result, Role};

use super::{Bucketed, IntersectCost, IntersectPairMethod, MethodContext};
use crate::agreement::cost::{Calibration, RoleCost};
use crate::agreement::words::bad;
use crate::agreement::{JobSpec, Protocol, Reveal};
use crate::jobs::intersect::found::IntersectResult;
use crate::jobs::intersect::memory;

/// The word for it.
pub const PROTOCOL: Protocol = Protocol::named("vole");

/// Protocol based on vector oblivious linear evaluation.
pub struct Vole;

/// Shares of [`Calibration::vole_item`], measured with a profiler: the receiver's work, the sender's for a
/// receiver's item, and the sender's for its own item.
const SHARES: [f64; 3] = [0.6, 0.25, 0.15];

/// Memory of the receiver for each of its items, and of the sender for each of the receiver's and of its own, measured
/// and rounded up: items, store, correlation, and what the correlation is made of.
const RECEIVER_BYTES: u64 = 260;
const SENDER_BYTES: u64 = 130;
const SENDER_ENTRY_BYTES: u64 = 100;

/// Bytes that the receiver sends for each of its items, rounded up: its share of the masked store.
const MASKED_BYTES: u64 = 22;

impl IntersectPairMethod for Vole {
    fn protocol(&self) -> Protocol {
        PROTOCOL
    }

    fn check(&self, job: &JobSpec) -> Result<()> {
        match job.reveal {
            Reveal::Count | Reveal::Sum(_) => bad(format!(
                "protocol = \"vole\" reveals which keys are common: for reveal = \"{}\" use \"ecdh\" or \"auto\"",
                job.reveal.kind()
            )),
            _ => job.check_level(),
        }
    }

    fn advantage(&self) -> Option<&'static str> {
        Some("the fastest for sets of this size; its start pays off")
    }

    fn in_buckets(&self) -> Option<&dyn Bucketed> {
        Some(self)
    }

    fn cost(
        &self,
        job: &JobSpec,
        params: Params,
        returned: ReturnedRows,
        machine: &Calibration,
    ) -> Result<IntersectCost> {
        let [receiver, sender] =
            self.cpu(job.level, params.receiver_items as f64, params.sender_entries as f64, 1.0, machine);
        let params = vole::Params::new(params, job.security)?;
        let role = |role, cpu| -> Result<RoleCost> {
            Ok(RoleCost { cpu, bytes: params.bytes_sent_by(role, returned)?, ..RoleCost::default() })
        };
        Ok(IntersectCost {
            receiver: role(Role::Receiver, receiver)?,
            sender: role(Role::Sender, sender)?,
            rounds: params.rounds(returned),
        })
    }

    fn memory(&self, job: &JobSpec, receives: bool, _items: u64, params: Params) -> Result<u64> {
        let params = vole::Params::new(params, job.security)?.entries;
        Ok(memory::of_entries(job, receives, &params, more(receives, &params)))
    }

    fn run(&self, run: MethodContext<'_>, channel: &mut Channel, rng: &mut ChaCha20Rng) -> Result<IntersectResult> {
        let (items, session) = (&run.items[..], &run.agreed.session);
        let params = &vole::Params::new(run.params, run.job.security)?;
        match (&run.job.reveal, run.receives()) {
            (Reveal::Rows, true) => Ok(run.rows(rows::receive(items, session, params, channel, rng)?)),
            (Reveal::Rows, false) => {
                let common = rows::send(items, session, params, channel, rng)?;
                Ok(common.map_or(IntersectResult::Nothing, |common| run.rows(common)))
            }
            (Reveal::Payload, true) => {
                run.payload(payload::receive(items, run.loaded.given_rows(), session, params, channel, rng)?)
            }
            (Reveal::Payload, false) => {
                let rows = run.loaded.rows_to_send(items.len())?;
                run.returned_payload(payload::send(items, &rows, session, params, channel, rng)?)
            }
            (reveal, _) => Err(Error::Internal(format!("vole reveals no {reveal}"))),
        }
    }

    fn run_each(
        &self,
        runs: &[MethodContext<'_>],
        channel: &mut Channel,
        rng: &mut ChaCha20Rng,
    ) -> Result<Vec<IntersectResult>> {
        let params = runs.iter().map(|run| vole::Params::new(run.params, run.job.security));
        let params = params.collect::<Result<Vec<_>>>()?;
        let input = |(run, params)| {
            let run: &MethodContext<'_> = run;
            vole::VoleInput { items: &run.items, session: &run.agreed.session, params }
        };
        let inputs: Vec<_> = runs.iter().zip(&params).map(input).collect();
        let first = runs.first().ok_or_else(|| Error::Internal("no key".into()))?;
        match (&first.job.reveal, first.receives()) {
            (Reveal::Rows, true) => {
                let common = rows::receive_each(&inputs, channel, rng)?;
                Ok(runs.iter().zip(common).map(|(run, common)| run.rows(common)).collect())
            }
            (Reveal::Payload, true) => {
                let common = payload::receive_each(&inputs, channel, rng)?;
                runs.iter().zip(common).map(|(run, common)| run.payload(common)).collect()
            }
            (Reveal::Rows, false) => {
                rows::send_each(&inputs, channel, rng)?;
                channel.conclude()?;
                Ok(runs.iter().map(|_| IntersectResult::Nothing).collect())
            }
            (Reveal::Payload, false) => {
                let given = runs.iter().map(|run| run.loaded.rows_to_send(run.items.len()));
                let given = given.collect::<Result<Vec<_>>>()?;
                let inputs: Vec<_> = inputs.into_iter().zip(given.iter().map(|rows| &**rows)).collect();
                payload::send_each(&inputs, channel, rng)?;
                channel.conclude()?;
                Ok(runs.iter().map(|_| IntersectResult::Nothing).collect())
            }
            (reveal, _) => Err(Error::Internal(format!("vole reveals no {reveal}"))),
        }
    }
}

impl Bucketed for Vole {
    fn protocol(&self, _level: Level) -> buckets::BucketProtocol {
        buckets::BucketProtocol::Vole
    }

    fn cpu(&self, _level: Level, asked: f64, sent: f64, buckets: f64, machine: &Calibration) -> [f64; 2] {
        let [receiver, answer, own] = SHARES.map(|share| share * machine.vole_item);
        let start = machine.vole_start * buckets;
        [start + receiver * asked, start + answer * asked + own * sent]
    }

    fn memory(&self, receives: bool, params: &Params) -> u64 {
        memory::of_items(receives, params).saturating_add(more(receives, params))
    }

    fn received(&self, _level: Level, receives: bool, params: &Params) -> u64 {
        let (asked, sent) = (params.receiver_items as u64, params.sender_entries as u64);
        if receives { memory::of_tags(params) } else { asked.saturating_mul(MASKED_BYTES).saturating_add(sent / 8) }
    }
}

/// CPU seconds of a party in two functions, one with the key of each party: each gets the other's at its own items, and
/// evaluates its own there.
pub(in crate::jobs) fn cpu_of_both(own: f64, theirs: f64, machine: &Calibration) -> f64 {
    let [receiver, answer, entry] = SHARES;
    2.0 * machine.vole_start + machine.vole_item * ((receiver + entry) * own + answer * theirs)
}

/// Returns the memory that the protocol holds besides what all protocols do.
fn more(receives: bool, params: &Params) -> u64 {
    let (asked, sent) = (params.receiver_items as u64, params.sender_entries as u64);
    if receives {
        asked.saturating_mul(RECEIVER_BYTES)
    } else {
        asked.saturating_mul(SENDER_BYTES).saturating_add(sent.saturating_mul(SENDER_ENTRY_BYTES))
    }
}
