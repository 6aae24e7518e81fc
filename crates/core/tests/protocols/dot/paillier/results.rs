//! Scalar products by `paillier` against plaintext: every length, density and kind of integers; matrices, chunks,
//! several clients; their cost.

use crate::support::dot::{Dot, integers};
use crate::support::rng;
use tacita_core::channel::Traffic;
use tacita_core::primitive::paillier::{KeySize, PaillierCiphertexts, PaillierSecretKey};
use tacita_core::protocol::dot::paillier::{self, EncryptionSource, LiveEncryptions, Params, clients};
use tacita_core::protocol::dot::{Columns, Integers, Modulus, Shape, Shares, reveal};
use tacita_core::{Channel, Error, Level, Result, Side};

/// Keys of 512 bits are long enough for tests.
fn size() -> KeySize {
    KeySize::new(512).unwrap()
}

/// Runs two roles over a channel in memory.
fn both<A: Send, B: Send>(
    one: impl FnOnce(&mut Channel) -> Result<A> + Send,
    two: impl FnOnce(&mut Channel) -> Result<B> + Send,
) -> ((A, Traffic), (B, Traffic)) {
    let (mut first, mut second) = Channel::pair("first", "second");
    std::thread::scope(|scope| {
        let one = scope.spawn(move || one(&mut first).and_then(|result| Ok((result, first.finish()?))));
        let two = two(&mut second).and_then(|result| Ok((result, second.finish()?)));
        (one.join().unwrap().unwrap(), two.unwrap())
    })
}

/// Checks that both parties' shares add up to the products, and that bytes and rounds are those announced. Returns the
/// shares.
fn check(dot: &Dot, params: &Params) -> [Shares; 2] {
    let role = |side: Side| {
        let columns = dot.columns(side);
        move |channel: &mut Channel| {
            let shares = paillier::run(side, &columns, params, channel, &mut rng(1 + side as u8))?;
            let traffic = channel.traffic();
            assert_eq!((traffic.sent, traffic.rounds), (params.bytes_sent_by(side), params.rounds()), "{params:?}");
            Ok(shares)
        }
    };
    let ((first, _), (second, _)) = both(role(Side::First), role(Side::Second));
    assert_eq!(first.open(&second), dot.truth(params.modulus()), "{params:?}");
    if params.values() {
        let (values, zeros) = if params.encryptor() == Side::First { (&first, &second) } else { (&second, &first) };
        assert_eq!(values.residues(), dot.truth(params.modulus()));
        assert!(zeros.residues().iter().all(|&share| share == 0));
    }
    [first, second]
}

const LEARNERS: [Option<Side>; 3] = [None, Some(Side::First), Some(Side::Second)];

/// One of every `step` combinations.
fn one_product(step: usize) {
    let mut number = 0usize;
    let mut check = |dot: &Dot, params: &Params| {
        number += 1;
        if number.is_multiple_of(step) {
            check(dot, params);
        }
    };
    for rows in [0, 1, 2, 7, 8, 9, 63, 1000] {
        for density in [0.0, 0.3, 1.0] {
            let dot = Dot::random(Integers::BINARY, rows, (1, 1), density, 3);
            for learner in LEARNERS {
                let params = Params::new(dot.shape(), dot.shape().value_modulus().unwrap(), size(), learner).unwrap();
                assert_eq!(params.values(), learner.is_some());
                check(&dot, &params);
            }
            for modulus in [2, 13, 1 << 64, 1 << 127] {
                let params = Params::new(dot.shape(), Modulus::new(modulus).unwrap(), size(), None).unwrap();
                check(&dot, &params);
            }
        }
    }
}

/// Every length with every density; in turns, for every learner and modulo every number.
#[test]
fn one_product_of_every_length_and_density() {
    one_product(5);
}

#[test]
#[ignore = "slow: every combination"]
fn one_product_in_every_combination() {
    one_product(1);
}

