//! Partial knowledge of a tree.

use tacita_core::primitive::kernel::{Block, Doubling};

/// The children of a level of which some nodes are known, for somebody who has one or both of the level's sums (of left
/// children, of right ones). A sum gives one node that is missing on its side.
pub fn descend(doubling: &Doubling, nodes: &[Option<Block>], sums: [Option<Block>; 2]) -> Vec<Option<Block>> {
    let parents: Vec<Block> = nodes.iter().map(|node| node.unwrap_or_default()).collect();
    let mut pairs = vec![Block::ZERO; 2 * nodes.len()];
    doubling.expand(&parents, &mut pairs);
    let child = |(place, child): (usize, Block)| nodes[place / 2].map(|_| child);
    let mut children: Vec<Option<Block>> = pairs.into_iter().enumerate().map(child).collect();
    for (side, sum) in sums.into_iter().enumerate() {
        let places = (side..children.len()).step_by(2);
        let missing: Vec<usize> = places.clone().filter(|place| children[*place].is_none()).collect();
        if let (Some(sum), [missing]) = (sum, &missing[..]) {
            children[*missing] = Some(places.filter_map(|place| children[place]).fold(sum, |sum, node| sum ^ node));
        }
    }
    children
}

/// The sum of what is known.
pub fn sum<'a>(nodes: impl IntoIterator<Item = &'a Option<Block>>) -> Block {
    nodes.into_iter().flatten().fold(Block::ZERO, |sum, node| sum ^ *node)
}
