//! The handshake of a server and two clients: all three arrive at one run or at none, whatever the server tells whom,
//! and whichever connection is of another run.

use serde_json::{Value, json};
use tacita_core::channel::{Channel, Label};
use tacita_core::{Error, ErrorKind, Result};
use tacita_node::agreement::handshake::{self, Greeted};
use tacita_node::agreement::{Chosen, DiskRun, JobSpec, Sizes, Slices, group};
use tacita_node::jobs::dot::clients::PROTOCOL;
use tacita_node::transport::links::Links;

const PARTIES: Label = Label::new(0xf4, "parties");
const NAMES: [&str; 3] = ["c1", "c2", "s"];

fn job() -> JobSpec {
    job_with("[limits]\nmax_rows = 1000\n")
}

fn without_limits() -> JobSpec {
    job_with("")
}

fn job_with(limits: &str) -> JobSpec {
    let parties = "[parties.c1]\nrole = \"client\"\nslice = 1\n[parties.c2]\nrole = \"client\"\nslice = 2\n\
                [parties.s]\nrole = \"server\"\n";
    let text = format!("job = \"dot\"\nid = \"test\"\nreveal_to = [\"c1\", \"c2\"]\n{limits}{parties}");
    JobSpec::parse(&text, false).unwrap()
}

fn sizes(items: u64) -> Sizes {
    Sizes { items, ..Sizes::default() }
}

/// Deviations from an honest run with 2 rows at `c1`, 3 at `c2` and 5 at `s`.
struct Run<'a> {
    sizes: [Sizes; 3],
    job: fn() -> JobSpec,
    /// The nonce of a party on its connection to another.
    nonce: fn(&str, &str) -> [u8; 32],
    /// Value that ties a party's end of a connection to another's.
    exporter: fn(&str, &str) -> [u8; 32],
    /// Script that replaces the server after `hello`.
    server: Option<&'a Script>,
}

/// Messages that a server sends and receives instead of the correct ones.
type Script = dyn Fn(Vec<Greeted>, &mut [Channel]) -> Result<()> + Sync;

fn nonce(me: &str, _: &str) -> [u8; 32] {
    [me.bytes().fold(0, |all, byte| all ^ byte); 32]
}

impl Run<'_> {
    fn honest() -> Self {
        Run { sizes: [sizes(2), sizes(3), sizes(5)], job, nonce, exporter: |_, _| [7; 32], server: None }
    }

    /// Returns the outcome for each of the three parties.
    fn outcome(&self) -> [Result<Slices>; 3] {
        let job = &(self.job)();
        let (c1_s, s_c1) = Channel::pair("c1", "s");
        let (c2_s, s_c2) = Channel::pair("c2", "s");
        let (c1_c2, c2_c1) = Channel::pair("c1", "c2");
        let ends = [vec![c1_c2, c1_s], vec![c2_c1, c2_s], vec![s_c1, s_c2]];
        std::thread::scope(|scope| {
            let parties = NAMES
                .into_iter()
                .zip(ends)
                .zip(&self.sizes)
                .map(|((me, channels), sizes)| scope.spawn(move || self.party(job, me, sizes.clone(), channels)));
            let parties: Vec<_> = parties.collect();
            let ended: Vec<_> = parties.into_iter().map(|party| party.join().unwrap()).collect();
            ended.try_into().unwrap()
        })
    }

    fn party(&self, job: &JobSpec, me: &str, sizes: Sizes, mut channels: Vec<Channel>) -> Result<Slices> {
        let links = Links::default();
        channels.iter().for_each(|channel| links.add(channel.handle()));
        links.guard(|| {
            let mut greeted: Vec<Option<Greeted>> = channels.iter().map(|_| None).collect();
            // The server first, so that nobody waits in a circle.
            let mut order: Vec<_> = (0..channels.len()).collect();
            order.sort_by_key(|&at| channels[at].peer() != "s");
            for at in order {
                let peer = channels[at].peer().to_owned();
                let (nonce, exporter) = ((self.nonce)(me, &peer), (self.exporter)(me, &peer));
                greeted[at] = Some(handshake::greet_as(job, me, nonce, &exporter, &mut channels[at])?);
            }
            let greeted: Vec<_> = greeted.into_iter().flatten().collect();
            match self.server.filter(|_| me == "s") {
                Some(script) => {
                    script(greeted, &mut channels)?;
                    Ok(Slices { all: 0, slices: Vec::new() })
                }
                None => group::agree(job, &job.clients().unwrap(), me, sizes, greeted, &mut channels),
            }
        })
    }
}

fn kind(result: &Result<Slices>) -> Option<ErrorKind> {
    result.as_ref().err().map(Error::kind)
}

