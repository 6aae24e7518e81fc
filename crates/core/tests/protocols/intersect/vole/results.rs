//! `vole` against the plaintext intersection.

use crate::support::*;
use proptest::prelude::*;
use tacita_core::channel::HEADER_BYTES;
use tacita_core::protocol::intersect::tag_exchange::Params;
use tacita_core::protocol::intersect::vole;
use tacita_core::{Channel, ErrorKind, Result, Role, Security};

const VOLE_VARIANTS: [Variant; 5] =
    [Variant::Rows, Variant::RowsBoth, Variant::Payload, Variant::PayloadBoth, Variant::PayloadReturned];

/// The variants, with the securities that they can have.
fn variants() -> impl Iterator<Item = (Variant, Security)> {
    let to_both = |variant| ![Variant::Rows, Variant::Payload].contains(&variant);
    VOLE_VARIANTS.into_iter().flat_map(move |variant| {
        let malicious = (!to_both(variant)).then_some((variant, Security::Malicious));
        [Some((variant, Security::SemiHonest)), malicious].into_iter().flatten()
    })
}

/// Checks that both parties learn just what they should.
fn check(case: Case, security: Security) {
    let case = case.by_vole(security, 5);
    let (received, sent) = run(&case);
    let ((received, receiver_traffic), (sent, sender_traffic)) = (received.unwrap(), sent.unwrap());
    assert_eq!((received, sent), case.expected());
    assert_eq!(receiver_traffic.received, sender_traffic.sent);
    assert_eq!(sender_traffic.received, receiver_traffic.sent);
}

#[test]
fn all_small_sizes() {
    for (variant, security) in variants() {
        for receiver in 0..4 {
            for sender in 0..4 {
                for shift in [0, 1, 3] {
                    for padding in [0, 2] {
                        let (mine, theirs) = (items(0..receiver), items(shift..shift + sender));
                        check(Case::new(variant, mine, theirs, padding, 2), security);
                    }
                }
            }
        }
    }
}

#[test]
fn every_size_up_to_300() {
    for size in 0..=300 {
        let security = [Security::SemiHonest, Security::Malicious][size % 2];
        check(Case::new(Variant::Rows, items(0..size), items(size / 3..size + 17), 0, 64), security);
        check(Case::new(Variant::Rows, items(0..29), items(size / 3..size), size % 5, 64), security);
    }
}

#[test]
fn sizes_around_powers_of_two_and_bins() {
    for log in 9..=13 {
        for size in [(1 << log) - 1, 1 << log, (1 << log) + 1] {
            let other = items(size / 2..size + 100);
            check(Case::new(Variant::Rows, items(0..size), other, 0, 4096), Security::SemiHonest);
        }
    }
    for (receiver, sender) in [(65_536, 10), (65_537, 70_000), (3, 150_000)] {
        let (mine, theirs) = (items(0..receiver), items(1..sender));
        check(Case::new(Variant::RowsBoth, mine, theirs, 2, 4096), Security::SemiHonest);
    }
}

