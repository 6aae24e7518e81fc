//! The job `aggregate`: many report keys, perhaps with a value, and only keys are revealed that enough of them report;
//! nobody learns who reported what.
//!
//! Participants send reports to a *proxy*, which blinds and shuffles them; a *database* has rows of blinded reports and
//! asks an
//! *oracle*, of the proxy's domain, for the keys of rows that pass the agreed condition. Those roles serve; here is what needs no
//! connection: the job file, what stands in the terms, the condition, how tables become reports and results become
//! files, what it costs, and who learns what.

mod check;
mod cost;
pub mod domain;
mod job;
pub mod keys;
mod learned;
pub mod load;
pub mod moment;
pub mod noise;
pub mod predicate;
pub mod reports;
pub mod results;
pub mod spec;
pub mod summary;

pub use domain::Domain;
pub use keys::KeyPacking;
pub use moment::Moment;
pub use noise::RoundNoise;
pub use predicate::{Measure, Predicate, PredicateMinimum};
pub use reports::{ParticipantReport, Reports, ReportsInput, Resolver};
pub use results::{ResultFormat, ResultRow, RoundResults};
pub use spec::{Aggregate, AggregateJob, Audience, KeyForm, Participants, Revealed, RoundSpec};
pub use summary::{Histogram, Summary};
