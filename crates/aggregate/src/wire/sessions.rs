//! Sessions fence the copies of a proxy's state directory.
//!
//! In each round a proxy's state directory goes through a chain of sessions, each with a fresh random name. The database holds the last one of each proxy
//! and lets only its holder go on to the next. A proxy that has written something to its disk goes on to a session that it wrote after it, before
//! anybody is told of it. A directory without that session therefore lacks something, and whoever starts it is refused.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use tacita_core::{Error, Result};
use tacita_node::base::hex::{hex, unhex};

/// A session of a state directory in a round, as `7-00112233445566778899aabbccddeeff`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Session {
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
    pub from: Option<Session>,
    /// The session that is to be the last one.
    pub to: Session,
}

/// Relation of an advance to the last session that the database holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Next step: the advance begins at the last session.
    Next,
    /// Repetition: the advance has been made already.
    Made,
    /// The last session is of another directory: the one that asks is an older copy, or a copy beside it has gone on.
    Older,
    /// The database holds an earlier session than the one that the directory had from it.
    Newer,
}

impl Session {
    /// The session that follows `from`, with a fresh random name.
    pub fn after(from: Option<Session>) -> Result<Session> {
        let mut name = [0; 16];
        getrandom::fill(&mut name).map_err(|error| Error::Internal(format!("no randomness: {error}")))?;
        Ok(Session { number: from.map_or(0, |from| from.number) + 1, name })
    }
}

impl Advance {
    /// Whether one session follows the other.
    pub fn is_one_step(&self) -> bool {
        self.from.map_or(0, |from| from.number).checked_add(1) == Some(self.to.number)
    }

    /// Compares the advance with the last session that the database holds.
    pub fn judge(&self, last: Option<Session>) -> Standing {
        if last == Some(self.to) {
            Standing::Made
        } else if last == self.from {
            Standing::Next
        } else {
            differ(last, self.from)
        }
    }
}

/// Determines which of two sessions that are not the same is of an earlier state: the directory's, or the database's.
pub fn differ(last: Option<Session>, presented: Option<Session>) -> Standing {
    let number = |session: Option<Session>| session.map_or(0, |session| session.number);
    if number(presented) > number(last) { Standing::Newer } else { Standing::Older }
}

impl fmt::Display for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.number, hex(&self.name))
    }
}

impl From<Session> for String {
    fn from(session: Session) -> String {
        session.to_string()
    }
}

impl FromStr for Session {
    type Err = &'static str;

    fn from_str(text: &str) -> std::result::Result<Session, Self::Err> {
        let read = || {
            let (number, name) = text.split_once('-')?;
            let session = Session { number: number.parse().ok()?, name: unhex(name)?.try_into().ok()? };
            (session.number > 0 && session.to_string() == text).then_some(session)
        };
        read().ok_or("a session is a number from 1 on, a hyphen, and 32 hexadecimal digits")
    }
}

impl TryFrom<String> for Session {
    type Error = &'static str;

    fn try_from(text: String) -> std::result::Result<Session, Self::Error> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(number: u64, name: u8) -> Session {
        Session { number, name: [name; 16] }
    }

    #[test]
    fn a_session_is_read_as_it_was_written_and_in_no_other_way() {
        let written = session(7, 0xab).to_string();
        assert_eq!(written.parse::<Session>().unwrap(), session(7, 0xab));
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
            assert!(odd.parse::<Session>().is_err(), "{odd}");
        }
        assert!(format!("7-{}", name.to_uppercase()).parse::<Session>().is_err());
        let next = Session::after(Some(session(7, 1))).unwrap();
        assert!(next.number == 8 && next != Session::after(Some(session(7, 1))).unwrap());
    }

    #[test]
    fn only_the_holder_of_the_last_session_goes_on() {
        let step = |from: Option<Session>, to: Session| Advance { from, to };
        let first = step(None, session(1, 1));
        assert_eq!(first.judge(None), Standing::Next);
        assert_eq!(first.judge(Some(session(1, 1))), Standing::Made);
        assert_eq!(first.judge(Some(session(1, 2))), Standing::Older);
        let third = step(Some(session(2, 2)), session(3, 3));
        assert_eq!(third.judge(Some(session(2, 2))), Standing::Next);
        for last in [session(2, 9), session(3, 9), session(4, 4)] {
            assert_eq!(third.judge(Some(last)), Standing::Older, "{last}");
        }
        for last in [None, Some(session(1, 1))] {
            assert_eq!(third.judge(last), Standing::Newer, "{last:?}");
        }
        assert!(first.is_one_step() && third.is_one_step() && !step(None, session(2, 2)).is_one_step());
    }
}
