//! Messages for a user who waits for an answer.

use std::time::Duration;

/// After how long it is said what is waited for.
const LOG_INTERVAL: Duration = Duration::from_secs(6);

/// And how long after that it is said again, at the latest.
const LATEST_NEWS: Duration = Duration::from_secs(30);

/// Number of seconds that is no limit for anybody who waits.
const FOREVER: u64 = 7 * 24 * 3600;

/// Schedule of messages about a wait. The first comes after `LOG_INTERVAL`. Each of the next comes after twice as long,
/// but no later than `LATEST_NEWS`.
#[derive(Debug, Default)]
pub struct WaitNotice(Option<Duration>);

impl WaitNotice {
    /// Whether it is to be said now, after a wait of so long.
    pub fn is_due(&mut self, waited: Duration) -> bool {
        let is_due = waited >= self.0.unwrap_or(LOG_INTERVAL);
        if is_due {
            self.0 = Some(waited + waited.clamp(LOG_INTERVAL, LATEST_NEWS));
        }
        is_due
    }

    /// For how much longer it is tried, in words; nothing if that is no time that anybody waits for.
    pub fn more(left: Duration) -> String {
        match left.as_secs() {
            seconds @ 0..=99 => format!(", for {seconds} s more"),
            seconds @ 100..FOREVER => format!(", for {} min more", seconds.div_ceil(60)),
            _ => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_waits_hears_it_again_and_again() {
        let mut waiting = WaitNotice::default();
        let heard: Vec<u64> = (0..180).filter(|second| waiting.is_due(Duration::from_secs(*second))).collect();
        assert_eq!(heard, [6, 12, 24, 48, 78, 108, 138, 168]);
    }

    #[test]
    fn the_wait_is_named() {
        for (seconds, words) in
            [(0, ", for 0 s more"), (99, ", for 99 s more"), (590, ", for 10 min more"), (u64::MAX, "")]
        {
            assert_eq!(WaitNotice::more(Duration::from_secs(seconds)), words);
        }
    }
}
