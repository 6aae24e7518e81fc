//! The protocols, as job files name them.

use std::fmt;

/// The protocol that a job runs, as the file names it. Which there are, the jobs' own tables say.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Protocol(&'static str);

impl Protocol {
    /// The first party chooses by sizes and network.
    pub const AUTO: Protocol = Protocol::named("auto");

    /// The protocol of this name.
    pub const fn named(name: &'static str) -> Protocol {
        Protocol(name)
    }

    /// The word for it in job files.
    pub fn name(self) -> &'static str {
        self.0
    }

    /// Whether the file leaves the choice.
    pub fn is_auto(self) -> bool {
        self == Protocol::AUTO
    }
}

impl fmt::Debug for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}
