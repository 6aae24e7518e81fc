//! Parameters that both parties agree on before the first message, and the costs that follow from them.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use super::cost::{self, PolynomialCost};
use super::group::Curve;
use crate::channel::HEADER_BYTES;
use crate::error::{Error, Result};
use crate::item::Item;
use crate::primitive::okvs;
use crate::primitive::published::polynomial;
use crate::protocol::intersect::tag_exchange::Frames;
use crate::protocol::intersect::tag_exchange::framed_bytes;
use crate::protocol::intersect::tag_exchange::items::all_distinct;
use crate::role::Role;
use crate::security::{Chance, Level};

/// Ciphertexts in one message, and those of the bins that are worked on at once.
pub(in crate::protocol) const CHUNK: usize = 1 << 12;

/// Largest number of bins.
pub const MAX_BINS: usize = 1 << 24;

/// Form in which polynomials travel and are multiplied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Strategy {
    /// Coefficients; each of a product is one sum.
    Schoolbook,
    /// Coefficients, and Karatsuba's way.
    Karatsuba,
    /// Coefficients, and Toom's way in three parts.
    Toom3,
    /// Coefficients, and the fast Fourier transform.
    Fft,
    /// Values at points, which are multiplied one by one. (KK, remark 2, after Cheon, Jarecki & Seo.)
    Points,
}

/// Result that the receiver learns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PolynomialReveal {
    /// Receiver's items that are common.
    Rows,
    /// Number of common items.
    Count,
}

/// Agreed public values of one run. Both parties must use equal ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Params {
    curve: Curve,
    strategy: Strategy,
    reveal: PolynomialReveal,
    receiver_items: usize,
    sender_items: usize,
    bins: usize,
    /// Items in a bin of the receiver and of the sender, those that fill it up included.
    bounds: [usize; 2],
    runs: usize,
}

/// Requirements on a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PolynomialRequest {
    /// Level of computational security.
    pub level: Level,
    /// Result that the receiver learns.
    pub reveal: PolynomialReveal,
    /// One, or whichever takes least work.
    pub strategy: Option<Strategy>,
    /// Number of bins: 1 for the protocol as it was published; if `None`, the number that takes least work.
    pub bins: Option<usize>,
    /// Number of such runs, this one included, of which none may go wrong by chance.
    pub runs: usize,
}

