//! The start of an attempt: a fresh run's seed, or whether all parties resume the same run.

use rand_core::CryptoRng;

use super::{HEARD, SHARE, STATE};
use crate::channel::{Channel, HEADER_BYTES, conclude_all_for, each};
use crate::error::{Error, Result};
use crate::protocol::intersect::tag_exchange::Bits;
use crate::session::{Session, Transcript};

/// Bytes of a share of the seed.
const SHARE_BYTES: usize = 32;

/// Bytes of what stands for all that a party was told.
const HEARD_BYTES: usize = 32;

/// State that stays the same in all attempts at a run. Each party keeps it until the run is done.
#[derive(Clone, PartialEq, Eq)]
pub struct BucketsRun {
    /// The seed of the items and of their buckets. Known to the parties and to nobody else.
    seed: [u8; 32],
    /// Commitments to the inputs of the parties, by place.
    commitments: Vec<[u8; 32]>,
}

/// State of a party at the start of an attempt.
#[derive(Clone, Copy)]
pub struct BucketsParty<'a> {
    /// Place of the party: of two, the receiver's is 0 and the sender's 1.
    pub place: usize,
    /// A commitment to a digest of its input, made with randomness that is kept for later attempts: it tells the others
    /// nothing but whether the input is the same as before.
    pub commitment: &'a [u8; 32],
    /// State that the party has kept, if it resumes a run.
    pub kept: Option<KeptRun<'a>>,
}

/// State that a party has kept of a run.
#[derive(Clone, Copy)]
pub struct KeptRun<'a> {
    /// Run as [`agree`] returned it at first.
    pub run: &'a BucketsRun,
    /// The buckets for which [`super::BucketSource::finish`] has returned.
    pub finished: &'a [usize],
}

/// Public values of a run, which are the same in all attempts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BucketsShape {
    /// Number of buckets in the run.
    pub buckets: usize,
    /// The places of those who must have finished a bucket for it to be done: those who learn.
    pub learners: Vec<usize>,
    /// Every value that a run is made for, these two included, as numbers.
    pub numbers: Vec<u64>,
}

/// Work that an attempt at a run has left to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttemptKind {
    /// Every bucket of the run.
    Fresh,
    /// Remaining buckets, as [`BucketAgreement::remaining`] says.
    Resumed {
        /// Number of remaining buckets.
        remaining: usize,
    },
}

impl AttemptKind {
    /// Message flights of [`agree`] among so many parties.
    pub(crate) fn rounds(self, parties: usize) -> u32 {
        let told = match self {
            AttemptKind::Fresh => 2,
            AttemptKind::Resumed { .. } => 1,
        };
        told + u32::from(parties > 2)
    }
}

/// Bytes that [`agree`] sends to each other of so many parties.
pub(crate) fn agreed_bytes(buckets: usize, attempt: AttemptKind, parties: usize) -> u64 {
    let frame = |payload: usize| (HEADER_BYTES + payload) as u64;
    let told = match attempt {
        AttemptKind::Fresh => frame(BucketsState::bytes(false, buckets)) + frame(SHARE_BYTES),
        AttemptKind::Resumed { .. } => frame(BucketsState::bytes(true, buckets)),
    };
    told + if parties > 2 { frame(HEARD_BYTES) } else { 0 }
}

/// Agreement of all parties on an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BucketAgreement {
    /// The run: to be kept, if it is a fresh one, before the first bucket.
    pub run: BucketsRun,
    /// The buckets that are left to do, ascending. Some may be among a party's finished ones: they are done again.
    pub remaining: Vec<usize>,
    /// Scope of the attempt, which decides about its cost.
    pub attempt: AttemptKind,
}

