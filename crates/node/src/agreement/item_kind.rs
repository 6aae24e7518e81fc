//! Kinds of the items that jobs count.

/// Items that a job counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemKind {
    /// Keys by which the parties' rows are matched.
    Keys,
    /// Rows that stand in the same order at all parties.
    Rows,
    /// Shares of numbers, which several parties hold.
    Numbers,
    /// Reports that participants submit.
    Reports,
}

impl ItemKind {
    /// The noun for several of them, for messages.
    pub fn noun(self) -> &'static str {
        match self {
            ItemKind::Keys => "keys",
            ItemKind::Rows => "rows",
            ItemKind::Numbers => "numbers",
            ItemKind::Reports => "reports",
        }
    }
}
