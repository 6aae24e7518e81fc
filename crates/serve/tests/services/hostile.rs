//! Desks that do not follow the protocol, and others who come by: each is turned away, and the others are served as
//! before.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

use tacita_core::channel::{Channel, Label};
use tacita_core::protocol::intersect::live::{
    ASK, Facts, LIST, ListAnswer, ListQuery, ListRequest, MAX_ELEMENTS, REPLY, TABLE,
};
use tacita_core::{Error, ErrorKind};
use tacita_node::agreement::JobSpec;
use tacita_node::agreement::handshake::{confirm, greet};
use tacita_node::base::random::fresh_rng;
use tacita_node::identity::Identity;
use tacita_node::jobs::intersect::live::{KeyReader, Live};
use tacita_node::table::ReadOptions;
use tacita_node::transport::{ConnectCancel, Options, Peer, Purpose, dial};
use tacita_serve::authority::{self, AuthorityConfig};
use tacita_serve::desk::{Asking, DeskLink};

struct Place {
    live: Live,
    authority: Identity,
    desks: Vec<Identity>,
    address: String,
}

impl Place {
    fn new(home: &Path) -> Place {
        let make = |name: &str| Identity::create(&home.join(name), name).unwrap();
        let (authority, desks) = (make("authority"), vec![make("one"), make("two")]);
        let lines = desks.iter().map(|desk| format!("{} {}\n", desk.name(), desk.fingerprint()));
        std::fs::write(home.join("desks.txt"), lines.collect::<String>()).unwrap();
        std::fs::write(home.join("list.csv"), "name,dob\nAnna,1980-01-01\n").unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let address = format!("127.0.0.1:{port}");
        let job = format!(
            "job = \"intersect\"\nid = \"t\"\nreveal_to = [\"airline\"]\n[key]\ncolumns = [\"name\", \"dob\"]\n[clients]\nallow = \"desks.txt\"\n[limits]\n\
             pad_to = 50\ndaily_queries = 100\n[parties.authority]\naddress = \"{address}\"\nidentity = \"{}\"\n[parties.airline]\n",
            authority.fingerprint()
        );
        std::fs::write(home.join("job.toml"), job).unwrap();
        let live = Live::of(JobSpec::load(&home.join("job.toml")).unwrap(), "airline").unwrap();
        Place { live, authority, desks, address }
    }

    /// Serves while `visit` visits.
    fn serve(&self, home: &Path, visit: impl FnOnce()) {
        let cancel = ConnectCancel::default();
        let serving = AuthorityConfig {
            live: self.live.clone(),
            input: Some(home.join("list.csv")),
            reading: ReadOptions::default(),
            allow_unreadable: false,
            identity: self.authority.clone(),
            state: home.join("state"),
            listen: self.address.clone(),
            account: None,
            cancel: cancel.clone(),
        };
        let server = std::thread::spawn(move || authority::serve(serving));
        visit();
        cancel.cancel();
        assert_eq!(server.join().unwrap(), Ok(()));
    }

    /// A desk's connection, as far as TLS.
    fn connect(&self, desk: usize, purpose: Purpose) -> tacita_core::Result<(Channel, [u8; 32])> {
        self.connect_within(desk, purpose, Duration::from_secs(5))
    }

    fn connect_within(
        &self,
        desk: usize,
        purpose: Purpose,
        timeout: Duration,
    ) -> tacita_core::Result<(Channel, [u8; 32])> {
        let options = Options { purpose, timeout, ..Options::default() };
        let peer = Peer { name: "authority".into(), pin: self.authority.fingerprint() };
        let connected = dial(&self.address, &peer, &self.desks[desk], &options)?;
        Ok((connected.channel, connected.exporter))
    }

    /// One that has said hello.
    fn enter(&self, desk: usize) -> Channel {
        let (mut channel, exporter) = self.connect(desk, Purpose::Desk).unwrap();
        let greeted = greet(&self.live.job, "airline", &exporter, &mut channel, &mut fresh_rng().unwrap()).unwrap();
        confirm(&greeted.bound_to(&[]), &self.live.job, "airline", &mut channel).unwrap();
        channel
    }

    /// An honest desk is answered.
    fn is_well(&self, desk: usize) -> u64 {
        let cancel = ConnectCancel::default();
        let asking = Asking { live: self.live.clone(), identity: self.desks[desk].clone(), cancel: cancel.clone() };
        let (link, reader) = (DeskLink::start(asking), KeyReader::new(&self.live, "airline").unwrap());
        let ask = |name: &'static str| {
            let asked = reader.read(|header| if header == "name" { name } else { "1980-01-01" });
            link.ask(vec![asked], Duration::from_secs(10)).unwrap()[0].is_listed()
        };
        assert_eq!([ask("Anna"), ask("Berta")], [true, false]);
        let left = link.standing().left;
        cancel.cancel();
        left
    }
}

