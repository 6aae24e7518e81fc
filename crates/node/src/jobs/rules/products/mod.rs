//! The scalar products of a run, level by level: who makes them, and what they took.

mod encrypted;
mod named;
mod parts;
mod transfers;

use std::time::Instant;

use chacha20::ChaCha20Rng;
use serde::Serialize;
use tacita_core::channel::{Channel, Traffic};
use tacita_core::protocol::dot::lattice::BATCHES;
use tacita_core::protocol::dot::ot::Extension;
use tacita_core::protocol::dot::{Modulus, Shares};
use tacita_core::protocol::rules::{Params, ProductBatch, ScalarProducts, Way};
use tacita_core::{Error, Result, Session, Side};
use zeroize::Zeroizing;

use crate::agreement::{Chosen, Protocol};
use crate::base::usage::round;
use crate::jobs::dot::methods::ot::bandwidth_for;
use crate::jobs::dot::methods::{lattice, ot};
use crate::jobs::rules::spec::RulesJob;
use encrypted::EncryptedProducts;
use named::NamedProducts;
use transfers::Transfers;

/// Estimated cost of products: CPU seconds of both parties together, and bytes both ways.
#[derive(Debug, Clone, Copy)]
pub struct ProductsCost {
    /// CPU seconds on one thread.
    pub seconds: f64,
    /// Bytes both ways, without the set-up.
    pub bytes: u64,
}

/// Products that are wanted: all that is known of them before they are made.
#[derive(Debug, Clone)]
struct Wanted {
    rows: usize,
    modulus: Modulus,
    /// A column of the first party and one of the second.
    pairs: Vec<(u32, u32)>,
    /// Position of each product in the batch.
    order: Vec<usize>,
}

impl Wanted {
    fn of(batch: &ProductBatch<'_>) -> Wanted {
        Wanted::new(batch.rows(), batch.modulus(), batch.pairs().to_vec())
    }

    fn new(rows: usize, modulus: Modulus, pairs: Vec<(u32, u32)>) -> Wanted {
        let order = (0..pairs.len()).collect();
        Wanted { rows, modulus, pairs, order }
    }

    /// Some of the products, by their places here.
    fn some(&self, places: Vec<usize>) -> Wanted {
        Wanted {
            rows: self.rows,
            modulus: self.modulus,
            pairs: places.iter().map(|&place| self.pairs[place]).collect(),
            order: places.iter().map(|&place| self.order[place]).collect(),
        }
    }

    /// The columns of a party that are used, in order.
    fn columns(&self, side: Side) -> Vec<u32> {
        let mut columns: Vec<u32> = self.pairs.iter().map(|pair| column(pair, side)).collect();
        columns.sort_unstable();
        columns.dedup();
        columns
    }

    /// Splits the products by the party whose column is in more of them. The cost of a column is shared by its
    /// products, if it is the one that is encrypted, or that chooses. Candidates of one item here and many there thus
    /// cost less apart from those of many and one.
    fn split(&self) -> Vec<Wanted> {
        let uses = [Side::First, Side::Second].map(|side| {
            let most = self.pairs.iter().map(|pair| column(pair, side)).max().unwrap_or(0);
            let mut uses = vec![0; most as usize + 1];
            self.pairs.iter().for_each(|pair| uses[column(pair, side) as usize] += 1);
            uses
        });
        let first = |place: &usize| {
            let (first, second) = self.pairs[*place];
            uses[0][first as usize] >= uses[1][second as usize]
        };
        let (first, second): (Vec<_>, Vec<_>) = (0..self.pairs.len()).partition(first);
        [first, second].into_iter().filter(|places| !places.is_empty()).map(|places| self.some(places)).collect()
    }
}

fn column(pair: &(u32, u32), side: Side) -> u32 {
    if side == Side::First { pair.0 } else { pair.1 }
}

/// The protocol of this way.
fn protocol(way: Way) -> Protocol {
    if way.encrypted { lattice::PROTOCOL } else { ot::PROTOCOL }
}

fn parts_of(way: Way, wanted: Wanted) -> Vec<Wanted> {
    if way.split { wanted.split() } else { vec![wanted] }
}

