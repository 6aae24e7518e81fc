//! Services of a role of which any will do: one is asked, and the next where it is silent.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tacita_core::{Error, Result};

use super::{ApiRequest, ApiResponse, Client, Persistence};

/// Time limit for one of several services to be connected, and then to begin an answer, before the next is asked.
const TIMEOUT: Duration = Duration::from_secs(15);

/// For how long one that was silent is asked last.
const REST: Duration = Duration::from_secs(5);

/// After how long it is said who has been silent from the beginning: it may not have been started yet.
const LOG_INTERVAL: Duration = Duration::from_secs(10);

/// Interval at which a service that is asked nothing else is asked whether it is there.
const GREET: Duration = Duration::from_secs(3);

/// Check of each service before any other request: whether it serves the same job.
type Meet = Box<dyn Fn(&Client) -> Result<()> + Send + Sync>;

/// Clients of services of one role, each of which can answer whatever is asked.
///
/// Only silence, being told to come again, or not being let in has the next one asked: an answer that is wrong is an
/// error about who gave it.
pub struct Replicas {
    all: Vec<Replica>,
    /// Index of the service that is asked first.
    current: AtomicUsize,
    /// Index of the service whose turn it is.
    turn: AtomicUsize,
    meet: Meet,
}

struct Replica {
    client: Client,
    met: AtomicBool,
    /// Silence of the service, if it has not answered since.
    silent: Mutex<Option<Silence>>,
}

/// A time without an answer.
#[derive(Clone, Copy)]
struct Silence {
    began: Instant,
    /// Time of the latest failed attempt.
    last: Instant,
    is_told: bool,
}

impl Replicas {
    /// Creates the clients of at least one service. Nothing is connected yet. Each is met by `meet` when it is, and
    /// again after it was silent.
    pub fn new(clients: Vec<Client>, meet: impl Fn(&Client) -> Result<()> + Send + Sync + 'static) -> Result<Replicas> {
        let several = match clients.len() {
            0 => return Err(Error::Internal("a role without a service".into())),
            number => number > 1,
        };
        let replica = |client: Client| Replica {
            client: if several { client.answered_within(TIMEOUT) } else { client },
            met: AtomicBool::new(false),
            silent: Mutex::default(),
        };
        Ok(Replicas {
            all: clients.into_iter().map(replica).collect(),
            current: AtomicUsize::new(0),
            turn: AtomicUsize::new(0),
            meet: Box::new(meet),
        })
    }

    /// The one that is asked first.
    pub fn current(&self) -> &Client {
        &self.all[self.current.load(Ordering::Relaxed)].client
    }

    /// Returns the time that has passed since one of them last answered.
    pub fn silent(&self) -> Option<Duration> {
        self.all.iter().filter_map(|replica| replica.client.contact().silent()).min()
    }

    /// Asks each once, from the one on that answered last, until one has an answer that is no request to come again;
    /// and who has given it.
    ///
    /// Errors: as [`Client::once`]; [`Error::Network`] if all are silent; those of meeting one.
    pub fn once(&self, ask: &ApiRequest) -> Result<(ApiResponse, &Client)> {
        let (answer, place) = self.go_round(self.current.load(Ordering::Relaxed), ask)?;
        self.current.store(place, Ordering::Relaxed);
        Ok((answer, &self.all[place].client))
    }

    /// Asks as [`Replicas::once`] until there is an answer that is no request to come again, or the time is over, as
    /// [`Client::ask`] does.
    pub fn ask(&self, ask: &ApiRequest, persistence: Persistence) -> Result<(ApiResponse, &Client)> {
        self.persist(persistence, || self.once(ask))
    }

    /// The same, but each time another one is asked first: so that all have as much to do.
    pub fn ask_in_turn(&self, ask: &ApiRequest, persistence: Persistence) -> Result<(ApiResponse, &Client)> {
        self.persist(persistence, || {
            let turn = self.turn.fetch_add(1, Ordering::Relaxed) % self.all.len();
            let (answer, place) = self.go_round(turn, ask)?;
            Ok((answer, &self.all[place].client))
        })
    }

