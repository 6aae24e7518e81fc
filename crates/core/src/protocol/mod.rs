//! The protocols, one file each, named as on the command line.

pub mod aggregate;
pub mod align;
pub mod crosstab;
pub mod dot;
pub mod intersect;
pub mod mesh;
pub mod published;
pub mod rules;
pub mod shares;
pub mod union;
