//! Attribution of blame for the end of a job of more than two parties, as one party tells it to another.

use crate::error::{Error, ErrorKind};

/// An end of the job, as it travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Told {
    /// The kind of reason.
    pub(super) kind: ErrorKind,
    /// The place of the party whose doing it is, where that is not simply the sender's.
    pub(super) about: Option<u8>,
    /// The place of the party that has said so first, where the sender has heard it.
    pub(super) by: Option<u8>,
}

/// Bytes of the places of an end, at most.
pub(super) const MAX_PLACES: usize = 2;

/// The parties of a job of more than two, by which aborts name whoever is to blame.
#[derive(Debug)]
pub(super) struct Roster {
    parties: Vec<String>,
    me: usize,
}

impl Told {
    /// A reason of the sender's own.
    pub(super) fn only(kind: ErrorKind) -> Told {
        Told { kind, about: None, by: None }
    }

    /// A reason with the places that travel with it.
    pub(super) fn new(kind: ErrorKind, places: &[u8]) -> Told {
        Told { kind, about: places.first().copied(), by: places.get(1).copied() }
    }

    /// The places that travel with it: none, that of the party to blame, or also that of the one that has said so
    /// first.
    pub(super) fn places(&self) -> Vec<u8> {
        self.about.into_iter().chain(self.about.and(self.by)).collect()
    }

    /// Reason to send for an error that is the doing of another party than the peer, without naming that party.
    pub(super) fn unnamed(peer: &str, error: &Error) -> Option<Told> {
        let another = error.peer().is_some_and(|culprit| culprit != peer);
        another.then(|| match error.kind() {
            ErrorKind::Terms => Told::only(ErrorKind::Terms),
            _ => Told::only(ErrorKind::Network),
        })
    }

    /// Encodes kind and places in one number, which is not 0.
    pub(super) fn code(self) -> u32 {
        let [about, by] = [self.about, self.by].map(|place| place.map_or(0, |place| place.saturating_add(1)));
        u32::from_le_bytes([self.kind.code(), about, by, 0])
    }

    /// Decodes a number made by [`Told::code`].
    pub(super) fn from_code(code: u32) -> Option<Told> {
        let [kind, about, by, _] = code.to_le_bytes();
        Some(Told { kind: ErrorKind::from_code(kind)?, about: about.checked_sub(1), by: by.checked_sub(1) })
    }
}

impl Roster {
    /// Creates the list of these parties, in the order of the job. This party is at index `me`. A place beyond the
    /// 255th is never told.
    pub(super) fn new(parties: &[&str], me: usize) -> Roster {
        Roster { parties: parties.iter().map(|&name| name.to_owned()).collect(), me }
    }

    /// Whether there are parties at these places.
    pub(super) fn has(&self, places: &[u8]) -> bool {
        places.iter().all(|place| usize::from(*place) < self.parties.len())
    }

    /// The place of a party, if it is one that is told.
    fn place(&self, name: &str) -> Option<u8> {
        let place = self.parties.iter().position(|party| party == name)?;
        u8::try_from(place).ok().filter(|place| *place < u8::MAX)
    }

    /// Reason to tell `peer` for an error that is not this party's own doing. That is the doing of another party, whom
    /// the peer does not see, or of this party as a third one says. Returns `None` for the peer's own doing, and for
    /// this party's by its own word.
    pub(super) fn told(&self, peer: &str, error: &Error) -> Option<Told> {
        let culprit = error.peer()?;
        let (culprit, kind, by) = match error {
            // Of what only others have seen the peer is to hear, too; and who has.
            Error::Reported { kind, by, .. } => (culprit, *kind, Some(by.as_str()).filter(|by| *by != culprit)),
            _ if culprit == peer => return None,
            // The culprit has found a fault with this party, which passes that on.
            Error::Peer { kind: kind @ (ErrorKind::Protocol | ErrorKind::Authentication), .. } => {
                (self.parties.get(self.me)?.as_str(), *kind, Some(culprit))
            }
            Error::Peer { kind, .. } => (culprit, *kind, None),
            error => (culprit, error.kind(), None),
        };
        // A culprit that is no party, as what stands between them, is a lost connection of this one.
        Some(match self.place(culprit) {
            Some(about) => Told { kind, about: Some(about), by: by.and_then(|by| self.place(by)) },
            None => Told::only(ErrorKind::Network),
        })
    }

