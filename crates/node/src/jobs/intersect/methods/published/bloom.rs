//! Intersection by oblivious transfers of Bloom filters: see `tacita_core::protocol::published::intersect::bloom`.

use chacha20::ChaCha20Rng;
use tacita_core::channel::Channel;
use tacita_core::protocol::intersect::tag_exchange::{self, ReturnedRows};
use tacita_core::protocol::published::intersect::bloom;
use tacita_core::{Error, Result, Role, Security};

use super::super::{IntersectCost, IntersectPairMethod, MethodContext};
use crate::agreement::cost::{CLOSE_BYTES, Calibration, RoleCost};
use crate::agreement::words::bad;
use crate::agreement::{JobSpec, Protocol, Reveal};
use crate::jobs::intersect::found::IntersectResult;

/// The word for it.
pub const PROTOCOL: Protocol = Protocol::named("bloom");

/// The protocol. It costs ten times as much as others that do the same.
pub struct Bloom;

/// SoftSpoken's k: 4 bytes a slot beside the slot's own 16. With a larger one hardly less would travel.
const EXTENSION: usize = 4;

/// CPU time in seconds that a slot costs each party besides its transfer: hashing, filling and hiding, or looking up.
const RECEIVER_SLOT: f64 = 15e-9;
const SENDER_SLOT: f64 = 20e-9;

/// Memory of a party for each of its items beside the protocol's, in bytes.
const ITEM_BYTES: u64 = 96;

impl IntersectPairMethod for Bloom {
    fn protocol(&self) -> Protocol {
        PROTOCOL
    }

    fn check(&self, job: &JobSpec) -> Result<()> {
        if job.security == Security::Malicious {
            return bad(
                "security = \"malicious\" is not available with protocol = \"bloom\", whose published malicious form was broken: \
                 use \"vole\" or \"auto\"",
            );
        }
        match job.reveal {
            Reveal::Rows => (),
            Reveal::Payload => {
                return bad("protocol = \"bloom\" gives no columns: for reveal = \"payload\" use \"vole\" or \"auto\"");
            }
            _ => {
                return bad(format!(
                    "protocol = \"bloom\" reveals which keys are common: for reveal = \"{}\" use \"ecdh\" or \"auto\"",
                    job.reveal.kind()
                ));
            }
        }
        if job.reveal_to.len() > 1 {
            return bad(
                "protocol = \"bloom\" reveals the common keys to one party only: name one in reveal_to, or use \"vole\" or \
                 \"auto\"",
            );
        }
        match bloom::Strength::of(job.level) {
            Some(_) => Ok(()),
            None => bad(format!(
                "level = \"{}\" is not available with protocol = \"bloom\", whose oblivious transfers have 128 bits: use \
                 \"bits128\"",
                job.level
            )),
        }
    }

    fn advantage(&self) -> Option<&'static str> {
        None
    }

    fn cost(
        &self,
        job: &JobSpec,
        params: tag_exchange::Params,
        _returned: ReturnedRows,
        machine: &Calibration,
    ) -> Result<IntersectCost> {
        let params = filters(job, &params)?;
        let slots = params.slots() as f64;
        let cpu = |slot| if slots > 0.0 { machine.ot_start + slots * (machine.ot_transfer / 2.0 + slot) } else { 0.0 };
        let role = |role, slot| RoleCost {
            cpu: cpu(slot),
            bytes: params.bytes_sent_by(role) + CLOSE_BYTES,
            ..RoleCost::default()
        };
        Ok(IntersectCost {
            receiver: role(Role::Receiver, RECEIVER_SLOT),
            sender: role(Role::Sender, SENDER_SLOT),
            rounds: params.rounds(),
        })
    }

    fn memory(&self, job: &JobSpec, receives: bool, items: u64, params: tag_exchange::Params) -> Result<u64> {
        let params = filters(job, &params)?;
        let kept = if receives { params.memory_of_receiver(items) } else { params.memory_of_sender(items) };
        Ok(kept + items * ITEM_BYTES)
    }

    fn learned(&self, job: &JobSpec, party: &str, learned: &mut Vec<String>) {
        if party == job.receiver() {
            learned.push(format!(
                "{party} can test any number of keys for being {}'s, if it does not follow the protocol: nothing checks what it asks.",
                job.peer_of(party)
            ));
        }
    }

    fn run(&self, run: MethodContext<'_>, channel: &mut Channel, rng: &mut ChaCha20Rng) -> Result<IntersectResult> {
        let (params, session) = (filters(run.job, &run.params)?, &run.agreed.session);
        if run.receives() {
            Ok(run.rows(bloom::receive(&run.items, &params, session, channel, rng)?))
        } else {
            bloom::send(&run.items, &params, session, channel, rng).map(|()| IntersectResult::Nothing)
        }
    }
}

/// Filters for the larger set of `sizes`.
fn filters(job: &JobSpec, sizes: &tag_exchange::Params) -> Result<bloom::Params> {
    match bloom::Strength::of(job.level) {
        Some(strength) => bloom::Params::new(sizes.receiver_items.max(sizes.sender_entries), strength, EXTENSION),
        None => Err(Error::Internal(format!("bloom of level {}", job.level))),
    }
}
