//! Changes of a round's record through the messages of its proxies and its operator: the rules alone, without storage
//! or network. `model/` goes through all that they lead to in a small round.

use std::collections::BTreeMap;

use super::record::Record;
use crate::wire::rounds::{Completion, Rest, RoundState, collector};
use crate::wire::sessions::{Advance, SessionOrder, StateSession, differ};

/// Reason why a round does not accept the data of a proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    /// The round goes on without this proxy.
    GivenUp,
    /// The round is over, or the proxy has said that it has sent all.
    Over,
    /// The proxy's state directory does not hold the last session: it is another one, or a copy.
    Older,
    /// The proxy's state directory holds a later session than the record: the storage has lost its last changes.
    Newer,
}

/// A proxy of which not as many entries are there as it says that it has sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mismatch {
    pub(crate) proxy: usize,
    /// Number of entries that the proxy says it has sent.
    pub(crate) sent: u64,
    /// Number of entries that are present.
    pub(crate) here: u64,
}

impl Record {
    /// Whether anything is taken of a proxy.
    pub(crate) fn takes(&self, place: usize) -> Result<(), Refused> {
        if self.without.contains(&place) {
            return Err(Refused::GivenUp);
        }
        let is_under_way = matches!(self.state, RoundState::Open | RoundState::Closed);
        if is_under_way && !self.complete.contains_key(&place) { Ok(()) } else { Err(Refused::Over) }
    }

    /// Whether a proxy's state directory holds the last session. One of a round that was put back is told to ask for
    /// its session again: whether it goes on with that is seen then.
    pub(crate) fn holds(&self, place: usize, session: StateSession) -> Result<(), Refused> {
        let last = self.sessions.get(&place).copied();
        match differ(last, Some(session)) {
            _ if last == Some(session) => Ok(()),
            SessionOrder::Newer if self.put_back.is_none() => Err(Refused::Newer),
            _ => Err(Refused::Older),
        }
    }

    /// A proxy's state directory goes on to its next session; whether that is new. Of a round that takes nothing more,
    /// it may ask whether it holds the last.
    ///
    /// A round of one proxy that was put back by its operator goes on from a later session. With several, another proxy
    /// may have been granted the claims that are not in the record any more.
    pub(crate) fn advance(&mut self, place: usize, proxies: usize, advance: &Advance) -> Result<bool, Refused> {
        if self.without.contains(&place) {
            return Err(Refused::GivenUp);
        }
        match advance.judge(self.sessions.get(&place).copied()) {
            SessionOrder::Made if self.state == RoundState::Removed => return Err(Refused::Over),
            SessionOrder::Made => return Ok(false),
            SessionOrder::Older => return Err(Refused::Older),
            SessionOrder::Newer if self.put_back.is_none() || proxies > 1 => return Err(Refused::Newer),
            SessionOrder::Newer | SessionOrder::Next => self.takes(place)?,
        }
        self.sessions.insert(place, advance.to);
        Ok(true)
    }

    /// A proxy of several says what it has of a round that has closed; whether that is new. What it has said once
    /// stays.
    pub(crate) fn tell_rest(&mut self, place: usize, session: StateSession, rest: Rest) -> Result<bool, Refused> {
        if self.rests.contains_key(&place) {
            return Ok(false);
        }
        self.holds(place, session)?;
        if self.state != RoundState::Closed {
            return Err(Refused::Over);
        }
        self.rests.insert(place, rest);
        Ok(true)
    }

    /// The proxies whose claims are also those of `owner`, which takes over what they have too little of.
    pub(crate) fn handed_to(&self, owner: usize, proxies: usize) -> Vec<usize> {
        if self.rests.len() < proxies || collector(&self.rests) != Some(owner) {
            return Vec::new();
        }
        let few = self.rests.iter().filter(|(place, rest)| **rest == Rest::TooFew && **place != owner);
        few.map(|(place, _)| *place).collect()
    }

    /// A proxy has sent all that it had, or cannot; whether that is new.
    pub(crate) fn finish(
        &mut self,
        place: usize,
        session: StateSession,
        completion: &Completion,
    ) -> Result<bool, Refused> {
        if self.without.contains(&place) {
            return Err(Refused::GivenUp);
        }
        if self.complete.get(&place) == Some(completion) {
            return Ok(false);
        }
        self.holds(place, session)?;
        if self.state != RoundState::Closed {
            return Err(Refused::Over);
        }
        self.takes(place)?;
        self.complete.insert(place, completion.clone());
        Ok(true)
    }

    /// The operator has a round that has closed go on without what a proxy has not sent; whether that is new.
    pub(crate) fn go_without(&mut self, place: usize) -> Result<bool, Refused> {
        if self.state != RoundState::Closed || self.complete.contains_key(&place) {
            return Err(Refused::Over);
        }
        // Nothing is handed over to it any more.
        self.rests.insert(place, Rest::Nothing);
        Ok(self.without.insert(place))
    }

    /// The proxies that a round that has closed waits for.
    pub(crate) fn missing(&self, proxies: usize) -> Vec<usize> {
        let is_missing = |place: &usize| !self.complete.contains_key(place) && !self.without.contains(place);
        if self.state == RoundState::Closed { (0..proxies).filter(is_missing).collect() } else { Vec::new() }
    }

