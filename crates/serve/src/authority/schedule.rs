//! Schedule of key changes: at fixed times, which nothing that happens to the list moves.

use std::time::{Duration, Instant};

use crate::clock;

/// A moment, by the clock that people have and by one that nobody sets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment {
    /// Number of seconds since 1970.
    pub(crate) wall: u64,
    pub(crate) steady: Instant,
}

impl Moment {
    pub(crate) fn now() -> Moment {
        Moment { wall: clock::now(), steady: Instant::now() }
    }
}

/// The times at which the key changes, a period apart.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Schedule {
    period: u64,
    /// The next change by the clock; it is kept on disk.
    due: u64,
    /// The same by the steady clock: a clock that is put back delays nothing.
    latest: Instant,
}

impl Schedule {
    /// The schedule of a list that begins now.
    pub(crate) fn begin(period: u64, now: Moment) -> Schedule {
        Schedule::resume(period, now.wall.saturating_add(period), now)
    }

    /// The schedule of a list that was kept. After a clock was put back, the next change is at most a period away.
    pub(crate) fn resume(period: u64, due: u64, now: Moment) -> Schedule {
        let due = due.min(now.wall.saturating_add(period));
        Schedule { period, due, latest: now.steady + Duration::from_secs(due.saturating_sub(now.wall)) }
    }

    /// Returns the time of the next key change, in seconds since 1970.
    pub(crate) fn due(&self) -> u64 {
        self.due
    }

    /// Returns the time left until then; nothing if it is time. The first clock to reach it counts.
    pub(crate) fn left(&self, now: Moment) -> Duration {
        let wall = Duration::from_secs(self.due.saturating_sub(now.wall));
        wall.min(self.latest.saturating_duration_since(now.steady))
    }

    /// Whether it is time to prepare the next key: half a period ahead, so that it is ready at its time, however long
    /// that takes.
    pub(crate) fn is_ahead(&self, now: Moment) -> bool {
        self.left(now) <= Duration::from_secs(self.period) / 2
    }

    /// The moment when the key changes next.
    pub(crate) fn moment(&self) -> Moment {
        Moment { wall: self.due, steady: self.latest }
    }

    /// The schedule once the key has changed: the first of its times that is still to come.
    pub(crate) fn passed(&self, now: Moment) -> Schedule {
        let periods = now.wall.saturating_sub(self.due) / self.period + 1;
        Schedule::resume(self.period, self.due.saturating_add(periods.saturating_mul(self.period)), now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD: u64 = 1000;

    fn moment(start: Moment, wall: i64, steady: u64) -> Moment {
        Moment {
            wall: start.wall.checked_add_signed(wall).unwrap(),
            steady: start.steady + Duration::from_secs(steady),
        }
    }

    fn start() -> Moment {
        Moment { wall: 1_000_000, steady: Instant::now() }
    }

    #[test]
    fn the_key_changes_at_times_a_period_apart() {
        let start = start();
        let mut schedule = Schedule::begin(PERIOD, start);
        for round in 1..5 {
            let due = round * PERIOD;
            assert_eq!(schedule.due(), start.wall + due);
            let (before, at, after) = (due - 1, due, due + 7);
            let left = |seconds: u64| schedule.left(moment(start, seconds as i64, seconds)).as_secs();
            assert_eq!((left(before), left(at), left(after)), (1, 0, 0));
            let is_ahead = |seconds: u64| schedule.is_ahead(moment(start, seconds as i64, seconds));
            assert!(is_ahead(due - 500) && !is_ahead(due - 501));
            // However late the change is, the times stay.
            schedule = schedule.passed(moment(start, after as i64, after));
        }
    }

    #[test]
    fn a_restart_moves_nothing() {
        let start = start();
        let due = Schedule::begin(PERIOD, start).due();
        let again = Schedule::resume(PERIOD, due, moment(start, 999, 0));
        assert_eq!((again.due(), again.left(moment(start, 999, 0)).as_secs()), (due, 1));
        // One that comes late finds that it is time, and goes on with the times as they were.
        let late = moment(start, 5300, 0);
        let again = Schedule::resume(PERIOD, due, late);
        assert_eq!(again.left(late), Duration::ZERO);
        assert_eq!(again.passed(late).due(), start.wall + 6000);
    }

    #[test]
    fn a_clock_that_is_set_delays_nothing() {
        let start = start();
        let schedule = Schedule::begin(PERIOD, start);
        // Put back while it runs: the steady clock decides, and the next time is a period from there on.
        let back = moment(start, -500_000, 1000);
        assert_eq!(schedule.left(back), Duration::ZERO);
        let next = schedule.passed(back);
        assert_eq!((next.due(), next.left(back).as_secs()), (back.wall + PERIOD, PERIOD));
        // Put back while it did not run.
        assert_eq!(Schedule::resume(PERIOD, schedule.due(), back).left(back).as_secs(), PERIOD);
        // A little slow: the same time does not come twice.
        let slow = moment(start, 999, 1000);
        assert_eq!(schedule.left(slow), Duration::ZERO);
        assert_eq!(schedule.passed(slow).left(slow).as_secs(), PERIOD);
        // Put far forward: it changes once, and then a period later; put back again, no later than that.
        let far = moment(start, 1 << 40, 10);
        assert_eq!(schedule.left(far), Duration::ZERO);
        let next = schedule.passed(far);
        assert!((1..=PERIOD).contains(&next.left(far).as_secs()));
        assert!(next.left(moment(start, 20, 20)).as_secs() <= PERIOD);
        assert_eq!(next.left(moment(start, 1010, 1010)), Duration::ZERO);
        // At the end of all time, nothing overflows.
        let end = Moment { wall: u64::MAX, steady: start.steady };
        assert_eq!(schedule.passed(end).left(end), Duration::ZERO);
    }
}
