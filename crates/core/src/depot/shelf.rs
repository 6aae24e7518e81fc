//! A depot in memory, for parties that are threads of one process.

use std::collections::HashMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::{Depot, DepotParty, Parcel};
use crate::error::{Error, ErrorKind, Result};

/// A depot in memory.
pub struct Shelf {
    parties: Vec<String>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    told: HashMap<usize, Vec<u8>>,
    parts: HashMap<(Parcel, u32), Vec<u8>>,
    /// Bytes that each has left and collected.
    moved: HashMap<DepotParty, [u64; 2]>,
    /// Party, or helper, that has ended the job, and its error.
    ended: Option<(DepotParty, Error)>,
}

/// A shelf as somebody uses it.
pub struct User<'a> {
    shelf: &'a Shelf,
    me: DepotParty,
}

impl Shelf {
    /// A depot for these parties.
    pub fn new(parties: &[&str]) -> Shelf {
        let parties = parties.iter().map(|&name| name.to_owned()).collect();
        Shelf { parties, state: Mutex::default(), changed: Condvar::new() }
    }

    /// The shelf as whoever is at this place uses it.
    pub fn user(&self, me: DepotParty) -> User<'_> {
        User { shelf: self, me }
    }

    /// Bytes that whoever is at this place has left, and collected.
    pub fn moved(&self, place: DepotParty) -> [u64; 2] {
        self.lock().moved.get(&place).copied().unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_for<T>(&self, me: DepotParty, mut found: impl FnMut(&mut State) -> Option<T>) -> Result<T> {
        let mut state = self.lock();
        loop {
            if let Some((by, error)) = state.ended.as_ref().filter(|(by, _)| *by != me) {
                return Err(reported(self.name(*by), error));
            }
            if let Some(found) = found(&mut state) {
                return Ok(found);
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn name(&self, place: DepotParty) -> String {
        match place {
            DepotParty::Helper => "the helper".into(),
            DepotParty::Party(place) => self.parties.get(usize::from(place)).cloned().unwrap_or_default(),
        }
    }
}

impl User<'_> {
    /// Ends the job for all others because of an error of this one. The first one counts.
    pub fn end(&self, error: &Error) {
        self.shelf.lock().ended.get_or_insert_with(|| (self.me, error.clone()));
        self.shelf.changed.notify_all();
    }
}

impl Depot for User<'_> {
    fn announce(&self, own: Vec<u8>) -> Result<Vec<Vec<u8>>> {
        let DepotParty::Party(me) = self.me else { return Err(Error::Internal("a helper has nothing to tell".into())) };
        self.shelf.lock().told.insert(usize::from(me), own);
        self.shelf.changed.notify_all();
        let parties = self.shelf.parties.len();
        self.shelf.wait_for(self.me, |state| {
            (0..parties).map(|place| state.told.get(&place).cloned()).collect::<Option<Vec<_>>>()
        })
    }

    fn leave(&self, parcel: Parcel, part: u32, bytes: Vec<u8>) -> Result<()> {
        let mut state = self.shelf.lock();
        state.moved.entry(self.me).or_default()[0] += bytes.len() as u64;
        if parcel.from != self.me || state.parts.insert((parcel, part), bytes).is_some() {
            return Err(Error::Internal(format!("part {part} of `{}` is left twice", parcel.step.name)));
        }
        self.shelf.changed.notify_all();
        Ok(())
    }

    fn collect(&self, parcel: Parcel, part: u32, length: usize) -> Result<Vec<u8>> {
        let bytes = self.shelf.wait_for(self.me, |state| state.parts.remove(&(parcel, part)))?;
        self.shelf.lock().moved.entry(self.me).or_default()[1] += bytes.len() as u64;
        if bytes.len() == length && parcel.to == self.me {
            Ok(bytes)
        } else {
            Err(Error::Protocol {
                peer: self.name(parcel.from),
                check: format!("`{}` has {} bytes instead of {length}", parcel.step.name, bytes.len()),
            })
        }
    }

    fn name(&self, place: DepotParty) -> String {
        self.shelf.name(place)
    }
}

/// Error that the others get if `by` has ended with `error`.
fn reported(by: String, error: &Error) -> Error {
    match error.peer() {
        Some(culprit) => Error::Reported { culprit: culprit.to_owned(), by, through: None, kind: error.kind() },
        None => Error::Peer { peer: by, kind: ErrorKind::Network },
    }
}
