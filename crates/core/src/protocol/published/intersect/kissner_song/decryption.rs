//! Step 5: all parties decrypt for those who learn.

use rand_core::CryptoRng;

use super::keys::Keys;
use super::{KissnerSongParty, PARTIAL};
use crate::channel::{Channel, Incoming, Outgoing, each};
use crate::error::{Error, Result};
use crate::primitive::elgamal::Ciphertext;
use crate::primitive::elgamal::threshold::{self, Contribution, ThresholdView};
use crate::primitive::group::{DecodeError, Group};
use crate::primitive::proof::Proof;
use crate::primitive::published::polynomial::{Module, Points};
use crate::protocol::published::intersect::polynomial::frames;

/// Opens the ciphertexts jointly. Returns their plaintexts times the generator, if the party learns.
pub(super) fn open<G: Group + Sync>(
    group: &G,
    party: &KissnerSongParty<'_>,
    keys: &Keys<G>,
    ciphertexts: &[Ciphertext<G>],
    channels: &mut [Channel],
    rng: &mut impl CryptoRng,
) -> Result<Option<Vec<G::Point>>> {
    let (me, params) = (party.me, party.params);
    channels.iter().for_each(|channel| channel.progress().start("decrypting", 1));
    // What those before have added up, and that with this party's own.
    let suspects =
        party.of_others(|place| party.suspects(place, &params.all_before(place), channels).unwrap_or_default());
    let is_before = party.of_others(|place| params.before(me).contains(&place));
    let states = is_before.into_iter().zip(&suspects).collect();
    let mut told = each(channels, states, |(is_before, suspects), channel| {
        if is_before { receive(group, ciphertexts.len(), suspects, channel.halves().1).map(Some) } else { Ok(None) }
    })?;
    let given: Vec<&[G::Point]> = told.iter().flatten().map(|contribution| &contribution.sums[..]).collect();
    let own = keys.share.contribute(group, me, ciphertexts, &given, &keys.transcript, rng);

    // Who learns sees all sums, and so who has added what.
    let roles = party.of_others(|place| (params.gives(me, place), params.gives(place, me)));
    let states = roles.into_iter().zip(told.iter().map(Option::is_some)).zip(&suspects).collect();
    let rest = each(channels, states, |(((gives, is_given), has_given), suspects), channel| {
        let to_peer = |outgoing: &mut Outgoing| send(group, &own, outgoing);
        let from_peer = |incoming: &mut Incoming| receive(group, ciphertexts.len(), suspects, incoming).map(Some);
        match (gives, is_given && !has_given) {
            (true, true) => channel.duplex_of(PARTIAL, to_peer, from_peer).map(|(_, received)| received),
            (true, false) => to_peer(channel.halves().0).map(|()| None),
            (false, true) => from_peer(channel.halves().1),
            (false, false) => Ok(None),
        }
    })?;
    channels.iter().for_each(|channel| channel.progress().advance(1));
    if !params.learners.contains(&me) {
        return Ok(None);
    }
    for (told, rest) in told.iter_mut().zip(rest) {
        *told = told.take().or(rest);
    }
    let all: Option<Vec<_>> = party.with_own(Some(own), told).into_iter().collect();
    let all = all.ok_or_else(|| Error::Internal("kissner-song: a party has told nothing".into()))?;
    check(group, party, keys, ciphertexts, &all, channels, rng)?;
    let sums = params.last().into_iter().map(|place| all[place].sums.clone());
    let sum = sums.reduce(|sum, more| Points(group).add(&sum, &more)).unwrap_or_default();
    Ok(Some(threshold::open(group, ciphertexts, &sum)))
}

/// Names the party that has not added what it should.
fn check<G: Group + Sync>(
    group: &G,
    party: &KissnerSongParty<'_>,
    keys: &Keys<G>,
    ciphertexts: &[Ciphertext<G>],
    all: &[Contribution<G>],
    channels: &[Channel],
    rng: &mut impl CryptoRng,
) -> Result<()> {
    let before: Vec<Vec<usize>> = (0..all.len()).map(|place| party.params.before(place)).collect();
    let given: Vec<Vec<&[G::Point]>> =
        before.iter().map(|places| places.iter().map(|&place| &all[place].sums[..]).collect()).collect();
    let told = party.of_others(|place| ThresholdView {
        place,
        key: &keys.of_parties[place],
        given: &given[place],
        contribution: &all[place],
    });
    threshold::check(group, ciphertexts, &told, &keys.transcript, rng)
        .map_err(|culprit| party.blames(culprit, &before[culprit.0], channels, "a partial decryption is wrong"))
}

/// Equations and scalars of the proof that comes with sums.
const PROOF: (usize, usize) = (2, 1);

fn send<G: Group>(group: &G, own: &Contribution<G>, outgoing: &mut Outgoing) -> Result<()> {
    outgoing.send(PARTIAL, own.proof.encode(group))?;
    for range in frames(own.sums.len(), group.point_bytes()) {
        outgoing.send(PARTIAL, group.encode(&own.sums[range]))?;
    }
    Ok(())
}

/// Receives the sums for so many ciphertexts, and takes memory as they arrive. If one is the identity, any of the
/// `suspects` may have made it so.
fn receive<G: Group>(group: &G, count: usize, suspects: &str, incoming: &mut Incoming) -> Result<Contribution<G>> {
    let (equations, scalars) = PROOF;
    let bytes = incoming.receive(PARTIAL, Proof::bytes(group, equations, scalars))?;
    let proof = Proof::decode(group, &bytes, equations, scalars)
        .ok_or_else(|| incoming.violation(format!("`{}` holds no proof", PARTIAL.name)))?;
    let mut sums = Vec::new();
    for range in frames(count, group.point_bytes()) {
        let bytes = incoming.receive(PARTIAL, range.len() * group.point_bytes())?;
        sums.extend(group.decode(&bytes).map_err(|error| {
            let check = format!("`{}` {error}", PARTIAL.name);
            match error {
                DecodeError::Identity(_) => Error::Protocol { peer: suspects.to_owned(), check },
                _ => incoming.violation(check),
            }
        })?);
    }
    Ok(Contribution { sums, proof })
}
