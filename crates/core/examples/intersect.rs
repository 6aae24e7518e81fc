//! Common patients of a hospital and an insurer. Only the hospital learns them.
//!
//! Each is a process of its own: `cargo run --release -p tacita-core --example intersect -- hospital` in one terminal,
//! `-- insurer` in another. Without a name both run at once. The connection stays on this machine: across a network it
//! has to go through TLS, which `tacita-node` has.

use std::io::{Error as IoError, ErrorKind as IoErrorKind};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use tacita_core::Result;
use tacita_core::prelude::*;

const PATIENTS: [&str; 3] = ["ada lovelace|1815-12-10", "emmy noether|1882-03-23", "sofia kovalevskaya|1850-01-15"];
const INSURED: [&str; 3] = ["alan turing|1912-06-23", "ada lovelace|1815-12-10", "emmy noether|1882-03-23"];

/// The keys that both have; none for the sender, which learns nothing.
fn intersect<'a>(role: Role, peer: &str, keys: &[&'a str], socket: TcpStream) -> Result<Vec<&'a str>> {
    let mut channel = Channel::over_socket(peer, socket, Duration::from_secs(2), TcpStream::shutdown);
    let outcome = exchange(role, keys, &mut channel);
    let (common, traffic) = channel.end(outcome)?;
    println!("{} bytes to {peer}, {} back", traffic.sent, traffic.received);
    Ok(common.into_iter().map(|place| keys[place]).collect())
}

/// Everything that travels between the parties, from the first message on.
fn exchange(role: Role, keys: &[&str], channel: &mut Channel) -> Result<Vec<usize>> {
    let mut rng = fresh_rng()?;
    let (session, theirs) = agree(b"patients, vole, the hospital learns", keys.len(), 1_000_000, channel, &mut rng)?;
    let item_key = session.derive("item");
    let items: Vec<Item> = keys.iter().map(|key| Item::new(&item_key, key.as_bytes())).collect();
    let params =
        |receiver, sender| vole::Params::new(tag_exchange::Params::rows(receiver, sender), Security::Malicious);
    match role {
        Role::Receiver => vole::rows::receive(&items, &session, &params(items.len(), theirs)?, channel, &mut rng),
        Role::Sender => {
            vole::rows::send(&items, &session, &params(theirs, items.len())?, channel, &mut rng)?;
            Ok(Vec::new())
        }
    }
}

fn listen(listener: &TcpListener) -> std::io::Result<TcpStream> {
    ready(listener.accept()?.0)
}

fn dial(address: &str) -> std::io::Result<TcpStream> {
    ready(TcpStream::connect(address)?)
}

/// A socket on which a peer that falls silent is noticed.
fn ready(socket: TcpStream) -> std::io::Result<TcpStream> {
    socket.set_read_timeout(Some(Duration::from_secs(10)))?;
    socket.set_nodelay(true)?;
    Ok(socket)
}

fn hospital(socket: TcpStream) -> std::io::Result<Vec<&'static str>> {
    intersect(Role::Receiver, "insurer", &PATIENTS, socket).map_err(IoError::other)
}

fn insurer(socket: TcpStream) -> std::io::Result<Vec<&'static str>> {
    intersect(Role::Sender, "hospital", &INSURED, socket).map_err(IoError::other)
}

/// Runs both parties on this machine, and returns what the hospital learns.
pub fn on_this_machine() -> std::io::Result<Vec<&'static str>> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?.to_string();
    std::thread::scope(|scope| {
        let other = scope.spawn(move || insurer(dial(&address)?));
        let common = hospital(listen(&listener)?)?;
        other.join().expect("a thread that does not panic")?;
        Ok(common)
    })
}

/// Runs the party that is named, or both.
#[allow(dead_code, reason = "a test runs both")]
fn main() -> std::io::Result<()> {
    const ADDRESS: &str = "127.0.0.1:7480";
    let common = match std::env::args().nth(1).as_deref() {
        Some("hospital") => hospital(listen(&TcpListener::bind(ADDRESS)?)?)?,
        Some("insurer") => insurer(dial(ADDRESS)?)?,
        Some(other) => return Err(IoError::new(IoErrorKind::InvalidInput, format!("{other}: hospital or insurer"))),
        None => on_this_machine()?,
    };
    println!("common, as far as this party learns: {common:?}");
    Ok(())
}
