//! The sessions of a state directory in a round, and how much of what was written the database's last one covers.

use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::time::Instant;

use tacita_core::{Error, Result};
use tacita_node::base::folder::Folder;
use tacita_node::base::text::counted;
use tokio::sync::watch;

use super::journal::{Journal, Line, Past, Unfit};
use super::names::Names;
use crate::queue::{Fresh, Queue};
use crate::wire::sessions::StateSession;

/// The sessions of a state directory in a round.
pub(super) struct Track {
    pub(super) journal: Journal,
    pub(super) past: Past,
    /// Time at which the database held the last session.
    pub(super) since: Instant,
}

/// Extent to which the database's last session covers what a queue has written.
pub(super) struct Cover {
    pub(super) track: Mutex<Track>,
    pub(super) seen: watch::Sender<Seen>,
}

pub(super) struct Seen {
    /// Amount of what was written that is covered. It is nothing while it is not known whether this is the right
    /// directory.
    pub(super) covers: Option<u64>,
    pub(super) refused: Option<Refused>,
    /// Time of the observation.
    pub(super) at: Instant,
}

/// Reason why nothing more is covered.
#[derive(Clone)]
pub(super) enum Refused {
    Elsewhere,
    Closed(String),
}

impl Track {
    /// Opens the track of a round, as it is on disk.
    pub(super) fn open(folder: &Arc<Folder>, round: &str) -> Result<Track> {
        let (journal, past) = Journal::open(folder, round)?;
        Ok(Track { journal, past, since: Instant::now() })
    }

    /// Checks that the queue belongs here, and describes the fault if it does not. Batches of the queue that are not in
    /// the journal are taken for new.
    pub(super) fn check(&mut self, queue: &Queue, names: &Names, is_complete: bool) -> std::result::Result<(), String> {
        let (generation, present) = queue.present();
        let present = names.batches(present)?;
        // They are not kept in memory: the file has them.
        let past = Past { batches: std::mem::take(&mut self.past.batches), ..self.past.clone() };
        past.check(generation, &present.keys().copied().collect()).map_err(|unfit| match unfit {
            Unfit::Lacks(batches) => {
                let shown = counted(batches as u64, "batch");
                format!("its queue lacks {shown} that this proxy has acknowledged, or participants.json was replaced")
            }
            Unfit::Older => "its queue is an older copy, from before a shuffle".into(),
        })?;
        if !is_complete {
            queue.note_new(present.into_iter().filter(|(name, _)| !past.batches.contains(name)).map(|(_, key)| key));
        }
        Ok(())
    }

    /// Writes the next session, behind what has come.
    pub(super) fn propose(&mut self, fresh: &Fresh, names: &Names) -> Result<()> {
        let next = self.past.chain.next()?;
        let batches = names.batches(fresh.batches.iter().copied()).map_err(Error::Internal)?;
        let lines: Vec<Line> =
            batches.keys().map(|name| Line::Batch(*name)).chain([Line::Session(next.name, fresh.generation)]).collect();
        self.journal.write(&lines)?;
        self.past.chain.propose(next, fresh.written);
        Ok(())
    }

    pub(super) fn propose_for(&mut self, queue: &Queue, names: &Names) -> Result<()> {
        let fresh = queue.take_fresh();
        self.propose(&fresh, names).inspect_err(|_| queue.put_back(fresh.batches))
    }

    /// Returns the amount of what was written that the database's last session covers, as far as that is known.
    pub(super) fn covers(&self) -> Option<u64> {
        self.past.chain.session().map(|_| self.past.chain.covered())
    }

    /// The session that the database holds.
    pub(super) fn session(&self) -> Result<StateSession> {
        let session = self.past.chain.session();
        session.ok_or_else(|| Error::NotReady("waits until the database knows this state directory".into()))
    }
}

impl Cover {
    pub(super) fn new(track: Track) -> Cover {
        let seen = Seen { covers: track.covers(), refused: None, at: Instant::now() };
        Cover { track: Mutex::new(track), seen: watch::Sender::new(seen) }
    }

    /// Has the database asked again that has refused to hold a session.
    pub(super) fn ask_again(&self) {
        self.seen.send_modify(|seen| seen.refused = None);
    }

