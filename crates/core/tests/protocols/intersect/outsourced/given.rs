//! Rows that parties give through a helper: exact, and closed where not all have the item.

use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;

use chacha20poly1305::aead::{AeadInOut, KeyInit};
use chacha20poly1305::{ChaCha20Poly1305, Key, Nonce, Tag};
use tacita_core::depot::{Depot, DepotParty, DepotStep, Parcel, Post, User};
use tacita_core::primitive::elgamal;
use tacita_core::primitive::elgamal::threshold::KeyShare;
use tacita_core::primitive::group::{Group, Point, Ristretto255, ScalarField};
use tacita_core::protocol::intersect::outsourced::meet::meet;
use tacita_core::protocol::intersect::outsourced::{
    BOUND_MASKS, ENTRIES, MASKS, MAX_GIVEN_BYTES, Met, OutsourcedGives, OutsourcedParty, OutsourcedReveal,
    OutsourcedValues, Params, ROWS, STORE, SUM, follow, helper, lead,
};
use tacita_core::session::Transcript;
use tacita_core::{Error, ErrorKind, Item, Result};

use crate::support::outsourced::{Ended, HEAD_BYTES, Learned, Outsourced, ROW_BYTES, Recorder, given_rows, payload};
use crate::support::rng;

const GROUP: &Ristretto255 = &Ristretto255;
const BOUND: usize = 16;
const SEALED: usize = 16 + ROW_BYTES + 16;

fn check(run: &Outsourced) {
    let (ends, shelf) = run.run();
    for (me, end) in ends.into_iter().enumerate() {
        assert_eq!(end.unwrap(), run.expected(me), "party {me} of {:?}", run.params);
        let moved = [run.params.bytes_left_by(me).unwrap(), run.params.bytes_collected_by(me).unwrap()];
        assert_eq!(shelf.moved(DepotParty::Party(me as u8)), moved, "bytes of party {me} of {:?}", run.params);
    }
    assert_eq!(shelf.moved(DepotParty::Helper), run.params.helper_bytes().unwrap());
}

#[test]
fn rows_of_two_to_four_parties_are_exact() {
    for parties in 2..=4 {
        let sets: Vec<Vec<usize>> = (0..parties).map(|party| (party * 2..12 - party).collect()).collect();
        check(&Outsourced::giving(&sets, BOUND, 0, &(1..parties).collect::<Vec<_>>()));
        check(&Outsourced::giving(&sets, BOUND, 1, &[0]));
        check(&Outsourced::giving(&sets, BOUND, 0, &[]));
    }
}

#[test]
fn rows_of_empty_single_and_unequal_sets_are_exact() {
    let small: [Vec<usize>; 4] = [vec![], vec![7], (0..9).collect(), (5..60).collect()];
    for (first, second) in [(0, 3), (3, 0), (1, 3), (3, 1), (2, 3), (1, 2), (0, 0)] {
        check(&Outsourced::giving(&[small[first].clone(), small[second].clone(), small[3].clone()], 80, 0, &[1, 2]));
        check(&Outsourced::giving(&[small[first].clone(), small[second].clone()], 80, 1, &[0]));
    }
    check(&Outsourced::giving(&[vec![], vec![]], 0, 0, &[1]));
}

#[test]
#[ignore = "slow: several parts"]
fn rows_of_several_parts_are_exact() {
    let sets: Vec<Vec<usize>> = (0..3).map(|party| (party..3200 - party).collect()).collect();
    check(&Outsourced::giving(&sets, 5000, 0, &[1, 2]));
}

/// The rows of a giver in a list of sealed ones that open with one of these masks for these numbers.
fn opened(met: &Met<Ristretto255>, giver: usize, numbers: &[usize], masks: &[Point], list: &[u8]) -> Vec<usize> {
    let list: HashMap<&[u8], &[u8]> = list.chunks(SEALED).map(|sealed| sealed.split_at(16)).collect();
    let encoded = GROUP.encode(masks);
    let mut open = Vec::new();
    for &number in numbers {
        let item = Item::new(&met.session.derive("item"), &number.to_le_bytes());
        for mask in encoded.chunks(32) {
            let mut hasher = blake3::Hasher::new_keyed(&met.session.derive("outsourced row"));
            hasher.update(&(giver as u64).to_le_bytes()).update(&0u64.to_le_bytes());
            let mut output = hasher.update(&item.0).update(mask).finalize_xof();
            let (mut tag, mut key) = ([0; 16], [0; 32]);
            output.fill(&mut tag);
            output.fill(&mut key);
            let Some(sealed) = list.get(&tag[..]) else { continue };
            let mut row = sealed[..ROW_BYTES].to_vec();
            let seal = Tag::try_from(&sealed[ROW_BYTES..]).unwrap();
            let cipher = ChaCha20Poly1305::new(&Key::from(key));
            cipher.decrypt_inout_detached(&Nonce::default(), &[], row.as_mut_slice().into(), &seal).unwrap();
            assert_eq!(row, given_rows(giver, number).1[..ROW_BYTES], "the row of {number}");
            open.push(number);
        }
    }
    open
}

