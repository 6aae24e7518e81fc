//! Any number of parties decrypts together in every order, and whoever deviates is named.

use chacha20::ChaCha20Rng;
use rand_core::SeedableRng;

use super::dealing::{Dealer, join, receive};
use super::*;
use crate::primitive::group::{ModP, P384, Ristretto255, ScalarField};
use crate::security::Level;

fn rng(seed: u8) -> ChaCha20Rng {
    ChaCha20Rng::from_seed([seed; 32])
}

fn context() -> Transcript {
    Transcript::new("test")
}

struct Parties<G: Group> {
    shares: Vec<KeyShare<G>>,
    keys: Vec<VerificationKey<G>>,
}

fn all_of<G: Group + Sync>(group: &G, parties: usize) -> (Parties<G>, ElGamalPublicKey<G>) {
    let shares: Vec<_> = (0..parties).map(|place| KeyShare::generate(group, &mut rng(place as u8))).collect();
    let keys: Vec<_> = shares.iter().map(|share| share.verification_key(group)).collect();
    let prove = |(place, share): (usize, &KeyShare<G>)| share.prove_possession(group, place, &context(), &mut rng(50));
    let proofs: Vec<_> = shares.iter().enumerate().map(prove).collect();
    let key = joint_key(group, &keys, &proofs, &context(), &mut rng(51)).unwrap();
    (Parties { shares, keys }, key)
}

/// Decrypts with the parties, of whom the one at `culprit` adds twice its share to one ciphertext: m G of each, or who
/// it was.
fn decrypt<G: Group + Sync>(
    group: &G,
    parties: &Parties<G>,
    order: PartyOrder,
    ciphertexts: &[Ciphertext<G>],
    culprit: Option<usize>,
) -> Result<Vec<G::Point>, Culprit> {
    let count = parties.shares.len();
    let mut told: Vec<Contribution<G>> = Vec::new();
    for place in 0..count {
        let before = order.before(place, count);
        assert!(before.iter().all(|other| *other < place), "{order:?}: those before come before");
        let given: Vec<&[G::Point]> = before.iter().map(|&other| &told[other].sums[..]).collect();
        let mut own =
            parties.shares[place].contribute(group, place, ciphertexts, &given, &context(), &mut rng(60 + place as u8));
        if culprit == Some(place) {
            let last = ciphertexts.len() - 1;
            let more = group.multiply(&[ciphertexts[last][0].clone()], &parties.shares[place].0);
            own.sums[last] = group.add(&own.sums[last..], &more).remove(0);
        }
        told.push(own);
    }
    // All at once, which is as good as one by one.
    let before: Vec<Vec<&[G::Point]>> = (0..count)
        .map(|place| order.before(place, count).into_iter().map(|other| &told[other].sums[..]).collect())
        .collect();
    let all: Vec<_> = (0..count)
        .map(|place| ThresholdView {
            place,
            key: &parties.keys[place],
            given: &before[place],
            contribution: &told[place],
        })
        .collect();
    let found = check(group, ciphertexts, &all, &context(), &mut rng(61));
    let alone = all.chunks(1).find_map(|one| check(group, ciphertexts, one, &context(), &mut rng(61)).err());
    assert_eq!(found.err(), alone);
    found?;
    let zero = vec![group.combine(&[], &[]); ciphertexts.len()];
    let last = order.last(count).into_iter();
    let sums = last.fold(zero, |sums, place| group.add(&sums, &told[place].sums));
    Ok(open(group, ciphertexts, &sums))
}

fn encodings<G: Group>(group: &G, points: &[G::Point]) -> Vec<u8> {
    group.encode(points)
}

