//! Ctrl-C: the peers are told, nothing half-written stays, and the program ends with exit code 130.

use std::time::Duration;

use tacita_core::Error;
use tacita_node::base::cancel::{Cancel, Cancelled};

/// How long the peers' connections get to carry the word that the job ends.
const FAREWELL: Duration = Duration::from_millis(300);

/// How long what stands and waits for others may take to end by itself.
const ENDING: Duration = Duration::from_secs(3);

/// Ends this run on Ctrl-C and termination signals from now on, and the program with it.
pub fn ends(run: Cancel) {
    // Fails only if a handler is there already, as in a second call.
    let _ = ctrlc::set_handler(move || {
        match run.cancel() {
            Cancelled::Writing => {
                tracing::warn!("interrupted while writing the result; it will be whole in a moment");
                return;
            }
            Cancelled::Telling => std::thread::sleep(FAREWELL),
            Cancelled::Alone => (),
        }
        tracing::error!("{}", Error::Interrupted);
        std::process::exit(130);
    });
}

/// Handles Ctrl-C and termination signals in a process whose work is done by others: `stop` ends those.
pub fn calls(stop: impl Fn() + Send + 'static) {
    let _ = ctrlc::set_handler(move || {
        stop();
        tracing::error!("{}", Error::Interrupted);
        std::process::exit(130);
    });
}

/// Handles Ctrl-C and termination signals in a process that ends by itself some time after it is told: `tell` says whether it is to end
/// at once.
pub fn stands_until_told_twice(tell: impl Fn() -> bool + Send + 'static) {
    let _ = ctrlc::set_handler(move || {
        if tell() {
            tracing::error!("{}", Error::Interrupted);
            std::process::exit(130);
        }
    });
}

/// Handles Ctrl-C and termination signals in a process that stands until it is told to end: it ends by itself after `stop`.
pub fn stands(stop: impl Fn() + Send + 'static) {
    let _ = ctrlc::set_handler(move || {
        stop();
        // Whoever is connected is told; a disk that hangs does not keep the process.
        std::thread::sleep(ENDING);
        tracing::error!("{}", Error::Interrupted);
        std::process::exit(130);
    });
}
