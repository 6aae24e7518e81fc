//! Topology of a job, and the parties that a party has connections to.

use std::collections::BTreeMap;
use std::str::FromStr;

use tacita_core::{Error, Result};

use super::{JobSpec, Sizes, Slices};

/// The most parties of a job in which all are connected to each other.
pub const MAX_PARTIES: usize = 64;

/// Topology of a job: the parties that talk to each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Topology<'a> {
    /// Two parties, over one connection.
    Pair,
    /// Any number of parties, each connected to every other.
    Mesh,
    /// One side's rows are in slices at several parties, each connected to the server and to its neighbours.
    Clients(Clients<'a>),
    /// Any number of parties, each connected to a helper alone, or to the party in its place.
    Helper,
    /// No run between the parties: some of them serve whoever comes.
    Served,
}

/// The role of a party where one side's rows are in slices at several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SliceRole {
    /// Has some of one side's rows.
    Client,
    /// Has all rows of the other side.
    Server,
}

/// The parties of a job in which one side's rows are in slices at several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clients<'a> {
    /// Name of the server.
    pub server: &'a str,
    /// The clients, in the order of their slices.
    pub clients: Vec<&'a str>,
}

impl SliceRole {
    /// The word for it in job files.
    pub fn name(self) -> &'static str {
        match self {
            SliceRole::Client => "client",
            SliceRole::Server => "server",
        }
    }
}

impl FromStr for SliceRole {
    type Err = Error;

    fn from_str(word: &str) -> Result<SliceRole> {
        let found = [SliceRole::Client, SliceRole::Server].into_iter().find(|role| role.name() == word);
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

    /// Returns the row counts of all parties, as far as these sizes tell.
    pub fn slices(&self, sizes: &BTreeMap<String, Sizes>) -> Slices {
        let items = |name: &str| sizes.get(name).map(|sizes| sizes.items);
        let slices = self.clients.iter().map(|client| items(client)).collect();
        Slices { all: items(self.server).unwrap_or_default(), slices }
    }

    /// Returns the index of this party's slice, counted from 0; `None` for the server.
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
        let server = of(SliceRole::Server).next()?;
        let mut clients: Vec<_> = of(SliceRole::Client).map(|(name, party)| (party.slice, name.as_str())).collect();
        clients.sort();
        Some(Clients { server: &server.0, clients: clients.into_iter().map(|(_, name)| name).collect() })
    }

    /// Returns the topology of the job: the parties that talk to each other.
    pub fn topology(&self) -> Topology<'_> {
        self.job.topology(self)
    }

    /// Returns all parties but this one, in the order of the file.
    pub fn others<'a>(&'a self, party: &str) -> Vec<&'a str> {
        self.parties.names().into_iter().filter(|name| *name != party).collect()
    }

    /// The parties to which `party` has connections, in the order of the file. Through a helper, none.
    pub fn peers_of(&self, party: &str) -> Vec<&str> {
        match self.topology() {
            Topology::Helper => Vec::new(),
            _ => self.partners_of(party),
        }
    }

    /// The parties with which `party` runs the job, in the order of the file: of clients, the server and those who have
    /// the slices before and after; else all others.
    pub fn partners_of(&self, party: &str) -> Vec<&str> {
        let others = self.others(party);
        let Some(clients) = self.clients() else { return others };
        let linked = |other: &&str| match (clients.place(party), clients.place(other)) {
            (Some(one), Some(other)) => one.abs_diff(other) == 1,
            _ => true,
        };
        others.into_iter().filter(linked).collect()
    }

    /// Whether some party has a key that only jobs with clients have.
    pub(crate) fn has_roles(&self) -> bool {
        self.parties.0.iter().any(|(_, party)| party.role.is_some() || party.slice.is_some())
    }
}
