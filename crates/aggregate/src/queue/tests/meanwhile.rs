//! Properties that hold while a batch is being written.

use std::rc::Rc;
use std::sync::Arc;

use super::*;

/// Submits a batch of 600 records, of which `look` sees the queue at each step; returns at how many.
fn watched(queue: &Arc<Queue>, look: impl Fn(&Queue) + 'static) -> u32 {
    let (seen, held) = (Rc::new(Cell::new(0)), queue.clone());
    let count = seen.clone();
    MEANWHILE.set(Some(Box::new(move |_| {
        look(&held);
        count.set(count.get() + 1);
    })));
    assert_eq!(submit(queue, 1, 1, 600).unwrap(), Accepted::New);
    MEANWHILE.set(None);
    seen.get()
}

/// Batches that come at once take no more disk space than there is, all together.
#[test]
fn what_is_coming_counts_as_if_it_were_there() {
    let home = tempfile::tempdir().unwrap();
    let queue = Arc::new(try_open(home.path(), QueueLimits { bytes: 30_000, ..LIMITS }).unwrap());
    let foresee = |queue: &Queue| queue.foresee(2, &[1; 16], &[0; 32], 600);
    assert_eq!(foresee(&queue), None);
    let full = Some(Accepted::Refused(Refusal::Full));
    assert!(watched(&queue, move |queue| assert_eq!(foresee(queue), full)) > 2);
    assert_eq!(foresee(&queue), full);
}

/// A round that closes waits for the batch that is being taken, and so does the same participant's next one; nobody
/// else's does.
#[test]
fn a_batch_is_taken_before_the_close_and_before_the_next_of_its_participant() {
    let home = tempfile::tempdir().unwrap();
    let queue = Arc::new(open(home.path()));
    let look = |queue: &Queue| {
        assert!(queue.taking.try_write().is_err(), "the round can close");
        assert!(queue.lanes[1].try_lock().is_err(), "the same batch can be taken once more");
        assert!(queue.lanes[2].try_lock().is_ok() && queue.taking.try_read().is_ok());
    };
    assert!(watched(&queue, look) > 2);
    assert!(queue.taking.try_write().is_ok() && queue.lanes[1].try_lock().is_ok());
}
