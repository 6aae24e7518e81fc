//! Who is to blame for the end of a job of more than two parties, as it is told from one to the other.

use crate::error::{Error, ErrorKind};

/// An end of the job, as it travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Told {
    /// The kind of reason.
    pub(super) kind: ErrorKind,
    /// The place of the party whose doing it is, where that is not simply the sender's.
    pub(super) about: Option<u8>,
}

/// The parties of a job of more than two, by which aborts name whoever is to blame.
#[derive(Debug)]
pub(super) struct Company {
    parties: Vec<String>,
    me: usize,
}

impl Told {
    /// A reason of the sender's own.
    pub(super) fn only(kind: ErrorKind) -> Told {
        Told { kind, about: None }
    }

    /// Of an error that is another's doing than the peer's, who is not named.
    pub(super) fn unnamed(peer: &str, error: &Error) -> Option<Told> {
        let another = error.peer().is_some_and(|culprit| culprit != peer);
        another.then(|| match error.kind() {
            ErrorKind::Terms => Told::only(ErrorKind::Terms),
            _ => Told::only(ErrorKind::Network),
        })
    }

    /// Both in one number, which is not 0.
    pub(super) fn code(self) -> u16 {
        u16::from(self.kind.code()) | self.about.map_or(0, |about| (u16::from(about) + 1) << 8)
    }

    /// What [`Told::code`] made a number.
    pub(super) fn from_code(code: u16) -> Option<Told> {
        let [kind, about] = code.to_le_bytes();
        Some(Told { kind: ErrorKind::from_code(kind)?, about: about.checked_sub(1) })
    }
}

impl Company {
    /// These parties, in the order of the job, of which the one at `me` is this one. A place beyond the 255th is never told.
    pub(super) fn new(parties: &[&str], me: usize) -> Company {
        Company { parties: parties.iter().map(|&name| name.to_owned()).collect(), me }
    }

    /// Whether there is a party at that place.
    pub(super) fn has(&self, place: u8) -> bool {
        usize::from(place) < self.parties.len()
    }

    /// What `peer` is told of an error that is the doing of somebody else than this party: of another party, whom it does not see,
    /// or of this one as a third party says. Nothing of what is the peer's own doing, or this party's by its own word.
    pub(super) fn told(&self, peer: &str, error: &Error) -> Option<Told> {
        let culprit = error.peer()?;
        let (culprit, kind) = match error {
            // Of what only others have seen the peer is to hear, too.
            Error::Reported { kind, .. } => (culprit, *kind),
            _ if culprit == peer => return None,
            // The culprit has found a fault with this party.
            Error::Peer { kind: kind @ (ErrorKind::Protocol | ErrorKind::Authentication), .. } => {
                (self.parties.get(self.me)?.as_str(), *kind)
            }
            Error::Peer { kind, .. } => (culprit, *kind),
            error => (culprit, error.kind()),
        };
        let place = self.parties.iter().position(|name| name == culprit);
        let about = place.and_then(|place| u8::try_from(place).ok()).filter(|place| *place < u8::MAX);
        // A culprit that is no party, as what stands between them, is a lost connection of this one.
        Some(match about {
            Some(about) => Told { kind, about: Some(about) },
            None => Told::only(ErrorKind::Network),
        })
    }

    /// What it means to this party that `peer` has told.
    pub(super) fn understood(&self, peer: &str, told: Told) -> Error {
        let kind = told.kind;
        match told.about.and_then(|place| self.parties.get(usize::from(place))) {
            Some(culprit) => Error::Reported { culprit: culprit.clone(), by: peer.to_owned(), kind },
            // Its terms need not differ from this one's: they may differ from those of a third.
            None if kind == ErrorKind::Terms => Error::Reported { culprit: peer.to_owned(), by: peer.to_owned(), kind },
            None => Error::Peer { peer: peer.to_owned(), kind },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARTIES: [&str; 3] = ["a", "b", "c"];

    #[test]
    fn what_is_told_survives_its_code() {
        for kind in (0..=255).filter_map(ErrorKind::from_code) {
            for about in [None, Some(0), Some(7), Some(254)] {
                let told = Told { kind, about };
                assert_eq!(Told::from_code(told.code()), Some(told));
            }
        }
        assert_eq!(Told::from_code(0), None);
    }

    /// What b tells a about c, and what a says of it.
    #[test]
    fn the_party_to_blame_is_named() {
        let [a, b] = [0, 1].map(|me| Company::new(&PARTIES, me));
        let network = |peer: &str| Error::Network { peer: peer.into(), what: "went away".into() };
        let says = |error: &Error| a.understood("b", b.told("a", error).unwrap()).to_string();
        assert_eq!(says(&network("c")), "c went away, as b says");
        let check = "a check".to_owned();
        assert_eq!(says(&Error::Protocol { peer: "c".into(), check }), "c broke the protocol, as b says");
        // Whom c accuses is b, and b says so.
        let accused = Error::Peer { peer: "c".into(), kind: ErrorKind::Protocol };
        assert_eq!(says(&accused), "b broke the protocol, as it has heard from another party");
        let stopped = Error::Peer { peer: "c".into(), kind: ErrorKind::Input };
        assert!(says(&stopped).starts_with("c stopped: its input"));
        // Terms of b's that differ may differ from c's alone; a tells whoever comes next no more than it knows.
        let terms = a.understood("b", Told::only(ErrorKind::Terms));
        assert_eq!(terms.to_string(), "b stopped: its terms differ from another party's; compare the job files");
        let next = Company::new(&PARTIES, 2).understood("a", a.told("c", &terms).unwrap());
        assert_eq!(next.to_string(), "b stopped: its terms differ from another party's, as a says");
        // What stands between them is no party.
        assert_eq!(says(&network("the relay")), "b stopped: it lost a connection");
        // What is a's own doing is for b to say to a as it is.
        assert_eq!(b.told("a", &network("a")), None);
        assert_eq!(b.told("a", &Error::Interrupted), None);
        // Who is to blame hears that others have seen it.
        let heard = Error::Reported { culprit: "a".into(), by: "c".into(), kind: ErrorKind::Network };
        assert_eq!(says(&heard), "a went away, as b says");
    }
}
