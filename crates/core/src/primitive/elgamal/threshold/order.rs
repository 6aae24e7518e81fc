//! In which order the parties of a decryption add what they know.

use std::str::FromStr;

use crate::error::Error;

/// Who gives its sums to whom. The last party is the one that has all of them in the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// From the first to the last, each to the next: n - 1 steps, one list in and out at each party.
    Chain,
    /// Up a binary tree to the last party: as many steps as the tree has levels, at most two lists in and one out.
    Tree,
    /// Each to all others, who add up for themselves: one step, and work at each party that grows with their number.
    Alone,
}

impl Order {
    /// All of them.
    pub const ALL: [Order; 3] = [Order::Chain, Order::Tree, Order::Alone];

    /// The word for it in job files.
    pub fn name(self) -> &'static str {
        match self {
            Order::Chain => "chain",
            Order::Tree => "tree",
            Order::Alone => "alone",
        }
    }

    /// Those whose sums the party at `place` of so many adds its own to.
    pub fn before(self, place: usize, parties: usize) -> Vec<usize> {
        match self {
            Order::Chain => place.checked_sub(1).into_iter().collect(),
            // A heap, counted from the last party down.
            Order::Tree => {
                let node = parties - 1 - place;
                [2 * node + 2, 2 * node + 1].into_iter().filter_map(|child| (parties - 1).checked_sub(child)).collect()
            }
            Order::Alone => Vec::new(),
        }
    }

    /// Those whose sums together are all.
    pub(crate) fn last(self, parties: usize) -> Vec<usize> {
        match self {
            Order::Chain | Order::Tree => vec![parties - 1],
            Order::Alone => (0..parties).collect(),
        }
    }

    /// How many steps follow each other until all is there.
    pub(crate) fn steps(self, parties: usize) -> u32 {
        match self {
            Order::Chain => parties as u32 - 1,
            Order::Tree => parties.ilog2(),
            Order::Alone => u32::from(parties > 1),
        }
    }
}

impl FromStr for Order {
    type Err = Error;

    fn from_str(word: &str) -> Result<Order, Error> {
        Order::ALL.into_iter().find(|order| order.name() == word).ok_or_else(|| {
            Error::Input(format!("decryption = \"{word}\" is unknown: use \"chain\", \"tree\" or \"alone\""))
        })
    }
}