/// The masks that are left at the leader of each of `entries` entries, which come from the party before.
fn masks_at<D: Depot>(job: &Outsourced, met: &Met<Ristretto255>, post: &Post<'_, D>) -> Result<Vec<Point>> {
    let width = 1 + job.params.gives().len();
    let (mut pairs, taken) = job.given(job.params.leader(), post, ENTRIES, BOUND * width, false)?;
    pairs.iter_mut().zip(&taken).for_each(|(pair, taken)| {
        pair[1] = GROUP.subtract(&pair[1..], std::slice::from_ref(taken)).remove(0);
    });
    Ok(met.share.strip(GROUP, &pairs))
}

/// Receives a giver's sealed rows, as the leader does.
fn sealed_rows<D: Depot>(post: &Post<'_, D>, giver: usize) -> Result<Vec<u8>> {
    assert_eq!(post.receive(ROWS, giver, 0, HEAD_BYTES)?, [giver as u8; HEAD_BYTES]);
    post.receive(ROWS, giver, 1, BOUND * SEALED)
}

/// The leader has some numbers with each giver alone, and some with all: with all that it has at the end, any mask for
/// any number, it opens the rows of the common ones alone.
#[test]
fn rows_that_are_not_common_stay_closed_to_the_leader() {
    let job = Outsourced::giving(&[vec![1, 2, 4, 5, 7, 8], vec![1, 2, 4, 5], vec![1, 2, 7, 8]], BOUND, 0, &[1, 2]);
    let open = Mutex::new(BTreeMap::new());
    let part = |me: usize, depot: &User<'_>| {
        job.part_then(me, &Recorder::new(depot), &mut rng(me as u8 + 1), |met, post| {
            if me == 0 {
                let masks = masks_at(&job, &met, post)?;
                for giver in [1, 2] {
                    let list = sealed_rows(post, giver)?;
                    assert!(list.chunks(SEALED).is_sorted(), "the order says which rows are dummies");
                    open.lock().unwrap().insert(giver, opened(&met, giver, &job.sets[0], &masks, &list));
                }
            }
            Ok(())
        })
    };
    let common = BTreeMap::from([(1, vec![1, 2]), (2, vec![1, 2])]);
    job.run_with(part).0.into_iter().for_each(|end| drop(end.unwrap()));
    assert_eq!(std::mem::take(&mut *open.lock().unwrap()), common);
    // The same over a helper that leaves its scalar out: those of the parties keep the others closed.
    job.run_beside(part, |depot| help_a_leader(&job.params, depot)).0.into_iter().for_each(|end| drop(end.unwrap()));
    assert_eq!(open.into_inner().unwrap(), common);
}

/// A helper that leaves out its scalar, and so pools with a leader.
fn help_a_leader(params: &Params, depot: &User<'_>) -> Result<()> {
    let parts = params.helper_parts()?;
    for (part, bytes) in (0..).zip(parts.iter().copied()) {
        let collect = |step, party| {
            let parcel = Parcel { step, from: DepotParty::Party(party), to: DepotParty::Helper };
            depot.collect(parcel, part, bytes)
        };
        let to_leader = |step| Parcel { step, from: DepotParty::Helper, to: DepotParty::Party(0) };
        let stores = [1, 2].map(|party| collect(STORE, party).map(|bytes| GROUP.decode(&bytes).unwrap()));
        let [first, second] = stores;
        depot.leave(to_leader(SUM), part, GROUP.encode(&GROUP.add(&first?, &second?)))?;
        for (number, giver) in [1, 2].into_iter().enumerate() {
            let masks = collect(MASKS, giver)?;
            depot.leave(to_leader(BOUND_MASKS), (number * parts.len()) as u32 + part, masks)?;
        }
    }
    Ok(())
}

/// A leader that passes encryptions of 0 in the place of what is to be tested. It is an honest leader over a depot that
/// changes nothing but the sum of stores, which it makes up: a store in which all are 0.
struct AllAreZero<'a> {
    depot: Recorder<'a>,
    joint: Mutex<Option<elgamal::ElGamalPublicKey<Ristretto255>>>,
}

