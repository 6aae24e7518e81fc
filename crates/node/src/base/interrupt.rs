//! Ctrl-C: the peer is told, nothing half-written stays, and the program ends with exit code 130.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tacita_core::Error;
use tacita_core::channel::Handle;

static WRITING: AtomicBool = AtomicBool::new(false);
static CHANNELS: Mutex<Vec<Handle>> = Mutex::new(Vec::new());

/// How long the peers' connections get to carry the word that the job ends.
const FAREWELL: Duration = Duration::from_millis(300);

/// Handles Ctrl-C and termination signals from now on.
pub fn install() {
    // Fails only if a handler is there already, as in a second call.
    let _ = ctrlc::set_handler(|| {
        if WRITING.load(Ordering::Acquire) {
            tracing::warn!("interrupted while writing the result; it will be whole in a moment");
            return;
        }
        let channels = CHANNELS.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for channel in &channels {
            channel.interrupt(Error::Interrupted);
        }
        if !channels.is_empty() {
            std::thread::sleep(FAREWELL);
        }
        tracing::error!("{}", Error::Interrupted);
        std::process::exit(130);
    });
}

/// Handles Ctrl-C and termination signals in a process whose work is done by others: `stop` ends those.
pub fn install_with(stop: impl Fn() + Send + 'static) {
    let _ = ctrlc::set_handler(move || {
        stop();
        tracing::error!("{}", Error::Interrupted);
        std::process::exit(130);
    });
}

/// Has the peer of this channel told when the user interrupts.
pub fn tell(channel: Handle) {
    CHANNELS.lock().unwrap_or_else(PoisonError::into_inner).push(channel);
}

/// Runs something that must not be cut off: writing the result.
pub fn uncut<T>(write: impl FnOnce() -> T) -> T {
    WRITING.store(true, Ordering::Release);
    let result = write();
    WRITING.store(false, Ordering::Release);
    result
}
