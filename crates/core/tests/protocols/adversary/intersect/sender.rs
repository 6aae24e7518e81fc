//! A sender that wants a wrong answer to be taken for a right one, or to know what is common.
//!
//! It may choose any set, also when it has seen all that the receiver sends: that is another input, and no attack.

use tacita_core::primitive::kernel::Block;
use tacita_core::primitive::vole::ideal;
use tacita_core::protocol::intersect::vole;
use tacita_core::security::Security::{Malicious, SemiHonest};
use tacita_core::{Channel, Item, Result};

use super::receiver::overfitted;
use super::{
    Coin, Form, Key, Known, Params, ROW_BYTES, Receiver, entry, open_anyway, output, payload, receive_entries, rows,
    send, send_entries,
};
use crate::adversary::{against, as_likely_as};
use crate::support::{blames, items, rng, session};

/// Items of each party.
const ITEMS: usize = 40;

/// Runs the real receiver against a sender that makes its entries of the function's key. What is common, and the rows.
fn cheat(mine: &[Item], params: &Params, make: impl FnOnce(&Key) -> Vec<Vec<u8>>) -> Result<Vec<(usize, Vec<u8>)>> {
    let (received, sent) = against(
        |channel| receive(mine, params, channel),
        |channel| -> Result<()> {
            let key = send_for(params, channel)?;
            send_entries(&make(&key), params, channel)
        },
    );
    sent.unwrap();
    received
}

fn receive(mine: &[Item], params: &Params, channel: &mut Channel) -> Result<Vec<(usize, Vec<u8>)>> {
    let (session, rng, dealer) = (session(), &mut rng(1), &mut ideal::pair([2; 32]).1);
    if params.entries.entry_bytes() == params.entries.tag_bytes {
        let common = vole::rows::receive_over(mine, &session, params, dealer, channel, rng)?;
        return Ok(common.into_iter().map(|item| (item, Vec::new())).collect());
    }
    let common = vole::payload::receive_over(mine, None, &session, params, dealer, channel, rng)?;
    let rows = common.payload.unwrap();
    Ok(common.items.into_iter().enumerate().map(|(at, item)| (item, rows.item(at).to_vec())).collect())
}

/// The receiver written here with these items, up to the entries. `trusts` is whether it takes any opening.
fn written(mine: &[Item], params: &Params, trusts: bool, channel: &mut Channel) -> Result<(Known, Vec<Vec<u8>>)> {
    let store = |okvs: &_| overfitted(okvs, mine).1;
    let program = Receiver { seed: [9; 32], store: &store, coin: Coin::Chosen(Block(11)), trusts };
    let known = program.run(params, &session(), &mut ideal::pair([2; 32]).1, channel)?;
    Ok((known, receive_entries(params, channel)?))
}

/// Runs the sender's program.
fn send_for(params: &Params, channel: &mut Channel) -> Result<Key> {
    send(Form::Sound, params, &session(), &mut ideal::pair([2; 32]).0, channel, |_| Block::ZERO)
}

/// Method by which a sender makes its tags of the function's key and some items.
type Tags = Box<dyn Fn(&Key, &[Item]) -> Vec<Vec<u8>>>;

/// Tags of a key that differs from the right one.
fn of_other_key(change: impl Fn(&mut Key) + 'static) -> Tags {
    Box::new(move |key, items| {
        let mut key = key.clone();
        change(&mut key);
        key.tags(items)
    })
}

/// The receiver takes an item for common only if the sender had the function's output for it: tags that are anything
/// else are found nowhere, even if they are made of the receiver's own items.
#[test]
fn a_wrong_tag_is_never_accepted() {
    let mine = items(0..ITEMS);
    let params = rows(ITEMS, ITEMS, Malicious);
    let rotated = |key: &Key, items: &[Item]| {
        // The tag of each item's input with the next one in the hash.
        let inputs = key.inputs(items).into_iter().zip(items.iter().cycle().skip(1));
        inputs.map(|(input, item)| output(&key.session, input, item)[..16].to_vec()).collect()
    };
    let wrong: Vec<Tags> = vec![
        Box::new(|_, items| vec![vec![0; 16]; items.len()]),
        Box::new(|_, items| items.iter().map(|item| item.0[..16].to_vec()).collect()),
        Box::new(|key, items| key.outputs(items).iter().map(|output| output[16..32].to_vec()).collect()),
        Box::new(|key, _| key.tags(&items(1000..1000 + ITEMS))),
        Box::new(rotated),
        of_other_key(|key| key.delta ^= Block::ONE),
        of_other_key(|key| key.delta = Block::ZERO),
        of_other_key(|key| key.store.iter_mut().for_each(|column| *column ^= Block::ONE)),
        of_other_key(|key| key.store.rotate_left(1)),
        of_other_key(|key| key.coin = Block::ZERO),
        of_other_key(|key| key.seed = vec![0; 32]),
        of_other_key(|key| key.session = session().child("other", 0)),
    ];
    for (number, tags) in wrong.iter().enumerate() {
        assert_eq!(cheat(&mine, &params, |key| tags(key, &mine)).unwrap(), [], "tags {number}");
    }
    // Right ones are.
    assert_eq!(cheat(&mine, &params, |key| key.tags(&mine)).unwrap().len(), ITEMS);
    // With tags of a byte it is a matter of luck.
    let mut weak = params;
    weak.entries.tag_bytes = 1;
    let guessed = cheat(&mine, &weak, |_| (0..ITEMS as u8).map(|byte| vec![byte]).collect()).unwrap();
    as_likely_as(guessed.len(), ITEMS, ITEMS as f64 / 256.0);
    assert!(!guessed.is_empty());
}

