//! A party's part in products of several.

use zeroize::Zeroizing;

use super::plan::{MeshProducts, Transfer};
use super::transfers::{Held, HeldFactor, NodeShares, Step};
use super::zeros::add_zeros;
use crate::channel::{Channel, each};
use crate::error::{Error, Result};
use crate::protocol::dot::ot::ring::{AnyRing, Ring};
use crate::protocol::dot::ot::words::Expander;
use crate::protocol::dot::{Columns, Shares, exchange};
use crate::protocol::mesh::ots::LinkOts;
use crate::protocol::mesh::{MeshEnd, MeshOts};

/// Makes a party's shares of the products that it has a part in, in order: uniformly random, whatever all others that
/// have a share know. `columns` are its own; `channels` are those of the links, in their order. All parties of the mesh
/// take part at once.
///
/// Errors: a channel fails, or a peer breaks the protocol; [`Error::Internal`] for columns that do not fit.
pub fn run(columns: &Columns, plan: &MeshProducts, ots: &mut MeshOts, channels: &mut [Channel]) -> Result<Shares> {
    let own = plan.nodes().iter().filter(|node| node.factor.party == ots.me());
    let most = own.map(|node| node.factor.column as usize + 1).max().unwrap_or(0);
    if (columns.integers(), columns.rows()) != (plan.integers_of(ots.me()), plan.rows()) || columns.count() < most {
        return Err(Error::Internal("mesh: columns of another shape than was agreed on".into()));
    }
    let batch = ots.next_batch();
    let sums = match AnyRing::of(plan.modulus(), plan.widest()) {
        AnyRing::Narrow(ring) => multiply(ring, columns, plan, batch, ots, channels)?,
        AnyRing::Wide(ring) => multiply(ring, columns, plan, batch, ots, channels)?,
        AnyRing::Residues(ring) => multiply(ring, columns, plan, batch, ots, channels)?,
    };
    let parties: Vec<&[usize]> = plan.of_party(ots.me()).map(|product| &plan.parties()[product][..]).collect();
    add_zeros(ots, batch, &parties, &sums)
}

/// Opens shares to the parties at these places, this one among those that have a share of each. Returns the numbers'
/// residues if this party learns them. `links` are the others that have a share, as places in `channels`.
///
/// Errors: a channel fails; a peer sends something that is no residue.
pub fn open(
    shares: &Shares,
    me: usize,
    learners: &[usize],
    peers: &[usize],
    channels: &mut [Channel],
) -> Result<Option<Vec<u128>>> {
    let learns = learners.contains(&me);
    let theirs =
        each(channels, peers.to_vec(), |peer, channel| exchange(shares, learns, learners.contains(&peer), channel))?;
    let all = theirs.iter().flatten().fold(Zeroizing::new(shares.residues().to_vec()), |mut sums, theirs| {
        let modulus = shares.modulus();
        sums.iter_mut().zip(theirs.residues()).for_each(|(sum, share)| *sum = modulus.add(*sum, *share));
        sums
    });
    Ok(learns.then(|| all.to_vec()))
}

/// A party's shares of the nodes at hand, by node.
type AllShares<W> = Vec<Option<NodeShares<W>>>;

/// The sums of the party's shares over all rows.
fn multiply<R: Ring>(
    ring: R,
    columns: &Columns,
    plan: &MeshProducts,
    batch: u64,
    ots: &mut MeshOts,
    channels: &mut [Channel],
) -> Result<Shares> {
    let (me, most) = (ots.me(), plan.most_words());
    let label = |number| format!("mesh words {batch} {number}");
    let expanders: Vec<Expander> =
        ots.links().iter().map(|link| Expander::of(ring, most, label, &link.session)).collect();
    let mut indices = vec![0; expanders.len()];
    for (link, channel) in ots.links().iter().zip(channels.iter()) {
        channel.progress().start("transfers", plan.transfers_between(me, link.peer) as usize);
    }
    let own: Vec<usize> = plan.of_party(me).collect();
    let mut totals = Zeroizing::new(vec![R::Word::default(); own.len()]);
    for block in plan.blocks() {
        let mut held: AllShares<R::Word> = plan.nodes().iter().map(|_| None).collect();
        for depth in 2..=plan.depth() {
            let links = ots.links_mut().iter_mut().zip(&expanders).zip(&indices);
            let states: Vec<_> = links
                .map(|((link, expander), index)| {
                    let transfers = plan.transfers(depth, me.min(link.peer), me.max(link.peer));
                    (link, expander, *index, transfers)
                })
                .collect();
            let shares = &held;
            let made = each(channels, states, |(link, expander, index, transfers), channel| {
                let (transfers, rows, chooser) = (&transfers[..], block.len(), me.max(link.peer));
                let mut step = Step { plan, ring, expander, transfers, chooser, rows, index };
                let made = step_of(&mut step, link, columns, block.start, shares, channel)?;
                let nodes = transfers.iter().flat_map(|transfer| transfer.nodes.iter().copied());
                Ok((step.index, nodes.zip(made).collect::<Vec<_>>()))
            })?;
            // What was multiplied further is not needed any more.
            for (node, shares) in plan.nodes().iter().zip(&mut held) {
                if node.inner && node.depth < depth {
                    *shares = None;
                }
            }
            for (link, (index, made)) in made.into_iter().enumerate() {
                indices[link] = index;
                made.into_iter().for_each(|(node, made)| add(ring, &mut held[node], made));
            }
        }
        for (total, product) in totals.iter_mut().zip(&own) {
            if let Some(sum) = &held[plan.leaf(*product)] {
                *total = ring.add(*total, sum[0]);
            }
        }
    }
    Shares::new(plan.modulus(), totals.iter().map(|total| ring.number(*total)).collect())
}

/// Makes the party's shares of the nodes of a step's transfers over one link.
fn step_of<R: Ring>(
    step: &mut Step<'_, R>,
    link: &mut LinkOts,
    columns: &Columns,
    start: usize,
    shares: &AllShares<R::Word>,
    channel: &mut Channel,
) -> Result<Vec<NodeShares<R::Word>>> {
    let plan = step.plan;
    let factor = |node: &usize| {
        let parent = plan.nodes()[*node].parent.unwrap_or_default();
        match &shares[parent] {
            Some(shares) => HeldFactor::Shares(shares),
            None => HeldFactor::Column(plan.nodes()[parent].factor.column as usize),
        }
    };
    let held = |transfer: &Transfer| Held { columns, start, words: transfer.nodes.iter().map(factor).collect() };
    match &mut link.end {
        MeshEnd::Sender(ot) => step.send(held, &mut **ot, channel),
        MeshEnd::Receiver(ot) => step.receive(columns, start, &mut **ot, channel),
    }
}

/// Adds shares of a node that came of one link to those of others.
fn add<R: Ring>(ring: R, sums: &mut Option<NodeShares<R::Word>>, made: NodeShares<R::Word>) {
    match sums {
        None => *sums = Some(made),
        Some(sums) => sums.iter_mut().zip(made.iter()).for_each(|(sum, share)| *sum = ring.add(*sum, *share)),
    }
}
