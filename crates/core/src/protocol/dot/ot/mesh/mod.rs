//! Products of columns of any number of parties: for each product, the sum over all rows of what its parties have
//! there, multiplied with each other, as shares of these parties.
//!
//! The first two multiply each row as in the [module above](super), but keep the shares of each row. Every further
//! party multiplies the share of each that has one with its own integer: once more Gilboa's transfers, with the share
//! in the place of the sender's integer, so that k parties take k (k-1) / 2 transfers a row and bit. In the last step
//! the sums over the rows are taken inside. (Du and Atallah, "Privacy-preserving cooperative scientific computations",
//! CSFW 2001, multiply so among two; Goldreich, Micali and Wigderson, STOC 1987, add up cross terms so among many.)
//!
//! Products with equal first parties have these multiplied once: a share may go into many products, since each transfer
//! hides what comes of it. A share of rows is used within a batch, opened nowhere, and forgotten after it. Shares of
//! the results have a fresh sharing of zero added: without it, a party with zeros only would know the others' shares.
//!
//! Semi-honest parties only, any number of which may pool what they see. `docs/protocols/dot-mesh.md` is the
//! specification.

mod plan;
mod run;
mod transfers;
mod zeros;

pub(crate) use plan::HELD_SHARES;
pub use plan::{Factor, MeshProducts};
pub use run::{open, run};
