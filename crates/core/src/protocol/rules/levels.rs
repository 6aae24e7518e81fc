//! The itemsets of one length: which are worth counting, and what counts of them can be.

use std::collections::BTreeSet;

use super::exchange::WithCounts;
use super::frequent::{Counted, Frequent};
use super::itemsets::{FrequentItem, ItemsetOwner, Itemsets, has_part, kind, mixed_pairs};
use super::params::Params;
use super::{SUPPORTS, exchange};
use crate::channel::{Channel, conclude_all_for};
use crate::error::{Error, Result};
use crate::protocol::dot::{self, Shares};
use crate::protocol::mesh::heard::{Heard, MeshStatement, violation_of_one};

/// Exchanges the number of frequent items of each party. Too many of one end the run at all.
pub(super) fn count_items(
    me: u8,
    own: usize,
    params: &Params,
    heard: Option<&mut Heard>,
    channels: &mut [Channel],
) -> Result<Vec<u32>> {
    let most = params.max_candidates;
    let all = vec![(); channels.len()];
    let theirs = exchange::with_each(channels, all, |(), channel| exchange::items(own, most, channel))?;
    if let Some(heard) = heard {
        let mut told = theirs.clone();
        told.insert(me.into(), own.min(most.saturating_add(1)));
        let statements = of_each(told.iter().map(|items| [(*items as u64).to_le_bytes()]));
        heard.check("numbers of frequent items", |_| statements.clone(), channels)?;
    }
    let of_peer = channels.iter().zip(&theirs).find(|(_, theirs)| **theirs > most);
    let whose = match of_peer {
        _ if own > most => Some(format!("{own} own items")),
        of_peer => of_peer.map(|(channel, _)| format!("more than {most} items of {}", channel.peer())),
    };
    if let Some(whose) = whose {
        return Err(conclude_all_for(channels, params.too_many_items(&whose)));
    }
    let mut items: Vec<u32> = theirs.into_iter().map(|theirs| theirs as u32).collect();
    items.insert(me.into(), own as u32);
    Ok(items)
}

/// Statements of each party alone, in the order of their places.
pub(super) fn of_each<C: AsRef<[u8]>, P: IntoIterator<Item = C>>(
    said: impl IntoIterator<Item = P>,
) -> Vec<MeshStatement> {
    said.into_iter().enumerate().map(|(party, contents)| MeshStatement::new([party], contents)).collect()
}

/// The frequent itemsets of one length.
pub(super) struct Level {
    /// Itemsets of each party. With `mixed_only` none beyond single items, of which the peers' have no counts.
    pub one: Vec<Counted>,
    pub mixed: Counted,
    /// Single items of each party.
    pub items: Vec<u32>,
}

/// The candidates of one length.
pub(super) struct Candidates {
    pub one: Vec<Itemsets>,
    pub mixed: Itemsets,
}