fn together<G: Group + Sync>(group: &G, counts: &[usize]) {
    let messages: Vec<G::Scalar> = [0, 1, 2, 77, u64::MAX].map(|message| group.scalar(message)).into();
    let expected = encodings(group, &group.multiply_generator(&messages));
    for &count in counts {
        let (parties, key) = all_of(group, count);
        let ciphertexts = key.encrypt(group, &messages, &mut rng(7));
        for order in PartyOrder::ALL {
            let opened = decrypt(group, &parties, order, &ciphertexts, None).unwrap();
            assert_eq!(encodings(group, &opened), expected, "{count} in {order:?}");
            assert!(decrypt(group, &parties, order, &[], None).unwrap().is_empty());
            for culprit in 0..count {
                let found = decrypt(group, &parties, order, &ciphertexts, Some(culprit)).map(drop);
                assert_eq!(found, Err(Culprit(culprit)), "{count} in {order:?}");
            }
        }
        // All but one are too few.
        let some = Parties { shares: parties.shares.into_iter().skip(1).collect(), keys: parties.keys[1..].to_vec() };
        if count > 1 {
            let opened = decrypt(group, &some, PartyOrder::Chain, &ciphertexts, None).unwrap();
            assert_ne!(encodings(group, &opened), expected);
        }
    }
}

#[test]
fn all_decrypt_together_in_every_order() {
    together(&Ristretto255, &[1, 2, 3, 4, 7]);
    together(&P384::new(), &[2]);
    together(&ModP::of(Level::Paper80), &[1, 3]);
}

#[test]
#[ignore = "slow: all numbers of parties up to nine"]
fn all_of_any_number_decrypt_together() {
    together(&Ristretto255, &[5, 6, 8, 9]);
    together(&P384::new(), &[1, 2]);
    together(&ModP::of(Level::Paper80), &[1, 2, 3]);
}

#[test]
fn a_tree_has_few_levels() {
    for parties in 1..=64 {
        let mut used = vec![0; parties];
        let mut steps = vec![0; parties];
        for place in 0..parties {
            let before = PartyOrder::Tree.before(place, parties);
            assert!(before.len() <= 2);
            steps[place] = before.iter().map(|&other| steps[other] + 1).max().unwrap_or(0);
            before.into_iter().for_each(|other| used[other] += 1);
        }
        // Everybody but the last gives its sums to one other.
        assert!(used[..parties - 1].iter().all(|times| *times == 1) && used[parties - 1] == 0);
        assert_eq!(steps[parties - 1], PartyOrder::Tree.steps(parties), "{parties}");
    }
}

/// Checks that a rogue key is refused. A party that waits for the others' keys, and subtracts them from its own, would
/// know the joint key. It cannot prove that it knows its share.
#[test]
fn a_key_that_cancels_the_others_is_refused() {
    let group = Ristretto255;
    let honest: Vec<_> = (0..2).map(|place| KeyShare::generate(&group, &mut rng(place))).collect();
    let known = KeyShare::generate(&group, &mut rng(9));
    let mut rogue = known.verification_key(&group).0;
    for share in &honest {
        rogue = group.subtract(&[rogue], &[share.verification_key(&group).0]).remove(0);
    }
    let keys = vec![honest[0].verification_key(&group), honest[1].verification_key(&group), VerificationKey(rogue)];
    let prove = |share: &KeyShare<_>, place| share.prove_possession(&group, place, &context(), &mut rng(8));
    let honest_proofs = [prove(&honest[0], 0), prove(&honest[1], 1)];
    // With a proof of what it knows, with somebody else's, and with none.
    for forged in [vec![prove(&known, 2)], vec![honest_proofs[0].clone()], vec![]] {
        let proofs = [&honest_proofs[..], &forged].concat();
        let joined = joint_key(&group, &keys, &proofs, &context(), &mut rng(1)).map(drop);
        assert_eq!(joined, Err(Culprit(2)));
    }
    // Nor does a proof serve in another's place, or in another session.
    let proofs = [prove(&honest[0], 1), prove(&honest[1], 1)];
    assert_eq!(joint_key(&group, &keys[..2], &proofs, &context(), &mut rng(1)).map(drop), Err(Culprit(0)));
    let another = Transcript::new("another");
    assert_eq!(joint_key(&group, &keys[..2], &honest_proofs, &another, &mut rng(1)).map(drop), Err(Culprit(0)));
}

