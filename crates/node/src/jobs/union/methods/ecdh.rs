//! Union by Diffie-Hellman: see `tacita_core::protocol::union::ecdh`; a count, by
//! `tacita_core::protocol::intersect::ecdh::count`.

use std::sync::Arc;

use chacha20::ChaCha20Rng;
use tacita_core::channel::Channel;
use tacita_core::primitive::oprf::Suite;
use tacita_core::protocol::intersect::ecdh::{self as intersect_ecdh, count};
use tacita_core::protocol::intersect::tag_exchange::{self, ReturnedRows};
use tacita_core::protocol::union::{MemorySpace, ShuffledItems, ecdh};
use tacita_core::{Level, Result, Role, Security};
use zeroize::Zeroizing;

use super::{Cost, Found, Method, Pair, Setting};
use crate::agreement::cost::{Calibration, RoleCost};
use crate::agreement::words::bad;
use crate::agreement::{JobSpec, Protocol, Reveal};
use crate::jobs::intersect::methods::ecdh::{PROTOCOL, passes};
use crate::jobs::union::UnionInput;
use crate::jobs::union::disk::Disk;

/// Protocol based on Diffie-Hellman.
pub(in crate::jobs::union) struct Ecdh;

/// Memory of an item of the receiver's, in bytes: itself, and what is made of it in the message at hand.
const RECEIVER_ITEM: u64 = 96;

/// Memory of one of the sender's at the receiver: its tag, as it comes and in order.
const TAG: u64 = 96;

/// Memory in bytes that does not grow with the items.
const FIXED: u64 = 64 << 20;

impl Method for Ecdh {
    fn protocol(&self) -> Protocol {
        PROTOCOL
    }

    fn check(&self, job: &JobSpec) -> Result<()> {
        if job.security == Security::Malicious {
            return bad(
                "security = \"malicious\" is not available for job = \"union\", because a receiver could claim to lack \
                 everything. Use \"semi-honest\"",
            );
        }
        match (job.level, Suite::of(job.level)) {
            (Level::Bits128, _) => Ok(()),
            (_, Some(_)) if job.reveal == Reveal::Count => Ok(()),
            (level, _) => bad(format!(
                "level = \"{level}\" is not available for job = \"union\" with reveal = \"{}\": use \"bits128\"",
                job.reveal
            )),
        }
    }