/// Fetches the table: its facts.
fn fetch(channel: &mut Channel, place: &Place) -> Facts {
    channel.send(ASK, ListRequest::Fetch.encode()).unwrap();
    let params = &place.live.params;
    let facts = Facts::decode(&channel.receive(LIST, Facts::BYTES).unwrap(), params).unwrap();
    channel.receive(TABLE, facts.table_bytes(params)).unwrap();
    facts
}

#[test]
fn desks_that_break_the_protocol_are_sent_away_and_others_served() {
    let home = tempfile::tempdir().unwrap();
    let place = Place::new(home.path());
    place.serve(home.path(), || {
        assert_eq!(place.is_well(1), 98);
        let params = place.live.params;
        let wrong_label = Label::new(91, "reply");
        let after_fetch =
            |facts: &Facts, blinded: Vec<u8>| ListRequest::Ask(ListQuery { state: facts.state, blinded }).encode();
        type Say = Box<dyn Fn(&Facts) -> (Label, Vec<u8>)>;
        let says: Vec<Say> = vec![
            Box::new(|_| (ASK, vec![])),
            Box::new(|_| (ASK, vec![7])),
            Box::new(|_| (ASK, vec![0; 5])),
            Box::new(|_| (ASK, vec![1; 57 + 31])),
            Box::new(move |_| (ASK, vec![1; 57 + (MAX_ELEMENTS + 1) * 32])),
            Box::new(|_| (ASK, vec![1; 1 << 20])),
            Box::new(move |_| (wrong_label, vec![0])),
            // Elements that are none: the identity, and no element at all.
            Box::new(move |facts| (ASK, after_fetch(facts, vec![0; 32]))),
            Box::new(move |facts| (ASK, after_fetch(facts, vec![255; 32]))),
        ];
        for (number, say) in says.iter().enumerate() {
            let mut channel = place.enter(0);
            let facts = fetch(&mut channel, &place);
            let (label, bytes) = say(&facts);
            channel.send(label, bytes).unwrap();
            let error = channel.receive_up_to(REPLY, ListAnswer::most_bytes(&params, 8)).unwrap_err();
            assert!(matches!(&error, Error::Peer { kind: ErrorKind::Protocol, .. }), "{number}: {error:?}");
        }
        // What was charged for elements that are none is charged; nothing else was.
        let left = place.is_well(0);
        assert_eq!(left, 100 - 2 - 2);
        // A state of nobody's is stale, and costs nothing.
        let mut channel = place.enter(0);
        let mut facts = fetch(&mut channel, &place);
        facts.state.version = u64::MAX;
        let blinded = tacita_core::primitive::oprf::Suite::Ristretto255.hash_to_group(&[[1u8; 32]]).unwrap();
        channel.send(ASK, ListRequest::Ask(ListQuery { state: facts.state, blinded }).encode()).unwrap();
        let bytes = channel.receive_up_to(REPLY, ListAnswer::most_bytes(&params, 1)).unwrap();
        assert_eq!(ListAnswer::decode(&bytes, &params, 1), Ok(ListAnswer::Stale));
        channel.abort(&Error::Interrupted);
        assert_eq!(place.is_well(0), left - 2);
    });
}

#[test]
fn others_who_come_by_do_not_keep_desks_away() {
    let home = tempfile::tempdir().unwrap();
    let place = Place::new(home.path());
    place.serve(home.path(), || {
        place.is_well(0);
        // Some say nothing, and some what is no TLS; all stay.
        let strangers: Vec<TcpStream> = (0..60)
            .map(|number| {
                let mut stream = TcpStream::connect(&place.address).unwrap();
                if number % 2 == 0 {
                    stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
                }
                stream
            })
            .collect();
        // A run, and a doctor, are here for something else.
        for purpose in [Purpose::Run, Purpose::Doctor] {
            // Whoever is refused tries again until its time is over.
            assert!(place.connect_within(0, purpose, Duration::from_secs(1)).is_err(), "{purpose:?}");
        }
        // One that says no hello, and one with many connections: the oldest go.
        let silent = place.connect(0, Purpose::Desk).unwrap();
        let mut many: Vec<Channel> = (0..6).map(|_| place.enter(1)).collect();
        let started = Instant::now();
        assert_eq!(place.is_well(0), 100 - 4);
        assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
        assert!(many[0].receive_up_to(REPLY, 1).is_err());
        fetch(&mut many[5], &place);
        // One that asks for the table again and again, and reads nothing.
        let mut greedy = place.enter(1);
        let asked = (0..200).take_while(|_| greedy.send(ASK, ListRequest::Fetch.encode()).is_ok()).count();
        assert!(asked > 0);
        assert_eq!(place.is_well(0), 100 - 6);
        for channel in many.into_iter().chain([greedy, silent.0]) {
            channel.abort(&Error::Interrupted);
        }
        drop(strangers);
    });
}
