//! Union by a product of encrypted polynomials, as it was published: see
//! `tacita_core::protocol::published::union::polynomial`.

use chacha20::ChaCha20Rng;
use tacita_core::channel::Channel;
use tacita_core::protocol::published::intersect::polynomial::{Curve, Strategy};
use tacita_core::protocol::published::union::polynomial::{self, Params};
use tacita_core::{Error, Result, Role, Security};

use super::super::{Cost, Found, Method, Pair, Setting};
use crate::agreement::cost::{Calibration, RoleCost};
use crate::agreement::words::bad;
use crate::agreement::{JobSpec, Protocol, Reveal};
use crate::jobs::intersect::methods::published::polynomial::{MULTIPLICATION, patience, way};
use crate::jobs::polynomials::POLYNOMIAL;
use crate::jobs::union::{Union, load};

/// The protocol. It tells which keys both have, to whom can guess them.
pub(in crate::jobs::union) struct Polynomial;

impl Method for Polynomial {
    fn protocol(&self) -> Protocol {
        POLYNOMIAL
    }

    fn check(&self, job: &JobSpec) -> Result<()> {
        if job.security == Security::Malicious {
            return bad("security = \"malicious\" is not available for job = \"union\": use \"semi-honest\"");
        }
        if job.reveal == Reveal::Count {
            return bad(
                "protocol = \"polynomial\" counts nothing in a union: for reveal = \"count\" use \"ecdh\" or \"auto\"",
            );
        }
        if job.reveal_to.len() > 1 {
            return bad(
                "protocol = \"polynomial\" reveals the result to one party only: name one in reveal_to, or use another protocol",
            );
        }
        let strategy = Union::of(job).polynomials().strategy().unwrap_or(Strategy::Points);
        match Curve::of(job.level, strategy) {
            Some(_) => Ok(()),
            None => bad(format!(
                "level = \"{}\" is not available with protocol = \"polynomial\" and strategy = \"{strategy}\": use \"bits128\"",
                job.level
            )),
        }
    }

    fn advantage(&self) -> Option<&'static str> {
        None
    }

    fn way(&self, sizes: &Pair<'_>) -> Result<Option<String>> {
        Ok(Some(way(params(sizes)?.polynomials())))
    }

    fn cost(&self, sizes: &Pair<'_>, machine: &Calibration) -> Result<Cost> {
        let params = params(sizes)?;
        let work = params.cost(assumed_candidates(sizes));
        let role = |role, multiplications: f64| RoleCost {
            cpu: multiplications * MULTIPLICATION * machine.single_pass,
            bytes: params.bytes_sent_by(role),
            ..RoleCost::default()
        };
        Ok(Cost {
            receiver: role(Role::Receiver, work.receiver),
            sender: role(Role::Sender, work.sender),
            rounds: params.rounds(),
        })
    }

    fn memory(&self, sizes: &Pair<'_>, receives: bool) -> Result<u64> {
        let role = if receives { Role::Receiver } else { Role::Sender };
        Ok(params(sizes)?.memory(role, assumed_candidates(sizes)))
    }

    fn learned(&self, job: &JobSpec, party: &str, learned: &mut Vec<String>) {
        let peer = job.peer_of(party);
        if job.learns(party) {
            learned.push(format!(
                "{party} can test every key that it can guess for being {peer}'s, its own among them, now and later, from what it gets."
            ));
            learned.push(format!("{party} can so learn which keys both have: this protocol does not hide them."));
        } else {
            learned.push(format!("{peer} can test every key that it can guess for being {party}'s."));
            learned.push(format!("{party} can learn from the time about how many keys {peer} tries."));
        }
    }

    fn run(&self, setting: &Setting<'_>, channel: &mut Channel, rng: &mut ChaCha20Rng) -> Result<Found> {
        let loaded = setting.brought.table()?;
        let params = params(&setting.sizes())?;
        let item_key = setting.session.derive("item");
        let items = loaded.items(&item_key);
        tracing::info!("{}", way(params.polynomials()));
        if !setting.receives() {
            channel.set_patience(patience(params.cost(0).work()));
            return polynomial::send(&items, &params, channel, rng).map(|()| Found::Nothing);
        }
        let candidates = loaded.candidates().ok_or_else(|| Error::Internal("no keys are there to be tried".into()))?;
        let candidates = load::items(&candidates.1, &item_key);
        channel.set_patience(patience(params.cost(candidates.len()).work()));
        let found = polynomial::receive(&items, &candidates, &params, channel, rng)?;
        Ok(Found::Candidates(loaded.clone(), found))
    }
}

/// Returns the assumed number of keys to be tried, if it is unknown: as many as the receiver has.
fn assumed_candidates(sizes: &Pair<'_>) -> usize {
    sizes.asks.items as usize
}

/// Returns the parameters that both parties derive from terms and sizes.
fn params(sizes: &Pair<'_>) -> Result<Params> {
    Params::new(sizes.wanted(), sizes.asks.items as usize, sizes.has.items as usize)
}
