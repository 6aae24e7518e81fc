//! Which of the two parties of a protocol one is.

/// A party of a scalar product, or of what is made of such.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Side {
    /// The one whose columns are the rows of the matrix of products.
    First,
    /// The other one.
    Second,
}

impl Side {
    /// The other party.
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
    /// It learns which items are common; the message that it chose.
    Receiver,
    /// It learns which items are common too, or nothing; nothing.
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