    fn advantage(&self) -> Option<&'static str> {
        Some("it does this with fewest operations")
    }

    fn cost(&self, sizes: &Pair<'_>, machine: &Calibration) -> Result<Cost> {
        if sizes.job.reveal == Reveal::Count {
            let params = counting(sizes);
            let (asked, sent) = (params.entries.receiver_items as f64, params.entries.sender_entries as f64);
            let [receiver, sender] = passes(sizes.job.level, asked, sent, machine);
            let role = |role, cpu| RoleCost {
                cpu,
                bytes: params.bytes_sent_by(role, ReturnedRows::default()),
                ..RoleCost::default()
            };
            return Ok(Cost {
                receiver: role(Role::Receiver, receiver),
                sender: role(Role::Sender, sender),
                rounds: params.rounds(ReturnedRows::default()),
            });
        }
        let params = sizes.params();
        // Each party works once on every item of both.
        let both = (params.receiver_items + params.sender_items) as f64;
        let transfers = machine.ot_start + params.sender_items as f64 * machine.ot_transfer;
        let cpu = if params.sender_items == 0 { 0.0 } else { machine.ecdh_pass * both + transfers };
        let role = |role| RoleCost { cpu, bytes: params.bytes_sent_by(role), ..RoleCost::default() };
        Ok(Cost { receiver: role(Role::Receiver), sender: role(Role::Sender), rounds: params.rounds() })
    }

    fn memory(&self, sizes: &Pair<'_>, receives: bool) -> Result<u64> {
        let (asked, sent) = (sizes.asks.items, sizes.has.items);
        let payload = if sizes.job.reveal == Reveal::Count { 0 } else { sizes.params().payload_bytes as u64 };
        let each = |items: u64, bytes: u64| items.saturating_mul(bytes);
        let bytes = if receives {
            // What comes is held as it came, as rows, and as rows in order.
            each(asked, RECEIVER_ITEM).saturating_add(each(sent, TAG.saturating_add(4 * payload)))
        } else {
            each(asked, TAG).saturating_add(each(sent, RECEIVER_ITEM))
        };
        Ok(bytes.saturating_add(FIXED))
    }

    fn run(&self, setting: &Setting<'_>, channel: &mut Channel, rng: &mut ChaCha20Rng) -> Result<Found> {
        let (session, sizes) = (setting.session, setting.sizes());
        let item_key = session.derive("item");
        let loaded = match setting.brought {
            UnionInput::Table(loaded) => loaded,
            UnionInput::Disk(disk) => return run_on_disk(disk, &item_key, setting, channel, rng),
        };
        let items = loaded.items(&item_key);
        if setting.job.reveal == Reveal::Count {
            let params = counting(&sizes);
            let all = sizes.asks.items + sizes.has.items;
            let together = |common: usize| Found::Count(all - common as u64);
            return if setting.receives() {
                count::receive(&items, session, &params, channel, rng).map(together)
            } else {
                Ok(count::send(&items, session, &params, channel, rng)?.map_or(Found::Nothing, together))
            };
        }
        let params = sizes.params();
        if setting.receives() {
            let mut payloads = Zeroizing::new(Vec::new());
            let mut take = |payload: &[u8]| {
                payloads.extend_from_slice(payload);
                Ok(())
            };
            ecdh::receive(&items[..], &MemorySpace, session, &params, channel, rng, &mut take)?;
            return Ok(Found::Payloads(loaded.clone(), payloads));
        }
        let giver = loaded.giver(setting.job, setting.me)?;
        let payload = |key: usize, out: &mut Vec<u8>| giver.give(key, out);
        let given = ShuffledItems::new(&items, &payload, rng)?;
        ecdh::send(&given, &MemorySpace, session, &params, channel, rng)?;
        Ok(Found::Nothing)
    }
}

/// A run of a party whose table is on disk. The receiver writes as much for an item that it has as for one that it
/// lacks.
fn run_on_disk(
    disk: &Arc<Disk>,
    item_key: &[u8; 32],
    setting: &Setting<'_>,
    channel: &mut Channel,
    rng: &mut ChaCha20Rng,
) -> Result<Found> {
    let params = setting.sizes().params();
    if !setting.receives() {
        let given = disk.given(item_key, params.payload_bytes, channel.progress(), rng)?;
        ecdh::send(&given, &disk.room(0), setting.session, &params, channel, rng)?;
        return disk.forget_given().map(|()| Found::Nothing);
    }
    let items = disk.items(item_key)?;
    let mut received = disk.receive(params.payload_bytes)?;
    let mut each = |has: bool, payload: &[u8]| received.add(&[&[u8::from(!has)], payload]);
    let room = disk.room(params.sender_items);
    ecdh::receive_each(&items, &room, setting.session, &params, channel, rng, &mut each)?;
    disk.received(received, PROTOCOL, &setting.agreed.peer_sizes)?;
    Ok(Found::OnDisk(disk.clone()))
}

/// Returns the parameters that both parties derive from terms and sizes, if only a number is revealed.
fn counting(sizes: &Pair<'_>) -> intersect_ecdh::Params {
    let params = tag_exchange::Params::count(sizes.asks.items as usize, sizes.has.items as usize);
    let entries = if sizes.job.reveal_to.len() < 2 { params } else { params.to_both() };
    intersect_ecdh::Params::new(entries, Suite::of(sizes.job.level).unwrap_or(Suite::Ristretto255))
}