#[test]
fn unequal_all_and_none() {
    for (variant, security) in variants() {
        check(Case::new(variant, items(500..502), items(0..2000), 0, 512), security);
        check(Case::new(variant, items(0..2000), items([1999, 0]), 0, 512), security);
        check(Case::new(variant, items(0..257), items((0..257).rev()), 0, 100), security);
        check(Case::new(variant, items(0..101), items(101..202), 3, 100), security);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn random_sets(
        variant in 0..VOLE_VARIANTS.len() + 2,
        mine in proptest::collection::hash_set(0usize..90, 0..60),
        theirs in proptest::collection::hash_set(0usize..90, 0..60),
        padding in 0usize..20,
        chunk in 1usize..20,
    ) {
        let (variant, security) = variants().nth(variant).unwrap();
        check(Case::new(variant, items(mine), items(theirs), padding, chunk), security);
    }
}

/// Checks the costs with base OTs, OT extension and silent VOLE below: the traffic of all of them is counted
/// beforehand.
#[test]
fn everything_together_costs_what_the_formulas_say() {
    for (variant, security) in variants() {
        for (receiver, sender, padding) in [(0, 3, 0), (1, 1, 0), (300, 5000, 2), (9000, 77, 0)] {
            let (mine, theirs) = (items(0..receiver), items(receiver / 2..receiver / 2 + sender));
            let case = Case::new(variant, mine, theirs, padding, 4096).by_real_vole(security);
            let (received, sent) = run(&case);
            let ((received, receiver_traffic), (sent, sender_traffic)) = (received.unwrap(), sent.unwrap());
            assert_eq!((received, sent), case.expected());
            let params = vole::Params { entries: case.params, security };
            let returned = case.returned();
            assert_eq!(receiver_traffic.sent, params.bytes_sent_by(Role::Receiver, returned).unwrap());
            assert_eq!(sender_traffic.sent, params.bytes_sent_by(Role::Sender, returned).unwrap());
            let rounds = [receiver_traffic.rounds, sender_traffic.rounds];
            assert_eq!(rounds, [params.rounds(returned); 2], "{variant:?} {security:?} {receiver} {sender}");
        }
    }
}

/// Several runs at once find what each finds alone, with the bytes and flights of all together and one end.
#[test]
fn several_runs_at_once_find_what_each_finds_alone() {
    for variant in [Variant::Rows, Variant::Payload] {
        let sizes = [(0..40, 20..61, 0), (0..0, 3..9, 2), (5..12, 0..3, 0)];
        let cases = sizes.map(|(mine, theirs, padding)| {
            Case::new(variant, items(mine), items(theirs), padding, 8).by_real_vole(Security::Malicious)
        });
        let sessions = [0, 1, 2].map(|run| session().child("run", run));
        let params = cases.each_ref().map(|case| vole::Params { entries: case.params, security: Security::Malicious });
        let input = |run: usize, items| vole::VoleInput { items, session: &sessions[run], params: &params[run] };
        let receive = |channel: &mut Channel| -> Result<Vec<Learned>> {
            let inputs = [0, 1, 2].map(|run| input(run, &cases[run].receiver[..]));
            Ok(match variant {
                Variant::Rows => {
                    let all = vole::rows::receive_each(&inputs, channel, &mut rng(1))?;
                    all.into_iter().map(Learned::Rows).collect()
                }
                _ => {
                    let all = vole::payload::receive_each(&inputs, channel, &mut rng(1))?;
                    all.into_iter().map(|common| Learned::Payload(common.items, common.payload)).collect()
                }
            })
        };
        let send = |channel: &mut Channel| -> Result<Vec<Learned>> {
            let inputs = [0, 1, 2].map(|run| input(run, &cases[run].sender[..]));
            match variant {
                Variant::Rows => vole::rows::send_each(&inputs, channel, &mut rng(2))?,
                _ => {
                    let inputs = [0, 1, 2].map(|run| (inputs[run], &cases[run].sender_rows));
                    vole::payload::send_each(&inputs, channel, &mut rng(2))?;
                }
            }
            Ok(Vec::new())
        };
        let (received, sent) = two::run(&receive, &send);
        let ((received, receiver_traffic), (_, sender_traffic)) = (received.unwrap(), sent.unwrap());
        assert_eq!(received, cases.each_ref().map(|case| case.expected().0));
        let ends = (cases.len() - 1) * HEADER_BYTES;
        for (role, traffic) in [(Role::Receiver, receiver_traffic), (Role::Sender, sender_traffic)] {
            let each = params.iter().zip(&cases);
            let bytes: u64 = each.map(|(params, case)| params.bytes_sent_by(role, case.returned()).unwrap()).sum();
            assert_eq!(traffic.sent, bytes - ends as u64, "{variant:?} {role:?}");
            let rounds: u32 = params.iter().zip(&cases).map(|(params, case)| params.rounds(case.returned())).sum();
            assert_eq!(traffic.rounds, rounds, "{variant:?} {role:?}");
        }
    }
}

#[test]
fn several_runs_at_once_are_for_malicious_parties() {
    let params = vole::Params::new(Params::rows(1, 1), Security::SemiHonest).unwrap();
    let (items, session) = (items(0..1), session());
    let (mut one, _other) = Channel::pair("first", "second");
    for inputs in [&[vole::VoleInput { items: &items, session: &session, params: &params }][..], &[]] {
        let received = vole::rows::receive_each(inputs, &mut one, &mut rng(1));
        assert_eq!(received.unwrap_err().kind(), ErrorKind::Internal);
        assert_eq!(vole::rows::send_each(inputs, &mut one, &mut rng(1)).unwrap_err().kind(), ErrorKind::Internal);
    }
}

/// Checks as many items as a million-row table has, in one bin and in many, with both securities.
#[test]
#[ignore = "takes a minute"]
fn large_sets() {
    for log in [18, 20] {
        for size in [(1 << log) - 1, 1 << log, (1 << log) + 1] {
            for security in [Security::SemiHonest, Security::Malicious] {
                let case = Case::new(Variant::Rows, items(0..size), items(size / 2..size + 9), 0, 4096);
                let case = case.by_real_vole(security);
                let (received, sent) = run(&case);
                let Learned::Rows(common) = received.unwrap().0 else { panic!("rows were asked for") };
                assert!(common.into_iter().eq(size / 2..size));
                sent.unwrap();
            }
        }
    }
}

#[test]
fn what_a_caller_does_wrong_is_an_error() {
    for (variant, security) in variants() {
        // An item twice at the receiver, and at the sender.
        let twice = Case::new(variant, items([0, 1, 0]), items([5, 6]), 0, 2).by_vole(security, 5);
        let (received, sent) = run(&twice);
        assert_eq!(received.unwrap_err().kind(), ErrorKind::Internal);
        assert!(sent.is_err());
        let twice = Case::new(variant, items([5, 6]), items([0, 1, 0]), 0, 2).by_vole(security, 5);
        let (received, sent) = run(&twice);
        assert_eq!(sent.unwrap_err().kind(), ErrorKind::Internal);
        assert!(received.is_err());
        // More items than were agreed on.
        let mut many = Case::new(variant, items(0..3), items(0..3), 0, 2).by_vole(security, 5);
        (many.params.receiver_items, many.params.sender_entries) = (2, 2);
        let (received, sent) = run(&many);
        assert_eq!(received.unwrap_err().kind(), ErrorKind::Internal);
        assert_eq!(sent.unwrap_err().kind(), ErrorKind::Internal);
    }
}