/// One tag is good for one item, and a tag that comes twice for no more than one that comes once: with n entries the
/// sender's set has n items at most.
#[test]
fn a_sender_has_no_more_items_than_entries() {
    let mine = items(0..ITEMS);
    let params = rows(ITEMS, 10, Malicious);
    let found = |chosen: [usize; 10]| {
        let tags = |key: &Key| key.tags(&chosen.map(|index| mine[index]));
        cheat(&mine, &params, tags).unwrap().into_iter().map(|(item, _)| item).collect::<Vec<_>>()
    };
    assert_eq!(found([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]), (0..10).collect::<Vec<_>>());
    assert_eq!(found([30; 10]), [30]);
    assert_eq!(found([39, 3, 3, 3, 5, 5, 39, 39, 3, 3]), [3, 5, 39]);
    // A tag of one byte is that of several items. A receiver that took all of them would have more.
    let mut weak = params;
    weak.entries.tag_bytes = 1;
    let common_ones = |key: &Key| -> Vec<Vec<u8>> {
        let all = key.tags(&mine);
        let mut tags = all.clone();
        tags.sort_unstable();
        tags.dedup();
        tags.sort_by_key(|tag| std::cmp::Reverse(all.iter().filter(|other| *other == tag).count()));
        tags.truncate(10);
        tags
    };
    let (found, ()) = against(
        |channel| written(&mine, &weak, false, channel).map(|(known, tags)| known.found(&mine, Block::ZERO, &tags)),
        |channel| {
            let key = send_for(&weak, channel).unwrap();
            send_entries(&common_ones(&key), &weak, channel).unwrap();
        },
    );
    assert!(found.unwrap().len() > 10);
    assert_eq!(cheat(&mine, &weak, common_ones).unwrap().len(), 10);
}

/// A row belongs to the item, and the number, that its tag is of.
#[test]
fn a_row_is_never_taken_for_another_items() {
    let mine = items(0..ITEMS);
    let params = payload(ITEMS, ITEMS, Malicious);
    let row = |item: usize| vec![item as u8; ROW_BYTES];
    // An entry with the tag of one output and number, and the sealed row of another.
    let spliced = |key: &Key, one: (&[u8; 64], u32), other: (&[u8; 64], u32), item: usize| {
        let tag = &entry(&key.session, one.0, one.1, &row(item), &params)[..16];
        [tag, &entry(&key.session, other.0, other.1, &row(item), &params)[16..]].concat()
    };
    // For an item and another: whose output, and which number, the tag has, and the seal.
    type Parts = fn(usize, usize) -> [(usize, u32); 2];
    let cases: [Parts; 4] = [
        |item, _| [(item, 0), (item, 0)],
        |item, other| [(item, 0), (other, 0)],
        |item, _| [(item, 0), (item, 1)],
        |item, _| [(item, 1), (item, 1)],
    ];
    for (number, case) in cases.into_iter().enumerate() {
        let make = |key: &Key| -> Vec<Vec<u8>> {
            let outputs = key.outputs(&mine);
            let entry = |item: usize| {
                let [(one, first), (other, second)] = case(item, (item + 1) % ITEMS);
                spliced(key, (&outputs[one], first), (&outputs[other], second), item)
            };
            (0..ITEMS).map(entry).collect()
        };
        let expected: Vec<_> = (0..ITEMS).map(|item| (item, row(item))).filter(|_| number == 0).collect();
        assert_eq!(cheat(&mine, &params, make).unwrap(), expected, "case {number}");
        // Who does not look whether a row is authentic takes any, as long as its tag is there.
        let (taken, ()) = against(
            |channel| {
                let (known, entries) = written(&mine, &params, false, channel)?;
                let outputs = known.outputs(&mine, Block::ZERO);
                let open = |output| open_anyway(&known.session, output, 0, &entries, &params);
                Ok(outputs.iter().filter_map(open).map(|(row, _)| row).collect::<Vec<_>>())
            },
            |channel| {
                let key = send_for(&params, channel).unwrap();
                send_entries(&make(&key), &params, channel).unwrap();
            },
        );
        let (taken, right) = (taken.unwrap(), (0..ITEMS).map(row).collect::<Vec<_>>());
        assert_eq!(taken.len(), if number < 3 { ITEMS } else { 0 });
        assert_eq!(taken == right, number == 0, "case {number}");
    }
    // All rows of one item, if it likes.
    let one = |key: &Key| -> Vec<Vec<u8>> {
        let output = key.outputs(&mine[..1])[0];
        (0..ITEMS as u32).map(|index| entry(&key.session, &output, index, &row(3), &params)).collect()
    };
    assert_eq!(cheat(&mine, &params, one).unwrap(), [(0, row(3).repeat(ITEMS))]);
}

