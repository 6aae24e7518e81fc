//! One connection of a party, from its greeting to its end.

use std::sync::atomic::Ordering;
use std::time::Duration;

use tacita_core::channel::Channel;
use tacita_core::channel::labels::depot::{DEPOT_ANSWER, DEPOT_REQUEST};
use tacita_core::depot::DepotParty;
use tacita_core::{Error, Result};
use tacita_node::agreement::Terms;
use tacita_node::base::text::shown;
use tacita_node::identity::Fingerprint;
use tacita_node::transport::Connected;
use tacita_node::transport::depot::frame::{DepotRequest, DepotResponse, MAX_FRAME_BYTES, Ticket};

use super::desk::{HelperJob, MAX_CONNECTIONS};
use super::files::Key;
use super::run::{Arrived, Over, Told};
use super::{Helper, lock};

/// Time limit for a new connection to introduce itself.
const GREETING: Duration = Duration::from_secs(60);

/// Time for which a connection may be idle: parties compute between requests, and the helper's own checks find parties
/// that do nothing.
const IDLE: Duration = Duration::from_secs(7 * 24 * 3600);

/// A party, as it is known on a connection. It departs when the connection ends, however that does.
struct Guest<'a> {
    desk: &'a HelperJob,
    place: usize,
    ticket: Ticket,
}

/// Answers whoever has come until it goes.
pub(super) fn attend(helper: &Helper, who: Fingerprint, connected: Connected) {
    let mut channel = connected.channel;
    channel.set_patience(GREETING);
    let number = helper.next.fetch_add(1, Ordering::Relaxed);
    lock(&helper.handles).insert(number, channel.handle());
    let crowd = helper.desks.len().saturating_mul(2 * MAX_CONNECTIONS);
    let arrived = if come(helper, who) > crowd {
        Err(channel.violation("it has more connections than its jobs need"))
    } else {
        arrive(helper, who, &mut channel)
    };
    match arrived {
        Ok(Some(guest)) => {
            channel.set_patience(IDLE);
            let ended = serve(helper, &guest, &mut channel);
            // A party that says that it ends is believed, in whatever way it does.
            if let Err(Error::Peer { kind, .. }) = ended {
                guest.desk.abort(guest.place, &guest.ticket, kind, None, &helper.numbers);
            }
        }
        Ok(None) => {}
        Err(Error::Network { .. } | Error::Interrupted) => {
            tracing::info!("{} has come, and hung up without a word", known(helper, who));
        }
        Err(Error::Protocol { check, .. }) => tracing::info!("{} is sent away: {check}", known(helper, who)),
        Err(error) => tracing::info!("{} is sent away: {error}", known(helper, who)),
    }
    gone(helper, who);
    lock(&helper.handles).remove(&number);
}

/// One connection more of somebody: how many there are.
fn come(helper: &Helper, who: Fingerprint) -> usize {
    let mut connections = lock(&helper.connections);
    let count = connections.entry(who.0).or_default();
    *count += 1;
    *count
}

/// Counts one connection less.
fn gone(helper: &Helper, who: Fingerprint) {
    let mut connections = lock(&helper.connections);
    if let Some(count) = connections.get_mut(&who.0) {
        *count -= 1;
        if *count == 0 {
            connections.remove(&who.0);
        }
    }
}

/// Determines the party and its job; nothing if it was sent away.
fn arrive<'a>(helper: &'a Helper, who: Fingerprint, channel: &mut Channel) -> Result<Option<Guest<'a>>> {
    let bytes = channel.receive_up_to(DEPOT_REQUEST, MAX_FRAME_BYTES)?;
    let (comes, terms) = match DepotRequest::read(&bytes) {
        Some(DepotRequest::Arrive { ticket, begun, terms }) => (Some((ticket, begun)), terms),
        Some(DepotRequest::Look(terms)) => (None, terms),
        _ => return Err(channel.violation("it does not say who it is")),
    };
    let Some(terms) = serde_json::from_slice(terms).ok().map(|terms| Terms::from_peer(&terms)) else {
        return Err(channel.violation("its terms are none"));
    };
    let of = |desk: &HelperJob| desk.helping.parties.iter().position(|party| party.pin == who);
    let agreement = terms.agreement_bytes();
    let found = helper.desks.iter().find_map(|desk| {
        let place = of(desk).filter(|_| desk.agreement == agreement)?;
        Some((desk, place))
    });
    let Some((desk, place)) = found else {
        let id = terms.json().get("id").and_then(|id| id.as_str()).unwrap_or_default();
        match helper.desks.iter().find(|desk| desk.helping.id == id && of(desk).is_some()) {
            Some(desk) => {
                tracing::info!("{id}: the terms of {} differ", name(desk, of(desk)));
                channel.send(DEPOT_ANSWER, DepotResponse::Terms(desk.helping.terms.canonical().as_bytes()).write())?;
                if comes.is_some() {
                    desk.differs(of(desk), &helper.numbers);
                }
            }
            None => {
                let who = known(helper, who);
                tracing::info!(
                    "{who} comes for a job {:?}, which is not served here: start with its file, too",
                    shown(id)
                );
                channel.send(DEPOT_ANSWER, DepotResponse::Unknown.write())?;
            }
        }
        return Ok(None);
    };
    let Some((ticket, begun)) = comes else {
        tracing::info!("{}: {} has looked, and its terms are these", desk.helping.id, name(desk, Some(place)));
        channel.send(DEPOT_ANSWER, DepotResponse::Welcome.write())?;
        return Ok(None);
    };
    let answer = match desk.arrive(place, (ticket, begun), helper.drain.is_cancelled(), &helper.numbers)? {
        Arrived::Welcome => DepotResponse::Welcome,
        Arrived::Busy => DepotResponse::Busy,
        Arrived::Ending => DepotResponse::Ending,
        Arrived::Over(over) => said(over),
    };
    // It is counted from here on, and departs also if it does not hear the answer.
    let guest = (answer == DepotResponse::Welcome).then_some(Guest { desk, place, ticket });
    channel.send(DEPOT_ANSWER, answer.write())?;
    Ok(guest)
}

