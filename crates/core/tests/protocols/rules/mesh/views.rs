//! Messages of rules among several: all that a party receives follows from the result, or is uniform; so it does for
//! any that pool what they see. What a coalition receives in products and comparisons is looked at in
//! `protocols/mesh/views.rs`; here, what travels beside them, and how much. Leaky variants fail the same checks.

use std::sync::{Arc, Mutex};

use tacita_core::primitive::ot::MESSAGES;
use tacita_core::protocol::dot::SHARES;
use tacita_core::protocol::mesh::DIGESTS;
use tacita_core::protocol::rules::association::Consequents;
use tacita_core::protocol::rules::itemsets::{FrequentItem, ItemsetOwner, Itemsets, has_part, mixed_pairs};
use tacita_core::protocol::rules::{
    FIT, Frequent, ITEMS, Learners, Mined, Params, RevealedCounts, SUPPORTS, TOLD, write_counts, write_told,
};
use tacita_core::protocol::shares::ANSWERS;

use super::super::results::{Case, Set, params, terms};
use super::super::views::unpack;
use crate::support::many::run_parties;
use crate::support::mesh::Source;
use crate::support::views::{Check, byte_counts, uniform};
use crate::support::{Frame, tapped};

/// Counts are shared modulo 2^8: a share is a byte.
const ROWS: usize = 64;
const LIMIT: usize = 10_000;
/// Items of each party, all frequent.
const ITEMS_OF: usize = 3;
const RUNS: u8 = 40;

fn case(parties: usize, reveal: RevealedCounts) -> Case {
    let items = parties * ITEMS_OF;
    let holds =
        |row: usize, item: usize| blake3::hash(&[row as u8, item as u8]).as_bytes()[0] < 150 + 8 * (item % 4) as u8;
    let rows: Vec<Set> = (0..ROWS).map(|row| (0..items).filter(|&item| holds(row, item)).collect()).collect();
    let params = params(ROWS, 15, reveal, terms("0.7", Consequents::Any, false));
    Case { rows, parties, owners: (0..items).map(|item| item % parties).collect(), params, dealt: true }
}

/// One frame, from one party to another.
type Sent = (usize, usize, Frame);

/// Frames of a run, and what all found.
struct Run {
    frames: Vec<Sent>,
    mined: Vec<Mined>,
}

fn run(case: &Case, source: Source, seed: u8) -> Run {
    let frames: Arc<Mutex<Vec<Sent>>> = Arc::default();
    let tap = |from: usize, to: usize| -> Arc<dyn Fn(Frame) -> Option<Vec<Frame>> + Send + Sync> {
        let frames = frames.clone();
        Arc::new(move |frame: Frame| {
            if frame.kind == Frame::DATA {
                frames.lock().unwrap().push((from, to, frame.clone()));
            }
            Some(vec![frame])
        })
    };
    let wire = |one: usize, other: usize| tapped(tap(one, other), tap(other, one));
    let ended = run_parties(case.parties, &wire, |me, channels| case.part(me, source, seed, channels));
    let mined = ended.into_iter().map(|ended| ended.unwrap().0).collect();
    let frames = std::mem::take(&mut *frames.lock().unwrap());
    Run { frames, mined }
}

impl Run {
    /// Messages from one to another with a label, in order.
    fn messages(&self, from: usize, to: usize, label: u8) -> Vec<&[u8]> {
        let sent = self.frames.iter().filter(|(one, other, frame)| (*one, *other, frame.label) == (from, to, label));
        sent.map(|(_, _, frame)| &frame.payload[..]).collect()
    }

    /// The result of the first party, which learns in all of these.
    fn frequent(&self) -> &Frequent {
        &self.mined[0].frequent
    }
}

/// Candidates of each length, one party's each and mixed ones, as the result shows them.
fn levels(parties: usize, frequent: &Frequent) -> Vec<(Vec<Itemsets>, Itemsets)> {
    let sets = |kind, length| frequent.of(kind, length).map_or(Itemsets::none(length), |counted| counted.sets.clone());
    let level = |length: usize| {
        let one = (0..parties as u8).map(|party| sets(ItemsetOwner::One(party), length - 1).candidates(LIMIT).unwrap());
        let mixed = match length {
            2 => mixed_pairs(&vec![ITEMS_OF as u32; parties], LIMIT),
            _ => sets(ItemsetOwner::Mixed, length - 1)
                .mixed_candidates(LIMIT, |part| part.len() + 1 < length || frequent.count(part).is_some()),
        };
        (one.collect::<Vec<_>>(), mixed.unwrap())
    };
    let any = |level: &(Vec<Itemsets>, Itemsets)| !level.1.is_empty() || level.0.iter().any(|sets| !sets.is_empty());
    (2..).map(level).take_while(any).collect()
}