#[test]
fn all_agree_on_the_rows_and_a_client_hears_of_no_other_slice() {
    let [c1, c2, s] = Run::honest().outcome();
    assert_eq!(c1, Ok(Slices { all: 5, slices: vec![Some(2), None] }));
    assert_eq!(c2, Ok(Slices { all: 5, slices: vec![None, Some(3)] }));
    assert_eq!(s, Ok(Slices { all: 5, slices: vec![Some(2), Some(3)] }));
}

#[test]
fn a_connection_of_another_run_is_found_at_both_its_ends() {
    let other = |me: &str, peer: &str| match (me, peer) {
        ("c2", "c1") => [42; 32],
        _ => nonce(me, peer),
    };
    let ended = Run { nonce: other, ..Run::honest() }.outcome();
    // It cannot know to whom of the two the other one lies.
    assert!(matches!(&ended[0], Err(Error::Protocol { peer, .. }) if peer == "c2, or s,"), "{ended:?}");
    assert!(ended[..2].iter().all(Result::is_err), "{ended:?}");
    for cut in [["c1", "c2"], ["c1", "s"]] {
        // Somebody in the middle of one connection.
        let exporter = match cut {
            ["c1", "c2"] => |me: &str, peer: &str| [u8::from((me, peer) == ("c1", "c2")); 32],
            _ => |me: &str, peer: &str| [u8::from((me, peer) == ("c1", "s")); 32],
        };
        let ended = Run { exporter, ..Run::honest() }.outcome();
        assert_eq!(kind(&ended[0]), Some(ErrorKind::Protocol), "{ended:?}");
        assert!(ended[..2].iter().all(Result::is_err), "{ended:?}");
    }
}

#[test]
fn sizes_that_do_not_fit_end_all() {
    for (c1, kinds) in [
        (sizes(3), [ErrorKind::Terms; 3]),
        (sizes(1001), [ErrorKind::Protocol, ErrorKind::Network, ErrorKind::Protocol]),
        (Sizes { entries: 2, ..sizes(2) }, [ErrorKind::Protocol, ErrorKind::Network, ErrorKind::Protocol]),
    ] {
        let ended = Run { sizes: [c1, sizes(3), sizes(5)], ..Run::honest() }.outcome();
        assert_eq!(ended.each_ref().map(kind), kinds.map(Some), "{ended:?}");
    }
    let [c1, _, s] = Run { sizes: [sizes(2), sizes(3), sizes(6)], ..Run::honest() }.outcome();
    assert!(c1.unwrap_err().to_string().contains("5 rows together, and s has 6"));
    // The server knows whose slice has how many, and does not leave it to its clients to add them up.
    assert!(s.unwrap_err().to_string().contains("5 rows together (c1 2, c2 3), and s has 6"));
}

/// Whatever a party claims, the others end for it and not for a fault of theirs, or need no more memory than before.
#[test]
fn claimed_sizes_are_refused_or_take_nothing() {
    let honest = [sizes(2), sizes(3), sizes(5)];
    let job = without_limits();
    let roles = job.clients().unwrap();
    let mut agreed = 0;
    for number in [0, 1, 1 << 20, 1 << 31, u64::from(u32::MAX), 1 << 32, u64::MAX] {
        let small = number as u32;
        for liar in 0..3 {
            let Sizes { items, .. } = honest[liar];
            let claims = [
                sizes(number),
                Sizes { entries: number, ..sizes(items) },
                Sizes { row_bytes: small, ..sizes(items) },
                Sizes { tag_bytes: Some(small), ..sizes(items) },
                Sizes { tag_bytes: Some(small), epoch: Some("ab".repeat(32)), ..sizes(items) },
                Sizes { work: Some(DiskRun { memory: number, kept: None }), ..sizes(items) },
            ];
            for claim in claims {
                let mut claimed = honest.clone();
                claimed[liar] = claim;
                if claimed == honest {
                    continue;
                }
                let what = format!("{claimed:?}");
                let ended = Run { sizes: claimed, job: without_limits, ..Run::honest() }.outcome();
                for (me, ended) in NAMES.into_iter().zip(&ended).filter(|(me, _)| *me != NAMES[liar]) {
                    assert!(
                        matches!(kind(ended), Some(ErrorKind::Protocol | ErrorKind::Terms | ErrorKind::Network)),
                        "{what}, {me}: {ended:?}"
                    );
                }
            }
        }
        // Server and one client together, so that the sum fits.
        if let Some(all) = number.checked_add(3) {
            let ended = Run { sizes: [sizes(number), sizes(3), sizes(all)], job: without_limits, ..Run::honest() };
            let [_, c2, _] = ended.outcome();
            let Ok(rows) = c2 else { continue };
            assert!(job.job.memory(&job, "c2", &Chosen::only(PROTOCOL), &roles.sizes(&rows)).unwrap() < 100 << 20);
            agreed += 1;
        }
    }
    assert_eq!(agreed, 4, "all but those that are too many");
}

