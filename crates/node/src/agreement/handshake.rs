//! The handshake of a job between two parties: version, terms, roles, sizes and protocol are compared before any
//! data moves, and all of it is bound into the session. Byte for byte in `docs/wire.md`.

use std::collections::{BTreeMap, BTreeSet};

use rand_core::CryptoRng;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use subtle::ConstantTimeEq;
use tacita_core::channel::labels::handshake::{CHOICE, CONFIRM, HELLO, SIZES};
use tacita_core::channel::{Channel, HEADER_BYTES, Label};
use tacita_core::protocol::intersect::buckets::MAX_BUCKETS;
use tacita_core::session::Transcript;
use tacita_core::{Error, Result, Session};
use zeroize::Zeroizing;

use crate::agreement::{Chosen, JobSpec, MAX_SPREAD_ROWS, Sizes, Terms};
use crate::base::hex::{hex, unhex};
use crate::base::text::json;
use crate::base::text::shown;

/// Version of everything that travels. Parties with different ones do not talk.
pub const WIRE_VERSION: u32 = 5;

/// Purposes of the values with which the parties confirm the session, by their place in the job file.
const CONFIRMATIONS: [&str; 2] = ["confirm first", "confirm second"];

const CONFIRMATION_BYTES: usize = 32;

/// Maximum length of a handshake message in bytes.
pub const MAX_MESSAGE_BYTES: usize = 1 << 18;

/// First message of each party.
#[derive(Serialize, Deserialize)]
struct Hello {
    /// Version of the wire format: [`WIRE_VERSION`].
    tacita: u32,
    /// Version of the program, for the report and for error messages.
    version: String,
    /// The party that the sender is.
    #[serde(rename = "as")]
    party: String,
    /// 32 fresh random bytes in hexadecimal.
    nonce: String,
    /// The kinds of profiles with which the sender reads its key columns.
    profiles: Vec<String>,
    /// Terms of the sender.
    terms: Value,
}

/// State that the handshake has established so far: the peer has the expected identity and the same terms.
pub struct Greeted {
    /// The transcript of everything said.
    transcript: Transcript,
    /// Seed known only to the two ends of this connection; nothing on the wire depends on it.
    pub seed: Zeroizing<[u8; 32]>,
    /// Nonces of this party and of the peer, in hexadecimal.
    pub nonces: [String; 2],
    /// Version of the peer's program.
    pub peer_version: String,
    /// Warnings for the user that are no errors.
    pub warnings: Vec<String>,
}

/// Outcome of the handshake.
pub struct HandshakeResult {
    /// The session that everything after is bound to.
    pub session: Session,
    /// Protocol choice for the run.
    pub chosen: Chosen,
    /// Sizes that this party has announced.
    pub own_sizes: Sizes,
    /// Sizes that the peer has announced.
    pub peer_sizes: Sizes,
}

