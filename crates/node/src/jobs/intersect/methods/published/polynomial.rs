//! Intersection by encrypted polynomials: see `tacita_core::protocol::published::intersect::polynomial`.

use std::time::Duration;

use chacha20::ChaCha20Rng;
use serde_json::Value;
use tacita_core::channel::Channel;
use tacita_core::protocol::intersect::tag_exchange::{self, ReturnedRows};
use tacita_core::protocol::published::intersect::polynomial::{self, Curve, Params, PolynomialRequest, Strategy};
use tacita_core::{Level, Result, Role, Security};

use super::super::{IntersectCost, IntersectPairMethod, MethodContext};
use crate::agreement::cost::{Calibration, RoleCost};
use crate::agreement::words::bad;
use crate::agreement::{JobSpec, Protocol, Reveal};
use crate::base::text::count;
use crate::jobs::intersect::Intersect;
use crate::jobs::intersect::found::IntersectResult;
use crate::jobs::polynomials::POLYNOMIAL;

/// The protocol. It costs far more than others that do the same.
pub struct Polynomial;

/// A multiplication of a point of Pallas, in passes of `ecdh` one point after the other, as measured.
pub(in crate::jobs) const MULTIPLICATION: f64 = 0.6;

/// A multiplication of a point on a slow machine, in seconds: so long a peer may take for each, beside what peers may
/// always take.
const SLOW_MULTIPLICATION: f64 = 200e-6;

/// Minimum time-out for a peer that is busy computing.
const TIMEOUT: Duration = Duration::from_secs(30 * 60);

/// Returns the time-out for a peer that may be busy with so many multiplications.
pub(in crate::jobs) fn patience(work: f64) -> Duration {
    TIMEOUT + Duration::from_secs_f64(work * SLOW_MULTIPLICATION)
}

impl IntersectPairMethod for Polynomial {
    fn protocol(&self) -> Protocol {
        POLYNOMIAL
    }

    fn check(&self, job: &JobSpec) -> Result<()> {
        if job.security == Security::Malicious {
            return bad(
                "security = \"malicious\" is not available with protocol = \"polynomial\": nothing proves that the receiver \
                 sends the polynomial of a set. Use \"vole\" or \"auto\"",
            );
        }
        match job.reveal {
            Reveal::Rows | Reveal::Count => (),
            Reveal::Payload => {
                return bad(
                    "protocol = \"polynomial\" gives no columns: for reveal = \"payload\" use \"vole\" or \"auto\"",
                );
            }
            _ => {
                return bad(format!(
                    "protocol = \"polynomial\" adds nothing up: for reveal = \"{}\" use \"ecdh\" or \"auto\"",
                    job.reveal.kind()
                ));
            }
        }
        if job.reveal_to.len() > 1 {
            return bad(
                "protocol = \"polynomial\" reveals the common keys to one party only: name one in reveal_to, or use another protocol",
            );
        }
        let strategy = Intersect::of(job).polynomials().strategy().unwrap_or(Strategy::Points);
        match Curve::of(job.level, strategy) {
            Some(_) => Ok(()),
            None if Curve::of(job.level, Strategy::Points).is_some() => bad(format!(
                "strategy = \"{strategy}\" needs roots of unity, which level = \"{}\" does not have: use \"bits128\", or another \
                 strategy",
                job.level
            )),
            None => bad(format!(
                "level = \"{}\" is not available with protocol = \"polynomial\": use \"{}\", \"{}\" or \"{}\"",
                job.level,
                Level::Bits128,
                Level::Bits192,
                Level::Bits256
            )),
        }
    }

    fn terms(&self, own: &Intersect) -> Vec<(&'static str, Value)> {
        own.polynomials().terms().into()
    }