/// Messages from one party to another that tell counts, made from the result: to one that does not learn, which there
/// are.
fn told(
    from: u8,
    to: u8,
    levels: &[(Vec<Itemsets>, Itemsets)],
    frequent: &Frequent,
    learners: Learners,
) -> Vec<Vec<u8>> {
    let counts = |sets: &[&[FrequentItem]]| sets.iter().map(|set| frequent.count(set)).collect::<Vec<_>>();
    let write_counts =
        |counts: &[Option<u32>]| if learners.contains(to) { write_counts(counts) } else { write_told(counts) };
    let mut sent = vec![write_counts(&counts(&Itemsets::singles(from, ITEMS_OF as u32).iter().collect::<Vec<_>>()))];
    for (one, mixed) in levels {
        if !one[usize::from(from)].is_empty() || !one[usize::from(to)].is_empty() {
            sent.push(write_counts(&counts(&one[usize::from(from)].iter().collect::<Vec<_>>())));
        }
        let tells = |teller: u8, other: u8| {
            let of = move |set: &&[FrequentItem]| set[0].party == teller && !has_part(set, other);
            mixed.iter().filter(of).collect::<Vec<_>>()
        };
        if !tells(from, to).is_empty() || !tells(to, from).is_empty() {
            sent.push(write_told(&counts(&tells(from, to))));
        }
    }
    sent
}

/// Messages from each party to each other are what the result says: of itemsets that it has no part in, which are
/// frequent; of its own candidates the answers; of frequent ones, to those who learn, shares of the counts.
fn follows_from_result(case: &Case, run: &Run) -> Check {
    let (parties, frequent, learners) = (case.parties as u8, run.frequent(), case.params.learners);
    let levels = levels(case.parties, frequent);
    for (from, to) in (0..parties).flat_map(|from| (0..parties).filter(move |to| *to != from).map(move |to| (from, to)))
    {
        let (one, other) = (usize::from(from), usize::from(to));
        let of = |label: u8| run.messages(one, other, label);
        let fit = if learners.are_all(case.parties) { vec![] } else { vec![&[1][..]] };
        if of(ITEMS.code) != [(ITEMS_OF as u32).to_le_bytes()] || !of(TOLD.code).is_empty() || of(FIT.code) != fit {
            return Err("not the numbers of items".into());
        }
        if of(SUPPORTS.code) != told(from, to, &levels, frequent, learners) {
            return Err("not the supports of the result".into());
        }
        // Both have the digests of the same things.
        if of(DIGESTS.code) != run.messages(other, one, DIGESTS.code) {
            return Err("not the digests of the result".into());
        }
        // Answers of candidates of both alone, shares of frequent ones alone, to those who learn.
        let both = |set: &&[FrequentItem]| has_part(set, from) && has_part(set, to);
        let opened =
            |set: &&[FrequentItem]| has_part(set, from) && learners.contains(to) && frequent.count(set).is_some();
        let (mut answers, mut shares) = (0, 0);
        for (_, mixed) in &levels {
            answers += mixed.iter().filter(both).count();
            shares += mixed.iter().filter(opened).count();
        }
        let bytes: usize = of(SHARES.code).iter().map(|message| message.len()).sum();
        let bits: usize = of(ANSWERS.code).iter().map(|message| 8 * message.len()).sum();
        if bytes != shares || bits < answers || bits >= answers + 8 * of(ANSWERS.code).len() {
            return Err(format!("{from} opens {bytes} shares and {bits} answers to {to}, not {shares} and {answers}"));
        }
    }
    // Each party sends all others the same share of a frequent candidate, and these add up to its count. Of one that
    // alone learns, its own are not seen.
    for (_, mixed) in levels.iter().filter(|_| learners.are_all(case.parties)) {
        for set in mixed.iter().filter(|set| frequent.count(set).is_some()) {
            let share = |from: u8, to: u8| {
                let opened = levels.iter().flat_map(|(_, mixed)| mixed.iter());
                let opened = opened.filter(|set| has_part(set, from) && frequent.count(set).is_some());
                let at = opened.take_while(|other| other != &set).count();
                let sent: Vec<u8> = run.messages(from.into(), to.into(), SHARES.code).concat();
                unpack(&sent, 8).get(at).copied().unwrap_or(u64::MAX >> 8)
            };
            let mut sum = 0;
            for from in (0..parties).filter(|party| has_part(set, *party)) {
                let own = share(from, (from + 1) % parties);
                if (0..parties).any(|to| to != from && share(from, to) != own) {
                    return Err("not the same share to all".into());
                }
                sum += own;
            }
            if Some((sum % 256) as u32) != frequent.count(set) {
                return Err("not the counts of the result".into());
            }
        }
    }
    Ok(())
}

