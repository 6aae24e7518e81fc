//! `polynomial` among three and more parties, as Kissner & Song have it: for comparison. See
//! `tacita_core::protocol::published::intersect::kissner_song`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tacita_core::channel::Channel;
use tacita_core::protocol::published::intersect::kissner_song::{KissnerSongParty, Params, Strategy, run};
use tacita_core::{Error, Result};

use super::polynomial;
use crate::agreement::cost::{Calibration, Cost, RoleCost};
use crate::agreement::words::bad;
use crate::agreement::{
    Ability, Chosen, Disclosure, JobSpec, KnownSizes, PartContext, PartyInput, Protocol, Reveal, RunResult, Sizes,
    Source, Topology,
};
use crate::base::text::{count, names};
use crate::jobs::intersect::learned::{counted_in, hint_of_size, limit};
use crate::jobs::intersect::methods::IntersectMethod;
use crate::jobs::intersect::{Intersect, IntersectResult, Loaded, check_peer, hint, in_group, load_table, star};
use crate::jobs::learned::no_common_keys;
use crate::jobs::polynomials::POLYNOMIAL;
use crate::table::RowCounts;

/// Bytes of an element in memory, and besides.
const POINT_BYTES: u64 = 200;
const FIXED_BYTES: u64 = 32 << 20;

/// The most keys of a party where the job says nothing of how many there may be. All fill up to the largest set, and
/// work grows with its square: it takes about three hours for as many keys as this, and a month of one core for 50
/// times as many. Where `limits.max_rows` or `limits.pad_to` are agreed on, all have agreed on that work.
const MAX_UNAGREED_KEYS: u64 = 20_000;

/// Row of the protocol in the table of methods.
pub struct KissnerSong;

impl IntersectMethod for KissnerSong {
    fn protocol(&self) -> Protocol {
        POLYNOMIAL
    }

    fn topology(&self) -> Topology<'static> {
        Topology::Mesh
    }

    fn is_for(&self, parties: usize) -> bool {
        parties > 2
    }

    fn check(&self, job: &JobSpec) -> Result<()> {
        let among = format!("with protocol = \"polynomial\" among {} parties", job.parties.0.len());
        if job.reveal != Reveal::Rows {
            return bad(format!("reveal = \"{}\" is not available {among}: use \"rows\"", job.reveal.kind()));
        }
        star::check_several(job, &among)?;
        let polynomials = Intersect::of(job).polynomials();
        if polynomials.bins.is_some() {
            return bad(format!("bins is not available {among}, where one polynomial holds all keys: leave it out"));
        }
        match polynomials.strategy() {
            Some(Strategy::Fft) => {
                bad(format!("strategy = \"fft\" is not available {among}: use \"points\" or \"toom3\""))
            }
            _ => Ok(()),
        }
    }

    fn check_work(&self, _job: &JobSpec, what: Ability) -> Result<()> {
        if what == Ability::Disk {
            return bad("--work: polynomials among several keep their tables in memory: leave it out");
        }
        star::refuse_prepared()
    }

    fn is_spread(&self) -> bool {
        false
    }

    fn terms(&self, own: &Intersect) -> Vec<(&'static str, Value)> {
        own.polynomials().terms().into()
    }

    fn memory(&self, job: &JobSpec, _me: &str, _chosen: &Chosen, sizes: &BTreeMap<String, Sizes>) -> Result<u64> {
        let params = params(job, sizes)?;
        let ciphertexts = (params.parties as u64 + 4).saturating_mul(2 * params.bound as u64 + 1);
        Ok(ciphertexts.saturating_mul(2 * POINT_BYTES).saturating_add(FIXED_BYTES))
    }

    fn cost(
        &self,
        job: &JobSpec,
        _chosen: &Chosen,
        sizes: &BTreeMap<String, Sizes>,
        machine: &Calibration,
    ) -> Result<Cost> {
        let params = params(job, sizes)?;
        let cpu = machine.ecdh_pass * work(&params);
        let role = |(from, name): (usize, &str)| {
            let others = (0..params.parties).filter(|to| *to != from);
            let bytes = in_group!(job.level, group => others.map(|to| params.bytes_sent_by(group, from, to)).sum());
            (name.to_owned(), RoleCost { cpu, bytes, ..RoleCost::default() })
        };
        let roles = job.parties.names().into_iter().enumerate().map(role).collect();
        Ok(Cost { roles, rounds: params.rounds(), ..Cost::default() })
    }

    fn learned(&self, job: &JobSpec, party: &str, known: KnownSizes<'_>) -> Vec<String> {
        learned(job, party, known)
    }

    fn at_a_glance(&self, job: &JobSpec) -> Vec<Disclosure> {
        star::at_a_glance(job)
    }

    fn load(&self, job: &JobSpec, me: &str, source: &Source) -> Result<Box<dyn PartyInput>> {
        Ok(Box::new(Several::load(job, me, source)?))
    }
}

