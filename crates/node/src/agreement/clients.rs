//! `dot` jobs in which several parties, the *clients*, have one side's rows together: who is what, and who talks to whom.

use std::str::FromStr;

use tacita_core::{Error, Result};

use super::check::bad;
use super::{JobSpec, Party, Protocol, Reveal};

/// The most clients: the server works for all of them at once.
const MAX_CLIENTS: usize = 32;

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

    /// The parties to which `party` has connections, in the order of the file: the other one of two; of clients, the server
    /// and those who have the slices before and after.
    pub fn peers_of(&self, party: &str) -> Vec<&str> {
        let others = self.parties.names().into_iter().filter(|name| *name != party);
        let Some(clients) = self.clients() else { return others.collect() };
        let linked = |other: &str| match (clients.place(party), clients.place(other)) {
            (Some(one), Some(other)) => one.abs_diff(other) == 1,
            _ => true,
        };
        others.filter(|other| linked(other)).collect()
    }

    /// Whether some party has a key that only jobs with clients have.
    pub(super) fn has_roles(&self) -> bool {
        self.parties.0.iter().any(|(_, party)| party.role.is_some() || party.slice.is_some())
    }

    /// Roles and slices, and what else such a job cannot have.
    pub(super) fn check_clients(&self) -> Result<()> {
        let of = |role| {
            let parties = self.parties.0.iter().filter(move |(_, party)| party.role == Some(role));
            parties.collect::<Vec<&(String, Party)>>()
        };
        if let Some((name, _)) = self.parties.0.iter().find(|(_, party)| party.role.is_none()) {
            return bad(format!(
                "parties.{name}.role is missing: where one party has a role, all have: use \"client\" or \"server\""
            ));
        }
        let (servers, clients) = (of(Role::Server), of(Role::Client));
        let [(server, its)] = servers[..] else {
            return bad(format!("parties: {} have role = \"server\", and the job needs exactly one", servers.len()));
        };
        if its.slice.is_some() {
            return bad(format!("parties.{server}.slice: the server has all rows; slices are the clients'"));
        }
        if !(2..=MAX_CLIENTS).contains(&clients.len()) {
            return bad(format!(
                "parties: {} have role = \"client\": 2 to {MAX_CLIENTS} are possible; for one, leave out roles and slices",
                clients.len()
            ));
        }
        for slice in 1..=clients.len() as u64 {
            let owners: Vec<_> = clients.iter().filter(|(_, client)| client.slice == Some(slice)).collect();
            if owners.len() != 1 {
                return bad(format!(
                    "parties: {} have slice = {slice}: number the slices of the {} clients from 1 on, each once, in the order \
                     of the server's rows",
                    owners.len(),
                    clients.len()
                ));
            }
        }
        if let Some((name, _)) = clients.iter().find(|(name, _)| !self.learns(name)) {
            return bad(format!("reveal_to: all clients learn the sum, because each adds to it; name {name} too"));
        }
        if self.learns(server) {
            return bad(format!("reveal_to: {server} is the server, which learns nothing: name the clients alone"));
        }
        if server == "clients" {
            return bad("parties: \"clients\" is a column of the result: give the server another name");
        }
        self.check_client_choices(&clients)
    }

    fn check_client_choices(&self, clients: &[&(String, Party)]) -> Result<()> {
        if self.reveal != Reveal::Value {
            return bad(format!("reveal = \"{}\" is not there with clients: use \"value\"", self.reveal));
        }
        if !matches!(self.protocol, Protocol::Auto | Protocol::Paillier) {
            return bad(format!(
                "protocol = \"{}\" is not there with clients: use \"paillier\" or \"auto\"",
                self.protocol.name()
            ));
        }
        if self.extension.is_some() {
            return bad("extension: clients make no oblivious transfers; leave it out");
        }
        if self.row_id.is_some() {
            return bad("row_id: the clients' slices are aligned with the server's rows by position; leave it out");
        }
        let columns = |name: &str| self.columns_of(name).len();
        let (first, _) = clients[0];
        match clients.iter().find(|(name, _)| columns(name) != columns(first)) {
            Some((other, _)) => bad(format!(
                "column: {first} has {} and {other} {}: slices of the same columns are equally many",
                columns(first),
                columns(other)
            )),
            None => Ok(()),
        }
    }
}