/// Agrees with all others on a fresh run, or on resuming one that all have kept. `terms` stands for all that was agreed
/// on in the job (its digest); all parties have equal terms and an equal shape in this attempt already, but may have
/// had others in the run that is to be resumed. `channels` are those to the others, in the order of their places.
///
/// Errors, apart from those of the channels: [`Error::Input`] if the own input has changed since the run that is to be
/// resumed; [`Error::Terms`] if another's has, if only some resume, or if they resume different runs;
/// [`Error::Protocol`] if somebody has told two others different things, which two of three and more see in each other.
pub fn agree(
    party: BucketsParty<'_>,
    terms: &[u8; 32],
    shape: &BucketsShape,
    session: &Session,
    channels: &mut [Channel],
    rng: &mut impl CryptoRng,
) -> Result<BucketAgreement> {
    let BucketsParty { place, commitment, kept } = party;
    let own = match kept {
        None => BucketsState::Fresh { commitment: *commitment },
        Some(kept) => {
            if kept.run.commitments.get(place) != Some(commitment) {
                return Err(Error::Input("the input has changed since the run that is to be resumed".into()));
            }
            BucketsState::resuming(commitment, kept, terms, shape)?
        }
    };

    // 1. How all stand.
    let message = own.encode();
    let mut states = exchange(channels, |channel| {
        let theirs = channel.exchange(STATE, message.clone(), BucketsState::bytes(true, shape.buckets))?;
        BucketsState::decode(&theirs, shape.buckets)
            .map_err(|wrong| channel.violation(format!("`{}` {wrong}", STATE.name)))
    })?;
    let peers: Vec<String> = channels.iter().map(|channel| channel.peer().to_owned()).collect();
    if let Some(text) = peers.iter().zip(&states).find_map(|(peer, theirs)| own.at_odds(peer, theirs)) {
        // All see it for themselves, and end in good order.
        return Err(conclude_all_for(channels, Error::Terms(text)));
    }
    states.insert(place, own);
    let mut heard = Transcript::new("buckets heard");
    heard.append("session", session.id());
    for state in &states {
        heard.append("state", &state.encode());
    }
    let (commitments, finished): (Vec<_>, Vec<_>) = states.into_iter().map(BucketsState::into_parts).unzip();
    let Some(kept) = kept else {
        let run = draw(place, commitments, session, channels, rng)?;
        heard.append("seed", &run.seed);
        confirm(place, &heard, channels)?;
        return Ok(BucketAgreement { run, remaining: (0..shape.buckets).collect(), attempt: AttemptKind::Fresh });
    };
    confirm(place, &heard, channels)?;
    // Who has changed its input has found this before it sent anything, unless it deviates, and ends the job for its
    // own error: there is no end in good order to wait for.
    let changed = (0..commitments.len()).find(|place| kept.run.commitments.get(*place) != commitments.get(*place));
    if let Some(changed) = changed {
        let peer = &peers[changed - usize::from(changed > place)];
        return Err(Error::Terms(format!("{peer}'s input has changed since the run that is resumed")));
    }
    // Who learns nothing has nothing to do again.
    let done = |bucket: &usize| shape.learners.iter().all(|learner| finished[*learner][*bucket]);
    let remaining: Vec<usize> = (0..shape.buckets).filter(|bucket| !done(bucket)).collect();
    let attempt = AttemptKind::Resumed { remaining: remaining.len() };
    Ok(BucketAgreement { run: kept.run.clone(), remaining, attempt })
}

/// 2. The seed of a fresh run. Each party draws its share when it has what the inputs of all others are committed to.
fn draw(
    place: usize,
    commitments: Vec<[u8; 32]>,
    session: &Session,
    channels: &mut [Channel],
    rng: &mut impl CryptoRng,
) -> Result<BucketsRun> {
    let mut own = [0; SHARE_BYTES];
    rng.fill_bytes(&mut own);
    let mut shares = exchange(channels, |channel| {
        let theirs = channel.exchange(SHARE, own.to_vec(), SHARE_BYTES)?;
        <[u8; SHARE_BYTES]>::try_from(&theirs[..]).map_err(|_| {
            channel.violation(format!("`{}` has {} bytes instead of {SHARE_BYTES}", SHARE.name, theirs.len()))
        })
    })?;
    shares.insert(place, own);
    let mut transcript = Transcript::new("buckets");
    transcript.append("session", session.id());
    for commitment in &commitments {
        transcript.append("commitment", commitment);
    }
    for share in &shares {
        transcript.append("share", share);
    }
    Ok(BucketsRun { seed: transcript.challenge("seed"), commitments })
}

