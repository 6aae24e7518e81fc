//! Union by values of encrypted polynomials: see `tacita_core::protocol::published::union::polynomial_ot`.

use chacha20::ChaCha20Rng;
use tacita_core::channel::Channel;
use tacita_core::protocol::published::union::polynomial_ot::{self, Params};
use tacita_core::protocol::union::ShuffledItems;
use tacita_core::{Result, Role, Security};
use zeroize::Zeroizing;

use super::super::{Cost, Found, Method, Pair, Setting};
use crate::agreement::cost::{Calibration, RoleCost};
use crate::agreement::words::bad;
use crate::agreement::{JobSpec, Protocol, Reveal};
use crate::jobs::intersect::methods::published::polynomial::{MULTIPLICATION, patience, way};
use crate::jobs::polynomials::POLYNOMIAL_OT;

/// The protocol. It costs far more than the one that does the same.
pub(in crate::jobs::union) struct PolynomialOt;

impl Method for PolynomialOt {
    fn protocol(&self) -> Protocol {
        POLYNOMIAL_OT
    }

    fn check(&self, job: &JobSpec) -> Result<()> {
        if job.security == Security::Malicious {
            return bad(
                "security = \"malicious\" is not available for job = \"union\", because a receiver could claim to lack \
                 everything. Use \"semi-honest\"",
            );
        }
        if job.reveal == Reveal::Count {
            return bad("protocol = \"polynomial-ot\" reveals rows: for reveal = \"count\" use \"ecdh\" or \"auto\"");
        }
        job.check_level()
    }

    fn advantage(&self) -> Option<&'static str> {
        None
    }

    fn way(&self, sizes: &Pair<'_>) -> Result<Option<String>> {
        Ok(Some(way(params(sizes)?.polynomials())))
    }

    fn cost(&self, sizes: &Pair<'_>, machine: &Calibration) -> Result<Cost> {
        let params = params(sizes)?;
        let transfers = machine.ot_start + sizes.has.items as f64 * machine.ot_transfer;
        let role = |role, multiplications: f64| RoleCost {
            cpu: multiplications * MULTIPLICATION * machine.single_pass + transfers,
            bytes: params.bytes_sent_by(role),
            ..RoleCost::default()
        };
        let work = params.cost();
        Ok(Cost {
            receiver: role(Role::Receiver, work.receiver),
            sender: role(Role::Sender, work.sender),
            rounds: params.rounds(),
        })
    }

    fn memory(&self, sizes: &Pair<'_>, receives: bool) -> Result<u64> {
        let params = params(sizes)?;
        let given = sizes.has.items.saturating_mul(4 * params.payload_bytes() as u64);
        Ok(if receives { params.memory(Role::Receiver).saturating_add(given) } else { params.memory(Role::Sender) })
    }

    fn run(&self, setting: &Setting<'_>, channel: &mut Channel, rng: &mut ChaCha20Rng) -> Result<Found> {
        let loaded = setting.brought.table()?;
        let params = params(&setting.sizes())?;
        channel.set_patience(patience(params.cost().work()));
        tracing::info!("{}", way(params.polynomials()));
        let items = loaded.items(&setting.session.derive("item"));
        if setting.receives() {
            let mut payloads = Zeroizing::new(Vec::new());
            let mut take = |payload: &[u8]| {
                payloads.extend_from_slice(payload);
                Ok(())
            };
            polynomial_ot::receive(&items, setting.session, &params, channel, rng, &mut take)?;
            return Ok(Found::Payloads(loaded.clone(), payloads));
        }
        let giver = loaded.giver(setting.job, setting.me)?;
        let payload = |key: usize, out: &mut Vec<u8>| giver.give(key, out);
        let given = ShuffledItems::new(&items, &payload, rng)?;
        polynomial_ot::send(&given, setting.session, &params, channel, rng)?;
        Ok(Found::Nothing)
    }
}

/// Returns the parameters that both parties derive from terms and sizes.
fn params(sizes: &Pair<'_>) -> Result<Params> {
    let bytes = sizes.params().payload_bytes;
    Params::new(sizes.wanted(), sizes.asks.items as usize, sizes.has.items as usize, bytes)
}