/// The way that takes the least time, among those by oblivious transfer, of which `transfers` says what they cost, and
/// those under encryption.
fn cheapest(
    wanted: &Wanted,
    transfers: Option<impl Fn(&[Wanted]) -> Result<ProductsCost>>,
    encrypted: Option<usize>,
    bandwidth: f64,
) -> Result<(Way, ProductsCost)> {
    // The two parties compute at the same time, and as much.
    let time = |cost: &ProductsCost| cost.seconds / 2.0 + cost.bytes as f64 * 8.0 / bandwidth;
    let (mut best, mut refused): (Option<(Way, ProductsCost)>, _) = (None, None);
    for split in [false, true] {
        let way = |encrypted| Way { encrypted, split };
        let parts = parts_of(way(false), wanted.clone());
        let by_transfers = transfers.as_ref().map(|cost| (way(false), cost(&parts)));
        let encrypted = encrypted.map(|left| (way(true), encrypted::cost(&parts, left)));
        for (way, cost) in by_transfers.into_iter().chain(encrypted) {
            match cost {
                Ok(cost) if best.as_ref().is_some_and(|(_, least)| time(least) <= time(&cost)) => (),
                Ok(cost) => best = Some((way, cost)),
                // Another way may do.
                Err(error) => refused = Some(error),
            }
        }
    }
    best.ok_or_else(|| refused.unwrap_or_else(|| Error::Internal("no protocol for the products of rules".into())))
}

/// Bytes that a batch over so many rows holds besides the items, an estimate from above.
pub fn memory(job: &RulesJob<'_>, chosen: &Chosen, rows: u64) -> Result<u64> {
    match named::ProductTerms::of(job)? {
        Some(terms) => terms.memory(rows, &job.mining(rows as usize, None)?),
        None if chosen.protocol == lattice::PROTOCOL => Ok(encrypted::memory(rows)),
        None => Ok(0),
    }
}

/// Estimates the cost of all products of `items` items of each party, by the choice made, and returns the protocol
/// that would make them.
pub fn estimate(
    job: &RulesJob<'_>,
    chosen: &Chosen,
    params: &Params,
    items: [u32; 2],
) -> Result<(Protocol, ProductsCost)> {
    let pairs = (0..items[0]).flat_map(|first| (0..items[1]).map(move |second| (first, second)));
    let wanted = Wanted::new(params.column_rows(), params.modulus()?, pairs.collect());
    if let Some(terms) = named::ProductTerms::of(job)? {
        return Ok((terms.protocol(), terms.cost(&wanted)?));
    }
    let transfers = match chosen.extension {
        Some(Extension::SoftSpoken(k)) => Some(move |parts: &[Wanted]| transfers::cost(parts, k)),
        _ => None,
    };
    let encrypted = (chosen.protocol == lattice::PROTOCOL).then_some(BATCHES);
    let (way, cost) = cheapest(&wanted, transfers, encrypted, bandwidth_for(chosen.extension))?;
    Ok((protocol(way), cost))
}

/// Statistics of a level: its mixed candidates, up to where the next one begins.
#[derive(Debug, Clone, Serialize)]
pub struct LevelCost {
    /// Items of each candidate.
    pub length: usize,
    /// Scalar products: the candidates with items of several parties.
    pub products: usize,
    /// The protocol that made them.
    pub protocol: &'static str,
    /// Wall time, comparisons and the opening of counts included.
    pub seconds: f64,
    /// Bytes that this party sent.
    pub sent: u64,
    /// Bytes that it received.
    pub received: u64,
}

/// Statistics of the levels of a run.
#[derive(Default)]
pub struct LevelLog {
    levels: Vec<LevelCost>,
    /// Start of the last level, and the traffic up to then.
    began: Option<(Instant, Traffic)>,
}

impl LevelLog {
    /// Ends the last level, and begins one of so many products.
    pub fn begin(&mut self, length: usize, products: usize, protocol: Protocol, began: (Instant, Traffic)) {
        self.end(began.1);
        let protocol = protocol.name();
        self.levels.push(LevelCost { length, products, protocol, seconds: 0.0, sent: 0, received: 0 });
        self.began = Some(began);
    }

