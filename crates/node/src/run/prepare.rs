//! Loading of a run's data and connection to its peers. A party loads, connects and greets at the same time, and
//! the first failure ends all of it.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use tacita_core::channel::Channel;
use tacita_core::{Error, Result};

use super::connect::{Ready, company};
use super::connections::Connections;
use super::party::PartyRun;
use crate::agreement::handshake::{self, Greeted};
use crate::agreement::{Ability, PartyInput, Source};
use crate::base::random::fresh_rng;
use crate::govern::account::Account;
use crate::transport::key_exchange::NegotiatedGroup;
use crate::transport::links::Links;
use crate::transport::{self, ConnectCancel, Connected};

/// Time that a party which cannot go on waits for its peer, to tell it. This is a little longer than the pauses
/// between two attempts of one that dials.
const WORTH_WAITING: Duration = Duration::from_millis(1300);

/// The same for a party whose policy refuses the job: to its user it is told at once, and the peer should not take it
/// for a fault.
const REFUSAL_WORTH_WAITING: Duration = Duration::from_secs(10);

/// Interval at which a party that loads its table checks that the peer is still there.
const PEER_POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Reads a party's data.
pub(super) type Loader = Box<dyn FnOnce() -> Result<Box<dyn PartyInput>> + Send>;

/// Events that the connecting and the loading thread report.
enum Event {
    Loaded(Box<Result<Box<dyn PartyInput>>>, Duration),
    Met(Box<Result<ConnectedPeer>>),
}

/// A peer that is connected and has the same terms.
struct ConnectedPeer {
    channel: Channel,
    greeted: Greeted,
    group: NegotiatedGroup,
    connect: Duration,
    round_trip: Duration,
}

impl PartyRun {
    /// Gets ready to run: loads the table and connects, at the same time. What was `checked` before in vain ends all,
    /// and the others hear of it.
    pub(super) fn prepare(&self, checked: Result<()>, account: Option<&Arc<Account>>) -> Result<Ready> {
        let load = self.loader(checked, account.cloned());
        match self.meeting.helper.clone() {
            Some(place) => self.load_and_arrive(place, load),
            None => self.load_and_meet(load),
        }
    }

    /// Reads the party's data, unless what was `checked` before has failed, and has its rows compared with those of
    /// earlier runs.
    fn loader(&self, checked: Result<()>, account: Option<Arc<Account>>) -> Loader {
        let (job, me, source, pool) = (self.job.clone(), self.me.clone(), self.source.clone(), self.pool.clone());
        let (governance, identity) = (self.governance.clone(), self.identity.clone());
        let span = tracing::Span::current();
        Box::new(move || {
            let _within = span.entered();
            if let Err(Error::Policy(_)) = checked {
                governance.compare_for_nothing(&job, &me, &identity, &source);
            }
            checked?;
            let source = account.map_or_else(|| Ok(source.clone()), |account| account.compare(&job, &source))?;
            if pool.is_some() {
                job.job.can(&job, Ability::Pool)?;
            }
            let part = job.job.load(&job, &me, &source, pool.as_ref())?;
            job.check_quality(&me, &part.rows())?;
            Ok(part)
        })
    }

