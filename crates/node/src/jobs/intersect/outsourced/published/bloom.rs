//! `outsourced-bloom`: the same as it was published, which gives away more than the intersection. See
//! `tacita_core::protocol::published::intersect::outsourced_bloom`.

use std::collections::BTreeMap;

use chacha20::ChaCha20Rng;
use serde_json::Value;
use tacita_core::depot::Depot;
use tacita_core::primitive::group::Group;
use tacita_core::protocol::intersect::outsourced::meet::{announcement_bytes, meet};
use tacita_core::protocol::published::intersect::outsourced_bloom::{OutsourcedBloomParty, Params, helper, run};
use tacita_core::session::Transcript;
use tacita_core::{Level, Result};

use super::super::super::methods::IntersectMethod;
use super::super::super::{Intersect, Loaded, in_group};
use super::super::cost::memory_of_items;
use super::super::part::BloomInput;
use super::super::{check, helper_learns, learned, refuse_work};
use crate::agreement::cost::{Calibration, Cost, HelperCost, RoleCost};
use crate::agreement::words::bad;
use crate::agreement::{
    Ability, Chosen, Disclosure, JobSpec, KnownSizes, PartyInput, Protocol, Reveal, Sizes, Source, Topology,
};
use crate::transport::depot::DepotClient;

/// The word for it.
pub const PROTOCOL: Protocol = Protocol::named("outsourced-bloom");

/// Leak that limits the use of the protocol.
const LEAK: &str =
    "protocol = \"outsourced-bloom\" tells who learns, of every key that can be guessed, whether all others have it";

/// Row of the protocol in the table of methods.
pub struct OutsourcedBloom;

impl IntersectMethod for OutsourcedBloom {
    fn protocol(&self) -> Protocol {
        PROTOCOL
    }

    fn topology(&self) -> Topology<'static> {
        Topology::Helper
    }

    fn is_for(&self, _parties: usize) -> bool {
        true
    }

    fn check(&self, job: &JobSpec) -> Result<()> {
        if job.reveal != Reveal::Rows {
            return bad(format!(
                "reveal = \"{}\" is not available with protocol = \"{}\": use \"rows\"",
                job.reveal.kind(),
                PROTOCOL.name()
            ));
        }
        check(job, PROTOCOL)?;
        params(job).map(drop)
    }

    fn check_work(&self, _job: &JobSpec, _what: Ability) -> Result<()> {
        refuse_work()
    }

    fn is_spread(&self) -> bool {
        false
    }

    fn terms(&self, own: &Intersect) -> Vec<(&'static str, Value)> {
        own.filters().terms().into()
    }

    fn leak(&self) -> Option<&'static str> {
        Some(LEAK)
    }

    fn memory(&self, job: &JobSpec, _me: &str, _chosen: &Chosen, _sizes: &BTreeMap<String, Sizes>) -> Result<u64> {
        Ok(memory_of_items(job))
    }

    fn cost(
        &self,
        job: &JobSpec,
        _chosen: &Chosen,
        _sizes: &BTreeMap<String, Sizes>,
        machine: &Calibration,
    ) -> Result<Cost> {
        Ok(params(job)?.cost(job, machine))
    }

    fn learned(&self, job: &JobSpec, party: &str, _known: KnownSizes<'_>) -> Vec<String> {
        learned::learned(job, party)
    }

    fn at_a_glance(&self, job: &JobSpec) -> Vec<Disclosure> {
        learned::at_a_glance(job)
    }

    fn load(&self, job: &JobSpec, me: &str, source: &Source) -> Result<Box<dyn PartyInput>> {
        Ok(Box::new(BloomInput::load(job, me, source)?))
    }
}

/// Parameters that all derive from the terms.
pub struct Published {
    params: Params,
    level: Level,
}

/// Passes of `ecdh` that a slot costs a party that gets nobody's shares, what it costs for the shares of each, and the
/// helper for each party, on ristretto255.
const SLOT: f64 = 2.65;
const CHECKED: f64 = 0.35;
const HELPED: f64 = 0.45;

