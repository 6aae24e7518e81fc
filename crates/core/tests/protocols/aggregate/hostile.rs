//! Participants that have programs of their own, and bytes that no honest role sends. They change no other key's
//! result, and where a check is left out, they win.

use proptest::prelude::*;
use tacita_core::primitive::elgamal::known;
use tacita_core::primitive::group::{Embedding, Group, ScalarField};
use tacita_core::protocol::aggregate::*;
use tacita_core::protocol::published::aggregate::naor_reingold::basic;
use tacita_core::session::Transcript;

use crate::aggregate::forged::*;
use crate::aggregate::round::*;

const THRESHOLD: RevealThreshold = RevealThreshold { count: 2, distinct: 2 };

/// Two honest participants, who have two keys in common, and what a hostile third one reports beside them.
fn with(round: &mut Round, reports: &[u8]) -> Vec<u8> {
    let common = [entry(b"common", 1), entry(b"other", 0)];
    let mut entries = round.entries([("a", &common[..]), ("b", &[&common[..], &[entry(b"own", 1)]].concat())]);
    entries.extend(round.blind("hostile", reports).unwrap());
    round.shuffle(&entries)
}

fn honest_result() -> Revealed {
    [(b"common".to_vec(), vec![1, 1]), (b"other".to_vec(), vec![0, 0])].into()
}

fn refused(round: &mut Round, reports: &[u8]) -> Refused {
    round.blind("hostile", reports).unwrap_err()
}

#[test]
fn a_forger_knows_the_protocol() {
    let mut round = Round::new(20, 3, true, 1);
    let (report, _) = Forged::honest(&round, "hostile", b"own", 2).make(&mut round);
    let entries = with(&mut round, &report);
    let mut expected = honest_result();
    expected.insert(b"own".to_vec(), vec![1, 2]);
    assert_eq!(round.reveal(&entries, THRESHOLD), expected);
}

/// Another key under the right blinding: it is found, and its vote is lost.
#[test]
fn a_wrong_key_under_the_right_blinding() {
    let mut round = Round::new(16, 3, true, 2);
    let key = embedded(&round, b"victim");
    let (report, _) = Forged { key, ..Forged::honest(&round, "hostile", b"own", 2) }.make(&mut round);
    let entries = with(&mut round, &report);
    assert_eq!(round.reveal(&entries, THRESHOLD), honest_result());
    let own = round.rows(&entries).into_values().find(|row| row.iter().any(|entry| entry.value == 2)).unwrap();
    assert_eq!(own.len(), 2);
    let wrong = own.iter().position(|entry| entry.value == 2).unwrap() as u32;
    // Also where the others are fewer than agreed: the database learns that it is not the oracle who withholds a key.
    for least in [THRESHOLD, RevealThreshold::default()] {
        assert_eq!(round.ask(&own, least), RowAnswer::Inconsistent(vec![wrong]));
    }
    // An oracle that doesn't check would tell what this entry holds, as it does of the row that is really its.
    let sealed = ask(&round.params, &round.keys, &[&own[wrong as usize].sealed], &mut round.rng).unwrap();
    let victim = round.entries([("c", &[entry(b"victim", 0)][..])]);
    let row = *round.rows(&victim).keys().next().unwrap();
    let told = answer(&round.params, &round.proxy, &row, &sealed, &[0], RevealThreshold::default());
    assert_eq!(told, Ok(RowAnswer::Key(b"victim".to_vec())));
}

/// Checks points that are no key at all, and keys that are longer than agreed.
#[test]
fn what_is_no_key() {
    let mut round = Round::new(10, 3, true, 3);
    let random = GROUP.random_points(1, &mut rng(1));
    let long = GROUP.embed(&[7; 16]);
    for key in [random, long] {
        let (report, _) = Forged { key, ..Forged::honest(&round, "hostile", b"common", 2) }.make(&mut round);
        let entries = with(&mut round, &report);
        assert_eq!(round.reveal(&entries, THRESHOLD), honest_result());
    }
}