    /// Asks those who have not been asked anything for a while something, so that they know that the asker is there,
    /// until it is to end.
    pub fn keep_in_touch(&self, greeting: &ApiRequest) {
        while self.all.len() > 1 && self.current().rest(GREET).is_ok() {
            for place in 0..self.all.len() {
                if self.all[place].client.contact().silent().is_none_or(|silent| silent >= GREET) {
                    // Who does not answer is noted, and told when it is new.
                    let _ = self.once_of(place, greeting);
                }
            }
        }
    }

    /// Waits, unless it is cancelled.
    pub fn rest(&self, time: Duration) -> Result<()> {
        self.current().rest(time)
    }

    fn persist<'a>(
        &'a self,
        persistence: Persistence,
        mut once: impl FnMut() -> Result<(ApiResponse, &'a Client)>,
    ) -> Result<(ApiResponse, &'a Client)> {
        let mut by = self.current();
        let answer = by.persist(persistence, |_| {
            let (answer, client) = once()?;
            by = client;
            Ok(answer)
        })?;
        Ok((answer, by))
    }

    fn go_round(&self, from: usize, ask: &ApiRequest) -> Result<(ApiResponse, usize)> {
        let mut order: Vec<usize> = (0..self.all.len()).map(|step| (from + step) % self.all.len()).collect();
        order.sort_by_key(|place| self.all[*place].rests());
        let (mut last, mut silent) = (None, Vec::new());
        for place in order {
            match self.once_of(place, ask) {
                Ok(answer) if answer.come_again() => last = Some((answer, place)),
                Err(Error::Network { peer, what }) => silent.push((peer, what)),
                Err(Error::Authentication { peer, what }) if self.all.len() > 1 => silent.push((peer, what)),
                done => return done.map(|answer| (answer, place)),
            }
        }
        // An answer says more than silence.
        last.ok_or_else(|| all_silent(silent))
    }

    fn once_of(&self, place: usize, ask: &ApiRequest) -> Result<ApiResponse> {
        let replica = &self.all[place];
        let done = self.met(replica).and_then(|()| replica.client.once(ask));
        match &done {
            Ok(_) => {
                if replica.silent().take().is_some_and(|silence| silence.is_told) {
                    tracing::info!("{} answers again", replica.client.name());
                }
            }
            Err(error @ (Error::Network { .. } | Error::Authentication { .. })) => {
                replica.met.store(false, Ordering::Release);
                if self.all.len() > 1 && replica.is_news() {
                    tracing::warn!("{error}: the others are asked");
                }
            }
            Err(_) => (),
        }
        done
    }

    fn met(&self, replica: &Replica) -> Result<()> {
        if replica.met.load(Ordering::Acquire) {
            return Ok(());
        }
        match (self.meet)(&replica.client) {
            // It has too much to do: another one may have less.
            Err(Error::NotReady(what)) => Err(Error::Network { peer: replica.client.name().to_owned(), what }),
            Err(error) => Err(error),
            Ok(()) => {
                replica.met.store(true, Ordering::Release);
                Ok(())
            }
        }
    }
}

/// Combines the errors of several services, all of which were silent in their ways.
pub fn all_silent(all: impl IntoIterator<Item = (String, String)>) -> Error {
    let (peers, ways): (Vec<_>, Vec<_>) = all.into_iter().unzip();
    match &peers[..] {
        [] => Error::Internal("nobody was asked".into()),
        [peer] => Error::Network { peer: peer.clone(), what: ways.concat() },
        _ => Error::Network { peer: peers.join(" and "), what: ways.join("; ") },
    }
}

impl Replica {
    fn silent(&self) -> MutexGuard<'_, Option<Silence>> {
        self.silent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that an attempt has failed; whether that is to be told.
    fn is_news(&self) -> bool {
        let now = Instant::now();
        let mut silent = self.silent();
        let silence = silent.get_or_insert(Silence { began: now, last: now, is_told: false });
        silence.last = now;
        let is_news =
            !silence.is_told && (self.client.contact().last().is_some() || silence.began.elapsed() > LOG_INTERVAL);
        silence.is_told |= is_news;
        is_news
    }

    fn rests(&self) -> bool {
        self.silent().is_some_and(|silence| silence.last.elapsed() < REST)
    }
}
