//! Three parties that meet at a relay.

use rustix::process::Signal;

use super::{Group, JOIN, NAMES, ROWS, SOON};
use crate::common::{Running, free_port, tacita, text};

/// A relay, not running yet, at which all meet.
fn with_relay(terms: &str, keys: u32) -> (Group, impl Fn(&Group) -> Running) {
    let group = Group::with_tables(terms, keys);
    let pin = tacita(&["identity", "new", &group.home.at("relay")]).well().stdout;
    let address = format!("127.0.0.1:{}", free_port());
    let place = format!("[relay]\naddress = \"{address}\"\nidentity = \"{}\"\n[parties.a]\n", pin.trim());
    NAMES.iter().for_each(|name| group.edit(name, "[parties.a]\n", &place));
    let start = move |group: &Group| {
        let (job, identity) = (group.home.at("a.toml"), group.home.at("relay"));
        Running::start(&["relay", "--listen", &address, "--identity", &identity, &job])
    };
    (group, start)
}

#[test]
fn three_meet_at_a_relay() {
    let (group, relay) = with_relay(JOIN, 60);
    let parties: Vec<_> = NAMES.iter().map(|name| group.start(name, &[])).collect();
    let relay = relay(&group);
    parties.into_iter().for_each(|party| drop(party.end().well()));
    assert!(text(group.home.at("b.out/rows.csv")).lines().count() > 40);
    relay.signal(Signal::TERM);
    relay.end();
}

#[test]
fn a_relay_that_dies_is_named_by_all() {
    let (group, relay) = with_relay(ROWS, 400_000);
    let relay = relay(&group);
    let mut parties: Vec<_> = NAMES.iter().map(|name| group.start(name, &["--threads", "1"])).collect();
    parties.iter_mut().for_each(|party| party.until_it_says("agreed with all"));
    relay.signal(Signal::KILL);
    for party in parties {
        party.end_within(SOON).failed(3, &["relay"]);
    }
    relay.end();
    group.wrote_nothing();
}
