//! Silent VOLE and silent COT: a few correlated OTs, trees whose leaves but one both parties know, and a code.
//!
//! Boyle, Couteau, Gilboa, Ishai, Kohl, Rindal and Scholl, *Efficient two-round OT extension and silent non-interactive
//! secure computation*, CCS 2019; Schoppmann, Gascon, Reichert and Raykova, *Distributed vector-OLE*, CCS 2019; in the
//! malicious form the check of Weng, Yang, Katz and Wang, *Wolverine*, IEEE S&P 2021, and of Yang, Weng, Lan, Zhang and
//! Wang, *Ferret*, CCS 2020.
//!
//! One run: the sender grows t trees. The receiver gets all leaves of each but one, at a place of its choice, and there
//! the sender's leaf plus delta times a value of its choice. So with e the vector of these values, and zeros elsewhere,
//! both have shares of delta * e. The code maps the shares, and e, to half as many elements, after which e looks random
//! ([`super::params`]).
//!
//! What both start from is one instance of correlated OT whose delta becomes that of the outputs: it pays for the
//! trees' OTs, hashed, and 128 OTs with the bits of a value as choices are delta times that value.

mod check;
mod cot;
#[cfg(test)]
mod deviating;
#[cfg(test)]
mod freshness;
mod keys;
mod traffic;
mod trees;
mod vole;

pub use cot::{CotReceiver, CotSender};
pub(crate) use traffic::{bytes_sent_by, run_bytes_sent_by};
pub use vole::{SilentReceiver, SilentSender};