    fn advantage(&self) -> Option<&'static str> {
        None
    }

    fn way(&self, job: &JobSpec, params: tag_exchange::Params) -> Result<Option<String>> {
        Ok(Some(way(&polynomials(job, &params)?)))
    }

    fn cost(
        &self,
        job: &JobSpec,
        params: tag_exchange::Params,
        _returned: ReturnedRows,
        machine: &Calibration,
    ) -> Result<IntersectCost> {
        let params = polynomials(job, &params)?;
        let work = params.cost();
        let role = |role, multiplications: f64| RoleCost {
            cpu: multiplications * MULTIPLICATION * machine.single_pass,
            bytes: params.bytes_sent_by(role),
            ..RoleCost::default()
        };
        Ok(IntersectCost {
            receiver: role(Role::Receiver, work.receiver),
            sender: role(Role::Sender, work.sender),
            rounds: params.rounds(),
        })
    }

    fn memory(&self, job: &JobSpec, receives: bool, _items: u64, params: tag_exchange::Params) -> Result<u64> {
        let role = if receives { Role::Receiver } else { Role::Sender };
        Ok(polynomials(job, &params)?.memory(role))
    }

    fn learned(&self, job: &JobSpec, party: &str, learned: &mut Vec<String>) {
        if party != job.receiver() {
            return;
        }
        // Values may be those of no polynomial of the agreed degree; coefficients are always those of one.
        let by_values = Intersect::of(job).polynomials().strategy().is_none_or(|strategy| strategy == Strategy::Points);
        let peer = job.peer_of(party);
        learned.push(match job.reveal {
            Reveal::Rows if by_values => format!(
                "{party} may be able to test any number of keys for being {peer}'s, if it does not follow the protocol. Nothing checks \
                 what it sends."
            ),
            Reveal::Count if by_values => format!(
                "{party} can have any of {peer}'s keys counted, such as all in one bin, if it does not follow the protocol. Nothing \
                 checks what it sends."
            ),
            _ => format!(
                "{party} can ask for other keys than it has, as many as all bins hold, if it does not follow the protocol. Nothing \
                 checks what it sends."
            ),
        });
    }

    fn run(&self, run: MethodContext<'_>, channel: &mut Channel, rng: &mut ChaCha20Rng) -> Result<IntersectResult> {
        let (items, params) = (&run.items[..], polynomials(run.job, &run.params)?);
        channel.set_patience(patience(params.cost().work()));
        tracing::info!("{}", way(&params));
        match (&run.job.reveal, run.receives()) {
            (Reveal::Count, true) => {
                Ok(IntersectResult::Count(polynomial::count::receive(items, &params, channel, rng)? as u64))
            }
            (Reveal::Count, false) => {
                polynomial::count::send(items, &params, channel, rng).map(|()| IntersectResult::Nothing)
            }
            (_, true) => Ok(run.rows(polynomial::rows::receive(items, &params, channel, rng)?)),
            (_, false) => polynomial::rows::send(items, &params, channel, rng).map(|()| IntersectResult::Nothing),
        }
    }
}

/// Describes the variant of a run in a few words.
pub(in crate::jobs) fn way(params: &Params) -> String {
    let [first, second] = [Role::Receiver, Role::Sender].map(|role| count(params.bound(role) as u64));
    match params.bins() {
        1 => format!("polynomials in one bin, by {}", params.strategy()),
        bins => format!("polynomials in {} bins of {first} and {second}, by {}", count(bins as u64), params.strategy()),
    }
}

/// Returns the parameters that both parties derive from terms and sizes.
fn polynomials(job: &JobSpec, sizes: &tag_exchange::Params) -> Result<Params> {
    let reveal = match job.reveal {
        Reveal::Count => polynomial::PolynomialReveal::Count,
        _ => polynomial::PolynomialReveal::Rows,
    };
    let (strategy, bins) = (Intersect::of(job).polynomials().strategy(), Intersect::of(job).polynomials().bins());
    let wanted = PolynomialRequest { level: job.level, reveal, strategy, bins, runs: job.runs_in_all() };
    Params::new(wanted, sizes.receiver_items, sizes.sender_entries)
}
