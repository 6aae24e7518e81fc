//! Messages between a desk and its authority.
//!
//! Numbers are little-endian. All of it is checked before it exists; what is wrong is said as the end of a sentence
//! that begins with the message's name.

use super::{CHAIN_BYTES, Chain, MAX_CHANGES, MAX_ELEMENTS, Params, Tag};

/// Fault in a message, as text.
type Wrong = &'static str;

const EPOCH_BYTES: usize = 32;

/// State of a table: its epoch, the number of changes, and a digest that stands for all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListState {
    /// Identifier of the epoch.
    pub epoch: [u8; 32],
    /// Number of changes so far.
    pub version: u64,
    /// The table as it began, and all changes.
    pub chain: Chain,
}

/// Length of an encoded [`ListState`].
const STATE_BYTES: usize = EPOCH_BYTES + 8 + CHAIN_BYTES;

impl ListState {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend(self.epoch);
        out.extend(self.version.to_le_bytes());
        out.extend(self.chain.0);
    }

    fn take(bytes: &mut &[u8]) -> Result<ListState, Wrong> {
        Ok(ListState { epoch: take(bytes)?, version: u64::from_le_bytes(take(bytes)?), chain: Chain(take(bytes)?) })
    }
}

/// Request of a desk to the authority.
#[derive(Debug, PartialEq, Eq)]
pub enum ListRequest {
    /// Request for the whole table.
    Fetch,
    /// Request for the changes, with a question.
    Ask(ListQuery),
}

/// A question. One of no elements asks for changes only.
#[derive(Debug, PartialEq, Eq)]
pub struct ListQuery {
    /// The state of the desk's copy.
    pub state: ListState,
    /// Blinded elements, one after the other.
    pub blinded: Vec<u8>,
}

const FETCH: u8 = 0;
const QUESTION: u8 = 1;

impl ListRequest {
    /// The most bytes that one has.
    pub fn most_bytes(params: &Params) -> usize {
        1 + STATE_BYTES + MAX_ELEMENTS * params.suite.element_bytes()
    }

    /// Encodes the request for the wire.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            ListRequest::Fetch => vec![FETCH],
            ListRequest::Ask(ask) => {
                let mut out = vec![QUESTION];
                ask.state.put(&mut out);
                out.extend_from_slice(&ask.blinded);
                out
            }
        }
    }

    /// Decodes a desk's request. The elements are validated when they are evaluated.
    pub fn decode(mut bytes: &[u8], params: &Params) -> Result<ListRequest, Wrong> {
        let [kind] = take(&mut bytes)?;
        match kind {
            FETCH if bytes.is_empty() => Ok(ListRequest::Fetch),
            FETCH => Err("is longer than it says"),
            QUESTION => {
                let state = ListState::take(&mut bytes)?;
                let length = params.suite.element_bytes();
                if bytes.len().is_multiple_of(length) && bytes.len() / length <= MAX_ELEMENTS {
                    Ok(ListRequest::Ask(ListQuery { state, blinded: bytes.to_vec() }))
                } else {
                    Err("has no whole number of elements, or too many")
                }
            }
            _ => Err("is of no known kind"),
        }
    }
}

/// Answer of the authority to a desk.
#[derive(Debug, PartialEq, Eq)]
pub enum ListAnswer {
    /// The desk's copy is of another epoch, or of another list: it has to fetch the table. Nothing was charged.
    Stale,
    /// The desk's quota does not allow the question. Nothing was charged.
    Spent {
        /// Number of elements that the quota does allow.
        left: u64,
    },
    /// Changes, and what was asked.
    Answered {
        /// Number of further elements that the quota allows.
        left: u64,
        /// Number of changes besides these, for which the desk has to ask first.
        behind: u64,
        /// The entries that the table has besides those of the desk's state, in order.
        changes: Vec<Tag>,
        /// The function at each blinded element, in order.
        evaluated: Vec<u8>,
    },
}

const STALE: u8 = 0;
const SPENT: u8 = 1;
const ANSWERED: u8 = 2;

/// Length of an answer without changes and elements.
const ANSWER_BYTES: usize = 1 + 8 + 8 + 4;

