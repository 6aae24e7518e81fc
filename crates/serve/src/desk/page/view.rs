//! Elements of a page.

use tacita_node::jobs::intersect::live::QueryColumn;

use super::super::LinkStatus;
use super::super::upload::Choices;
use super::super::verdicts::{Counts, Verdict};
use crate::page::Guard;

/// Content that a page shows.
pub(super) struct View<'a> {
    pub(super) job: &'a str,
    pub(super) authority: &'a str,
    pub(super) guard: &'a Guard,
    pub(super) fields: &'a [QueryColumn],
    pub(super) learned: &'a [String],
    pub(super) standing: LinkStatus,
    /// Whether some key makes a possible match alone.
    pub(super) has_possible: bool,
    /// Format of the last table, as its sender described it.
    pub(super) choices: Choices,
    pub(super) counts: Counts,
    pub(super) latest: Vec<Verdict>,
}

/// A verdict that was just made, and of whom: shown once, and kept nowhere.
#[derive(Clone)]
pub(super) struct Shown {
    pub(super) verdict: Verdict,
    pub(super) of: Vec<(String, String)>,
    /// Whether there was something to ask for.
    pub(super) could_be_asked: bool,
}
