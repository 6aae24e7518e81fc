//! The tree over the blocks' answers, and its root opened to both parties.
//!
//! A product x * y of shared bits takes a product a * b of shared random bits (Beaver, CRYPTO 1991): with x + a and y +
//! b opened, which are uniformly random, x * y = (x + a)(y + b) + (x + a) b + (y + b) a + a b.

use super::circuit::{Circuit, Merge};
use super::planes::Planes;
use crate::channel::{Channel, Label, MAX_PAYLOAD_BYTES};
use crate::error::Result;
use crate::protocol::shares::{ANSWERS, HIDDEN_BITS};

/// Planes of a node: "greater", and "equal", which is unused in the lowest.
const NODE: usize = 2;

/// A plane of shares of the answers, which are the exclusive or of both parties' highest bits and of the tree's root.
/// `own` are the party's numbers, `outputs` those of its gates; `leads` tells the parties apart.
pub(super) fn answers(
    circuit: &Circuit,
    own: &[u128],
    masks: &Planes,
    outputs: &Planes,
    leads: bool,
    channel: &mut Channel,
) -> Result<Planes> {
    let mut nodes = Planes::zeros(NODE * circuit.blocks().count(), own.len());
    for (node, (output, gate)) in circuit.blocks().enumerate() {
        for plane in 0..gate.outputs() {
            nodes.plane_mut(NODE * node + plane).copy_from_slice(outputs.plane(output + plane));
        }
    }
    for level in &circuit.levels {
        let mut hidden = Planes::zeros(level.iter().map(|merge| merge.masks.len()).sum(), own.len());
        let first_mask = level[0].masks.start;
        for (pair, merge) in level.iter().enumerate() {
            for (mask, input) in merge.masks.clone().zip(inputs(pair)) {
                let both = nodes.plane(input).iter().zip(masks.plane(mask));
                let hidden = hidden.plane_mut(mask - first_mask).iter_mut();
                hidden.zip(both).for_each(|(hidden, (input, mask))| *hidden = input ^ mask);
            }
        }
        let opened = open(HIDDEN_BITS, &hidden, channel)?;
        let count = nodes.count() / NODE;
        let mut merged = Planes::zeros(NODE * count.div_ceil(2), own.len());
        for (pair, merge) in level.iter().enumerate() {
            for product in 0..merge.masks.len() - 1 {
                let plane = merged.plane_mut(NODE * pair + product);
                multiply(merge, product, first_mask, &opened, masks, outputs, leads, plane);
            }
            let upper = nodes.plane(inputs(pair)[0] - 1);
            merged.plane_mut(NODE * pair).iter_mut().zip(upper).for_each(|(greater, upper)| *greater ^= upper);
        }
        if count % 2 == 1 {
            for plane in 0..NODE {
                merged.plane_mut(NODE * (count / 2) + plane).copy_from_slice(nodes.plane(NODE * (count - 1) + plane));
            }
        }
        nodes = merged;
    }

    let mut answer = Planes::zeros(1, own.len());
    own.iter().enumerate().for_each(|(number, own)| answer.put(0, number, (own >> circuit.bits) as u32));
    if nodes.count() > 0 {
        answer.plane_mut(0).iter_mut().zip(nodes.plane(0)).for_each(|(answer, carry)| *answer ^= carry);
    }
    Ok(answer)
}

/// The bits of a plane of shares, opened to both parties.
pub(crate) fn open_answers(shares: &Planes, channel: &mut Channel) -> Result<Vec<bool>> {
    let opened = open(ANSWERS, shares, channel)?;
    Ok((0..shares.len()).map(|number| opened.bit(0, number) == 1).collect())
}

/// Shares of the products of shared bits, `x` with `y`, each number by number. `outputs` are those of the gates of
/// [`Circuit::product`].
pub(crate) fn products(
    [x, y]: [&Planes; 2],
    masks: &Planes,
    outputs: &Planes,
    leads: bool,
    channel: &mut Channel,
) -> Result<Planes> {
    let mut hidden = Planes::zeros(2, x.len());
    for (plane, input) in [x, y].into_iter().enumerate() {
        let both = input.plane(0).iter().zip(masks.plane(plane));
        hidden.plane_mut(plane).iter_mut().zip(both).for_each(|(hidden, (input, mask))| *hidden = input ^ mask);
    }
    let opened = open(HIDDEN_BITS, &hidden, channel)?;
    let mut products = Planes::zeros(1, x.len());
    let merge = Merge { masks: 0..2, outputs: 0 };
    multiply(&merge, 0, 0, &opened, masks, outputs, leads, products.plane_mut(0));
    Ok(products)
}

/// The planes that a pair of nodes multiplies: "equal" of the upper one with "greater" and "equal" of the lower one.
fn inputs(pair: usize) -> [usize; 3] {
    let (lower, upper) = (NODE * 2 * pair, NODE * (2 * pair + 1));
    [upper + 1, lower, lower + 1]
}

/// A share of the first input of `merge` times input `product` + 1.
#[allow(clippy::too_many_arguments, reason = "a step of `answers`, whose values these are")]
fn multiply(
    merge: &Merge,
    product: usize,
    first_mask: usize,
    opened: &Planes,
    masks: &Planes,
    outputs: &Planes,
    leads: bool,
    share: &mut [u64],
) {
    let (one, other) = (merge.masks.start, merge.masks.start + 1 + product);
    let (opened_one, opened_other) = (opened.plane(one - first_mask), opened.plane(other - first_mask));
    let (a, b) = (masks.plane(one), masks.plane(other));
    let crossed =
        (outputs.plane(merge.outputs + product), outputs.plane(merge.outputs + merge.masks.len() - 1 + product));
    let lead = if leads { u64::MAX } else { 0 };
    for (word, share) in share.iter_mut().enumerate() {
        let ab = a[word] & b[word] ^ crossed.0[word] ^ crossed.1[word];
        let public = opened_one[word] & opened_other[word] & lead;
        *share = public ^ opened_one[word] & b[word] ^ opened_other[word] & a[word] ^ ab;
    }
}

/// The sums of both parties' shares.
pub(super) fn open(label: Label, shares: &Planes, channel: &mut Channel) -> Result<Planes> {
    let own = shares.to_bytes();
    let mut theirs = Vec::with_capacity(own.len());
    for own in own.chunks(MAX_PAYLOAD_BYTES) {
        let message = channel.exchange(label, own.to_vec(), own.len())?;
        if message.len() != own.len() {
            return Err(channel.violation(format!(
                "`{}` has {} bytes instead of {}",
                label.name,
                message.len(),
                own.len()
            )));
        }
        theirs.extend(message);
    }
    let mut opened = Planes::from_bytes(shares.count(), shares.len(), &theirs)
        .ok_or_else(|| channel.violation(format!("`{}` have bits beyond the last", label.name)))?;
    opened.add(shares);
    Ok(opened)
}
