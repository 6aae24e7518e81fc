//! Ctrl-C: the peers are told, nothing half-written stays, and the program ends with exit code 130.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tacita_core::Error;
use tacita_node::base::cancel::{Cancel, Cancelled};

/// Time allowed for the peers' connections to carry the message that the job ends.
const SHUTDOWN_GRACE: Duration = Duration::from_millis(300);

/// Ends this run on Ctrl-C and termination signals from now on, and the program with it.
pub fn ends(run: Cancel) {
    // Fails only if a handler is there already, as in a second call.
    let _ = ctrlc::set_handler(move || {
        match run.cancel() {
            Cancelled::Writing => {
                tracing::warn!("interrupted while writing the result; finishing the file first");
                return;
            }
            Cancelled::Telling => std::thread::sleep(SHUTDOWN_GRACE),
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

/// Handles Ctrl-C and termination signals in a process that stands until it is told to end. One rule for all of them:
/// with the first signal it calls `stop`, finishes what is under way, and ends by itself, with exit code 0 unless
/// something had to be cut off; a second signal ends it at once.
pub fn stands(ending: &'static str, stop: impl Fn() + Send + 'static) {
    let told = AtomicBool::new(false);
    let _ = ctrlc::set_handler(move || {
        if told.swap(true, Ordering::AcqRel) {
            tracing::error!("{}", Error::Interrupted);
            std::process::exit(130);
        }
        tracing::info!("{ending}; press Ctrl-C again to end at once");
        stop();
    });
}
