//! The buckets that remain, several at once.

use chacha20::ChaCha20Rng;
use rand_core::CryptoRng;

use super::params::{BucketProtocol, Params};
use crate::channel::Channel;
use crate::error::Result;
use crate::item::Item;
use crate::protocol::intersect::ecdh::{self, TagDomain};
use crate::protocol::intersect::tag_exchange::items::fork;
use crate::protocol::intersect::vole;
use crate::role::Role;
use crate::session::Session;

/// Storage of a party's buckets. Called from the threads of several lanes at once.
pub trait BucketSource: Sync {
    /// The items of a bucket: distinct, at most [`Params::bound`] of them, in any order that stays the same until
    /// [`BucketSource::finish`] is called for the bucket.
    fn load(&self, bucket: usize) -> Result<Vec<Item>>;

    /// Takes a bucket's result: the indices, ascending, of the items that are common, in the order of
    /// [`BucketSource::load`]; `None` for a sender that learns nothing. The bucket is finished once this has returned:
    /// what it keeps must survive a crash from then on. It may be called for a bucket that was finished in an earlier
    /// attempt, with an equal result.
    fn finish(&self, bucket: usize, common: Option<&[usize]>) -> Result<()>;
}

/// Does the `remaining` buckets in the role of a party, which are those of [`super::agree`] at both. `session` is the
/// session of this attempt: keys and correlations are fresh in each, and for each bucket.
///
/// Progress counts rows of both parties in the phase `intersecting`, items that fill buckets up included. An error of
/// `source` ends the run; the peer is told its kind.
pub fn run(
    role: Role,
    remaining: &[usize],
    source: &(impl BucketSource + ?Sized),
    params: &Params,
    session: &Session,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<()> {
    let progress = channel.progress().clone();
    let rows = params.bound(Role::Receiver) + params.bound(Role::Sender);
    progress.start("intersecting", remaining.len() * rows);
    let learns = role == Role::Receiver || params.to_sender;
    if params.is_empty() || remaining.is_empty() {
        // Nothing is common, as both parties know.
        return remaining.iter().try_for_each(|&bucket| source.finish(bucket, learns.then_some(&[])));
    }
    let lanes = params.lanes_for(remaining.len());
    let states: Vec<(usize, ChaCha20Rng)> = (0..lanes).map(|lane| (lane, fork(rng))).collect();
    channel.lanes(states, params.bytes_ahead(role.other())?, |(lane, mut rng), channel| {
        for &bucket in remaining.iter().skip(lane).step_by(lanes) {
            let items = source.load(bucket)?;
            params.check_bucket(role, items.len())?;
            channel.count_rounds_anew();
            let common = intersect(role, &items, params, &session.child("bucket", bucket as u64), channel, &mut rng)?;
            source.finish(bucket, common.as_deref())?;
            progress.advance(rows);
        }
        Ok(())
    })?;
    Ok(())
}

/// The intersection of one bucket: what the party learns.
fn intersect(
    role: Role,
    items: &[Item],
    params: &Params,
    session: &Session,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<Option<Vec<usize>>> {
    match (params.protocol, role) {
        (BucketProtocol::Vole, Role::Receiver) => {
            vole::rows::receive(items, session, &params.vole()?, channel, rng).map(Some)
        }
        (BucketProtocol::Vole, Role::Sender) => vole::rows::send(items, session, &params.vole()?, channel, rng),
        (BucketProtocol::Ecdh(suite), Role::Receiver) => {
            ecdh::rows::receive(items, &TagDomain::of_session(session), &params.ecdh(suite), channel, rng).map(Some)
        }
        (BucketProtocol::Ecdh(suite), Role::Sender) => {
            ecdh::rows::send(items, &TagDomain::of_session(session), &params.ecdh(suite), channel, rng)
        }
    }
}
