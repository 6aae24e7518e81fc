//! The start of an attempt: a fresh run's seed, or whether both parties resume the same run.

use rand_core::CryptoRng;

use super::params::{Attempt, Params, Protocol, SHARE_BYTES};
use super::{SHARE, STATE};
use crate::channel::Channel;
use crate::error::{Error, Result};
use crate::primitive::oprf::Suite;
use crate::protocol::intersect::entries::Bits;
use crate::role::Role;
use crate::session::{Session, Transcript};

/// What stays the same in all attempts at a run: each party keeps it until the run is done.
#[derive(Clone, PartialEq, Eq)]
pub struct Run {
    /// The seed of the items and of their buckets. Known to both parties and to nobody else.
    seed: [u8; 32],
    /// What the receiver's input is committed to, and the sender's.
    commitments: [[u8; 32]; 2],
}

/// What a party knows at the start of an attempt.
#[derive(Clone, Copy)]
pub struct Party<'a> {
    /// Its role.
    pub role: Role,
    /// A commitment to a digest of its input, made with randomness that is kept for later attempts: it tells the peer
    /// nothing but whether the input is the same as before.
    pub commitment: &'a [u8; 32],
    /// What it has kept, if it resumes a run.
    pub kept: Option<Kept<'a>>,
}

/// What a party has kept of a run.
#[derive(Clone, Copy)]
pub struct Kept<'a> {
    /// What [`agree`] returned at first.
    pub run: &'a Run,
    /// The buckets for which [`super::BucketSource::finish`] has returned.
    pub finished: &'a [usize],
}

/// What both parties have agreed on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agreed {
    /// The run: to be kept, if it is a fresh one, before the first bucket.
    pub run: Run,
    /// The buckets that are left to do, ascending. Some may be among a party's finished ones: they are done again.
    pub remaining: Vec<usize>,
    /// What the attempt costs; see [`Params::bytes_sent_by`].
    pub attempt: Attempt,
}

/// Agrees with the peer on a fresh run, or on resuming one that both have kept. `terms` stands for all that was agreed on
/// in the job (its digest); both parties have equal terms and parameters in this attempt already, but may have had
/// others in the run that is to be resumed.
///
/// Errors, apart from those of the channel: [`Error::Input`] if the own input has changed since the run that is to be
/// resumed; [`Error::Terms`] if the peer's has, if only one party resumes, or if they resume different runs.
pub fn agree(
    party: Party<'_>,
    terms: &[u8; 32],
    params: &Params,
    session: &Session,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<Agreed> {
    let own = match party.kept {
        None => State::Fresh { commitment: *party.commitment },
        Some(kept) => {
            if kept.run.commitments[place(party.role)] != *party.commitment {
                return Err(Error::Input(
                    "the input has changed since the run that is to be resumed: bring the same one, or start anew without --resume"
                        .into(),
                ));
            }
            State::resuming(party.commitment, kept, terms, params)?
        }
    };

    // 1. How both stand.
    let theirs = channel.exchange(STATE, own.encode(), State::bytes(true, params.buckets))?;
    let theirs = State::decode(&theirs, params.buckets)
        .map_err(|wrong| channel.violation(format!("`{}` {wrong}", STATE.name)))?;
    let peer = channel.peer().to_owned();
    match (party.kept, own, theirs) {
        (None, _, State::Fresh { commitment }) => {
            let mut commitments = [*party.commitment; 2];
            commitments[place(party.role.other())] = commitment;
            let run = draw(party.role, commitments, session, channel, rng)?;
            Ok(Agreed { run, remaining: (0..params.buckets).collect(), attempt: Attempt::Fresh })
        }
        (None, _, State::Resuming { .. }) => Err(channel.conclude_for(Error::Terms(format!(
            "{peer} resumes a run of this job, this party starts a new one: resume it here too (--resume, with the directory of that run), or have {peer} start anew without --resume"
        )))),
        (Some(_), _, State::Fresh { .. }) => Err(channel.conclude_for(Error::Terms(format!(
            "this party resumes a run of this job, {peer} starts a new one: start anew here too, without --resume, or have {peer} resume (--resume, with the directory of that run)"
        )))),
        (Some(kept), State::Resuming { run: own_id, finished: own, .. }, State::Resuming { run, commitment, finished }) => {
            if run != own_id {
                return Err(channel.conclude_for(Error::Terms(format!(
                    "{peer} resumes another run than this party, or one under other terms: take the directories of the same run, or start anew without --resume"
                ))));
            }
            // The peer has found this before it sent anything, unless it deviates, and ends the job for its own error: there is
            // no end in good order to wait for.
            if commitment != kept.run.commitments[place(party.role.other())] {
                return Err(Error::Terms(format!(
                    "{peer}'s input has changed since the run that is resumed: start anew without --resume"
                )));
            }
            let [receivers, senders] = match party.role {
                Role::Receiver => [own, finished],
                Role::Sender => [finished, own],
            };
            // A sender that learns nothing has nothing to do again.
            let done = |bucket: &usize| receivers[*bucket] && (senders[*bucket] || !params.to_sender);
            let remaining: Vec<usize> = (0..params.buckets).filter(|bucket| !done(bucket)).collect();
            let attempt = Attempt::Resumed { remaining: remaining.len() };
            Ok(Agreed { run: kept.run.clone(), remaining, attempt })
        }
        (Some(_), State::Fresh { .. }, _) => Err(Error::Internal("a kept run is resumed".into())),
    }
}

/// 2. The seed of a fresh run. Each party draws its share when it has what the other's input is committed to.
fn draw(
    role: Role,
    commitments: [[u8; 32]; 2],
    session: &Session,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<Run> {
    let mut own = [0; SHARE_BYTES];
    rng.fill_bytes(&mut own);
    let theirs = channel.exchange(SHARE, own.to_vec(), SHARE_BYTES)?;
    let Ok(theirs) = <[u8; SHARE_BYTES]>::try_from(&theirs[..]) else {
        return Err(channel.violation(format!("`{}` has {} bytes instead of {SHARE_BYTES}", SHARE.name, theirs.len())));
    };
    let mut shares = [own; 2];
    shares[place(role.other())] = theirs;
    let mut transcript = Transcript::new("buckets");
    transcript.append("session", session.id());
    for commitment in &commitments {
        transcript.append("commitment", commitment);
    }
    for share in &shares {
        transcript.append("share", share);
    }
    Ok(Run { seed: transcript.challenge("seed"), commitments })
}

/// Where a party stands among two.
fn place(role: Role) -> usize {
    match role {
        Role::Receiver => 0,
        Role::Sender => 1,
    }
}

impl Run {
    /// Bytes of [`Run::to_bytes`].
    pub const BYTES: usize = 96;

    /// The key that makes items of canonical keys, in all attempts.
    pub fn item_key(&self) -> [u8; 32] {
        blake3::derive_key("tacita 1 buckets item", &self.seed)
    }

    /// The run as bytes, to be kept as carefully as the items.
    pub fn to_bytes(&self) -> [u8; Run::BYTES] {
        let mut bytes = [0; Run::BYTES];
        bytes[..32].copy_from_slice(&self.seed);
        bytes[32..].copy_from_slice(self.commitments.as_flattened());
        bytes
    }

    /// The run that [`Run::to_bytes`] wrote.
    pub fn from_bytes(bytes: &[u8; Run::BYTES]) -> Run {
        let part = |index: usize| std::array::from_fn(|byte| bytes[32 * index + byte]);
        Run { seed: part(0), commitments: [part(1), part(2)] }
    }

    /// What both parties must have in common to resume: the run, the terms and the parameters, those of the
    /// traffic in flight (lanes) excepted.
    fn id(&self, terms: &[u8; 32], params: &Params) -> [u8; 32] {
        let mut transcript = Transcript::new("buckets run");
        transcript.append("seed", &self.seed).append("terms", terms);
        let protocol = match params.protocol {
            Protocol::Vole => 0,
            Protocol::Ecdh(Suite::Ristretto255) => 1,
            Protocol::Ecdh(Suite::P384) => 2,
            Protocol::Ecdh(Suite::P521) => 3,
        };
        let numbers =
            [params.receiver_items, params.sender_items, params.buckets, usize::from(params.to_sender), protocol];
        for number in numbers {
            transcript.append("number", &(number as u64).to_le_bytes());
        }
        transcript.challenge("id")
    }
}

/// Who has the seed can test guesses against items: it is not printed.
impl std::fmt::Debug for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Run(..)")
    }
}

