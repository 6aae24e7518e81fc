//! What tests of more than one room need.

use std::time::{Duration, Instant};

use tacita_core::Result;

/// Opens what another one of this process has had open. A process that a test has just started holds the locks of this one until it is another
/// program: they are waited for.
pub(super) fn patient<T>(open: impl Fn() -> Result<T>) -> Result<T> {
    let begun = Instant::now();
    loop {
        match open() {
            Err(error)
                if error.to_string().contains("another process has") && begun.elapsed() < Duration::from_secs(20) =>
            {
                std::thread::sleep(Duration::from_millis(5));
            }
            opened => return opened,
        }
    }
}
