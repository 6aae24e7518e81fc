//! Programs of their own, which have another party named for what they do, or trace entries through honest hands. Each
//! won against parties that passed on what they were given without re-randomising it.

use chacha20::ChaCha20Rng;
use tacita_core::depot::{Depot, DepotParty, DepotStep, Parcel, User};
use tacita_core::primitive::elgamal;
use tacita_core::primitive::elgamal::threshold::Contribution;
use tacita_core::primitive::group::{Group, Point, Ristretto255, ScalarField};
use tacita_core::protocol::intersect::outsourced::meet::meet;
use tacita_core::protocol::intersect::outsourced::{
    CATEGORIES, ENTRIES, Met, OPENED, OutsourcedReveal, STORE, SUM, VALUES, helper,
};
use tacita_core::session::Transcript;
use tacita_core::{Error, Result};

use crate::support::outsourced::{Ended, Outsourced, Recorder};
use crate::support::rng;

const GROUP: &Ristretto255 = &Ristretto255;
const BOUND: usize = 8;

fn job(reveal: OutsourcedReveal) -> Outsourced {
    Outsourced::new(&[(); 4].map(|()| vec![1, 2]), BOUND, 0, &[0], reveal)
}

/// A run in which the party at `who` has another program.
fn with_program(job: &Outsourced, who: usize, program: impl Fn(&User<'_>) -> Result<()> + Sync) -> Vec<Ended> {
    let part =
        |me: usize, depot: &User<'_>| if me == who { program(depot).map(|()| None) } else { job.part(me, depot) };
    job.run_with(part).0
}

/// Honest ones come to their end, or name nobody but the deviating one.
fn nobody_else_is_named(ends: &[Ended], who: usize) {
    for (me, end) in ends.iter().enumerate() {
        let named = match end {
            Ok(_) => None,
            Err(Error::Protocol { peer, .. }) => Some(peer.as_str()),
            Err(error) => panic!("party {me}: {error:?}"),
        };
        assert!(named.is_none_or(|name| name == ["a", "b", "c", "d"][who]), "party {me} names {named:?}: {ends:?}");
    }
}

fn random_pairs(count: usize, rng: &mut ChaCha20Rng) -> Vec<[Point; 2]> {
    let points = GROUP.random_points(2 * count, rng);
    points.chunks(2).map(|pair| [pair[0].clone(), pair[1].clone()]).collect()
}

/// Transcript to which proofs are bound.
fn about(met: &Met<Ristretto255>, step: DepotStep) -> Transcript {
    let mut about = Transcript::new("outsourced decryption");
    about.append("session", met.session.id()).append("step", step.name.as_bytes());
    about.append("part", &0u32.to_le_bytes());
    about
}

/// A store of nothing.
fn leave_store(job: &Outsourced, me: usize, depot: &User<'_>, rng: &mut ChaCha20Rng) -> Result<()> {
    let own = Parcel { step: STORE, from: DepotParty::Party(me as u8), to: DepotParty::Helper };
    for (part, bytes) in (0..).zip(job.params.helper_parts()?) {
        depot.leave(own, part, GROUP.encode(&GROUP.random_points(bytes / 32, rng)))?;
    }
    Ok(())
}

/// Checks a party that passes an entry of which nothing is left once the party's share is off. The next party then must
/// not be named for passing on the identity.
#[test]
fn a_party_cannot_have_the_next_one_named() {
    let job = job(OutsourcedReveal::Count);
    let ends = with_program(&job, 1, |depot| {
        let mut rng = rng(30);
        let (met, post) = meet(GROUP, 1, 4, &Transcript::new("test"), depot, &mut rng)?;
        leave_store(&job, 1, depot, &mut rng)?;
        let (mut entries, _) = job.given(1, &post, ENTRIES, BOUND, false)?;
        let Contribution { sums, proof } =
            met.share.contribute(GROUP, 1, &entries, &[], &about(&met, ENTRIES), &mut rng);
        entries[0][1] = sums[0].clone();
        let bytes = [elgamal::encode(GROUP, &entries), GROUP.encode(&sums), proof.encode(GROUP)].concat();
        post.send(ENTRIES, 2, 0, bytes)
    });
    nobody_else_is_named(&ends, 1);
}

/// Checks a leader that passes s G and s Y, for the key of the first of the others. That party then passes on nothing
/// but its share, and must not be named.
#[test]
fn a_leader_cannot_have_another_named() {
    for step in [ENTRIES, OPENED] {
        let job = job(OutsourcedReveal::Sum { giver: 0, bits: 10 });
        let ends = with_program(&job, 0, |depot| {
            let mut rng = rng(31);
            let (met, post) = meet(GROUP, 0, 4, &Transcript::new("test"), depot, &mut rng)?;
            let key = GROUP.decode(&met.keys[1].to_bytes(GROUP)).unwrap();
            let factor = GROUP.random_scalars(1, &mut rng);
            let crafted = [GROUP.multiply_generator(&factor).remove(0), GROUP.multiply(&key, &factor[0]).remove(0)];
            let mut entries = random_pairs(2 * BOUND, &mut rng);
            if step == ENTRIES {
                entries[0] = crafted.clone();
            }
            post.send(ENTRIES, 1, 0, elgamal::encode(GROUP, &entries))?;
            job.given(0, &post, ENTRIES, BOUND, true)?;
            post.send(OPENED, 1, 0, elgamal::encode(GROUP, &[crafted]))?;
            job.given(0, &post, OPENED, 1, false).map(drop)
        });
        nobody_else_is_named(&ends, 0);
    }
}

/// Checks stores of all others that cancel each other: the helper passes no identity on, for which it would be named.
#[test]
fn stores_that_cancel_each_other_do_not_have_the_helper_named() {
    let job = Outsourced::new(&[(); 3].map(|()| vec![1, 2]), BOUND, 0, &[0], OutsourcedReveal::Count);
    let points = GROUP.random_points(job.params.helper_parts().unwrap().iter().sum::<usize>() / 32, &mut rng(33));
    let minus = GROUP.subtract(&vec![GROUP.combine(&[], &[]); points.len()], &points);
    let part = |me: usize, depot: &User<'_>| {
        if me == 0 {
            return job.part(me, depot);
        }
        meet(GROUP, me, 3, &Transcript::new("test"), depot, &mut rng(me as u8))?;
        let own = Parcel { step: STORE, from: DepotParty::Party(me as u8), to: DepotParty::Helper };
        let mut rest = if me == 1 { &points[..] } else { &minus[..] };
        for (part, bytes) in (0..).zip(job.params.helper_parts()?) {
            let (own_part, after) = rest.split_at(bytes / 32);
            rest = after;
            depot.leave(own, part, GROUP.encode(own_part))?;
        }
        Ok(None)
    };
    let helping = |depot: &User<'_>| {
        let ended = helper::run(&job.params, depot, &[7; 32]);
        assert!(matches!(&ended, Err(Error::Protocol { peer, .. }) if peer == "b, or c,"), "{ended:?}");
        ended
    };
    let ends = job.run_beside(part, helping).0;
    assert!(!ends[0].as_ref().unwrap_err().to_string().starts_with("the helper"), "{ends:?}");
}