/// The message [`STATE`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// The party starts a run.
    Fresh {
        /// What its input is committed to.
        commitment: [u8; 32],
    },
    /// The party goes on with one.
    Resuming {
        /// What its input is committed to.
        commitment: [u8; 32],
        /// Id of the run.
        run: [u8; 32],
        /// Whether it has finished each bucket.
        finished: Vec<bool>,
    },
}

const FRESH: u8 = 0;
const RESUMING: u8 = 1;

impl State {
    fn resuming(commitment: &[u8; 32], kept: Kept<'_>, terms: &[u8; 32], params: &Params) -> Result<State> {
        let Kept { run, finished } = kept;
        let mut done = vec![false; params.buckets];
        for &bucket in finished {
            *done
                .get_mut(bucket)
                .ok_or_else(|| Error::Internal(format!("bucket {bucket} of {} is finished", params.buckets)))? = true;
        }
        Ok(State::Resuming { commitment: *commitment, run: run.id(terms, params), finished: done })
    }

    /// Length of the message.
    pub(super) fn bytes(resuming: bool, buckets: usize) -> usize {
        if resuming { 65 + buckets.div_ceil(8) } else { 33 }
    }

    /// The message as bytes.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            State::Fresh { commitment } => [&[FRESH][..], commitment].concat(),
            State::Resuming { commitment, run, finished } => {
                let mut bits = Bits::new(finished.len());
                for bucket in (0..finished.len()).filter(|bucket| finished[*bucket]) {
                    bits.set(bucket);
                }
                [&[RESUMING][..], commitment, run, bits.bytes()].concat()
            }
        }
    }

    /// Reads the message in a run of `buckets`; or says what is wrong with it.
    pub fn decode(bytes: &[u8], buckets: usize) -> std::result::Result<State, String> {
        let length = |resuming: bool| match bytes.len() == State::bytes(resuming, buckets) {
            true => Ok(()),
            false => Err(format!("has {} bytes instead of {}", bytes.len(), State::bytes(resuming, buckets))),
        };
        let part = |index: usize| std::array::from_fn(|byte| bytes[1 + 32 * index + byte]);
        match bytes.first() {
            Some(&FRESH) => length(false).map(|()| State::Fresh { commitment: part(0) }),
            Some(&RESUMING) => {
                length(true)?;
                let bits =
                    Bits::from_bytes(bytes[65..].to_vec(), buckets).ok_or("marks more buckets than there are")?;
                let mut finished = vec![false; buckets];
                bits.ones().for_each(|bucket| finished[bucket] = true);
                Ok(State::Resuming { commitment: part(0), run: part(1), finished })
            }
            Some(kind) => Err(format!("is of the unknown kind {kind}")),
            None => Err("is empty".into()),
        }
    }
}