impl Depot for AllAreZero<'_> {
    fn announce(&self, own: Vec<u8>) -> Result<Vec<Vec<u8>>> {
        let all = self.depot.announce(own)?;
        let keys: Vec<Point> = all.iter().map(|word| GROUP.decode(&word[..32]).unwrap().remove(0)).collect();
        let joint = keys.into_iter().reduce(|sum, key| GROUP.add(&[sum], &[key]).remove(0)).unwrap();
        let joint = elgamal::ElGamalPublicKey::from_bytes(GROUP, &GROUP.encode(&[joint])).unwrap();
        *self.joint.lock().unwrap() = Some(joint);
        Ok(all)
    }

    fn leave(&self, parcel: Parcel, part: u32, bytes: Vec<u8>) -> Result<()> {
        self.depot.leave(parcel, part, bytes)
    }

    fn collect(&self, parcel: Parcel, part: u32, length: usize) -> Result<Vec<u8>> {
        let bytes = self.depot.collect(parcel, part, length)?;
        if parcel.step != SUM {
            return Ok(bytes);
        }
        let joint = self.joint.lock().unwrap();
        let zeros = vec![GROUP.scalar(0); length / 64];
        Ok(elgamal::encode(GROUP, &joint.as_ref().unwrap().encrypt(GROUP, &zeros, &mut rng(part as u8 + 60))))
    }

    fn name(&self, place: DepotParty) -> String {
        self.depot.name(place)
    }
}

/// Returns the numbers, by giver, whose rows a leader opens that passes encryptions of 0.
fn opened_by_a_deviating_leader(
    helping: impl Fn(&Outsourced, &User<'_>) -> Result<()> + Sync,
) -> BTreeMap<usize, Vec<usize>> {
    let job = Outsourced::giving(&[vec![1, 2, 4, 5, 7, 8], vec![1, 2, 4, 5], vec![1, 2, 7, 8]], BOUND, 0, &[1, 2]);
    let open = Mutex::new(BTreeMap::new());
    let part = |me: usize, depot: &User<'_>| -> Ended {
        if me != 0 {
            return job.part(me, depot);
        }
        // What the leader's program makes of it is of no concern: all its dummies are common.
        let depot = AllAreZero { depot: Recorder::new(depot), joint: Mutex::default() };
        let (met, post) = meet(GROUP, 0, 3, &Transcript::new("test"), &depot, &mut rng(1))?;
        let key = met.session.derive("item");
        let items: Vec<Item> = job.sets[0].iter().map(|number| Item::new(&key, &number.to_le_bytes())).collect();
        let party = OutsourcedParty {
            me: 0,
            params: &job.params,
            items: &items,
            values: OutsourcedValues::Nothing,
            met: &met,
            post: &post,
        };
        let _ = lead(&party, &mut rng(2));
        let masks = masks_at(&job, &met, &post)?;
        for giver in [1, 2] {
            let list = sealed_rows(&post, giver)?;
            open.lock().unwrap().insert(giver, opened(&met, giver, &job.sets[0], &masks, &list));
        }
        Ok(None)
    };
    let ends = job.run_beside(part, |depot| helping(&job, depot)).0;
    assert!(ends.iter().all(Result::is_ok), "{ends:?}");
    open.into_inner().unwrap()
}

/// The helper's scalar keeps rows of items that not all have closed to a leader that does not follow the protocol, but
/// not to one that pools with the helper.
#[test]
fn a_leader_opens_no_other_rows_without_the_helper() {
    let alone = opened_by_a_deviating_leader(|job, depot| helper::run(&job.params, depot, &[7; 32]));
    assert_eq!(alone, BTreeMap::from([(1, vec![1, 2]), (2, vec![1, 2])]));
    let with_helper = opened_by_a_deviating_leader(|job, depot| help_a_leader(&job.params, depot));
    assert_eq!(with_helper, BTreeMap::from([(1, vec![1, 2, 4, 5]), (2, vec![1, 2, 7, 8])]));
}

/// Changes the bytes of a part.
type Change = dyn Fn(&mut Vec<u8>) + Sync;

/// A depot that changes the first part of a step that its user leaves.
struct Meddler<'a> {
    depot: &'a User<'a>,
    step: DepotStep,
    change: &'a Change,
}

impl Depot for Meddler<'_> {
    fn announce(&self, own: Vec<u8>) -> Result<Vec<Vec<u8>>> {
        self.depot.announce(own)
    }

    fn leave(&self, parcel: Parcel, part: u32, mut bytes: Vec<u8>) -> Result<()> {
        if parcel.step == self.step && part == 0 {
            (self.change)(&mut bytes);
        }
        self.depot.leave(parcel, part, bytes)
    }

    fn collect(&self, parcel: Parcel, part: u32, length: usize) -> Result<Vec<u8>> {
        self.depot.collect(parcel, part, length)
    }

    fn name(&self, place: DepotParty) -> String {
        self.depot.name(place)
    }
}