    /// Translates a reason told by `peer` into this party's error.
    pub(super) fn understood(&self, peer: &str, told: Told) -> Error {
        let kind = told.kind;
        let name = |place: Option<u8>| place.and_then(|place| self.parties.get(usize::from(place))).cloned();
        match (name(told.about), name(told.by)) {
            (Some(culprit), Some(by)) if by != peer => {
                Error::Reported { culprit, by, through: Some(peer.to_owned()), kind }
            }
            (Some(culprit), _) => Error::Reported { culprit, by: peer.to_owned(), through: None, kind },
            // Its terms need not differ from this one's: they may differ from those of a third.
            (None, _) if kind == ErrorKind::Terms => {
                Error::Reported { culprit: peer.to_owned(), by: peer.to_owned(), through: None, kind }
            }
            (None, _) => Error::Peer { peer: peer.to_owned(), kind },
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
                for by in [None, Some(0), Some(254)].into_iter().filter(|by| by.is_none() || about.is_some()) {
                    let told = Told { kind, about, by };
                    assert_eq!(Told::from_code(told.code()), Some(told));
                    assert_eq!(Told::new(kind, &told.places()), told);
                }
            }
        }
        assert_eq!(Told::from_code(0), None);
    }

    /// Checks what b tells a about c, and the text that a makes of it.
    #[test]
    fn the_party_to_blame_is_named() {
        let [a, b] = [0, 1].map(|me| Roster::new(&PARTIES, me));
        let network = |peer: &str| Error::Network { peer: peer.into(), what: "went away".into() };
        let says = |error: &Error| a.understood("b", b.told("a", error).unwrap()).to_string();
        assert_eq!(says(&network("c")), "c cannot be reached any more, as b says");
        let check = "a check".to_owned();
        assert_eq!(says(&Error::Protocol { peer: "c".into(), check }), "c broke the protocol, as b says");
        // Whom c accuses is b, and b says so.
        let accused = Error::Peer { peer: "c".into(), kind: ErrorKind::Protocol };
        assert_eq!(says(&accused), "b broke the protocol, as it has heard from c");
        let stopped = Error::Peer { peer: "c".into(), kind: ErrorKind::Input };
        assert!(says(&stopped).starts_with("c stopped: its input"));
        // Terms of b's that differ may differ from c's alone; a tells whoever comes next no more than it knows.
        let terms = a.understood("b", Told::only(ErrorKind::Terms));
        assert_eq!(terms.to_string(), "b stopped: its terms differ from another party's; compare the job files");
        let next = Roster::new(&PARTIES, 2).understood("a", a.told("c", &terms).unwrap());
        assert_eq!(next.to_string(), "b stopped: its terms differ from another party's, as a says");
        // What stands between them is no party.
        assert_eq!(says(&network("the relay")), "b stopped: it lost a connection");
        // What is a's own doing is for b to say to a as it is.
        assert_eq!(b.told("a", &network("a")), None);
        assert_eq!(b.told("a", &Error::Interrupted), None);
        // Who is to blame hears that others have seen it.
        let heard = Error::Reported { culprit: "a".into(), by: "c".into(), through: None, kind: ErrorKind::Network };
        assert_eq!(says(&heard), "a cannot be reached any more, as b says in the name of c");
    }

    /// Whoever has said it first is named at the end of any number of others, each of which names the one that it has
    /// it from.
    #[test]
    fn hearsay_keeps_its_first_speaker() {
        let parties = ["a", "b", "c", "d", "e"];
        let end = |me: usize| Roster::new(&parties, me);
        // b lies about c to a, which tells d, which tells e.
        let lie = Error::Protocol { peer: "c".into(), check: "none".into() };
        let at_a = end(0).understood("b", end(1).told("a", &lie).unwrap());
        let at_d = end(3).understood("a", end(0).told("d", &at_a).unwrap());
        let at_e = end(4).understood("d", end(3).told("e", &at_d).unwrap());
        assert_eq!(at_a.to_string(), "c broke the protocol, as b says");
        assert_eq!(at_d.to_string(), "c broke the protocol, as a says in the name of b");
        assert_eq!(at_e.to_string(), "c broke the protocol, as d says in the name of b");
        // c itself hears it from a, and tells d no other thing.
        let at_c = end(2).understood("a", end(0).told("c", &at_a).unwrap());
        let next = end(3).understood("c", end(2).told("d", &at_c).unwrap());
        assert_eq!(next.to_string(), "c broke the protocol, as it has heard from b");
        // What c says of its own end is its own word, whoever passes it on.
        let stopped = Error::Peer { peer: "c".into(), kind: ErrorKind::Interrupted };
        let next = end(3).understood("a", end(0).told("d", &stopped).unwrap());
        assert_eq!(next.to_string(), "c was interrupted by its user, as a says");
    }
}
