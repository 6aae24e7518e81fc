//! Lines between two parties that break or stall, beneath TLS.

use super::{Group, NAMES, ROWS, SOON};
use tacita_node::transport::faults::{ByteFault, relay};

#[test]
fn a_broken_line_between_two_is_told_to_the_third() {
    broken_lines_are_told([ByteFault::Flip(9_000), ByteFault::Cut(9_000)]);
}

#[test]
#[ignore = "slow: waits until a silent party is missed"]
fn a_line_between_two_that_stalls_is_told_to_the_third() {
    broken_lines_are_told([ByteFault::Stall(9_000)]);
}

fn broken_lines_are_told<const FAULTS: usize>(faults: [ByteFault; FAULTS]) {
    // Beneath TLS, between b and c, of which neither works the result out: once the handshake is done.
    for fault in faults {
        let group = Group::with_tables(ROWS, 10);
        let between = relay(group.address("b").parse().unwrap(), fault, ByteFault::None).unwrap();
        // What c says to b is that long, and no party needs it to be: c names many.
        group.edit("c", &group.address("b"), &between.to_string());
        let long: String =
            (0..60).map(|n| format!("extra-long-column-name-number-{n:050}")).collect::<Vec<_>>().join("\", \"");
        for name in NAMES {
            group.edit(
                name,
                ROWS,
                &format!("reveal = \"payload\"\nreveal_to = [\"a\", \"b\"]\ngives = {{ c = [\"{long}\"] }}"),
            );
        }
        let columns: Vec<_> = (0..60).map(|n| format!("extra-long-column-name-number-{n:050}")).collect();
        group.home.file("c.csv", &format!("k,{}\nkey 7{}\n", columns.join(","), ",x".repeat(60)));
        let running: Vec<_> = NAMES.iter().map(|name| group.start(name, &[])).collect();
        for (name, party) in NAMES.iter().zip(running) {
            let ended = party.end_within(SOON);
            let line = ended.failed(3, &[]);
            let named = ["b", "c"].iter().any(|culprit| line.starts_with(&format!("error: {culprit}")));
            // Who is at one end of the line may see that it is blamed, by whoever tells it first.
            assert!(named || *name == "c", "{fault:?}, {name}: {line}");
        }
        group.wrote_nothing();
    }
}
