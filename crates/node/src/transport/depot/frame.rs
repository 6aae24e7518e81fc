//! Messages between a party and the helper, as payloads of a channel: one byte for the kind, then its fields. Numbers
//! are little-endian. Nothing but the messages written here is read.

use tacita_core::ErrorKind;
use tacita_core::depot::Place;

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
pub enum Request<'a> {
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
        to: Place,
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
        from: Place,
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
        culprit: Option<Place>,
    },
}

/// Answer of the helper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer<'a> {
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
        by: Place,
        /// For a reason of this kind.
        kind: ErrorKind,
        /// Party that caused the end, if it is another one.
        culprit: Option<Place>,
    },
    /// Nothing is known of the run that the party is in: it is lost, or was over long ago.
    Lost,
    /// No job of that name is served.
    Unknown,
}

impl<'a> Request<'a> {
    /// The bytes that stand for it.
    pub fn write(&self) -> Vec<u8> {
        match self {
            Request::Arrive { ticket, begun, terms } => [&[1], &ticket[..], &[u8::from(*begun)], terms].concat(),
            Request::Announce(word) => [&[2], *word].concat(),
            Request::Leave { step, to, part, bytes } => {
                [&[3, *step, code(*to)], &part.to_le_bytes()[..], bytes].concat()
            }
            Request::Collect { step, from, part } => [&[4, *step, code(*from)], &part.to_le_bytes()[..]].concat(),
            Request::Done => vec![5],
            Request::Abort { kind, culprit } => [&[6, kind.code()], &blamed(*culprit)[..]].concat(),
            Request::Look(terms) => [&[7], *terms].concat(),
        }
    }

    /// The request that these bytes are, if they are one.
    pub fn read(bytes: &'a [u8]) -> Option<Request<'a>> {
        let (kind, body) = bytes.split_first()?;
        Some(match (kind, body) {
            (1, body) => {
                let (ticket, rest) = body.split_first_chunk()?;
                let (begun @ (0 | 1), terms) = rest.split_first()? else { return None };
                Request::Arrive { ticket: *ticket, begun: *begun == 1, terms }
            }
            (2, word) => Request::Announce(word),
            (3, [step, to, rest @ ..]) => {
                let (part, bytes) = rest.split_first_chunk()?;
                Request::Leave { step: *step, to: place(*to), part: u32::from_le_bytes(*part), bytes }
            }
            (4, [step, from, part @ ..]) => {
                let part = u32::from_le_bytes(part.try_into().ok()?);
                Request::Collect { step: *step, from: place(*from), part }
            }
            (5, []) => Request::Done,
            (6, [kind, culprit @ ..]) => {
                Request::Abort { kind: ErrorKind::from_code(*kind)?, culprit: blame(culprit)? }
            }
            (7, terms) => Request::Look(terms),
            _ => return None,
        })
    }
}

impl<'a> Answer<'a> {
    /// The bytes that stand for it.
    pub fn write(&self) -> Vec<u8> {
        match self {
            Answer::Welcome => vec![1],
            Answer::Terms(terms) => [&[2], *terms].concat(),
            Answer::Busy => vec![3],
            Answer::Ending => vec![4],
            Answer::Told(words) => [&[5], *words].concat(),
            Answer::Missing(places) => [&[6], *places].concat(),
            Answer::Kept => vec![7],
            Answer::Part(bytes) => [&[8], *bytes].concat(),
            Answer::NotYet => vec![9],
            Answer::Done => vec![10],
            Answer::Ended { by, kind, culprit } => [&[11, code(*by), kind.code()], &blamed(*culprit)[..]].concat(),
            Answer::Lost => vec![12],
            Answer::Unknown => vec![13],
        }
    }

    /// The answer that these bytes are, if they are one.
    pub fn read(bytes: &'a [u8]) -> Option<Answer<'a>> {
        let (kind, body) = bytes.split_first()?;
        Some(match (kind, body) {
            (1, []) => Answer::Welcome,
            (2, terms) => Answer::Terms(terms),
            (3, []) => Answer::Busy,
            (4, []) => Answer::Ending,
            (5, words) => Answer::Told(words),
            (6, places) => Answer::Missing(places),
            (7, []) => Answer::Kept,
            (8, bytes) => Answer::Part(bytes),
            (9, []) => Answer::NotYet,
            (10, []) => Answer::Done,
            (11, [by, kind, culprit @ ..]) => {
                Answer::Ended { by: place(*by), kind: ErrorKind::from_code(*kind)?, culprit: blame(culprit)? }
            }
            (12, []) => Answer::Lost,
            (13, []) => Answer::Unknown,
            _ => return None,
        })
    }
}

/// The byte that stands for a place.
pub fn code(place: Place) -> u8 {
    match place {
        Place::Helper => HELPER,
        Place::Party(place) => place,
    }
}

fn place(code: u8) -> Place {
    if code == HELPER { Place::Helper } else { Place::Party(code) }
}

/// Encodes a culprit: no bytes for nobody, one byte for somebody.
fn blamed(culprit: Option<Place>) -> Vec<u8> {
    culprit.map(code).into_iter().collect()
}

fn blame(bytes: &[u8]) -> Option<Option<Place>> {
    match bytes {
        [] => Some(None),
        [culprit] => Some(Some(place(*culprit))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BANK: Place = Place::Party(1);

    #[test]
    fn what_is_written_is_read() {
        let kind = ErrorKind::Protocol;
        let requests = [
            Request::Arrive { ticket: [7; TICKET_BYTES], begun: false, terms: b"{}" },
            Request::Arrive { ticket: [7; TICKET_BYTES], begun: true, terms: b"{}" },
            Request::Look(b"{}"),
            Request::Announce(b"word"),
            Request::Leave { step: 3, to: Place::Helper, part: 9, bytes: b"part" },
            Request::Collect { step: 3, from: BANK, part: u32::MAX },
            Request::Done,
            Request::Abort { kind, culprit: None },
            Request::Abort { kind, culprit: Some(Place::Helper) },
        ];
        for request in requests {
            assert_eq!(Request::read(&request.write()), Some(request));
        }
        let answers = [
            Answer::Welcome,
            Answer::Terms(b"{}"),
            Answer::Busy,
            Answer::Ending,
            Answer::Told(b"words"),
            Answer::Missing(&[0, 2]),
            Answer::Kept,
            Answer::Part(b""),
            Answer::NotYet,
            Answer::Done,
            Answer::Ended { by: BANK, kind, culprit: Some(BANK) },
            Answer::Lost,
            Answer::Unknown,
        ];
        for answer in answers {
            assert_eq!(Answer::read(&answer.write()), Some(answer));
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
            assert_eq!(Request::read(bytes), None, "{bytes:?}");
        }
        for bytes in
            [&[][..], &[0], &[1, 0], &[9, 0], &[11, 1], &[11, 1, 0], &[11, 1, kind, 1, 1], &[12, 0], &[13, 0], &[14]]
        {
            assert_eq!(Answer::read(bytes), None, "{bytes:?}");
        }
    }
}
