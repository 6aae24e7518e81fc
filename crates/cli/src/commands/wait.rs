//! Waiting for something that is not there yet.

use std::time::{Duration, Instant};

use tacita_core::{Error, Result};

/// The times between two attempts: it doubles from the first to the last.
const FIRST_INTERVAL: Duration = Duration::from_millis(200);
const LAST_INTERVAL: Duration = Duration::from_secs(15);

/// Waiting time given by `--wait[=TIME]`: not at all, for as long as it takes, or for this long at most.
pub type Wait = Option<Option<Duration>>;

/// Tries again as long as the answer is [`Error::NotReady`], and says so each time that the reason is another one.
pub fn until_ready<T>(wait: Wait, attempt: impl Fn() -> Result<T>) -> Result<T> {
    let (began, mut interval, mut said) = (Instant::now(), FIRST_INTERVAL, String::new());
    loop {
        let reason = match (attempt(), wait) {
            (Err(Error::NotReady(reason)), Some(_)) => reason,
            (other, _) => return other,
        };
        let left = match wait.flatten().map(|most| most.saturating_sub(began.elapsed())) {
            Some(Duration::ZERO) => return Err(Error::NotReady(reason)),
            left => left.unwrap_or(Duration::MAX),
        };
        if reason != said {
            let told = reason.strip_suffix(": ask again later").unwrap_or(&reason);
            tracing::info!("{told}: waiting");
            said = reason;
        }
        std::thread::sleep(interval.min(left));
        interval = (2 * interval).min(LAST_INTERVAL);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// Is ready at the third attempt.
    fn third(attempts: &Cell<u32>) -> Result<u32> {
        attempts.set(attempts.get() + 1);
        match attempts.get() {
            3 => Ok(3),
            _ => Err(Error::NotReady("not yet".into())),
        }
    }

    #[test]
    fn what_is_not_ready_is_waited_for_and_nothing_else() {
        let attempts = Cell::new(0);
        assert_eq!(until_ready(Some(None), || third(&attempts)).unwrap(), 3);
        attempts.set(0);
        assert!(matches!(until_ready(None, || third(&attempts)), Err(Error::NotReady(_))));
        assert_eq!(attempts.get(), 1);
        attempts.set(0);
        assert!(matches!(until_ready(Some(Some(Duration::ZERO)), || third(&attempts)), Err(Error::NotReady(_))));
        assert_eq!(attempts.get(), 1);
        let wrong = until_ready(Some(None), || Err::<(), _>(Error::Input("wrong".into())));
        assert!(matches!(wrong, Err(Error::Input(_))));
    }
}
