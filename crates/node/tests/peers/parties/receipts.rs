//! A run goes on when both have signed that it began, and ends when both have signed that it ended.

use std::net::TcpListener;

use tacita_core::Session;
use tacita_core::channel::labels::handshake::RECEIPT;
use tacita_node::agreement::{Chosen, Protocol, Sizes};
use tacita_node::govern::account::Governance;
use tacita_node::transport::{Options, listen};

use super::*;

/// Act of the peer once both have confirmed the session.
type Act<'a> = &'a (dyn Fn(&JobSpec, &Identity, &Session, Pins, &mut Channel) -> Result<()> + Sync);

type Pins = BTreeMap<String, tacita_node::identity::Fingerprint>;

/// Returns how a party ends against a peer that does everything right up to here.
fn against(act: Act<'_>) -> Result<()> {
    let a = identity("a");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let job = job("job = \"intersect\"\nreveal_to = [\"b\"]\n[key]\ncolumns = [\"name\"]");
    let dials = vec![(peer("a", &a), address)];
    let b = party_run(job.clone(), "b", source(&table(&["x", "y"], &[1, 1])), dials);
    let from = peer("b", &b.identity);
    std::thread::scope(|scope| {
        let running = scope.spawn(move || b.answer().map(drop));
        let options = Options { timeout: BOUND, ..Options::default() };
        let connected = listen(&listener, &from, &a, &options).unwrap();
        let mut channel = connected.channel;
        let greeted = greet(&job, "a", &connected.exporter, &mut channel, &mut fresh_rng().unwrap()).unwrap();
        let own = Sizes { items: 1, ..Sizes::default() };
        let vole = |_: &_| Ok(Chosen::only(Protocol::named("vole")));
        let agreed = settle(greeted, &job, "a", &own, |_, _| Ok(()), vole, &mut channel).unwrap();
        confirm(&agreed.session, &job, "a", &mut channel).unwrap();
        let pins = BTreeMap::from([("b".to_owned(), from.pin)]);
        // The other end may have ended it.
        let _ = act(&job, &a, &agreed.session, pins, &mut channel);
        let ended = running.join().unwrap();
        drop(channel);
        ended
    })
}

/// Gives a receipt for a run with these sizes.
fn give(
    [job, own]: [&JobSpec; 2],
    identity: &Identity,
    session: &Session,
    pins: &Pins,
    items: u64,
    channel: &mut Channel,
) -> Result<()> {
    let sizes = |items| Sizes { items, ..Sizes::default() };
    let both = BTreeMap::from([("a".to_owned(), sizes(items)), ("b".to_owned(), sizes(2))]);
    let account = Arc::new(Governance::default().open(job, "a", identity, &[])?);
    account.agreed(own, session, "vole", &both, pins, std::slice::from_mut(channel))
}

#[test]
fn a_peer_whose_receipt_does_not_hold_is_not_run_with() {
    let refused = |words: &str, act: Act<'_>| {
        let ended = against(act);
        let Err(Error::Protocol { peer, check }) = &ended else { panic!("{words}: {ended:?}") };
        assert!(peer == "a" && check.contains(words), "{check}");
    };
    refused("about another run", &|job, a, session, pins, channel| give([job; 2], a, session, &pins, 7, channel));
    refused("about another run", &|job, a, session, pins, channel| {
        give([job; 2], a, &session.child("another", 0), &pins, 1, channel)
    });
    refused("about another run", &|job, a, session, pins, channel| {
        let mut other = job.clone();
        other.id = "u".into();
        give([job, &other], a, session, &pins, 1, channel)
    });
    refused("about another run", &|job, _, session, pins, channel| {
        // By another key, in the name of this one.
        let stranger = identity("a");
        give([job; 2], &stranger, session, &pins, 1, channel)
    });
    refused("cannot be read", &|_, _, _, _, channel| channel.send(RECEIPT, b"{}".to_vec()));
}

/// A peer that leaves without a word after the beginning is gone; nothing of the party's data was sent before its
/// receipt.
#[test]
fn a_peer_that_gives_no_receipt_gets_no_data() {
    let ended = against(&|_, _, _, _, channel| {
        // The receipt comes, and nothing behind it.
        channel.receive_up_to(RECEIPT, 1 << 16)?;
        channel.set_patience(Duration::from_millis(300));
        let more = channel.receive_up_to(RECEIPT, 0).unwrap_err();
        assert!(more.to_string().contains("sent nothing"), "{more}");
        Err(more)
    });
    assert!(matches!(ended, Err(Error::Network { .. } | Error::Peer { .. })), "{ended:?}");
}
