//! Order in which the parties of a decryption add their contributions.

use std::str::FromStr;

use crate::error::Error;

/// Routes by which parties pass on their sums. In the end the last party has all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartyOrder {
    /// Chain from the first party to the last, each passing on to the next: n - 1 steps, one list in and out at each
    /// party.
    Chain,
    /// Up a binary tree to the last party: as many steps as the tree has levels, at most two lists in and one out.
    Tree,
    /// Each to all others, who add up for themselves: one step, and work at each party that grows with their number.
    Alone,
}

impl PartyOrder {
    /// List of all orders.
    pub const ALL: [PartyOrder; 3] = [PartyOrder::Chain, PartyOrder::Tree, PartyOrder::Alone];

    /// The word for it in job files.
    pub fn name(self) -> &'static str {
        match self {
            PartyOrder::Chain => "chain",
            PartyOrder::Tree => "tree",
            PartyOrder::Alone => "alone",
        }
    }

    /// Returns the parties to whose sums the party at `place` of `parties` adds its own.
    pub fn before(self, place: usize, parties: usize) -> Vec<usize> {
        match self {
            PartyOrder::Chain => place.checked_sub(1).into_iter().collect(),
            // A heap, counted from the last party down.
            PartyOrder::Tree => {
                let node = parties - 1 - place;
                [2 * node + 2, 2 * node + 1].into_iter().filter_map(|child| (parties - 1).checked_sub(child)).collect()
            }
            PartyOrder::Alone => Vec::new(),
        }
    }

    /// Returns the parties whose sums together are all.
    pub(crate) fn last(self, parties: usize) -> Vec<usize> {
        match self {
            PartyOrder::Chain | PartyOrder::Tree => vec![parties - 1],
            PartyOrder::Alone => (0..parties).collect(),
        }
    }

    /// Returns the number of consecutive steps until all sums are there.
    pub(crate) fn steps(self, parties: usize) -> u32 {
        match self {
            PartyOrder::Chain => parties as u32 - 1,
            PartyOrder::Tree => parties.ilog2(),
            PartyOrder::Alone => u32::from(parties > 1),
        }
    }
}

impl FromStr for PartyOrder {
    type Err = Error;

    fn from_str(word: &str) -> Result<PartyOrder, Error> {
        PartyOrder::ALL.into_iter().find(|order| order.name() == word).ok_or_else(|| {
            Error::Input(format!("decryption = \"{word}\" is unknown: use \"chain\", \"tree\" or \"alone\""))
        })
    }
}
