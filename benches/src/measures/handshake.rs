//! Handshakes of two parties' TLS, each end with the other's fingerprint, with the post-quantum key exchange and
//! without: CPU time of one handshake of both ends together, and the bytes that each sends. Ends are in this process,
//! and nothing is between them.

use std::process::ExitCode;
use std::time::SystemTime;

use clap::Parser;
use rustls::{ClientConnection, Connection, ServerConnection};
use tacita_bench::{Repeat, about, measure, median};
use tacita_node::identity::{Identity, VALIDITY};
use tacita_node::transport::Peer;
use tacita_node::transport::http::{Dialer, HttpAcceptor};
use tacita_node::transport::key_exchange::{NegotiatedGroup, OfferedGroups};

/// Name of an end, and the groups that it offers.
type Offer = (&'static str, OfferedGroups);

#[derive(Parser)]
#[command(about = about(include_str!("handshake.rs")))]
struct Arguments {
    /// Handshakes of each run
    #[arg(default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    handshakes: u32,
    #[command(flatten)]
    repeat: Repeat<5>,
}

pub fn main() -> ExitCode {
    let Arguments { handshakes, repeat: Repeat { runs } } = Arguments::parse_from(tacita_bench::arguments());
    let now = SystemTime::now();
    let [dialer, listener] =
        ["dialer", "listener"].map(|name| Identity::generate(name, now, now + VALIDITY).expect("an identity"));
    println!("{:<22} {:<22} {:<16} {:>8} {:>12} {:>12}", "dialer", "listener", "keys by", "CPU us", "dialer's", "listener's");
    let [hybrid, classical] = [("X25519MLKEM768, X25519", OfferedGroups::Hybrid), ("X25519", OfferedGroups::Classical)];
    for (client, server) in [(hybrid, hybrid), (hybrid, classical), (classical, hybrid), (classical, classical)] {
        let ends = || pair((&dialer, client), (&listener, server));
        let times: Vec<f64> = (0..runs).map(|_| microseconds(handshakes, ends)).collect();
        let mut ends = ends();
        let bytes = shake_hands(&mut ends);
        let group = NegotiatedGroup::of(&ends[0]).expect("keys");
        let names = format!("{:<22} {:<22} {:<16}", client.0, server.0, group.to_string());
        println!("{names} {:>8.0} {:>10} B {:>10} B", median(&times), bytes[0], bytes[1]);
    }
    ExitCode::SUCCESS
}

/// CPU time of one handshake, with what each end prepares for it.
fn microseconds(handshakes: u32, ends: impl Fn() -> [Connection; 2]) -> f64 {
    let (_, sample) = measure(|| (0..handshakes).map(|_| shake_hands(&mut ends())[0]).sum::<usize>());
    sample.cpu.as_secs_f64() * 1e6 / f64::from(handshakes)
}

/// The two ends of a connection on which nothing was said.
fn pair((dialer, (_, client)): (&Identity, Offer), (listener, (_, server)): (&Identity, Offer)) -> [Connection; 2] {
    let peer = Peer { name: "listener".into(), pin: listener.fingerprint() };
    let dialing = Dialer::offering(client, dialer, &peer).expect("a dialer");
    let listening = HttpAcceptor::offering(server, listener, vec![dialer.fingerprint()]).expect("a listener");
    [
        ClientConnection::new(dialing.config.clone(), dialing.name()).expect("a client").into(),
        ServerConnection::new(listening.config).expect("a server").into(),
    ]
}

/// Runs a handshake, and returns the bytes that each end has sent.
fn shake_hands(ends: &mut [Connection; 2]) -> [usize; 2] {
    let mut sent = [0; 2];
    while ends.iter().any(|end| end.wants_write()) {
        for (from, to) in [(0, 1), (1, 0)] {
            let mut bytes = Vec::new();
            while ends[from].wants_write() {
                sent[from] += ends[from].write_tls(&mut bytes).expect("memory takes all");
            }
            let mut rest = &bytes[..];
            while !rest.is_empty() {
                ends[to].read_tls(&mut rest).expect("memory gives all");
                ends[to].process_new_packets().expect("a good message");
            }
        }
    }
    assert!(ends.iter().all(|end| !end.is_handshaking()), "the handshake is over");
    sent
}
