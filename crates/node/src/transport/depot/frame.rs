//! Messages between a party and the helper, as payloads of a channel: one byte for the kind, then its fields. Numbers
//! are little-endian. Nothing but the messages written here is read.

use tacita_core::ErrorKind;
use tacita_core::depot::DepotParty;

/// Bytes of a [`Ticket`].
pub const TICKET_BYTES: usize = 32;

/// Random identifier for the connections of one party in one run, fresh for each run.
pub type Ticket = [u8; TICKET_BYTES];

/// The most bytes of a request or an answer.
pub const MAX_FRAME_BYTES: usize = tacita_core::channel::MAX_PAYLOAD_BYTES;

/// The most bytes of a word that is told all.
pub const MAX_WORD_BYTES: usize = 1 << 14;

/// The place that stands for the helper.
const HELPER: u8 = u8::MAX;

/// Request of a party to the helper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DepotRequest<'a> {
    /// Introduces the party on this connection: the first request on each.
    Arrive {
        /// Ticket that identifies the party in this run.
        ticket: Ticket,
        /// Whether it has been told all words: it is then of that run, and of none that begins later.
        begun: bool,
        /// The terms of its job.
        terms: &'a [u8],
    },
    /// Whether a job of these terms is served: the only request on its connection.
    Look(&'a [u8]),
    /// Announces this signed word to all parties, and asks for theirs.
    Announce(&'a [u8]),
    /// Leaves a part of a parcel with the helper.
    Leave {
        /// Step to which the parcel belongs.
        step: u8,
        /// For whom it is.
        to: DepotParty,
        /// Number of the part.
        part: u32,
        /// Content of the part.
        bytes: &'a [u8],
    },
    /// A part of a parcel, once it is there.
    Collect {
        /// Step to which the parcel belongs.
        step: u8,
        /// Party that leaves the parcel.
        from: DepotParty,
        /// Number of the part.
        part: u32,
    },
    /// Ends the requests of this party: it is done.
    Done,
    /// Ends the run for all parties.
    Abort {
        /// For a reason of this kind.
        kind: ErrorKind,
        /// Party that caused the end, if it is another one.
        culprit: Option<DepotParty>,
    },
}

/// Answer of the helper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DepotResponse<'a> {
    /// The party is known.
    Welcome,
    /// The helper's terms of that job, which differ.
    Terms(&'a [u8]),
    /// Another process of the party takes part in the run.
    Busy,
    /// The helper takes no new runs, for it is about to end.
    Ending,
    /// The signed words of all parties by place, one behind the other: as long each as the one announced.
    Told(&'a [u8]),
    /// Not all parties have announced their words. The parties at these places have not come at all.
    Missing(&'a [u8]),
    /// Confirmation that the part that was left is on disk.
    Kept,
    /// The part that was asked for.
    Part(&'a [u8]),
    /// The part is not there yet: ask again.
    NotYet,
    /// Confirmation that the helper knows this party to be done.
    Done,
    /// The run has ended.
    Ended {
        /// Party or helper that has ended the run.
        by: DepotParty,
        /// For a reason of this kind.
        kind: ErrorKind,
        /// Party that caused the end, if it is another one.
        culprit: Option<DepotParty>,
    },
    /// Nothing is known of the run that the party is in: it is lost, or was over long ago.
    Lost,
    /// No job of that name is served.
    Unknown,
}

impl<'a> DepotRequest<'a> {
    /// The bytes that stand for it.
    pub fn write(&self) -> Vec<u8> {
        match self {
            DepotRequest::Arrive { ticket, begun, terms } => [&[1], &ticket[..], &[u8::from(*begun)], terms].concat(),
            DepotRequest::Announce(word) => [&[2], *word].concat(),
            DepotRequest::Leave { step, to, part, bytes } => {
                [&[3, *step, code(*to)], &part.to_le_bytes()[..], bytes].concat()
            }
            DepotRequest::Collect { step, from, part } => [&[4, *step, code(*from)], &part.to_le_bytes()[..]].concat(),
            DepotRequest::Done => vec![5],
            DepotRequest::Abort { kind, culprit } => [&[6, kind.code()], &blamed(*culprit)[..]].concat(),
            DepotRequest::Look(terms) => [&[7], *terms].concat(),
        }
    }

    /// The request that these bytes are, if they are one.
    pub fn read(bytes: &'a [u8]) -> Option<DepotRequest<'a>> {
        let (kind, body) = bytes.split_first()?;
        Some(match (kind, body) {
            (1, body) => {
                let (ticket, rest) = body.split_first_chunk()?;
                let (begun @ (0 | 1), terms) = rest.split_first()? else { return None };
                DepotRequest::Arrive { ticket: *ticket, begun: *begun == 1, terms }
            }
            (2, word) => DepotRequest::Announce(word),
            (3, [step, to, rest @ ..]) => {
                let (part, bytes) = rest.split_first_chunk()?;
                DepotRequest::Leave { step: *step, to: place(*to), part: u32::from_le_bytes(*part), bytes }
            }
            (4, [step, from, part @ ..]) => {
                let part = u32::from_le_bytes(part.try_into().ok()?);
                DepotRequest::Collect { step: *step, from: place(*from), part }
            }
            (5, []) => DepotRequest::Done,
            (6, [kind, culprit @ ..]) => {
                DepotRequest::Abort { kind: ErrorKind::from_code(*kind)?, culprit: blame(culprit)? }
            }
            (7, terms) => DepotRequest::Look(terms),
            _ => return None,
        })
    }
}

impl<'a> DepotResponse<'a> {
    /// The bytes that stand for it.
    pub fn write(&self) -> Vec<u8> {
        match self {
            DepotResponse::Welcome => vec![1],
            DepotResponse::Terms(terms) => [&[2], *terms].concat(),
            DepotResponse::Busy => vec![3],
            DepotResponse::Ending => vec![4],
            DepotResponse::Told(words) => [&[5], *words].concat(),
            DepotResponse::Missing(places) => [&[6], *places].concat(),
            DepotResponse::Kept => vec![7],
            DepotResponse::Part(bytes) => [&[8], *bytes].concat(),
            DepotResponse::NotYet => vec![9],
            DepotResponse::Done => vec![10],
            DepotResponse::Ended { by, kind, culprit } => {
                [&[11, code(*by), kind.code()], &blamed(*culprit)[..]].concat()
            }
            DepotResponse::Lost => vec![12],
            DepotResponse::Unknown => vec![13],
        }
    }

    /// The answer that these bytes are, if they are one.
    pub fn read(bytes: &'a [u8]) -> Option<DepotResponse<'a>> {
        let (kind, body) = bytes.split_first()?;
        Some(match (kind, body) {
            (1, []) => DepotResponse::Welcome,
            (2, terms) => DepotResponse::Terms(terms),
            (3, []) => DepotResponse::Busy,
            (4, []) => DepotResponse::Ending,
            (5, words) => DepotResponse::Told(words),
            (6, places) => DepotResponse::Missing(places),
            (7, []) => DepotResponse::Kept,
            (8, bytes) => DepotResponse::Part(bytes),
            (9, []) => DepotResponse::NotYet,
            (10, []) => DepotResponse::Done,
            (11, [by, kind, culprit @ ..]) => {
                DepotResponse::Ended { by: place(*by), kind: ErrorKind::from_code(*kind)?, culprit: blame(culprit)? }
            }
            (12, []) => DepotResponse::Lost,
            (13, []) => DepotResponse::Unknown,
            _ => return None,
        })
    }
}

/// The byte that stands for a place.
pub fn code(place: DepotParty) -> u8 {
    match place {
        DepotParty::Helper => HELPER,
        DepotParty::Party(place) => place,
    }
}

fn place(code: u8) -> DepotParty {
    if code == HELPER { DepotParty::Helper } else { DepotParty::Party(code) }
}

/// Encodes a culprit: no bytes for nobody, one byte for somebody.
fn blamed(culprit: Option<DepotParty>) -> Vec<u8> {
    culprit.map(code).into_iter().collect()
}

fn blame(bytes: &[u8]) -> Option<Option<DepotParty>> {
    match bytes {
        [] => Some(None),
        [culprit] => Some(Some(place(*culprit))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BANK: DepotParty = DepotParty::Party(1);

    #[test]
    fn what_is_written_is_read() {
        let kind = ErrorKind::Protocol;
        let requests = [
            DepotRequest::Arrive { ticket: [7; TICKET_BYTES], begun: false, terms: b"{}" },
            DepotRequest::Arrive { ticket: [7; TICKET_BYTES], begun: true, terms: b"{}" },
            DepotRequest::Look(b"{}"),
            DepotRequest::Announce(b"word"),
            DepotRequest::Leave { step: 3, to: DepotParty::Helper, part: 9, bytes: b"part" },
            DepotRequest::Collect { step: 3, from: BANK, part: u32::MAX },
            DepotRequest::Done,
            DepotRequest::Abort { kind, culprit: None },
            DepotRequest::Abort { kind, culprit: Some(DepotParty::Helper) },
        ];
        for request in requests {
            assert_eq!(DepotRequest::read(&request.write()), Some(request));
        }
        let answers = [
            DepotResponse::Welcome,
            DepotResponse::Terms(b"{}"),
            DepotResponse::Busy,
            DepotResponse::Ending,
            DepotResponse::Told(b"words"),
            DepotResponse::Missing(&[0, 2]),
            DepotResponse::Kept,
            DepotResponse::Part(b""),
            DepotResponse::NotYet,
            DepotResponse::Done,
            DepotResponse::Ended { by: BANK, kind, culprit: Some(BANK) },
            DepotResponse::Lost,
            DepotResponse::Unknown,
        ];
        for answer in answers {
            assert_eq!(DepotResponse::read(&answer.write()), Some(answer));
        }
    }

    #[test]
    fn what_is_none_is_not_read() {
        let kind = ErrorKind::Protocol.code();
        let bad: [&[u8]; 10] = [
            &[],
            &[0],
            &[1; 33],
            &[[1; 33].as_slice(), &[2, b'{', b'}']].concat(),
            &[3, 1, 0, 0, 0, 0],
            &[4, 3, 1, 0, 0, 0, 0, 7],
            &[5, 0],
            &[6, 0],
            &[6, kind, 1, 1],
            &[8],
        ];
        for bytes in bad {
            assert_eq!(DepotRequest::read(bytes), None, "{bytes:?}");
        }
        for bytes in
            [&[][..], &[0], &[1, 0], &[9, 0], &[11, 1], &[11, 1, 0], &[11, 1, kind, 1, 1], &[12, 0], &[13, 0], &[14]]
        {
            assert_eq!(DepotResponse::read(bytes), None, "{bytes:?}");
        }
    }
}
