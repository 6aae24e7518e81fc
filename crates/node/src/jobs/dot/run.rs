//! Computation of products from columns.

use chacha20::ChaCha20Rng;
use tacita_core::channel::Channel;
use tacita_core::protocol::dot::Columns;
use tacita_core::protocol::published::dot::gm_bloom::{self, Dense};
use tacita_core::{Error, Result};

use crate::agreement::Reveal;
use crate::agreement::handshake::HandshakeResult;
use crate::base::text::{count, counted};
use crate::jobs::aligned::align;
use crate::jobs::dot::found::{DotResult, EncryptionCounts, Outcome, open};
use crate::jobs::dot::spec::DotJob;
use crate::jobs::dot::{DotInput, methods, noise as dot_noise, side};
use crate::jobs::noise::{self, DrawnNoise};
use crate::jobs::numbers::ShareFile;

/// Refuses a column with more ones than the terms allow, where the protocol has such a bound.
pub(crate) fn check_density(job: &DotJob<'_>, me: &str, columns: &Columns) -> Result<()> {
    let (Some(density), Some(bound)) = (job.density()?, job.most_ones(columns.rows())?) else { return Ok(()) };
    match gm_bloom::dense(columns, bound) {
        Some(Dense { column, ones }) => Err(Error::Input(format!(
            "column \"{}\" has {} in {}, and density = {density} allows {}: agree on a higher density, or leave it out",
            job.columns_of(me).get(column).map_or("", |name| job.header(me, name)).escape_debug(),
            counted(ones as u64, "one"),
            counted(columns.rows() as u64, "row"),
            count(bound as u64)
        ))),
        None => Ok(()),
    }
}

/// Aligns rows, multiplies, adds this party's noise, and opens the product as far as the job says.
pub fn run(
    job: &DotJob<'_>,
    me: &str,
    brought: &DotInput,
    drawn: DrawnNoise,
    agreed: &HandshakeResult,
    channel: &mut Channel,
    rng: &mut ChaCha20Rng,
) -> Result<DotResult> {
    let table = (brought.columns.rows(), brought.ids.as_ref());
    let rows = align(job.alignment().as_ref(), me, table, agreed, channel, rng)?;
    let aligned = rows.columns(&brought.columns);
    let columns = aligned.as_ref().unwrap_or(&brought.columns);
    check_density(job, me, columns)?;
    let product = methods::product(job, &agreed.chosen, columns.rows())?;
    if let Some(text) = modulus_warning(job, columns.rows())? {
        tracing::warn!("{text}");
    }
    let side = side(job, me);
    let (shares, encryptions) = match (product.pooled(), &brought.pool) {
        (Some(params), Some(pool)) if params.encryptor() == side => {
            let (shares, used) = pool.encrypt(columns, params, channel, rng)?;
            (shares, Some(EncryptionCounts { pool: used.stored, live: used.live }))
        }
        (_, pool) => {
            if pool.is_some() {
                tracing::info!("the pool is not used: it is {} who encrypts in this job", channel.peer());
            }
            (product.run(side, columns, &agreed.session, channel, rng)?, None)
        }
    };
    let shares = noise::added(job, me, shares, drawn)?;
    let outcome = match job.reveal {
        Reveal::Shares => {
            let range = job.range(columns.rows())?;
            let telling = methods::named(agreed.chosen.protocol).is_some_and(|method| method.telling(side).is_some());
            let file = ShareFile::new(job, me, &agreed.session, &range, &shares, telling);
            Outcome::Shares(Box::new(file.noised(dot_noise::of_shares(job)?)))
        }
        _ => open(job, me, &shares, channel)?,
    };
    Ok(DotResult { common: rows.common(), outcome, encryptions })
}

/// Returns a warning for the user about a modulus that may not hold the product.
pub fn modulus_warning(job: &DotJob<'_>, rows: usize) -> Result<Option<String>> {
    let modulus = job.modulus(rows)?;
    Ok((!job.range(rows)?.fits(&modulus)).then(|| {
        format!(
            "the shares add up to the product modulo {modulus}, and a product of {} rows may be larger than that",
            count(rows as u64)
        )
    }))
}