#[test]
fn the_identity_and_values_outside_the_domain_count_for_nothing() {
    let mut round = Round::new(16, 3, true, 4);
    let honest = Forged::honest(&round, "hostile", b"own", 0);
    let identity = one(GROUP.subtract(std::slice::from_ref(&honest.row), std::slice::from_ref(&honest.row)));
    let (mut reports, _) = Forged { row: identity, ..honest }.make(&mut round);
    for (number, value) in (1..).zip([0, 4, 1 << 40]) {
        let forged = Forged { value, number, ..Forged::honest(&round, "hostile", b"own", 0) };
        // A ciphertext of zero has no proof: its scalar is no scalar of the group's encoding, but the proof hides it.
        reports.extend(forged.make(&mut round).0);
    }
    let entries = with(&mut round, &reports);
    let dropped = open(&round.params, &round.database, &entries).unwrap().dropped;
    assert_eq!(dropped, Dropped { identity: 1, outside_domain: 3 });
    assert_eq!(round.reveal(&entries, THRESHOLD), honest_result());
}

/// Each point of each report in an encoding that is none.
#[test]
fn points_that_are_none() {
    let mut round = Round::new(20, 3, true, 5);
    let reports = round.report("hostile", &[entry(b"a", 0), entry(b"b", 1), entry(b"c", 2)]);
    let length = round.params.report_bytes();
    let odd = {
        let mut odd = [0; 32];
        odd[0] = 1;
        odd
    };
    for index in 0..3 {
        for place in 0..length / 32 {
            for (bytes, why) in [([0; 32], Why::Identity), ([0xff; 32], Why::NotAPoint), (odd, Why::NotAPoint)] {
                let mut wrong = reports.clone();
                wrong[index * length + 32 * place..][..32].copy_from_slice(&bytes);
                let found = refused(&mut round, &wrong);
                // Those of the proof, and its scalars, are part of a proof that does not hold.
                let why = if place < 8 { why } else { Why::Proof };
                assert_eq!(found, Refused { index: index as u64, why }, "place {place}");
            }
        }
    }
    assert_eq!(refused(&mut round, &reports[..reports.len() - 1]), Refused { index: 2, why: Why::Length });
    let entries = round.blind("hostile", &reports).unwrap();
    for place in 0..round.params.entry_bytes() / 32 {
        let mut wrong = entries.clone();
        wrong[round.params.entry_bytes() + 32 * place..][..32].fill(0xff);
        let found = open(&round.params, &round.database, &wrong);
        assert_eq!(found, Err(Refused { index: 1, why: Why::NotAPoint }));
    }
    assert!(open(&round.params, &round.database, &entries[1..]).is_err());
}

/// A value that its reporter doesn't know: another's, re-randomised.
#[test]
fn an_unknown_value() {
    let mut round = Round::new(16, 3, true, 6);
    let theirs = round.report("a", &[entry(b"secret", 2)]);
    let mine = round.report("hostile", &[entry(b"x", 0), entry(b"mine", 0)]);
    let (length, at) = (round.params.report_bytes(), round.params.report_bytes() + 64);
    let mut stolen = mine.clone();
    stolen[at..at + 64].copy_from_slice(&theirs[64..128]);
    assert_eq!(refused(&mut round, &stolen), Refused { index: 1, why: Why::Proof });
    // With its proof, too; and the other's key beside the own value.
    stolen[length + 192..].copy_from_slice(&theirs[192..]);
    assert_eq!(refused(&mut round, &stolen), Refused { index: 1, why: Why::Proof });
    let mut swapped = mine.clone();
    swapped[length..length + 64].copy_from_slice(&theirs[..64]);
    assert_eq!(refused(&mut round, &swapped), Refused { index: 1, why: Why::Proof });
    let mut swapped = mine;
    swapped[length + 128..length + 192].copy_from_slice(&theirs[128..192]);
    assert_eq!(refused(&mut round, &swapped), Refused { index: 1, why: Why::Proof });
    // A proof for a value that is not what is encrypted.
    let (mut report, _) = Forged::honest(&round, "hostile", b"own", 0).make(&mut round);
    let value = GROUP.multiply_generator(&[GROUP.scalar(1)]);
    let hidden = GROUP.decode(&report[96..128]).unwrap();
    report[96..128].copy_from_slice(&GROUP.encode(&GROUP.add(&hidden, &value)));
    assert_eq!(refused(&mut round, &report), Refused { index: 0, why: Why::Proof });
}

