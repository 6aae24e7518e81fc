//! Leakage of the published form, on filters of real size, to programs that only listen. (That a learner and the helper
//! learn no more than inputs and output say is tested of `outsourced`, and fails here.)

use std::collections::HashSet;
use std::sync::Mutex;

use tacita_core::Item;
use tacita_core::depot::{Depot, DepotParty, Parcel, Shelf};
use tacita_core::primitive::elgamal::threshold::PartyOrder;
use tacita_core::primitive::group::{Group, Point, Ristretto255, ScalarField};
use tacita_core::primitive::published::bloom::{Hashes, Plain, Rate};
use tacita_core::protocol::published::intersect::outsourced_bloom::{FILTER, SUMS, decrypted, helper};

use crate::support::published::outsourced_bloom::{Blooms, HELPER, item};
use crate::support::rng;

/// Data that a learner has in the end.
struct View {
    /// Decrypted value of each slot.
    slots: Vec<Point>,
    hashes: Hashes,
    key: [u8; 32],
}

impl View {
    /// Determines which slots all parties have set.
    fn zeros(&self) -> Vec<bool> {
        self.slots.iter().map(|slot| Ristretto255.any_identity(std::slice::from_ref(slot))).collect()
    }

    fn items(&self, numbers: &[usize]) -> Vec<Item> {
        numbers.iter().map(|&number| item(&self.key, number)).collect()
    }
}

fn bloom(sets: &[Vec<usize>], bound: usize, rate: Rate) -> Blooms<'static, Ristretto255> {
    Blooms::new(&Ristretto255, sets, bound, rate, PartyOrder::Chain, &[0])
}

/// An honest run, of which the learner, party 0, keeps what it sees.
fn seen(run: &Blooms<'_, Ristretto255>) -> View {
    let view = Mutex::new(None);
    let (ends, _) = run.run_with(|me, depot| {
        if me != 0 {
            return run.part(me, depot).map(drop);
        }
        run.with_party(0, depot, |party, key| {
            let mut slots = Vec::new();
            decrypted(party, &mut rng(50), |values| slots.extend_from_slice(values))?;
            *view.lock().unwrap() = Some(View { slots, hashes: party.hashes(), key: *key });
            Ok(())
        })
    });
    ends.into_iter().for_each(|end| end.unwrap());
    view.into_inner().unwrap().unwrap()
}

/// Lists the numbers below `domain` that the learner has not, and takes all others to have: all of their slots that lie
/// in its own filter are 0.
fn enumerated(view: &View, own: &[usize], domain: usize) -> Vec<usize> {
    let (zeros, filter) = (view.zeros(), Plain::new(&view.items(own), &view.hashes));
    let own: HashSet<usize> = own.iter().copied().collect();
    let guesses: Vec<usize> = (0..domain).filter(|number| !own.contains(number)).collect();
    let places = view.hashes.places(&view.items(&guesses));
    let tells = |guess: &usize| {
        let inside: Vec<usize> =
            places.of(*guess).iter().map(|place| *place as usize).filter(|place| filter.bit(*place) == 1).collect();
        inside.len() >= 8 && inside.iter().all(|place| zeros[*place])
    };
    (0..guesses.len()).filter(tells).map(|guess| guesses[guess]).collect()
}

/// Hospitals have 2^`log2` patients each, of all days of a century: what the first one learns of the others, with whom
/// it has nobody in common.
fn a_party_enumerates(parties: usize, log2: u32) {
    let (count, domain) = (1usize << log2, 36_525);
    let own: Vec<usize> = (0..count).map(|index| index * 8 + 1).collect();
    let all: Vec<usize> = (0..count / 2).map(|index| index * 6 + 2).filter(|number| number % 8 != 1).collect();
    let others = |by: usize| (0..count - all.len()).map(move |index| domain + parties * index + by);
    let sets: Vec<Vec<usize>> = (0..parties)
        .map(|party| if party == 0 { own.clone() } else { all.iter().copied().chain(others(party)).collect() })
        .collect();
    let view = seen(&bloom(&sets, count, Rate::Negligible));
    let (found, all): (Vec<usize>, HashSet<usize>) = (enumerated(&view, &own, domain), all.into_iter().collect());
    let right = found.iter().filter(|number| all.contains(number)).count();
    assert!(right * 100 >= all.len() * 99, "{right} of {}", all.len());
    assert!((found.len() - right) * 1000 <= domain, "{} wrong", found.len() - right);
}