#[test]
fn stores_of_masks_and_rows_that_are_cut_or_changed_end_the_run() {
    let job = Outsourced::giving(&[(); 3].map(|()| vec![1, 2]), BOUND, 0, &[1, 2]);
    let changes: [&Change; 4] =
        [&|bytes| bytes.truncate(bytes.len() - 1), &|bytes| bytes.push(0), &|bytes| bytes.clear(), &|bytes| {
            bytes.fill(0xff)
        }];
    for (step, change) in [MASKS, ROWS, ENTRIES].into_iter().flat_map(|step| changes.map(|change| (step, change))) {
        let part = |me: usize, depot: &User<'_>| match me {
            2 => job.part(me, &Meddler { depot, step, change }),
            _ => job.part(me, depot),
        };
        let leader = job.run_with(part).0.remove(0);
        let error = leader.unwrap_err();
        let named = matches!(error.peer(), Some("c" | "the helper, or c,"));
        assert!(error.kind() != ErrorKind::Internal && named, "{}: {error}", step.name);
    }
    for change in changes {
        let helping =
            |depot: &User<'_>| helper::run(&job.params, &Meddler { depot, step: BOUND_MASKS, change }, &[7; 32]);
        let leader = job.run_beside(|me, depot| job.part(me, depot), helping).0.remove(0);
        assert!(matches!(&leader, Err(error) if error.to_string().starts_with("the helper")), "{leader:?}");
    }
}

/// A giver that has sealed its rows under other masks than it has told: its items are passed over, and the run ends as
/// if it did not have them.
#[test]
fn rows_that_are_sealed_wrongly_are_passed_over() {
    let job = Outsourced::giving(&[(); 3].map(|()| vec![1, 2]), BOUND, 0, &[1, 2]);
    let change = |bytes: &mut Vec<u8>| *bytes = GROUP.encode(&GROUP.random_points(bytes.len() / 32, &mut rng(50)));
    let part = |me: usize, depot: &User<'_>| match me {
        2 => job.part(me, &Meddler { depot, step: MASKS, change: &change }),
        _ => job.part(me, depot),
    };
    let ends: Vec<_> = job.run_with(part).0.into_iter().map(Result::unwrap).collect();
    assert_eq!(ends[1..], [None, None]);
    let Some(Learned::Rows(common, given)) = &ends[0] else { panic!("{ends:?}") };
    assert!(common.is_empty() && given.len() == 2 && given.iter().all(|given| given.rows.items() == 0), "{ends:?}");
}

#[test]
fn who_takes_another_share_off_than_its_own_is_named() {
    let job = Outsourced::giving(&[(); 3].map(|()| vec![1, 2]), BOUND, 0, &[1, 2]);
    let part = |me: usize, depot: &User<'_>| {
        if me != 1 {
            return job.part(me, depot);
        }
        let mut rng = rng(20);
        let (mut met, post) = meet(GROUP, me, 3, &Transcript::new("test"), depot, &mut rng)?;
        met.share = KeyShare::generate(GROUP, &mut rng);
        let rows = payload(me, []);
        let values = OutsourcedValues::Rows(&[1; HEAD_BYTES], &rows);
        let party = OutsourcedParty { me, params: &job.params, items: &[], values, met: &met, post: &post };
        Ok(follow(&party, &mut rng)?.map(Learned::Found))
    };
    let ends = job.run_with(part).0;
    assert!(matches!(&ends[2], Err(Error::Protocol { peer, .. }) if peer == "b"), "{ends:?}");
}

/// Rows of another number, length or party than agreed on leave nothing, and neither do terms that no run can have.
#[test]
fn rows_that_do_not_fit_what_was_agreed_on_are_refused() {
    let job = Outsourced::giving(&[vec![1], vec![3, 6, 9]], 5, 0, &[1]);
    let (ends, shelf) = job.run();
    assert!(ends.iter().all(Result::is_err), "six rows, and five agreed on: {ends:?}");
    assert_eq!(ends[1].as_ref().unwrap_err().kind(), ErrorKind::Internal);
    assert_eq!(shelf.moved(DepotParty::Party(1))[0], 0);
    let with = |learners: &[usize], party, row_bytes| {
        let params = Params::new(3, 8, 0, learners.to_vec(), OutsourcedReveal::Payload)?;
        params.giving(vec![OutsourcedGives { party, head_bytes: 1, row_bytes }])
    };
    assert!(with(&[0], 2, MAX_GIVEN_BYTES).is_ok());
    assert!(with(&[0], 2, MAX_GIVEN_BYTES + 1).is_err() && with(&[0, 1], 2, 1).is_err());
    assert!(with(&[0], 0, 1).is_err() && with(&[0], 3, 1).is_err());
}
