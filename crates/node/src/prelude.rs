//! Everything that is needed to plan a job, to run a party of it, and to simulate it: `use tacita_node::prelude::*;`.
//!
//! [`Result`](tacita_core::Result) is not among it, so that the standard library's stays in reach.

pub use tacita_core::{Error, ErrorKind};

pub use crate::agreement::cost::Calibration;
pub use crate::agreement::{Answer, JobSpec, PartyInput, Sizes, Source, Terms};
pub use crate::base::cancel::Cancel;
pub use crate::base::exit::{exit_code, one_line};
pub use crate::base::random::fresh_rng;
pub use crate::govern::account::Governance;
pub use crate::identity::{Fingerprint, Identity};
pub use crate::plan::{Plan, plan};
pub use crate::run::connect::ConnectPlan;
pub use crate::run::party::{PartyRun, RunOutcome};
pub use crate::run::report::RunReport;
pub use crate::simulate::{Simulated, tables};
pub use crate::table::{ReadOptions, Table};
pub use crate::transport::LinkShape;
pub use crate::watch::{NoProgress, ProgressSink};