/// Every kind of integers and every pair of extremes, for all learners or for one of them in turn.
fn kinds_of_integers(all: bool) {
    for bits in [1, 2, 8, 31, 32] {
        for signed in [false, true] {
            let integers = integers(bits, signed);
            let (low, high) = integers.range();
            let extreme = [(low, low), (low, high), (high, low), (high, high)];
            let constant = extreme.map(|(first, second)| Dot::constant(integers, 9, first, second));
            let random = Dot::random(integers, 100, (1, 1), 0.8, 5);
            for (turn, dot) in constant.iter().chain([&random]).enumerate() {
                let kind = bits as usize + usize::from(signed);
                for (place, learner) in LEARNERS.into_iter().enumerate() {
                    if !all && (kind + turn) % 3 != place {
                        continue;
                    }
                    let modulus = dot.shape().value_modulus().unwrap();
                    check(dot, &Params::new(dot.shape(), modulus, size(), learner).unwrap());
                }
                let small = Modulus::new(1 << 7).unwrap();
                let params = Params::new(dot.shape(), small, size(), Some(Side::First)).unwrap();
                assert_eq!(params.values(), dot.shape().fits(&small));
                if all || (kind + turn).is_multiple_of(3) {
                    check(dot, &params);
                }
            }
        }
    }
}

#[test]
fn integers_of_every_kind() {
    kinds_of_integers(false);
}

#[test]
#[ignore = "slow: every combination"]
fn integers_of_every_kind_for_every_learner() {
    kinds_of_integers(true);
}

/// Every shape with every kind of data, for all learners or for one of them in turn.
fn shapes(all: bool) {
    let counts = [(1, 2), (2, 1), (3, 3), (1, 17), (17, 1), (4, 3), (0, 3), (3, 0), (0, 0)];
    for (shape, counts) in counts.into_iter().enumerate() {
        let data = [(Integers::BINARY, 0), (Integers::BINARY, 77), (integers(5, true), 20)];
        for (kind, (integers, rows)) in data.into_iter().enumerate() {
            let dot = Dot::random(integers, rows, counts, 0.5, 9);
            for (place, learner) in LEARNERS.into_iter().enumerate() {
                let modulus = dot.shape().value_modulus().unwrap();
                let params = Params::new(dot.shape(), modulus, size(), learner).unwrap();
                let fewer = if counts.0 < counts.1 { Side::First } else { Side::Second };
                let equal = learner.unwrap_or(Side::First);
                assert_eq!(params.encryptor(), if counts.0 == counts.1 { equal } else { fewer });
                assert_eq!(params.values(), learner == Some(params.encryptor()));
                if all || (shape + kind + place).is_multiple_of(3) {
                    check(&dot, &params);
                }
            }
        }
    }
}

#[test]
fn matrices_of_every_shape() {
    shapes(false);
    // Answers in more than one message.
    let dot = Dot::random(Integers::BINARY, 3, (90, 100), 0.5, 9);
    let params = Params::new(dot.shape(), Modulus::new(1 << 64).unwrap(), size(), None).unwrap();
    assert!(params.bytes_sent_by(Side::Second) > 1 << 20);
    check(&dot, &params);
}

#[test]
#[ignore = "slow: every combination"]
fn matrices_of_every_shape_for_every_learner() {
    shapes(true);
}

#[test]
fn some_of_the_products() {
    let dot = Dot::random(Integers::BINARY, 60, (3, 4), 0.5, 9);
    let modulus = dot.shape().value_modulus().unwrap();
    let truth = dot.truth(modulus);
    let pairs_of = |shape: Shape, pairs: &[(u32, u32)]| Params::of_pairs(shape, modulus, size(), pairs);
    for pairs in [&[(2, 1), (0, 3), (1, 0), (0, 0)][..], &[(0, 2), (2, 2), (1, 2)]] {
        let params = pairs_of(dot.shape(), pairs).unwrap();
        assert_eq!((params.encryptor(), params.products()), (Side::First, pairs.len()));
        let (mine, theirs) = (dot.columns(Side::First), dot.columns(Side::Second));
        let role = |side: Side| {
            let (params, columns) = (&params, if side == Side::First { &mine } else { &theirs });
            move |channel: &mut Channel| {
                let shares = paillier::run(side, columns, params, channel, &mut rng(1 + side as u8))?;
                assert_eq!(channel.traffic().sent, params.bytes_sent_by(side));
                Ok(shares)
            }
        };
        let ((first, _), (second, _)) = both(role(Side::First), role(Side::Second));
        let expected: Vec<u128> = pairs.iter().map(|&(one, other)| truth[(one * 4 + other) as usize]).collect();
        assert_eq!(first.open(&second), expected);
    }
    // The second party's columns are fewer: it encrypts.
    let wide = Shape { first: 4, second: 2, ..dot.shape() };
    assert_eq!(pairs_of(wide, &[(3, 1), (0, 0)]).unwrap().encryptor(), Side::Second);
    let internal = |shape, pairs: &[(u32, u32)]| matches!(pairs_of(shape, pairs), Err(Error::Internal(_)));
    assert!(internal(dot.shape(), &[(0, 0), (1, 4), (2, 0)]) && internal(dot.shape(), &[(3, 0)]));
    assert!(internal(dot.shape(), &[(0, 0), (2, 0)]), "a column that is encrypted for nothing");
    assert!(internal(dot.shape(), &[(0, 0), (1, 0), (2, 0), (1, 0)]), "a pair twice");
}

