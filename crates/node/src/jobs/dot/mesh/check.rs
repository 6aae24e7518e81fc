//! Checks of a job file's keys that there are not among more than two parties.

use tacita_core::Result;
use tacita_core::protocol::dot::ot::Extension;

use super::MAX_PRODUCTS;
use crate::agreement::words::bad;
use crate::agreement::{AlignWay, JobSpec, JobWith};
use crate::jobs::dot::Dot;
use crate::jobs::dot::methods::ot;

/// The most decimals of a product.
const MAX_DECIMALS: u32 = 18;

/// Refuses what there is between two parties only, wherever columns are multiplied.
pub(in crate::jobs) fn check_products(job: &JobSpec, extension: Option<Extension>) -> Result<()> {
    let parties = job.parties.0.len();
    if job.alignment == Some(AlignWay::Hidden) {
        return bad(format!(
            "alignment = \"hidden\" is not available among {parties} parties: agree on alignment = \"rows\", which shows all parties \
             which of their rows all have"
        ));
    }
    if !job.protocol.is_auto() && job.protocol != ot::PROTOCOL {
        return bad(format!(
            "protocol = \"{}\" is not available among {parties} parties: use \"ot\" or \"auto\"",
            job.protocol.name()
        ));
    }
    if extension == Some(Extension::Silent) {
        return bad(format!(
            "extension = \"silent\" is not available among {parties} parties: use \"softspoken-1\" to \"softspoken-8\", or leave it out"
        ));
    }
    job.check_level()
}

impl JobWith<'_, Dot> {
    /// Refuses what there is between two parties only.
    pub(crate) fn check_mesh(&self) -> Result<()> {
        let parties = self.parties.0.len();
        check_products(self, self.own.extension)?;
        if self.product_decimals() > MAX_DECIMALS {
            return bad(format!(
                "scale = {}: products of {parties} numbers have {} decimals, and {MAX_DECIMALS} are possible: agree on fewer decimals",
                self.decimals(),
                self.product_decimals()
            ));
        }
        let products = self.factors().iter().try_fold(1usize, |all, (_, columns)| all.checked_mul(columns.len()));
        match products {
            Some(products) if products <= MAX_PRODUCTS => (),
            _ => {
                return bad(format!(
                    "column: one product for each choice of a column of each party, and {MAX_PRODUCTS} are possible: name fewer columns"
                ));
            }
        }
        // Of no number of rows are products shorter than of one.
        self.range(1).map(drop)
    }
}