#[test]
fn a_party_learns_which_items_all_others_have_over_a_domain_that_it_can_guess() {
    a_party_enumerates(2, 8);
    a_party_enumerates(3, 8);
}

#[test]
#[ignore = "takes minutes"]
fn so_it_does_on_a_larger_filter() {
    a_party_enumerates(3, 10);
    a_party_enumerates(3, 12);
}

/// Two worlds with the same input and the same output of the learner look different to it.
#[test]
fn a_view_depends_on_more_than_input_and_output() {
    let zeros = |others: std::ops::Range<usize>| {
        let other: Vec<usize> = (0..5).chain(others).collect();
        let view = seen(&bloom(&[(0..20).collect(), other.clone(), other], 64, Rate::Negligible));
        view.zeros().into_iter().filter(|zero| *zero).count()
    };
    let (few, many) = (zeros(100..101), zeros(100..150));
    assert!(many > few + 50, "{few} and {many}");
}

/// The helper knows what it multiplied by: with what the learner decrypts, both have the number of parties that have
/// set each slot.
#[test]
fn helper_and_learner_together_have_exact_counts_of_every_slot() {
    let sets = [(0..1000).collect::<Vec<_>>(), (500..1500).collect(), (750..1750).collect()];
    let run = bloom(&sets, 1000, Rate::Published);
    let view = seen(&run);
    let group = &Ristretto255;
    // As the helper of these tests draws them.
    let mut rng = rng(HELPER);
    let factors: Vec<_> =
        run.params.parts(group).into_iter().flat_map(|slots| group.random_scalars(slots, &mut rng)).collect();
    let sums = group.encode(&group.multiply_each(&view.slots, &group.invert(&factors)));
    let minus = |count: u64| group.minus(&group.scalar(0), &group.scalar(count));
    let table = group.encode(&group.multiply_generator(&[0, 1, 2, 3].map(minus)));
    let filters = sets.iter().map(|set| Plain::new(&view.items(set), &view.hashes)).collect::<Vec<_>>();
    for (slot, sum) in sums.chunks(32).enumerate() {
        let lack = filters.iter().filter(|filter| filter.bit(slot) == 0).count();
        assert_eq!(table.chunks(32).position(|entry| entry == sum), Some(lack), "slot {slot}");
    }
}

/// A helper that makes its scalars of one seed, part by part: the same slots in two parts come out as different ones,
/// and the same again when it is asked again.
#[test]
fn each_part_has_scalars_of_its_own() {
    let bound = (1..).map(|bits| 1usize << bits).find(|&bound| slots(bound).len() > 1).unwrap();
    let params = bloom(&[vec![1], vec![2]], bound, Rate::Negligible).params;
    let count = slots(bound)[1].min(16);
    let points = Ristretto255.random_points(2 * count, &mut rng(1));
    let sums = |part: u32, seed: u8| {
        let shelf = Shelf::new(&["a", "b"]);
        let length = 64 * slots(bound)[part as usize];
        for place in [0, 1].map(DepotParty::Party) {
            let filter = Ristretto255.encode(&points).into_iter().cycle().take(length).collect();
            shelf
                .user(place)
                .leave(Parcel { step: FILTER, from: place, to: DepotParty::Helper }, part, filter)
                .unwrap();
        }
        helper::add(&params, &Ristretto255, &shelf.user(DepotParty::Helper), part, &[seed; 32]).unwrap();
        let sums = Parcel { step: SUMS, from: DepotParty::Helper, to: DepotParty::Party(0) };
        shelf.user(DepotParty::Party(0)).collect(sums, part, length).unwrap()[..64 * count].to_vec()
    };
    assert!(sums(0, 1) != sums(1, 1) && sums(0, 1) != sums(0, 2));
    assert_eq!(sums(1, 1), sums(1, 1));
}

fn slots(bound: usize) -> Vec<usize> {
    bloom(&[vec![1], vec![2]], bound, Rate::Negligible).params.parts(&Ristretto255)
}
