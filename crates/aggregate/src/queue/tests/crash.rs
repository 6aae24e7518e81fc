//! Whatever is killed, and wherever the disk fails: what was accepted leaves, and leaves once.

use std::process::{Command, Stdio};
use std::time::Duration;

use super::*;

pub(super) const CHILD: &str = "TACITA_TEST_CRASH";

/// Batches of the participants, in the order in which they submit them.
const BATCHES: [(u32, u8, u32); 10] = [
    (1, 1, 40),
    (2, 1, 3),
    (3, 1, 70),
    (2, OTHERS, 20),
    (1, 2, 10),
    (4, 1, 0),
    (2, 2, 55),
    (3, 2, 1),
    (4, 2, 30),
    (1, OTHERS, 25),
];

/// The number of batches that another queue has claimed.
const OTHERS: u8 = 9;

/// Returns the records that leave from here.
fn own() -> Vec<(u32, u8, u32)> {
    all(&BATCHES).into_iter().filter(|(_, number, _)| *number != OTHERS).collect()
}

const CRASH_LIMITS: QueueLimits = QueueLimits { batch_records: 50, claims: true, ..LIMITS };

/// While the round is open, random batches leave; at its close, the rest.
const CRASH_TERMS: Conditions = Conditions { min_participants: 2, max_share: 0.9, batch_size: Some(60) };

/// Plays a proxy that has others beside it: claims and shuffles.
fn claim_and_shuffle(queue: &Queue) -> Result<ShuffleOutcome> {
    if queue.is_due(&CRASH_TERMS) {
        let (others, own): (Vec<_>, Vec<_>) =
            queue.unclaimed().into_iter().partition(|(_, batch)| *batch == [OTHERS; 16]);
        queue.settle(&own, &others)?;
    }
    queue.shuffle(&CRASH_TERMS, MEMORY)
}

/// A proxy, and a database that keeps batches by their names: goes on from wherever the one before ended.
pub(super) fn play(home: &Path) {
    let (database, acknowledged) = (home.join("database"), home.join("acknowledged"));
    std::fs::create_dir_all(&database).unwrap();
    std::fs::create_dir_all(&acknowledged).unwrap();
    let queue = try_open(&home.join("queue"), CRASH_LIMITS).unwrap();
    let send = || {
        while let Some(OutgoingBatch { id, records }) = queue.next_outgoing().unwrap() {
            let file = database.join(tacita_node::base::hex::hex(&id));
            match std::fs::read(&file) {
                Ok(known) => assert!(known == records, "a batch of this name has other records"),
                Err(_) => {
                    std::fs::write(home.join("part"), &records).unwrap();
                    std::fs::rename(home.join("part"), file).unwrap();
                }
            }
            queue.sent(&id).unwrap();
        }
    };
    for (participant, number, records) in BATCHES {
        let told = acknowledged.join(format!("{participant}-{number}"));
        match submit(&queue, participant, number, records).unwrap() {
            // Closed only after all was acknowledged.
            Accepted::New => assert!(!told.exists(), "an acknowledged batch was forgotten"),
            Accepted::Known => {}
            Accepted::Refused(refusal) => panic!("{refusal:?}"),
        }
        std::fs::write(told, "").unwrap();
        claim_and_shuffle(&queue).unwrap();
        send();
    }
    queue.close().unwrap();
    assert!(!matches!(claim_and_shuffle(&queue).unwrap(), ShuffleOutcome::Unshufflable(_)));
    send();
}

#[test]
#[ignore = "the process that is killed"]
fn child() {
    if let Ok(home) = std::env::var(CHILD) {
        play(Path::new(&home));
        println!("complete");
    }
}

fn command(home: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "queue::tests::crash::child", "--nocapture", "--ignored"]).env(CHILD, home);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).env_remove(KILL_AT);
    command
}

/// Plays on until it is complete; what the database has is what was submitted.
fn finish(home: &Path) {
    let output = command(home).output().unwrap();
    let texts = [&output.stdout[..], &output.stderr].map(String::from_utf8_lossy).concat();
    assert!(output.status.success() && texts.contains("complete"), "{texts}");
    check_complete(home);
}

/// Checks that the database has the submitted records, and that nothing waits.
pub(super) fn check_complete(home: &Path) {
    let mut left = Vec::new();
    for name in names(&home.join("database")) {
        let records = std::fs::read(home.join("database").join(name)).unwrap();
        left.push(records.chunks_exact(RECORD_BYTES).map(origin).collect());
    }
    assert_eq!(sorted(left), own());
    assert_eq!(names(&home.join("queue")), ["queue.lock", "state"]);
}

/// Checks every other step: most states that a crash can leave behind last for two.
#[test]
fn killed_at_every_other_step_nothing_is_lost_or_doubled() {
    killed_at_steps(2, &[11]);
}

#[test]
#[ignore = "slow: a process for each step"]
fn killed_at_every_step_nothing_is_lost_or_doubled() {
    killed_at_steps(1, &[2, 3, 5, 11]);
}

