//! Questions of the database to the oracle, and its answers, as bytes.

use tacita_core::protocol::aggregate::Params;

use super::rows::take;

/// Bytes of the questions in one request, at most. Only databases ask.
pub const MAX_QUESTION_BYTES: usize = 64 << 20;

/// A question about one row.
#[derive(Clone, PartialEq, Eq)]
pub struct RowQuestion {
    /// Identifier of the row.
    pub row: [u8; 32],
    /// The sealed keys of its reports, one after the other, in a random order.
    pub sealed: Vec<u8>,
    /// Numbers that say which of them have the same reporter; none where reporters are not told apart.
    pub reporters: Vec<u32>,
}

impl std::fmt::Debug for RowQuestion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Question(..)")
    }
}

/// The answer to one.
#[derive(Clone, PartialEq, Eq)]
pub enum RowReply {
    /// Key of the row.
    Key(Vec<u8>),
    /// Reports at these places, ascending, hold another key or none.
    Inconsistent(Vec<u32>),
    /// There are fewer than agreed.
    TooFew,
}

impl std::fmt::Debug for RowReply {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Reply(..)")
    }
}

/// Encodes questions. Each has the row (32 bytes), the length of all sealed keys (4) and these. Where reporters are
/// told apart, a number for each follows (4).
pub fn encode_questions(questions: &[RowQuestion]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for question in questions {
        bytes.extend(question.row);
        bytes.extend((question.sealed.len() as u32).to_le_bytes());
        bytes.extend(&question.sealed);
        question.reporters.iter().for_each(|reporter| bytes.extend(reporter.to_le_bytes()));
    }
    bytes
}

/// The questions; none if these bytes are no encoding of some.
pub fn decode_questions(mut bytes: &[u8], params: &Params) -> Option<Vec<RowQuestion>> {
    let mut questions = Vec::new();
    while !bytes.is_empty() {
        let row = take(&mut bytes)?;
        let length = u32::from_le_bytes(take(&mut bytes)?) as usize;
        let entries = length / params.sealed_bytes();
        if entries == 0 || !length.is_multiple_of(params.sealed_bytes()) {
            return None;
        }
        let numbers = if params.distinct() { entries } else { 0 };
        let (sealed, rest) = bytes.split_at_checked(length)?;
        let (reporters, rest) = rest.split_at_checked(4 * numbers)?;
        bytes = rest;
        let (reporters, _) = reporters.as_chunks::<4>();
        questions.push(RowQuestion {
            row,
            sealed: sealed.to_vec(),
            reporters: reporters.iter().map(|number| u32::from_le_bytes(*number)).collect(),
        });
    }
    Some(questions)
}

const KEY: u8 = 0;
const INCONSISTENT: u8 = 1;
const TOO_FEW: u8 = 2;

/// Encodes answers. Each has its kind (1 byte). A key then has its length (2) and bytes; inconsistent reports have
/// their number (4) and places (4 each).
pub fn encode_replies(replies: &[RowReply]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for reply in replies {
        match reply {
            RowReply::Key(key) => {
                bytes.push(KEY);
                bytes.extend((key.len() as u16).to_le_bytes());
                bytes.extend(key);
            }
            RowReply::Inconsistent(places) => {
                bytes.push(INCONSISTENT);
                bytes.extend((places.len() as u32).to_le_bytes());
                places.iter().for_each(|place| bytes.extend(place.to_le_bytes()));
            }
            RowReply::TooFew => bytes.push(TOO_FEW),
        }
    }
    bytes
}

/// The answers to these questions; or what is wrong with them.
pub fn decode_replies(mut bytes: &[u8], questions: &[RowQuestion], params: &Params) -> Result<Vec<RowReply>, String> {
    let mut keys = std::collections::HashSet::new();
    let mut replies = Vec::with_capacity(questions.len());
    for question in questions {
        let entries = question.sealed.len() / params.sealed_bytes();
        let reply = decode_reply(&mut bytes, entries, params.key_bytes()).ok_or("an answer of it cannot be read")?;
        if let RowReply::Key(key) = &reply
            && !keys.insert(key.clone())
        {
            return Err("it names one key for two rows".into());
        }
        replies.push(reply);
    }
    if bytes.is_empty() { Ok(replies) } else { Err("it sent more answers than there were questions".into()) }
}

fn decode_reply(bytes: &mut &[u8], entries: usize, key_bytes: usize) -> Option<RowReply> {
    let [kind] = take(bytes)?;
    match kind {
        KEY => {
            let length = usize::from(u16::from_le_bytes(take(bytes)?));
            let (key, rest) = bytes.split_at_checked(length).filter(|_| length <= key_bytes)?;
            *bytes = rest;
            Some(RowReply::Key(key.to_vec()))
        }
        INCONSISTENT => {
            let number = u32::from_le_bytes(take(bytes)?) as usize;
            if number == 0 || number > entries {
                return None;
            }
            let places = (0..number).map(|_| take(bytes).map(u32::from_le_bytes)).collect::<Option<Vec<u32>>>()?;
            let ascending = places.windows(2).all(|pair| pair[0] < pair[1]);
            let within = places.last().is_some_and(|last| (*last as usize) < entries);
            (ascending && within).then_some(RowReply::Inconsistent(places))
        }
        TOO_FEW => Some(RowReply::TooFew),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use tacita_core::session::{Session, Transcript};

    use super::*;

    fn params(distinct: bool) -> Params {
        Params::new(Session::new(Transcript::new("test")), 16, 0, distinct).unwrap()
    }

    #[test]
    fn questions_and_answers_come_back_and_nothing_else_is_read() {
        for distinct in [false, true] {
            let params = params(distinct);
            let question = |entries: usize, byte| RowQuestion {
                row: [byte; 32],
                sealed: vec![byte; entries * params.sealed_bytes()],
                reporters: if distinct { (0..entries as u32).collect() } else { vec![] },
            };
            let questions = vec![question(3, 1), question(1, 2), question(2, 3)];
            let bytes = encode_questions(&questions);
            assert_eq!(decode_questions(&bytes, &params).unwrap(), questions);
            assert!(
                (1..bytes.len()).filter(|length| decode_questions(&bytes[..*length], &params).is_some()).count() <= 2
            );
            assert!(decode_questions(&encode_questions(&[question(0, 1)]), &params).is_none(), "about nothing");
            assert!(decode_questions(&bytes, &self::params(!distinct)).is_none());

            let replies = vec![RowReply::Inconsistent(vec![0, 2]), RowReply::Key(b"key".to_vec()), RowReply::TooFew];
            let bytes = encode_replies(&replies);
            assert_eq!(decode_replies(&bytes, &questions, &params).unwrap(), replies);
            for length in 0..bytes.len() {
                assert!(decode_replies(&bytes[..length], &questions, &params).is_err(), "{length}");
            }
            assert!(decode_replies(&[&bytes[..], &[TOO_FEW]].concat(), &questions, &params).is_err());
            for wrong in [
                RowReply::Inconsistent(vec![]),
                RowReply::Inconsistent(vec![2, 0]),
                RowReply::Inconsistent(vec![3]),
                RowReply::Inconsistent(vec![0, 0]),
                RowReply::Key(vec![1; 17]),
                RowReply::Key(b"key".to_vec()),
            ] {
                let replies = [vec![wrong], replies[1..].to_vec()].concat();
                assert!(decode_replies(&encode_replies(&replies), &questions, &params).is_err());
            }
        }
    }
}