/// An entry that is wrong ends the job for all items or for none: whether an item that the sender guesses is common
/// cannot be told. Where a receiver ended the job over a row of an item of its own, it could.
#[test]
fn no_entry_tells_whether_an_item_is_common() {
    let guess = &items(0..1)[0];
    let wrong_row = |key: &Key, params: &Params| -> Vec<Vec<u8>> {
        let output = key.outputs(std::slice::from_ref(guess))[0];
        let mut wrong = entry(&key.session, &output, 0, &[1; ROW_BYTES], params);
        *wrong.last_mut().unwrap() ^= 1;
        let fill = (1..ITEMS as u8).map(|byte| vec![byte; wrong.len()]);
        [wrong.clone()].into_iter().chain(fill).collect()
    };
    let twice = |key: &Key, params: &Params| -> Vec<Vec<u8>> {
        let output = key.outputs(std::slice::from_ref(guess))[0];
        vec![entry(&key.session, &output, 0, &[1; ROW_BYTES], params); ITEMS]
    };
    let ends = |security, number: usize| {
        let params = payload(ITEMS, ITEMS, security);
        [items(0..ITEMS), items(1..ITEMS + 1)].map(|mine| {
            let (received, _) = against(
                |channel| receive(&mine, &params, channel),
                |channel| -> Result<()> {
                    let key = send_for(&params, channel)?;
                    let entries = if number == 0 { wrong_row(&key, &params) } else { twice(&key, &params) };
                    send_entries(&entries, &params, channel)
                },
            );
            received.map(|common| assert_eq!(common, [])).inspect_err(|error| assert!(blames(error))).is_ok()
        })
    };
    let params = payload(ITEMS, ITEMS, Malicious);
    let over_a_row = [items(0..ITEMS), items(1..ITEMS + 1)].map(|mine| {
        let (goes_on, ()) = against(
            |channel| {
                let (known, entries) = written(&mine, &params, false, channel)?;
                let outputs = known.outputs(&mine, Block::ZERO);
                let open = |output| open_anyway(&known.session, output, 0, &entries, &params);
                Ok(outputs.iter().filter_map(open).all(|(_, is_authentic)| is_authentic))
            },
            |channel| {
                let key = send_for(&params, channel).unwrap();
                send_entries(&wrong_row(&key, &params), &params, channel).unwrap();
            },
        );
        goes_on.unwrap()
    });
    assert_eq!(over_a_row, [false, true], "a receiver that ends over a row tells");
    assert_eq!(ends(SemiHonest, 0), [true, true]);
    assert_eq!(ends(Malicious, 0), [true, true]);
    assert_eq!(ends(Malicious, 1), [false, false]);
}

/// Nor does a sender choose the coin. One that could would have the function at an item be what it has chosen before
/// the run, here a tag that it has made beforehand.
#[test]
fn a_sender_does_not_choose_the_coin() {
    let mine = items(0..ITEMS);
    let params = rows(ITEMS, 1, Malicious);
    let (target, chosen) = (Block(0x600d), mine[7]);
    let beforehand = output(&session(), target, &chosen)[..16].to_vec();
    let aimed = |channel: &mut Channel| -> Result<()> {
        let dealer = &mut ideal::pair([2; 32]).0;
        // The commitment is to 0x5a5a..., and what is aimed at is added to that.
        let aim = |key: &Key| key.inputs(&[chosen])[0] ^ target ^ Block::from_le_slice(&[0x5a; 16]);
        let key = send(Form::Sound, &params, &session(), dealer, channel, aim)?;
        assert!(key.inputs(&[chosen])[0] == target);
        send_entries(std::slice::from_ref(&beforehand), &params, channel)
    };
    let weak = |channel: &mut Channel| {
        let (known, tags) = written(&mine, &params, true, channel)?;
        Ok(known.found(&mine, Block::ZERO, &tags))
    };
    let (found, sent) = against(weak, aimed);
    sent.unwrap();
    assert_eq!(found.unwrap(), [chosen]);
    let (received, _) = against(|channel| receive(&mine, &params, channel), aimed);
    assert!(received.is_err_and(|error| blames(&error)));
    // What is not aimed does not hit.
    assert_eq!(cheat(&mine, &params, |_| vec![beforehand.clone()]).unwrap(), []);
}
