//! A run begins when both have confirmed that they have one session.

use std::net::TcpListener;

use tacita_node::agreement::{Chosen, Protocol, Sizes};
use tacita_node::transport::{Options, listen};

use super::*;

#[test]
fn a_peer_with_another_session_is_not_run_with() {
    let a = identity("a");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let job = job("job = \"intersect\"\nreveal_to = [\"b\"]\n[key]\ncolumns = [\"name\"]");
    let dials = vec![(peer("a", &a), address)];
    let b = party_run(job.clone(), "b", source(&table(&["x", "y"], &[1, 1])), dials);
    let from = peer("b", &b.identity);
    let ended = std::thread::scope(|scope| {
        let running = scope.spawn(move || b.answer().map(drop));
        let options = Options { timeout: BOUND, ..Options::default() };
        let connected = listen(&listener, &from, &a, &options).unwrap();
        let mut channel = connected.channel;
        let greeted = greet(&job, "a", &connected.exporter, &mut channel, &mut fresh_rng().unwrap()).unwrap();
        let own = Sizes { items: 1, ..Sizes::default() };
        let vole = |_: &_| Ok(Chosen::only(Protocol::named("vole")));
        let agreed = settle(greeted, &job, "a", &own, |_, _| Ok(()), vole, &mut channel).unwrap();
        // All of it is right but this.
        let _ = confirm(&agreed.session.child("another", 0), &job, "a", &mut channel);
        let ended = running.join().unwrap();
        drop(channel);
        ended
    });
    let Err(Error::Protocol { peer, check }) = &ended else { panic!("{ended:?}") };
    assert!(peer == "a" && check.contains("its session differs"), "{check}");
}
