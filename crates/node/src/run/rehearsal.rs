//! Checks that parties make together before a run, without moving any data. They cover reachability, identities,
//! clocks, and whether versions and terms are the same.

use std::sync::mpsc;
use std::time::{Duration, SystemTime};

use tacita_core::channel::Channel;
use tacita_core::channel::labels::handshake::CLOCK;
use tacita_core::{Error, Result};

use crate::agreement::JobSpec;
use crate::agreement::handshake::{self, Greeted};
use crate::base::random::fresh_rng;
use crate::identity::Identity;
use crate::run::connect::ConnectPlan;
use crate::transport::key_exchange::NegotiatedGroup;
use crate::transport::{ConnectCancel, Connected, EXPORTER_BYTES, Options, Purpose};

/// A party that meets its peers as it would in a run, and looks.
pub struct Rehearsal<'a> {
    /// Job that is checked.
    pub job: &'a JobSpec,
    /// Name of the party.
    pub me: &'a str,
    /// Key pair of the party.
    pub identity: &'a Identity,
    /// Plan for connecting to its peers.
    pub meeting: &'a ConnectPlan,
    /// Time-out for connecting to the peers, and for their answers.
    pub timeout: Duration,
    /// Ends the wait for them from another thread.
    pub cancel: ConnectCancel,
}

/// Observations of a peer that has proved its identity.
pub struct RehearsedPeer {
    /// Duration of the TLS handshake.
    pub round_trip: Duration,
    /// Group from which the connection has its keys.
    pub group: NegotiatedGroup,
    /// Milliseconds by which the peer's clock is ahead of this one, give or take half a round trip.
    pub clock_ahead: i128,
    /// Result of comparing versions and terms: the version of the peer's program and the warnings for the user.
    pub terms: Result<(String, Vec<String>)>,
}

impl Rehearsal<'_> {
    /// Meets all peers. Returns what was seen of each, or why it was not: with several names, where the wait for
    /// several ended.
    ///
    /// Errors: this party cannot listen.
    pub fn run(&self) -> Result<Vec<(String, Result<RehearsedPeer>)>> {
        let listener = self.meeting.listener()?;
        let nonce = handshake::fresh_nonce(&mut fresh_rng()?);
        let options = Options {
            purpose: Purpose::Doctor,
            timeout: self.timeout,
            cancel: self.cancel.clone(),
            ..Options::default()
        };
        let (report, reported) = mpsc::channel();
        self.meeting.connect(listener, self.identity, &options, |peer, connected| {
            // The other end of the queue is there until all have reported.
            let _ = report.send((peer.to_owned(), connected.and_then(|connected| self.look(connected, nonce))));
        });
        drop(report);
        Ok(reported.into_iter().collect())
    }

    fn look(&self, connected: Connected, nonce: [u8; 32]) -> Result<RehearsedPeer> {
        let Connected { mut channel, exporter, group, round_trip } = connected;
        tracing::info!("connected to {}", channel.peer());
        channel.set_patience(self.timeout);
        match self.compare(&mut channel, nonce, &exporter, (group, round_trip)) {
            Ok(seen) => channel.finish().map(|_| seen),
            Err(error) => {
                channel.abort(&error);
                Err(error)
            }
        }
    }

    fn compare(
        &self,
        channel: &mut Channel,
        nonce: [u8; 32],
        exporter: &[u8; EXPORTER_BYTES],
        (group, round_trip): (NegotiatedGroup, Duration),
    ) -> Result<RehearsedPeer> {
        let clock_ahead = compare_clocks(channel, round_trip)?;
        let terms = match handshake::greet_as(self.job, self.me, nonce, exporter, channel) {
            Ok(Greeted { peer_version, warnings, .. }) => Ok((peer_version, warnings)),
            // Both have said and heard all, whatever they make of it.
            Err(error @ Error::Terms(_)) => Err(error),
            Err(error) => return Err(error),
        };
        Ok(RehearsedPeer { group, round_trip, clock_ahead, terms })
    }
}

/// Tells the peer what time it is, and hears what time it is there. The peer's word is taken for nothing but a number
/// to be shown.
fn compare_clocks(channel: &mut Channel, round_trip: Duration) -> Result<i128> {
    let now = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64);
    let theirs = channel.exchange(CLOCK, now().to_le_bytes().to_vec(), size_of::<u64>())?;
    let theirs: [u8; 8] = theirs.try_into().map_err(|_| channel.violation("`clock` has not 8 bytes"))?;
    Ok(i128::from(u64::from_le_bytes(theirs)) + round_trip.as_millis() as i128 / 2 - i128::from(now()))
}
