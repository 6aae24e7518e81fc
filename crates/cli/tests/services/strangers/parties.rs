//! Listeners of parties, and of those who stand between them.

use std::path::Path;
use std::time::Duration;

use rustix::process::Resource;
use tacita_node::agreement::{JobSpec, Terms};
use tacita_node::identity::Identity;
use tacita_node::transport::relay::{RelayAddress, look};
use tacita_node::transport::{ALPN, DESK_ALPN, DOCTOR_ALPN, HELPER_ALPN, Options, Peer, Purpose, RELAY_ALPN, dial};

use crate::common::stranger::{Listener, identity};
use crate::common::{Home, Pair, Running, free_port, tacita, text};
use crate::desk::fly::{Fly, LIMITS, LIST, TERMS};

const PARTIES: &str = "[parties.hospital]\nidentity = \"HOSPITAL\"\n[parties.insurer]\nidentity = \"INSURER\"\n";

const ROWS: &str = "job = \"intersect\"\nid = \"t\"\nreveal_to = [\"hospital\"]\n[key]\ncolumns = [\"name\"]\n";

fn new(home: &Home, name: &str) -> String {
    tacita(&["identity", "new", &home.at(name)]).well().stdout.trim().to_owned()
}

/// Comes as a party that is let in, and goes.
fn visit(address: &str, pin: &str, identity: &Identity, purpose: Purpose) {
    let options = Options { purpose, timeout: Duration::from_secs(20), ..Options::default() };
    let peer = Peer { name: "listener".into(), pin: pin.parse().unwrap() };
    drop(dial(address, &peer, identity, &options).unwrap());
}

#[test]
fn serve() {
    let fly = Fly::new(TERMS, LIMITS, LIST);
    let authority = fly.serve();
    let job = JobSpec::load(Path::new(&fly.job)).unwrap();
    let party = job.party("authority").unwrap();
    let (address, pin) = (party.address.clone().unwrap(), party.identity.unwrap().to_string());
    let desk = identity(fly.home.at("gate-1"));
    let listener = Listener::of(&address, &pin, DESK_ALPN);
    let visit = || visit(&address, &pin, &desk, Purpose::Desk);
    listener.withstands(authority.id(), visit);
    // Nor where descriptors run out before places do.
    authority.limit(Resource::Nofile, 100);
    let staying = listener.crowd(1.0);
    visit();
    drop(staying);
    drop(authority.stop().well());
}

#[test]
fn helper() {
    let home = Home::new();
    let [pin, a, b, c] = ["helper", "a", "b", "c"].map(|name| new(&home, name));
    let address = format!("127.0.0.1:{}", free_port());
    let parties: String =
        [("a", a), ("b", b), ("c", c)].map(|(name, pin)| format!("[parties.{name}]\nidentity = \"{pin}\"\n")).concat();
    let job = format!(
        "job = \"intersect\"\nid = \"t\"\nprotocol = \"outsourced\"\nreveal_to = [\"a\"]\n[limits]\npad_to = 100\n[key]\ncolumns = [\"k\"]\n{parties}\
         [helper]\naddress = \"{address}\"\nidentity = \"{pin}\"\n"
    );
    let job = home.file("job.toml", &job);
    let mut helper = Running::start(&[
        "helper",
        &job,
        "--listen",
        &address,
        "--identity",
        &home.at("helper"),
        "--state",
        &home.at("state"),
    ]);
    helper.until_it_says("serving job");
    let party = identity(home.at("b"));
    Listener::of(&address, &pin, HELPER_ALPN)
        .withstands(helper.id(), || visit(&address, &pin, &party, Purpose::Helper));
    drop(helper.stop().well());
}

#[test]
fn relay() {
    let home = Home::new();
    let (address, pin) = (format!("127.0.0.1:{}", free_port()), new(&home, "relay"));
    let relay = format!("[relay]\naddress = \"{address}\"\nidentity = \"{pin}\"\n");
    let pair = Pair::new(&format!("{ROWS}{relay}{PARTIES}"));
    let job = pair.home.at("hospital.toml");
    let mut relay = Running::start(&["relay", "--listen", &address, "--identity", &home.at("relay"), &job]);
    relay.until_it_says("serving job");
    let agreement = Terms::of(&JobSpec::load(Path::new(&job)).unwrap()).agreement_bytes();
    let place = RelayAddress { address: address.clone(), pin: pin.parse().unwrap(), agreement, lane: 0 };
    let party = identity(pair.home.at("insurer"));
    let visit = || {
        look(&place, &party, Duration::from_secs(20)).unwrap();
    };
    Listener::of(&address, &pin, RELAY_ALPN).withstands(relay.id(), visit);
    drop(relay.stop().well());
}

/// A run that waits for its peer; and a doctor that does.
#[test]
fn run_and_doctor() {
    let pair = Pair::new(ROWS);
    pair.table("hospital", "name\nanna\nberta\n");
    pair.table("insurer", "name\nberta\ncarla\n");
    let pin = pair.fingerprint("hospital");
    let mut hospital = pair.start("hospital", &["--timeout", "120s"]);
    hospital.until_it_says("waiting for");
    Listener::of(&pair.address, pin, ALPN).withstands(hospital.id(), || ());
    // The peer comes last, and while strangers stay.
    let staying = Listener::of(&pair.address, pin, ALPN).crowd(1.0);
    let insurer = pair.start("insurer", &[]);
    drop((insurer.end().well(), hospital.end().well(), staying));
    assert_eq!(text(pair.out("hospital", "rows.csv")), "name\nberta\n");

    let doctor = |name: &str| {
        let (job, identity) = (pair.home.at(&format!("{name}.toml")), pair.home.at(name));
        Running::start(&["doctor", &job, "--as", name, "--identity", &identity, "--meet", "--timeout", "120s"])
    };
    let mut hospital = doctor("hospital");
    hospital.until_it_says("waiting for insurer");
    Listener::of(&pair.address, pin, DOCTOR_ALPN).withstands(hospital.id(), || ());
    drop((doctor("insurer").end().well(), hospital.end().well()));
}