/// First flight: who, which version, which terms.
pub fn greet(
    job: &JobSpec,
    me: &str,
    exporter: &[u8; 32],
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<Greeted> {
    greet_as(job, me, fresh_nonce(rng), exporter, channel)
}

/// A nonce for one run.
pub fn fresh_nonce(rng: &mut impl CryptoRng) -> [u8; 32] {
    let mut nonce = [0; 32];
    rng.fill_bytes(&mut nonce);
    nonce
}

/// Performs [`greet`] with the nonce that this party uses for all its peers in this run.
pub fn greet_as(
    job: &JobSpec,
    me: &str,
    nonce: [u8; 32],
    exporter: &[u8; 32],
    channel: &mut Channel,
) -> Result<Greeted> {
    let terms = Terms::of(job);
    let own = Hello {
        tacita: WIRE_VERSION,
        version: env!("CARGO_PKG_VERSION").into(),
        party: me.into(),
        nonce: hex(&nonce),
        profiles: profiles(job, me),
        terms: terms.json().clone(),
    };
    let bytes = channel.exchange(HELLO, message(&own)?, MAX_MESSAGE_BYTES)?;
    let theirs: Hello = parse(channel, HELLO, &bytes)?;

    let peer = channel.peer().to_owned();
    if theirs.tacita != WIRE_VERSION {
        return Err(Error::Terms(format!(
            "{peer} runs version {} with wire version {}, this one speaks wire version {WIRE_VERSION}: update the older",
            shown(&theirs.version),
            theirs.tacita
        )));
    }
    let their_nonce = unhex(&theirs.nonce).filter(|nonce| nonce.len() == 32);
    let their_nonce = their_nonce.ok_or_else(|| channel.violation("`hello` has no nonce of 32 bytes"))?;
    if their_nonce == nonce {
        return Err(channel.violation("`hello` sends our own nonce back"));
    }
    let differences = terms.differences(&Terms::from_peer(&theirs.terms));
    if !differences.is_empty() {
        return Err(Error::Terms(format!("the terms differ from {peer}'s in {}", differences.join(", "))));
    }
    if theirs.party != peer {
        return Err(Error::Terms(format!(
            "{peer} runs the job as \"{}\": one of you names the wrong party",
            shown(&theirs.party)
        )));
    }

    let mut transcript = Transcript::new("handshake");
    transcript.append("terms", terms.canonical().as_bytes());
    let mut nonces = BTreeMap::from([(job.parties.position(me), nonce.as_slice())]);
    nonces.insert(job.parties.position(&peer), &their_nonce);
    for nonce in nonces.values() {
        transcript.append("nonce", nonce);
    }
    transcript.append("exporter", exporter);
    let mut warnings = Vec::new();
    if theirs.profiles != own.profiles {
        warnings.push(format!(
            "{peer} normalises the key by {}, this party by {}: keys that look alike may not match",
            shown(&theirs.profiles.join(", ")),
            own.profiles.join(", ")
        ));
    }
    let nonces = [hex(&nonce), theirs.nonce];
    let seed = Zeroizing::new(blake3::derive_key("tacita 1 pair seed", exporter));
    Ok(Greeted { transcript, seed, nonces, peer_version: shown(&theirs.version), warnings })
}

impl Greeted {
    /// The session of this connection, where the job's further agreement is `parts`.
    pub fn bound_to(mut self, parts: &[(&str, &[u8])]) -> Session {
        for (label, bytes) in parts {
            self.transcript.append(label, bytes);
        }
        Session::new(self.transcript)
    }
}

/// Second flight and the choice of the protocol: sizes against the limits and against each other, then `auto` resolved
/// by the first party. Nothing is computed from the peer's sizes before they have been checked. `check` is what else
/// this party asks of the peer's sizes, `choose` what it would run with them.
pub fn settle(
    greeted: Greeted,
    job: &JobSpec,
    me: &str,
    own: &Sizes,
    check: impl FnOnce(&Sizes, &Channel) -> Result<()>,
    choose: impl FnOnce(&Sizes) -> Result<Chosen>,
    channel: &mut Channel,
) -> Result<HandshakeResult> {
    let own_bytes = message(own)?;
    let (theirs, their_bytes) = exchange_sizes(job, own_bytes.clone(), channel)?;
    check(&theirs, channel)?;

    let first = job.parties.position(me) == Some(0);
    let mut choice = Vec::new();
    if first {
        choice.extend_from_slice(choose(&theirs)?.to_string().as_bytes());
        channel.send(CHOICE, choice.clone())?;
    }
    let answer = channel.receive_up_to(CHOICE, 64)?;
    if first && answer != choice {
        return Err(channel.violation("it confirmed a different protocol from the one chosen"));
    }
    let chosen = std::str::from_utf8(&answer).ok().and_then(|text| Chosen::read(job, text));
    // The text of what was understood: two ways to write a choice would be two sessions.
    let chosen = chosen.filter(|chosen| job.job.allows(job, chosen) && chosen.to_string().as_bytes() == answer);
    let Some(chosen) = chosen else {
        return Err(channel.violation("it chose a protocol that the terms do not allow"));
    };
    let serves = || job.job.capabilities().prepared.is_some_and(|prepared| prepared.serves(&chosen));
    if [own, &theirs].into_iter().any(|sizes| sizes.epoch.is_some()) && !serves() {
        return Err(channel.violation("it chose a protocol that cannot use the part that was prepared"));
    }
    if !first {
        channel.send(CHOICE, answer.clone())?;
    }

    let (one, two) = if first { (&own_bytes, &their_bytes) } else { (&their_bytes, &own_bytes) };
    let session = job.in_its_whole(greeted.bound_to(&[("sizes", one), ("sizes", two), ("choice", &answer)]));
    Ok(HandshakeResult { session, chosen, own_sizes: own.clone(), peer_sizes: theirs })
}

/// Tells the peer this party's sizes, and checks the peer's against the limits. Returns them, and as they were written.
pub fn exchange_sizes(job: &JobSpec, own: Vec<u8>, channel: &mut Channel) -> Result<(Sizes, Vec<u8>)> {
    let bytes = channel.exchange(SIZES, own, MAX_MESSAGE_BYTES)?;
    let theirs = parse(channel, SIZES, &bytes)?;
    check_sizes(job, &theirs, channel)?;
    Ok((theirs, bytes))
}

/// Last flight: both parties prove to have the same session. Without it, parties whose handshakes differ would find
/// nothing in common, and believe it.
pub fn confirm(session: &Session, job: &JobSpec, me: &str, channel: &mut Channel) -> Result<()> {
    if has_the_same(session, job, me, channel)? { Ok(()) } else { Err(channel.violation(ANOTHER_SESSION)) }
}

/// Error text for a peer that does not confirm the session.
pub(super) const ANOTHER_SESSION: &str = "its session differs: the two ends saw different handshake messages";

/// Returns whether the peer has the same session. Unlike [`confirm`], for use where another party may be the cause
/// of a different session.
pub(super) fn has_the_same(session: &Session, job: &JobSpec, me: &str, channel: &mut Channel) -> Result<bool> {
    let first = job.parties.position(me) < job.parties.position(channel.peer());
    let [mine, other] = if first { [0, 1] } else { [1, 0] };
    let own = session.derive(CONFIRMATIONS[mine]).to_vec();
    let theirs = channel.exchange(CONFIRM, own, CONFIRMATION_BYTES)?;
    Ok(theirs.ct_eq(&session.derive(CONFIRMATIONS[other])).into())
}

/// A fault that two ends see in each other if a third has told them different things.
pub(super) fn somebody(peer: &str, check: String) -> Error {
    Error::Protocol { peer: format!("{peer}, or a party that sends contradictory messages,"), check }
}

/// Refuses peers of which two have said the same nonce, or one this party's own: one of them has it from the other.
pub(super) fn check_fresh(greeted: &[Greeted], channels: &[Channel]) -> Result<()> {
    let mut seen: BTreeSet<&str> = greeted.iter().map(|greeted| greeted.nonces[0].as_str()).take(1).collect();
    match channels.iter().zip(greeted).find(|(_, greeted)| !seen.insert(&greeted.nonces[1])) {
        Some((channel, _)) => Err(somebody(channel.peer(), "`hello` has another party's nonce".into())),
        None => Ok(()),
    }
}

/// A peer's sizes against the limits of the job.
fn check_sizes(job: &JobSpec, sizes: &Sizes, channel: &Channel) -> Result<()> {
    let refuse = |check: String| Err(channel.violation(check));
    let alternatives = job.alternatives();
    if alternatives.len() != sizes.any.len() {
        return refuse(format!("it claims sizes by {} keys of {}", sizes.any.len(), alternatives.len()));
    }
    if !alternatives.is_empty() && *sizes != Sizes::of_alternatives(sizes.any.clone()) {
        return refuse("its sizes by several keys do not fit each other".into());
    }
    alternatives.iter().zip(&sizes.any).try_for_each(|(job, sizes)| check_sizes(job, sizes, channel))?;
    for (what, count) in [("keys", sizes.items), ("given rows", sizes.entries)] {
        let most = if job.is_of_drivers() { MAX_SPREAD_ROWS } else { u64::from(u32::MAX) };
        if count > most {
            return refuse(format!("it claims {count} {what}"));
        }
        if let Some(limit) = job.limits.max_rows
            && count > limit
        {
            return refuse(format!("it claims {count} {what}, and limits.max_rows is {limit}"));
        }
    }
    let counted = job.padded_to(channel.peer()).is_none();
    if let Some(least) = job.least_rows().filter(|least| counted && sizes.items < *least) {
        return refuse(format!("it claims {} keys, and limits.min_rows is {least}", sizes.items));
    }
    let wished = sizes.spread.as_ref().map(|wish| wish.buckets);
    if wished.is_some() != job.is_of_drivers()
        || !wished.is_none_or(|buckets| (1..=MAX_BUCKETS as u64).contains(&buckets))
    {
        return refuse("it asks for an impossible number of buckets, or for buckets in a run without them".into());
    }
    if let Some(bound) = job.padded_to(channel.peer()) {
        let entries = if sizes.schema.is_empty() { 0 } else { bound };
        if (sizes.items, sizes.entries) != (bound, entries) {
            return refuse(format!("it does not pad to {bound}, as was agreed on"));
        }
    }
    Ok(())
}

/// The kinds of profiles with which `party` reads the columns that rows are matched by.
fn profiles(job: &JobSpec, party: &str) -> Vec<String> {
    let profiles = job.job.alignment(job).map_or_else(|| job.profiles(party), |alignment| alignment.profiles(party));
    profiles.iter().map(|profile| profile.kind().to_owned()).collect()
}

/// A message of the handshake, as JSON.
pub fn message(value: &impl Serialize) -> Result<Vec<u8>> {
    let bytes = json(serde_json::to_vec(value))?;
    if bytes.len() > MAX_MESSAGE_BYTES {
        return Err(Error::Input(format!(
            "the job's terms and given columns take {} bytes, more than the {MAX_MESSAGE_BYTES} that a message holds: use fewer or shorter names",
            bytes.len()
        )));
    }
    Ok(bytes)
}

/// Reads a message of the handshake.
pub fn parse<'a, T: Deserialize<'a>>(channel: &Channel, label: Label, bytes: &'a [u8]) -> Result<T> {
    serde_json::from_slice(bytes).map_err(|_| channel.violation(format!("`{}` cannot be read", label.name)))
}

/// Message flights of the handshake: `hello` both ways at once, `sizes` likewise, `choice` and its answer, `confirm`
/// both ways at once.
pub const ROUNDS: u32 = 5;

/// Bytes that `me` sends in the handshake, framing included.
pub fn bytes_sent(job: &JobSpec, me: &str, chosen: &Chosen, own: &Sizes) -> u64 {
    hello_bytes(job, me) + sizes_bytes(own) + (HEADER_BYTES + chosen.to_string().len()) as u64 + CONFIRM_BYTES
}

/// Bytes of the last flight of each party, framing included.
pub const CONFIRM_BYTES: u64 = (HEADER_BYTES + CONFIRMATION_BYTES) as u64;

/// Bytes of `me`'s `hello`, framing included.
pub fn hello_bytes(job: &JobSpec, me: &str) -> u64 {
    let hello = Hello {
        tacita: WIRE_VERSION,
        version: env!("CARGO_PKG_VERSION").into(),
        party: me.into(),
        nonce: hex(&[0; 32]),
        profiles: profiles(job, me),
        terms: Terms::of(job).json().clone(),
    };
    json_bytes(&hello)
}

/// Bytes of a party's `sizes`, framing included.
pub fn sizes_bytes(own: &Sizes) -> u64 {
    json_bytes(own)
}

/// Bytes of a message of JSON, framing included.
pub fn json_bytes(value: &impl Serialize) -> u64 {
    (HEADER_BYTES + serde_json::to_vec(value).map_or(0, |bytes| bytes.len())) as u64
}
