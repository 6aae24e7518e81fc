//! A party's way to the depot of a helper.

mod overdue;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tacita_core::channel::{Channel, Handle, Traffic};
use tacita_core::depot::{self, Depot, Parcel};
use tacita_core::{Error, ErrorKind, Progress, Result};

use super::ask::{ANSWER, DepotTerms, HelperAddress, ask, broken};
use super::frame::{DepotRequest, DepotResponse, TICKET_BYTES, Ticket};
use super::word;
use crate::base::cancel::Cancel;
use crate::base::random::fill_random;
use crate::base::text;
use crate::identity::Identity;
use crate::transport::key_exchange::NegotiatedGroup;
use crate::transport::links::Links;
use crate::transport::{self, Connected, LinkShape, Options, Peer, Purpose};

/// Time limit for telling the helper that this party cannot go on.
const LINGER: Duration = Duration::from_millis(1300);

/// Time within which another process of this party has to be gone.
const BUSY: Duration = Duration::from_secs(5);

/// A wait that is longer is told of.
const LONG: Duration = Duration::from_secs(10);

/// Expected number of bytes that a party leaves and collects, for progress displays.
#[derive(Debug, Clone, Copy, Default)]
pub struct Expected {
    /// Number of bytes that the party leaves.
    pub left: u64,
    /// Number of bytes that the party collects, if that is known.
    pub collected: Option<u64>,
}

impl Expected {
    fn total(&self) -> usize {
        (self.left + self.collected.unwrap_or(0)) as usize
    }
}

/// A party's way to the depot of one run. Each request has a connection for itself, so that one that waits keeps none
/// from going on; a connection that is lost is made anew, and what was asked on it is asked again.
pub struct DepotClient {
    place: HelperAddress,
    me: u8,
    identity: Identity,
    terms: DepotTerms,
    ticket: Ticket,
    options: Options,
    patience: Duration,
    cancel: Cancel,
    links: Links,
    idle: Mutex<Vec<Channel>>,
    used: Arc<Mutex<Vec<Handle>>>,
    /// Groups from which the connections had their keys.
    groups: Mutex<Vec<NegotiatedGroup>>,
    progress: Arc<Progress>,
    expected: Expected,
    /// Whether all words were told: from then on it is of that run.
    begun: AtomicBool,
    /// Whether the helper knows nothing of that run any more.
    lost: AtomicBool,
}

impl DepotClient {
    /// The way of the party `me`, which proves who it is with `identity`. Others are waited for as long as `timeout`
    /// until they come, and `patience` for each thing that they do.
    pub fn new(
        place: HelperAddress,
        me: usize,
        identity: Identity,
        terms: DepotTerms,
        [timeout, patience]: [Duration; 2],
        (shape, expected): (LinkShape, Expected),
        cancel: Cancel,
    ) -> Result<DepotClient> {
        let mut ticket = [0; TICKET_BYTES];
        fill_random(&mut ticket)?;
        Ok(DepotClient {
            place,
            me: me as u8,
            identity,
            terms,
            ticket,
            options: Options { purpose: Purpose::Helper, timeout, shape, ..Options::default() },
            patience,
            links: Links::new(cancel.clone()),
            cancel,
            idle: Mutex::default(),
            used: Arc::default(),
            groups: Mutex::default(),
            progress: Arc::default(),
            expected,
            begun: AtomicBool::new(false),
            lost: AtomicBool::new(false),
        })
    }

    /// Comes to the helper, which knows then that this party is there.
    ///
    /// Errors: [`Error::Terms`] if its job differs; [`Error::Network`] if it cannot be reached.
    pub fn arrive(&self) -> Result<()> {
        let channel = self.connect(&self.options)?;
        self.put_back(channel);
        Ok(())
    }

    /// Returns the progress of the current step.
    pub fn progress(&self) -> Arc<Progress> {
        self.progress.clone()
    }

    /// The group that protects least of all from which a connection had its keys; `None` before the first.
    pub fn group(&self) -> Option<NegotiatedGroup> {
        NegotiatedGroup::weakest(lock(&self.groups).iter().copied())
    }