/// Returns the parameters that all derive from terms and sizes. All pad to the number of keys in the largest set.
fn params(job: &JobSpec, sizes: &BTreeMap<String, Sizes>) -> Result<Params> {
    let bound = sizes.values().map(|sizes| sizes.items).max().unwrap_or_default() as usize;
    let mut learners = job.reveal_to.iter().map(|name| job.parties.place(name)).collect::<Result<Vec<_>>>()?;
    learners.sort_unstable();
    let params = Params::new(job.parties.0.len(), bound, learners)?;
    Ok(Params { strategy: Intersect::of(job).polynomials().strategy().unwrap_or(Strategy::Points), ..params })
}

/// Refuses a set that would have all work for days, unless all have agreed on how large sets may be.
fn check_work(job: &JobSpec, whose: &str, keys: u64) -> std::result::Result<(), String> {
    let is_agreed = job.limits.max_rows.is_some() || job.limits.pad_to.is_some();
    if is_agreed || keys <= MAX_UNAGREED_KEYS {
        return Ok(());
    }
    Err(format!(
        "{whose} {} keys, and protocol = \"polynomial\" among several takes time with the square of the largest set: for more \
         than {}, agree on limits.max_rows or limits.pad_to, or use the default protocol",
        count(keys),
        count(MAX_UNAGREED_KEYS)
    ))
}

/// Multiplications of a party, about: in passes of `ecdh`, as measured on ristretto255.
fn work(params: &Params) -> f64 {
    let (keys, others) = (params.bound as f64, (params.parties - 1) as f64);
    let products = match params.strategy {
        Strategy::Points => 0.0,
        Strategy::Schoolbook => 0.4 * keys * keys,
        Strategy::Karatsuba => 1.5 * keys.powf(1.585),
        Strategy::Toom3 | Strategy::Fft => 2.0 * keys.powf(1.465),
    };
    others * (10.0 * keys + products) + 0.4 * keys * keys
}

/// Returns what `party` learns, given what is known.
fn learned(job: &JobSpec, party: &str, known: KnownSizes<'_>) -> Vec<String> {
    let others = job.others(party);
    let (all, things) = (names(&others), counted_in(job, "distinct keys"));
    let mut learned = Vec::new();
    if job.learns(party) {
        learned.extend(star::own_rows(job, party));
        limit(job, party, &mut learned);
        learned.push(format!("{party} does not learn who has a key of its own that not all have, nor how many do."));
    } else {
        learned.extend(no_common_keys(party, "all have", ""));
        learned.push(format!("{party} does not learn who else has a key of its own, nor how many do."));
    }
    match job.limits.pad_to {
        Some(bound) => {
            learned.push(format!(
                "{party} does not learn how many {things} {all} each have, but for what the result says. All sets are padded to {}.",
                count(bound)
            ));
            learned.push(hint_of_size(party, "a party"));
        }
        None => {
            let of = |name: &&str| match known.all.and_then(|all| all.get(*name)) {
                Some(sizes) => format!("{name} has ({})", count(sizes.items)),
                None => format!("{name} has"),
            };
            let each: Vec<_> = others.iter().map(of).collect();
            let each: Vec<_> = each.iter().map(String::as_str).collect();
            learned.push(format!("{party} learns how many {things} {}.", names(&each)));
        }
    }
    learned.push(format!(
        "{party} learns which version {all} run, and by which kinds of profiles they normalise their keys."
    ));
    learned.push(format!(
        "{party} and some of the others, not all, learn no more than the learners among them, which keys all have, if they pool what \
         they see."
    ));
    learned.push(format!("{party} learns nothing else about the data of {all}, as long as all follow the protocol."));
    learned
}

