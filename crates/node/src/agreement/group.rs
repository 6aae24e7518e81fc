//! The handshake between all parties: each pair's, bound to one run of all of them. Byte for byte in `docs/wire.md`.
//!
//! A party has one nonce for all its connections. The server, which has heard all, tells every client all of them, and
//! how many rows the clients have together. What it tells is in every connection's session, between clients too, so
//! that no connection of another run, and no client that was told something else, passes for one of this.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use tacita_core::channel::Channel;
use tacita_core::channel::labels::handshake::PARTIES;
use tacita_core::{Error, Result};

use crate::agreement::handshake::{
    ANOTHER_SESSION, CONFIRM_BYTES, Greeted, MAX_MESSAGE_BYTES, check_fresh, confirm, exchange_sizes, has_the_same,
    hello_bytes, json_bytes, message, parse, sizes_bytes,
};
use crate::agreement::{Clients, JobSpec, Sizes, Slices};
use crate::base::hex::hex;
use crate::base::text::count;

/// Message flights: `hello`, `sizes` and `confirm` both ways at once, `parties` before the last.
pub const ROUNDS: u32 = 4;

/// Server to each client.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parties {
    /// The nonces of all parties, in the order of the job file.
    nonces: Vec<String>,
    /// Slices of all clients together.
    rows: u64,
}

/// Sizes, and the session of every connection. `channels` are in the order of the job file, with what came of their
/// `hello`. Returns how many rows there are.
///
/// Errors ([`Error::Terms`]): the slices do not have as many rows together as the server. Else a connection fails, or a
/// peer breaks the protocol.
pub fn agree(
    job: &JobSpec,
    roles: &Clients<'_>,
    me: &str,
    own: Sizes,
    greeted: Vec<Greeted>,
    channels: &mut [Channel],
) -> Result<Slices> {
    match roles.place(me) {
        None => with_clients(job, roles, me, own, greeted, channels),
        Some(place) => with_server(job, roles, me, place, own, greeted, channels),
    }
}

fn with_clients(
    job: &JobSpec,
    roles: &Clients<'_>,
    me: &str,
    own: Sizes,
    greeted: Vec<Greeted>,
    channels: &mut [Channel],
) -> Result<Slices> {
    let own_bytes = message(&own)?;
    let mut slices = vec![None; roles.clients.len()];
    let mut told = Vec::new();
    for channel in channels.iter_mut() {
        let (theirs, bytes) = exchange_sizes(job, own_bytes.clone(), channel)?;
        check_rows_only(&theirs, channel)?;
        if let Some(place) = roles.place(channel.peer()) {
            slices[place] = Some(theirs.items);
        }
        told.push(bytes);
    }
    check_fresh(&greeted, channels)?;
    let mut nonces: Vec<_> = greeted.iter().map(|greeted| greeted.nonces[1].clone()).collect();
    let own_nonce = greeted.first().map_or("", |greeted| &greeted.nonces[0]);
    nonces.insert(job.parties.position(me).unwrap_or_default(), own_nonce.into());
    let rows = Slices { all: own.items, slices };
    let together = rows.slices.iter().flatten().sum();
    let parties = message(&Parties { nonces, rows: together })?;
    channels.iter_mut().try_for_each(|channel| channel.send(PARTIES, parties.clone()))?;
    if together != own.items {
        let each = roles.clients.iter().zip(&rows.slices);
        let each: Vec<_> = each.map(|(name, rows)| format!("{name} {}", count(rows.unwrap_or_default()))).collect();
        return Err(unequal(together, &format!(" ({})", each.join(", ")), roles, own.items));
    }
    for ((channel, greeted), bytes) in channels.iter_mut().zip(greeted).zip(&told) {
        let session = greeted.bound_to(&[("sizes", &own_bytes), ("sizes", bytes), ("parties", &parties)]);
        confirm(&session, job, me, channel)?;
    }
    Ok(rows)
}

