//! Words of parties to each other before they begin: the same to all.

use super::*;

/// Some would hear the one word, and some the other.
#[test]
fn a_second_word_of_a_party_ends_the_run() {
    let home = tempfile::tempdir().unwrap();
    let setting = Setting::new(home.path());
    setting.serve(|| {
        let terms = Terms::of(&setting.job).canonical();
        let mut channel = setting.connect(0);
        let mut ask = |request: DepotRequest<'_>| {
            channel.send(DEPOT_REQUEST, request.write()).unwrap();
            channel.receive_up_to(DEPOT_ANSWER, MAX_FRAME_BYTES).unwrap()
        };
        let arrived = ask(DepotRequest::Arrive { ticket: [1; 32], begun: false, terms: terms.as_bytes() });
        assert_eq!(DepotResponse::read(&arrived), Some(DepotResponse::Welcome));
        let word = |byte| vec![byte; setting.helping().word_bytes()];
        assert_eq!(DepotResponse::read(&ask(DepotRequest::Announce(&word(1)))), Some(DepotResponse::Missing(&[1, 2])));
        let second = ask(DepotRequest::Announce(&word(2)));
        let named = DepotResponse::Ended {
            by: DepotParty::Helper,
            kind: ErrorKind::Protocol,
            culprit: Some(DepotParty::Party(0)),
        };
        assert_eq!(DepotResponse::read(&second), Some(named));
        drop(channel);
        is_well(&setting);
    });
}

/// A run that begins without a party waits for it in vain, and ends for all.
#[test]
fn no_run_begins_with_the_word_of_a_party_that_has_left() {
    let home = tempfile::tempdir().unwrap();
    let setting = Setting::new(home.path());
    setting.serve(|| {
        let terms = Terms::of(&setting.job).canonical();
        let word = |place| vec![place as u8; setting.helping().word_bytes()];
        let arrive = |place: usize| {
            let mut channel = setting.connect(place);
            let ticket = [place as u8 + 1; 32];
            channel
                .send(DEPOT_REQUEST, DepotRequest::Arrive { ticket, begun: false, terms: terms.as_bytes() }.write())
                .unwrap();
            let arrived = channel.receive_up_to(DEPOT_ANSWER, MAX_FRAME_BYTES).unwrap();
            assert_eq!(DepotResponse::read(&arrived), Some(DepotResponse::Welcome));
            channel
        };
        let announce = |channel: &mut Channel, place: usize| {
            channel.send(DEPOT_REQUEST, DepotRequest::Announce(&word(place)).write()).unwrap();
            channel.receive_up_to(DEPOT_ANSWER, MAX_FRAME_BYTES).unwrap()
        };
        let mut first = arrive(0);
        assert_eq!(DepotResponse::read(&announce(&mut first, 0)), Some(DepotResponse::Missing(&[1, 2])));
        drop(first);
        let mut second = arrive(1);
        let left = (0..20).any(|_| announce(&mut second, 1) == DepotResponse::Missing(&[0, 2]).write());
        assert!(left, "its connection has ended");
        let mut third = arrive(2);
        assert_eq!(DepotResponse::read(&announce(&mut third, 2)), Some(DepotResponse::Missing(&[0])));
        let mut back = arrive(0);
        let all = [0, 1, 2].map(word).concat();
        assert_eq!(DepotResponse::read(&announce(&mut back, 0)), Some(DepotResponse::Told(&all)));
    });
}

/// A helper that passes on another word in the place of a party's, as to swap its key: under an identity of its own, or
/// with the signature of another party's word.
#[test]
fn a_helper_that_swaps_a_word_is_found_out() {
    let home = tempfile::tempdir().unwrap();
    let setting = Setting::new(home.path());
    let agreement = Terms::of(&setting.job).agreement_bytes();
    for cheat in 0..3 {
        let listener = TcpListener::bind(&setting.address).unwrap();
        let (words, all_here) = (Mutex::new(vec![Vec::new(); 3]), Barrier::new(3));
        let arrived = |who, connected: tacita_node::transport::Connected| {
            let me = setting.parties.iter().position(|party| party.fingerprint() == who).unwrap();
            let mut channel = connected.channel;
            while let Ok(bytes) = channel.receive_up_to(DEPOT_REQUEST, MAX_FRAME_BYTES) {
                let answer = match DepotRequest::read(&bytes) {
                    Some(DepotRequest::Arrive { .. }) => DepotResponse::Welcome.write(),
                    Some(DepotRequest::Announce(word)) => {
                        words.lock().unwrap()[me] = word.to_vec();
                        all_here.wait();
                        let mut all = words.lock().unwrap().clone();
                        if me != 1 {
                            all[1] = match cheat {
                                0 => word::sign(&setting.helper, &agreement, 1, &setting.word(9)).unwrap(),
                                1 => all[2].clone(),
                                _ => word::sign(&setting.parties[1], &[0; 32], 1, &setting.word(1)).unwrap(),
                            };
                        }
                        DepotResponse::Told(&all.concat()).write()
                    }
                    _ => DepotResponse::Done.write(),
                };
                if channel.send(DEPOT_ANSWER, answer).is_err() {
                    return;
                }
            }
        };
        let cancel = ConnectCancel::default();
        let options = Options { purpose: Purpose::Helper, cancel: cancel.clone(), ..Options::default() };
        let pins: Vec<_> = setting.parties.iter().map(Identity::fingerprint).collect();
        std::thread::scope(|scope| {
            let (options, arrived, listener, identity) = (&options, &arrived, &listener, &setting.helper);
            let pins = &pins;
            scope.spawn(move || {
                let _ = door::admit((listener, identity), options, "a party", &|| pins.clone(), arrived, &|_, _| ());
            });
            let ends = setting.all(|me, client| client.announce(setting.word(me as u8)));
            for me in [0, 2] {
                let error = ends[me].as_ref().unwrap_err();
                assert!(
                    matches!(error, Error::Authentication { peer, .. } if peer == "the helper, or b,"),
                    "{cheat}: {error:?}"
                );
            }
            assert!(ends[1].is_ok(), "its own word is as it told it");
            cancel.cancel();
        });
    }
}