    fn end(&mut self, traffic: Traffic) {
        if let (Some((began, before)), Some(level)) = (self.began.take(), self.levels.last_mut()) {
            level.seconds = round(began.elapsed());
            (level.sent, level.received) = (traffic.sent - before.sent, traffic.received - before.received);
        }
    }

    /// Returns the statistics of each level, if all are done.
    pub fn levels(mut self, traffic: Traffic) -> Vec<LevelCost> {
        self.end(traffic);
        self.levels
    }
}

/// The scalar products of a run.
pub struct RunProducts<'a> {
    transfers: Option<Transfers<'a>>,
    encrypted: Option<EncryptedProducts<'a>>,
    named: Option<NamedProducts<'a>>,
    /// Bits a second that are assumed where both could be.
    bandwidth: f64,
    rng: ChaCha20Rng,
    log: LevelLog,
}

impl<'a> RunProducts<'a> {
    /// Creates the products by the protocol that the job names, or that was chosen.
    pub fn new(job: &RulesJob<'_>, session: &'a Session, chosen: &Chosen, rng: ChaCha20Rng) -> Result<RunProducts<'a>> {
        let transfers = match chosen.extension {
            Some(Extension::SoftSpoken(k)) => Some(Transfers::new(session, k)?),
            Some(Extension::Silent) => return Err(Error::Internal("rules by silent transfers".into())),
            None => None,
        };
        let encrypted = (chosen.protocol == lattice::PROTOCOL).then(|| EncryptedProducts::new(session));
        let named = named::ProductTerms::of(job)?.map(|terms| NamedProducts::new(terms, session));
        let bandwidth = bandwidth_for(chosen.extension);
        Ok(RunProducts { transfers, encrypted, named, bandwidth, rng, log: LevelLog::default() })
    }

    /// Returns the statistics of each level, if all are done.
    pub fn levels(self, traffic: Traffic) -> Vec<LevelCost> {
        self.log.levels(traffic)
    }

    /// Decides how a batch is made, if the job does not say it. The first party decides, by what both know.
    fn way(&self, side: Side, wanted: &Wanted, channel: &mut Channel) -> Result<Way> {
        if side == Side::First {
            let transfers = self.transfers.as_ref();
            let transfers = transfers.map(|transfers| |parts: &[Wanted]| transfers.cost(parts));
            let (way, _) =
                cheapest(wanted, transfers, self.encrypted.as_ref().map(|encrypted| encrypted.left), self.bandwidth)?;
            way.send(channel)?;
            return Ok(way);
        }
        let possible = |way: &Way| match &self.encrypted {
            Some(encrypted) if way.encrypted => encrypted.can_make(&parts_of(*way, wanted.clone())),
            _ => !way.encrypted && self.transfers.is_some(),
        };
        Way::receive(possible, channel)
    }
}

impl ScalarProducts for RunProducts<'_> {
    fn products(&mut self, batch: &ProductBatch<'_>, channel: &mut Channel) -> Result<Shares> {
        let began = (Instant::now(), channel.traffic());
        let wanted = Wanted::of(batch);
        let (protocol, parts) = match &self.named {
            Some(named) => (named.protocol(), vec![wanted]),
            None => {
                let way = self.way(batch.side(), &wanted, channel)?;
                (protocol(way), parts_of(way, wanted))
            }
        };
        self.log.begin(batch.length(), batch.pairs().len(), protocol, began);
        let mut residues = Zeroizing::new(vec![0; batch.pairs().len()]);
        for wanted in &parts {
            match (protocol, &mut self.transfers, &mut self.encrypted, &mut self.named) {
                (_, _, _, Some(named)) => {
                    named.products(wanted, batch, channel, &mut self.rng, &mut residues)?;
                }
                (lattice::PROTOCOL, _, Some(encrypted), _) => {
                    encrypted.products(wanted, batch, channel, &mut self.rng, &mut residues)?;
                }
                (ot::PROTOCOL, Some(transfers), ..) => {
                    transfers.products(wanted, batch, channel, &mut self.rng, &mut residues)?;
                }
                _ => return Err(Error::Internal("products by a protocol that was not chosen".into())),
            }
        }
        Shares::new(batch.modulus(), std::mem::take(&mut *residues))
    }
}

#[cfg(test)]
mod tests {
    use rand_core::SeedableRng;
    use tacita_core::protocol::rules::WAY;