/// A process is ended by SIGKILL at its first step, the next one `every` steps later, and so on, until one gets to the
/// end; then one starts anew and is ended at each `apart`-th of its steps again and again.
fn killed_at_steps(every: usize, all_apart: &[u32]) {
    use std::os::unix::process::ExitStatusExt;
    let mut last = 0;
    for step in (1..).step_by(every) {
        last = step;
        let home = tempfile::tempdir().unwrap();
        let output = command(home.path()).env(KILL_AT, format!("#{step}")).output().unwrap();
        let killed = output.status.signal() == Some(Signal::KILL.as_raw());
        let texts = [&output.stdout[..], &output.stderr].map(String::from_utf8_lossy).concat();
        assert!(
            killed && texts.contains("killed at") || output.status.success() && texts.contains("complete"),
            "{texts}"
        );
        finish(home.path());
        if !killed {
            break;
        }
    }
    assert!(last > 60, "{last} steps");
    for apart in all_apart {
        let home = tempfile::tempdir().unwrap();
        let mut kills = 0;
        while command(home.path()).env(KILL_AT, format!("#{apart}")).output().unwrap().status.signal().is_some()
            && kills < 100
        {
            kills += 1;
        }
        assert!(kills > 2, "every {apart}. step: {kills}");
        finish(home.path());
    }
}

/// Kills a process after random times, and starts it again.
fn kill_at_random(kills: u32, seed: u64) {
    use rand_core::{Rng, SeedableRng};
    println!("seed {seed}");
    let mut rng = chacha20::ChaCha20Rng::seed_from_u64(seed);
    let mut killed = 0;
    while killed < kills {
        let home = tempfile::tempdir().unwrap();
        for _ in 0..4 {
            let mut child = command(home.path()).spawn().unwrap();
            std::thread::sleep(Duration::from_micros(u64::from(rng.next_u32() % 60_000)));
            child.kill().unwrap();
            let status = child.wait().unwrap();
            killed += u32::from(!status.success());
        }
        finish(home.path());
    }
}

fn fresh_seed() -> u64 {
    let mut seed = [0; 8];
    getrandom::fill(&mut seed).unwrap();
    u64::from_le_bytes(seed)
}

#[test]
fn killed_at_random_times_nothing_is_lost_or_doubled() {
    kill_at_random(12, fresh_seed());
}

#[test]
#[ignore = "minutes"]
fn killed_a_hundred_times_nothing_is_lost_or_doubled() {
    kill_at_random(100, fresh_seed());
}

#[test]
fn where_the_disk_is_full_nothing_is_half_done() {
    full_at_steps(3);
}

#[test]
#[ignore = "slow: a round for each step"]
fn where_the_disk_is_full_nothing_is_half_done_at_any_step() {
    full_at_steps(1);
}

/// The disk is full at the first step, then `every` steps later, and so on: an error, and what goes on afterwards goes
/// on as if nothing had been.
fn full_at_steps(every: usize) {
    for steps in (0..).step_by(every) {
        let home = tempfile::tempdir().unwrap();
        let mut queue = try_open(home.path(), CRASH_LIMITS).unwrap();
        let mut left = Vec::new();
        let mut failed = 0;
        FULL_AFTER.set(Some(steps));
        // Tries again after an error, on a disk with room; a queue that does not know its state has to start again.
        let mut twice = |queue: &mut Queue, left: &mut Vec<_>, act: &dyn Fn(&Queue, &mut Vec<_>) -> Result<()>| {
            let Err(error) = act(queue, left) else { return };
            assert!(error.to_string().contains("the disk is full"), "{error}");
            FULL_AFTER.set(None);
            failed += 1;
            if queue.status_is_broken() {
                assert!(queue.next_outgoing().is_err() && queue.close().is_err());
                take_place(queue, home.path());
            }
            act(queue, left).unwrap();
        };
        let send = |queue: &Queue, left: &mut Vec<Vec<(u32, u8, u32)>>| {
            while let Some(outgoing) = queue.next_outgoing()? {
                left.push(outgoing.records.chunks_exact(RECORD_BYTES).map(origin).collect());
                queue.sent(&outgoing.id)?;
            }
            Ok(())
        };
        for (participant, number, records) in BATCHES {
            twice(&mut queue, &mut left, &|queue, _| {
                assert!(matches!(submit(queue, participant, number, records)?, Accepted::New | Accepted::Known));
                Ok(())
            });
            twice(&mut queue, &mut left, &|queue, _| claim_and_shuffle(queue).map(drop));
            twice(&mut queue, &mut left, &send);
        }
        twice(&mut queue, &mut left, &|queue, _| queue.close());
        twice(&mut queue, &mut left, &|queue, _| claim_and_shuffle(queue).map(drop));
        twice(&mut queue, &mut left, &send);
        FULL_AFTER.set(None);
        let mut records = sorted(left);
        records.dedup();
        assert_eq!(records, own(), "{steps}");
        assert_eq!(queue.status().bytes, 0);
        drop(queue);
        open_again(home.path());
        assert_eq!(names(home.path()), ["queue.lock", "state"]);
        if failed == 0 {
            assert!(steps > 60, "{steps} steps");
            break;
        }
    }
}

/// Opens the queue anew in the place of one that does not know its state.
fn take_place(queue: &mut Queue, path: &Path) {
    let elsewhere = tempfile::tempdir().unwrap();
    *queue = try_open(elsewhere.path(), CRASH_LIMITS).unwrap();
    *queue = try_open(path, CRASH_LIMITS).unwrap();
}

fn open_again(path: &Path) {
    try_open(path, CRASH_LIMITS).unwrap();
}

impl Queue {
    fn status_is_broken(&self) -> bool {
        lock(&self.held).broken
    }
}
