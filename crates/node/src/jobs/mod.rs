//! The jobs, a room each.

pub mod aligned;
pub mod answer;
pub mod choose;
pub mod dot;
pub mod intersect;
pub mod learned;
pub mod memory;
pub mod numbers;
pub mod rules;
pub mod shares;