/// A server that says this to both clients.
fn told(parties: Value) -> [Result<Slices>; 3] {
    let script = move |_: Vec<Greeted>, channels: &mut [Channel]| {
        for channel in channels.iter_mut() {
            handshake::exchange_sizes(&job(), serde_json::to_vec(&sizes(5)).unwrap(), channel)?;
            channel.send(PARTIES, serde_json::to_vec(&parties).unwrap())?;
        }
        // Until a client ends it.
        channels[0].receive_up_to(Label::new(0xf3, "confirm"), 32).map(drop)
    };
    Run { server: Some(&script), ..Run::honest() }.outcome()
}

#[test]
fn what_a_server_must_not_say_is_its_fault() {
    let hex = |name| tacita_node::base::hex::hex(&nonce(name, ""));
    let [c1, c2, s] = NAMES.map(hex);
    let strange = "ab".repeat(32);
    let good = told(json!({"nonces": [c1, c2, s], "rows": 5}));
    // All that is wrong with it is that it does not confirm.
    assert!(good[0].as_ref().is_err_and(|error| error.kind() == ErrorKind::Network), "{good:?}");
    for (what, parties) in [
        ("no object", json!([])),
        ("nothing", json!({})),
        ("more", json!({"nonces": [c1, c2, s], "rows": 5, "more": 1})),
        ("too few", json!({"nonces": [c1, c2], "rows": 5})),
        ("too many", json!({"nonces": [c1, c2, s, strange], "rows": 5})),
        ("one twice", json!({"nonces": [c1, c1, s], "rows": 5})),
        ("not c1's", json!({"nonces": [strange, c2, s], "rows": 5})),
        ("not c2's", json!({"nonces": [c1, strange, s], "rows": 5})),
        ("not its own", json!({"nonces": [c1, c2, strange], "rows": 5})),
        ("another order", json!({"nonces": [c2, c1, s], "rows": 5})),
        ("fewer rows than c1 has", json!({"nonces": [c1, c2, s], "rows": 1})),
        ("negative rows", json!({"nonces": [c1, c2, s], "rows": -1})),
        ("too long", json!({"nonces": [c1, c2, s], "rows": 5, "": "x".repeat(1 << 18)})),
    ] {
        let [c1, ..] = told(parties);
        let Err(Error::Protocol { peer, .. }) = &c1 else { panic!("{what}: {c1:?}") };
        // It has no connection to the server's other clients but to this one, which may have said another nonce to the
        // server.
        assert_eq!(peer, if what == "not c2's" { "c2, or s," } else { "s" }, "{what}");
    }
    let [c1, c2, _] = told(json!({"nonces": [c1, c2, s], "rows": 6}));
    assert_eq!([kind(&c1), kind(&c2)], [Some(ErrorKind::Terms); 2]);
}

#[test]
fn a_server_that_tells_clients_different_things_is_found_out_between_them() {
    let run = |rows: [u64; 2]| {
        let script = move |greeted: Vec<Greeted>, channels: &mut [Channel]| {
            // Else it follows the protocol.
            let nonces = [&greeted[0].nonces[1], &greeted[1].nonces[1], &greeted[0].nonces[0]].map(String::clone);
            for ((channel, greeted), rows) in channels.iter_mut().zip(greeted).zip(rows) {
                let own = serde_json::to_vec(&sizes(rows)).unwrap();
                let (_, theirs) = handshake::exchange_sizes(&job(), own.clone(), channel)?;
                let parties = serde_json::to_vec(&json!({"nonces": nonces, "rows": rows})).unwrap();
                channel.send(PARTIES, parties.clone())?;
                let session = greeted.bound_to(&[("sizes", &own), ("sizes", &theirs), ("parties", &parties)]);
                handshake::confirm(&session, &job(), "s", channel)?;
            }
            Ok(())
        };
        Run { server: Some(&script), ..Run::honest() }.outcome()
    };
    assert!(run([5, 5]).iter().all(Result::is_ok));
    // They would compute modulo different numbers.
    let [c1, c2, _] = run([5, 500]);
    for (ended, other) in [(c1, "c2"), (c2, "c1")] {
        let Err(Error::Protocol { peer, .. }) = &ended else { panic!("{ended:?}") };
        assert_eq!(*peer, format!("{other}, or s,"));
    }
}

/// A client that takes another one's nonce for its own is found by the server, which is not blamed for it.
#[test]
fn a_client_with_the_nonce_of_another_is_the_servers_to_find() {
    let same = |me: &str, peer: &str| nonce(if (me, peer) == ("c2", "s") { "c1" } else { me }, peer);
    let [c1, _, s] = Run { nonce: same, ..Run::honest() }.outcome();
    assert!(matches!(&s, Err(Error::Protocol { peer, .. }) if peer.starts_with("c2, or a party")), "{s:?}");
    assert!(!matches!(&c1, Ok(_) | Err(Error::Protocol { .. })), "{c1:?}");
}
