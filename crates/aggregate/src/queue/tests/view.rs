//! View of the database: it learns nothing from a queue about who reported what, and when. A queue without a shuffle
//! fails this test.

use super::*;

/// Data that the database is sent: names, lengths and contents, in the order in which they come.
struct View(Vec<(QueueBatchId, Vec<u8>)>);

const PARTICIPANTS: u32 = 40;
const BATCHES: u8 = 5;
const RECORDS: u32 = 50;
const ALL: usize = (PARTICIPANTS * BATCHES as u32 * RECORDS) as usize;

fn filled(path: &Path) -> Queue {
    let queue = open(path);
    for number in 0..BATCHES {
        for participant in 0..PARTICIPANTS {
            submit(&queue, participant, number, RECORDS).unwrap();
        }
    }
    queue.close().unwrap();
    queue
}

fn view(queue: &Queue) -> View {
    assert_eq!(queue.shuffle(&TERMS, MEMORY).unwrap(), ShuffleOutcome::Left { records: ALL as u64 });
    let mut sent = Vec::new();
    while let Some(OutgoingBatch { id, records }) = queue.next_outgoing().unwrap() {
        queue.sent(&id).unwrap();
        sent.push((id, records));
    }
    View(sent)
}

/// The same by a queue that sends batches as they come: `first` says what a batch is ordered by.
fn leaky<K: Ord>(first: impl Fn(u32, u8) -> K) -> View {
    let mut batches: Vec<_> =
        (0..PARTICIPANTS).flat_map(|participant| (0..BATCHES).map(move |number| (participant, number))).collect();
    batches.sort_by_key(|&(participant, number)| first(participant, number));
    let records: Vec<u8> =
        batches.into_iter().flat_map(|(participant, number)| batch(participant, number, RECORDS)).collect();
    let pieces = records.chunks(LIMITS.batch_records * RECORD_BYTES);
    View(pieces.map(|piece| (*blake3::hash(piece).as_bytes().first_chunk().unwrap(), piece.to_vec())).collect())
}

/// Measures how often a record directly follows one with which it has something in common. The result is in standard
/// deviations above the expectation for a random order.
fn neighbours(
    records: &[(u32, u8, u32)],
    common: impl Fn(&(u32, u8, u32), &(u32, u8, u32)) -> bool,
    probability: f64,
) -> f64 {
    let pairs = (records.len() - 1) as f64;
    let found = records.windows(2).filter(|pair| common(&pair[0], &pair[1])).count() as f64;
    (found - pairs * probability) / (pairs * probability * (1.0 - probability)).sqrt()
}

/// The correlation of a record's place with a number of its own, in standard deviations.
fn correlation(records: &[(u32, u8, u32)], number: impl Fn(&(u32, u8, u32)) -> f64) -> f64 {
    let count = records.len() as f64;
    let numbers: Vec<f64> = records.iter().map(number).collect();
    let mean = numbers.iter().sum::<f64>() / count;
    let middle = (count - 1.0) / 2.0;
    let both: f64 = numbers.iter().enumerate().map(|(place, number)| (place as f64 - middle) * (number - mean)).sum();
    let spread = |values: &mut dyn Iterator<Item = f64>| values.map(|value| value * value).sum::<f64>();
    let places = spread(&mut (0..records.len()).map(|place| place as f64 - middle));
    both / (places * spread(&mut numbers.iter().map(|number| number - mean))).sqrt() * count.sqrt()
}

/// Searches a view for participants and for times, and returns the finding, if there is one.
fn look(View(sent): &View) -> Option<String> {
    let records: Vec<_> = sent.iter().flat_map(|(_, records)| records.chunks_exact(RECORD_BYTES).map(origin)).collect();
    assert_eq!(records.len(), ALL);
    let (participants, all) = (f64::from(PARTICIPANTS), ALL as f64);
    let of_each = all / participants;
    let of_batch = f64::from(RECORDS);
    let found = [
        (
            "records of a participant beside each other",
            neighbours(&records, |a, b| a.0 == b.0, (of_each - 1.0) / (all - 1.0)),
        ),
        (
            "records of a batch beside each other",
            neighbours(&records, |a, b| (a.0, a.1) == (b.0, b.1), (of_batch - 1.0) / (all - 1.0)),
        ),
        ("participants in order", correlation(&records, |record| f64::from(record.0))),
        ("batches in order of their time", correlation(&records, |record| f64::from(record.1))),
        ("places within batches in order", correlation(&records, |record| f64::from(record.2))),
    ];
    // Five numbers, each beyond five deviations with probability below 6 * 10^-7.
    let found = found
        .iter()
        .find(|(_, deviations)| deviations.abs() > 5.0)
        .map(|(what, deviations)| format!("{what}: {deviations}"));
    let lengths: Vec<_> = sent.iter().map(|(_, records)| records.len()).collect();
    let whole = LIMITS.batch_records * RECORD_BYTES;
    found.or_else(|| lengths.iter().any(|length| *length != whole).then(|| format!("lengths {lengths:?}")))
}

#[test]
fn the_database_sees_neither_participants_nor_times() {
    let home = tempfile::tempdir().unwrap();
    assert_eq!(look(&view(&filled(home.path()))), None);
}

#[test]
fn it_would_see_them_without_a_shuffle() {
    assert!(look(&leaky(|participant, number| (number, participant))).is_some(), "in order of arrival");
    assert!(look(&leaky(|participant, number| (participant, number))).is_some(), "in order of participants");
    // Whole batches in a random order are no shuffle either.
    let random = |participant: u32, number: u8| *blake3::hash(&record(participant, number, 0)).as_bytes();
    assert!(look(&leaky(random)).is_some(), "batches in a random order");
}

/// Names are no numbers, and do not repeat themselves: they are not derived from what the queue holds.
#[test]
fn names_of_batches_are_random() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let ids = [one, other].map(|home| {
        view(&filled(home.path())).0.into_iter().map(|(id, _)| id).collect::<std::collections::BTreeSet<_>>()
    });
    assert!(ids[0].is_disjoint(&ids[1]));
    let ones: u32 = ids.iter().flatten().flatten().map(|byte| byte.count_ones()).sum();
    let bits = (ids[0].len() + ids[1].len()) as f64 * 128.0;
    assert!((f64::from(ones) - bits / 2.0).abs() < 5.0 * bits.sqrt() / 2.0, "{ones} of {bits}");
}

/// No sealed content is found in a file.
#[test]
fn the_files_show_no_record() {
    let home = tempfile::tempdir().unwrap();
    let queue = filled(home.path());
    let check = || {
        for name in names(home.path()) {
            let bytes = std::fs::read(home.path().join(&name)).unwrap();
            assert!(!bytes.windows(8).any(|part| part == [0xab; 8]), "{name}");
            assert_eq!(
                std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(home.path().join(&name)).unwrap()) & 0o777,
                0o600,
                "{name}"
            );
        }
    };
    check();
    queue.shuffle(&TERMS, MEMORY).unwrap();
    check();
}
