//! A role that serves, as whatever all of them have in common sees it.

use tacita_core::Result;
use tacita_node::agreement::KnownSizes;
use tacita_node::jobs::aggregate::AggregateJob;
use tacita_serve::status::{Check, MetricsPage};

/// A role, as what all have in common sees it.
pub(crate) trait Role: Send + Sync {
    /// Returns the word for the role.
    fn word(&self) -> &'static str;

    /// Looks after what is due, until the role is to end. What it returns ends the role.
    fn run_background(&self) -> Result<()>;

    /// Returns statements on what the role has learned, in sentences.
    fn learned(&self) -> Vec<String>;

    /// Numbers for its report.
    fn numbers(&self) -> Vec<(&'static str, u64)>;

    /// Adds numbers for whoever watches it; at once, whatever else is going on.
    fn measures(&self, page: &mut MetricsPage);

    /// Returns the checks of the conditions under which the role can do its work.
    fn checks(&self) -> Vec<Check<'_>>;
}

/// Returns statements on what a role learns.
pub(crate) fn learned(own: AggregateJob<'_>, role: &str) -> Vec<String> {
    own.spec.job.learned(own.spec, role, KnownSizes::default())
}