/// 3. Among three and more: that all were told the same.
///
/// Else one that tells two others different things would have them do different buckets, or sort by different seeds:
/// nothing would be common, or an honest party would seem to break the protocol.
fn confirm(place: usize, heard: &Transcript, channels: &mut [Channel]) -> Result<()> {
    if channels.len() < 2 {
        return Ok(());
    }
    let digest = |place: usize| heard.challenge(&format!("from {place}"));
    let own = digest(place);
    let others = (0..=channels.len()).filter(|other| *other != place).collect();
    let confirmed = each(channels, others, |other: usize, channel| {
        let theirs = channel.exchange(HEARD, own.to_vec(), HEARD_BYTES)?;
        if theirs.len() != HEARD_BYTES {
            return Err(channel.violation(format!(
                "`{}` has {} bytes instead of {HEARD_BYTES}",
                HEARD.name,
                theirs.len()
            )));
        }
        Ok(theirs == digest(other))
    })?;
    match confirmed.iter().position(|is_alike| !is_alike) {
        None => Ok(()),
        Some(other) => Err(Error::Protocol {
            peer: format!("{}, or a party that sends contradictory messages,", channels[other].peer()),
            check: "it was told another state of the run, or another share of its seed".into(),
        }),
    }
}

/// The same over all channels at once.
fn exchange<A: Send>(channels: &mut [Channel], work: impl Fn(&mut Channel) -> Result<A> + Sync) -> Result<Vec<A>> {
    let states = vec![(); channels.len()];
    each(channels, states, |(), channel| work(channel))
}

impl BucketsRun {
    /// The key that makes items of canonical keys, in all attempts.
    pub fn item_key(&self) -> [u8; 32] {
        blake3::derive_key("tacita 1 buckets item", &self.seed)
    }

    /// The run as bytes, to be kept as carefully as the items.
    pub fn to_bytes(&self) -> Vec<u8> {
        [&self.seed, self.commitments.as_flattened()].concat()
    }

    /// The run that [`BucketsRun::to_bytes`] wrote, if these are such bytes.
    pub fn from_bytes(bytes: &[u8]) -> Option<BucketsRun> {
        let (parts, []) = bytes.as_chunks::<32>() else { return None };
        let (seed, commitments) = parts.split_first()?;
        Some(BucketsRun { seed: *seed, commitments: commitments.to_vec() })
    }

    /// Identifier of all that the parties must have in common to resume: the run, the terms and the shape.
    fn id(&self, terms: &[u8; 32], shape: &BucketsShape) -> [u8; 32] {
        let mut transcript = Transcript::new("buckets run");
        transcript.append("seed", &self.seed).append("terms", terms);
        for number in &shape.numbers {
            transcript.append("number", &number.to_le_bytes());
        }
        transcript.challenge("id")
    }
}

/// Prints nothing of the seed: whoever has it can test guesses against items.
impl std::fmt::Debug for BucketsRun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Run(..)")
    }
}

/// Contents of the message [`STATE`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BucketsState {
    /// The party starts a run.
    Fresh {
        /// Commitment to the party's input.
        commitment: [u8; 32],
    },
    /// The party goes on with one.
    Resuming {
        /// Commitment to the party's input.
        commitment: [u8; 32],
        /// Id of the run.
        run: [u8; 32],
        /// Whether it has finished each bucket.
        finished: Vec<bool>,
    },
}

const FRESH: u8 = 0;
const RESUMING: u8 = 1;

