//! Tests of what times tell. Between any two things that a party leaves or collects at the helper, it does the same
//! amount of work however many items it has. The amount does not depend on the number of common items either.

use std::convert::Infallible;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use chacha20::ChaCha20Rng;
use rand_core::{Rng, TryCryptoRng, TryRng};
use tacita_core::Result;
use tacita_core::depot::{Depot, DepotParty, Parcel, User};
use tacita_core::protocol::intersect::outsourced::OutsourcedReveal;

use crate::support::outsourced::Outsourced;
use crate::support::rng;

/// Random numbers of which it is counted how many were drawn: as many for each row that is encrypted, re-randomised or
/// made up.
struct Counted<'a> {
    rng: ChaCha20Rng,
    drawn: &'a AtomicU64,
}

impl TryRng for Counted<'_> {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> std::result::Result<u32, Infallible> {
        self.drawn.fetch_add(4, Ordering::Relaxed);
        Ok(self.rng.next_u32())
    }

    fn try_next_u64(&mut self) -> std::result::Result<u64, Infallible> {
        self.drawn.fetch_add(8, Ordering::Relaxed);
        Ok(self.rng.next_u64())
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> std::result::Result<(), Infallible> {
        self.drawn.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        self.rng.fill_bytes(bytes);
        Ok(())
    }
}

impl TryCryptoRng for Counted<'_> {}

/// A thing that the helper sees a party do, and how much that party had drawn by then.
type Seen = (&'static str, &'static str, u32, u64);

/// A depot that notes when its user leaves and collects what.
struct Watched<'a> {
    depot: &'a User<'a>,
    drawn: &'a AtomicU64,
    seen: Mutex<Vec<Seen>>,
}

impl Watched<'_> {
    fn note(&self, what: &'static str, parcel: Parcel, part: u32) {
        self.seen.lock().unwrap().push((what, parcel.step.name, part, self.drawn.load(Ordering::Relaxed)));
    }
}

impl Depot for Watched<'_> {
    fn announce(&self, own: Vec<u8>) -> Result<Vec<Vec<u8>>> {
        self.depot.announce(own)
    }

    fn leave(&self, parcel: Parcel, part: u32, bytes: Vec<u8>) -> Result<()> {
        self.note("leaves", parcel, part);
        self.depot.leave(parcel, part, bytes)
    }

    fn collect(&self, parcel: Parcel, part: u32, length: usize) -> Result<Vec<u8>> {
        self.note("collects", parcel, part);
        self.depot.collect(parcel, part, length)
    }

    fn name(&self, place: DepotParty) -> String {
        self.depot.name(place)
    }
}

/// Returns what the helper sees of each party, to its end.
fn seen(job: &Outsourced) -> Vec<(Vec<Seen>, u64)> {
    let all = Mutex::new(vec![(Vec::new(), 0); job.sets.len()]);
    let part = |me: usize, depot: &User<'_>| {
        let drawn = AtomicU64::new(0);
        let watched = Watched { depot, drawn: &drawn, seen: Mutex::default() };
        let found = job.part_with(me, &watched, &mut Counted { rng: rng(me as u8 + 1), drawn: &drawn })?;
        assert_eq!(found, job.expected(me), "party {me} of {:?}", job.params);
        all.lock().unwrap()[me] = (watched.seen.into_inner().unwrap(), drawn.load(Ordering::Relaxed));
        Ok(found)
    };
    job.run_with(part).0.into_iter().for_each(|end| drop(end.unwrap()));
    all.into_inner().unwrap()
}

#[test]
fn the_helper_cannot_see_how_many_a_party_has_nor_how_many_are_common() {
    const BOUND: usize = 20;
    let reveals = [
        OutsourcedReveal::Rows,
        OutsourcedReveal::Count,
        OutsourcedReveal::Sum { giver: 0, bits: 10 },
        OutsourcedReveal::Sum { giver: 1, bits: 10 },
        OutsourcedReveal::Counts { giver: 0, categories: 5 },
        OutsourcedReveal::Counts { giver: 2, categories: 5 },
    ];
    for reveal in reveals {
        let of = |sets: [Vec<usize>; 3]| seen(&Outsourced::new(&sets, BOUND, 0, &[0, 2], reveal));
        let full = of([(); 3].map(|()| (0..BOUND).collect()));
        assert!(full.iter().all(|(seen, drawn)| !seen.is_empty() && *drawn > 64 * BOUND as u64));
        assert_eq!(of([(); 3].map(|()| vec![])), full, "without items: {reveal:?}");
        for few in 0..3 {
            let sets = [0, 1, 2].map(|party| if party == few { (10..16).collect() } else { (0..BOUND).collect() });
            assert_eq!(of(sets), full, "few at {few}: {reveal:?}");
        }
        let apart = [0, 1, 2].map(|party| (party * BOUND..(party + 1) * BOUND).collect());
        assert_eq!(of(apart), full, "nothing in common: {reveal:?}");
    }
    // Rows for the leader alone, two for every third item.
    let of = |sets: [Vec<usize>; 3]| seen(&Outsourced::giving(&sets, BOUND, 0, &[1, 2]));
    let full = of([(); 3].map(|()| (1..16).collect()));
    for sets in [[0..0, 0..0, 0..0], [1..16, 1..16, 8..9], [0..10, 20..30, 40..50]] {
        assert_eq!(of(sets.map(Iterator::collect)), full, "rows are given");
    }
}