impl Strategy {
    /// List of all strategies.
    pub const ALL: [Strategy; 5] =
        [Strategy::Schoolbook, Strategy::Karatsuba, Strategy::Toom3, Strategy::Fft, Strategy::Points];

    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Strategy::Schoolbook => "schoolbook",
            Strategy::Karatsuba => "karatsuba",
            Strategy::Toom3 => "toom3",
            Strategy::Fft => "fft",
            Strategy::Points => "points",
        }
    }

    /// Returns the strategy for multiplying coefficients; `None` if values travel.
    pub(super) fn of_coefficients(self) -> Option<polynomial::MultiplyStrategy> {
        match self {
            Strategy::Schoolbook => Some(polynomial::MultiplyStrategy::Schoolbook),
            Strategy::Karatsuba => Some(polynomial::MultiplyStrategy::Karatsuba),
            Strategy::Toom3 => Some(polynomial::MultiplyStrategy::Toom3),
            Strategy::Fft => Some(polynomial::MultiplyStrategy::Fft),
            Strategy::Points => None,
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Strategy {
    type Err = Error;

    fn from_str(word: &str) -> Result<Strategy> {
        Strategy::ALL.into_iter().find(|strategy| strategy.name() == word).ok_or_else(|| {
            let names: Vec<_> = Strategy::ALL.iter().map(|strategy| format!("\"{strategy}\"")).collect();
            Error::Input(format!("strategy = \"{word}\" is unknown: use \"auto\", {}", names.join(", ")))
        })
    }
}

/// Each of so many bins overflows with probability 2^-this at most, for each of two parties, so that any does with
/// 2^-45 ([`Chance::Bucket`]).
fn overflow_bits(bins: usize) -> f64 {
    f64::from(Chance::Bucket.bits()) + 1.0 + (bins as f64).log2()
}

/// Messages of so many ciphertexts of this length.
pub(in crate::protocol) fn frames(ciphertexts: usize, bytes: usize) -> Frames {
    Frames::new(ciphertexts, bytes, CHUNK)
}

impl Params {
    /// For sets of so many items. What is not wanted in particular is what takes the two parties the least work
    /// together.
    ///
    /// Errors ([`Error::Input`]): there is no group for that level, or none with roots of unity for [`Strategy::Fft`];
    /// bins that are none, or more than [`MAX_BINS`]; sets of 2^32 items or more.
    pub fn new(wanted: PolynomialRequest, receiver_items: usize, sender_items: usize) -> Result<Params> {
        if receiver_items.max(sender_items) > u32::MAX as usize {
            return Err(Error::Input("a set has 2^32 items or more".into()));
        }
        if let Some(bins) = wanted.bins.filter(|bins| !(1..=MAX_BINS).contains(bins)) {
            return Err(Error::Input(format!("bins = {bins}: there can be 1 to {MAX_BINS}, or \"auto\"")));
        }
        let strategies = match wanted.strategy {
            Some(strategy) => vec![strategy],
            None => Strategy::ALL.to_vec(),
        };
        let most = receiver_items.max(sender_items).clamp(1, MAX_BINS).ilog2();
        let bins = match wanted.bins {
            Some(bins) => vec![bins],
            None => (0..=most).map(|log2| 1 << log2).collect(),
        };
        let of = |strategy| Curve::of(wanted.level, strategy).map(|curve| (curve, strategy));
        let curves: Vec<_> = strategies.iter().filter_map(|&strategy| of(strategy)).collect();
        let each = curves.iter().flat_map(|&(curve, strategy)| {
            bins.iter().map(move |&bins| {
                let PolynomialRequest { reveal, runs, .. } = wanted;
                let bits = overflow_bits(bins * runs);
                let bounds = [receiver_items, sender_items].map(|items| okvs::bin_capacity(items, bins, bits));
                Params { curve, strategy, reveal, receiver_items, sender_items, bins, bounds, runs }
            })
        });
        let each = each.filter(Params::has_roots);
        let best = each.min_by(|one, other| one.cost().work().total_cmp(&other.cost().work()));
        best.ok_or_else(|| match wanted.strategy {
            Some(strategy) => Error::Input(format!(
                "strategy = \"{strategy}\" is not available with level = \"{}\" for sets of these sizes: use \"auto\"",
                wanted.level
            )),
            None => Error::Input(format!("no group of level = \"{}\" for encrypted polynomials", wanted.level)),
        })
    }

    /// Whether the scalars have what the strategy takes.
    fn has_roots(&self) -> bool {
        self.strategy != Strategy::Fft || self.curve.has_roots_for(2 * self.answers_of_bin().max(1))
    }

    /// Returns the group of the run.
    pub fn curve(&self) -> Curve {
        self.curve
    }

    /// Returns the form in which polynomials travel and are multiplied.
    pub fn strategy(&self) -> Strategy {
        self.strategy
    }

    /// Returns what the receiver learns.
    pub fn reveal(&self) -> PolynomialReveal {
        self.reveal
    }

    /// Items of the party with this role, or a bound on them that was agreed on.
    pub fn items(&self, role: Role) -> usize {
        match role {
            Role::Receiver => self.receiver_items,
            Role::Sender => self.sender_items,
        }
    }

    /// Returns the number of bins.
    pub fn bins(&self) -> usize {
        self.bins
    }

    /// Items of the party with this role that each bin is filled up to: the least number that each bin exceeds with
    /// probability 2^-(45 + 1 + log2(bins * runs)) at most, so that any bin of either party does in any run with 2^-45
    /// at most ([`Chance::Bucket`]). One bin has all.
    pub fn bound(&self, role: Role) -> usize {
        match role {
            Role::Receiver => self.bounds[0],
            Role::Sender => self.bounds[1],
        }
    }

    /// Ciphertexts that the receiver sends for a bin: all coefficients of φ but the leading one, which is 1; or the
    /// values of a polynomial of the degree that is to be opened.
    pub(in crate::protocol) fn ciphertexts_of_bin(&self) -> usize {
        match self.strategy {
            Strategy::Points => self.answers_of_bin(),
            _ => self.bound(Role::Receiver),
        }
    }

    /// Coefficients, or values, of the polynomial that is opened for a bin: of h, or of φ itself in a count.
    pub(in crate::protocol) fn answers_of_bin(&self) -> usize {
        match self.reveal {
            PolynomialReveal::Rows => self.bound(Role::Receiver) + self.bound(Role::Sender) + 1,
            PolynomialReveal::Count => self.bound(Role::Receiver) + 1,
        }
    }

    /// The bins that are worked on at once: as many as have [`CHUNK`] ciphertexts at most, or one, and about equally
    /// many each time.
    pub(in crate::protocol) fn portions(&self) -> impl ExactSizeIterator<Item = Range<usize>> + Clone + Send {
        let (bins, size) = (self.bins, self.bins_of_portion());
        (0..bins).step_by(size).map(move |start| start..bins.min(start + size))
    }

    fn bins_of_portion(&self) -> usize {
        let most = (CHUNK / self.answers_of_bin()).clamp(1, self.bins);
        self.bins.div_ceil(self.bins.div_ceil(most))
    }

    /// At how many points the polynomials of each portion are evaluated, random ones among them, to look at `items`
    /// items in all, so that time does not tell how many there are: as many as fall into a portion at most, but with
    /// the probability that a bin overflows.
    pub(super) fn points_of_portion(&self, items: usize) -> usize {
        let portions = self.bins / self.bins_of_portion();
        okvs::bin_capacity(items, portions, overflow_bits(portions * self.runs))
    }

    /// Length of an encoded ciphertext.
    fn ciphertext_bytes(&self) -> usize {
        2 * self.curve.point_bytes()
    }

    /// Whether nothing can be common, so that nothing travels.
    pub(super) fn is_empty(&self) -> bool {
        self.receiver_items == 0 || self.sender_items == 0
    }

    /// Returns the cost of a run, in operations of the group.
    pub fn cost(&self) -> PolynomialCost {
        cost::of(self)
    }

    /// Bytes that a party sends, headers and the closing frame included.
    pub fn bytes_sent_by(&self, role: Role) -> u64 {
        let sent = if self.is_empty() { 0 } else { self.bytes_of_messages(role) };
        sent + HEADER_BYTES as u64
    }

    /// The same without the closing frame, where messages travel also if a set is empty.
    pub(in crate::protocol) fn bytes_of_messages(&self, role: Role) -> u64 {
        let framed = |ciphertexts| framed_bytes(ciphertexts, self.ciphertext_bytes(), CHUNK);
        let in_portions = |each: usize| self.portions().map(|bins| framed(bins.len() * each)).sum::<u64>();
        match (role, self.reveal) {
            (Role::Receiver, _) => {
                (HEADER_BYTES + self.curve.point_bytes()) as u64 + in_portions(self.ciphertexts_of_bin())
            }
            (Role::Sender, PolynomialReveal::Rows) => in_portions(self.answers_of_bin()),
            (Role::Sender, PolynomialReveal::Count) => framed(self.sender_items),
        }
    }

    /// Message flights in sequence, as [`crate::channel::Traffic`] counts them.
    pub fn rounds(&self) -> u32 {
        if self.is_empty() { 0 } else { 2 }
    }

    /// Memory of the party with this role besides its items, in bytes, an estimate from above for two threads.
    pub fn memory(&self, role: Role) -> u64 {
        let point = self.curve.point_memory() as u64;
        let portion = CHUNK.max(self.answers_of_bin()) as u64;
        let shuffled = match (role, self.reveal) {
            (Role::Sender, PolynomialReveal::Count) => {
                self.sender_items as u64 * (4 + 2 * self.ciphertext_bytes() as u64)
            }
            _ => 0,
        };
        let fixed = self.bins as u64 * 8 + 40 * portion * point + (32 << 20);
        self.memory_of_items(self.items(role)) + shuffled + fixed
    }

    /// Memory that so many items take, in bins, and while the polynomials of a portion are evaluated at all of its
    /// items.
    pub(in crate::protocol) fn memory_of_items(&self, items: usize) -> u64 {
        items as u64 * 72 + 32 * self.points_of_portion(items) as u64 * self.curve.point_memory() as u64
    }

    /// Refuses more items than were agreed on, and items that are not distinct.
    pub(in crate::protocol) fn check(&self, role: Role, items: &[Item], reveal: PolynomialReveal) -> Result<()> {
        let wrong = if self.reveal != reveal {
            "the parameters are for something else to be revealed".to_owned()
        } else if items.len() > self.items(role) {
            format!("{} items where {} were agreed on", items.len(), self.items(role))
        } else if !all_distinct(items) {
            "the items are not distinct".to_owned()
        } else {
            return Ok(());
        };
        Err(Error::Internal(format!("polynomial: {wrong}")))
    }
}
