//! Governance of a party: the jobs that it takes part in, and the record of those that it ran.
//!
//! A run opens an [`account`] before anything is read or sent: a [`policy`] allows it or not, and it is entered in the
//! [`ledger`] in either case. When the parties have agreed, and again when their connections end, they give each other
//! [`receipt`]s, which are kept in the ledger. An [`approval`] is what a policy may ask of the organisation's own
//! people. [`difference`] tells whether an exact number is about nearly the same rows as an earlier one.

pub mod account;
pub mod approval;
pub mod columns;
pub mod difference;
pub mod inquiry;
pub mod ledger;
pub mod policy;
pub mod receipt;
pub mod time;
