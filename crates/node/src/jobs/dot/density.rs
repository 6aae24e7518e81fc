//! The bound on the ones of a column, where the protocol has one.

use serde_json::Value;
use tacita_core::protocol::rules::support::Fraction;
use tacita_core::{Error, Result};

use super::methods;
use crate::agreement::{JobSpec, WrittenNumber};
use crate::base::text::shown;

/// Returns the fraction of a column's rows that may be ones, if the protocol has such a bound: all, unless the job
/// says otherwise.
pub fn of(job: &JobSpec, density: Option<&WrittenNumber>) -> Result<Option<Fraction>> {
    let Some(written) = density else {
        let bounds = methods::named(job.protocol).is_some_and(|method| method.bounds_ones());
        return Ok(bounds.then_some(Fraction::ONE));
    };
    let density = written.0.parse().ok().filter(|density| *density != Fraction::ZERO);
    density.map(Some).ok_or_else(|| {
        Error::Input(format!(
            "density = {}: it is the part of a column's rows that may be ones; use a decimal above 0 and up to 1, as 0.1 or \
             \"10%\"",
            shown(&written.0)
        ))
    })
}

/// The same for the terms, with its default filled in.
pub(crate) fn term(density: Result<Option<Fraction>>) -> Option<(&'static str, Value)> {
    // Job files whose density cannot be read are refused.
    Some(("density", density.ok().flatten()?.to_string().into()))
}
