//! The power fails at any write of the queue: what was accepted leaves, and leaves once.

use super::crash::{CHILD, check_complete, play};
use super::*;
use crate::crashes::{Recording, Syncs};

/// Whoever finds this goes on to the end.
fn goes_on(home: &Path) {
    play(home);
    check_complete(home);
}

#[test]
fn wherever_the_power_fails_nothing_is_lost_or_doubled() {
    let recording = Recording::of("queue::tests::crash::child", CHILD);
    recording.cuts("queue", Syncs::All).keep("queue", goes_on);
    // A queue that waits for less is noticed.
    for syncs in [Syncs::None, Syncs::OfFiles, Syncs::OfDirectories] {
        assert!(!recording.cuts("queue", syncs).wrong(1, goes_on).is_empty(), "{syncs:?}");
    }
}