impl BucketsState {
    fn resuming(
        commitment: &[u8; 32],
        kept: KeptRun<'_>,
        terms: &[u8; 32],
        shape: &BucketsShape,
    ) -> Result<BucketsState> {
        let KeptRun { run, finished } = kept;
        let mut done = vec![false; shape.buckets];
        for &bucket in finished {
            *done
                .get_mut(bucket)
                .ok_or_else(|| Error::Internal(format!("bucket {bucket} of {} is finished", shape.buckets)))? = true;
        }
        Ok(BucketsState::Resuming { commitment: *commitment, run: run.id(terms, shape), finished: done })
    }

    /// Describes the conflict between the party in this state and `peer` in its own, if there is any. The conflict is
    /// to be settled before they can go on.
    fn at_odds(&self, peer: &str, theirs: &BucketsState) -> Option<String> {
        match (self, theirs) {
            (BucketsState::Fresh { .. }, BucketsState::Resuming { .. }) => {
                Some(format!("{peer} resumes a run of this job, this party starts a new one"))
            }
            (BucketsState::Resuming { .. }, BucketsState::Fresh { .. }) => {
                Some(format!("this party resumes a run of this job, {peer} starts a new one"))
            }
            (BucketsState::Resuming { run: own, .. }, BucketsState::Resuming { run, .. }) if own != run => {
                Some(format!("{peer} resumes another run than this party, or one under other terms"))
            }
            _ => None,
        }
    }

    /// Returns the commitment to the input, and which buckets are finished.
    fn into_parts(self) -> ([u8; 32], Vec<bool>) {
        match self {
            BucketsState::Fresh { commitment } => (commitment, Vec::new()),
            BucketsState::Resuming { commitment, finished, .. } => (commitment, finished),
        }
    }

    /// Length of the message.
    pub(super) fn bytes(resuming: bool, buckets: usize) -> usize {
        if resuming { 65 + buckets.div_ceil(8) } else { 33 }
    }

    /// The message as bytes.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            BucketsState::Fresh { commitment } => [&[FRESH][..], commitment].concat(),
            BucketsState::Resuming { commitment, run, finished } => {
                let mut bits = Bits::new(finished.len());
                for bucket in (0..finished.len()).filter(|bucket| finished[*bucket]) {
                    bits.set(bucket);
                }
                [&[RESUMING][..], commitment, run, bits.bytes()].concat()
            }
        }
    }

    /// Reads the message in a run of `buckets`; or says what is wrong with it.
    pub fn decode(bytes: &[u8], buckets: usize) -> std::result::Result<BucketsState, String> {
        let length = |resuming: bool| {
            if bytes.len() == BucketsState::bytes(resuming, buckets) {
                Ok(())
            } else {
                Err(format!("has {} bytes instead of {}", bytes.len(), BucketsState::bytes(resuming, buckets)))
            }
        };
        let part = |index: usize| std::array::from_fn(|byte| bytes[1 + 32 * index + byte]);
        match bytes.first() {
            Some(&FRESH) => length(false).map(|()| BucketsState::Fresh { commitment: part(0) }),
            Some(&RESUMING) => {
                length(true)?;
                let bits =
                    Bits::from_bytes(bytes[65..].to_vec(), buckets).ok_or("marks more buckets than there are")?;
                let mut finished = vec![false; buckets];
                bits.ones().for_each(|bucket| finished[bucket] = true);
                Ok(BucketsState::Resuming { commitment: part(0), run: part(1), finished })
            }
            Some(kind) => Err(format!("is of the unknown kind {kind}")),
            None => Err("is empty".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run is resumed with its own seed, terms and numbers alone.
    #[test]
    fn a_run_is_that_of_its_seed_terms_and_shape() {
        let id = |seed, terms, numbers: &[u64]| {
            let run = BucketsRun { seed: [seed; 32], commitments: Vec::new() };
            run.id(&[terms; 32], &BucketsShape { buckets: 4, learners: Vec::new(), numbers: numbers.to_vec() })
        };
        let all = [id(1, 1, &[4, 5]), id(2, 1, &[4, 5]), id(1, 2, &[4, 5]), id(1, 1, &[5, 4]), id(1, 1, &[4])];
        assert_eq!(std::collections::HashSet::from(all).len(), all.len());
    }
}