/// A report that was made by another, for another place, or in another round.
#[test]
fn replays() {
    let mut round = Round::new(16, 3, true, 7);
    let theirs = round.report("a", &[entry(b"secret", 2), entry(b"k", 1)]);
    assert!(round.blind("a", &theirs).is_ok());
    assert_eq!(refused(&mut round, &theirs), Refused { index: 0, why: Why::Proof });
    let moved = &theirs[round.params.report_bytes()..];
    assert_eq!(round.blind("a", moved), Err(Refused { index: 0, why: Why::Proof }));
    let (old, _) = Forged { round: "zero", ..Forged::honest(&round, "hostile", b"k", 0) }.make(&mut round);
    assert_eq!(refused(&mut round, &old), Refused { index: 0, why: Why::Proof });
    // A proof that is bound to the ciphertexts alone holds for everybody.
    let forged = Forged::honest(&round, "a", b"secret", 2);
    let (report, masks) = forged.make(&mut round);
    let b = one(GROUP.decode(&round.public.0[..32]).unwrap());
    let opening = known::Opening { scalar: GROUP.scalar(3), mask: masks[1].clone() };
    let weak = |_: usize| {
        let mut weak = Transcript::new("weak");
        weak.append("ciphertexts", &report[..192]);
        weak
    };
    let proof = known::prove(&GROUP, &GROUP.base(&b), &[opening], weak, &mut round.rng);
    let value = <[_; 2]>::try_from(GROUP.decode(&report[64..128]).unwrap()).ok().unwrap();
    assert_eq!(known::verify(&GROUP, &b, std::slice::from_ref(&value), &proof, weak, &mut round.rng), Ok(()));
    let bound = |_: usize| {
        Forged { participant: "hostile", ..Forged::honest(&round, "a", b"secret", 2) }.context(&round, &report[..192])
    };
    assert_eq!(known::verify(&GROUP, &b, &[value], &proof, bound, &mut rng(1)), Err(0));
}

/// The proxy's domain, which sees reports, and a participant, who puts another's ciphertexts into a report of its own,
/// under fresh masks. Of one that holds another's key the oracle would decrypt that key, when the row passes by itself;
/// one that is in another's row would let that pass.
#[test]
fn anothers_ciphertexts_are_nobodys_own() {
    for (values, distinct) in [(0, false), (3, true)] {
        let mut round = Round::new(16, values, distinct, 12);
        let theirs = round.report("a", &[entry(b"secret", 0)]);
        let [b, p] = keys(&round);
        let more = GROUP.random_scalars(1, &mut round.rng);
        let key_at = if values > 0 { 128 } else { 64 };
        let of_value = (values > 0).then(|| (64, b.clone(), 1));
        for (at, key, mask) in [(0, b.clone(), 0), (key_at, plus(&b, &p), 2)].into_iter().chain(of_value) {
            let forged = Forged::honest(&round, "hostile", b"popular", 0);
            let (mut report, mut masks) = forged.ciphertexts(&mut round);
            let stolen = GROUP.decode(&theirs[at..at + 64]).unwrap();
            let fresh = [one(GROUP.multiply_generator(&more)), times(&key, &more[0])];
            report[at..at + 64].copy_from_slice(&GROUP.encode(&GROUP.add(&stolen, &fresh)));
            // The best that it knows is by how much it has changed the mask; the other's proofs are of another report.
            masks[mask] = more[0].clone();
            let ciphertexts = report.clone();
            forged.prove(&mut round, &mut report, &masks);
            assert_eq!(refused(&mut round, &report), Refused { index: 0, why: Why::Proof });
            let replayed = [&ciphertexts[..], &theirs[ciphertexts.len()..]].concat();
            assert_eq!(refused(&mut round, &replayed), Refused { index: 0, why: Why::Proof });
        }
    }
    // A proxy that takes such reports: the oracle decrypts what it is not asked for.
    let mut round = Round::new(16, 0, false, 13);
    let (theirs, mine) = (round.report("a", &[entry(b"secret", 0)]), round.report("hostile", &[entry(b"popular", 0)]));
    let taken = basic::pass(&round.params, &[&mine[..64], &theirs[64..]].concat()).unwrap();
    let sealed = open(&round.params, &round.database, &taken).unwrap().rows.remove(0).sealed;
    let asked = ask(&round.params, &round.keys, &[&sealed], &mut round.rng).unwrap();
    let secret = round.entries([("b", &[entry(b"secret", 0)][..])]);
    let row = *round.rows(&secret).keys().next().unwrap();
    let decrypted = answer(&round.params, &round.proxy, &row, &asked, &[], RevealThreshold::default());
    assert_eq!(decrypted, Ok(RowAnswer::Key(b"secret".to_vec())));
}