/// Returns the name of a party that was let in.
fn known(helper: &Helper, who: Fingerprint) -> &str {
    let mut parties = helper.desks.iter().flat_map(|desk| &desk.helping.parties);
    parties.find(|party| party.pin == who).map_or("a party", |party| party.name.as_str())
}

fn name(desk: &HelperJob, place: Option<usize>) -> &str {
    place.and_then(|place| desk.helping.parties.get(place)).map_or("", |party| party.name.as_str())
}

/// Answers one request after the other.
fn serve(helper: &Helper, guest: &Guest<'_>, channel: &mut Channel) -> Result<()> {
    loop {
        let bytes = channel.receive_up_to(DEPOT_REQUEST, MAX_FRAME_BYTES)?;
        let answered = match DepotRequest::read(&bytes) {
            Some(request) => guest.answer(helper, &request),
            None => return Err(channel.violation("it asks for a message that does not exist")),
        };
        match answered {
            Ok(answer) => channel.send(DEPOT_ANSWER, answer)?,
            Err(error) => {
                // As when the disk is full: the party tries again until its time is over.
                tracing::error!("{}: {error}", guest.desk.helping.id);
                return Err(Error::Internal("a request could not be answered".into()));
            }
        }
    }
}

impl Drop for Guest<'_> {
    fn drop(&mut self) {
        self.desk.depart(self.place, &self.ticket);
    }
}

impl Guest<'_> {
    fn answer(&self, helper: &Helper, request: &DepotRequest<'_>) -> Result<Vec<u8>> {
        let Guest { desk, place, ticket } = self;
        let (place, own, numbers) = (*place, DepotParty::Party(*place as u8), &helper.numbers);
        Ok(match *request {
            DepotRequest::Arrive { .. } | DepotRequest::Look(_) => DepotResponse::Busy.write(),
            DepotRequest::Announce(word) => told(desk.announce(place, ticket, word, numbers)?, |told| match told {
                Ok(words) => DepotResponse::Told(&words).write(),
                Err(missing) => DepotResponse::Missing(&missing).write(),
            }),
            DepotRequest::Leave { step, to, part, bytes } => {
                let key = Key { step, from: own, to, part };
                told(desk.leave(place, ticket, key, bytes, numbers)?, |()| DepotResponse::Kept.write())
            }
            DepotRequest::Collect { step, from, part } => {
                let key = Key { step, from, to: own, part };
                told(desk.collect(place, ticket, key, numbers)?, |part| DepotResponse::Part(&part).write())
            }
            DepotRequest::Done => told(desk.done(place, ticket, numbers)?, |()| DepotResponse::Done.write()),
            DepotRequest::Abort { kind, culprit } => {
                desk.abort(place, ticket, kind, culprit, numbers);
                DepotResponse::Done.write()
            }
        })
    }
}

fn told<T>(told: Told<T>, answer: impl FnOnce(T) -> Vec<u8>) -> Vec<u8> {
    match told {
        Told::This(found) => answer(found),
        Told::NotYet => DepotResponse::NotYet.write(),
        Told::Over(over) => said(over).write(),
    }
}

fn said(over: Option<Over>) -> DepotResponse<'static> {
    match over {
        Some(Over::Finished) => DepotResponse::Done,
        Some(Over::Ended { by, kind, culprit }) => DepotResponse::Ended { by, kind, culprit },
        None => DepotResponse::Lost,
    }
}
