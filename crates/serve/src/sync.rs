//! Values that threads share.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a value, whatever a thread that panicked left of it.
pub fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}