/// The limit that the page names: a participant and the database together test whether a key is in the table. It counts
/// for no row.
#[test]
fn a_multiple_of_the_hash_tests_a_key_for_the_database() {
    let mut round = Round::new(16, 3, true, 8);
    let secret = GROUP.random_scalars(1, &mut rng(1)).remove(0);
    for (tested, there) in [(b"own", true), (b"not", false)] {
        let row = times(&hashed(&round, tested), &secret);
        let (report, _) = Forged { row, value: 3, ..Forged::honest(&round, "hostile", tested, 0) }.make(&mut round);
        let entries = with(&mut round, &report);
        assert_eq!(round.reveal(&entries, THRESHOLD), honest_result());
        let rows = round.rows(&entries);
        let planted = *rows.iter().find(|(_, row)| row[0].value == 2).unwrap().0;
        let found = rows.keys().any(|id| encoded(&times(&one(GROUP.decode(id).unwrap()), &secret)) == planted);
        assert_eq!(found, there);
        // Nor does the oracle tell of it.
        let row = rows[&planted].clone();
        assert_eq!(round.ask(&row, RevealThreshold::default()), RowAnswer::Inconsistent(vec![0]));
    }
}

/// Another limit that the page names: the oracle's own count is against a database that errs, not against one that
/// deviates.
#[test]
fn a_database_that_deviates_shows_one_report_several_times() {
    let mut round = Round::new(16, 0, true, 14);
    let entries = round.entries([("a", &[entry(b"own", 0)][..])]);
    let row = round.rows(&entries).into_values().next().unwrap();
    let three = RevealThreshold { count: 3, distinct: 3 };
    assert_eq!(round.ask(&row, three), RowAnswer::TooFew);
    let asked = ask(&round.params, &round.keys, &[&row[0].sealed[..]; 3], &mut round.rng).unwrap();
    let answered = answer(&round.params, &round.proxy, &row[0].id, &asked, &[0, 1, 2], three);
    assert_eq!(answered, Ok(RowAnswer::Key(b"own".to_vec())));
}

/// A proxy that would cancel the database's key, so that keys are open to it at once, can't prove that it knows the
/// difference's secret.
#[test]
fn keys_without_their_secrets() {
    let mut round = Round::new(16, 0, true, 9);
    let (database, proxy) = round.public.clone();
    let Round { params, rng, .. } = &mut round;
    let mut new = |database: &[u8], proxy: &[u8]| RoundKeys::new(params, database, proxy, rng).is_some();
    assert!(new(&database, &proxy));
    assert!(!new(&proxy, &database) && !new(&database, &database) && !new(&proxy, &proxy));
    let [b, p] = [&database, &proxy].map(|public| one(GROUP.decode(&public[..32]).unwrap()));
    let rogue = encoded(&one(GROUP.subtract(&[p], &[b])));
    assert!(!new(&database, &[&rogue[..], &proxy[32..]].concat()));
    for at in [0, 31, 32, 95] {
        let mut changed = proxy.clone();
        changed[at] ^= 2;
        assert!(!new(&database, &changed), "{at}");
    }
    assert!(!new(&database, &proxy[1..]) && !new(&[], &proxy));
    let other = Params::new(session("other"), 16, 0, true).unwrap();
    assert!(RoundKeys::new(&other, &database, &proxy, rng).is_none());
}

