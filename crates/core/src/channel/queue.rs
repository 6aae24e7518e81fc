//! A bounded queue that either end, or anyone who holds it, can close.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// Blocks producers while `capacity` elements wait, and consumers while none does. (`std::sync::mpsc` can only be
/// closed from its two ends; a channel must also be closable by the thread that learns that the peer is gone.)
pub(super) struct Queue<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
    capacity: usize,
}

struct State<T> {
    waiting: VecDeque<T>,
    closed: bool,
}

/// Reason why [`Queue::push`] did not take an element.
pub(super) enum Refused<T> {
    /// There was no room for too long.
    Full,
    /// The queue is closed; the element is given back.
    Closed(T),
}

/// Result of a timed [`Queue::pop_within`].
pub(super) enum Popped<T> {
    Element(T),
    Nothing,
    Closed,
}

impl<T> Queue<T> {
    pub(super) fn new(capacity: usize) -> Queue<T> {
        let state = State { waiting: VecDeque::with_capacity(capacity), closed: false };
        Queue { state: Mutex::new(state), changed: Condvar::new(), capacity }
    }

    /// A queue whose producer is never kept waiting, and bounds what waits by other means.
    pub(super) fn unbounded() -> Queue<T> {
        Queue { capacity: usize::MAX, ..Queue::new(0) }
    }

    /// Appends an element, waiting for room for at most `patience`.
    pub(super) fn push(&self, element: T, patience: Duration) -> Result<(), Refused<T>> {
        let until = Instant::now() + patience;
        let mut state = self.lock();
        while !state.closed && state.waiting.len() >= self.capacity {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Refused::Full);
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(|poisoned| poisoned.into_inner()).0;
        }
        if state.closed {
            return Err(Refused::Closed(element));
        }
        state.waiting.push_back(element);
        self.changed.notify_all();
        Ok(())
    }

    /// Closes the queue with a last element, for which there is always room.
    pub(super) fn close_with(&self, last: T) {
        let mut state = self.lock();
        if !state.closed {
            state.waiting.push_back(last);
            state.closed = true;
        }
        self.changed.notify_all();
    }

    /// Closes the queue: pushing fails from now on, popping after what still waits.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }

    /// Takes the first element, waiting for one for at most `patience`.
    pub(super) fn pop(&self, patience: Duration) -> Popped<T> {
        let until = Instant::now() + patience;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.pop_within(left) {
                Popped::Nothing if !left.is_zero() => (),
                popped => return popped,
            }
        }
    }

    /// Takes the next element as [`Queue::pop`] does, waiting for at most `limit` (or less: a spurious wake-up counts
    /// as `Nothing`).
    pub(super) fn pop_within(&self, limit: Duration) -> Popped<T> {
        let mut state = self.lock();
        if state.waiting.is_empty() && !state.closed && !limit.is_zero() {
            state = self.changed.wait_timeout(state, limit).unwrap_or_else(|poisoned| poisoned.into_inner()).0;
        }
        match state.waiting.pop_front() {
            Some(element) => {
                self.changed.notify_all();
                Popped::Element(element)
            }
            None if state.closed => Popped::Closed,
            None => Popped::Nothing,
        }
    }

    /// Looks at the last element that waits, without taking it.
    pub(super) fn last<A>(&self, look: impl FnOnce(&T) -> A) -> Option<A> {
        self.lock().waiting.back().map(look)
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