    /// Bytes over all connections so far.
    pub fn traffic(&self) -> Traffic {
        self.counting()()
    }

    /// Returns a function that counts the bytes over all connections, for progress displays.
    pub fn counting(&self) -> impl Fn() -> Traffic + Send + use<> {
        let used = self.used.clone();
        let add = |all: Traffic, handle: &Handle| {
            let one = handle.traffic();
            Traffic { sent: all.sent + one.sent, received: all.received + one.received, rounds: 0 }
        };
        move || lock(&used).iter().fold(Traffic::default(), add)
    }

    /// Tells the helper that this party has all it needs, and has left all that others need of it.
    pub fn done(&self) -> Result<()> {
        let answer = match self.request(&DepotRequest::Done) {
            // As when all were done, and the answer was lost with the helper that knew it.
            Err(_) if self.is_lost() => return Ok(()),
            answer => answer?,
        };
        let done = self.expect(DepotResponse::read(&answer), |answer| (answer == DepotResponse::Done).then_some(()));
        lock(&self.idle).clear();
        done
    }

    /// Ends the run for all, because this party cannot go on. The helper is told, if it can be.
    pub fn end(&self, error: &Error) {
        if matches!(error, Error::Peer { .. } | Error::Reported { .. }) || self.is_lost() {
            // The helper has said so, or knows of no run to be ended.
            return;
        }
        let place = |name: &str| {
            let party = self.place.parties.iter().position(|party| party.name == name);
            party.map(|place| depot::DepotParty::Party(place as u8))
        };
        let culprit = error.peer().and_then(place);
        let kind = match (error.peer(), culprit) {
            // Somebody who cannot be named.
            (Some(_), None) => ErrorKind::Network,
            _ => error.kind(),
        };
        let idle = lock(&self.idle).pop();
        let options = Options { timeout: LINGER, ..self.options.clone() };
        if let Ok(mut channel) = idle.map_or_else(|| self.connect(&options), Ok) {
            channel.set_patience(LINGER);
            // Whether it could be told or not, this party ends.
            let _ = ask(&mut channel, &DepotRequest::Abort { kind, culprit });
        }
    }

    /// A new connection on which this party is known. Where an earlier process of it has just ended, the helper sees
    /// that in moments; a helper that goes before it has answered may be started again, and is dialled anew.
    fn connect(&self, options: &Options) -> Result<Channel> {
        let HelperAddress { address, helper, .. } = &self.place;
        let began = Instant::now();
        let away = |what: &str| Err(Error::Network { peer: helper.name.clone(), what: what.into() });
        loop {
            let Connected { mut channel, group, .. } = transport::dial(address, helper, &self.identity, options)?;
            lock(&self.groups).push(group);
            self.links.add(channel.handle());
            lock(&self.used).push(channel.handle());
            channel.set_patience(ANSWER);
            let terms = self.terms.text.as_bytes();
            let begun = self.begun.load(Ordering::Acquire);
            let answer = match ask(&mut channel, &DepotRequest::Arrive { ticket: self.ticket, begun, terms }) {
                Err(Error::Network { .. }) if began.elapsed() < options.timeout && !self.cancel.is_cancelled() => {
                    std::thread::sleep(transport::POLL);
                    continue;
                }
                answer => answer?,
            };
            return match DepotResponse::read(&answer) {
                Some(DepotResponse::Welcome) => Ok(channel),
                Some(DepotResponse::Terms(theirs)) => Err(self.terms.differing(helper, theirs)),
                Some(DepotResponse::Unknown) => Err(self.terms.unknown(helper)),
                Some(DepotResponse::Lost) => Err(self.lose()),
                Some(DepotResponse::Busy) if began.elapsed() < BUSY.min(options.timeout) => {
                    std::thread::sleep(4 * transport::POLL);
                    continue;
                }
                Some(DepotResponse::Busy) => {
                    away("says that another process already runs this party of the job: end that one, or wait for it")
                }
                Some(DepotResponse::Ending) => {
                    away("is shutting down, and takes no new runs: run again when it is back")
                }
                Some(DepotResponse::Ended { by, kind, culprit }) => Err(self.ended(by, kind, culprit)),
                _ => Err(self.broken()),
            };
        }
    }