/// Shares that the parties of a candidate open, by run and candidate, in the order of its parties.
fn opened_shares(case: &Case, run: &Run) -> Vec<Vec<(usize, u8)>> {
    let (parties, frequent) = (case.parties, run.frequent());
    let levels = levels(parties, frequent);
    let sets = || levels.iter().flat_map(|(_, mixed)| mixed.iter()).filter(|set| frequent.count(set).is_some());
    let of_party = |from: usize| -> Vec<u8> { run.messages(from, (from + 1) % parties, SHARES.code).concat() };
    let sent: Vec<Vec<u8>> = (0..parties).map(of_party).collect();
    let shares_of = |set: &[FrequentItem]| {
        let of = |party: usize| has_part(set, party as u8);
        let at = |party: usize| {
            sets().take_while(|other| *other != set).filter(|other| has_part(other, party as u8)).count()
        };
        (0..parties).filter(|party| of(*party)).map(|party| (party, sent[party][at(party)])).collect()
    };
    sets().map(shares_of).collect()
}

/// Checks what a coalition has of each candidate with two or more honest parties: the share of an honest one, beside
/// all shares of its own. Whatever it adds up, the sum is uniform over all runs.
fn joint_views_are_uniform(parties: usize, opened: &[Vec<(usize, u8)>], coalition: &[usize]) -> Check {
    let is_in = |party: &usize| coalition.contains(party);
    for honest in (0..parties).filter(|party| !is_in(party)) {
        for sign in [1u8, u8::MAX] {
            let mut counts = vec![0; 16];
            for shares in opened {
                let others = shares.iter().filter(|(party, _)| !is_in(party) && *party != honest).count();
                let Some((_, share)) = shares.iter().find(|(party, _)| *party == honest) else { continue };
                if others == 0 {
                    continue;
                }
                let own = shares.iter().filter(|(party, _)| is_in(party)).map(|(_, share)| share);
                let sum = own.fold(*share, |sum, share| sum.wrapping_add(sign.wrapping_mul(*share)));
                counts[usize::from(sum >> 4)] += 1;
            }
            if counts.iter().sum::<u64>() >= 80 {
                uniform("joint shares", &counts).map_err(|error| format!("{coalition:?} of {honest}: {error}"))?;
            }
        }
    }
    Ok(())
}

/// Every coalition of three and of four parties: shares that the others open are uniform beside its own, but for their
/// sum, which the count says.
#[test]
fn coalitions_see_what_follows_from_the_result() {
    for parties in [3, 4] {
        let case = case(parties, RevealedCounts::Frequent);
        let runs = (0..RUNS).map(|seed| run(&case, Source::Dealer(seed.into()), seed));
        let opened: Vec<Vec<(usize, u8)>> = runs.flat_map(|run| opened_shares(&case, &run)).collect();
        assert!(opened.iter().filter(|shares| shares.len() == 3).count() > 80, "some are of three");
        for set in 1..(1u32 << parties) - 1 {
            let coalition: Vec<usize> = (0..parties).filter(|party| set >> party & 1 == 1).collect();
            joint_views_are_uniform(parties, &opened, &coalition).unwrap();
        }
        // Weakened: an honest party opens what a party of the coalition knows, as where no zeros are added.
        let mut known = opened;
        for shares in known.iter_mut().filter(|shares| shares.len() > 2) {
            shares[1].1 = shares[0].1.wrapping_add(3);
        }
        let coalition = [known.iter().find(|shares| shares.len() > 2).unwrap()[0].0];
        let only: Vec<Vec<(usize, u8)>> =
            known.into_iter().filter(|shares| shares.len() > 2 && shares[0].0 == coalition[0]).collect();
        joint_views_are_uniform(parties, &only, &coalition).unwrap_err();
    }
}

/// Over all runs what each sends to each other in products, comparisons and openings is uniform, and so are the numbers
/// of items.
fn uniform_over_runs(case: &Case, runs: &[Run]) -> Check {
    let parties = case.parties;
    for (from, to) in
        (0..parties).flat_map(|from| (0..parties).map(move |to| (from, to))).filter(|(from, to)| from != to)
    {
        let bytes = |label: u8, cut: usize| -> Vec<u8> {
            let all = runs.iter().flat_map(|run| run.messages(from, to, label));
            all.flat_map(|message| message[..message.len() - cut].to_vec()).collect()
        };
        // Few shares are opened over one link: they are looked at by halves.
        let shares = bytes(SHARES.code, 0);
        let mut halves = vec![0; 16];
        shares
            .iter()
            .for_each(|byte| [byte & 15, byte >> 4].map(usize::from).iter().for_each(|half| halves[*half] += 1));
        if shares.len() < 5 * halves.len() {
            return Err(format!("{} bytes of shares are too few", shares.len()));
        }
        uniform("shares", &halves)?;
        if from < to {
            // The last byte of a message may have bits to spare.
            let messages = bytes(MESSAGES.code, 1);
            if messages.len() < 256 * 5 {
                return Err(format!("{} bytes of messages are too few", messages.len()));
            }
            uniform("messages", &byte_counts(messages.into_iter()))?;
        }
    }
    let mut places = vec![0; ITEMS_OF * ITEMS_OF];
    for mined in runs.iter().flat_map(|run| &run.mined) {
        mined.items.iter().enumerate().for_each(|(number, item)| places[number * ITEMS_OF + item] += 1);
    }
    uniform("items' numbers", &places)
}