    /// Whether a round that has closed has all that it waits for: then its rows are counted.
    pub(crate) fn has_all(&self, proxies: usize) -> bool {
        self.state == RoundState::Closed && self.missing(proxies).is_empty()
    }

    /// The proxies of which other entries are in the storage, `sent` by place, than those that they say they have sent.
    pub(crate) fn mismatches(&self, sent: &BTreeMap<u32, u64>) -> Vec<Mismatch> {
        let here = |place: usize| {
            let put_back = self.put_back.as_ref().and_then(|kept| kept.get(&place)).copied().unwrap_or(0);
            let since = u32::try_from(place).ok().and_then(|place| sent.get(&place)).copied().unwrap_or(0);
            put_back.saturating_add(since)
        };
        let told = self.complete.iter().filter(|(place, _)| !self.without.contains(place));
        let both = told.map(|(place, told)| Mismatch { proxy: *place, sent: told.entries, here: here(*place) });
        both.filter(|one| one.sent != one.here).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::signed::Signed;

    fn session(number: u64) -> StateSession {
        StateSession { number, name: [number as u8; 16] }
    }

    /// A round in a state, of whose proxies this is known.
    fn round(state: RoundState, rests: &[Rest], complete: &[(usize, u64)]) -> Record {
        let signed = Signed { public: String::new(), by: String::new(), signature: String::new() };
        let mut record = Record::new(0, signed);
        record.state = state;
        record.rests = (0..).zip(rests.iter().copied()).collect();
        let completion = |entries| Completion { entries, discarded: 0, unshufflable: None };
        record.complete = complete.iter().map(|(place, entries)| (*place, completion(*entries))).collect();
        record
    }

    /// Else others would hand over to one proxy, and then to another.
    #[test]
    fn what_a_proxy_has_is_said_once() {
        let mut record = round(RoundState::Closed, &[], &[]);
        record.sessions.insert(0, session(1));
        assert_eq!(record.tell_rest(0, session(1), Rest::TooFew), Ok(true));
        assert_eq!(record.tell_rest(0, session(1), Rest::Enough), Ok(false));
        assert_eq!(record.rests, [(0, Rest::TooFew)].into());
    }

    #[test]
    fn claims_of_those_with_too_little_are_handed_to_one_proxy_when_all_have_told() {
        use Rest::{Enough, Nothing, TooFew};
        let handed = |rests: &[Rest], proxies| -> Vec<Vec<usize>> {
            (0..proxies).map(|owner| round(RoundState::Closed, rests, &[]).handed_to(owner, proxies)).collect()
        };
        let none = Vec::new;
        assert_eq!(handed(&[TooFew, Enough], 3), [none(), none(), none()]);
        assert_eq!(handed(&[TooFew, Enough, TooFew, Enough], 4), [none(), vec![0, 2], none(), none()]);
        assert_eq!(handed(&[Nothing, TooFew, TooFew], 3), [none(), vec![2], none()]);
    }

    #[test]
    fn a_round_goes_on_without_a_proxy_that_has_not_sent_all_and_hands_nothing_to_it() {
        let mut record = round(RoundState::Closed, &[Rest::TooFew, Rest::Enough], &[(0, 7)]);
        assert_eq!(record.go_without(0), Err(Refused::Over));
        assert_eq!((record.go_without(1), record.go_without(1)), (Ok(true), Ok(false)));
        assert!(record.without == [1].into() && collector(&record.rests) != Some(1));
        assert_eq!(round(RoundState::Open, &[], &[]).go_without(1), Err(Refused::Over));
    }

    #[test]
    fn rows_are_counted_when_all_is_there_and_as_it_was_sent() {
        let mut record = round(RoundState::Closed, &[], &[(0, 7)]);
        assert!(!record.has_all(2));
        record.go_without(1).unwrap();
        assert!(record.has_all(2) && !round(RoundState::Open, &[], &[(0, 7), (1, 1)]).has_all(2));
        for here in [6, 8] {
            assert_eq!(record.mismatches(&[(0, here)].into()), [Mismatch { proxy: 0, sent: 7, here }]);
        }
        // What is there of one that the round goes on without is not compared.
        assert_eq!(record.mismatches(&[(0, 7), (1, 3)].into()), []);
    }

    /// A request that was under way when its round was put back does not end it: its proxy asks for its session again,
    /// and goes on.
    #[test]
    fn a_round_of_one_proxy_that_was_put_back_goes_on_from_a_later_session() {
        let mut record = round(RoundState::Open, &[], &[]);
        record.sessions.insert(0, session(1));
        assert_eq!(record.holds(0, session(3)), Err(Refused::Newer));
        record.put_back = Some(BTreeMap::new());
        assert_eq!(record.holds(0, session(3)), Err(Refused::Older));
        let again = Advance { from: Some(session(2)), to: session(3) };
        assert_eq!(record.clone().advance(0, 2, &again), Err(Refused::Newer));
        assert_eq!(record.advance(0, 1, &again), Ok(true));
        assert_eq!(record.holds(0, session(3)), Ok(()));
    }
}
