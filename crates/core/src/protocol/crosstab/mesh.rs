//! Cross tables of categories at two of several parties, with numbers of a third.
//!
//! The two that have categories hold shares of the counts, from [`crate::protocol::dot::ot::mesh`], compare them and
//! decide between themselves which cells close, as if they were alone. All parties hear which cells close.
//!
//! Categories at three would need more: two of them that pool what they have know how many rows are in each combination
//! of theirs, and what closes between one and the rest does not hold against that.

use super::{Params, closing};
use crate::channel::{Channel, each};
use crate::error::{Error, Result};
use crate::protocol::dot::{Modulus, Shares, exchange_some};
use crate::protocol::mesh::MeshOts;
use crate::protocol::mesh::ots::frame;
use crate::protocol::shares::ANSWERS;
use crate::protocol::shares::at_least::{MeshComparison, MeshGates, Planes};
use crate::protocol::shares::bits::{BitGates, SharedBits};

/// Returns for each cell whether it stays closed: all of the first party's first category, then those of the next.
/// `parties` are the places of those that have categories, ascending; each of them has `counts`, its shares. All
/// parties of the mesh take part at once, and learn the answer alone.
///
/// Errors: the shares are not those of such a table; the channels'; the peers'.
pub fn closed(
    counts: Option<&Shares>,
    params: &Params,
    parties: [usize; 2],
    ots: &mut MeshOts,
    channels: &mut [Channel],
) -> Result<Vec<bool>> {
    if let Some(answer) = params.known() {
        return Ok(vec![answer; params.cells()]);
    }
    let own = match counts {
        None => None,
        Some(counts) if counts.len() != params.cells() || counts.modulus() != params.modulus()? => {
            return Err(Error::Internal("crosstab: shares of another table".into()));
        }
        Some(counts) => {
            let large = comparison(params, parties)?.shared(counts, ots, channels)?;
            let mut gates = MeshGates { parties: &parties, ots, channels };
            let small = gates.not(&large);
            Some(closing(&small, [params.first, params.second], &mut gates)?)
        }
    };
    tell(own.as_ref(), params.cells(), parties, ots, channels)
}

/// The comparison of all counts with the least that is open.
fn comparison(params: &Params, parties: [usize; 2]) -> Result<MeshComparison> {
    let all = vec![parties.to_vec(); params.cells()];
    MeshComparison::new(params.modulus()?, params.bound(), params.threshold(), all)
}

/// Opens bits that some share to all parties.
fn tell(
    own: Option<&SharedBits>,
    count: usize,
    parties: [usize; 2],
    ots: &MeshOts,
    channels: &mut [Channel],
) -> Result<Vec<bool>> {
    let own = own.map(|bits| bits.to_plane(0..count));
    let bytes = Planes::plane_bytes(count);
    let has: Vec<bool> = ots.links().iter().map(|link| parties.contains(&link.peer)).collect();
    let told = each(channels, has, |has: bool, channel| {
        let theirs = match (&own, has) {
            (Some(own), true) => channel.exchange(ANSWERS, own.to_bytes(), bytes)?,
            (None, true) => channel.receive(ANSWERS, bytes)?,
            (Some(own), false) => return channel.send(ANSWERS, own.to_bytes()).map(|()| None),
            (None, false) => return Ok(None),
        };
        let theirs = if theirs.len() == bytes { Planes::from_bytes(1, count, &theirs) } else { None };
        theirs.map(Some).ok_or_else(|| channel.violation(format!("`{}` are not a bit for each cell", ANSWERS.name)))
    })?;
    let mut sum = own.unwrap_or_else(|| Planes::zeros(1, count));
    told.iter().flatten().for_each(|theirs| sum.add(theirs));
    Ok((0..count).map(|cell| sum.bit(0, cell) == 1).collect())
}

/// Opens the numbers of cells that are not closed to the parties at `learners`. `parties` are those that have
/// `numbers`, their shares. Returns them, with nothing in the place of closed ones, if this party learns. Shares of
/// closed cells are not touched.
///
/// Errors: the channels'; a peer sends something that is no residue.
pub fn open(
    numbers: Option<&Shares>,
    modulus: Modulus,
    closed: &[bool],
    parties: &[usize],
    learners: &[usize],
    ots: &MeshOts,
    channels: &mut [Channel],
) -> Result<Option<Vec<Option<u128>>>> {
    let open: Vec<usize> = (0..closed.len()).filter(|cell| !closed[*cell]).collect();
    let own: Vec<u128> = numbers.map_or(Vec::new(), |own| open.iter().map(|&cell| own.residues()[cell]).collect());
    let (own, none) = (Shares::new(modulus, own)?, Shares::new(modulus, Vec::new())?);
    let learns = learners.contains(&ots.me());
    let states = ots.links().iter().map(|link| {
        let due = if learns && parties.contains(&link.peer) { open.len() } else { 0 };
        (learners.contains(&link.peer), due)
    });
    let told = each(channels, states.collect(), |(to_peer, due): (bool, usize), channel| {
        exchange_some(if to_peer { &own } else { &none }, due, channel)
    })?;
    if !learns {
        return Ok(None);
    }
    let mut opened = vec![None; closed.len()];
    for (place, &cell) in open.iter().enumerate() {
        let shares = told.iter().chain([&own]).filter_map(|shares| shares.residues().get(place));
        opened[cell] = Some(shares.fold(0, |sum, share| modulus.add(sum, *share)));
    }
    Ok(Some(opened))
}

/// Bytes that a party sends to another until both know which cells close, frames' headers included, with this k of
/// SoftSpoken and without the setup of transfers.
pub fn closed_bytes(params: &Params, parties: [usize; 2], k: usize, me: usize, peer: usize) -> Result<u64> {
    if params.known().is_some() || !parties.contains(&me) {
        return Ok(0);
    }
    let told = frame(Planes::plane_bytes(params.cells()));
    if !parties.contains(&peer) {
        return Ok(told);
    }
    // The comparison's answers, which would be opened there, stay shared, and as many bits are opened here.
    let compared = comparison(params, parties)?.bytes_sent(k, me, peer)?;
    let layers = params.layers()?.into_iter().map(|products| MeshGates::layer_bytes(products, k, me, peer));
    Ok(compared + layers.sum::<Result<u64>>()?)
}