/// The same for all.
pub fn params(job: &JobSpec) -> Result<Published> {
    let bound = job.limits.pad_to.unwrap_or_default() as usize;
    let mut learners = job.reveal_to.iter().map(|name| job.parties.place(name)).collect::<Result<Vec<_>>>()?;
    learners.sort_unstable();
    let filters = Intersect::of(job).filters();
    let params = Params::new(job.parties.0.len(), bound, filters.rate(), filters.order(), learners)?;
    Ok(Published { params, level: job.level })
}

impl Published {
    /// Bytes of what a party tells all.
    pub fn word_bytes(&self) -> usize {
        in_group!(self.level, group => announcement_bytes(group))
    }

    /// The most bytes that the party at `place` leaves.
    pub fn bytes_left_by(&self, place: usize) -> u64 {
        in_group!(self.level, group => self.params.bytes_left_by(group, place))
    }

    /// Returns the number of parts in which the helper does its work.
    pub fn parts(&self) -> u32 {
        in_group!(self.level, group => self.params.parts(group).len() as u32)
    }

    /// The place of the learner that tells the one at `place` what it learns, where it does not see it itself.
    pub fn told_by(&self, place: usize) -> Option<usize> {
        self.params.told_by(place)
    }

    /// Returns the number of message flights.
    pub fn rounds(&self) -> u32 {
        self.params.rounds()
    }

    /// Does a part of the helper's work.
    pub fn help(&self, depot: &impl Depot, part: u32, seed: &[u8; 32]) -> Result<()> {
        in_group!(self.level, group => helper::add(&self.params, group, depot, part, seed))
    }

    /// A party's part: which of its keys are common, if it learns.
    pub fn run(
        &self,
        me: usize,
        terms: &Transcript,
        loaded: &Loaded,
        depot: &DepotClient,
        rng: &mut ChaCha20Rng,
    ) -> Result<Option<Vec<usize>>> {
        in_group!(self.level, group => self.run_in(group, me, terms, loaded, depot, rng))
    }

    fn run_in<G: Group + Sync>(
        &self,
        group: &G,
        me: usize,
        terms: &Transcript,
        loaded: &Loaded,
        depot: &DepotClient,
        rng: &mut ChaCha20Rng,
    ) -> Result<Option<Vec<usize>>> {
        let (met, post) = meet(group, me, self.params.parties(), terms, depot, rng)?;
        tracing::info!("all parties are there");
        let items = loaded.items(&met.session.derive("item"));
        run(&OutsourcedBloomParty { me, group, params: &self.params, items: &items, met: &met, post: &post }, rng)
    }

    /// Returns the cost for all parties and the helper.
    pub fn cost(&self, job: &JobSpec, machine: &Calibration) -> Cost {
        // Measured, beside ristretto255 one point after the other.
        let pass = match self.level {
            Level::Bits128 => machine.ecdh_pass,
            Level::Paper80 => 0.9 * machine.single_pass,
            Level::Bits112 => 4.6 * machine.single_pass,
            Level::Bits192 | Level::Bits256 => 18.0 * machine.single_pass,
        };
        let slots = self.params.sizes().slots as f64 * pass;
        let role = |(place, name): (usize, &str)| {
            let bytes = self.bytes_left_by(place);
            let cpu = slots * (SLOT + CHECKED * self.params.checked_by(place) as f64);
            (name.to_owned(), RoleCost { cpu, bytes, ..RoleCost::default() })
        };
        let roles = job.parties.names().into_iter().enumerate().map(role).collect();
        let [sent, received] = in_group!(self.level, group => self.params.helper_bytes(group));
        let cpu = HELPED * slots * self.params.parties() as f64;
        let helper = Some(HelperCost { cpu, sent, received, learns: helper_learns(job.protocol) });
        Cost { roles, rounds: self.rounds(), helper, ..Cost::default() }
    }
}
