//! The length-doubling generator, two parents and four children in an instruction.

use std::arch::x86_64::*;

use super::super::block::Block;
use super::super::memory::wipe;
use super::aes::{CHUNK, Keys, WIDTH, WideKeys, quads_mut, store_chunk};
use super::hash::twice_all;

/// Parents in a chunk of children.
const PARENTS: usize = CHUNK / 2;

/// The children of a chunk's parents.
#[inline]
#[target_feature(enable = "avx512f,vaes")]
fn children(keys: &WideKeys, parents: &[Block; PARENTS]) -> [__m512i; WIDTH] {
    let parents = twice_all(parents);
    let mut state = parents;
    keys.encrypt(&mut state);
    for (state, parent) in state.iter_mut().zip(parents) {
        *state = _mm512_xor_si512(*state, parent);
    }
    state
}

/// Keys of the left child in the even lanes, of the right one in the odd lanes.
#[inline]
#[target_feature(enable = "avx512f")]
fn alternate(left: &Keys, right: &Keys) -> WideKeys {
    let mut wide = left.wide();
    for (round, wide) in wide.0.iter_mut().enumerate() {
        *wide = _mm512_mask_blend_epi64(0b1100_1100, *wide, right.round(round));
    }
    wide
}

/// The sums of the even and of the odd lanes.
#[inline]
#[target_feature(enable = "avx512f")]
fn side_sums(sums: __m512i) -> [Block; 2] {
    let mut quad = [Block::ZERO; 4];
    super::store(&mut quad, sums);
    [quad[0] ^ quad[2], quad[1] ^ quad[3]]
}

/// There are twice as many children as parents.
#[target_feature(enable = "avx512f,vaes")]
pub(in super::super) fn expand(keys: [&Keys; 2], parents: &[Block], out: &mut [Block]) -> [Block; 2] {
    let keys = alternate(keys[0], keys[1]);
    let mut sums = _mm512_setzero_si512();
    let (chunks, rest) = parents.as_chunks::<PARENTS>();
    let (outs, out_rest) = out.as_chunks_mut::<CHUNK>();
    for (parents, out) in chunks.iter().zip(outs) {
        let vectors = children(&keys, parents);
        store_chunk(quads_mut(out), &vectors);
        sums = add_all(sums, &vectors);
    }
    let mut sums = side_sums(sums);
    expand_rest(&keys, rest, out_rest, &mut sums);
    sums
}

/// The parents are in the first half of `nodes`.
#[target_feature(enable = "avx512f,vaes")]
pub(in super::super) fn expand_in_place(keys: [&Keys; 2], nodes: &mut [Block]) -> [Block; 2] {
    let keys = alternate(keys[0], keys[1]);
    let count = nodes.len() / 2;
    let whole = count / PARENTS * PARENTS;
    let mut sums = [Block::ZERO; 2];
    // From the back: children lie at or behind their parents.
    let mut rest = [Block::ZERO; PARENTS];
    rest[..count - whole].copy_from_slice(&nodes[whole..count]);
    expand_rest(&keys, &rest[..count - whole], &mut nodes[2 * whole..], &mut sums);
    wipe(&mut rest);
    let mut vector_sums = _mm512_setzero_si512();
    for chunk in (0..whole / PARENTS).rev() {
        let parents = nodes[chunk * PARENTS..].first_chunk().expect("the chunk is whole");
        let vectors = children(&keys, parents);
        let out = nodes[chunk * CHUNK..].first_chunk_mut().expect("the chunk is whole");
        store_chunk(quads_mut(out), &vectors);
        vector_sums = add_all(vector_sums, &vectors);
    }
    let [left, right] = side_sums(vector_sums);
    [sums[0] ^ left, sums[1] ^ right]
}

#[inline]
#[target_feature(enable = "avx512f")]
fn add_all(mut sum: __m512i, vectors: &[__m512i; WIDTH]) -> __m512i {
    for vector in vectors {
        sum = _mm512_xor_si512(sum, *vector);
    }
    sum
}

/// Less than a chunk.
#[inline]
#[target_feature(enable = "avx512f,vaes")]
fn expand_rest(keys: &WideKeys, parents: &[Block], out: &mut [Block], sums: &mut [Block; 2]) {
    if parents.is_empty() {
        return;
    }
    let mut padded = [Block::ZERO; PARENTS];
    padded[..parents.len()].copy_from_slice(parents);
    let mut room = [Block::ZERO; CHUNK];
    store_chunk(quads_mut(&mut room), &children(keys, &padded));
    out.copy_from_slice(&room[..out.len()]);
    wipe(&mut padded);
    wipe(&mut room);
    for pair in out.as_chunks::<2>().0 {
        sums[0] ^= pair[0];
        sums[1] ^= pair[1];
    }
}

/// `pairs[index] = pair`, touching all of them.
#[target_feature(enable = "avx512f")]
pub(in super::super) fn write_obliviously(pairs: &mut [[Block; 2]], index: usize, pair: [Block; 2]) {
    let new = super::load(&[pair[0], pair[1], pair[0], pair[1]]);
    let wanted = _mm512_set1_epi64(index as i64);
    let mut here = _mm512_set_epi64(1, 1, 1, 1, 0, 0, 0, 0);
    let (quads, rest) = pairs.as_flattened_mut().as_chunks_mut();
    for quad in quads.iter_mut() {
        let old = super::load(quad);
        super::store(quad, _mm512_mask_blend_epi64(_mm512_cmpeq_epi64_mask(here, wanted), old, new));
        here = _mm512_add_epi64(here, _mm512_set1_epi64(2));
    }
    // An odd pair at the end.
    if let [left, right] = rest {
        let last = Block(u128::from(_mm512_cmpeq_epi64_mask(here, wanted) & 1).wrapping_neg());
        *left ^= (*left ^ pair[0]) & last;
        *right ^= (*right ^ pair[1]) & last;
    }
}