impl Candidates {
    pub(crate) fn len(&self) -> usize {
        self.one.iter().chain([&self.mixed]).map(Itemsets::len).sum()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Whether this party and a peer tell each other counts. A count that is not told is none above the number of rows.
fn with_counts(me: u8, peer: u8, params: &Params) -> WithCounts {
    let (to_peer, to_me) = (params.learners.contains(peer), params.learners.contains(me));
    WithCounts { to_peer, to_me, unknown: params.rows as u32 }
}

/// Exchanges what the parties tell each other of single items.
pub(super) fn first_level(
    me: u8,
    own: &[u32],
    items: Vec<u32>,
    params: &Params,
    channels: &mut [Channel],
) -> Result<Level> {
    let peers = exchange::peers(me, channels);
    let count_of = |peer: &u8| items[usize::from(*peer)] as usize;
    let mut counts: Vec<Vec<u32>> = if params.rules.mixed_only {
        // No count is known; none is above this.
        peers.iter().map(|peer| vec![params.rows as u32; count_of(peer)]).collect()
    } else {
        let told: Vec<Option<u32>> = own.iter().copied().map(Some).collect();
        let range = params.minimum..=params.rows;
        let count = |count: &Option<u32>| count.filter(|&count| range.contains(&(count as usize)));
        exchange::with_each(channels, peers.clone(), |peer, channel| {
            let with = with_counts(me, peer, params);
            let theirs = exchange::counts(SUPPORTS, &told, count_of(&peer), with, channel)?;
            theirs.iter().map(count).collect::<Option<Vec<u32>>>().ok_or_else(|| impossible(channel))
        })?
    };
    counts.insert(me.into(), own.to_vec());
    let singles =
        |(party, counts): (u8, Vec<u32>)| Counted { sets: Itemsets::singles(party, counts.len() as u32), counts };
    Ok(Level { one: (0..).zip(counts).map(singles).collect(), mixed: Counted::none(1), items })
}

impl Level {
    /// The candidates of one item more, which all parties compute alike.
    pub(crate) fn candidates(&self, length: usize, params: &Params) -> Result<Candidates> {
        let (limit, mixed_only) = (params.max_candidates, params.rules.mixed_only);
        let one = |frequent: &Counted| {
            if mixed_only {
                Ok(Itemsets::none(length))
            } else {
                frequent.sets.candidates(limit).map_err(|found| params.too_many("one-party", length, found))
            }
        };
        let one = self.one.iter().map(one).collect::<Result<_>>()?;
        let mixed = match length {
            2 => mixed_pairs(&self.items, limit),
            _ => self.mixed.sets.mixed_candidates(limit, |part| {
                // Shorter parts are those of mixed subsets.
                mixed_only || part.len() + 1 < length || self.count(part).is_some()
            }),
        };
        Ok(Candidates { one, mixed: mixed.map_err(|found| params.too_many("mixed", length, found))? })
    }

    /// The number of rows that an itemset of this level is in, as far as it is known.
    fn count(&self, set: &[FrequentItem]) -> Option<u32> {
        match kind(set) {
            ItemsetOwner::One(party) => self.one[usize::from(party)].count(set),
            ItemsetOwner::Mixed => self.mixed.count(set),
        }
    }

    /// The most rows that an itemset of one item more can be in.
    pub(super) fn most(&self, set: &[FrequentItem]) -> Option<u32> {
        if set.len() < 2 {
            return None;
        }
        let mut subset = Vec::with_capacity(set.len());
        (0..set.len())
            .filter_map(|left_out| {
                subset.clear();
                subset.extend(set.iter().enumerate().filter(|(index, _)| *index != left_out).map(|(_, item)| *item));
                self.count(&subset)
            })
            .min()
    }

    /// Statements on this level that this party and a peer must know alike: of each party on its own itemsets, and on
    /// those of several. Counts are known to those who learn.
    pub(super) fn statements(&self, me: u8, peer: u8, params: &Params) -> Vec<MeshStatement> {
        let with_counts = [me, peer].iter().all(|party| params.learners.contains(*party));
        let contents = |counted: &Counted| {
            let counts = counted.counts.iter().filter(|_| with_counts);
            [counted.sets.to_bytes(), counts.flat_map(|count| count.to_le_bytes()).collect()]
        };
        let one = if params.rules.mixed_only { &[][..] } else { &self.one[..] };
        let mut statements = of_each(one.iter().map(contents));
        statements.push(MeshStatement::new(0..self.one.len(), contents(&self.mixed)));
        statements
    }

    /// Adds this level to the result.
    pub(crate) fn keep(&self, params: &Params, frequent: &mut Frequent) {
        if !params.rules.mixed_only {
            (0..).zip(&self.one).for_each(|(party, one)| frequent.push(ItemsetOwner::One(party), one.clone()));
        }
        frequent.push(ItemsetOwner::Mixed, self.mixed.clone());
    }
}

/// Exchanges the counts of each party's own candidates, as far as they are frequent.
pub(super) fn one_party(
    me: u8,
    own_counts: &[u32],
    level: &Level,
    candidates: &Candidates,
    params: &Params,
    channels: &mut [Channel],
) -> Result<Vec<Counted>> {
    let enough = |&count: &u32| (count as usize >= params.minimum).then_some(count);
    let own: Vec<Option<u32>> = own_counts.iter().map(enough).collect();
    let peers = exchange::peers(me, channels);
    let mut counts = exchange::with_each(channels, peers, |peer, channel| {
        let theirs = &candidates.one[usize::from(peer)];
        let counts = exchange::counts(SUPPORTS, &own, theirs.len(), with_counts(me, peer, params), channel)?;
        fit(theirs.iter().zip(&counts), level, params).then_some(counts).ok_or_else(|| impossible(channel))
    })?;
    counts.insert(me.into(), own);
    let told = |(sets, counts): (&Itemsets, Vec<Option<u32>>)| Counted::of(sets, &counts);
    Ok(candidates.one.iter().zip(counts).map(told).collect())
}

/// The frequent ones of the mixed candidates, from this party's shares of the counts of those that it has a part in,
/// and from answers which of them are frequent. Without answers, counts are opened to the parties of their candidates.
/// The first party of a candidate tells the others. Counts of frequent ones are opened to all who learn.
#[allow(clippy::too_many_arguments, reason = "a step of `Miner::take_mixed`, whose values these are")]
pub(super) fn mixed(
    me: u8,
    shares: &Shares,
    answers: Option<&[bool]>,
    level: &Level,
    candidates: &Itemsets,
    params: &Params,
    heard: Option<&mut Heard>,
    channels: &mut [Channel],
) -> Result<Counted> {
    let peers = exchange::peers(me, channels);
    let own: Vec<usize> = (0..candidates.len()).filter(|&index| has_part(candidates.get(index), me)).collect();
    let mut known = vec![None; candidates.len()];
    match answers {
        Some(answers) => {
            let frequent = own.iter().zip(answers).filter(|(_, frequent)| **frequent);
            frequent.for_each(|(&index, _)| known[index] = Some(params.rows as u32));
        }
        None => {
            let with = |&peer: &u8| -> Vec<usize> {
                (0..own.len()).filter(|&place| has_part(candidates.get(own[place]), peer)).collect()
            };
            let with: Vec<Vec<usize>> = peers.iter().map(with).collect();
            for (place, (&index, count)) in own.iter().zip(opened(shares, &with, channels)?).enumerate() {
                if level.most(candidates.get(index)).is_some_and(|most| count > most) {
                    return Err(impossible_of(place, &with, channels));
                }
                known[index] = (count as usize >= params.minimum).then_some(count);
            }
        }
    }
    let told = exchange::with_each(channels, peers, |peer, channel| {
        let tells = |teller: u8, to: u8| -> Vec<usize> {
            let tells = |set: &[FrequentItem]| set[0].party == teller && !has_part(set, to);
            (0..candidates.len()).filter(|&index| tells(candidates.get(index))).collect()
        };
        let (own, theirs) = (tells(me, peer), tells(peer, me));
        let own: Vec<Option<u32>> = own.into_iter().map(|index| known[index]).collect();
        let opened = answers.is_none();
        let with = WithCounts { to_peer: opened, to_me: opened, unknown: params.rows as u32 };
        let counts = exchange::counts(SUPPORTS, &own, theirs.len(), with, channel)?;
        let sets = theirs.iter().map(|&index| candidates.get(index));
        let fits = !opened || fit(sets.zip(&counts), level, params);
        fits.then(|| theirs.into_iter().zip(counts).collect::<Vec<_>>()).ok_or_else(|| impossible(channel))
    })?;
    told.into_iter().flatten().for_each(|(index, count)| known[index] = count);
    if answers.is_some() {
        same_answers(me, &own, candidates, &known, heard, channels)?;
        open_frequent(me, shares, &own, level, candidates, params, &mut known, channels)?;
    }
    Ok(Counted::of(candidates, &known))
}

/// Checks that all know the same candidates to be frequent, before shares are opened by it: first those that both have
/// a part in, as answered by their parties, and then all.
fn same_answers(
    me: u8,
    own: &[usize],
    candidates: &Itemsets,
    known: &[Option<u32>],
    heard: Option<&mut Heard>,
    channels: &mut [Channel],
) -> Result<()> {
    let Some(heard) = heard else { return Ok(()) };
    let answers =
        |indices: &[usize]| -> Vec<u8> { indices.iter().map(|&index| known[index].is_some().into()).collect() };
    let all: Vec<usize> = (0..known.len()).collect();
    let parties = channels.len() + 1;
    let shared = |peer: usize| {
        let both: Vec<usize> =
            own.iter().copied().filter(|&index| has_part(candidates.get(index), peer as u8)).collect();
        let of_both = both.iter().flat_map(|&index| candidates.get(index)).map(|item| usize::from(item.party));
        let of_both: BTreeSet<usize> = of_both.chain([me.into()]).collect();
        vec![MeshStatement::new(of_both, [answers(&both)]), MeshStatement::new(0..parties, [answers(&all)])]
    };
    heard.check("answers of a comparison", shared, channels)
}

/// Opens the counts of frequent candidates to all who learn: each of a candidate's parties sends them its share.
#[allow(clippy::too_many_arguments, reason = "the last step of `mixed`, whose values these are")]
fn open_frequent(
    me: u8,
    shares: &Shares,
    own: &[usize],
    level: &Level,
    candidates: &Itemsets,
    params: &Params,
    known: &mut [Option<u32>],
    channels: &mut [Channel],
) -> Result<()> {
    let (modulus, learns) = (shares.modulus(), params.learners.contains(me));
    let frequent: Vec<usize> = (0..known.len()).filter(|&index| known[index].is_some()).collect();
    let of = |party: u8| -> Vec<usize> {
        (0..frequent.len()).filter(|&place| has_part(candidates.get(frequent[place]), party)).collect()
    };
    let mine = of(me);
    let held: Vec<usize> = mine.iter().filter_map(|&place| own.binary_search(&frequent[place]).ok()).collect();
    let (held, none) = (some(shares, &held)?, some(shares, &[])?);
    let states = exchange::peers(me, channels).into_iter().map(|peer| {
        let theirs = if learns { of(peer) } else { Vec::new() };
        (params.learners.contains(peer), theirs)
    });
    let opened = exchange::with_each(channels, states.collect(), |(to_peer, theirs): (bool, Vec<usize>), channel| {
        let shares = dot::exchange_some(if to_peer { &held } else { &none }, theirs.len(), channel)?;
        Ok((theirs, shares))
    })?;
    if !learns {
        return Ok(());
    }
    let mut sums = vec![0; frequent.len()];
    for (places, shares) in opened.iter().map(|(places, shares)| (places, shares)).chain([(&mine, &held)]) {
        places.iter().zip(shares.residues()).for_each(|(&place, share)| sums[place] = modulus.add(sums[place], *share));
    }
    for (&index, sum) in frequent.iter().zip(sums) {
        let set = candidates.get(index);
        let count = u32::try_from(sum).ok().filter(|&count| possible(count, level.most(set), params));
        if count.is_none() {
            let peers = exchange::peers(me, channels);
            let has = |(channel, peer): (_, &u8)| has_part(set, *peer).then_some(channel);
            let of_set: Vec<&Channel> = channels.iter().zip(&peers).filter_map(has).collect();
            return Err(violation_of_one(&of_set, POSSIBLE));
        }
        known[index] = count;
    }
    Ok(())
}

/// Some of the shares.
fn some(shares: &Shares, places: &[usize]) -> Result<Shares> {
    Shares::new(shares.modulus(), places.iter().map(|&place| shares.residues()[place]).collect())
}

/// Counts from shares: `with` says which of them each peer has a share of, and is told this party's.
pub(super) fn opened(shares: &Shares, with: &[Vec<usize>], channels: &mut [Channel]) -> Result<Vec<u32>> {
    let modulus = shares.modulus();
    let theirs = exchange::with_each(channels, with.iter().collect(), |places: &Vec<usize>, channel| {
        dot::exchange(&some(shares, places)?, true, true, channel)
    })?;
    let mut sums = shares.residues().to_vec();
    for (places, theirs) in with.iter().zip(theirs.iter().flatten()) {
        places.iter().zip(theirs.residues()).for_each(|(&place, share)| sums[place] = modulus.add(sums[place], *share));
    }
    let count = |(place, &sum): (usize, &u128)| u32::try_from(sum).map_err(|_| impossible_of(place, with, channels));
    sums.iter().enumerate().map(count).collect()
}

/// Whether counts that were told can be: each is that of a frequent itemset.
fn fit<'s>(
    mut told: impl Iterator<Item = (&'s [FrequentItem], &'s Option<u32>)>,
    level: &Level,
    params: &Params,
) -> bool {
    told.all(|(set, count)| count.is_none_or(|count| possible(count, level.most(set), params)))
}

/// Whether a frequent itemset can be in `count` rows, if those that it contains are in `most` at least.
pub(super) fn possible(count: u32, most: Option<u32>, params: &Params) -> bool {
    count as usize >= params.minimum && count <= most.unwrap_or(params.rows as u32)
}

/// The check of counts that a peer tells, or has a share of.
const POSSIBLE: &str = "a count is not between the minimum and those of smaller itemsets";

pub(super) fn impossible(channel: &Channel) -> Error {
    channel.violation(POSSIBLE)
}

/// The error for a count of which several have shares.
fn impossible_of(place: usize, with: &[Vec<usize>], channels: &[Channel]) -> Error {
    let has = |(channel, places): (_, &Vec<usize>)| places.contains(&place).then_some(channel);
    let peers: Vec<&Channel> = channels.iter().zip(with).filter_map(has).collect();
    violation_of_one(&peers, POSSIBLE)
}