#[test]
fn chunks_of_every_size() {
    let dot = Dot::random(Integers::BINARY, 100, (2, 2), 0.5, 11);
    let params = Params::new(dot.shape(), dot.shape().value_modulus().unwrap(), size(), None).unwrap();
    for chunk in [1, 3, 8, 33, 99, 100, 101] {
        assert_eq!(params.with_chunk(chunk).chunk(), chunk);
        check(&dot, &params.with_chunk(chunk));
    }
    assert_eq!(params.with_chunk(0).chunk(), 1);
    for level in [Level::Paper80, Level::Bits112, Level::Bits128, Level::Bits192, Level::Bits256] {
        let size = KeySize::of(level);
        let params = Params::new(dot.shape(), params.modulus(), size, None).unwrap();
        assert!(params.chunk() >= 64 && params.chunk() * size.ciphertext_bytes() <= 1 << 20);
        assert!(params.with_chunk(usize::MAX).chunk() * size.ciphertext_bytes() <= 1 << 20);
    }
}

#[test]
fn a_longer_key() {
    let dot = Dot::random(integers(32, true), 50, (1, 2), 0.5, 13);
    for learner in LEARNERS {
        let modulus = dot.shape().value_modulus().unwrap();
        check(&dot, &Params::new(dot.shape(), modulus, KeySize::of(Level::Paper80), learner).unwrap());
    }
}

#[test]
fn what_is_opened_is_the_product() {
    let dot = Dot::random(integers(9, true), 40, (2, 2), 0.5, 15);
    let modulus = dot.shape().value_modulus().unwrap();
    let params = Params::new(dot.shape(), modulus, size(), None).unwrap();
    let [first, second] = check(&dot, &params);
    let ((opened, _), _) =
        both(|channel| reveal(&first, true, false, channel), |channel| reveal(&second, false, true, channel));
    assert_eq!(opened.unwrap(), dot.truth(modulus));
}

#[test]
fn impossible_parameters_are_refused() {
    let shape = |rows, first, second| Shape { rows, first, second, integers: Integers::BINARY };
    let modulus = Modulus::new(1 << 20).unwrap();
    let refused = |shape| matches!(Params::new(shape, modulus, size(), None), Err(Error::Input(_)));
    assert!(refused(shape(1 << 33, 1, 1)) && refused(shape(1, 4097, 1)) && refused(shape(1, 1, 4097)));
    let params = Params::new(shape(5, 1, 1), modulus, size(), None).unwrap();
    let other = Dot::random(Integers::BINARY, 6, (1, 1), 0.5, 1);
    let (mut channel, _other) = Channel::pair("first", "second");
    let internal = |result: Result<Shares>| matches!(result, Err(Error::Internal(_)));
    assert!(internal(paillier::run(Side::First, &other.columns(Side::First), &params, &mut channel, &mut rng(1))));
    assert!(internal(paillier::run(Side::Second, &other.columns(Side::Second), &params, &mut channel, &mut rng(1))));
    let columns = Dot::random(Integers::BINARY, 5, (1, 1), 0.5, 1).columns(Side::Second);
    let shares = Shares::new(Modulus::new(7).unwrap(), vec![1]).unwrap();
    assert!(internal(paillier::answer_with(&columns, &params, &shares, &mut channel, &mut rng(1))));
    // Values need no shares.
    let params = Params::new(shape(5, 1, 1), modulus, size(), Some(Side::First)).unwrap();
    let shares = Shares::new(modulus, vec![1]).unwrap();
    assert!(internal(paillier::answer_with(&columns, &params, &shares, &mut channel, &mut rng(1))));
}

/// Encryptions of 0 and 1 that were made in advance.
struct Pool<'a> {
    key: &'a PaillierSecretKey,
    entries: [PaillierCiphertexts; 2],
    used: [usize; 2],
}