fn with_server(
    job: &JobSpec,
    roles: &Clients<'_>,
    me: &str,
    place: usize,
    own: Sizes,
    greeted: Vec<Greeted>,
    channels: &mut [Channel],
) -> Result<Slices> {
    let mut links: Vec<_> = channels.iter_mut().zip(greeted).collect();
    // The server first, then by slice: nobody waits in a circle.
    links.sort_by_key(|(channel, _)| roles.place(channel.peer()));
    let own_bytes = message(&own)?;
    let Some((server, _)) = links.first_mut() else {
        return Err(Error::Internal("no connection to the server".into()));
    };
    let (theirs, server_bytes) = exchange_sizes(job, own_bytes.clone(), server)?;
    check_rows_only(&theirs, server)?;
    let bytes = server.receive_up_to(PARTIES, MAX_MESSAGE_BYTES)?;
    let parties: Parties = parse(server, PARTIES, &bytes)?;
    if parties.nonces.len() != job.parties.names().len()
        || parties.nonces.iter().collect::<BTreeSet<_>>().len() != parties.nonces.len()
    {
        return Err(server.violation("`parties` does not hold one nonce of each party"));
    }
    if parties.rows < own.items {
        return Err(server.violation("`parties` has fewer rows than this client"));
    }
    if parties.rows != theirs.items {
        return Err(unequal(parties.rows, "", roles, theirs.items));
    }
    let told = |name| job.parties.position(name).map(|at| parties.nonces[at].as_str());
    for (channel, greeted) in &links {
        let says = |what: String| format!("`parties` {what}: a connection is of another run");
        if told(me) != Some(&greeted.nonces[0]) {
            return Err(links[0].0.violation(says("has another nonce of this client".into())));
        }
        if told(channel.peer()) != Some(&greeted.nonces[1]) {
            let check = says(format!("has another nonce than {} has said", channel.peer()));
            // A client may have said one to the server, and another one to this client.
            return Err(either(roles, channel, check));
        }
    }
    for (channel, greeted) in links {
        let session = match roles.place(channel.peer()) {
            None => greeted.bound_to(&[("sizes", &server_bytes), ("sizes", &own_bytes), ("parties", &bytes)]),
            Some(_) => greeted.bound_to(&[("parties", &bytes)]),
        };
        // The server may have told two clients different things.
        if !has_the_same(&session, job, me, channel)? {
            return Err(either(roles, channel, ANOTHER_SESSION.into()));
        }
    }
    let mut slices = vec![None; roles.clients.len()];
    slices[place] = Some(own.items);
    Ok(Slices { all: theirs.items, slices })
}

/// A fault that a client sees in another one, or in the server: it is the server's if that is at the other end of
/// `channel`.
fn either(roles: &Clients<'_>, channel: &Channel, check: String) -> Error {
    match roles.place(channel.peer()) {
        None => channel.violation(check),
        Some(_) => Error::Protocol { peer: format!("{}, or {},", channel.peer(), roles.server), check },
    }
}

/// Bytes that `me` sends in the handshake, framing included, over all its connections.
pub fn bytes_sent(job: &JobSpec, roles: &Clients<'_>, me: &str, sizes: &BTreeMap<String, Sizes>) -> u64 {
    let own = sizes_bytes(&Sizes { items: sizes[me].items, ..Sizes::default() });
    let told = match roles.place(me) {
        None => (own + parties_bytes(job, sizes[me].items)) * roles.clients.len() as u64,
        Some(_) => own,
    };
    told + (hello_bytes(job, me) + CONFIRM_BYTES) * job.peers_of(me).len() as u64
}

/// Bytes of the message with which the server tells each client of the others, framing included.
fn parties_bytes(job: &JobSpec, rows: u64) -> u64 {
    json_bytes(&Parties { nonces: vec![hex(&[0; 32]); job.parties.names().len()], rows })
}

fn check_rows_only(theirs: &Sizes, channel: &Channel) -> Result<()> {
    if (Sizes { items: theirs.items, ..Sizes::default() }) == *theirs {
        Ok(())
    } else {
        Err(channel.violation("it announces more than its number of rows"))
    }
}

fn unequal(together: u64, each: &str, roles: &Clients<'_>, all: u64) -> Error {
    Error::Terms(format!(
        "the clients have {} rows together{each}, and {} has {}: check that the slices are those of the server's rows, in the \
         same order",
        count(together),
        roles.server,
        count(all)
    ))
}