#[test]
fn any_set_of_enough_decrypts() {
    let group = Ristretto255;
    let messages: Vec<_> = (0..3).map(|message| group.scalar(message)).collect();
    let expected = group.encode(&group.multiply_generator(&messages));
    for (threshold, count) in [(1, 1), (1, 3), (2, 3), (3, 4), (4, 4), (3, 5)] {
        let dealers: Vec<_> = (0..count).map(|place| Dealer::new(&group, threshold, &mut rng(place))).collect();
        let deal = |(place, dealer): (usize, &Dealer<_>)| dealer.deal(&group, place, &context(), &mut rng(30));
        let dealt: Vec<_> = dealers.iter().enumerate().map(deal).collect();
        let (key, keys) = join(&group, threshold, &dealt, &context(), &mut rng(31)).unwrap();
        let given = |place| dealers.iter().map(|dealer| dealer.share(&group, place)).collect::<Vec<_>>();
        let shares: Vec<_> =
            (0..count as usize).map(|place| receive(&group, place, &dealt, &given(place)).unwrap()).collect();
        let ciphertexts = key.encrypt(&group, &messages, &mut rng(32));
        for set in
            (1u32..1 << count).map(|set| (0..count as usize).filter(|place| set >> place & 1 == 1).collect::<Vec<_>>())
        {
            let among =
                |place: &usize| (shares[*place].among(&group, *place, &set), keys[*place].among(&group, *place, &set));
            let (shares, keys) = set.iter().map(among).unzip();
            let opened = decrypt(&group, &Parties { shares, keys }, PartyOrder::Tree, &ciphertexts, None).unwrap();
            assert_eq!(group.encode(&opened) == expected, set.len() >= threshold, "{threshold} of {count}: {set:?}");
        }
        // A dealer that tells one party something else than all is found by that one.
        for culprit in 0..count as usize {
            let mut wrong = given(0);
            wrong[culprit] = group.plus(&wrong[culprit], &group.scalar(1));
            assert_eq!(receive(&group, 0, &dealt, &wrong).map(drop).unwrap_err(), Culprit(culprit));
            // So is one whose polynomial has another degree, or whose proof is another's.
            let mut longer = dealt.clone();
            longer[culprit] =
                Dealer::new(&group, threshold + 1, &mut rng(3)).deal(&group, culprit, &context(), &mut rng(4));
            assert_eq!(join(&group, threshold, &longer, &context(), &mut rng(1)).map(drop), Err(Culprit(culprit)));
            let mut copied = dealt.clone();
            copied[culprit].proof = dealers[culprit].deal(&group, culprit + 1, &context(), &mut rng(1)).proof;
            assert_eq!(join(&group, threshold, &copied, &context(), &mut rng(1)).map(drop), Err(Culprit(culprit)));
        }
    }
}

#[test]
fn a_share_is_not_printed() {
    let share = KeyShare::generate(&Ristretto255, &mut rng(1));
    assert_eq!(format!("{share:?}"), "KeyShare(..)");
    assert_eq!(format!("{:?}", Dealer::new(&Ristretto255, 2, &mut rng(1))), "Dealer(..)");
}

/// A proof that a party knows its share is none that it has decrypted, not even nothing; and that of a dealer is for
/// what it commits to.
#[test]
fn a_proof_is_for_one_purpose() {
    let group = &Ristretto255;
    let share = KeyShare::generate(group, &mut rng(1));
    let key = share.verification_key(group);
    let told = |proof: Proof<Ristretto255>| {
        let contribution = Contribution { sums: Vec::new(), proof };
        let told = ThresholdView { place: 3, key: &key, given: &[], contribution: &contribution };
        check(group, &[], &[told], &context(), &mut rng(2))
    };
    assert_eq!(told(share.contribute(group, 3, &[], &[], &context(), &mut rng(3)).proof), Ok(()));
    assert_eq!(told(share.prove_possession(group, 3, &context(), &mut rng(3))), Err(Culprit(3)));

    let dealers = [0, 1].map(|place| Dealer::new(group, 2, &mut rng(place)));
    let mut dealt = [0, 1].map(|place| dealers[place].deal(group, place, &context(), &mut rng(4)));
    assert!(join(group, 2, &dealt, &context(), &mut rng(5)).is_ok());
    dealt[1].commitments[1] = group.random_points(1, &mut rng(6)).remove(0);
    assert_eq!(join(group, 2, &dealt, &context(), &mut rng(5)).map(drop), Err(Culprit(1)));
}
