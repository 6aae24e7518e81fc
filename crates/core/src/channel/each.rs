//! Several channels at once, of a party in a job of more than two: they end together.

use std::sync::Mutex;

use super::link::LockAnyway;
use super::{Channel, Handle};
use crate::error::{Error, Result};

/// Runs `work` with each of `channels` and its state, on a thread of its own. Returns what `work` has returned, channel
/// by channel.
///
/// If one fails, all end: its own peer is told why, the others that the job cannot go on ([`Handle::end`]). The first
/// error is returned.
pub fn each<S: Send, A: Send>(
    channels: &mut [Channel],
    states: Vec<S>,
    work: impl Fn(S, &mut Channel) -> Result<A> + Sync,
) -> Result<Vec<A>> {
    if states.len() != channels.len() {
        return Err(Error::Internal(format!("{} states for {} channels", states.len(), channels.len())));
    }
    let all = Together { handles: channels.iter().map(Channel::handle).collect(), ended: Mutex::default() };
    let done: Vec<Result<A>> = std::thread::scope(|scope| {
        // If a thread cannot be had, those that run must not wait for peers that wait for it.
        let _panic = OnPanic(&all);
        let threads: Vec<_> = channels
            .iter_mut()
            .zip(states)
            .map(|(channel, state)| {
                let (all, work) = (&all, &work);
                scope.spawn(move || {
                    let _panic = OnPanic(all);
                    work(state, channel).inspect_err(|error| all.end(error))
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    match all.ended.lock_anyway().take() {
        Some(first) => Err(first),
        None => done.into_iter().collect(),
    }
}

/// Ends all channels at once in good order, as [`Channel::conclude_for`] does for one: for a reason that all parties
/// see for themselves.
pub fn conclude_all_for(channels: &mut [Channel], error: Error) -> Error {
    let states = vec![(); channels.len()];
    // Whatever the others do instead, this party's own error is why it ends.
    let _ = each(channels, states, |(), channel| channel.conclude());
    error
}

/// Channels that end together.
struct Together {
    handles: Vec<Handle>,
    /// First error of any channel.
    ended: Mutex<Option<Error>>,
}

impl Together {
    fn end(&self, error: &Error) {
        let mut ended = self.ended.lock_anyway();
        if ended.is_none() {
            *ended = Some(error.clone());
            self.handles.iter().for_each(|handle| handle.end(error));
        }
    }
}

/// A guard that ends all channels if its thread panics.
struct OnPanic<'a>(&'a Together);

impl Drop for OnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.end(&Error::Internal("a phase of the protocol panicked".into()));
        }
    }
}
