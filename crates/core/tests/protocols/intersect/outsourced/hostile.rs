//! Parties and helpers that do not keep to the protocol.

use std::sync::{Mutex, OnceLock};

use tacita_core::depot::{Depot, DepotParty, DepotStep, Parcel, User};
use tacita_core::primitive::elgamal::threshold::KeyShare;
use tacita_core::primitive::elgamal::{self, ElGamalPublicKey};
use tacita_core::primitive::group::{Group, Ristretto255, ScalarField};
use tacita_core::protocol::intersect::outsourced::meet::{announcement_bytes, meet};
use tacita_core::protocol::intersect::outsourced::{
    CATEGORIES, ENTRIES, OPENED, OutsourcedParty, OutsourcedReveal, OutsourcedValues, Params, STORE, SUM, TOLD, VALUES,
    follow, helper, lead,
};
use tacita_core::session::Transcript;
use tacita_core::{Error, ErrorKind, Item, Result};

use crate::support::outsourced::{Ended, Learned, Outsourced};
use crate::support::rng;

/// Change that a meddler makes to a part.
type Change<'a> = &'a (dyn Fn(&mut Vec<u8>) + Sync);

/// Program of a helper.
type Helper<'a> = &'a (dyn Fn(&User<'_>) -> Result<()> + Sync);

/// A depot that changes the first part of one step that its user leaves, or what it tells.
struct Meddler<'a> {
    depot: &'a User<'a>,
    step: Option<DepotStep>,
    change: Change<'a>,
    done: Mutex<bool>,
}

impl Depot for Meddler<'_> {
    fn announce(&self, mut own: Vec<u8>) -> Result<Vec<Vec<u8>>> {
        let honest = own.clone();
        if self.step.is_none() {
            (self.change)(&mut own);
        }
        let mut all = self.depot.announce(own)?;
        // What it has told does not surprise it.
        all.iter_mut()
            .filter(|told| told.ends_with(&honest[140..]) || told.len() < honest.len())
            .for_each(|told| *told = honest.clone());
        Ok(all)
    }

    fn leave(&self, parcel: Parcel, part: u32, mut bytes: Vec<u8>) -> Result<()> {
        if Some(parcel.step) == self.step && !std::mem::replace(&mut self.done.lock().unwrap(), true) {
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

fn job(reveal: OutsourcedReveal) -> Outsourced {
    let sets: Vec<Vec<usize>> = (0..4).map(|party| (party..30).collect()).collect();
    Outsourced::new(&sets, 32, 0, &[0, 3], reveal)
}

/// The party at `who` leaves something else in `step`; who ends how.
fn with_meddler(reveal: OutsourcedReveal, who: usize, step: Option<DepotStep>, change: Change<'_>) -> Vec<Ended> {
    let job = job(reveal);
    let part = |me: usize, depot: &User<'_>| {
        if me == who {
            job.part(me, &Meddler { depot, step, change, done: Mutex::new(false) })
        } else {
            job.part(me, depot)
        }
    };
    job.run_with(part).0
}

/// Checks that all honest parties end with an error, of which at least one names `name`, and that nobody has a result.
fn all_end(ends: &[Ended], who: usize, name: &str, kinds: &[ErrorKind]) {
    let mut named = false;
    for (me, end) in ends.iter().enumerate() {
        if me == who {
            continue;
        }
        match end {
            // Who learns nothing may be done before.
            Ok(found) => assert!(found.is_none(), "party {me} has a result"),
            Err(error) => named |= kinds.contains(&error.kind()) && error.to_string().starts_with(name),
        }
    }
    assert!(named, "{name}: {ends:?}");
}

#[test]
fn parts_that_are_cut_or_changed_on_their_way_end_all() {
    let steps = [
        (OutsourcedReveal::Rows, 1, STORE),
        (OutsourcedReveal::Rows, 0, ENTRIES),
        (OutsourcedReveal::Count, 2, ENTRIES),
        (OutsourcedReveal::Rows, 0, TOLD),
        (OutsourcedReveal::Sum { giver: 2, bits: 10 }, 2, VALUES),
        (OutsourcedReveal::Sum { giver: 2, bits: 10 }, 3, OPENED),
        (OutsourcedReveal::Counts { giver: 1, categories: 4 }, 1, CATEGORIES),
        (OutsourcedReveal::Counts { giver: 1, categories: 4 }, 1, OPENED),
    ];
    for (reveal, who, step) in steps {
        let sealed = step != STORE;
        let changes: [Change<'_>; 4] =
            [&|bytes| bytes.truncate(bytes.len() - 1), &|bytes| bytes.push(0), &|bytes| bytes.clear(), &|bytes| {
                bytes.iter_mut().for_each(|byte| *byte = !*byte)
            }];
        for change in changes {
            let ends = with_meddler(reveal, who, Some(step), change);
            let named = ends.iter().enumerate().any(|(me, end)| {
                let text = end.as_ref().map_or_else(|error| error.to_string(), |_| String::new());
                me != who && text.contains(["a", "b", "c", "d"][who])
            });
            assert!(named, "{} of {who}: {ends:?}", step.name);
            assert!(ends.iter().any(|end| matches!(end, Err(error) if error.kind() != ErrorKind::Internal)));
            let by_seal = |error: &Error| error.kind() == ErrorKind::Authentication;
            assert!(sealed || !ends.iter().any(|end| end.as_ref().is_err_and(by_seal)));
        }
    }
}

#[test]
fn who_does_not_know_the_share_of_a_key_is_named() {
    let others = KeyShare::generate(&Ristretto255, &mut rng(9)).verification_key(&Ristretto255).to_bytes(&Ristretto255);
    let changes: [Change<'_>; 4] = [
        // Another's key, under an own proof.
        &|bytes| bytes[..32].copy_from_slice(&others),
        &|bytes| bytes[..32].fill(0),
        &|bytes| bytes[40] ^= 1,
        &|bytes| bytes.truncate(100),
    ];
    for change in changes {
        let ends = with_meddler(OutsourcedReveal::Rows, 2, None, change);
        all_end(&ends, 2, "c", &[ErrorKind::Protocol]);
    }
    assert_eq!(announcement_bytes(&Ristretto255), 192 - 32);
}

/// Checks that a party is named if it takes another share off than its own, at any place of the chain and in any step.
#[test]
fn who_cheats_in_a_decryption_is_named() {
    let reveals = [
        OutsourcedReveal::Rows,
        OutsourcedReveal::Count,
        OutsourcedReveal::Sum { giver: 0, bits: 10 },
        OutsourcedReveal::Counts { giver: 3, categories: 4 },
    ];
    for (reveal, who) in reveals.into_iter().flat_map(|reveal| [1, 2, 3].map(|who| (reveal, who))) {
        let job = job(reveal);
        let part = |me: usize, depot: &User<'_>| if me == who { cheat(&job, me, depot) } else { job.part(me, depot) };
        all_end(&job.run_with(part).0, who, ["a", "b", "c", "d"][who], &[ErrorKind::Protocol]);
    }
}

/// The protocol with a share that is not the one told.
fn cheat(job: &Outsourced, me: usize, depot: &User<'_>) -> Ended {
    let mut rng = rng(20);
    let (mut met, post) = meet(&Ristretto255, me, job.sets.len(), &Transcript::new("test"), depot, &mut rng)?;
    met.share = KeyShare::generate(&Ristretto255, &mut rng);
    let names = [b"x".to_vec()];
    let values = match job.reveal() {
        OutsourcedReveal::Counts { giver, .. } if giver == me => OutsourcedValues::Categories(&[], &names),
        _ => OutsourcedValues::Nothing,
    };
    let party = OutsourcedParty { me, params: &job.params, items: &[], values, met: &met, post: &post };
    Ok(follow(&party, &mut rng)?.map(Learned::Found))
}

/// A helper that passes on what is no sum, or not what all have told.
#[test]
fn a_helper_that_adds_nothing_up_is_named() {
    let job = job(OutsourcedReveal::Rows);
    let helpers: [Helper<'_>; 2] = [
        &|depot| {
            helper::run(
                &job.params,
                &Meddler { depot, step: Some(SUM), change: &|b| b.fill(0), done: Mutex::new(false) },
                &[7; 32],
            )
        },
        &|depot| {
            helper::run(
                &job.params,
                &Meddler { depot, step: Some(SUM), change: &|b| b.truncate(64), done: Mutex::new(false) },
                &[7; 32],
            )
        },
    ];
    for helper in helpers {
        let ends = job.run_beside(|me, depot| job.part(me, depot), helper).0;
        assert!(ends.iter().all(|end| end.is_err()), "{ends:?}");
        let texts: Vec<String> = ends.iter().map(|end| end.as_ref().unwrap_err().to_string()).collect();
        assert!(texts.iter().any(|text| text.starts_with("the helper")), "{texts:?}");
    }
}

#[test]
fn a_party_that_leaves_ends_all() {
    for who in 0..4 {
        let job = job(OutsourcedReveal::Count);
        let part = |me: usize, depot: &User<'_>| {
            if me == who {
                meet(&Ristretto255, me, 4, &Transcript::new("test"), depot, &mut rng(1))?;
                Err(Error::Interrupted)
            } else {
                job.part(me, depot)
            }
        };
        all_end(&job.run_with(part).0, who, ["a", "b", "c", "d"][who], &[ErrorKind::Network]);
    }
}

#[test]
fn more_items_than_agreed_on_and_other_values_are_refused_before_anything_is_left() {
    let job = Outsourced::new(&[(0..40).collect(), (0..5).collect()], 32, 0, &[0], OutsourcedReveal::Rows);
    let (ends, shelf) = job.run();
    assert_eq!(ends[0].as_ref().unwrap_err().kind(), ErrorKind::Input);
    assert_eq!(shelf.moved(DepotParty::Party(0))[0], 0);
    let sum = Outsourced::new(&[vec![1], vec![2]], 2, 0, &[0], OutsourcedReveal::Sum { giver: 1, bits: 3 });
    let part = |me: usize, depot: &User<'_>| {
        let mut rng = rng(me as u8);
        let (met, post) = meet(&Ristretto255, me, 2, &Transcript::new("test"), depot, &mut rng)?;
        let values = if me == 1 { OutsourcedValues::Numbers(&[8]) } else { OutsourcedValues::Nothing };
        let items = [Item([me as u8; 32])];
        let party = OutsourcedParty { me, params: &sum.params, items: &items, values, met: &met, post: &post };
        let found = if me == 0 { Some(lead(&party, &mut rng)?) } else { follow(&party, &mut rng)? };
        Ok(found.map(Learned::Found))
    };
    let ends = sum.run_with(part).0;
    assert_eq!(ends[1].as_ref().unwrap_err().kind(), ErrorKind::Internal);
    assert!(Params::new(2, 10, 0, vec![0], OutsourcedReveal::Sum { giver: 0, bits: 33 }).is_err());
    // A sum that no table of reasonable size finds.
    let sum = |bound, bits| Params::new(2, bound, 0, vec![0], OutsourcedReveal::Sum { giver: 0, bits });
    assert!(sum((1 << 20) - 1, 20).is_ok() && sum(1 << 20, 21).is_err() && sum(1 << 9, 32).is_err());
    assert!(Params::new(2, 10, 0, vec![1], OutsourcedReveal::Rows).is_err());
    assert!(Params::new(1, 10, 0, vec![0], OutsourcedReveal::Rows).is_err());
    let identity = Ristretto255.encode(&[Ristretto255.combine(&[], &[])]);
    assert!(Ristretto255.decode(&identity).is_err());
}

/// A giver whose values are longer than agreed: their sum is refused, though it is none that the bound on items would
/// rule out.
#[test]
fn values_beyond_what_was_agreed_on_are_refused() {
    let sum = |bits| Outsourced::new(&[vec![1], vec![1]], 8, 0, &[0], OutsourcedReveal::Sum { giver: 1, bits });
    let (job, longer) = (sum(3), sum(8));
    let part = |me: usize, depot: &User<'_>| if me == 1 { longer.part(me, depot) } else { job.part(me, depot) };
    // One value of 42, where 7 is the largest that there may be.
    let ends = job.run_with(part).0;
    assert!(matches!(&ends[0], Err(Error::Protocol { check, .. }) if check.contains("more than 3 bits")), "{ends:?}");
}

/// A store in which every item stands for an encryption of 0: the leader finds its dummies, and says that this cannot
/// be.
#[test]
fn stores_of_nothing_but_zeros_are_refused() {
    for reveal in [OutsourcedReveal::Rows, OutsourcedReveal::Count] {
        let job = Outsourced::new(&[vec![1, 2], vec![1, 2]], 8, 0, &[0], reveal);
        let part = |me: usize, depot: &User<'_>| match me {
            0 => job.part(me, depot),
            _ => {
                let zeros = Zeros { depot, joint: OnceLock::new() };
                let mut rng = rng(me as u8);
                let (met, post) = meet(&Ristretto255, me, 2, &Transcript::new("test"), &zeros, &mut rng)?;
                let joint = met.joint.to_bytes(&Ristretto255);
                let _ = zeros.joint.set(ElGamalPublicKey::from_bytes(&Ristretto255, &joint).unwrap());
                let party = OutsourcedParty {
                    me,
                    params: &job.params,
                    items: &[],
                    values: OutsourcedValues::Nothing,
                    met: &met,
                    post: &post,
                };
                Ok(follow(&party, &mut rng)?.map(Learned::Found))
            }
        };
        let ends = job.run_with(part).0;
        assert!(matches!(&ends[0], Err(Error::Protocol { check, .. }) if check.contains("8 entries")), "{ends:?}");
    }
}

/// A depot in which its user's store is of encryptions of 0, once the key is known.
struct Zeros<'a> {
    depot: &'a User<'a>,
    joint: OnceLock<ElGamalPublicKey<Ristretto255>>,
}

impl Depot for Zeros<'_> {
    fn announce(&self, own: Vec<u8>) -> Result<Vec<Vec<u8>>> {
        self.depot.announce(own)
    }

    fn leave(&self, parcel: Parcel, part: u32, bytes: Vec<u8>) -> Result<()> {
        let bytes = match self.joint.get().filter(|_| parcel.step == STORE) {
            Some(joint) => {
                let zeros = vec![Ristretto255.scalar(0); bytes.len() / 64];
                elgamal::encode(&Ristretto255, &joint.encrypt(&Ristretto255, &zeros, &mut rng(part as u8)))
            }
            None => bytes,
        };
        self.depot.leave(parcel, part, bytes)
    }

    fn collect(&self, parcel: Parcel, part: u32, length: usize) -> Result<Vec<u8>> {
        self.depot.collect(parcel, part, length)
    }

    fn name(&self, place: DepotParty) -> String {
        self.depot.name(place)
    }
}
