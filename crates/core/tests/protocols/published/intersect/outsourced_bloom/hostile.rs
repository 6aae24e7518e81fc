//! Whoever sends what is none, or proves what is wrong, is named, and nobody has a result.

use tacita_core::depot::{Depot, DepotParty, Parcel, User};
use tacita_core::primitive::elgamal::threshold::{KeyShare, PartyOrder};
use tacita_core::primitive::group::Ristretto255;
use tacita_core::primitive::published::bloom::Rate;
use tacita_core::protocol::intersect::outsourced::Met;
use tacita_core::protocol::intersect::outsourced::meet::meet;
use tacita_core::protocol::published::intersect::outsourced_bloom::{FILTER, OutsourcedBloomParty, SUMS, run};
use tacita_core::session::Transcript;
use tacita_core::{Error, Item, Result};

use crate::support::published::outsourced_bloom::{Blooms, Ended, item};
use crate::support::rng;

fn three(order: PartyOrder) -> Blooms<'static, Ristretto255> {
    let sets: Vec<Vec<usize>> = (0..3).map(|party| (party..20 + party).collect()).collect();
    Blooms::new(&Ristretto255, &sets, 20, Rate::Negligible, order, &[0, 2])
}

/// A depot that changes parcels of one step as they are left, or as they are collected.
struct Meddler<'a> {
    depot: &'a User<'a>,
    code: u8,
    leaving: bool,
    change: fn(&mut Vec<u8>),
}

impl Depot for Meddler<'_> {
    fn announce(&self, mut own: Vec<u8>) -> Result<Vec<Vec<u8>>> {
        let honest = own.clone();
        if self.code == 0 {
            (self.change)(&mut own);
        }
        let mut all = self.depot.announce(own.clone())?;
        // It sees nothing wrong with itself.
        all.iter_mut().filter(|told| **told == own).for_each(|told| told.clone_from(&honest));
        Ok(all)
    }

    fn leave(&self, parcel: Parcel, part: u32, mut bytes: Vec<u8>) -> Result<()> {
        if self.leaving && parcel.step.code == self.code {
            (self.change)(&mut bytes);
        }
        self.depot.leave(parcel, part, bytes)
    }

    fn collect(&self, parcel: Parcel, part: u32, length: usize) -> Result<Vec<u8>> {
        let mut bytes = self.depot.collect(parcel, part, length)?;
        if !self.leaving && parcel.step.code == self.code {
            (self.change)(&mut bytes);
        }
        Ok(bytes)
    }

    fn name(&self, place: DepotParty) -> String {
        self.depot.name(place)
    }
}

/// Runs the parties with party 1 acting so, and returns how each ends.
fn with(order: PartyOrder, act: impl Fn(&Blooms<'_, Ristretto255>, &User<'_>) -> Ended + Sync) -> Vec<Ended> {
    let job = three(order);
    job.run_with(|me, depot| if me == 1 { act(&job, depot) } else { job.part(me, depot) }).0
}

/// Party 1 is named by all others, and nobody has a result.
#[track_caller]
fn names_the_second(ends: &[Ended]) {
    let name = crate::support::outsourced::name(1);
    for me in [0, 2] {
        let error = ends[me].as_ref().expect_err("no result");
        assert!(error.peer().is_some_and(|peer| peer.contains(&name)), "party {me}: {error:?}");
    }
}

#[test]
fn whoever_leaves_no_filter_is_named() {
    let changes: [fn(&mut Vec<u8>); 3] = [|bytes| bytes[0] ^= 1, |bytes| bytes.truncate(64), |bytes| bytes.push(0)];
    for change in changes {
        names_the_second(&with(PartyOrder::Chain, |job, depot| {
            job.part(1, &Meddler { depot, code: FILTER.code, leaving: true, change })
        }));
    }
}

#[test]
fn who_cannot_prove_its_share_is_named() {
    // The proof is behind the key.
    names_the_second(&with(PartyOrder::Chain, |job, depot| {
        job.part(1, &Meddler { depot, code: 0, leaving: true, change: |own| own[40] ^= 1 })
    }));
}

#[test]
fn whoever_decrypts_with_another_share_is_named() {
    for order in PartyOrder::ALL {
        let ends = with(order, |job, depot| {
            let (met, post) = meet(&Ristretto255, 1, 3, &Transcript::new("test"), depot, &mut rng(2))?;
            let met = Met { share: KeyShare::generate(&Ristretto255, &mut rng(77)), ..met };
            let items: Vec<Item> =
                job.sets[1].iter().map(|&number| item(&met.session.derive("item"), number)).collect();
            let party = OutsourcedBloomParty {
                me: 1,
                group: &Ristretto255,
                params: &job.params,
                items: &items,
                met: &met,
                post: &post,
            };
            run(&party, &mut rng(51))
        });
        names_the_second(&ends);
    }
}

/// A parcel between two that is not as it was left is the helper's doing, or its sender's.
#[test]
fn what_the_helper_changes_is_found() {
    let job = three(PartyOrder::Chain);
    let (ends, _) = job.run_with(|me, depot| match me {
        0 => job.part(0, &Meddler { depot, code: SUMS.code, leaving: false, change: |bytes| bytes[5] ^= 1 }),
        me => job.part(me, depot),
    });
    let error = ends[0].as_ref().expect_err("no result");
    assert_eq!((error.peer(), matches!(error, Error::Protocol { .. })), (Some("the helper"), true), "{error:?}");
    assert!(ends[2].is_err());
}

#[test]
fn a_party_that_leaves_ends_it_for_all() {
    let ends = with(PartyOrder::Tree, |job, depot| {
        job.with_party(1, depot, |_, _| Err(Error::Input("its table is gone".into())))
    });
    names_the_second(&ends);
}

#[test]
fn more_items_than_agreed_on_are_refused() {
    let sets = vec![(0..21).collect(), (0..5).collect()];
    let job = Blooms::new(&Ristretto255, &sets, 20, Rate::Negligible, PartyOrder::Chain, &[0]);
    assert!(matches!(job.run().0[0], Err(Error::Input(_))));
}
