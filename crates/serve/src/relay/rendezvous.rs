//! Waiting place for parties whose peers have not come yet.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tacita_core::Result;
use tacita_node::base::text::{bytes, duration};
use tacita_node::identity::{Fingerprint, Identity};
use tacita_node::transport::relay::{Reception, RelayMessage, RelayRequest, RelayWish, WAIT_SIGN};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::time::{MissedTickBehavior, interval};

use super::Served;
use super::splice::splice;
use crate::sync::lock;

/// Time for which a party waits for its peer.
const WAIT: Duration = Duration::from_secs(3600);

/// Party that has come.
pub(super) struct PendingPeer {
    pub(super) socket: TcpStream,
    pub(super) reception: Reception,
    pub(super) who: Fingerprint,
}

/// Maximum number of simultaneous connections between two parties of a job.
const MAX_LANES: usize = 256;

/// Two parties of a job, by their places, the earlier one first; and which of their connections it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Pair {
    job: usize,
    places: [usize; 2],
    lane: u64,
}

/// Status of a pair.
enum Standing {
    /// One of the two, by its place, waits under this number to be sent the other one, or why it waits no more.
    Waits {
        place: usize,
        number: u64,
        called: oneshot::Sender<std::result::Result<(PendingPeer, Joined), RelayMessage>>,
    },
    /// Meeting: both parties are here.
    Joined,
}

/// Jobs, parties, and how each pair stands.
pub(super) struct Rendezvous {
    identity: Identity,
    jobs: Vec<Served>,
    pins: Vec<Fingerprint>,
    pairs: Mutex<HashMap<Pair, Standing>>,
    next: AtomicU64,
    closed: AtomicBool,
}

/// A pair that is here; dropping it makes room for the next time.
struct Joined {
    hall: Arc<Rendezvous>,
    pair: Pair,
}

impl Drop for Joined {
    fn drop(&mut self) {
        lock(&self.hall.pairs).remove(&self.pair);
    }
}

impl Rendezvous {
    pub(super) fn new(identity: Identity, jobs: Vec<Served>) -> Rendezvous {
        let mut pins: Vec<_> = jobs.iter().flat_map(|job| job.parties.iter().map(|(_, pin)| *pin)).collect();
        pins.sort_by_key(|pin| pin.0);
        pins.dedup();
        Rendezvous {
            identity,
            jobs,
            pins,
            pairs: Mutex::default(),
            next: AtomicU64::new(0),
            closed: AtomicBool::new(false),
        }
    }

    /// A reception for the next one that comes.
    pub(super) fn reception(&self) -> Result<Reception> {
        Reception::new(&self.identity, self.pins.clone())
    }

    /// Ends all waiting. Returns how many pairs are joined, and how many parties waited.
    pub(super) fn close(&self) -> (usize, usize) {
        self.closed.store(true, Ordering::Release);
        let mut pairs = lock(&self.pairs);
        let all = pairs.len();
        // Those who wait find nobody who could call them any more.
        pairs.retain(|_, standing| matches!(standing, Standing::Joined));
        (pairs.len(), all - pairs.len())
    }

    /// Does what a guest wants. The error is the end of a sentence about it, which it was told.
    pub(super) async fn attend(
        self: Arc<Rendezvous>,
        guest: PendingPeer,
        request: RelayRequest,
    ) -> std::result::Result<(), String> {
        let Some(job) = self.jobs.iter().position(|job| job.agreement == request.agreement) else {
            let name = self.known_as(&guest.who);
            guest.dismiss(RelayMessage::UnknownJob).await;
            let agreement: String = request.agreement[..8].iter().map(|byte| format!("{byte:02x}")).collect();
            return Err(format!(
                "{name} asks for a job that is not served here (agreement {agreement}): its job file differs, or was not given"
            ));
        };
        let place = |pin: &Fingerprint| self.jobs[job].parties.iter().position(|(_, party)| party == pin);
        let peer = match request.wish {
            RelayWish::Look => None,
            RelayWish::Meet { peer, lane } => Some((place(&peer), lane)),
        };
        match (place(&guest.who), peer) {
            (Some(own), None) => {
                tracing::info!("{}: {} looked whether the relay is there", self.jobs[job].id, self.name(job, own));
                guest.dismiss(RelayMessage::Known).await;
                Ok(())
            }
            (Some(own), Some((Some(peer), lane))) if own != peer => {
                let places = [own.min(peer), own.max(peer)];
                self.come(guest, Pair { job, places, lane }, own).await;
                Ok(())
            }
            _ => {
                let name = self.known_as(&guest.who);
                guest.dismiss(RelayMessage::NoSuchPair).await;
                Err(format!("{name} has no such peer in job {}", self.jobs[job].id))
            }
        }
    }

    /// Returns the name that the first job gives to a party that is let in.
    fn known_as(&self, who: &Fingerprint) -> String {
        let named = |job: &Served| {
            let (name, _) = job.parties.iter().find(|(_, pin)| pin == who)?;
            Some(format!("{name} of job {}", job.id))
        };
        self.jobs.iter().find_map(named).unwrap_or_default()
    }

    fn name(&self, job: usize, place: usize) -> &str {
        self.jobs[job].parties.get(place).map_or("", |(name, _)| name)
    }