/// Counts the returned entries that a leader can assign to those it sent. Every other one of these is 0, as for an item
/// that all have. To the second half of each, the leader has added `mark` times its place times the first half.
/// Multiplied by whatever number, the halves stay in that proportion.
fn traced(mark: u64) -> usize {
    let job = job(OutsourcedReveal::Count);
    let traced = std::sync::Mutex::new(0);
    let ends = with_program(&job, 0, |depot| {
        let mut rng = rng(32);
        let (met, post) = meet(GROUP, 0, 4, &Transcript::new("test"), depot, &mut rng)?;
        let zeros = met.joint.encrypt(GROUP, &vec![GROUP.scalar(0); BOUND / 2], &mut rng);
        let others = random_pairs(BOUND / 2, &mut rng);
        let mut entries: Vec<_> = zeros.into_iter().zip(others).flat_map(|(zero, other)| [zero, other]).collect();
        let marks: Vec<_> = (1..=BOUND as u64).map(|place| GROUP.scalar(mark * place)).collect();
        for (pair, mark) in entries.iter_mut().zip(&marks) {
            pair[1] = GROUP.add(&pair[1..], &GROUP.multiply(&pair[..1], mark)).remove(0);
        }
        post.send(ENTRIES, 1, 0, elgamal::encode(GROUP, &entries))?;
        let (mut back, taken) = job.given(0, &post, ENTRIES, BOUND, false)?;
        for (pair, taken) in back.iter_mut().zip(taken) {
            pair[1] = GROUP.subtract(&pair[1..], &[taken]).remove(0);
        }
        let opened = met.share.strip(GROUP, &back);
        let is_marked = |([first, _], value): (&[Point; 2], &Point)| {
            marks.iter().any(|mark| {
                let expected = GROUP.multiply(std::slice::from_ref(first), mark);
                GROUP.any_identity(&GROUP.subtract(&expected, std::slice::from_ref(value)))
            })
        };
        *traced.lock().unwrap() = back.iter().zip(&opened).filter(|entry| is_marked(*entry)).count();
        Ok(())
    });
    assert!(ends.iter().all(Result::is_ok), "{ends:?}");
    traced.into_inner().unwrap()
}

