//! Checks of a job file's clients: roles and slices, and settings that such a job cannot have.

use tacita_core::Result;

use super::{MAX_CLIENTS, PROTOCOL};
use crate::agreement::words::bad;
use crate::agreement::{JobWith, Party, Reveal, SliceRole};
use crate::jobs::dot::Dot;

impl JobWith<'_, Dot> {
    /// Roles and slices, and what else such a job cannot have.
    pub(crate) fn check_clients(&self) -> Result<()> {
        let of = |role| {
            let parties = self.parties.0.iter().filter(move |(_, party)| party.role == Some(role));
            parties.collect::<Vec<&(String, Party)>>()
        };
        if let Some((name, _)) = self.parties.0.iter().find(|(_, party)| party.role.is_none()) {
            return bad(format!(
                "parties.{name}.role is missing: where one party has a role, all have: use \"client\" or \"server\""
            ));
        }
        let (servers, clients) = (of(SliceRole::Server), of(SliceRole::Client));
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
            return bad(format!("reveal = \"{}\" is not available with clients: use \"value\"", self.reveal));
        }
        if !self.protocol.is_auto() && self.protocol != PROTOCOL {
            return bad(format!(
                "protocol = \"{}\" is not available with clients: use \"paillier\" or \"auto\"",
                self.protocol.name()
            ));
        }
        if self.own.extension.is_some() {
            return bad("extension: clients make no oblivious transfers; leave it out");
        }
        if self.own.row_id.is_some() {
            return bad("row_id: the clients' slices are aligned with the server's rows by position; leave it out");
        }
        let columns = |name: &str| self.columns_of(name).len();
        let (first, _) = clients[0];
        match clients.iter().find(|(name, _)| columns(name) != columns(first)) {
            Some((other, _)) => bad(format!(
                "column: {first} has {} and {other} {}: give all clients' slices the same number of columns",
                columns(first),
                columns(other)
            )),
            None => Ok(()),
        }
    }
}