/// A database's and a proxy's key that cancel each other: what is encrypted for both would lie open. Their makers may
/// know the secrets.
#[test]
fn keys_that_cancel_each_other_are_no_keys() {
    let Round { params, proxy, mut rng, .. } = Round::new(16, 0, true, 14);
    let database = DatabaseKey::generate(&params, &mut rng);
    let secret = GROUP.decode_scalar(&database.to_bytes(&params)[2..]).unwrap();
    let negative = GROUP.minus(&GROUP.scalar(0), &secret);
    let mut bytes = proxy.to_bytes(&params).to_vec();
    let at = bytes.len() - 32;
    bytes[at..].copy_from_slice(&GROUP.encode_scalar(&negative));
    let rogue = ProxyKey::from_bytes(&params, &bytes).unwrap();
    let [of_database, of_proxy, of_rogue] =
        [database.public(&params, &mut rng), proxy.public(&params, &mut rng), rogue.public(&params, &mut rng)];
    assert!(RoundKeys::new(&params, &of_database, &of_proxy, &mut rng).is_some());
    assert!(RoundKeys::new(&params, &of_database, &of_rogue, &mut rng).is_none());
}

#[test]
fn secrets_are_those_of_their_public_key_alone() {
    let Round { params, proxy, keys, mut rng, .. } = Round::new(16, 0, true, 13);
    assert!(proxy.blinding().is_of(&params, &keys));
    let again = ProxyKey::from_bytes(&params, &proxy.to_bytes(&params)).unwrap();
    assert!(again.blinding().is_of(&params, &keys));
    assert!(!ProxyKey::generate(&params, &mut rng).blinding().is_of(&params, &keys));
    // Nor those of the round's other public key.
    let database = DatabaseKey::generate(&params, &mut rng);
    let (of_database, of_proxy) = (database.public(&params, &mut rng), proxy.public(&params, &mut rng));
    let others = RoundKeys::new(&params, &of_database, &of_proxy, &mut rng).unwrap();
    assert!(proxy.blinding().is_of(&params, &others), "whatever the database's is");
}

#[test]
fn questions_that_are_none() {
    let mut round = Round::new(16, 0, true, 10);
    let entries = round.entries([("a", &[entry(b"k", 0), entry(b"k", 0)][..])]);
    let row: Vec<ReportRow> = round.rows(&entries).into_values().next().unwrap();
    let sealed: Vec<&[u8]> = row.iter().map(|entry| &entry.sealed[..]).collect();
    let asked = ask(&round.params, &round.keys, &sealed, &mut round.rng).unwrap();
    let answered = |asked: &[u8], reporters: &[u32]| {
        answer(&round.params, &round.proxy, &row[0].id, asked, reporters, RevealThreshold::default())
    };
    assert_eq!(answered(&asked, &[0, 0]), Ok(RowAnswer::Key(b"k".to_vec())));
    assert_eq!(answered(&[], &[]), Ok(RowAnswer::TooFew));
    assert_eq!(answered(&asked[1..], &[0, 0]).unwrap_err(), Refused { index: 1, why: Why::Length });
    assert_eq!(answered(&asked, &[0]).unwrap_err(), Refused { index: 1, why: Why::Reporters });
    assert_eq!(answered(&asked, &[0, 0, 0]).unwrap_err(), Refused { index: 2, why: Why::Reporters });
    let mut wrong = asked.clone();
    wrong[64..96].fill(0);
    assert_eq!(answered(&wrong, &[0, 0]).unwrap_err(), Refused { index: 1, why: Why::Identity });
    // Under another row's id nothing is consistent.
    let other = answer(&round.params, &round.proxy, &[1; 32], &asked, &[0, 0], RevealThreshold::default());
    assert_eq!(other, Ok(RowAnswer::Inconsistent(vec![0, 1])));
    assert!(ask(&round.params, &round.keys, &[&row[0].sealed[1..]], &mut rng(1)).is_err());
    assert!(ask(&round.params, &round.keys, &[&[0xff; 64]], &mut rng(1)).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn whatever_comes_is_read_or_refused(
        bytes in prop::collection::vec(any::<u8>(), 0..700),
        values in 0..3u32,
        distinct: bool,
    ) {
        let mut round = Round::new(16, values, distinct, 11);
        let _ = round.blind("hostile", &bytes);
        let _ = open(&round.params, &round.database, &bytes);
        let _ = ask(&round.params, &round.keys, &[&bytes], &mut round.rng);
        let _ = answer(&round.params, &round.proxy, &[0; 32], &bytes, &[], RevealThreshold::default());
        let _ = (ProxyKey::from_bytes(&round.params, &bytes), DatabaseKey::from_bytes(&round.params, &bytes));
    }
}
