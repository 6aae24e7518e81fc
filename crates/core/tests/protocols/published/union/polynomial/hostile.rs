//! `polynomial` with a peer that breaks the protocol at every message, in either role.

use std::sync::Arc;

use super::{receive, send, wanted};
use crate::support::attack::{no_elements, no_points, run_all, sent};
use crate::support::two::{Repeated, Two, run_over, wrong_forms};
use crate::support::{items, recorded};
use tacita_core::protocol::published::intersect::polynomial::{ANSWERS, POLYNOMIALS, PUBLIC_KEY, Strategy};
use tacita_core::protocol::published::union::polynomial::Params;

/// Returns the cases: by points in some bins, by coefficients in one, and in a group of another form.
fn cases() -> Vec<(Params, Arc<Two>)> {
    let of = |(strategy, bins)| {
        let params = Params::new(wanted(Some(strategy), Some(bins)), 9, 7).unwrap();
        let first: Repeated =
            Box::new(move |channel| receive(&items(0..9), &items(3..20), &params, channel, 1).map(drop));
        let second: Repeated = Box::new(move |channel| send(&items(4..11), &params, channel, 2));
        (params, Arc::new(Two { name: format!("{params:?}"), first, second }))
    };
    [(Strategy::Points, 3), (Strategy::Karatsuba, 1), (Strategy::Fft, 2)].map(of).into()
}

#[test]
fn every_message_in_a_wrong_form() {
    for (_, case) in cases() {
        let frames = recorded(|receiver, sender| {
            let (received, sent) = run_over((receiver, sender), &*case.first, &*case.second);
            received.unwrap();
            sent.unwrap();
        });
        let attacks = wrong_forms(&case, &[frames.receiver, frames.sender], None);
        assert!(attacks.len() > 25, "only {} attacks", attacks.len());
        run_all(attacks);
    }
}

/// Wherever a point is due, what is none, and the identity.
#[test]
fn elements_that_are_none() {
    let labels = [PUBLIC_KEY, POLYNOMIALS, ANSWERS];
    for (params, case) in cases() {
        let frames = sent(case);
        let attacks = match params.polynomials().strategy() {
            // An encoding of Pallas is x with the sign of y in its highest bit; all zeros are the identity's.
            Strategy::Fft => {
                no_elements(&frames, &labels, &[("the identity", vec![0; 32]), ("too large", vec![0xff; 32])])
            }
            _ => no_points(&frames, &labels),
        };
        assert!(attacks.len() >= 12, "only {} attacks", attacks.len());
        run_all(attacks);
    }
}
