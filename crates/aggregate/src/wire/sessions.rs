//! Sessions fence the copies of a proxy's state directory.
//!
//! In each round a proxy's state directory goes through a chain of sessions, each with a fresh random name. The
//! database holds the last one of each proxy and lets only its holder go on to the next. A proxy that has written
//! something to its disk goes on to a session that it wrote after it, before anybody is told of it. A directory without
//! that session therefore lacks something, and whoever starts it is refused.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use tacita_core::Result;
use tacita_node::base::hex::{hex, unhex};
use tacita_node::base::random::fill_random;

/// A session of a state directory in a round, as `7-00112233445566778899aabbccddeeff`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct StateSession {
    /// Position of the session in the chain, from 1 on.
    pub number: u64,
    /// Random name of the session.
    pub name: [u8; 16],
}

/// A proxy asks the database for its next session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Advance {
    /// The session of before; none for the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<StateSession>,
    /// The session that is to be the last one.
    pub to: StateSession,
}

/// Relation of an advance to the last session that the database holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionOrder {
    /// Next step: the advance begins at the last session.
    Next,
    /// Repetition: the advance has been made already.
    Made,
    /// The last session is of another directory: the one that asks is an older copy, or a copy beside it has gone on.
    Older,
    /// The database holds an earlier session than the one that the directory had from it.
    Newer,
}

impl StateSession {
    /// The session that follows `from`, with a fresh random name.
    pub fn after(from: Option<StateSession>) -> Result<StateSession> {
        let mut name = [0; 16];
        fill_random(&mut name)?;
        Ok(StateSession { number: from.map_or(0, |from| from.number) + 1, name })
    }
}

impl Advance {
    /// Whether one session follows the other.
    pub fn is_one_step(&self) -> bool {
        self.from.map_or(0, |from| from.number).checked_add(1) == Some(self.to.number)
    }

    /// Compares the advance with the last session that the database holds.
    pub fn judge(&self, last: Option<StateSession>) -> SessionOrder {
        if last == Some(self.to) {
            SessionOrder::Made
        } else if last == self.from {
            SessionOrder::Next
        } else {
            differ(last, self.from)
        }
    }
}

/// Determines which of two sessions that are not the same is of an earlier state: the directory's, or the database's.
pub fn differ(last: Option<StateSession>, presented: Option<StateSession>) -> SessionOrder {
    let number = |session: Option<StateSession>| session.map_or(0, |session| session.number);
    if number(presented) > number(last) { SessionOrder::Newer } else { SessionOrder::Older }
}

impl fmt::Display for StateSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.number, hex(&self.name))
    }
}

impl From<StateSession> for String {
    fn from(session: StateSession) -> String {
        session.to_string()
    }
}

impl FromStr for StateSession {
    type Err = &'static str;

    fn from_str(text: &str) -> std::result::Result<StateSession, Self::Err> {
        let read = || {
            let (number, name) = text.split_once('-')?;
            let session = StateSession { number: number.parse().ok()?, name: unhex(name)?.try_into().ok()? };
            (session.number > 0 && session.to_string() == text).then_some(session)
        };
        read().ok_or("a session is a number from 1 on, a hyphen, and 32 hexadecimal digits")
    }
}

impl TryFrom<String> for StateSession {
    type Error = &'static str;

    fn try_from(text: String) -> std::result::Result<StateSession, Self::Error> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(number: u64, name: u8) -> StateSession {
        StateSession { number, name: [name; 16] }
    }

    #[test]
    fn a_session_is_read_as_it_was_written_and_in_no_other_way() {
        let written = session(7, 0xab).to_string();
        assert_eq!(written.parse::<StateSession>().unwrap(), session(7, 0xab));
        let name = "ab".repeat(16);
        for odd in [
            "",
            "7",
            "7-",
            &name,
            &format!("0-{name}"),
            &format!("07-{name}"),
            &format!("+7-{name}"),
            &format!("7-{name}a"),
        ] {
            assert!(odd.parse::<StateSession>().is_err(), "{odd}");
        }
        assert!(format!("7-{}", name.to_uppercase()).parse::<StateSession>().is_err());
        let next = StateSession::after(Some(session(7, 1))).unwrap();
        assert!(next.number == 8 && next != StateSession::after(Some(session(7, 1))).unwrap());
    }

    #[test]
    fn only_the_holder_of_the_last_session_goes_on() {
        let step = |from: Option<StateSession>, to: StateSession| Advance { from, to };
        let first = step(None, session(1, 1));
        assert_eq!(first.judge(None), SessionOrder::Next);
        assert_eq!(first.judge(Some(session(1, 1))), SessionOrder::Made);
        assert_eq!(first.judge(Some(session(1, 2))), SessionOrder::Older);
        let third = step(Some(session(2, 2)), session(3, 3));
        assert_eq!(third.judge(Some(session(2, 2))), SessionOrder::Next);
        for last in [session(2, 9), session(3, 9), session(4, 4)] {
            assert_eq!(third.judge(Some(last)), SessionOrder::Older, "{last}");
        }
        for last in [None, Some(session(1, 1))] {
            assert_eq!(third.judge(last), SessionOrder::Newer, "{last:?}");
        }
        assert!(first.is_one_step() && third.is_one_step() && !step(None, session(2, 2)).is_one_step());
    }
}
