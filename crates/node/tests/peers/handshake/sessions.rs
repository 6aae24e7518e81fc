//! The session that the handshake ends with.

use super::*;

/// Two honest parties, each with its own exporter and seed of nonces; the ids of their sessions.
fn sessions(job: &JobSpec, exporters: [[u8; 32]; 2], seeds: [u8; 2], items: [u64; 2]) -> [[u8; 32]; 2] {
    let (mut one, mut two) = Channel::pair("hospital", "insurer");
    std::thread::scope(|scope| {
        let insurer = scope.spawn(|| shake(job, "insurer", &sizes(items[1]), &exporters[1], seeds[1], &mut two));
        let hospital = shake(job, "hospital", &sizes(items[0]), &exporters[0], seeds[0], &mut one).unwrap();
        [*hospital.session.id(), *insurer.join().unwrap().unwrap().session.id()]
    })
}

#[test]
fn the_session_is_one_at_both_ends_and_new_whenever_anything_is() {
    let other_exporter = [8; 32];
    let base = (rows(), EXPORTER, [1, 2], [3, 4]);
    let cases = [
        base.clone(),
        (job("reveal_to = [\"hospital\"]", ""), EXPORTER, [1, 2], [3, 4]),
        (job("reveal_to = [\"hospital\", \"insurer\"]", "min_result = 2"), EXPORTER, [1, 2], [3, 4]),
        (job("protocol = \"ecdh\"\nreveal_to = [\"hospital\", \"insurer\"]", ""), EXPORTER, [1, 2], [3, 4]),
        (rows(), other_exporter, [1, 2], [3, 4]),
        (rows(), EXPORTER, [9, 2], [3, 4]),
        (rows(), EXPORTER, [1, 9], [3, 4]),
        (rows(), EXPORTER, [2, 1], [3, 4]),
        (rows(), EXPORTER, [1, 2], [4, 3]),
        (rows(), EXPORTER, [1, 2], [3, 5]),
        (rows(), EXPORTER, [1, 2], [5, 4]),
    ];
    let mut seen = Vec::new();
    for (job, exporter, seeds, items) in cases {
        let [hospital, insurer] = sessions(&job, [exporter; 2], seeds, items);
        assert_eq!(hospital, insurer);
        assert!(!seen.contains(&hospital), "a session twice");
        seen.push(hospital);
    }
    assert_eq!(sessions(&base.0, [EXPORTER; 2], base.2, base.3)[0], seen[0], "nothing else goes in");
    // Whoever sits in the middle of two connections has another exporter on each.
    let [hospital, insurer] = sessions(&rows(), [EXPORTER, other_exporter], [1, 2], [3, 4]);
    assert_ne!(hospital, insurer);
}

/// Section 2.5 of `docs/wire.md`, with BLAKE3 alone.
#[test]
fn the_session_is_what_the_documentation_says() {
    let job = rows();
    let nonce = |seed: u8| {
        let mut nonce = [0; 32];
        ChaCha20Rng::from_seed([seed; 32]).fill_bytes(&mut nonce);
        nonce
    };
    let sizes = |items: u64| format!("{{\"items\":{items},\"entries\":0,\"row_bytes\":0,\"schema\":\"\"}}");
    let terms = "{\"gives\":{},\"id\":\"test\",\"job\":\"intersect\",\"key\":{\"columns\":[\"name\"],\"duplicates\":\"all\",\
                 \"normalize\":[\"name\"],\"nulls\":\"skip\",\"profiles_version\":4},\"level\":\"bits128\",\
                 \"limits\":{\"max_rows\":1000},\"order\":[\"hospital\",\"insurer\"],\"parties\":{\"hospital\":\
                 {\"identity\":null},\"insurer\":{\"identity\":null}},\"protocol\":\"auto\",\"reveal\":\"rows\",\
                 \"reveal_to\":[\"hospital\",\"insurer\"],\"security\":\"semi-honest\"}";
    let (one, two) = (sizes(3), sizes(4));
    let mut hasher = blake3::Hasher::new_derive_key("tacita 1 transcript handshake");
    for (label, value) in [
        ("terms", terms.as_bytes()),
        ("nonce", &nonce(1)),
        ("nonce", &nonce(2)),
        ("exporter", &EXPORTER),
        ("sizes", one.as_bytes()),
        ("sizes", two.as_bytes()),
        ("choice", b"ecdh"),
        ("challenge", b"session"),
    ] {
        for part in [label.as_bytes(), value] {
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
        }
    }
    assert_eq!(sessions(&job, [EXPORTER; 2], [1, 2], [3, 4])[0], *hasher.finalize().as_bytes());
}

#[test]
fn parties_with_one_session_confirm_it_and_others_do_not() {
    let confirm = |sessions: [Session; 2], reflected: bool| {
        let (mut one, mut two) = Channel::pair("hospital", "insurer");
        let job = &rows();
        let [first, second] = &sessions;
        std::thread::scope(|scope| {
            let theirs = scope.spawn(move || {
                if reflected {
                    // What it gets is what it says.
                    let said = two.receive(Label::new(0xf3, "confirm"), 32)?;
                    two.send(Label::new(0xf3, "confirm"), said)?;
                    two.finish().map(drop)
                } else {
                    let confirmed = handshake::confirm(second, job, "insurer", &mut two);
                    if let Err(error) = &confirmed {
                        two.abort(error);
                    }
                    confirmed
                }
            });
            let ours = handshake::confirm(first, job, "hospital", &mut one);
            // Nobody waits for a party that takes its own confirmation for the peer's.
            match &ours {
                Ok(()) => drop(one),
                Err(error) => one.abort(error),
            }
            (ours, theirs.join().unwrap())
        })
    };
    let session = |label: &str| Session::new(Transcript::new(label));
    let (one, two) = confirm([session("a"), session("a")], false);
    assert_eq!((one, two), (Ok(()), Ok(())));
    let (one, two) = confirm([session("a"), session("b")], false);
    assert_eq!((one.unwrap_err().kind(), two.unwrap_err().kind()), (ErrorKind::Protocol, ErrorKind::Protocol));
    let (one, _) = confirm([session("a"), session("a")], true);
    assert_eq!(one.unwrap_err().kind(), ErrorKind::Protocol, "our own confirmation must not confirm");
}
