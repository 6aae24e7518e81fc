//! Runs that are cut off.

use super::*;

#[test]
fn a_peer_that_is_killed_is_missed_and_nothing_is_written() {
    for (killed, left) in [("insurer", "hospital"), ("hospital", "insurer")] {
        let pair = large();
        let [victim, mut witness] = [killed, left].map(|name| pair.start(name, &[]));
        witness.until_it_says("agreed with");
        std::thread::sleep(Duration::from_millis(300));
        let killing = std::time::Instant::now();
        victim.signal(Signal::KILL);
        assert_eq!(victim.end().code, -1);
        let ended = witness.end();
        assert!(killing.elapsed() < Duration::from_secs(15));
        ended.failed(3, &[killed]);
        assert_nothing_written(&pair);
    }
}

#[test]
fn a_peer_that_falls_silent_is_missed_within_15_seconds() {
    let pair = large();
    let [victim, mut witness] = ["insurer", "hospital"].map(|name| pair.start(name, &[]));
    witness.until_it_says("agreed with");
    let stopping = std::time::Instant::now();
    victim.signal(Signal::STOP);
    let ended = witness.end();
    assert!(stopping.elapsed() < Duration::from_secs(15), "{:?}", stopping.elapsed());
    ended.failed(3, &["insurer"]);
    assert_nothing_written(&pair);
}

#[test]
fn an_interrupted_party_ends_with_130_and_tells_its_peer() {
    for signal in [Signal::INT, Signal::TERM] {
        let pair = large();
        let [mut interrupted, mut peer] = ["hospital", "insurer"].map(|name| pair.start(name, &[]));
        interrupted.until_it_says("agreed with");
        peer.until_it_says("agreed with");
        interrupted.signal(signal);
        interrupted.end().failed(130, &["interrupted"]);
        peer.end().failed(3, &["hospital was interrupted by its user"]);
        assert_nothing_written(&pair);
    }
}

#[test]
fn waiting_can_be_interrupted() {
    for name in NAMES {
        let pair = small();
        let mut waiting = pair.start(name, &[]);
        waiting.until_it_says(if name == "hospital" { "waiting for" } else { "dialing" });
        waiting.signal(Signal::INT);
        waiting.end().failed(130, &["interrupted"]);
    }
}

#[test]
fn a_peer_that_waits_is_told_of_bad_input() {
    for waits in NAMES {
        let pair = small();
        let other = NAMES.into_iter().find(|name| *name != waits).unwrap();
        let mut waiting = pair.start(waits, &[]);
        waiting.until_it_says(if waits == "hospital" { "waiting for" } else { "dialing" });
        pair.home.file(&format!("{other}.csv"), "colour\nred\n");
        pair.start(other, &[]).end().failed(2, &["no column"]);
        let told = waiting.end();
        told.failed(3, &[other, "stopped"]);
        assert!(told.took < Duration::from_secs(10), "it waited for {:?}", told.took);
    }
}

#[test]
fn an_interrupted_simulation_ends_its_parties() {
    let pair = large();
    let inputs = NAMES.map(|name| format!("{name}={}", pair.home.at(&format!("{name}.csv"))));
    let out = pair.home.at("out");
    let simulation = Running::start(&[
        "simulate",
        &pair.home.at("hospital.toml"),
        "--input",
        &inputs[0],
        "--input",
        &inputs[1],
        "--force",
        "--output",
        &out,
    ]);
    std::thread::sleep(Duration::from_millis(700));
    simulation.signal(Signal::TERM);
    simulation.end().failed(130, &["interrupted"]);
    assert!(files(&out).is_empty());
}