#[test]
fn everything_follows_from_the_result() {
    for parties in [3, 4] {
        let case = case(parties, RevealedCounts::Frequent);
        let runs: Vec<Run> = (0..RUNS).map(|seed| run(&case, Source::Dealer(seed.into()), seed)).collect();
        runs.iter().for_each(|run| follows_from_result(&case, run).unwrap());
        uniform_over_runs(&case, &runs).unwrap();
        // There is something to hide, and something of all kinds.
        let frequent = runs[0].frequent();
        let candidates: usize = levels(parties, frequent).iter().map(|(_, mixed)| mixed.len()).sum();
        let mixed = frequent.mixed().count();
        assert!(mixed > 10 && candidates > mixed + 5, "{mixed} of {candidates}");
        assert!((2..=3).all(|of| frequent.mixed().any(|(set, _)| (0..4).filter(|p| has_part(set, *p)).count() == of)));
    }
}

/// The same if one party of three or two of four learn. No count and no share goes to the others.
#[test]
fn who_does_not_learn_sees_which_are_frequent() {
    for (parties, learners) in [(3, vec![0]), (3, vec![0, 2]), (4, vec![0, 3])] {
        let case = case(parties, RevealedCounts::Frequent);
        let learners = Learners::of(learners);
        let case = Case { params: Params { learners, ..case.params }, ..case };
        for seed in 0..5 {
            let run = run(&case, Source::Dealer(seed.into()), seed);
            follows_from_result(&case, &run).unwrap();
            let all = (0..parties).map(|from| (0..parties).map(move |to| (from, to)));
            for (from, to) in all.flatten().filter(|(_, to)| !learners.contains(*to as u8)) {
                assert!(run.messages(from, to, SHARES.code).is_empty(), "{from} to {to}");
            }
        }
        // What all learn is more than some may.
        let all = run(
            &Case { params: Params { learners: Learners::ALL, ..case.params }, ..case.clone() },
            Source::Dealer(1),
            1,
        );
        follows_from_result(&case, &all).unwrap_err();
    }
}

#[test]
fn leaky_variants_fail() {
    let good = case(3, RevealedCounts::Frequent);
    let with = |change: &dyn Fn(&mut Run)| {
        let mut run = run(&good, Source::Dealer(1), 1);
        change(&mut run);
        follows_from_result(&good, &run)
    };
    with(&|_| ()).unwrap();
    // All counts are opened.
    let all = run(&case(3, RevealedCounts::Counts), Source::Dealer(1), 1);
    follows_from_result(&good, &all).unwrap_err();
    // One share more is opened, or one of another count.
    let shares = |run: &mut Run| run.frames.iter().position(|(_, _, frame)| frame.label == SHARES.code).unwrap();
    with(&|run| {
        let at = shares(run);
        run.frames[at].2.payload.push(7);
    })
    .unwrap_err();
    with(&|run| {
        let at = shares(run);
        run.frames[at].2.payload[0] ^= 1;
    })
    .unwrap_err();
    // A count that is not frequent is told to whoever has no part in it.
    with(&|run| {
        let last = run.frames.iter().rposition(|(_, _, frame)| frame.label == SUPPORTS.code).unwrap();
        let payload = &mut run.frames[last].2.payload;
        payload.extend([1, 0, 0, 0]);
    })
    .unwrap_err();
    // Transfers that hide nothing: who chooses sees columns, and shares of prefixes.
    let runs: Vec<Run> = (0..RUNS).map(|seed| run(&good, Source::EqualBlocks(seed.into()), seed)).collect();
    assert!(uniform_over_runs(&good, &runs).unwrap_err().contains("messages"));
    // The same share in every run, as of a sharing of zero and transfers that are used twice.
    let runs: Vec<Run> = (0..RUNS).map(|seed| run(&good, Source::Dealer(1), seed)).collect();
    assert!(uniform_over_runs(&good, &runs).is_err());
    // Numbers that are the items' order.
    let mut runs: Vec<Run> = (0..RUNS).map(|seed| run(&good, Source::Dealer(seed.into()), seed)).collect();
    runs.iter_mut().flat_map(|run| &mut run.mined).for_each(|mined| mined.items.sort());
    assert!(uniform_over_runs(&good, &runs).unwrap_err().contains("numbers"));
}
