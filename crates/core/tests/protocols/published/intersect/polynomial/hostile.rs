//! `polynomial` with a peer that breaks the protocol at every message, in either role: the victim must end with the
//! right error, and neither side may panic, hang or report a wrong result as a good one.

use std::sync::Arc;

use super::{receive, send, wanted};
use crate::support::attack::{no_elements, no_points, run_all, sent};
use crate::support::two::{Repeated, Two, run_over, wrong_forms};
use crate::support::{Frame, Tap, items, passing, recorded, tapped};
use tacita_core::protocol::published::intersect::polynomial::{
    ANSWERS, POLYNOMIALS, PUBLIC_KEY, Params, PolynomialReveal, Strategy,
};

/// A count by points, rows by coefficients in one bin, and in a group of another form.
fn cases() -> Vec<Params> {
    let cases = [
        (PolynomialReveal::Count, Strategy::Points, 3),
        (PolynomialReveal::Rows, Strategy::Karatsuba, 1),
        (PolynomialReveal::Rows, Strategy::Fft, 2),
    ];
    cases.map(|(reveal, strategy, bins)| Params::new(wanted(reveal, Some(strategy), Some(bins)), 9, 7).unwrap()).into()
}

fn case(params: Params) -> Arc<Two> {
    let first: Repeated = Box::new(move |channel| receive(&items(0..9), &params, channel, 1).map(drop));
    let second: Repeated = Box::new(move |channel| send(&items(4..11), &params, channel, 2).map(drop));
    Arc::new(Two { name: format!("{params:?}"), first, second })
}

#[test]
fn every_message_in_a_wrong_form() {
    for params in cases() {
        let case = case(params);
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
    for params in cases() {
        let frames = sent(case(params));
        let attacks = match params.strategy() {
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

/// Answers that are other points, or those of another run, find nothing that is not common.
#[test]
fn replayed_answers_find_nothing() {
    for params in cases() {
        let case = case(params);
        let frames = recorded(|receiver, sender| {
            let first = |channel: &mut _| receive(&items(0..9), &params, channel, 11).map(drop);
            let (received, sent) = run_over((receiver, sender), &first, &*case.second);
            received.unwrap();
            sent.unwrap();
        });
        let recorded = frames.sender.into_iter().find(|frame| frame.label == ANSWERS.code).unwrap();
        let tap: Arc<Tap> = Arc::new(move |frame| {
            let replayed = frame.kind == Frame::DATA && frame.label == ANSWERS.code;
            Some(vec![if replayed { recorded.clone() } else { frame }])
        });
        let first = |channel: &mut _| receive(&items(0..9), &params, channel, 1);
        let second = |channel: &mut _| send(&items(4..11), &params, channel, 2);
        let (received, sent) = run_over(tapped(passing(), tap), &first, &second);
        sent.unwrap();
        assert_eq!(received.unwrap().0, [0usize; 0], "{params:?}");
    }
}
