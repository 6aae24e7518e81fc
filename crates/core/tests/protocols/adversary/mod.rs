//! Adversaries that run programs of their own.
//!
//! Other hostile tests change messages of honest code. Whoever breaks a protocol changes the code: takes other sums of
//! a tree than any honest path needs, encodes what fits its store, answers when it knows more. So each role that a
//! malicious party can have is written here once more, for reading and not for speed, with everything free that its
//! program decides: choices in OTs, points of trees, sets, seeds, coins, and when it sends what. Each test is named for
//! a line of what a protocol promises ([engine](../../../../docs/protocols/engine.md),
//! [`vole`](../../../../docs/protocols/vole.md), [`naor-reingold`](../../../../docs/protocols/naor-reingold.md)).
//!
//! An attack that fails proves nothing unless it is known to be one. So honest parties are written here, too, with a
//! weakness that can be switched on; an adversary has to win against the weak form, or against the semi-honest one
//! where that lacks the check, before it has to lose against the code that is shipped. Without its weakness such a
//! party has to fit the real one. (Messages that come early have no weak form to win against: they are to be refused,
//! that is all.)

pub mod base;
pub mod extension;
mod intersect;
mod silent;
mod tree;

use std::time::Duration;

use tacita_core::channel::Label;
use tacita_core::{Channel, Error, Result};

/// Runs an honest party on a thread of its own and an adversary on this one. Both end the job if they come to its end.
pub fn against<V: Send, A>(
    victim: impl FnOnce(&mut Channel) -> Result<V> + Send,
    adversary: impl FnOnce(&mut Channel) -> A,
) -> (Result<V>, A) {
    let (mut its_end, mut own_end) = Channel::pair("victim", "adversary");
    for channel in [&mut its_end, &mut own_end] {
        channel.set_patience(Duration::from_secs(60));
    }
    std::thread::scope(|scope| {
        let victim = scope.spawn(move || {
            let outcome = victim(&mut its_end);
            match &outcome {
                Ok(_) => drop(its_end.finish()),
                Err(error) => its_end.abort(error),
            }
            outcome
        });
        let outcome = adversary(&mut own_end);
        // What the victim makes of the end is its own affair.
        let _ = own_end.finish();
        (victim.join().unwrap(), outcome)
    })
}

/// Label that nobody ever waits for.
const ANYTHING: Label = Label::new(255, "anything");

/// Whether a peer waits for us, however long it takes until it does: it gets what nobody waits for, with which it ends
/// the run. What it has said before that comes first.
pub fn waits(channel: &mut Channel) -> bool {
    // It may be gone.
    let _ = channel.send(ANYTHING, Vec::new());
    says_no_more(channel)
}

/// Whether nothing but the end of the run comes from a peer that was made to end it.
pub fn says_no_more(channel: &mut Channel) -> bool {
    // Any message would be a violation.
    matches!(channel.receive_up_to(ANYTHING, usize::MAX), Err(Error::Peer { .. }))
}

/// Checks that `hits` of `trials` agree with the probability, to within 5 standard deviations.
pub fn as_likely_as(hits: usize, trials: usize, probability: f64) {
    let expected = trials as f64 * probability;
    let deviation = (expected * (1.0 - probability)).sqrt();
    assert!((hits as f64 - expected).abs() <= 5.0 * deviation, "{hits} of {trials}, expected {expected}");
}