    /// The helper knows nothing of the run that this party is in.
    fn lose(&self) -> Error {
        self.lost.store(true, Ordering::Release);
        let what = "was restarted, and has lost the run: start again".into();
        Error::Network { peer: self.place.helper.name.clone(), what }
    }

    fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Acquire)
    }

    /// The answer to a request, however often it takes.
    fn request(&self, request: &DepotRequest<'_>) -> Result<Vec<u8>> {
        let mut lost: Option<Instant> = None;
        loop {
            if self.cancel.is_cancelled() {
                return Err(Error::Interrupted);
            }
            let idle = lock(&self.idle).pop();
            let answered = idle.map_or_else(|| self.connect(&self.options), Ok).and_then(|mut channel| {
                let answer = ask(&mut channel, request)?;
                Ok((channel, answer))
            });
            match answered {
                Ok((channel, answer)) => {
                    self.put_back(channel);
                    return match DepotResponse::read(&answer) {
                        Some(DepotResponse::Ended { by, kind, culprit }) => Err(self.ended(by, kind, culprit)),
                        Some(DepotResponse::Lost) => Err(self.lose()),
                        _ => Ok(answer),
                    };
                }
                // The helper may have been started again.
                Err(error @ Error::Network { .. }) if !self.is_lost() => {
                    if lost.is_none() {
                        tracing::info!("the connection to {} is lost: trying again", self.place.helper.name);
                    }
                    lock(&self.idle).clear();
                    if lost.get_or_insert_with(Instant::now).elapsed() >= self.options.timeout {
                        return Err(error);
                    }
                    std::thread::sleep(transport::POLL);
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn put_back(&self, channel: Channel) {
        lock(&self.idle).push(channel);
    }

    /// Returns the error with which this party ends once the run has ended. A statement that another party is said to
    /// have made is known from the helper alone.
    fn ended(&self, by: depot::DepotParty, kind: ErrorKind, culprit: Option<depot::DepotParty>) -> Error {
        let (helper, own) = (self.name(depot::DepotParty::Helper), depot::DepotParty::Party(self.me));
        match (by, culprit.filter(|culprit| *culprit != by)) {
            (depot::DepotParty::Helper, None) => Error::Peer { peer: helper, kind },
            (depot::DepotParty::Helper, Some(culprit)) if culprit == own => Error::Peer { peer: helper, kind },
            (depot::DepotParty::Party(_), None) => {
                Error::Reported { culprit: self.name(by), by: helper, through: None, kind }
            }
            (_, Some(culprit)) => {
                let through = (by != depot::DepotParty::Helper).then(|| helper.clone());
                Error::Reported { culprit: self.name(culprit), by: self.name(by), through, kind }
            }
        }
    }

    fn expect<'a, T>(
        &self,
        answer: Option<DepotResponse<'a>>,
        wanted: impl FnOnce(DepotResponse<'a>) -> Option<T>,
    ) -> Result<T> {
        answer.and_then(wanted).ok_or_else(|| self.broken())
    }

    fn broken(&self) -> Error {
        broken(&self.place.helper)
    }

    /// The words of all, by place.
    fn words(&self, own: usize, signed: &[u8]) -> Result<Vec<Vec<u8>>> {
        let (parties, length) = (&self.place.parties, own + word::SIGNED_BYTES);
        if signed.len() != parties.len() * length {
            return Err(self.broken());
        }
        let agreement = self.terms.agreement;
        let open = |(place, (party, signed)): (usize, (&Peer, &[u8]))| {
            word::open(signed, &agreement, place as u8, party, &self.place.helper.name).map(<[u8]>::to_vec)
        };
        parties.iter().zip(signed.chunks(length)).enumerate().map(open).collect()
    }
}

impl Depot for DepotClient {
    fn announce(&self, own: Vec<u8>) -> Result<Vec<Vec<u8>>> {
        let signed = word::sign(&self.identity, &self.terms.agreement, self.me, &own)?;
        let (started, mut told) = (Instant::now(), false);
        loop {
            let asked = Instant::now();
            let answer = self.request(&DepotRequest::Announce(&signed))?;
            match DepotResponse::read(&answer) {
                Some(DepotResponse::Told(words)) => {
                    self.begun.store(true, Ordering::Release);
                    self.progress.start("bytes at the helper", self.expected.total());
                    return self.words(own.len(), words);
                }
                Some(DepotResponse::Missing(places)) => {
                    self.missing(places, started)?;
                    rest(asked);
                    if !told && started.elapsed() > LONG / 10 {
                        told = true;
                        let missing: Vec<_> =
                            places.iter().map(|place| self.name(depot::DepotParty::Party(*place))).collect();
                        let missing: Vec<_> = missing.iter().map(String::as_str).collect();
                        let who = if missing.is_empty() { "the others".to_owned() } else { text::names(&missing) };
                        tracing::info!("waiting for {who}");
                    }
                }
                _ => return Err(self.broken()),
            }
        }
    }

    fn leave(&self, parcel: Parcel, part: u32, bytes: Vec<u8>) -> Result<()> {
        let answer =
            self.request(&DepotRequest::Leave { step: parcel.step.code, to: parcel.to, part, bytes: &bytes })?;
        self.expect(DepotResponse::read(&answer), |answer| (answer == DepotResponse::Kept).then_some(()))?;
        self.progress.advance(bytes.len());
        Ok(())
    }

    fn collect(&self, parcel: Parcel, part: u32, length: usize) -> Result<Vec<u8>> {
        let (started, mut told) = (Instant::now(), false);
        // Each of the others may take its time before it comes to this.
        let patience = self.patience.saturating_mul(self.place.parties.len() as u32);
        loop {
            let asked = Instant::now();
            let answer = self.request(&DepotRequest::Collect { step: parcel.step.code, from: parcel.from, part })?;
            match DepotResponse::read(&answer) {
                Some(DepotResponse::Part(bytes)) if bytes.len() == length => {
                    if self.expected.collected.is_some() {
                        self.progress.advance(length);
                    }
                    return Ok(bytes.to_vec());
                }
                Some(DepotResponse::Part(bytes)) => {
                    let check = format!("`{}` has {} bytes instead of {length}", parcel.step.name, bytes.len());
                    // The helper keeps parts, and could have cut this one.
                    let peer = match parcel.from {
                        depot::DepotParty::Helper => self.name(parcel.from),
                        depot::DepotParty::Party(_) => {
                            format!("{}, or {},", self.name(depot::DepotParty::Helper), self.name(parcel.from))
                        }
                    };
                    return Err(Error::Protocol { peer, check });
                }
                Some(DepotResponse::NotYet) if started.elapsed() >= patience => {
                    return Err(self.overdue(parcel, patience));
                }
                Some(DepotResponse::NotYet) => {
                    rest(asked);
                    if !told && started.elapsed() > LONG {
                        told = true;
                        tracing::info!("waiting for `{}` of {}", parcel.step.name, self.name(parcel.from));
                    }
                }
                _ => return Err(self.broken()),
            }
        }
    }

    fn name(&self, place: depot::DepotParty) -> String {
        match place {
            depot::DepotParty::Helper => self.place.helper.name.clone(),
            depot::DepotParty::Party(place) => match self.place.parties.get(usize::from(place)) {
                Some(party) => party.name.clone(),
                None => "nobody".into(),
            },
        }
    }
}

/// Between two requests, where the answer came at once: the helper lets most of them wait.
fn rest(asked: Instant) {
    std::thread::sleep(Duration::from_millis(50).saturating_sub(asked.elapsed()));
}

fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
