//! Every protocol: results, views of each role, and hostile peers, all over channels in this process.

#[path = "../support/mod.rs"]
mod support;

mod adversary;
mod aggregate;
mod align;
mod channel;
mod crosstab;
mod dot;
mod errors;
mod examples;
mod intersect;
mod mesh;
mod ot;
mod published;
mod rules;
mod shares;
mod union;
mod vectors;
mod vole;