    use super::*;
    use crate::agreement::{JobSpec, Parties};
    use crate::jobs::rules::Rules;

    fn wanted(pairs: &[(u32, u32)]) -> Wanted {
        Wanted::new(1000, Modulus::power_of_two(11).unwrap(), pairs.to_vec())
    }

    /// One column here with many there, and the other way round; each product is in one part, at its place.
    #[test]
    fn products_of_one_and_many_are_apart() {
        let pairs = [(0, 1), (0, 2), (5, 0), (0, 3), (6, 0), (7, 0), (9, 9)];
        let parts = wanted(&pairs).split();
        let order: Vec<_> = parts.iter().map(|part| part.order.clone()).collect();
        assert_eq!(order, [vec![0, 1, 3, 6], vec![2, 4, 5]]);
        for part in &parts {
            assert!(part.order.iter().zip(&part.pairs).all(|(&place, pair)| pairs[place] == *pair));
        }
        assert_eq!(wanted(&[(1, 1)]).split().len(), 1);
        assert!(wanted(&[]).split().is_empty());
    }

    /// The second party takes no way that was not agreed on, and none that the noise is not enough for.
    #[test]
    fn ways_of_a_peer_are_checked() {
        let session = Session::new(tacita_core::session::Transcript::new("test"));
        let own = Rules::default();
        let job = JobSpec::new(std::sync::Arc::new(own.clone()), "test", Parties::default());
        let job = RulesJob { spec: &job, own: &own };
        let way = |choice: &str, left: usize, payload: &[u8]| {
            let chosen = Chosen::read(&job, choice).unwrap();
            let mut products = RunProducts::new(&job, &session, &chosen, ChaCha20Rng::from_seed([1; 32])).unwrap();
            if let Some(encrypted) = &mut products.encrypted {
                encrypted.left = left;
            }
            let (mut own, mut peer) = Channel::pair("first", "second");
            peer.send(WAY, payload.to_vec()).unwrap();
            products.way(Side::Second, &wanted(&[(0, 1), (1, 0), (2, 0)]), &mut own)
        };
        for (choice, good) in
            [("ot softspoken-4", &[0, 2][..]), ("lattice", &[1, 3]), ("lattice or ot softspoken-4", &[0, 1, 2, 3])]
        {
            for code in 0..=255 {
                let ended = way(choice, 2, &[code]);
                assert_eq!(ended.is_ok(), good.contains(&code), "{choice} {code}");
                assert!(matches!(ended, Ok(_) | Err(Error::Protocol { .. })), "{choice} {code}");
            }
        }
        // Two parts are one too many.
        assert!(way("lattice", 1, &[1]).is_ok());
        for payload in [&[3][..], &[], &[1, 1]] {
            assert!(matches!(way("lattice", 1, payload), Err(Error::Protocol { .. })), "{payload:?}");
        }
    }

    /// Few products of columns cost least by transfers, many under encryption, at every speed of network.
    #[test]
    fn the_cheaper_way_is_taken() {
        let all: Vec<_> = (0..100).flat_map(|first| (0..100).map(move |second| (first, second))).collect();
        let transfers = |parts: &[Wanted]| transfers::cost(parts, 4);
        for bandwidth in [1e8, 1e9] {
            let way =
                |pairs: &[(u32, u32)]| cheapest(&wanted(pairs), Some(transfers), Some(BATCHES), bandwidth).unwrap().0;
            assert_eq!(protocol(way(&all)), lattice::PROTOCOL);
            assert_eq!(protocol(way(&[(0, 0)])), ot::PROTOCOL);
        }
        let (way, _) = cheapest(&wanted(&all), Some(transfers), None, 1e9).unwrap();
        assert_eq!(protocol(way), ot::PROTOCOL);
        // With less noise left than there are parts, nothing is begun.
        let (way, _) = cheapest(&wanted(&all), Some(transfers), Some(0), 1e9).unwrap();
        assert_eq!(protocol(way), ot::PROTOCOL);
        let none = None::<fn(&[Wanted]) -> Result<ProductsCost>>;
        assert!(matches!(cheapest(&wanted(&all), none, Some(0), 1e9), Err(Error::Input(_))));
    }
}
