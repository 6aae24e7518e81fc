//! Roles of the two parties of a protocol.

/// A party of a scalar product, or of what is made of such.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Side {
    /// The one whose columns are the rows of the matrix of products.
    First,
    /// Other one of the two parties.
    Second,
}

impl Side {
    /// Returns the other party.
    pub fn other(self) -> Side {
        match self {
            Side::First => Side::Second,
            Side::Second => Side::First,
        }
    }
}

/// A party of an intersection, or of oblivious transfers and what is made of such.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Receiver: it learns which items are common; in oblivious transfers, the message that it chose.
    Receiver,
    /// Sender: it learns which items are common too, or nothing; in oblivious transfers, nothing.
    Sender,
}

impl Role {
    /// The role of the other party.
    pub fn other(self) -> Role {
        match self {
            Role::Receiver => Role::Sender,
            Role::Sender => Role::Receiver,
        }
    }
}