#[test]
fn a_leader_cannot_trace_entries() {
    assert_eq!(traced(0), BOUND / 2, "without marks, what is 0 comes back as 0");
    assert_eq!(traced(1), 0, "a leader sees which of its entries are 0");
}

/// Columns whose second halves are all the first ones times one number: so is whatever is looked up in them, whatever
/// the items are.
fn proportional(bytes: usize, factor: &<Ristretto255 as ScalarField>::Scalar, rng: &mut ChaCha20Rng) -> Vec<u8> {
    let first = GROUP.random_points(bytes / 64, rng);
    let second = GROUP.multiply(&first, factor);
    GROUP.encode(&first.into_iter().zip(second).flat_map(|(first, second)| [first, second]).collect::<Vec<_>>())
}

/// Counts the ciphertexts whose halves are in that proportion.
fn in_proportion(pairs: &[[Point; 2]], factor: &<Ristretto255 as ScalarField>::Scalar) -> usize {
    let is_one =
        |pair: &&[Point; 2]| GROUP.any_identity(&GROUP.subtract(&GROUP.multiply(&pair[..1], factor), &pair[1..]));
    pairs.iter().filter(is_one).count()
}

/// A helper that makes up the sum of stores, with the party to whom the leader passes entries on: what it has planted
/// is in none of them. In a part of the columns, it would tell which items the leader has.
#[test]
fn a_helper_cannot_find_in_the_entries_what_it_has_planted() {
    for reveal in [OutsourcedReveal::Rows, OutsourcedReveal::Count] {
        let (job, factor) = (job(reveal), GROUP.random_scalars(1, &mut rng(40)).remove(0));
        let planted = std::sync::Mutex::new(None);
        let part = |me: usize, depot: &User<'_>| {
            job.part_then(me, &Recorder::new(depot), &mut rng(me as u8), |_, post| {
                if me == 1 {
                    let entries = job.given(me, post, ENTRIES, BOUND, false)?.0;
                    *planted.lock().unwrap() = Some(in_proportion(&entries, &factor));
                }
                Ok(())
            })
        };
        let helping = |depot: &User<'_>| {
            let sum = Parcel { step: SUM, from: DepotParty::Helper, to: DepotParty::Party(0) };
            (0..)
                .zip(job.params.helper_parts()?)
                .try_for_each(|(part, bytes)| depot.leave(sum, part, proportional(bytes, &factor, &mut rng(41))))
        };
        let ends = job.run_beside(part, helping).0;
        assert!(ends.iter().all(Result::is_ok), "{ends:?}");
        assert_eq!(planted.into_inner().unwrap(), Some(0), "{reveal:?}");
    }
}

/// A giver that is the next after the leader, and makes up the store of its values: what it has planted is in none of
/// the leader's.
#[test]
fn a_giver_cannot_find_in_the_values_what_it_has_planted() {
    for reveal in [OutsourcedReveal::Sum { giver: 1, bits: 10 }, OutsourcedReveal::Counts { giver: 1, categories: 4 }] {
        let (job, factor) = (job(reveal), GROUP.random_scalars(1, &mut rng(42)).remove(0));
        let planted = std::sync::Mutex::new(None);
        with_program(&job, 1, |depot| {
            let mut rng = rng(43);
            let (_, post) = meet(GROUP, 1, 4, &Transcript::new("test"), depot, &mut rng)?;
            leave_store(&job, 1, depot, &mut rng)?;
            for (part, bytes) in (0..).zip(job.params.helper_parts()?) {
                post.send(VALUES, 0, part, proportional(bytes, &factor, &mut rng))?;
            }
            if let OutsourcedReveal::Counts { categories, .. } = reveal {
                post.send(CATEGORIES, 0, 0, vec![0; categories * (16 + 1 + 255 + 16)])?;
            }
            let values = job.values_given(1, &post, BOUND)?;
            *planted.lock().unwrap() = Some(in_proportion(&values, &factor));
            Err(Error::Interrupted)
        });
        assert_eq!(planted.into_inner().unwrap(), Some(0), "{reveal:?}");
    }
}