    /// Loads the table and meets the peers. Whichever fails first ends all.
    fn load_and_meet(&self, load: Loader) -> Result<Ready> {
        let listener = self.meeting.listener()?;
        let (cancel, links) = (ConnectCancel::default(), Links::new(self.cancel.clone()));
        let met = std::thread::scope(|scope| {
            let (events, reported) = mpsc::channel();
            let (loading, meeting) = (events.clone(), events);
            // Not of the scope: when meeting the peer fails, nobody waits for a table that is no longer needed.
            std::thread::spawn(move || {
                let started = Instant::now();
                let loaded = load();
                let _ = loading.send(Event::Loaded(Box::new(loaded), started.elapsed()));
            });
            let (cancelled, linked, span) = (&cancel, &links, tracing::Span::current());
            scope.spawn(move || span.in_scope(|| self.meet(listener, cancelled, linked, &meeting)));
            let (mut part, mut met) = (None, Vec::new());
            let ended = loop {
                match reported.recv_timeout(PEER_POLL_INTERVAL) {
                    Ok(Event::Met(peer)) => match *peer {
                        Ok(peer) => met.push(peer),
                        Err(error) => break error,
                    },
                    Ok(Event::Loaded(loaded, time)) => match *loaded {
                        Ok(loaded) => part = Some((loaded, time)),
                        Err(error) => {
                            self.tell(&error, &links);
                            break error;
                        }
                    },
                    Err(RecvTimeoutError::Timeout) => {
                        // A peer that goes away while the table is being loaded is noticed now.
                        if self.cancel.is_cancelled() {
                            break Error::Interrupted;
                        }
                        if let Some(failure) = links.failure() {
                            break failure;
                        }
                    }
                    Err(RecvTimeoutError::Disconnected) => {
                        break Error::Internal("loading or connecting ended without a word".into());
                    }
                }
                if met.len() == self.peers()
                    && let Some(part) = part.take()
                {
                    return Ok((part, met));
                }
            };
            if self.peers() > 1 {
                self.tell(&ended, &links);
            }
            links.end(&ended);
            cancel.cancel();
            Err(ended)
        });
        let ((part, load), mut met) = met?;
        met.sort_by_key(|met| self.job.parties.position(met.channel.peer()));
        if matches!(self.source, Source::File { .. } | Source::Table { .. } | Source::Disk { .. })
            && part.rows().read == 0
        {
            tracing::warn!("{}: its own table has no rows, so nothing can match", self.me);
        }
        let connect = met.iter().map(|met| met.connect).max().unwrap_or_default();
        let round_trip = met.iter().map(|met| met.round_trip).max().unwrap_or_default();
        let groups = met.iter().map(|met| met.group).collect();
        let (channels, greeted) = met.into_iter().map(|met| (met.channel, met.greeted)).unzip();
        let connections = Connections::Peers { channels, groups, links };
        Ok(Ready { part, load, connect, greeted, round_trip, connections })
    }

    /// Returns the number of peers to which this party has connections.
    fn peers(&self) -> usize {
        self.meeting.dials.len() + self.meeting.awaits.len()
    }

    /// Tells the peers that this party cannot go on. Those that are about to connect, or that wait to be dialed, are
    /// worth a moment: else they would wait in vain until their time-out, or see nothing but a lost connection.
    fn tell(&self, error: &Error, links: &Links) {
        links.end(error);
        let wait = if matches!(error, Error::Policy(_)) {
            tracing::warn!("{error}; the peers are told that it is refused by policy");
            REFUSAL_WORTH_WAITING
        } else {
            WORTH_WAITING
        };
        let until = Instant::now() + wait.min(self.timeout);
        while links.len() < self.peers() && Instant::now() < until && !self.cancel.is_cancelled() {
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Connects to all peers, authenticates them and compares terms. Reports each as it is done.
    fn meet(&self, listener: Option<TcpListener>, cancel: &ConnectCancel, links: &Links, events: &Sender<Event>) {
        let started = Instant::now();
        let options = transport::Options {
            timeout: self.timeout,
            shape: self.meeting.shape,
            cancel: cancel.clone(),
            ..transport::Options::default()
        };
        let report = |met| {
            // Nobody listens any more once something has failed.
            let _ = events.send(Event::Met(Box::new(met)));
        };
        let nonce = match fresh_rng() {
            Ok(mut rng) => handshake::fresh_nonce(&mut rng),
            Err(error) => return report(Err(error)),
        };
        let span = tracing::Span::current();
        self.meeting.connect(listener, &self.identity, &options, |_, connected| {
            let greet = |connected| self.greet(connected, nonce, started.elapsed(), links);
            report(span.in_scope(|| connected.and_then(greet)));
        });
    }

    fn greet(&self, connected: Connected, nonce: [u8; 32], connect: Duration, links: &Links) -> Result<ConnectedPeer> {
        let Connected { mut channel, exporter, group, round_trip } = connected;
        // Before the connection can end with the others.
        company(&self.job, &self.me, &mut channel);
        links.add(channel.handle());
        tracing::info!("connected to {}", channel.peer());
        // Nothing has to be computed or loaded for the first message.
        channel.set_patience(self.timeout);
        match handshake::greet_as(&self.job, &self.me, nonce, &exporter, &mut channel) {
            Ok(greeted) => {
                channel.set_patience(self.patience);
                Ok(ConnectedPeer { channel, greeted, group, connect, round_trip })
            }
            Err(error) => {
                channel.abort(&error);
                Err(error)
            }
        }
    }
}