    /// Has one of a pair wait, or joined with who waits. Returns how the pair stood before; as one that is here, if the
    /// two have as many connections as they may.
    fn stand(&self, pair: Pair, own: usize, waits: Standing) -> Option<Standing> {
        let mut pairs = lock(&self.pairs);
        let of_two = |other: &&Pair| (other.job, other.places) == (pair.job, pair.places);
        if !pairs.contains_key(&pair) && pairs.keys().filter(of_two).count() >= MAX_LANES {
            return Some(Standing::Joined);
        }
        match pairs.entry(pair) {
            Entry::Vacant(free) => {
                free.insert(waits);
                None
            }
            Entry::Occupied(mut taken) => match taken.get() {
                Standing::Joined => Some(Standing::Joined),
                Standing::Waits { place, .. } if *place == own => Some(taken.insert(waits)),
                Standing::Waits { .. } => Some(taken.insert(Standing::Joined)),
            },
        }
    }

    /// One of a pair has come.
    async fn come(self: Arc<Rendezvous>, mut guest: PendingPeer, pair: Pair, own: usize) {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let calls = loop {
            if self.closed.load(Ordering::Acquire) {
                return guest.dismiss(RelayMessage::Ending).await;
            }
            let (called, calls) = oneshot::channel();
            let waits = Standing::Waits { place: own, number, called };
            let before = self.stand(pair, own, waits);
            match before {
                None => break calls,
                Some(Standing::Joined) => {
                    let name = self.name(pair.job, own);
                    tracing::info!(
                        "{}: {name} came again while the two are connected: sent away",
                        self.jobs[pair.job].id
                    );
                    return guest.dismiss(RelayMessage::Busy).await;
                }
                Some(Standing::Waits { place, called, .. }) if place == own => {
                    // It may have left.
                    let _ = called.send(Err(RelayMessage::Replaced));
                    break calls;
                }
                Some(Standing::Waits { called, .. }) => {
                    let joined = Joined { hall: self.clone(), pair };
                    match called.send(Ok((guest, joined))) {
                        Ok(()) => return,
                        // The one that waited has left in this moment: this one waits in its place.
                        Err(Ok((back, joined))) => {
                            drop(joined);
                            guest = back;
                        }
                        Err(Err(_)) => return,
                    }
                }
            }
        };
        let [low, high] = pair.places;
        let peer = if low == own { high } else { low };
        tracing::info!(
            "{}: {} waits for {}",
            self.jobs[pair.job].id,
            self.name(pair.job, own),
            self.name(pair.job, peer)
        );
        self.wait(guest, pair, own, number, calls).await;
    }

    /// Waits until the other one is here.
    async fn wait(
        self: Arc<Rendezvous>,
        mut guest: PendingPeer,
        pair: Pair,
        own: usize,
        number: u64,
        mut calls: oneshot::Receiver<std::result::Result<(PendingPeer, Joined), RelayMessage>>,
    ) {
        let started = Instant::now();
        let mut sign = interval(WAIT_SIGN);
        sign.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let word = loop {
            tokio::select! {
                biased;
                call = &mut calls => match call {
                    Ok(Ok((other, joined))) => {
                        let [first, second] = if own == pair.places[0] { [guest, other] } else { [other, guest] };
                        return self.join(first, second, joined).await;
                    }
                    Ok(Err(word)) => break Some(word),
                    Err(_) => break Some(RelayMessage::Ending),
                },
                // It has nothing to say until the other one is here: it has left, or does not keep to the rules.
                _ = guest.socket.readable() => match guest.socket.try_read(&mut [0]) {
                    Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                    _ => break None,
                },
                _ = sign.tick() => {
                    if started.elapsed() > WAIT {
                        break Some(RelayMessage::Late);
                    }
                    if !guest.tell(RelayMessage::Wait).await {
                        break None;
                    }
                }
            }
        };
        if let Entry::Occupied(taken) = lock(&self.pairs).entry(pair)
            && matches!(taken.get(), Standing::Waits { number: other, .. } if *other == number)
        {
            taken.remove();
        }
        if word.is_none() {
            tracing::info!("{}: {} has left", self.jobs[pair.job].id, self.name(pair.job, own));
        }
        // Whoever has just been sent here finds nobody, and comes again.
        drop(calls);
        if let Some(word) = word {
            guest.dismiss(word).await;
        }
    }

    /// Joins two parties that are both here.
    async fn join(self: Arc<Rendezvous>, mut first: PendingPeer, mut second: PendingPeer, joined: Joined) {
        let Pair { job, places, .. } = joined.pair;
        let (id, [one, two]) = (&self.jobs[job].id, places.map(|place| self.name(job, place)));
        if !first.tell(RelayMessage::Joined).await || !second.tell(RelayMessage::Joined).await {
            tracing::info!("{id}: {one} or {two} left when both were here");
            return;
        }
        tracing::info!("{id}: {one} and {two} are connected");
        let (started, counts) = (Instant::now(), [AtomicU64::new(0), AtomicU64::new(0)]);
        splice(first.socket, second.socket, &counts).await;
        drop(joined);
        let [from_one, from_two] = counts.map(|count| bytes(count.into_inner()));
        let time = duration(started.elapsed());
        tracing::info!("{id}: {one} and {two} are done: {from_one} from {one}, {from_two} from {two}, in {time}");
    }
}