impl ListAnswer {
    /// The most bytes that one has for a question of so many elements.
    pub fn most_bytes(params: &Params, elements: usize) -> usize {
        ANSWER_BYTES + MAX_CHANGES * params.tag_bytes + elements * params.suite.element_bytes()
    }

    /// Encodes the answer for the wire.
    pub fn encode(&self, params: &Params) -> Vec<u8> {
        match self {
            ListAnswer::Stale => vec![STALE],
            ListAnswer::Spent { left } => [&[SPENT][..], &left.to_le_bytes()].concat(),
            ListAnswer::Answered { left, behind, changes, evaluated } => {
                let changes_bytes = changes.len() * params.tag_bytes;
                let mut out = Vec::with_capacity(ANSWER_BYTES + changes_bytes + evaluated.len());
                out.push(ANSWERED);
                out.extend(left.to_le_bytes());
                out.extend(behind.to_le_bytes());
                out.extend((changes.len() as u32).to_le_bytes());
                changes.iter().for_each(|change| out.extend_from_slice(change.bytes(params)));
                out.extend_from_slice(evaluated);
                out
            }
        }
    }

    /// Decodes an authority's answer to a question of so many elements. The evaluated elements are validated when they
    /// are used.
    pub fn decode(mut bytes: &[u8], params: &Params, elements: usize) -> Result<ListAnswer, Wrong> {
        let [kind] = take(&mut bytes)?;
        let answer = match kind {
            STALE => ListAnswer::Stale,
            SPENT => ListAnswer::Spent { left: u64::from_le_bytes(take(&mut bytes)?) },
            ANSWERED => {
                let left = u64::from_le_bytes(take(&mut bytes)?);
                let behind = u64::from_le_bytes(take(&mut bytes)?);
                let count = u32::from_le_bytes(take(&mut bytes)?) as usize;
                if count > MAX_CHANGES {
                    return Err("has more changes than one may have");
                }
                if behind > 0 && count == 0 {
                    return Err("says that there are changes, and has none");
                }
                let (listed, rest) =
                    bytes.split_at_checked(count * params.tag_bytes).ok_or("has fewer changes than it says")?;
                let changes =
                    listed.chunks_exact(params.tag_bytes).map(|entry| Tag::of(entry, params.tag_bytes)).collect();
                // A question that comes too early is not answered: the desk asks again once it has all changes.
                let evaluated = if behind > 0 { 0 } else { elements * params.suite.element_bytes() };
                if rest.len() != evaluated {
                    return Err("has another number of elements than were sent");
                }
                bytes = &[];
                ListAnswer::Answered { left, behind, changes, evaluated: rest.to_vec() }
            }
            _ => return Err("is of no known kind"),
        };
        if bytes.is_empty() { Ok(answer) } else { Err("is longer than it says") }
    }
}

/// Authority to desk: which table follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// The random id of the epoch. What [`ListState`] has follows from it and from the terms, which the desk checks.
    pub id: [u8; 32],
    /// The state of the table.
    pub state: ListState,
    /// Number of seconds until the key changes, by the schedule.
    pub lasts: u64,
}

impl Facts {
    /// Length of the encoding in bytes.
    pub const BYTES: usize = EPOCH_BYTES + STATE_BYTES + 8;

    /// Length in bytes of the table that follows.
    pub fn table_bytes(&self, params: &Params) -> usize {
        params.table_bytes() + self.state.version as usize * params.tag_bytes
    }

    /// Encodes the facts for the wire.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(Facts::BYTES);
        out.extend(self.id);
        self.state.put(&mut out);
        out.extend(self.lasts.to_le_bytes());
        out
    }

    /// Decodes the facts that an authority sent.
    pub fn decode(mut bytes: &[u8], params: &Params) -> Result<Facts, Wrong> {
        let (id, state) = (take(&mut bytes)?, ListState::take(&mut bytes)?);
        if state.version > params.max_changes() as u64 {
            return Err("says that the table has changed more often than it may");
        }
        let facts = Facts { id, state, lasts: u64::from_le_bytes(take(&mut bytes)?) };
        if bytes.is_empty() { Ok(facts) } else { Err("is longer than it says") }
    }
}

/// Takes the next `N` bytes off the front.
fn take<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N], Wrong> {
    let (first, rest) = bytes.split_first_chunk().ok_or("is cut off")?;
    *bytes = rest;
    Ok(*first)
}
