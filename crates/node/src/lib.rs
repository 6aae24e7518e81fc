//! Job files, tables, connections and reports: everything around the protocols of `tacita-core`.
//!
//! Follow a job: [`commands`] reads the command line, [`job`] the job file, [`party`] loads the table and meets the peers
//! ([`meet`], [`transport`]), [`agree`] settles the terms, [`memory`] says whether there is room for it, [`answer`] runs the protocol of the job's kind ([`intersect`], [`dot`],
//! [`shares`], [`rules`]) and writes what was learned.

pub mod agreement;
pub mod answer;
pub mod base;
pub mod choose;
pub mod clients;
pub mod commands;
pub mod console;
pub mod disk;
pub mod dot;
pub mod identity;
pub mod intersect;
pub mod learned;
pub mod meet;
pub mod memory;
pub mod party;
pub mod plan;
pub mod pool;
pub mod prepared;
pub mod report;
pub mod rules;
pub mod shares;
pub mod simulate;
pub mod table;
pub mod transport;