impl EncryptionSource for Pool<'_> {
    fn key(&self) -> &PaillierSecretKey {
        self.key
    }

    fn take(&mut self, integers: &[i64]) -> Result<PaillierCiphertexts> {
        let mut taken = self.key.public().no_ciphertexts();
        for &bit in integers.iter() {
            let (bit, used) = (bit as usize, &mut self.used[bit as usize]);
            if *used == self.entries[bit].len() {
                return Err(Error::Input("the pool is empty".into()));
            }
            taken.append(&self.entries[bit].select([*used]));
            *used += 1;
        }
        Ok(taken)
    }
}

#[test]
fn encryptions_come_from_a_pool() {
    let dot = Dot::random(Integers::BINARY, 60, (1, 1), 0.4, 17);
    let params = Params::new(dot.shape(), dot.shape().value_modulus().unwrap(), size(), None).unwrap();
    let key = PaillierSecretKey::generate(size(), &mut rng(1));
    let entries = |bit: i128| key.encrypt(&key.public().encode(&vec![bit; 60]), &mut rng(2 + bit as u8));
    let mut pool = Pool { key: &key, entries: [entries(0), entries(1)], used: [0; 2] };
    let (mine, theirs) = (dot.columns(Side::First), dot.columns(Side::Second));
    let ((first, _), (second, _)) = both(
        |channel| paillier::encrypt_over(&mine, &params, &mut pool, channel),
        |channel| paillier::run(Side::Second, &theirs, &params, channel, &mut rng(5)),
    );
    assert_eq!(first.open(&second), dot.truth(params.modulus()));
    let (mut channel, _other) = Channel::pair("first", "second");
    let mut empty = Pool { used: [60; 2], ..pool };
    assert!(matches!(paillier::encrypt_over(&mine, &params, &mut empty, &mut channel), Err(Error::Input(_))));
}

/// Columns of some rows.
fn part(columns: &Columns, rows: std::ops::Range<usize>) -> Columns {
    columns.select(&rows.map(|row| row as u32).collect::<Vec<_>>())
}

#[test]
fn several_clients_share_the_columns() {
    let modulus = Modulus::new(1 << 30).unwrap();
    for (count, rows, columns) in [(1, 10, (2, 3)), (2, 11, (3, 2)), (3, 50, (2, 3)), (5, 4, (6, 1))] {
        let dot = Dot::random(integers(4, true), rows, columns, 0.5, 19);
        let (mine, theirs) = (dot.columns(Side::First), dot.columns(Side::Second));
        for own in [vec![0; 6], (1..7).collect()] {
            let own = Shares::new(modulus, own).unwrap();
            let blindings = clients::blindings(count, &own, &mut rng(7)).unwrap();
            assert_eq!(blindings.len(), count);
            let partial = blindings.iter().enumerate().map(|(client, blinding)| {
                let rows = client * rows / count..(client + 1) * rows / count;
                let shape = Shape { rows: rows.len(), ..dot.shape() };
                let params = Params::new(shape, modulus, size(), None).unwrap().encrypted_by(Side::First);
                assert_eq!((params.encryptor(), params.values()), (Side::First, false));
                let (mine, theirs) = (part(&mine, rows.clone()), part(&theirs, rows));
                let key = PaillierSecretKey::generate(size(), &mut rng(client as u8));
                let mut live = LiveEncryptions::new(&key, rng(20 + client as u8));
                let ((client, _), (answerer, _)) = both(
                    |channel| paillier::encrypt_over(&mine, &params, &mut live, channel),
                    |channel| paillier::answer_with(&theirs, &params, blinding, channel, &mut rng(9)),
                );
                assert_eq!(answerer.residues(), blinding.residues());
                client
            });
            let partial: Vec<Shares> = partial.collect();
            let mut ends = vec![None];
            for _ in 1..count {
                let (next, previous) = Channel::pair("before", "after");
                ends.extend([Some(next), Some(previous)]);
            }
            ends.push(None);
            let sums = std::thread::scope(|scope| {
                let chain = ends.chunks_mut(2).zip(&partial).map(|(ends, mine)| {
                    let [previous, next] = ends else { unreachable!() };
                    scope.spawn(|| clients::sum_up(mine, previous.as_mut(), next.as_mut()).unwrap())
                });
                let running: Vec<_> = chain.collect();
                running.into_iter().map(|client| client.join().unwrap()).collect::<Vec<_>>()
            });
            for sums in &sums {
                assert_eq!(sums.open(&own), dot.truth(modulus), "{count} clients");
            }
        }
    }
    let nobody = clients::blindings(0, &Shares::new(modulus, vec![0]).unwrap(), &mut rng(1));
    assert!(matches!(nobody, Err(Error::Internal(_))));
}
