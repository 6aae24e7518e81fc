use std::time::SystemTime;

use super::*;
use crate::identity::VALIDITY;

fn identity(name: &str) -> Identity {
    let now = SystemTime::now();
    Identity::generate(name, now, now + VALIDITY).unwrap()
}

fn facts(a: &Identity, b: &Identity) -> RunFacts {
    let parties = vec![PartyFacts::new("a", a.fingerprint(), true, 3), PartyFacts::new("b", b.fingerprint(), false, 4)];
    let [run, agreement, job, id, protocol] = ["00", "11", "intersect", "t", "vole"].map(str::to_owned);
    RunFacts { run, agreement, job, id, protocol, epsilon: None, parties }
}

fn sign(by: &Identity, phase: Phase, [from, to]: [&str; 2], facts: &RunFacts) -> Receipt {
    ReceiptKey::of(by).unwrap().sign(phase, from, to, facts, &LedgerState::default()).unwrap()
}

/// A receipt holds for the one run, phase and direction that it is about, and for the key of its signer.
#[test]
fn forged_swapped_and_replayed_receipts_are_refused() {
    let [a, b, c] = ["a", "b", "c"].map(identity);
    let facts = facts(&a, &b);
    let good = sign(&b, Phase::Begun, ["b", "a"], &facts);
    let sent = Receipt::decode(&good.encode().unwrap()).unwrap();
    sent.check_about(Phase::Begun, "b", "a", &facts).unwrap();
    let refused = |receipt: &Receipt| receipt.check_about(Phase::Begun, "b", "a", &facts).unwrap_err();
    // Of another phase, back to its signer, of another run, with other sizes.
    refused(&sign(&b, Phase::Ended, ["b", "a"], &facts));
    refused(&sign(&a, Phase::Begun, ["a", "b"], &facts));
    refused(&sign(&b, Phase::Begun, ["b", "b"], &facts));
    let replayed = RunFacts { run: "01".into(), ..facts.clone() };
    refused(&sign(&b, Phase::Begun, ["b", "a"], &replayed));
    let mut sizes = facts.clone();
    sizes.parties[1].announced = 5;
    refused(&sign(&b, Phase::Begun, ["b", "a"], &sizes));
    // By another key, by one whose certificate is another's, and with another signature.
    assert!(refused(&sign(&c, Phase::Begun, ["b", "a"], &facts)).contains("its key is not of"));
    let foreign = sign(&c, Phase::Begun, ["b", "a"], &facts);
    let uncertified = Receipt { identity: good.identity.clone(), ..foreign.clone() };
    assert!(refused(&uncertified).contains("not certified"));
    let unsigned = Receipt { signature: foreign.signature, ..good.clone() };
    assert!(refused(&unsigned).contains("its signature is wrong"));
    // What is not compared, but signed.
    let mut later = good.clone();
    later.statement.entry = 9;
    assert!(refused(&later).contains("its signature is wrong"));
    let mut versioned = good;
    versioned.statement.tacita_receipt = 2;
    assert!(refused(&versioned).contains("another version"));
}

fn file(a: &Identity, b: &Identity) -> ReceiptFile {
    let facts = facts(a, b);
    let phase = |phase| Receipts {
        salt: "secret".into(),
        own: vec![sign(a, phase, ["a", "b"], &facts)],
        peers: vec![sign(b, phase, ["b", "a"], &facts)],
    };
    ReceiptFile::new(phase(Phase::Begun), phase(Phase::Ended))
}

#[test]
fn a_file_of_receipts_is_of_one_run_and_mutual() {
    let [a, b] = ["a", "b"].map(identity);
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("receipt.json");
    let load = |file: &ReceiptFile| {
        let text = serde_json::to_string(file).unwrap();
        assert!(!text.contains("secret"));
        std::fs::write(&path, text).unwrap();
        ReceiptFile::load(&path)
    };
    let good = file(&a, &b);
    load(&good).unwrap();
    // A peer that has left after the beginning has signed that it began.
    load(&ReceiptFile { ended: Receipts::default(), ..good.clone() }).unwrap();
    let mut alone = good.clone();
    alone.begun.peers.clear();
    let mut twice = good.clone();
    twice.begun.peers.extend(good.begun.peers.clone());
    let mut added = good.clone();
    added.begun.peers.push(good.begun.own[0].clone());
    let mut mixed = good.clone();
    mixed.ended = file(&a, &identity("b")).ended;
    let mut swapped = good.clone();
    std::mem::swap(&mut swapped.begun, &mut swapped.ended);
    let none = ReceiptFile::new(Receipts::default(), Receipts::default());
    let mut one_end = good.clone();
    one_end.ended.peers.clear();
    let mut ends_twice = good.clone();
    ends_twice.ended.peers.extend(good.ended.peers.clone());
    for bad in [alone, twice, added, mixed, swapped, none, one_end, ends_twice] {
        let error = load(&bad).unwrap_err();
        assert!(matches!(error, Error::Input(_)) && !error.to_string().contains('\n'), "{error}");
    }
    // Each character of it counts, but for those that say the same.
    let text = serde_json::to_string(&good).unwrap();
    for position in (0..text.len()).step_by(17) {
        let mut bytes = text.clone().into_bytes();
        bytes[position] = if bytes[position] == b'0' { b'1' } else { b'0' };
        std::fs::write(&path, bytes).unwrap();
        ReceiptFile::load(&path).unwrap_err();
    }
}