    /// The sessions, unless somebody is at work with them.
    pub(super) fn free_track(&self) -> Option<MutexGuard<'_, Track>> {
        match self.track.try_lock() {
            Ok(track) => Some(track),
            Err(TryLockError::Poisoned(track)) => Some(track.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use tacita_node::identity::Fingerprint;
    use tacita_node::store::seal::SealKey;
    use zeroize::Zeroizing;

    use super::super::names::{FILE, batch_name};
    use super::*;
    use crate::queue::{Accepted, QueueLimits, Submission};

    /// Numbers are worth nothing without the list that gave them: a queue fits its journal under that one alone.
    #[test]
    fn a_queue_does_not_fit_its_journal_under_another_list() {
        let home = tempfile::tempdir().unwrap();
        let folder = Arc::new(Folder::make(&home.path().join("state")).unwrap());
        let limits =
            QueueLimits { record_bytes: 4, batch_records: 8, bytes: 1 << 20, quota: 9, batches: 9, claims: false };
        let queue = Queue::open(&folder.at("queue"), SealKey::new(Zeroizing::new([3; 32])), limits).unwrap();
        let [a, b, c, d] = [1, 2, 3, 4].map(|byte| Fingerprint([byte; 32]));
        let names = Names::open(folder.clone()).unwrap();
        let accept = |who: &Fingerprint, batch: u8| {
            let participant = names.number(who).unwrap();
            queue
                .accept(&Submission { participant, batch: [batch; 16], digest: [0; 32], records: &[batch; 4] })
                .unwrap()
        };
        assert!([(a, 1), (b, 2), (c, 3)].iter().all(|(who, batch)| accept(who, *batch) == Accepted::New));
        Track::open(&folder, "one").unwrap().propose_for(&queue, &names).unwrap();
        let check = || {
            let names = Names::open(folder.clone()).unwrap();
            Track::open(&folder, "one").unwrap().check(&queue, &names, false)
        };
        assert_eq!(check(), Ok(()));
        // Lost; and later, when others have come in another order.
        std::fs::remove_file(folder.at(FILE)).unwrap();
        assert!(check().unwrap_err().contains("participants.json lacks"));
        for (list, lacks) in [([c, b, a], 2), ([a, b, d], 1)] {
            let _ = std::fs::remove_file(folder.at(FILE));
            let names = Names::open(folder.clone()).unwrap();
            // An older one lacks the last.
            for who in &list[..2] {
                names.number(who).unwrap();
            }
            assert!(check().unwrap_err().contains("participants.json lacks"));
            names.number(&list[2]).unwrap();
            let said = check().unwrap_err();
            assert!(said.contains(&format!("lacks {lacks} batch")) && said.contains("participants.json"), "{said}");
        }
    }

    /// Batches that could not be journaled, as on a full disk, are journaled when there is room again: else nobody
    /// would miss them.
    #[test]
    fn what_could_not_be_journaled_is_journaled_later() {
        use super::super::journal::file_name;

        let home = tempfile::tempdir().unwrap();
        let folder = Arc::new(Folder::make(&home.path().join("state")).unwrap());
        let limits =
            QueueLimits { record_bytes: 4, batch_records: 8, bytes: 1 << 20, quota: 9, batches: 9, claims: false };
        let queue = Queue::open(&folder.at("queue"), SealKey::new(Zeroizing::new([3; 32])), limits).unwrap();
        let names = Names::open(folder.clone()).unwrap();
        let participant = names.number(&Fingerprint([1; 32])).unwrap();
        let batch = Submission { participant, batch: [1; 16], digest: [0; 32], records: &[1; 4] };
        assert_eq!(queue.accept(&batch).unwrap(), Accepted::New);
        let mut track = Track::open(&folder, "one").unwrap();
        std::fs::create_dir(folder.at(&file_name("one"))).unwrap();
        assert!(track.propose_for(&queue, &names).is_err());
        std::fs::remove_dir(folder.at(&file_name("one"))).unwrap();
        track.propose_for(&queue, &names).unwrap();
        let past = Journal::open(&folder, "one").unwrap().1;
        assert_eq!(past.batches, [batch_name(&Fingerprint([1; 32]), &[1; 16])].into());
    }
}
