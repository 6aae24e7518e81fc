//! Who talks to whom: two parties, several that all talk to each other, or several, the *clients*, who have one side's rows
//! together.

use std::collections::BTreeMap;
use std::str::FromStr;

use tacita_core::{Error, Result};

use super::{JobSpec, Protocol, Sizes, Slices};

/// The word for the protocol by which several parties intersect their sets, also where they are two.
pub const STAR: Protocol = Protocol::named("star");

/// The word for the protocol by which several parties intersect their sets through a helper.
pub const OUTSOURCED: Protocol = Protocol::named("outsourced");

/// The word for the same as it was published, which is for comparisons.
pub const OUTSOURCED_BLOOM: Protocol = Protocol::named("outsourced-bloom");

/// The most parties of a job in which all are connected to each other.
pub const MOST_PARTIES: usize = 64;

/// What a party is in such a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Has some of one side's rows.
    Client,
    /// Has all rows of the other side.
    Server,
}

/// The parties of such a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clients<'a> {
    /// The server.
    pub server: &'a str,
    /// The clients, in the order of their slices.
    pub clients: Vec<&'a str>,
}

impl Role {
    /// The word for it in job files.
    pub fn name(self) -> &'static str {
        match self {
            Role::Client => "client",
            Role::Server => "server",
        }
    }
}

impl FromStr for Role {
    type Err = Error;

    fn from_str(word: &str) -> Result<Role> {
        let found = [Role::Client, Role::Server].into_iter().find(|role| role.name() == word);
        found.ok_or_else(|| Error::Input(format!("role = \"{}\": use \"client\" or \"server\"", word.escape_debug())))
    }
}

impl<'a> Clients<'a> {
    /// The sizes of all whose rows are known.
    pub fn sizes(&self, rows: &Slices) -> BTreeMap<String, Sizes> {
        let clients = self.clients.iter().zip(&rows.slices).filter_map(|(client, slice)| Some((*client, (*slice)?)));
        let all = clients.chain([(self.server, rows.all)]);
        all.map(|(name, items)| (name.to_owned(), Sizes { items, ..Sizes::default() })).collect()
    }

    /// How many rows all have, as far as these sizes tell.
    pub fn slices(&self, sizes: &BTreeMap<String, Sizes>) -> Slices {
        let items = |name: &str| sizes.get(name).map(|sizes| sizes.items);
        let slices = self.clients.iter().map(|client| items(client)).collect();
        Slices { all: items(self.server).unwrap_or_default(), slices }
    }

    /// Which slice is this party's, from 0 on; `None` for the server.
    pub fn place(&self, party: &str) -> Option<usize> {
        self.clients.iter().position(|client| *client == party)
    }

    /// The client before this one and the one after it.
    pub fn neighbours(&self, place: usize) -> [Option<&'a str>; 2] {
        [place.checked_sub(1), place.checked_add(1)].map(|at| at.and_then(|at| self.clients.get(at)).copied())
    }
}

impl JobSpec {
    /// Server and clients, if the job has such.
    pub fn clients(&self) -> Option<Clients<'_>> {
        let of = |role| self.parties.0.iter().filter(move |(_, party)| party.role == Some(role));
        let server = of(Role::Server).next()?;
        let mut clients: Vec<_> = of(Role::Client).map(|(name, party)| (party.slice, name.as_str())).collect();
        clients.sort();
        Some(Clients { server: &server.0, clients: clients.into_iter().map(|(_, name)| name).collect() })
    }

    /// Whether every party has a connection to every other, in a run of all of them.
    pub fn is_mesh(&self) -> bool {
        self.clients().is_none() && !self.is_outsourced() && (self.parties.0.len() > 2 || self.protocol == STAR)
    }

    /// Whether the parties have no connections to each other, but to a helper alone, or to the party in its place.
    pub fn is_outsourced(&self) -> bool {
        [OUTSOURCED, OUTSOURCED_BLOOM].contains(&self.protocol) || (self.protocol.is_auto() && self.helper.is_some())
    }

    /// All parties but this one, in the order of the file.
    pub fn others<'a>(&'a self, party: &str) -> Vec<&'a str> {
        self.parties.names().into_iter().filter(|name| *name != party).collect()
    }

    /// The parties to which `party` has connections, in the order of the file: the other one of two; of clients, the server
    /// and those who have the slices before and after. Through a helper, none.
    pub fn peers_of(&self, party: &str) -> Vec<&str> {
        if self.is_outsourced() {
            return Vec::new();
        }
        let others = self.parties.names().into_iter().filter(|name| *name != party);
        let Some(clients) = self.clients() else { return others.collect() };
        let linked = |other: &str| match (clients.place(party), clients.place(other)) {
            (Some(one), Some(other)) => one.abs_diff(other) == 1,
            _ => true,
        };
        others.filter(|other| linked(other)).collect()
    }

    /// Whether some party has a key that only jobs with clients have.
    pub(crate) fn has_roles(&self) -> bool {
        self.parties.0.iter().any(|(_, party)| party.role.is_some() || party.slice.is_some())
    }
}
