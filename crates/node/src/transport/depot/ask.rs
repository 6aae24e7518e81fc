//! Requests to a helper, and the check of whether it serves a job at all.

use std::time::Duration;

use tacita_core::channel::Channel;
use tacita_core::channel::labels::depot::{DEPOT_ANSWER, DEPOT_REQUEST};
use tacita_core::{Error, Result};

use super::frame::{DepotRequest, DepotResponse, MAX_FRAME_BYTES};
use super::word;
use crate::identity::Identity;
use crate::transport::key_exchange::NegotiatedGroup;
use crate::transport::{self, Connected, Options, Peer, Purpose};

/// Time limit for the helper's answer to a request: it answers within seconds, if only that there is nothing yet.
pub(super) const ANSWER: Duration = Duration::from_secs(60);

/// Address and identity of a helper, and the parties of the job.
#[derive(Debug, Clone)]
pub struct HelperAddress {
    /// Address of the helper.
    pub address: String,
    /// Name and key of the helper.
    pub helper: Peer,
    /// Complete list of the parties of the job, in order.
    pub parties: Vec<Peer>,
}

/// Terms to which a party has agreed.
pub struct DepotTerms {
    /// The parties' name for the job.
    pub id: String,
    /// Text of the job's terms, as they are written.
    pub text: String,
    /// Fingerprint of the terms.
    pub agreement: [u8; word::AGREEMENT_BYTES],
    /// Returns the names of the terms that differ from those in a text by others, if that text is terms at all.
    pub differences: fn(&str, &[u8]) -> Option<Vec<String>>,
}

impl DepotTerms {
    /// The error for terms of the helper that differ.
    pub(super) fn differing(&self, helper: &Peer, theirs: &[u8]) -> Error {
        match (self.differences)(&self.text, theirs).filter(|differences| !differences.is_empty()) {
            None => broken(helper),
            Some(differences) => {
                let (helper, differences) = (&helper.name, differences.join(", "));
                Error::Terms(format!(
                    "the terms differ from those of {helper} in {differences}: all need the same job file"
                ))
            }
        }
    }

    /// The error for a helper without this job.
    pub(super) fn unknown(&self, helper: &Peer) -> Error {
        let (helper, id) = (&helper.name, &self.id);
        Error::Terms(format!(
            "{helper} does not serve a job {id:?}: ask its operator to start it with this job file, too"
        ))
    }
}

/// Asks a helper whether it serves the job with these terms. Returns the group from which the connection had its keys.
///
/// Errors: [`Error::Terms`] if it does not; [`Error::Network`] if it cannot be reached.
pub fn look(
    place: &HelperAddress,
    identity: &Identity,
    terms: &DepotTerms,
    timeout: Duration,
) -> Result<NegotiatedGroup> {
    let options = Options { purpose: Purpose::Helper, timeout, ..Options::default() };
    let Connected { mut channel, group, .. } = transport::dial(&place.address, &place.helper, identity, &options)?;
    channel.set_patience(ANSWER);
    let answer = ask(&mut channel, &DepotRequest::Look(terms.text.as_bytes()))?;
    match DepotResponse::read(&answer) {
        Some(DepotResponse::Welcome) => Ok(group),
        Some(DepotResponse::Terms(theirs)) => Err(terms.differing(&place.helper, theirs)),
        Some(DepotResponse::Unknown) => Err(terms.unknown(&place.helper)),
        _ => Err(broken(&place.helper)),
    }
}

/// One request and its answer.
pub(super) fn ask(channel: &mut Channel, request: &DepotRequest<'_>) -> Result<Vec<u8>> {
    channel.send(DEPOT_REQUEST, request.write())?;
    channel.receive_up_to(DEPOT_ANSWER, MAX_FRAME_BYTES)
}

/// The error for a helper whose answer is none.
pub(super) fn broken(helper: &Peer) -> Error {
    Error::Protocol { peer: helper.name.clone(), check: "its answer does not fit the request".into() }
}