/// Input that a party brings.
struct Several(Arc<Loaded>);

impl Several {
    /// Reads and normalises a party's data.
    fn load(job: &JobSpec, me: &str, source: &Source) -> Result<Several> {
        let loaded = load_table(job, me, source)?;
        check_work(job, &format!("{me} has"), loaded.sizes().items).map_err(Error::Input)?;
        Ok(Several(loaded))
    }
}

impl PartyInput for Several {
    fn sizes(&self) -> Sizes {
        self.0.sizes().clone()
    }

    fn rows(&self) -> RowCounts {
        self.0.keys().counts()
    }

    fn check_peer(&self, job: &JobSpec, theirs: &Sizes, channel: &Channel) -> Result<()> {
        check_peer(job, self.0.sizes(), theirs, channel)?;
        check_work(job, "it claims", theirs.items).map_err(|check| channel.violation(check))
    }

    fn run(&mut self, run_of: PartContext<'_>) -> Result<RunResult> {
        let PartContext { job, me, rng, peers, .. } = run_of;
        let ((agreed, channels), loaded) = (peers.mesh()?, &self.0);
        let params = params(job, &agreed.sizes)?;
        // The others wait for each other, whom this party does not see.
        let patience = polynomial::patience(work(&params) * params.parties as f64);
        channels.iter_mut().for_each(|channel| channel.allow_longer(patience.max(Duration::from_secs(60))));
        let items = loaded.items(&agreed.session.derive("item"));
        let place = job.parties.position(me).unwrap_or_default();
        let party = KissnerSongParty { me: place, items: &items, params: &params, session: &agreed.session };
        let common = in_group!(job.level, group => run(group, party, channels, rng))?;
        if common.as_ref().is_some_and(Vec::is_empty) && !loaded.keys().is_empty() {
            hint::warn_of_nothing(job, me, loaded);
        }
        let learned = learned(job, me, KnownSizes { all: Some(&agreed.sizes), ..KnownSizes::default() });
        let found = common.map_or(IntersectResult::Nothing, |common| IntersectResult::Rows(loaded.clone(), common));
        Ok(found.result(job, me, POLYNOMIAL, learned))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A month of work is refused before anything is computed, unless all have agreed on sets of that size.
    #[test]
    fn a_claim_of_too_much_work_is_refused() {
        let job = |limits: &str| {
            let text = format!(
                "job = \"intersect\"\nid = \"t\"\nprotocol = \"polynomial\"\nreveal = \"rows\"\nreveal_to = [\"a\"]\n[key]\ncolumns = [\"x\"]\n\
                 {limits}\n[parties.a]\n[parties.b]\n[parties.c]\n"
            );
            JobSpec::parse(&text, false).unwrap()
        };
        assert!(check_work(&job(""), "it claims", MAX_UNAGREED_KEYS).is_ok());
        let told = check_work(&job(""), "it claims", 1_000_000).unwrap_err();
        for words in ["it claims 1,000,000 keys", "limits.max_rows", "limits.pad_to", "20,000"] {
            assert!(told.contains(words), "{told}");
        }
        for limits in ["[limits]\nmax_rows = 1000000", "[limits]\npad_to = 1000000"] {
            assert!(check_work(&job(limits), "it claims", 1_000_000).is_ok());
        }
    }
}
